/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What one map has otherwise than another: ports, then lcores, then queues,
 * each by rising number. The order of the text makes no difference.
 */

#include <string.h>

#include <rte_common.h>
#include <rte_config.h>

#include "commands.h"
#include "layout.h"
#include "status.h"

#define VALUE_SIZE 4096 /* holds a list of all CPUs that a map can name */

struct diff {
	FILE *out;
	const struct weir_machine *machine;
	unsigned int n;
};

static const struct weir_lcore_map_lcore *
find_lcore(const struct weir_lcore_map *map, unsigned int lcore)
{
	unsigned int i;

	for (i = 0; i < map->nb_lcores; i++)
		if (map->lcores[i].lcore == lcore)
			return &map->lcores[i];
	return NULL;
}

static void
print_change(struct diff *d, const char *subject, const char *what,
	     const char *before, const char *after)
{
	if (strcmp(before, after) == 0)
		return;
	fprintf(d->out, "%s: %s%s -> %s\n", subject, what, before, after);
	d->n++;
}

static const char *
role_text(const struct weir_lcore_map_lcore *lcore)
{
	if (lcore == NULL)
		return "none";
	if (lcore->main)
		return "main";
	return lcore->spare ? "spare" : "worker";
}

static const char *
park_text(const struct weir_lcore_map_lcore *lcore)
{
	const char *park = layout_park(lcore);

	return park != NULL ? park : "default";
}

/* Where none are named it is one by default. */
static const char *
cpus_text(const struct weir_lcore_map_lcore *lcore, char *text)
{
	size_t length = 0;
	unsigned int i;

	snprintf(text, VALUE_SIZE, "%u", layout_lcore_cpu(lcore));
	for (i = 1; i < lcore->nb_cpus; i++) {
		length += strlen(text + length);
		snprintf(text + length, VALUE_SIZE - length, ",%u",
			 lcore->cpus[i]);
	}
	return text;
}

static const char *
node_text(const struct weir_lcore_map_lcore *lcore, char *text)
{
	if (lcore->node < 0)
		return "any";
	snprintf(text, VALUE_SIZE, "%d", lcore->node);
	return text;
}

static void
diff_lcore(struct diff *d, unsigned int id,
	   const struct weir_lcore_map_lcore *before,
	   const struct weir_lcore_map_lcore *after)
{
	char subject[32], x[VALUE_SIZE], y[VALUE_SIZE];

	snprintf(subject, sizeof(subject), "lcore %u", id);
	print_change(d, subject, "", role_text(before), role_text(after));
	if (before == NULL || after == NULL)
		return;
	print_change(d, subject, "CPUs ", cpus_text(before, x),
		     cpus_text(after, y));
	print_change(d, subject, "node ", node_text(before, x),
		     node_text(after, y));
	print_change(d, subject, "park ", park_text(before), park_text(after));
}

static const char *
port_text(const struct weir_lcore_map *map, unsigned int port)
{
	unsigned int i;

	for (i = 0; i < map->nb_ports; i++)
		if (map->ports[i].port == port)
			return map->ports[i].address[0] != '\0' ?
				       map->ports[i].address :
				       "none";
	return "default";
}

/* Who polls a queue and, if that is known, on which node. */
static const char *
poller_text(const struct diff *d, const struct weir_lcore_map_lcore *lcore,
	    char *text)
{
	const struct weir_machine_cpu *cpu = NULL;

	if (lcore == NULL)
		return "none";
	if (d->machine != NULL)
		cpu = weir_machine_cpu_get(d->machine, layout_lcore_cpu(lcore));
	if (cpu != NULL && cpu->node != WEIR_MACHINE_UNKNOWN)
		snprintf(text, VALUE_SIZE, "lcore %u (node %d)", lcore->lcore,
			 cpu->node);
	else
		snprintf(text, VALUE_SIZE, "lcore %u", lcore->lcore);
	return text;
}

/* Marks the queues that the map has. */
static void
mark_queues(const struct weir_lcore_map *map,
	    bool queues[RTE_MAX_ETHPORTS][RTE_MAX_QUEUES_PER_PORT])
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i, j;

	for (i = 0; i < map->nb_lcores; i++) {
		lcore = &map->lcores[i];
		for (j = 0; j < lcore->nb_queues; j++)
			queues[lcore->queues[j].port][lcore->queues[j].queue] =
				true;
	}
}

static void
diff_queues(struct diff *d, const struct weir_lcore_map *before,
	    const struct weir_lcore_map *after)
{
	bool queues[RTE_MAX_ETHPORTS][RTE_MAX_QUEUES_PER_PORT] = { 0 };
	char subject[32], x[VALUE_SIZE], y[VALUE_SIZE];
	unsigned int port, queue;

	mark_queues(before, queues);
	mark_queues(after, queues);
	for (port = 0; port < RTE_MAX_ETHPORTS; port++) {
		for (queue = 0; queue < RTE_MAX_QUEUES_PER_PORT; queue++) {
			if (!queues[port][queue])
				continue;
			snprintf(subject, sizeof(subject), "queue %u.%u", port,
				 queue);
			print_change(
				d, subject, "",
				poller_text(d,
					    layout_poller(before, port, queue),
					    x),
				poller_text(d,
					    layout_poller(after, port, queue),
					    y));
		}
	}
}

int
diff_maps(FILE *out, const struct weir_lcore_map *before,
	  const struct weir_lcore_map *after,
	  const struct weir_machine *machine)
{
	struct diff d = { .out = out, .machine = machine };
	char subject[32];
	unsigned int i;

	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		snprintf(subject, sizeof(subject), "port %u", i);
		print_change(&d, subject, "", port_text(before, i),
			     port_text(after, i));
	}
	for (i = 0; i < RTE_MAX_LCORE; i++)
		diff_lcore(&d, i, find_lcore(before, i), find_lcore(after, i));
	diff_queues(&d, before, after);
	return d.n > 0 ? STATUS_NO : STATUS_OK;
}
