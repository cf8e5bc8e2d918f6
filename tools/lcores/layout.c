/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "layout.h"

/* As unsigned, so that what is not known comes last. */
static int
compare(int a, int b)
{
	return (unsigned int)a < (unsigned int)b ? -1 : a != b;
}

static int
compare_cpus(const void *a, const void *b)
{
	const struct weir_machine_cpu *x = ((const struct layout_cpu *)a)->cpu;
	const struct weir_machine_cpu *y = ((const struct layout_cpu *)b)->cpu;
	int order = compare(x->node, y->node);

	if (order == 0)
		order = compare(x->cache, y->cache);
	if (order == 0)
		order = compare(x->core, y->core);
	return order != 0 ? order : compare((int)x->id, (int)y->id);
}

static enum layout_role
role_of(const struct weir_lcore_map_lcore *lcore)
{
	if (lcore->main)
		return LAYOUT_MAIN;
	return lcore->spare ? LAYOUT_SPARE : LAYOUT_WORKER;
}

static bool
is_on(const struct weir_lcore_map_lcore *lcore, unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < lcore->nb_cpus; i++)
		if (lcore->cpus[i] == cpu)
			return true;
	return lcore->nb_cpus == 0 && lcore->lcore == cpu;
}

static void
set_role(struct layout_cpu *c, const struct weir_lcore_map *map)
{
	unsigned int i;

	for (i = 0; i < map->nb_lcores; i++) {
		if (!is_on(&map->lcores[i], c->cpu->id) ||
		    role_of(&map->lcores[i]) < c->role)
			continue;
		c->role = role_of(&map->lcores[i]);
		c->lcore = &map->lcores[i];
	}
}

unsigned int
layout_end(const struct layout *layout, unsigned int begin,
	   enum layout_level level)
{
	const struct weir_machine_cpu *first = layout->cpus[begin].cpu, *cpu;
	unsigned int end;

	for (end = begin + 1; end < layout->nb_cpus; end++) {
		cpu = layout->cpus[end].cpu;
		if (cpu->node != first->node)
			break;
		if (level >= LAYOUT_CACHE && cpu->cache != first->cache)
			break;
		/* Of CPUs without a known core, each is one. */
		if (level >= LAYOUT_CORE && (cpu->core != first->core ||
					     cpu->core == WEIR_MACHINE_UNKNOWN))
			break;
	}
	return end;
}

static void
count(struct layout *layout)
{
	const struct weir_machine_cpu *cpu, *other;
	bool new_package, new_cache;
	unsigned int i, j, end;

	for (i = 0; i < layout->nb_cpus; i = end) {
		end = layout_end(layout, i, LAYOUT_CORE);
		layout->nb_cores +=
			layout->cpus[i].cpu->core != WEIR_MACHINE_UNKNOWN;
		layout->core_cpus = RTE_MAX(layout->core_cpus, end - i);
	}
	/* A node may have several of each, and each several nodes. */
	for (i = 0; i < layout->nb_cpus; i++) {
		cpu = layout->cpus[i].cpu;
		new_package = cpu->package != WEIR_MACHINE_UNKNOWN;
		new_cache = cpu->cache != WEIR_MACHINE_UNKNOWN;
		for (j = 0; j < i && (new_package || new_cache); j++) {
			other = layout->cpus[j].cpu;
			new_package &= other->package != cpu->package;
			new_cache &= other->cache != cpu->cache;
		}
		layout->nb_packages += new_package;
		layout->nb_caches += new_cache;
	}
}

struct layout *
layout_create(const struct weir_machine *machine,
	      const struct weir_lcore_map *map)
{
	struct layout *layout = calloc(1, sizeof(*layout));
	unsigned int i;

	if (layout == NULL)
		return NULL;
	layout->machine = machine;
	layout->map = map;
	layout->nb_cpus = machine->nb_cpus;
	layout->cpus = calloc(machine->nb_cpus, sizeof(*layout->cpus));
	if (layout->cpus == NULL) {
		free(layout);
		return NULL;
	}
	for (i = 0; i < machine->nb_cpus; i++) {
		layout->cpus[i].cpu = &machine->cpus[i];
		if (map != NULL)
			set_role(&layout->cpus[i], map);
	}
	for (i = 0; i < machine->nb_nodes; i++)
		layout->has_memory |= machine->nodes[i].memory != 0;
	qsort(layout->cpus, layout->nb_cpus, sizeof(*layout->cpus),
	      compare_cpus);
	count(layout);
	return layout;
}

void
layout_free(struct layout *layout)
{
	if (layout == NULL)
		return;
	free(layout->cpus);
	free(layout);
}

const struct weir_lcore_map_lcore *
layout_poller(const struct weir_lcore_map *map, unsigned int port,
	      unsigned int queue)
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i, j;

	for (i = 0; i < map->nb_lcores; i++) {
		lcore = &map->lcores[i];
		for (j = 0; j < lcore->nb_queues; j++)
			if (lcore->queues[j].port == port &&
			    lcore->queues[j].queue == queue)
				return lcore;
	}
	return NULL;
}

const struct weir_machine_nic *
layout_nic(const struct weir_lcore_map *map, const struct weir_machine *machine,
	   unsigned int port)
{
	unsigned int i, j;

	for (i = 0; i < map->nb_ports; i++) {
		if (map->ports[i].port != port)
			continue;
		for (j = 0; j < machine->nb_nics; j++)
			if (strcmp(machine->nics[j].address,
				   map->ports[i].address) == 0)
				return &machine->nics[j];
		return NULL;
	}
	return port < machine->nb_nics ? &machine->nics[port] : NULL;
}

int
layout_port(const struct weir_lcore_map *map,
	    const struct weir_machine *machine,
	    const struct weir_machine_nic *nic)
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i, j;

	for (i = 0; i < map->nb_ports; i++)
		if (strcmp(map->ports[i].address, nic->address) == 0)
			return map->ports[i].port;
	for (i = 0; i < map->nb_lcores; i++) {
		lcore = &map->lcores[i];
		for (j = 0; j < lcore->nb_queues; j++)
			if (layout_nic(map, machine, lcore->queues[j].port) ==
			    nic)
				return lcore->queues[j].port;
	}
	return -1;
}

const char *
layout_park(const struct weir_lcore_map_lcore *lcore)
{
	/* By enum weir_park. */
	static const char *const parks[] = { "poll", "pause", "interrupt",
					     "adaptive" };

	if (lcore->park < 0 || lcore->park >= (int)RTE_DIM(parks))
		return NULL;
	return parks[lcore->park];
}

unsigned int
layout_lcore_cpu(const struct weir_lcore_map_lcore *lcore)
{
	return lcore->nb_cpus != 0 ? lcore->cpus[0] : lcore->lcore;
}
