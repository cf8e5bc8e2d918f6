/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_OWNED_H
#define TASK_OWNED_H

/*
 * All live tasks whose home is one node, so that shutdown can end them.
 *
 * Sharded, so that workers of a node seldom meet at a lock: a spawner inserts
 * into its own shard, and most tasks end on the worker that spawned them.
 */

#include "base/lock.h"
#include "task/cell.h"
#include "task/task.h"
#include "task/weir_hooks.h"

#define OWNED_MAX_SHARDS 64

struct owned_shard {
	struct lock lock;
	bool closed;
	uint64_t count;
	struct list_link tasks;
} weir_cache_aligned;

struct owned {
	unsigned int nb_shards; /* a power of two */
	struct owned_shard shards[OWNED_MAX_SHARDS];
};

/* What the tasks of one node share; a part of the scheduler's node. */
struct task_home {
	struct cell_pools cells;
	const struct weir_hooks *hooks; /* NULL: none of those for tasks */
	struct owned owned;
};

void
weir__owned_init(struct owned *o, unsigned int nb_workers);

/*
 * Takes the list's reference of a new task. False if the list is closed: the
 * task was not inserted. `hint` spreads inserters over shards.
 */
bool
weir__owned_insert(struct owned *o, struct task *t, unsigned int hint);

/*
 * False if it is on no list (any more). The reference is then someone else's.
 */
bool
weir__owned_remove(struct task *t);

/* No insertion succeeds from here on. Any thread. */
void
weir__owned_close(struct owned *o);

/*
 * Ends tasks until the closed list is empty; several threads share the work,
 * each starting at its own shard. A task that runs elsewhere is ended by its
 * own worker.
 */
void
weir__owned_shutdown(struct owned *o, unsigned int hint);

uint64_t
weir__owned_count(struct owned *o);

/* join.c: nobody will take the outcome. */
void
weir__join_drop_outcome(struct task *t);

#endif
