/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TOPOLOGY_TOPOLOGY_H
#define TOPOLOGY_TOPOLOGY_H

/*
 * The machine as the scheduler sees it: which NUMA nodes its workers are on and
 * how far apart these are, by libnuma.
 *
 * Nodes are numbered 0..nb_nodes-1 in here ("index"); `id` is the kernel's
 * number, which may have holes.
 */

#include "base/common.h"

#define TOPOLOGY_MAX_NODES 64
#define TOPOLOGY_LOCAL_DISTANCE 10
#define TOPOLOGY_REMOTE_DISTANCE 20

struct topology {
	unsigned int nb_nodes;
	unsigned int id[TOPOLOGY_MAX_NODES];
	/* Between node indices, as the firmware's table has it: 10 is local. */
	uint8_t distance[TOPOLOGY_MAX_NODES][TOPOLOGY_MAX_NODES];
};

/*
 * Reads the distances between the nodes of n places, which may be the same
 * ones. Returns 0 or -E2BIG.
 */
int
weir__topology_read(struct topology *t, const unsigned int *ids,
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

#endif
