/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TIME_TIMERS_H
#define TIME_TIMERS_H

/* A worker's timers, and the waits on them. See timers.c. */

#include "base/lock.h"
#include "base/prefetch.h"
#include "task/task.h"
#include "time/clock.h"
#include "time/weir_time.h"
#include "time/wheel.h"

/*
 * Timers that are fired with the lock held once, and that are fired at once; tests
 * shrink both. Smaller: more looks, or takings of the lock. Larger: others wait longer
 * for the lock, or the sources for their next round.
 */
#ifndef TIMERS_MOST
#define TIMERS_BATCH 32u
#define TIMERS_MOST 256u
#endif

/* What the next firing will touch: of a task two lines, and of the wheel one. */
#define TIMERS_NEXT 3

struct timers {
	/* Cycles of the clock; nothing is due before. Read by any thread. */
	struct atomic_u64 due;
	/*
	 * Written under the lock, for timers_fetch(), and by their own worker when it
	 * has done that: the first is NULL then.
	 */
	struct atomic_ptr next[TIMERS_NEXT];
	const struct clock *clock;
	struct lock lock weir_cache_aligned;
	struct wheel wheel; /* under the lock */
};

/* What is inside struct weir_sleep. */
struct timer {
	/* Under the lock of where it is; `due` is the waiting task's. */
	struct wheel_timer wheel;
	/* The struct timers that it is in; NULL: it has been taken out. */
	struct atomic_ptr in;
	/* Changed under the lock; its task may look without (T5 in timers.c). */
	struct atomic_ptr waiter;
	bool begun; /* by weir_sleep(), for the tick in `wheel`; the waiting task's */
};

static_assert(sizeof(struct timer) <= sizeof(struct weir_sleep),
	      "a timer is inside what the user has of it");

void
weir__timers_init(struct timers *ts, const struct clock *clock);

/* Is there any timer, now or a moment ago? */
static inline bool
timers_any(const struct timers *ts)
{
	return atomic_u64_load(&ts->due, RELAXED) != WHEEL_NEVER;
}

/* Is it time to call weir__timers_fire()? now: cycles of the clock. */
static inline bool
timers_due(const struct timers *ts, uint64_t now)
{
	return now >= atomic_u64_load(&ts->due, RELAXED);
}

/*
 * Wakes those who wait for a time up to now (cycles of the clock), the first TIMERS_MOST
 * of them. Returns how many. Any worker.
 */
unsigned int
weir__timers_fire(struct timers *ts, uint64_t now);

/*
 * Has the processor fetch what the next firing will touch: a task that sleeps is looked
 * at by nobody, so all of it lies in memory by then, and its end would wait for one line
 * after the other. By then it may be something else's memory: nobody looks at it here.
 * The timers' own worker, when it has nothing better to do.
 */
static inline void
timers_fetch(struct timers *ts)
{
	const void *p;
	unsigned int i;

	if (likely(atomic_ptr_load(&ts->next[0], RELAXED) == NULL))
		return;
	for (i = 0; i < TIMERS_NEXT; i++) {
		p = atomic_ptr_load(&ts->next[i], RELAXED);
		if (p != NULL)
			prefetch_to_write(p);
	}
	atomic_ptr_store(&ts->next[0], NULL, RELAXED);
}

/* Moves all to another worker's. Any thread. */
void
weir__timers_move(struct timers *from, struct timers *to);

/*
 * Puts the timer in, to wake the waiter at tick `due`; it is in none. Any thread; the one
 * that polls these timers looks at `due` before it waits.
 */
void
weir__timer_arm(struct timers *ts, struct timer *t, uint64_t now, uint64_t due,
		struct weir_waker *waiter);

/* Is it in none, so that its time has come or it was never armed, or cancelled? */
static inline bool
timer_idle(const struct timer *t)
{
	/* [timer:A1] whoever fired it does not touch it any more. */
	return atomic_ptr_load(&t->in, ACQUIRE) == NULL;
}

/*
 * Of one that is idle: has it been in until its time came, or was that told in vain, and
 * with it the deadline (in nanoseconds)?
 */
static inline bool
timer_fired(const struct timer *t, const struct clock *c, uint64_t deadline)
{
	return t->wheel.due != 0 &&
	       clock_ns(c, t->wheel.due << c->tick_shift) >= deadline;
}

/* Has it wake ctx's task; false if its time came meanwhile. */
bool
weir__timer_watch(struct timer *t, struct weir_context *ctx);

/* Takes it out, if it is in. Any thread. */
void
weir__timer_cancel(struct timer *t);

/*
 * What the scheduler provides: the timers of the worker that polls ctx's task.
 */
struct timers *
weir__timers_of(const struct weir_context *ctx);
/* TSC of its last look at the clock; some turns ago. */
uint64_t
weir__last_look(const struct weir_context *ctx);
/* A runtime's clock. */
const struct clock *
weir__clock_of(const struct weir_runtime *rt);

#endif
