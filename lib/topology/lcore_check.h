/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TOPOLOGY_LCORE_CHECK_H
#define TOPOLOGY_LCORE_CHECK_H

/* What the rules for lcore maps share; lcore_check.c has the list of them. */

#include <rte_config.h>

#include <weir_lcore_map.h>

/* A check under way. */
struct lcore_check {
	const struct weir_lcore_map *map;
	const struct weir_machine *machine;
	const struct lcore_rule *rule;
	void (*found)(void *arg, const struct weir_lcore_map_finding *f);
	void *arg;
	unsigned int errors;
	/* Of the map's ports. NULL: not on a PCI bus, or not found. */
	const struct weir_machine_nic *nics[RTE_MAX_ETHPORTS];
};

struct lcore_rule {
	const char *name;
	enum weir_lcore_map_severity severity;
	void (*apply)(struct lcore_check *c);
};

/* Where an lcore is; -1 and NULL where that is not one, or not known. */
struct lcore_place {
	const struct weir_machine_cpu *cpu;
	int node;
	int cache;
};

/* Tells that the rule is broken; of no lcore or port in particular: -1. */
void
weir__lcore_found(struct lcore_check *c, int lcore, int port,
		  const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The number of its CPUs, and the nth. */
unsigned int
weir__lcore_nb_cpus(const struct weir_lcore_map_lcore *lcore);
unsigned int
weir__lcore_cpu(const struct weir_lcore_map_lcore *lcore, unsigned int n);

struct lcore_place
weir__lcore_place(const struct lcore_check *c,
		  const struct weir_lcore_map_lcore *lcore);

/* Does it run tasks from the start? */
bool
weir__lcore_is_worker(const struct weir_lcore_map_lcore *lcore);

/* The worker behind that one, or the first; NULL: there is none. */
const struct weir_lcore_map_lcore *
weir__lcore_next_worker(const struct lcore_check *c,
			const struct weir_lcore_map_lcore *lcore);

/* What costs something, in the order of lcore_check.c's list. */
void
weir__rule_cpu_shared(struct lcore_check *c);
void
weir__rule_main_near(struct lcore_check *c);
void
weir__rule_core_shared(struct lcore_check *c);
void
weir__rule_lcore_spread(struct lcore_check *c);
void
weir__rule_queue_far(struct lcore_check *c);
void
weir__rule_port_alone(struct lcore_check *c);
void
weir__rule_node_memory(struct lcore_check *c);
void
weir__rule_node_hugepages(struct lcore_check *c);
void
weir__rule_cpu_balanced(struct lcore_check *c);
void
weir__rule_cpu_tick(struct lcore_check *c);

/* What is worth knowing. */
void
weir__rule_cpu_several(struct lcore_check *c);
void
weir__rule_port_nodes(struct lcore_check *c);
void
weir__rule_port_caches(struct lcore_check *c);
void
weir__rule_load_uneven(struct lcore_check *c);
void
weir__rule_no_queues(struct lcore_check *c);
void
weir__rule_cpu_zero(struct lcore_check *c);

#endif
