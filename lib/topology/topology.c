/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include <numa.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#include "base/log.h"
#include "topology/topology.h"
#include "topology/weir_machine.h"

/* Tiers of those who share something. */
enum {
	ON_CORE,
	ON_CACHE,
	ON_NODE, /* and those of other nodes behind it */
};

/* A thread that is free to move has no node: any will do. */
static unsigned int
node_of_thread(void)
{
	unsigned int socket = rte_socket_id();

	if (socket == (unsigned int)SOCKET_ID_ANY)
		socket = (unsigned int)rte_socket_id_by_idx(0);
	return socket;
}

/*
 * EAL's word on an lcore's node is about the CPU with the lcore's number, which
 * --lcores may have put elsewhere; so its CPUs are asked.
 */
static void
locate(const struct weir_machine *m, struct place *p)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(p->lcore);
	int node = WEIR_MACHINE_UNKNOWN;
	bool first = true;
	unsigned int i;

	for (i = 0; i < m->nb_cpus; i++) {
		const struct weir_machine_cpu *cpu = &m->cpus[i];

		if (cpu->id >= CPU_SETSIZE || !CPU_ISSET(cpu->id, &cpus))
			continue;
		if (node == WEIR_MACHINE_UNKNOWN)
			node = cpu->node;
		if (first) {
			p->core = cpu->core;
			p->cache = cpu->cache;
			first = false;
		}
		if (cpu->core != p->core)
			p->core = WEIR_MACHINE_UNKNOWN;
		if (cpu->cache != p->cache)
			p->cache = WEIR_MACHINE_UNKNOWN;
	}
	if (node != WEIR_MACHINE_UNKNOWN)
		p->node = (unsigned int)node;
}

void
weir__topology_locate(struct place *places, unsigned int n)
{
	bool thread = n == 1 && places[0].lcore == LCORE_ID_ANY;
	struct weir_machine *m = thread ? NULL : weir_machine_read();
	unsigned int i;

	if (!thread && m == NULL)
		WEIR_LOG(WARNING,
			 "the machine cannot be read (%s): lcores are on the "
			 "nodes that EAL says, and share no core or cache\n",
			 rte_strerror(rte_errno));
	for (i = 0; i < n; i++) {
		places[i].node =
			thread ? node_of_thread() :
				 rte_lcore_to_socket_id(places[i].lcore);
		places[i].core = WEIR_MACHINE_UNKNOWN;
		places[i].cache = WEIR_MACHINE_UNKNOWN;
		if (m != NULL)
			locate(m, &places[i]);
	}
	weir_machine_free(m);
}

static bool
have_libnuma(void)
{
	/* -1 where the kernel has no NUMA support: one node then. */
	return numa_available() >= 0;
}

static int
add_node(struct topology *t, unsigned int id)
{
	if (weir__topology_node_index(t, id) >= 0)
		return 0;
	if (t->nb_nodes == TOPOLOGY_MAX_NODES)
		return -E2BIG;
	t->id[t->nb_nodes++] = id;
	return 0;
}

static uint8_t
read_distance(unsigned int from, unsigned int to)
{
	int d = have_libnuma() ? numa_distance((int)from, (int)to) : 0;

	/* 0: the firmware gives no table. 255 is the farthest that it can say. */
	if (d > 0 && d <= UINT8_MAX)
		return (uint8_t)d;
	return from == to ? TOPOLOGY_LOCAL_DISTANCE : TOPOLOGY_REMOTE_DISTANCE;
}

int
weir__topology_read(struct topology *t, const struct place *places,
		    unsigned int n)
{
	unsigned int i, j;

	t->nb_nodes = 0;
	for (i = 0; i < n; i++)
		if (add_node(t, places[i].node) < 0)
			return -E2BIG;
	for (i = 0; i < t->nb_nodes; i++)
		for (j = 0; j < t->nb_nodes; j++)
			t->distance[i][j] = read_distance(t->id[i], t->id[j]);
	return 0;
}

void
weir__topology_set(struct topology *t, unsigned int nb_nodes,
		   const uint8_t *distances)
{
	unsigned int i, j;

	t->nb_nodes = nb_nodes;
	for (i = 0; i < nb_nodes; i++) {
		t->id[i] = i;
		for (j = 0; j < nb_nodes; j++)
			t->distance[i][j] = distances[i * nb_nodes + j];
	}
}

int
weir__topology_node_index(const struct topology *t, unsigned int id)
{
	unsigned int i;

	for (i = 0; i < t->nb_nodes; i++)
		if (t->id[i] == id)
			return (int)i;
	return -ENOENT;
}

/* Is node a to be looked at before node b? Itself always comes first. */
static bool
nearer(const struct topology *t, unsigned int from, unsigned int a,
       unsigned int b)
{
	if (a == from || b == from)
		return a == from;
	return t->distance[from][a] < t->distance[from][b];
}

unsigned int
weir__topology_order(const struct topology *t, unsigned int from,
		     unsigned int *order, unsigned int *tier_end)
{
	unsigned int i, j, tiers = 0;

	for (i = 0; i < t->nb_nodes; i++) {
		for (j = i; j > 0 && nearer(t, from, i, order[j - 1]); j--)
			order[j] = order[j - 1];
		order[j] = i;
	}
	for (i = 1; i <= t->nb_nodes; i++) {
		/*
		 * A tier ends behind the node itself and where distance grows.
		 */
		if (i == t->nb_nodes || i == 1 ||
		    t->distance[from][order[i]] !=
			    t->distance[from][order[i - 1]])
			tier_end[tiers++] = i;
	}
	return tiers;
}

static bool
is_same(int a, int b)
{
	return a != WEIR_MACHINE_UNKNOWN && a == b;
}

/*
 * Nodes come first: a core or cache that spans some is nothing that brings them
 * together, since it is their memory that is far.
 */
static unsigned int
tier_of(const struct place *a, const struct place *b, unsigned int far)
{
	if (a->node != b->node)
		return far;
	if (is_same(a->core, b->core))
		return ON_CORE;
	return is_same(a->cache, b->cache) ? ON_CACHE : ON_NODE;
}

bool
weir__topology_is_beside(const struct place *a, const struct place *b)
{
	return tier_of(a, b, ON_NODE) < ON_NODE;
}

/* For each node its tier, seen from another one. */
static void
rank_nodes(const struct topology *t, unsigned int from, unsigned int *rank)
{
	unsigned int order[TOPOLOGY_MAX_NODES], ends[TOPOLOGY_MAX_NODES];
	unsigned int tiers = weir__topology_order(t, from, order, ends);
	unsigned int tier, i = 0;

	for (tier = 0; tier < tiers; tier++)
		for (; i < ends[tier]; i++)
			rank[order[i]] = ON_NODE + tier;
}

unsigned int
weir__topology_victims(const struct topology *t, const struct place *places,
		       unsigned int n, unsigned int from, uint16_t *victims,
		       unsigned int *tier_end, unsigned int *nb_near)
{
	unsigned int tiers[RTE_MAX_LCORE], rank[TOPOLOGY_MAX_NODES];
	unsigned int tier, i, found = 0, nb_tiers = 0;
	int node = weir__topology_node_index(t, places[from].node);

	rank_nodes(t, (unsigned int)node, rank);
	for (i = 0; i < n; i++) {
		node = weir__topology_node_index(t, places[i].node);
		tiers[i] = tier_of(&places[from], &places[i], rank[node]);
	}
	*nb_near = 0;
	for (tier = 0; found < n - 1; tier++) {
		for (i = 0; i < n; i++)
			if (tiers[i] == tier && i != from)
				victims[found++] = (uint16_t)i;
		if (tier <= ON_NODE)
			*nb_near = found;
		if (found > (nb_tiers > 0 ? tier_end[nb_tiers - 1] : 0))
			tier_end[nb_tiers++] = found;
	}
	return nb_tiers;
}
