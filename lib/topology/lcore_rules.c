/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Rules for lcore maps whose breach costs something, or is worth knowing. They
 * are about workers: an lcore that is spare costs nothing yet.
 */

#include <string.h>

#include <rte_common.h>

#include "topology/id_set.h"
#include "topology/lcore_check.h"
#include "topology/lcore_map.h"

static bool
same_core(const struct weir_machine_cpu *a, const struct weir_machine_cpu *b)
{
	return a != NULL && b != NULL && a != b && a->core >= 0 &&
	       a->core == b->core;
}

static bool
may_move(const struct weir_lcore_map_lcore *lcore)
{
	return weir__lcore_nb_cpus(lcore) > 1;
}

/* Are all CPUs of the one known, and the other's too? Both are in order. */
static bool
is_within(const struct lcore_check *c, const struct weir_lcore_map_lcore *one,
	  const struct weir_lcore_map_lcore *other)
{
	unsigned int i, j = 0, id;

	for (i = 0; i < weir__lcore_nb_cpus(one); i++) {
		id = weir__lcore_cpu(one, i);
		while (j < weir__lcore_nb_cpus(other) &&
		       weir__lcore_cpu(other, j) < id)
			j++;
		if (j == weir__lcore_nb_cpus(other) ||
		    weir__lcore_cpu(other, j) != id ||
		    weir_machine_cpu_get(c->machine, id) == NULL)
			return false;
	}
	return true;
}

/* Has one of them no CPU of its own? */
static bool
on_same_cpus(const struct lcore_check *c, const struct weir_lcore_map_lcore *a,
	     const struct weir_lcore_map_lcore *b)
{
	return is_within(c, a, b) || is_within(c, b, a);
}

static bool
on_same_core(const struct lcore_check *c, const struct weir_lcore_map_lcore *a,
	     const struct weir_lcore_map_lcore *b)
{
	return same_core(weir__lcore_place(c, a).cpu,
			 weir__lcore_place(c, b).cpu);
}

/* The first worker that is so beside this one, and before it; or NULL. */
static const struct weir_lcore_map_lcore *
find_beside(const struct lcore_check *c,
	    const struct weir_lcore_map_lcore *lcore,
	    bool (*beside)(const struct lcore_check *,
			   const struct weir_lcore_map_lcore *,
			   const struct weir_lcore_map_lcore *))
{
	const struct weir_lcore_map_lcore *other = NULL;

	while ((other = weir__lcore_next_worker(c, other)) != lcore)
		if (beside(c, lcore, other))
			return other;
	return NULL;
}

void
weir__rule_cpu_shared(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL, *other, *inner;

	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		other = find_beside(c, lcore, on_same_cpus);
		if (other == NULL)
			continue;
		inner = is_within(c, lcore, other) ? lcore : other;
		weir__lcore_found(c, (int)lcore->lcore, -1,
				  "lcores %u and %u %s on CPU %u: while one "
				  "runs, milliseconds at a time, packets of "
				  "the other wait",
				  other->lcore, lcore->lcore,
				  may_move(lcore) || may_move(other) ?
					  "may both be" :
					  "are both",
				  weir__lcore_cpu(inner, 0));
	}
}

void
weir__rule_core_shared(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL, *other;

	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		other = find_beside(c, lcore, on_same_core);
		if (other != NULL)
			weir__lcore_found(
				c, (int)lcore->lcore, -1,
				"lcores %u and %u are on one core, CPUs %u and "
				"%u: each has about half of its speed",
				other->lcore, lcore->lcore,
				weir__lcore_cpu(other, 0),
				weir__lcore_cpu(lcore, 0));
	}
}

static void
add_id(struct id_set *s, int id)
{
	if (id >= 0 && (unsigned int)id < ID_SET_MAX)
		s->words[id / 64] |= UINT64_C(1) << id % 64;
}

/* The CPUs that an lcore may be on, and their cores. */
static void
collect(const struct lcore_check *c, const struct weir_lcore_map_lcore *lcore,
	struct id_set *cpus, struct id_set *cores)
{
	const struct weir_machine_cpu *cpu;
	unsigned int i;

	memset(cpus, 0, sizeof(*cpus));
	memset(cores, 0, sizeof(*cores));
	for (i = 0; i < weir__lcore_nb_cpus(lcore); i++) {
		cpu = weir_machine_cpu_get(c->machine,
					   weir__lcore_cpu(lcore, i));
		if (cpu == NULL)
			continue;
		add_id(cpus, (int)cpu->id);
		add_id(cores, cpu->core);
	}
}

/* The first of its CPUs that is so, or NULL. */
static const struct weir_machine_cpu *
find_cpu(const struct lcore_check *c, const struct weir_lcore_map_lcore *lcore,
	 bool (*is)(const struct weir_machine_cpu *cpu,
		    const struct id_set *set),
	 const struct id_set *set)
{
	const struct weir_machine_cpu *cpu;
	unsigned int i;

	for (i = 0; i < weir__lcore_nb_cpus(lcore); i++) {
		cpu = weir_machine_cpu_get(c->machine,
					   weir__lcore_cpu(lcore, i));
		if (cpu != NULL && is(cpu, set))
			return cpu;
	}
	return NULL;
}

static bool
is_in(const struct weir_machine_cpu *cpu, const struct id_set *cpus)
{
	return id_set_has(cpus, cpu->id);
}

static bool
is_on_one_of(const struct weir_machine_cpu *cpu, const struct id_set *cores)
{
	return cpu->core >= 0 && id_set_has(cores, (unsigned int)cpu->core);
}

static void
check_near(struct lcore_check *c, const struct weir_lcore_map_lcore *lcore,
	   const struct weir_lcore_map_lcore *main_lcore,
	   const struct id_set *cpus, const struct id_set *cores)
{
	const struct weir_machine_cpu *same, *cpu;

	same = find_cpu(c, lcore, is_in, cpus);
	cpu = same != NULL ? same : find_cpu(c, lcore, is_on_one_of, cores);
	if (cpu == NULL)
		return;
	if (may_move(lcore) || may_move(main_lcore))
		weir__lcore_found(c, (int)lcore->lcore, -1,
				  "lcore %u and the main lcore %u may both be "
				  "on %sCPU %u: whatever the main lcore does "
				  "there holds packets up",
				  lcore->lcore, main_lcore->lcore,
				  same != NULL ? "" : "the core of ", cpu->id);
	else
		weir__lcore_found(c, (int)lcore->lcore, -1,
				  "lcore %u shares its %s with the main lcore "
				  "%u: whatever that does holds packets up",
				  lcore->lcore, same != NULL ? "CPU" : "core",
				  main_lcore->lcore);
}

/* One CPU in common is enough: it may be the one that both are on. */
void
weir__rule_main_near(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL, *main_lcore = NULL;
	struct id_set cpus, cores;
	unsigned int i;

	for (i = 0; i < c->map->nb_lcores; i++)
		if (c->map->lcores[i].main)
			main_lcore = &c->map->lcores[i];
	if (main_lcore == NULL)
		return;
	collect(c, main_lcore, &cpus, &cores);
	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL)
		check_near(c, lcore, main_lcore, &cpus, &cores);
}

/* Is one of its CPUs on a known node, and which? */
static int
known_node(const struct lcore_check *c,
	   const struct weir_lcore_map_lcore *lcore, unsigned int n)
{
	const struct weir_machine_cpu *cpu =
		weir_machine_cpu_get(c->machine, weir__lcore_cpu(lcore, n));

	return cpu != NULL ? cpu->node : -1;
}

void
weir__rule_lcore_spread(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL;
	int first, node;
	unsigned int i;

	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		first = known_node(c, lcore, 0);
		for (i = 1; i < lcore->nb_cpus; i++) {
			node = known_node(c, lcore, i);
			if (first < 0 || node < 0 || node == first)
				continue;
			weir__lcore_found(c, (int)lcore->lcore, -1,
					  "lcore %u may run on nodes %d and "
					  "%d: its memory is near to one of "
					  "them only",
					  lcore->lcore, first, node);
			break;
		}
	}
}

/* The node of a port's device, or -1. */
static int
port_node(const struct lcore_check *c, unsigned int port)
{
	return c->nics[port] != NULL ? c->nics[port]->node : -1;
}

static bool
has_queue_of(const struct weir_lcore_map_lcore *lcore, unsigned int port)
{
	unsigned int i;

	for (i = 0; i < lcore->nb_queues; i++)
		if (lcore->queues[i].port == port)
			return true;
	return false;
}

void
weir__rule_queue_far(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL;
	unsigned int port;
	int from, to;

	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		to = weir__lcore_place(c, lcore).node;
		for (port = 0; port < RTE_DIM(c->nics); port++) {
			from = port_node(c, port);
			if (from < 0 || to < 0 || from == to ||
			    !has_queue_of(lcore, port))
				continue;
			weir__lcore_found(
				c, (int)lcore->lcore, (int)port,
				"port %u is on node %d, lcore %u on "
				"node %d, at a distance of %u: every "
				"packet crosses",
				port, from, lcore->lcore, to,
				weir_machine_distance(c->machine, from, to));
		}
	}
}

/* Workers that are, or may be, on a node. */
static unsigned int
count_workers(const struct lcore_check *c, int node, bool or_unknown)
{
	const struct weir_lcore_map_lcore *lcore = NULL;
	unsigned int n = 0;
	int place;

	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		place = weir__lcore_place(c, lcore).node;
		n += place == node || (place < 0 && or_unknown);
	}
	return n;
}

void
weir__rule_port_alone(struct lcore_check *c)
{
	unsigned int port;
	int node;

	for (port = 0; port < RTE_DIM(c->nics); port++) {
		node = port_node(c, port);
		if (node < 0 || count_workers(c, node, true) != 0)
			continue;
		weir__lcore_found(c, -1, (int)port,
				  "port %u is on node %d, where no worker is: "
				  "whoever polls it is far from it",
				  port, node);
	}
}

static bool
has_hugepages(const struct weir_machine_node *node)
{
	unsigned int i;

	for (i = 0; i < node->nb_pages; i++)
		if (node->pages[i].total != 0)
			return true;
	return false;
}

/* 0 is none where other nodes have some, and else not known. */
static bool
lacks_memory(const struct lcore_check *c, const struct weir_machine_node *node)
{
	unsigned int i;

	for (i = 0; i < c->machine->nb_nodes; i++)
		if (c->machine->nodes[i].memory != 0)
			return node->memory == 0;
	return false;
}

/* A runtime takes memory of its workers' nodes, and has no other way. */
void
weir__rule_node_memory(struct lcore_check *c)
{
	const struct weir_machine_node *node;
	unsigned int i, workers;

	for (i = 0; i < c->machine->nb_nodes; i++) {
		node = &c->machine->nodes[i];
		workers = count_workers(c, (int)node->id, false);
		if (workers == 0 || (node->allowed && !lacks_memory(c, node)))
			continue;
		weir__lcore_found(
			c, -1, -1,
			"node %u has %u %s and %s: the runtime starts only "
			"with --no-huge, and their memory is then on another "
			"node",
			node->id, workers, workers == 1 ? "worker" : "workers",
			lacks_memory(c, node) ? "no memory" :
						"memory outside the cpuset");
	}
}

void
weir__rule_node_hugepages(struct lcore_check *c)
{
	const struct weir_machine_node *node;
	unsigned int i, workers;

	for (i = 0; i < c->machine->nb_nodes; i++) {
		node = &c->machine->nodes[i];
		workers = count_workers(c, (int)node->id, false);
		/* Where it has no memory the rule above has told so. */
		if (workers == 0 || !node->allowed || lacks_memory(c, node) ||
		    has_hugepages(node))
			continue;
		weir__lcore_found(c, -1, -1,
				  "node %u has %u %s and no hugepages: the "
				  "runtime starts only with --no-huge, and "
				  "their memory is then in small pages",
				  node->id, workers,
				  workers == 1 ? "worker" : "workers");
	}
}

/* Is there a CPU that the kernel leaves alone in that way? */
static bool
any_cpu(const struct lcore_check *c,
	bool (*is)(const struct weir_machine_cpu *cpu))
{
	unsigned int i;

	for (i = 0; i < c->machine->nb_cpus; i++)
		if (is(&c->machine->cpus[i]))
			return true;
	return false;
}

static bool
is_isolated(const struct weir_machine_cpu *cpu)
{
	return cpu->isolated;
}

static bool
is_tick_free(const struct weir_machine_cpu *cpu)
{
	return cpu->tick_free;
}

static bool
is_balanced(const struct weir_machine_cpu *cpu, const struct id_set *set)
{
	return !cpu->isolated;
}

static bool
has_tick(const struct weir_machine_cpu *cpu, const struct id_set *set)
{
	return !cpu->tick_free;
}

static bool
is_zero(const struct weir_machine_cpu *cpu, const struct id_set *set)
{
	return cpu->id == 0;
}

void
weir__rule_cpu_balanced(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL;
	const struct weir_machine_cpu *cpu;

	if (!any_cpu(c, is_isolated))
		return;
	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		cpu = find_cpu(c, lcore, is_balanced, NULL);
		if (cpu != NULL)
			weir__lcore_found(c, (int)lcore->lcore, -1,
					  "lcore %u %s on CPU %u, which is not "
					  "isolated as others are: the kernel "
					  "may run other threads there",
					  lcore->lcore,
					  may_move(lcore) ? "may be" : "is",
					  cpu->id);
	}
}

/* Without a word of its own it does what the options say, by default this. */
static bool
polls(const struct weir_lcore_map_lcore *lcore)
{
	return lcore->park < 0 || lcore->park == LCORE_MAP_PARK_POLL;
}

void
weir__rule_cpu_tick(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL;
	const struct weir_machine_cpu *cpu;

	if (!any_cpu(c, is_tick_free))
		return;
	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		cpu = find_cpu(c, lcore, has_tick, NULL);
		if (cpu != NULL && polls(lcore))
			weir__lcore_found(c, (int)lcore->lcore, -1,
					  "lcore %u %s on CPU %u, which is not "
					  "in nohz_full as others are: the "
					  "kernel interrupts it some hundred "
					  "times a second",
					  lcore->lcore,
					  may_move(lcore) ? "may poll" :
							    "polls",
					  cpu->id);
	}
}

void
weir__rule_cpu_several(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL;

	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL)
		if (lcore->nb_cpus > 1)
			weir__lcore_found(c, (int)lcore->lcore, -1,
					  "lcore %u may run on %u CPUs: the "
					  "kernel moves it, away from what it "
					  "has in its caches",
					  lcore->lcore, lcore->nb_cpus);
}

static int
place_node(const struct lcore_place *place)
{
	return place->node;
}

static int
place_cache(const struct lcore_place *place)
{
	return place->cache;
}

/*
 * Finds two lcores with queues of the port whose places differ in that. The
 * first one is the first of the map.
 */
static bool
find_apart(const struct lcore_check *c, unsigned int port,
	   int (*part)(const struct lcore_place *place),
	   const struct weir_lcore_map_lcore *apart[2])
{
	const struct weir_lcore_map_lcore *lcore = NULL;
	struct lcore_place place;
	int first = -1;

	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		place = weir__lcore_place(c, lcore);
		if (part(&place) < 0 || !has_queue_of(lcore, port))
			continue;
		if (first < 0) {
			first = part(&place);
			apart[0] = lcore;
		} else if (part(&place) != first) {
			apart[1] = lcore;
			return true;
		}
	}
	return false;
}

void
weir__rule_port_nodes(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *apart[2];
	unsigned int port;

	for (port = 0; port < RTE_DIM(c->nics); port++)
		if (find_apart(c, port, place_node, apart))
			weir__lcore_found(c, -1, (int)port,
					  "port %u has queues on nodes %d and "
					  "%d, with lcores %u and %u: what "
					  "they share is far from one of them",
					  port,
					  weir__lcore_place(c, apart[0]).node,
					  weir__lcore_place(c, apart[1]).node,
					  apart[0]->lcore, apart[1]->lcore);
}

void
weir__rule_port_caches(struct lcore_check *c)
{
	/* With -O3 gcc does not see that it is set where it is read. */
	const struct weir_lcore_map_lcore *apart[2] = { NULL }, *far_apart[2];
	unsigned int port;

	/* On other nodes they are in other caches as well. */
	for (port = 0; port < RTE_DIM(c->nics); port++)
		if (find_apart(c, port, place_cache, apart) &&
		    !find_apart(c, port, place_node, far_apart))
			weir__lcore_found(c, -1, (int)port,
					  "port %u has queues in several "
					  "last-level caches, with lcores %u "
					  "and %u: what they share moves "
					  "between these",
					  port, apart[0]->lcore,
					  apart[1]->lcore);
}

/* The workers with the fewest queues and with the most. */
static void
find_loads(const struct lcore_check *c,
	   const struct weir_lcore_map_lcore **least,
	   const struct weir_lcore_map_lcore **most)
{
	const struct weir_lcore_map_lcore *lcore = NULL;

	*least = *most = weir__lcore_next_worker(c, NULL);
	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL) {
		if (lcore->nb_queues < (*least)->nb_queues)
			*least = lcore;
		if (lcore->nb_queues > (*most)->nb_queues)
			*most = lcore;
	}
}

void
weir__rule_load_uneven(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *least, *most;

	find_loads(c, &least, &most);
	if (least != NULL && most->nb_queues > least->nb_queues + 1)
		weir__lcore_found(c, (int)most->lcore, -1,
				  "lcore %u has %u queues, lcore %u has %u: "
				  "under load it takes stealing to even that "
				  "out",
				  most->lcore, most->nb_queues, least->lcore,
				  least->nb_queues);
}

void
weir__rule_no_queues(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL, *least, *most;

	find_loads(c, &least, &most);
	/* Where the map names no queues at all, someone else deals them out. */
	if (most == NULL || most->nb_queues == 0)
		return;
	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL)
		if (lcore->nb_queues == 0)
			weir__lcore_found(c, (int)lcore->lcore, -1,
					  "lcore %u has no queues: it only "
					  "steals tasks",
					  lcore->lcore);
}

void
weir__rule_cpu_zero(struct lcore_check *c)
{
	const struct weir_lcore_map_lcore *lcore = NULL;

	while ((lcore = weir__lcore_next_worker(c, lcore)) != NULL)
		if (find_cpu(c, lcore, is_zero, NULL) != NULL)
			weir__lcore_found(c, (int)lcore->lcore, -1,
					  "lcore %u %s on CPU 0, where much of "
					  "the kernel's own work is done and "
					  "holds packets up",
					  lcore->lcore,
					  may_move(lcore) ? "may be" : "is");
}
