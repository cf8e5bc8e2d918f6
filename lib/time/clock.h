/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TIME_CLOCK_H
#define TIME_CLOCK_H

/*
 * A runtime's clock: the TSC, from the runtime's begin on, unless a test holds
 * it. See clock.c.
 */

#include <rte_cycles.h>

#include "base/atomic.h"
#include "base/common.h"

#define CLOCK_RUNS UINT64_MAX
#define CLOCK_STOPS (UINT64_MAX - 1) /* where, is said at once */

struct clock {
	uint64_t hz;
	/* Nanoseconds of a cycle, times 2 to the ns_shift, rounded up. */
	uint64_t ns_factor;
	unsigned int ns_shift;
	unsigned int tick_shift; /* log2 of the cycles of a wheel's tick */
	/* TSC at time 0; moved on when a held clock goes on. */
	struct atomic_u64 begin;
	struct atomic_u64 held; /* cycles, or CLOCK_* */
};

void
weir__clock_init(struct clock *c);

/* Sets what conversions use, for a clock of so many cycles a second. */
void
weir__clock_set_rate(struct clock *c, uint64_t hz);

/* Cycles since its begin, of a clock that is about to stop. */
uint64_t
weir__clock_await(const struct clock *c);

/* The same, of one that runs. */
static inline uint64_t
clock_running(const struct clock *c, uint64_t tsc)
{
	tsc -= atomic_u64_load(&c->begin, RELAXED);
	/* It was read before a held clock went on, and is older than that. */
	return likely((int64_t)tsc >= 0) ? tsc : 0;
}

/* Cycles since the clock's begin. Any thread. */
static inline uint64_t
clock_at(const struct clock *c, uint64_t tsc)
{
	/* [clock:A1] a clock that goes on does so from its new begin. */
	uint64_t held = atomic_u64_load(&c->held, ACQUIRE);

	if (unlikely(held != CLOCK_RUNS))
		return likely(held != CLOCK_STOPS) ? held :
						     weir__clock_await(c);
	return clock_running(c, tsc);
}

/* No less than the same thread was told before, but for what clock.c says. */
static inline uint64_t
clock_now(const struct clock *c)
{
	uint64_t begin, now;

	/* One that has gone on since its counter was read counts from elsewhere. */
	do {
		begin = atomic_u64_load(&c->begin, RELAXED);
		now = clock_at(c, rte_rdtsc());
	} while (unlikely(atomic_u64_load(&c->begin, RELAXED) != begin));
	return now;
}

/*
 * Without a division, and exact but for what is cut off: a factor of 64 bits is
 * too large by so little that it adds less than a nanosecond in 290 years. Being
 * rounded up, it never gives a time before that of weir__clock_cycles().
 */
static inline uint64_t
clock_ns(const struct clock *c, uint64_t cycles)
{
	__extension__ typedef unsigned __int128 wide;

	return (uint64_t)((wide)cycles * c->ns_factor >> c->ns_shift);
}

/* The first cycle at or after a time; UINT64_MAX if it never comes. */
uint64_t
weir__clock_cycles(const struct clock *c, uint64_t ns);

/* The first tick at or after a cycle; at the end of time, the last. */
static inline uint64_t
clock_tick_up(const struct clock *c, uint64_t cycles)
{
	uint64_t tick = cycles >> c->tick_shift;

	return tick + (tick << c->tick_shift != cycles &&
		       tick != UINT64_MAX >> c->tick_shift);
}

/* The tests' side. Returns 0, or -EALREADY when it is held or runs already. */
int
weir__clock_hold(struct clock *c);
int
weir__clock_go_on(struct clock *c);
/* -EINVAL: it runs; -ERANGE: it is at its end now. */
int
weir__clock_advance(struct clock *c, uint64_t ns);

#endif
