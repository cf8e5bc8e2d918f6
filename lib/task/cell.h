/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_CELL_H
#define TASK_CELL_H

/*
 * Memory of task cells: a mempool for each size class on each node, and
 * socket-local memory for cells that are larger or find their pool empty.
 *
 * A worker has caches of its own in front of its node's pools. They are indexed
 * by worker and not by lcore id, since a worker's core can move to another
 * thread. A cell that ends on another node goes straight to its pool.
 */

#include <stddef.h>

#include <rte_mempool.h>

struct task;

/* Cell sizes: 128, 256 and 512 bytes. */
#define CELL_CLASSES 3
#define CELL_CLASS_MALLOC CELL_CLASSES
#define CELL_MIN_SIZE 128

/* Tests shrink it. */
#ifndef CELL_CACHE_SIZE
#define CELL_CACHE_SIZE 256
#endif

struct cell_pools {
	unsigned int socket;
	struct rte_mempool *pool[CELL_CLASSES];
};

struct cell_cache {
	struct cell_pools *pools;
	struct rte_mempool_cache *cache[CELL_CLASSES];
};

/*
 * `cells` in each class, besides what the caches of nb_workers may hold.
 * Returns 0 or -errno; pools is then empty.
 */
int
weir__cell_pools_init(struct cell_pools *p, const char *name,
		      unsigned int socket, unsigned int cells,
		      unsigned int nb_workers);
void
weir__cell_pools_fini(struct cell_pools *p);

int
weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p);
void
weir__cell_cache_fini(struct cell_cache *c);

/*
 * A cell with room for state_size bytes, of which only size_class is set. NULL:
 * no memory. The cache may be NULL, and else belongs to the calling worker.
 */
struct task *
weir__cell_alloc(struct cell_pools *p, struct cell_cache *c, size_t state_size);
void
weir__cell_free(struct cell_pools *p, struct cell_cache *c, struct task *t);

#endif
