/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_LOCK_H
#define BASE_LOCK_H

/*
 * A lock for a few instructions, cold in the common case.
 *
 * Not rte_spinlock: lcores may share a CPU with their application's other
 * threads, so after a short spin a waiter gives its time slice to the holder.
 */

#include <sched.h>

#include "base/atomic.h"

struct lock {
	struct atomic_u32 held;
};

#define LOCK_SPINS 64

static inline void
lock_init(struct lock *l)
{
	atomic_u32_store(&l->held, 0, RELAXED);
}

static inline bool
lock_try(struct lock *l)
{
	/*
	 * [lock:A1] pairs with the release in lock_release(): without it the
	 * new holder could read what the last one had not written yet.
	 */
	return atomic_u32_load(&l->held, RELAXED) == 0 &&
	       atomic_u32_exchange(&l->held, 1, ACQUIRE) == 0;
}

static inline void
lock_acquire(struct lock *l)
{
	unsigned int spins = 0;

	while (!lock_try(l)) {
		atomic_pause();
		if (++spins == LOCK_SPINS) {
			sched_yield();
			spins = 0;
		}
	}
}

static inline void
lock_release(struct lock *l)
{
	/* [lock:A1] */
	atomic_u32_store(&l->held, 0, RELEASE);
}

#endif
