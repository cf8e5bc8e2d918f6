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

/* Fills in a new cell, but for its state. */
static inline void
spawn_init(struct task *t, struct node *home, const struct weir_task_ops *ops,
	   const struct weir_spawn_attr *attr, enum spawn how)
{
	state_init(&t->state);
	if (how == SPAWN_DETACHED)
		state_detach(&t->state);
	t->ops = ops;
	t->home = &home->home;
	t->worker = (uint16_t)attr->worker;
	t->affinity = attr->affinity & 3;
	t->hooked = false;
	t->join_waiter = NULL;
	atomic_u32_store(&t->polls, 0, RELAXED);
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
 * bits differ. All begin behind WEIR_TASK_NONE.
 */
static inline uint64_t
spawn_ids(struct weir_runtime *rt, struct core *c, unsigned int n)
{
	struct worker *w;
	uint64_t before;

	if (c == NULL)
		return atomic_u64_fetch_add(&rt->spawned, n, RELAXED) + 1;
	w = c->worker;
	before = counter_get(&w->counters, spawned);
	atomic_u64_store(&w->counters.spawned, before + n, RELAXED);
	return w->id_base + before + 1;
}

/* It will be started, or refused: gives it its id. */
static inline void
spawn_number(const struct core *c, struct task *t, uint64_t id, uint32_t stamp)
{
	t->id = id;
	TRACE_FP(task_spawn, t->id, t->ops->name,
		 c != NULL ? c->worker->index : TRACE_NO_WORKER);
	note_woken_at(c, t, stamp);
}

/* The same, and the hook is told. */
static inline void
spawn_announce(const struct core *c, struct task *t, uint64_t id,
	       uint32_t stamp)
{
	spawn_number(c, t, id, stamp);
	if (unlikely(t->home->hooks != NULL)) {
		t->hooked = true;
		task_hook(t, task_spawn);
	}
}

/*
 * Which shard of the owned lists has the tasks of that id. A worker has its own.
 * Others go from one to the next, so that the workers that end their tasks seldom
 * meet at a lock.
 */
static inline unsigned int
spawn_shard_hint(const struct core *c, uint64_t id)
{
	return c != NULL ? c->worker->idle_bit : (unsigned int)(id / 32);
}

/* The runtime ends. Nobody else has seen the task. */
void
weir__spawn_refuse(struct task *t, enum spawn how);

#endif
