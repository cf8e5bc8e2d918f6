/* SPDX-License-Identifier: BSD-3-Clause */

/* What tasks wait for by the clock. */

#include <errno.h>

#include "time/timers.h"

static struct timer *
timer_of(struct weir_sleep *sleep)
{
	return (struct timer *)sleep;
}

/*
 * A deadline that is farther away than a part of a second so small needs no look at
 * the clock: the worker's last one is no older, unless the task has kept it busy for
 * longer; then a time that has passed meanwhile ends the wait at the next look.
 */
#define NEAR_PER_S 8192

/* now, due: cycles of the clock, and the tick. */
static int
arm(struct weir_context *ctx, struct timers *ts, struct timer *t, uint64_t now,
    uint64_t due)
{
	weir__timer_arm(ts, t, now >> ts->clock->tick_shift, due,
			context_waker(ctx));
	return WEIR_PENDING;
}

/*
 * Is the wait over for the timer, which is idle? The tick of one that was told in vain may
 * have begun before its time, if that is inside the tick, and not be over: another
 * deadline in it is not there yet.
 */
static bool
is_over(const struct weir_context *ctx, const struct clock *clock,
	const struct timer *t, uint64_t deadline)
{
	if (!timer_fired(t, clock, deadline))
		return false;
	return likely(clock_at(clock, weir__last_look(ctx)) >=
		      t->wheel.due << clock->tick_shift) ||
	       clock_now(clock) >= weir__clock_cycles(clock, deadline);
}

/*
 * Its time came while it was in, or before, and an earlier turn had no budget left to
 * be told that. What has been waited for is told with an empty budget, too: a timeout
 * around something that uses up each budget is in time. It is told once, since another
 * runtime's clock may be behind that time.
 */
static int
tell_end(struct weir_context *ctx, struct timer *t)
{
	t->wheel.due = 0;
	context_charge(ctx, 1);
	return 0;
}

/* It waits no more; nor is it told, if it has fired, to a wait of another runtime. */
static void
forget(struct timer *t)
{
	weir__timer_cancel(t);
	t->wheel.due = 0;
}

int
weir_sleep_until(struct weir_context *ctx, struct weir_sleep *sleep,
		 uint64_t deadline)
{
	struct timers *ts = weir__timers_of(ctx);
	struct timer *t = timer_of(sleep);
	uint64_t cycles, due, now;
	int rc;

	t->begun = false;
	if (timer_idle(t) && is_over(ctx, ts->clock, t, deadline))
		return tell_end(ctx, t);
	cycles = weir__clock_cycles(ts->clock, deadline);
	due = clock_tick_up(ts->clock, cycles);
	if (!timer_idle(t)) {
		/*
		 * What is put off stays in for its earlier time, when the task is asked
		 * again: until then nothing in the wheel is touched, whose other timers
		 * lie far apart, however often it is put off. Tokio's `Sleep::reset()`
		 * does so, too.
		 */
		if (t->wheel.due <= due && weir__timer_watch(t, ctx))
			return WEIR_PENDING;
		forget(t);
	}
	now = clock_at(ts->clock, weir__last_look(ctx));
	if (cycles <= now || cycles - now < ts->clock->hz / NEAR_PER_S) {
		now = clock_now(ts->clock);
		if (now >= cycles) {
			rc = context_spend(ctx, 1);
			/* As if it had been in until then: tell_end(). */
			t->wheel.due = rc < 0 ? RTE_MAX(due, 1u) : 0;
			return rc;
		}
	}
	return arm(ctx, ts, t, now, due);
}

/* Goes on with a wait that has begun: it is over once its timer is idle. */
static int
sleep_on(struct weir_context *ctx, struct timer *t)
{
	if (!timer_idle(t) && weir__timer_watch(t, ctx))
		return WEIR_PENDING;
	t->begun = false;
	return tell_end(ctx, t);
}

int
weir_sleep(struct weir_context *ctx, struct weir_sleep *sleep, uint64_t ns)
{
	struct timers *ts = weir__timers_of(ctx);
	struct timer *t = timer_of(sleep);
	uint64_t now, deadline;
	int rc;

	if (t->begun)
		return sleep_on(ctx, t);
	/* Of a wait until a time, which this one replaces. */
	forget(t);
	if (ns == 0) {
		rc = context_spend(ctx, 1);
		t->begun = rc < 0;
		return rc;
	}
	now = clock_now(ts->clock);
	if (__builtin_add_overflow(now, weir__clock_cycles(ts->clock, ns),
				   &deadline))
		deadline = UINT64_MAX;
	t->begun = true;
	return arm(ctx, ts, t, now, clock_tick_up(ts->clock, deadline));
}

void
weir_sleep_cancel(struct weir_sleep *sleep)
{
	struct timer *t = timer_of(sleep);

	forget(t);
	t->begun = false;
}

int
weir_timeout(struct weir_context *ctx, struct weir_sleep *sleep, uint64_t ns,
	     int rc)
{
	if (rc != WEIR_PENDING) {
		weir_sleep_cancel(sleep);
		return rc;
	}
	rc = weir_sleep(ctx, sleep, ns);
	return rc == 0 ? -ETIMEDOUT : rc;
}

int
weir_timeout_until(struct weir_context *ctx, struct weir_sleep *sleep,
		   uint64_t deadline, int rc)
{
	if (rc != WEIR_PENDING) {
		weir_sleep_cancel(sleep);
		return rc;
	}
	rc = weir_sleep_until(ctx, sleep, deadline);
	/*
	 * A time that has passed, with no budget left to be told that, is told all the
	 * same: in the next turn a wait would succeed first, and so on without an end.
	 */
	if (rc == WEIR_PENDING && timer_idle(timer_of(sleep)))
		rc = tell_end(ctx, timer_of(sleep));
	return rc == 0 ? -ETIMEDOUT : rc;
}

int
weir_interval_init(struct weir_interval *interval, uint64_t period_ns,
		   enum weir_missed missed)
{
	if (period_ns == 0 || missed > WEIR_MISSED_SKIP)
		return -EINVAL;
	*interval = (struct weir_interval){
		.period = period_ns,
		.missed = missed,
	};
	return 0;
}

/* When the tick after this one, which has come, is due. */
static uint64_t
next_tick(const struct weir_interval *i, uint64_t now)
{
	uint64_t late = now - i->next, from = i->next, next;

	switch (i->missed) {
	case WEIR_MISSED_BURST:
		break;
	case WEIR_MISSED_DELAY:
		/* A tick is in time when it is late by less than a period. */
		if (late >= i->period)
			from = now;
		break;
	case WEIR_MISSED_SKIP:
		from = now - late % i->period;
		break;
	}
	return __builtin_add_overflow(from, i->period, &next) ?
		       WEIR_TIME_NEVER :
		       next;
}

int
weir_interval_tick(struct weir_context *ctx, struct weir_interval *interval)
{
	const struct clock *clock = weir__timers_of(ctx)->clock;
	uint64_t now;
	int rc;

	if (!interval->begun) {
		/* As it is in a state of zeroes, without weir_interval_init(). */
		if (interval->period == 0)
			return -EINVAL;
		interval->next = clock_ns(clock, clock_now(clock));
		interval->begun = true;
	}
	rc = weir_sleep_until(ctx, &interval->sleep, interval->next);
	if (rc < 0)
		return rc;
	now = clock_ns(clock, clock_now(clock));
	interval->next = next_tick(interval, RTE_MAX(now, interval->next));
	return 0;
}

void
weir_interval_cancel(struct weir_interval *interval)
{
	weir_sleep_cancel(&interval->sleep);
}

uint64_t
weir_clock_now(const struct weir_runtime *rt)
{
	const struct clock *clock = weir__clock_of(rt);

	return clock_ns(clock, clock_now(clock));
}
