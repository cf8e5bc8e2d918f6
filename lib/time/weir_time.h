/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_TIME_H
#define WEIR_TIME_H

/**
 * @file
 * Time: a runtime's clock, and what a task can wait for by it.
 *
 * Times are nanoseconds since the runtime was created. They come from the TSC;
 * a wait ends at its time or up to about a microsecond and the worker's gap
 * between two polls later, and never before. Of some hundreds that end at once on one
 * worker, the rest come with its next looks at the clock.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A time that never comes. */
#define WEIR_TIME_NEVER UINT64_MAX

/** The runtime's time, in nanoseconds. Any thread. */
WEIR_API uint64_t
weir_clock_now(const struct weir_runtime *rt);

/**
 * Stops the runtime's clock, for a test: its time changes from here on by
 * weir_clock_advance() only.
 *
 * @return 0, or -EALREADY.
 *
 * Any thread; one at a time changes a clock.
 */
WEIR_API int
weir_clock_pause(struct weir_runtime *rt);

/**
 * Lets it go on from where it is.
 *
 * @return 0, or -EALREADY when it runs, or -ERANGE when it has been moved on to more
 * than 2^62 TSC cycles, 48 years at 3 GHz, or than 2^63 nanoseconds, 292 years,
 * which come first below half a GHz: it stays paused.
 *
 * As weir_clock_pause().
 */
WEIR_API int
weir_clock_resume(struct weir_runtime *rt);

/**
 * Moves a paused clock on, by up to a microsecond more than told. Whoever waited
 * for a time that has come is woken; they may run before this returns.
 *
 * @return 0, or -EINVAL when the clock is not paused, or -ERANGE when its time ends before
 * that, after 2^64 TSC cycles or, below a GHz, 2^64 nanoseconds: it has moved on to the
 * end, and stays there.
 *
 * As weir_clock_pause().
 */
WEIR_API int
weir_clock_advance(struct weir_runtime *rt, uint64_t ns);

/**
 * A wait for a time, in the state of the task that waits. Zero-initialised it
 * is ready for use; when a wait has ended, for the next. A task whose state goes
 * while it waits, because it is dropped or has what it wants, calls
 * weir_sleep_cancel(). Another task of the runtime may go on with a wait: that one is
 * woken then. In C++ it is named with `struct`, since there is a function of this name.
 */
struct weir_sleep {
	uint64_t reserved[6]; /**< not the user's */
};

/**
 * Waits for a time.
 *
 * @param deadline  In nanoseconds of the runtime's clock; one in the past ends
 *                  at once, or when the worker next looks at the clock if it has
 *                  passed since it last did. WEIR_TIME_NEVER does not end.
 *                  Another deadline than in the call before replaces that; of a
 *                  later one the task may be asked once more at the earlier time.
 *                  So a deadline is put off at little cost, however often.
 * @return 0 when the time has come; WEIR_PENDING: the task will be woken.
 *
 * The task that ctx belongs to. Spends a unit of budget.
 */
WEIR_API int
weir_sleep_until(struct weir_context *ctx, struct weir_sleep *sleep,
		 uint64_t deadline);

/* To g++ it hides the struct's constructor. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/**
 * Waits for some time from the first call on; the calls after it, until one
 * returns 0, go on with the same wait.
 *
 * As weir_sleep_until().
 */
WEIR_API int
weir_sleep(struct weir_context *ctx, struct weir_sleep *sleep, uint64_t ns);
#pragma GCC diagnostic pop

/** Ends a wait, if there is one. The task, its drop included. */
WEIR_API void
weir_sleep_cancel(struct weir_sleep *sleep);

/**
 * Bounds any wait by a time from the first call on.
 *
 * @code
 * n = weir_timeout(ctx, &s->sleep, 1000000,
 *                  weir_ring_recv(ctx, s->rx, objs, 32));
 * if (n < 0)
 *	return n;
 * @endcode
 *
 * @param rc  What the wait returned.
 * @return
 *   rc, unless that is WEIR_PENDING: the sleep has then been ended for the next
 *   use. Else WEIR_PENDING, or -ETIMEDOUT when the time has come first; the
 *   wait itself then goes on and may be called again, or be given up as it
 *   says; one on a source, as here, by weir_source_cancel().
 *
 * Who is told WEIR_PENDING and gives the wait up for another reason, as when a
 * weir_token_bound() around this has ended, ends the sleep by weir_sleep_cancel():
 * the next wait would have what is left of this one's time.
 *
 * The task that ctx belongs to.
 */
WEIR_API int
weir_timeout(struct weir_context *ctx, struct weir_sleep *sleep, uint64_t ns,
	     int rc);

/**
 * Bounds any wait by a time of the runtime's clock, in nanoseconds: one for all waits
 * of a piece of work, however many of them end before.
 *
 * As weir_timeout(). A deadline that has passed ends each wait that would be
 * WEIR_PENDING, also one that finds the budget empty, and none that succeeds.
 */
WEIR_API int
weir_timeout_until(struct weir_context *ctx, struct weir_sleep *sleep,
		   uint64_t deadline, int rc);

/** What an interval does about ticks that it could not give in time. */
enum weir_missed {
	/** Gives them one after the other, until it has caught up. */
	WEIR_MISSED_BURST,
	/**
	 * Goes on with a whole period from a tick that is late by a period or more.
	 */
	WEIR_MISSED_DELAY,
	/** Leaves them out, and goes on with the next that is due in time. */
	WEIR_MISSED_SKIP,
};

/** Ticks in a fixed distance, in the state of the task that waits for them. */
struct weir_interval {
	struct weir_sleep sleep; /**< not the user's, nor the rest */
	uint64_t next;
	uint64_t period;
	enum weir_missed missed;
	bool begun;
};

/**
 * The first tick comes with the first wait, the others each a period later. A
 * tick that would be due beyond the end of time never comes. To begin anew an
 * interval that is waited for is cancelled first: its wait would be overwritten.
 *
 * @return 0, or -EINVAL: a period of 0, or no such way.
 *
 * Any thread.
 */
WEIR_API int
weir_interval_init(struct weir_interval *interval, uint64_t period_ns,
		   enum weir_missed missed);

/**
 * Waits for the next tick, as weir_sleep_until() does.
 *
 * @return 0; WEIR_PENDING; -EINVAL: weir_interval_init() has not been called.
 */
WEIR_API int
weir_interval_tick(struct weir_context *ctx, struct weir_interval *interval);

/**
 * Ends a wait, if there is one; the tick that it was for is still the next. The task,
 * its drop included.
 */
WEIR_API void
weir_interval_cancel(struct weir_interval *interval);

#ifdef __cplusplus
}
#endif

#endif
