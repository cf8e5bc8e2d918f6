/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TOPOLOGY_TOPOLOGY_H
#define TOPOLOGY_TOPOLOGY_H

/*
 * The machine as the scheduler sees it: where its workers are, what they share
 * there, and how far apart their NUMA nodes are.
 *
 * Nodes are numbered 0..nb_nodes-1 in here ("index"); `id` is the kernel's
 * number, which may have holes.
 */

#include "base/common.h"

#define TOPOLOGY_MAX_NODES 64
/* One core, one cache, one node, and each of the others may be one. */
#define TOPOLOGY_MAX_TIERS (TOPOLOGY_MAX_NODES + 2)
#define TOPOLOGY_LOCAL_DISTANCE 10
#define TOPOLOGY_REMOTE_DISTANCE 20

/* Where a worker is: what all CPUs of its lcore have in common. */
struct place {
	unsigned int lcore; /* LCORE_ID_ANY: wherever its thread is */
	unsigned int node;  /* the kernel's number */
	int core;	    /* equal on one core; WEIR_MACHINE_UNKNOWN */
	int cache; /* equal with one last-level cache; WEIR_MACHINE_UNKNOWN */
};

struct topology {
	unsigned int nb_nodes;
	unsigned int id[TOPOLOGY_MAX_NODES];
	/* Between node indices, as the firmware's table has it: 10 is local. */
	uint8_t distance[TOPOLOGY_MAX_NODES][TOPOLOGY_MAX_NODES];
};

/*
 * Finds where n lcores are, and writes that to their places. What cannot be read
 * is not known; a node that cannot is the one that EAL names. Of an lcore with
 * CPUs on several nodes it is that of the first.
 */
void
weir__topology_locate(struct place *places, unsigned int n);

/*
 * Reads the distances between the nodes of n places, which may be the same
 * ones. Returns 0 or -E2BIG.
 */
int
weir__topology_read(struct topology *t, const struct place *places,
		    unsigned int n);

/*
 * Builds one by hand, for tests: ids 0..nb_nodes-1, distances row by row.
 */
void
weir__topology_set(struct topology *t, unsigned int nb_nodes,
		   const uint8_t *distances);

/* Index of the node with the kernel's number id, or -ENOENT. */
int
weir__topology_node_index(const struct topology *t, unsigned int id);

/*
 * Order in which a worker on node `from` looks at the others: nodes by rising
 * distance, itself first. order[] gets nb_nodes indices; tier_end[i] is how
 * many of them lie in the first i+1 tiers of equal distance. Returns the number
 * of tiers.
 */
unsigned int
weir__topology_order(const struct topology *t, unsigned int from,
		     unsigned int *order, unsigned int *tier_end);

/* Are both on one node, and on one core or with one last-level cache? */
bool
weir__topology_is_beside(const struct place *a, const struct place *b);

/*
 * Order in which the worker at place `from` of n looks at the others: those on
 * its core, with its last-level cache, on its node, then other nodes by their
 * distance from it. victims[] gets n - 1 indices of places; tier_end[i], of
 * TOPOLOGY_MAX_TIERS at most, is how many of them lie in the first i+1 tiers,
 * none of which is empty. *nb_near is how many are on its node. Returns the
 * number of tiers.
 */
unsigned int
weir__topology_victims(const struct topology *t, const struct place *places,
		       unsigned int n, unsigned int from, uint16_t *victims,
		       unsigned int *tier_end, unsigned int *nb_near);

#endif
