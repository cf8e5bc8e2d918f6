/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef QUEUE_INJECT_H
#define QUEUE_INJECT_H

/*
 * Where work from outside a node's workers, and their overflow, goes: one for each node.
 * See inject.c.
 */

#include <rte_prefetch.h>
#include <rte_ring.h>

#include "base/lock.h"
#include "queue/run_queue.h"

enum inject_state {
	INJECT_OPEN,
	INJECT_CLOSED,	 /* pushes are refused, save those under way */
	INJECT_FINISHED, /* nobody pops any more */
};

enum inject_stash {
	INJECT_NO_STASH,
	INJECT_STASHED, /* something is in the stash, or about to be */
	INJECT_TURNING, /* but some of it is to be turned round first (I6) */
};

struct inject {
	/* Read by all, written by shutdown. */
	struct rte_ring *ring;
	struct atomic_u32 state;

	/* Written when the ring is full, and when it is taken. */
	struct atomic_ptr spill weir_cache_aligned;

	/* Written by pushers onto the list only. */
	struct atomic_u64 pushed weir_cache_aligned;

	/* Written by poppers of the list. */
	struct lock stash_lock weir_cache_aligned;
	struct atomic_u32 stashed; /* enum inject_stash */
	struct atomic_u64 popped;
	/* With the lock: a chain, oldest first. */
	struct task *stash;
	/* Batches that come before it, youngest first (I6). */
	struct task *unturned;
};

/* Returns 0 or -errno. size: entries of the ring, a power of two. */
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

/*
 * Takes up to n, oldest first; returns how many, maybe none of those that have spilled
 * (I6). Any thread.
 */
unsigned int
weir__inject_pop(struct inject *q, struct task **tasks, unsigned int n);

/* Is anything on the list, or in the stash (I3)? Any thread. */
static inline bool
inject_has_spilled(const struct inject *q)
{
	/* [inject:A2] in this order. */
	const void *top = atomic_ptr_load(&q->spill, ACQUIRE);

	/* Who asks will take it: its line comes meanwhile. */
	if (top != NULL)
		rte_prefetch0(top);
	return top != NULL ||
	       atomic_u32_load(&q->stashed, RELAXED) != INJECT_NO_STASH;
}

/* Has the last pop left some to be turned round (I6)? At once old. Any thread. */
static inline bool
inject_turns(const struct inject *q)
{
	return atomic_u32_load(&q->stashed, RELAXED) == INJECT_TURNING;
}

/* And is nobody at it? */
static inline bool
inject_wants_turning(const struct inject *q)
{
	return inject_turns(q) && !lock_is_held(&q->stash_lock);
}

/* Is there anything to pop? At once old. Any thread. */
static inline bool
inject_pending(const struct inject *q)
{
	return !rte_ring_empty(q->ring) || inject_has_spilled(q);
}

/* Entries, as far as they are counted (I5); at once old. Any thread. */
unsigned int
weir__inject_len(const struct inject *q);

/* Refuses what comes from here on. Any thread. */
void
weir__inject_close(struct inject *q);

/*
 * Drops what is there, and waits for those who are in the middle of a push. Others may
 * pop. What its caller has pushed has gone. Of a closed queue; any thread.
 */
void
weir__inject_empty(struct inject *q);

/* Drops what is left and what still comes: nobody pops any more. */
void
weir__inject_finish(struct inject *q);

#endif
