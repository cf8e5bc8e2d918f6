/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SCHED_SPAWN_H
#define SCHED_SPAWN_H

/*
 * What a spawn is made of, one by one or in bursts.
 */

#include <string.h>

#include "sched/scheduler.h"

/* For those who give none. The compiler sees what is in it. */
static const struct weir_spawn_attr spawn_attr_none;

enum spawn {
	SPAWN_JOINED,
	SPAWN_DETACHED,
};

/* But for poll and run. */
static inline bool
spawn_ops_valid(const struct weir_task_ops *ops)
{
	size_t result_end;

	return ops != NULL && ops->name != NULL &&
	       !__builtin_add_overflow(ops->result_offset, ops->result_size,
				       &result_end) &&
	       result_end <= ops->state_size;
}

/* The node that attr asks for, or NULL. c: the calling thread's core, or NULL. */
struct node *
weir__home_of(const struct weir_runtime *rt, const struct core *c,
	      const struct weir_spawn_attr *attr);

/* Another than a worker has taken cells: see runtime.c, M1. */
static inline void
spawn_count_cells(struct weir_runtime *rt, unsigned int n)
{
	atomic_u64_fetch_add(&rt->cells, n, RELAXED);
}

/* Does it go to the calling worker's own queue, with its turn (task/run.h, N1)? */
static inline bool
spawn_is_kept(const struct core *c, const struct node *home,
	      const struct weir_spawn_attr *attr)
{
	return c != NULL && worker_of(c)->node == home &&
	       attr->affinity != WEIR_AFFINITY_WORKER;
}

/* Fills in a new cell, but for its id and its state. */
static inline void
spawn_init(struct task *t, struct node *home, const struct weir_task_ops *ops,
	   bool kept)
{
	task_set_ops(t, ops);
	t->home = &home->home;
	t->hooked = false;
	t->join_waiter = NULL;
	atomic_u32_store(&t->polls, kept ? TASK_KEPT : 0, RELAXED);
}

static inline uint16_t
spawn_place(const struct weir_spawn_attr *attr)
{
	return place_of(attr->affinity, attr->affinity == WEIR_AFFINITY_WORKER ?
						attr->worker :
						0);
}

/* from: NULL, or what the state is to be; else it is zero. */
static inline void
spawn_state(struct task *t, const void *from, size_t size)
{
	if (from != NULL)
		memcpy(t->bytes, from, size);
	else if (size > 0)
		memset(t->bytes, 0, size);
}

/* Larger: those are copied faster by the library. */
#define SPAWN_SMALL_MAX 128u

/* Is it as most are, nothing or some words? */
static inline bool
spawn_is_small(size_t size)
{
	return size == 0 || (size >= 4 && size <= SPAWN_SMALL_MAX);
}

/* In a loop: the compiler makes no call of it. */
#define SPAWN_NO_CALL() __asm__("" ::: "memory")

/*
 * As spawn_state() for one that is small, in moves of which the last two may
 * overlap. A cell's room is a multiple of 16.
 */
static inline void
spawn_state_small(struct task *t, const void *from, size_t size)
{
	const uint8_t *bytes = from;
	size_t i;

	if (bytes == NULL) {
		for (i = 0; i < size; i += 16) {
			memset(t->bytes + i, 0, 16);
			SPAWN_NO_CALL();
		}
	} else if (size >= 16) {
		for (i = 0; i < size - 16; i += 16) {
			memcpy(t->bytes + i, bytes + i, 16);
			SPAWN_NO_CALL();
		}
		memcpy(t->bytes + size - 16, bytes + size - 16, 16);
	} else if (size >= 8) {
		memcpy(t->bytes, bytes, 8);
		memcpy(t->bytes + size - 8, bytes + size - 8, 8);
	} else if (size > 0) {
		memcpy(t->bytes, bytes, 4);
		memcpy(t->bytes + size - 4, bytes + size - 4, 4);
	}
}

/*
 * The first of n ids. Those of workers and of other threads do not meet: the top 16
 * bits differ, until 2^48 were spawned by one. All begin behind WEIR_TASK_NONE.
 */
static inline uint64_t
spawn_ids(struct weir_runtime *rt, struct core *c, unsigned int n)
{
	struct worker *w;
	uint64_t before;

	if (c == NULL)
		return atomic_u64_fetch_add(&rt->spawned, n, RELAXED) + 1;
	w = worker_of(c);
	before = counter_get(&w->counters, spawned);
	atomic_u64_store(&w->counters.spawned, before + n, RELAXED);
	return w->id_base + before + 1;
}

/* It will be started, or refused. */
static inline void
spawn_note(const struct core *c, struct task *t, uint32_t stamp)
{
	TRACE_FP(task_spawn, task_id(t), task_ops(t)->name,
		 c != NULL ? worker_of(c)->index : TRACE_NO_WORKER);
	note_woken_at(c, t, stamp);
}

/* The same, and the hook is told. */
static inline void
spawn_announce(const struct core *c, struct task *t, uint32_t stamp)
{
	spawn_note(c, t, stamp);
	if (unlikely(t->home->hooks != NULL)) {
		t->hooked = true;
		task_hook(t, task_spawn);
	}
}

/*
 * They are live, which is counted once they have not been late: who asks what a shutdown
 * has left is not to find those that it, or their spawner, ends.
 */
static inline void
spawn_count(const struct core *c, struct node *home, unsigned int n)
{
	owned_add(&home->home.owned, c != NULL ? c->ctx.live : NULL, n);
}

/*
 * Have others, who end tasks, perhaps looked for those that have just begun, and will
 * not look again (owned.c, O2)?
 */
static inline bool
spawn_is_late(const struct core *c, const struct node *home,
	      const struct weir_spawn_attr *attr)
{
	return unlikely(c == NULL || attr->affinity == WEIR_AFFINITY_WORKER ||
			(attr->node_plus_1 != 0 &&
			 home != worker_of(c)->node)) &&
	       weir__owned_closed_since(&home->home.owned);
}

/* The runtime ends. Nobody else has seen the task. */
void
weir__spawn_refuse(struct task *t, enum spawn how);

/* The same for one that has begun, and is in no queue. c: the calling thread's. */
void
weir__spawn_end(const struct core *c, struct task *t);

#endif
