/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An lcore map against a machine: the list of rules, those whose breach is an
 * error, and what they all use. lcore_rules.c has those that cost something.
 *
 * U1 A finding comes before all less grave ones: the list is in that order.
 * U2 What a machine does not tell breaks no rule.
 */

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "topology/lcore_check.h"

void
weir__lcore_found(struct lcore_check *c, int lcore, int port,
		  const char *format, ...)
{
	struct weir_lcore_map_finding finding = {
		.severity = c->rule->severity,
		.rule = c->rule->name,
		.lcore = lcore,
		.port = port,
	};
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	finding.text = text;
	c->errors += finding.severity == WEIR_LCORE_MAP_ERROR;
	if (c->found != NULL)
		c->found(c->arg, &finding);
}

unsigned int
weir__lcore_nb_cpus(const struct weir_lcore_map_lcore *lcore)
{
	return lcore->nb_cpus != 0 ? lcore->nb_cpus : 1;
}

unsigned int
weir__lcore_cpu(const struct weir_lcore_map_lcore *lcore, unsigned int n)
{
	return lcore->nb_cpus != 0 ? lcore->cpus[n] : lcore->lcore;
}

struct lcore_place
weir__lcore_place(const struct lcore_check *c,
		  const struct weir_lcore_map_lcore *lcore)
{
	struct lcore_place place = { .node = -1, .cache = -1 };
	const struct weir_machine_cpu *cpu;
	unsigned int i;

	for (i = 0; i < weir__lcore_nb_cpus(lcore); i++) {
		cpu = weir_machine_cpu_get(c->machine,
					   weir__lcore_cpu(lcore, i));
		if (cpu == NULL)
			return (struct lcore_place){ NULL, -1, -1 };
		if (i == 0)
			place = (struct lcore_place){ cpu, cpu->node,
						      cpu->cache };
		else
			place.cpu = NULL;
		if (place.node != cpu->node)
			place.node = -1;
		if (place.cache != cpu->cache)
			place.cache = -1;
	}
	return place;
}

bool
weir__lcore_is_worker(const struct weir_lcore_map_lcore *lcore)
{
	return !lcore->main && !lcore->spare;
}

const struct weir_lcore_map_lcore *
weir__lcore_next_worker(const struct lcore_check *c,
			const struct weir_lcore_map_lcore *lcore)
{
	const struct weir_lcore_map *map = c->map;
	size_t i = lcore != NULL ? (size_t)(lcore - map->lcores) + 1 : 0;

	for (; i < map->nb_lcores; i++)
		if (weir__lcore_is_worker(&map->lcores[i]))
			return &map->lcores[i];
	return NULL;
}

static void
rule_no_worker(struct lcore_check *c)
{
	if (weir__lcore_next_worker(c, NULL) == NULL)
		weir__lcore_found(c, -1, -1,
				  "the map has no worker: nothing would run");
}

/* Tells of each CPU that an lcore is to be on and that is no good. */
static void
check_cpus(struct lcore_check *c, bool (*good)(const struct weir_machine_cpu *),
	   const char *what)
{
	const struct weir_lcore_map_lcore *lcore;
	const struct weir_machine_cpu *cpu;
	unsigned int i, j, id;

	for (i = 0; i < c->map->nb_lcores; i++) {
		lcore = &c->map->lcores[i];
		for (j = 0; j < weir__lcore_nb_cpus(lcore); j++) {
			id = weir__lcore_cpu(lcore, j);
			cpu = weir_machine_cpu_get(c->machine, id);
			if (!good(cpu))
				weir__lcore_found(c, (int)lcore->lcore, -1,
						  "lcore %u is to be on CPU "
						  "%u, which %s",
						  lcore->lcore, id, what);
		}
	}
}

static bool
is_known(const struct weir_machine_cpu *cpu)
{
	return cpu != NULL;
}

static bool
is_online(const struct weir_machine_cpu *cpu)
{
	return cpu == NULL || cpu->online;
}

static bool
is_inside(const struct weir_machine_cpu *cpu)
{
	return cpu == NULL || !cpu->online || cpu->allowed;
}

static void
rule_cpu_unknown(struct lcore_check *c)
{
	check_cpus(c, is_known, "the machine does not have");
}

static void
rule_cpu_offline(struct lcore_check *c)
{
	check_cpus(c, is_online, "is offline");
}

static void
rule_cpu_outside(struct lcore_check *c)
{
	check_cpus(c, is_inside, "is outside the cpuset of the process");
}

static void
rule_node_unknown(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i;

	for (i = 0; i < c->map->nb_lcores; i++) {
		lcore = &c->map->lcores[i];
		if (lcore->node < 0 ||
		    weir_machine_node_get(c->machine, lcore->node) != NULL)
			continue;
		weir__lcore_found(c, (int)lcore->lcore, -1,
				  "lcore %u is to be on node %d, which the "
				  "machine does not have",
				  lcore->lcore, lcore->node);
	}
}

static void
rule_node_other(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore;
	const struct weir_machine_cpu *cpu;
	unsigned int i, j;

	for (i = 0; i < c->map->nb_lcores; i++) {
		lcore = &c->map->lcores[i];
		if (lcore->node < 0)
			continue;
		for (j = 0; j < weir__lcore_nb_cpus(lcore); j++) {
			cpu = weir_machine_cpu_get(c->machine,
						   weir__lcore_cpu(lcore, j));
			if (cpu == NULL || cpu->node < 0 ||
			    cpu->node == lcore->node)
				continue;
			weir__lcore_found(c, (int)lcore->lcore, -1,
					  "lcore %u is to be on node %d, but "
					  "its CPU %u is on node %d",
					  lcore->lcore, lcore->node, cpu->id,
					  cpu->node);
			break;
		}
	}
}

static const struct weir_lcore_map_port *
find_port(const struct weir_lcore_map *map, unsigned int port)
{
	unsigned int i;

	for (i = 0; i < map->nb_ports; i++)
		if (map->ports[i].port == port)
			return &map->ports[i];
	return NULL;
}

/* The next port with a queue or an item in the map, or -1. */
static int
next_port(const struct weir_lcore_map *map, int port)
{
	const struct weir_lcore_map_lcore *lcore;
	int next = INT_MAX;
	unsigned int i, j;

	for (i = 0; i < map->nb_ports; i++)
		if (map->ports[i].port > port)
			next = RTE_MIN(next, map->ports[i].port);
	for (i = 0; i < map->nb_lcores; i++) {
		lcore = &map->lcores[i];
		for (j = 0; j < lcore->nb_queues; j++)
			if (lcore->queues[j].port > port)
				next = RTE_MIN(next, lcore->queues[j].port);
	}
	return next != INT_MAX ? next : -1;
}

/* How a map says what the port is depends on what there is to choose from. */
static void
found_no_port(struct lcore_check *c, int port)
{
	if (c->machine->nb_nics == 0)
		weir__lcore_found(c, -1, port,
				  "port %d is not there: the machine has no "
				  "network devices; say with port %d none that "
				  "it is on no PCI bus",
				  port, port);
	else
		weir__lcore_found(c, -1, port,
				  "port %d is not there: the machine has %u "
				  "network devices; say which it is with port "
				  "%d ADDRESS",
				  port, c->machine->nb_nics, port);
}

static void
rule_port_unknown(struct lcore_check *c)
{
	int port = -1;

	while ((port = next_port(c->map, port)) >= 0) {
		if (port >= RTE_MAX_ETHPORTS)
			weir__lcore_found(c, -1, port,
					  "port %d is not there: DPDK has %d "
					  "ports at most",
					  port, RTE_MAX_ETHPORTS);
		else if (c->nics[port] == NULL &&
			 find_port(c->map, (unsigned int)port) == NULL)
			found_no_port(c, port);
	}
}

static void
rule_port_address(struct lcore_check *c)
{
	const struct weir_lcore_map_port *port;
	unsigned int i;

	for (i = 0; i < c->map->nb_ports; i++) {
		port = &c->map->ports[i];
		if (port->port < RTE_MAX_ETHPORTS && port->address[0] != '\0' &&
		    c->nics[port->port] == NULL)
			weir__lcore_found(c, -1, port->port,
					  "port %u is to be at %s, where the "
					  "machine has no network device",
					  port->port, port->address);
	}
}

static void
rule_main_busy(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i;

	for (i = 0; i < c->map->nb_lcores; i++) {
		lcore = &c->map->lcores[i];
		if (lcore->main && (lcore->nb_queues != 0 || lcore->park >= 0))
			weir__lcore_found(c, (int)lcore->lcore, -1,
					  "lcore %u is the main lcore, which "
					  "polls no queues and does not park",
					  lcore->lcore);
	}
}

static const struct lcore_rule rules[] = {
	{ "no-worker", WEIR_LCORE_MAP_ERROR, rule_no_worker },
	{ "cpu-unknown", WEIR_LCORE_MAP_ERROR, rule_cpu_unknown },
	{ "cpu-offline", WEIR_LCORE_MAP_ERROR, rule_cpu_offline },
	{ "cpu-outside", WEIR_LCORE_MAP_ERROR, rule_cpu_outside },
	{ "node-unknown", WEIR_LCORE_MAP_ERROR, rule_node_unknown },
	{ "node-other", WEIR_LCORE_MAP_ERROR, rule_node_other },
	{ "port-unknown", WEIR_LCORE_MAP_ERROR, rule_port_unknown },
	{ "port-address", WEIR_LCORE_MAP_ERROR, rule_port_address },
	{ "main-busy", WEIR_LCORE_MAP_ERROR, rule_main_busy },
	{ "cpu-shared", WEIR_LCORE_MAP_WARNING, weir__rule_cpu_shared },
	{ "main-near", WEIR_LCORE_MAP_WARNING, weir__rule_main_near },
	{ "core-shared", WEIR_LCORE_MAP_WARNING, weir__rule_core_shared },
	{ "lcore-spread", WEIR_LCORE_MAP_WARNING, weir__rule_lcore_spread },
	{ "queue-far", WEIR_LCORE_MAP_WARNING, weir__rule_queue_far },
	{ "port-alone", WEIR_LCORE_MAP_WARNING, weir__rule_port_alone },
	{ "node-memory", WEIR_LCORE_MAP_WARNING, weir__rule_node_memory },
	{ "node-hugepages", WEIR_LCORE_MAP_WARNING, weir__rule_node_hugepages },
	{ "cpu-balanced", WEIR_LCORE_MAP_WARNING, weir__rule_cpu_balanced },
	{ "cpu-tick", WEIR_LCORE_MAP_WARNING, weir__rule_cpu_tick },
	{ "cpu-several", WEIR_LCORE_MAP_NOTE, weir__rule_cpu_several },
	{ "port-nodes", WEIR_LCORE_MAP_NOTE, weir__rule_port_nodes },
	{ "port-caches", WEIR_LCORE_MAP_NOTE, weir__rule_port_caches },
	{ "load-uneven", WEIR_LCORE_MAP_NOTE, weir__rule_load_uneven },
	{ "no-queues", WEIR_LCORE_MAP_NOTE, weir__rule_no_queues },
	{ "cpu-zero", WEIR_LCORE_MAP_NOTE, weir__rule_cpu_zero },
};

static const struct weir_machine_nic *
find_nic(const struct lcore_check *c, unsigned int port)
{
	const struct weir_lcore_map_port *item = find_port(c->map, port);
	const struct weir_machine *machine = c->machine;
	unsigned int i;

	if (item == NULL)
		return port < machine->nb_nics ? &machine->nics[port] : NULL;
	for (i = 0; i < machine->nb_nics; i++)
		if (strcmp(machine->nics[i].address, item->address) == 0)
			return &machine->nics[i];
	return NULL;
}

/* Any id may be in a map that was not read from text. */
static void
find_nics(struct lcore_check *c)
{
	int port = -1;

	while ((port = next_port(c->map, port)) >= 0 && port < RTE_MAX_ETHPORTS)
		c->nics[port] = find_nic(c, (unsigned int)port);
}

unsigned int
weir_lcore_map_check(const struct weir_lcore_map *map,
		     const struct weir_machine *machine,
		     void (*found)(void *arg,
				   const struct weir_lcore_map_finding *f),
		     void *arg)
{
	struct lcore_check c = {
		.map = map,
		.machine = machine,
		.found = found,
		.arg = arg,
	};
	unsigned int i;

	find_nics(&c);
	for (i = 0; i < RTE_DIM(rules); i++) {
		c.rule = &rules[i];
		rules[i].apply(&c);
	}
	return c.errors;
}
