/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include <numa.h>

#include "topology/topology.h"

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

	/* 0: the firmware gives no table. */
	if (d > 0 && d < UINT8_MAX)
		return (uint8_t)d;
	return from == to ? TOPOLOGY_LOCAL_DISTANCE : TOPOLOGY_REMOTE_DISTANCE;
}

int
weir__topology_read(struct topology *t, const unsigned int *ids, unsigned int n)
{
	unsigned int i, j;

	t->nb_nodes = 0;
	for (i = 0; i < n; i++)
		if (add_node(t, ids[i]) < 0)
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
