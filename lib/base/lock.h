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
#include "base/common.h"

struct lock {
	struct atomic_u32 held;
	/* In lock_acquire(), past its first try, or to come back to it. */
	struct atomic_u32 waiting;
};

#define LOCK_SPINS 64

static inline void
lock_init(struct lock *l)
{
	atomic_u32_store(&l->held, 0, RELAXED);
	atomic_u32_store(&l->waiting, 0, RELAXED);
}

static inline bool
lock_grab(struct lock *l)
{
	/*
	 * [lock:A1] pairs with the release in lock_release(): without it the
	 * new holder could read what the last one had not written yet.
	 */
	return atomic_u32_load(&l->held, RELAXED) == 0 &&
	       atomic_u32_exchange(&l->held, 1, ACQUIRE) == 0;
}

/*
 * Gives way to those that wait: a worker that polls takes its sources' locks
 * again and again, and would keep others out.
 */
static inline bool
lock_try(struct lock *l)
{
	return atomic_u32_load(&l->waiting, RELAXED) == 0 && lock_grab(l);
}

/* Between two tries. */
static inline void
lock_rest(unsigned int *spins)
{
	atomic_pause();
	if (++*spins % LOCK_SPINS == 0)
		sched_yield();
}

/* Somebody has it. Not inline: that would cost those who meet nobody registers. */
static __attribute__((noinline, unused)) void
lock_wait(struct lock *l)
{
	unsigned int spins = 0;

	atomic_u32_fetch_add(&l->waiting, 1, RELAXED);
	while (!lock_grab(l))
		lock_rest(&spins);
	atomic_u32_fetch_sub(&l->waiting, 1, RELAXED);
}

/* Only if nobody has it; for one who takes it as others wait. */
static inline bool
lock_take(struct lock *l)
{
	/* [lock:A1] */
	return atomic_u32_exchange(&l->held, 1, ACQUIRE) == 0;
}

/* As lock_try(), for one who hardly ever meets another: it has no look before. */
static inline bool
lock_try_blind(struct lock *l)
{
	return atomic_u32_load(&l->waiting, RELAXED) == 0 && lock_take(l);
}

/* Has anybody got it? At once old. */
static inline bool
lock_is_held(const struct lock *l)
{
	return atomic_u32_load(&l->held, RELAXED) != 0;
}

/* Of one's own: does anybody wait for it? */
static inline bool
lock_is_wanted(const struct lock *l)
{
	return atomic_u32_load(&l->waiting, RELAXED) != 0;
}

static inline void
lock_acquire(struct lock *l)
{
	if (unlikely(!lock_take(l)))
		lock_wait(l);
}

/* Behind all that wait: for one who takes it again and again. */
static inline void
lock_acquire_behind(struct lock *l)
{
	unsigned int spins = 0;

	while (!lock_try(l))
		lock_rest(&spins);
}

static inline void
lock_release(struct lock *l)
{
	/* [lock:A1] */
	atomic_u32_store(&l->held, 0, RELEASE);
}

/* Gives it back for a while, for which the lock must stay: lock_acquire_last(). */
static inline void
lock_leave(struct lock *l)
{
	atomic_u32_fetch_add(&l->waiting, 1, RELAXED);
	lock_release(l);
}

static inline void
lock_return(struct lock *l)
{
	lock_acquire(l);
	atomic_u32_fetch_sub(&l->waiting, 1, RELAXED);
}

/*
 * Nobody comes for it any more, but those who have left it for a while. They count
 * themselves while they have it; so once whoever has it sees none, all are through.
 */
static inline void
lock_acquire_last(struct lock *l)
{
	lock_acquire(l);
	while (unlikely(atomic_u32_load(&l->waiting, RELAXED) != 0)) {
		lock_release(l);
		sched_yield();
		lock_acquire(l);
	}
}

#endif
