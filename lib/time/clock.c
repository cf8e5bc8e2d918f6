/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Conversions, and the test's hold on the clock.
 *
 * A second has `hz` cycles, as EAL measured it. To cycles, seconds are converted
 * whole and the rest by itself, so the error is below a cycle however long the
 * clock has been running. To nanoseconds, which each weir_clock_now() does, by a
 * factor: see clock_ns().
 */

#include <errno.h>

#include "base/lock.h"
#include "time/clock.h"

#define TICKS_PER_S 1000000 /* at least; at most twice that */

void
weir__clock_set_rate(struct clock *c, uint64_t hz)
{
	__extension__ typedef unsigned __int128 wide;
	wide factor;

	c->hz = hz;
	c->ns_shift = 65;
	do {
		c->ns_shift--;
		factor = (((wide)NS_PER_S << c->ns_shift) + hz - 1) / hz;
	} while (factor > UINT64_MAX);
	c->ns_factor = (uint64_t)factor;
}

void
weir__clock_init(struct clock *c)
{
	weir__clock_set_rate(c, rte_get_tsc_hz());
	c->tick_shift = 0;
	while (c->hz >> (c->tick_shift + 1) >= TICKS_PER_S)
		c->tick_shift++;
	atomic_u64_store(&c->begin, rte_rdtsc(), RELAXED);
	atomic_u64_store(&c->held, CLOCK_RUNS, RELAXED);
}

uint64_t
weir__clock_cycles(const struct clock *c, uint64_t ns)
{
	uint64_t s = ns / NS_PER_S, whole, rest;

	rest = (ns % NS_PER_S * c->hz + NS_PER_S - 1) / NS_PER_S;
	if (__builtin_mul_overflow(s, c->hz, &whole) ||
	    __builtin_add_overflow(whole, rest, &whole))
		return UINT64_MAX;
	return whole;
}

/*
 * A held clock is at the start of a tick, so that whoever waits for a time that
 * it has come to has been woken.
 */
static uint64_t
whole_ticks(const struct clock *c, uint64_t cycles)
{
	return clock_tick_up(c, cycles) << c->tick_shift;
}

/*
 * First nobody reads it any more, and then it is said where it stands. Else others would
 * read a clock that runs for as long as we are kept from storing what we have read, and
 * then it would go back: a wheel could be ahead of it, and who sleeps from then on be
 * woken late.
 *
 * What remains are the nanoseconds by which a CPU reads its counter early or late beside
 * its loads and stores. By those the clock may go back, as it may where it goes on; being
 * less than a tick, they put no wheel ahead of it.
 */
int
weir__clock_hold(struct clock *c)
{
	uint64_t was = CLOCK_RUNS, now;

	/* A store could still wait to be seen when the counter is read. */
	if (!atomic_u64_cas(&c->held, &was, CLOCK_STOPS, RELAXED, RELAXED))
		return -EALREADY;
	/* Not before that: whoever has read a running clock did so before. */
	now = clock_running(c, rte_rdtsc_precise());
	atomic_u64_store(&c->held, whole_ticks(c, now), RELAXED);
	return 0;
}

uint64_t
weir__clock_await(const struct clock *c)
{
	unsigned int spins = 0;

	while (atomic_u64_load(&c->held, RELAXED) == CLOCK_STOPS)
		lock_rest(&spins);
	/* It may run again, and from another begin. */
	return clock_now(c);
}

/*
 * Half of what it can tell while it runs: clock_at() takes 2^63 cycles for a time
 * before the begin, and a slow counter's nanoseconds are used up before that.
 */
static uint64_t
go_on_most(const struct clock *c)
{
	return RTE_MIN(UINT64_C(1) << 62,
		       weir__clock_cycles(c, UINT64_MAX / 2));
}

int
weir__clock_go_on(struct clock *c)
{
	uint64_t held = atomic_u64_load(&c->held, RELAXED);

	if (held == CLOCK_RUNS)
		return -EALREADY;
	if (held > go_on_most(c))
		return -ERANGE;
	atomic_u64_store(&c->begin, rte_rdtsc() - held, RELAXED);
	/*
	 * [clock:A1] the begin first: else a reader could see the clock run
	 * from its old begin, and jump ahead by as long as it was held.
	 */
	atomic_u64_store(&c->held, CLOCK_RUNS, RELEASE);
	return 0;
}

int
weir__clock_advance(struct clock *c, uint64_t ns)
{
	uint64_t held = atomic_u64_load(&c->held, RELAXED);
	uint64_t cycles = weir__clock_cycles(c, ns);
	/* A slow counter's nanoseconds are used up first. */
	uint64_t end = weir__clock_cycles(c, UINT64_MAX) -
		       (UINT64_C(2) << c->tick_shift);
	int rc = 0;

	if (held == CLOCK_RUNS)
		return -EINVAL;
	if (__builtin_add_overflow(held, cycles, &cycles) || cycles > end) {
		cycles = end;
		rc = -ERANGE;
	}
	/* Never CLOCK_RUNS: the last tick begins before that. */
	atomic_u64_store(&c->held, whole_ticks(c, cycles), RELAXED);
	return rc;
}
