/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef QUEUE_INJECT_H
#define QUEUE_INJECT_H

/*
 * Where work from outside a worker, and overflow, goes: one for each node, and
 * a private one, its inbox, for each worker. See inject.c.
 */

#include <rte_ring.h>

#include "base/lock.h"
#include "queue/run_queue.h"

enum inject_state {
	INJECT_OPEN,
	INJECT_CLOSED,	 /* pushes are refused, save those under way */
	INJECT_FINISHED, /* nobody pops any more */
};

struct inject {
	/* Read by all, written by shutdown. */
	struct rte_ring *ring; /* NULL: all are spilled */
	struct atomic_u32 state;

	/* Written when the ring is full or there is none. */
	struct atomic_ptr spill weir_cache_aligned;
	struct atomic_u64 spilled;

	/* Written by poppers of the spill list. */
	struct lock stash_lock weir_cache_aligned;
	struct task_chain stash;
};

/*
 * Returns 0 or -errno. size: entries of the ring, a power of two; 0: no ring,
 * for an inbox.
 */
int
weir__inject_init(struct inject *q, const char *name, unsigned int size,
		  unsigned int socket);
void
weir__inject_fini(struct inject *q);

/*
 * Adds n notifications, in order. False if the queue is closed: they are still
 * the caller's. Any thread.
 */
bool
weir__inject_push(struct inject *q, struct task *const *tasks, unsigned int n);

/* Takes up to n, oldest first; returns how many. Any thread. */
unsigned int
weir__inject_pop(struct inject *q, struct task **tasks, unsigned int n);

/* Of the list, as far as their pushes are over (I3). */
static inline unsigned int
inject_spilled(const struct inject *q)
{
	int64_t n = (int64_t)atomic_u64_load(&q->spilled, RELAXED);

	return n > 0 ? (unsigned int)n : 0;
}

/* Entries; at once old. Any thread. */
static inline unsigned int
weir__inject_len(const struct inject *q)
{
	unsigned int n = inject_spilled(q);

	return q->ring != NULL ? n + rte_ring_count(q->ring) : n;
}

/* Refuses what comes from here on. Any thread. */
void
weir__inject_close(struct inject *q);

/* Drops what is left and what still comes: nobody pops any more. */
void
weir__inject_finish(struct inject *q);

#endif
