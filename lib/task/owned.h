/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_OWNED_H
#define TASK_OWNED_H

/*
 * All live tasks whose home is one node, so that shutdown can end them and others
 * can look at them. They are on no list, which each spawn and each end would have to
 * change: who looks for them goes through the node's cells.
 */

#include "task/cell.h"
#include "task/stack.h"
#include "task/task.h"
#include "task/weir_hooks.h"

/*
 * What one thread adds to the number of a node's live tasks, modulo 2^64: others may
 * end what it has begun. Its only writer is the driver of the core that has it.
 */
struct owned_count {
	struct owned *owned;
	struct owned_count *next;
	struct atomic_u64 n;
};

struct owned {
	struct atomic_u32 closed;
	struct owned_count *counts;
	/* The part of all threads that have none of those counts. */
	struct atomic_u64 elsewhere weir_cache_aligned;
};

/* What the tasks of one node share; a part of the scheduler's node. */
struct task_home {
	struct cell_pools cells;
	struct stack_pool stacks;
	const struct weir_hooks *hooks; /* NULL: none of those for tasks */
	struct owned owned;
};

void
weir__owned_init(struct owned *o);

/* It stays until nobody counts any more. Before anyone does. */
void
weir__owned_add_count(struct owned *o, struct owned_count *c);

/* n more, or fewer, are live. c: the calling thread's, or NULL. */
static inline void
owned_add(struct owned *o, struct owned_count *c, uint64_t n)
{
	if (likely(c != NULL && c->owned == o))
		atomic_u64_add_owner(&c->n, n);
	else
		atomic_u64_fetch_add(&o->elsewhere, n, RELAXED);
}

/* Are no more tasks to begin? See owned.c, O2. */
static inline bool
owned_is_closed(const struct owned *o)
{
	return unlikely(atomic_u32_load(&o->closed, RELAXED) != 0);
}

/*
 * Has it been closed since those tasks began that the calling thread has begun? See
 * owned.c, O2. No: shutdown finds them, whoever looks first.
 */
bool
weir__owned_closed_since(const struct owned *o);

/* From here on no task is to begin. Any thread. */
void
weir__owned_close(struct owned *o);

/* To shut down those that are bound to any worker. */
#define OWNED_ALL_WORKERS UINT_MAX

/*
 * Ends all tasks that the calling thread can know of, but those that are bound to
 * other workers. A task that runs elsewhere, or has its turn with it in another's queue
 * (run.h, N1), is ended by that worker. live: the calling thread's, or NULL.
 */
void
weir__owned_shutdown(struct task_home *home, unsigned int worker,
		     struct owned_count *live);

/* As shutdown does with one that it finds. live: the calling thread's, or NULL. */
void
weir__owned_end(struct task *t, struct owned_count *live);

/*
 * Tasks that have not ended; at once old, and too low by those that another begins, and a
 * third one ends, while it is read.
 */
uint64_t
weir__owned_count(const struct owned *o);

/* A live task, as it was at some time. */
struct task_view {
	uint64_t id;
	const struct weir_task_ops *ops;
	uint64_t state; /* of state.h */
	/* Of the next one in its cell, if it ends at that time: see owned.c, O5. */
	uint32_t polls; /* with TASK_KEPT */
	uint32_t woken;
};

/* False: the walk ends here. Be short. */
typedef bool
owned_visit(const struct task_view *v, void *arg);

/*
 * Visits the tasks that have not ended, and none of them twice. One that comes or
 * goes meanwhile may be missed. Any thread; who takes or gives back a large cell may
 * wait for a visit.
 */
void
weir__owned_walk(struct task_home *home, owned_visit *visit, void *arg);

/* join.c: nobody will take the outcome. */
void
weir__join_drop_outcome(struct task *t);

#endif
