/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BENCH_SCENARIO_H
#define BENCH_SCENARIO_H

/*
 * A scenario of the scheduler: one file each, which defines a struct scenario
 * that sched.c lists.
 */

#include <stdint.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include <weir.h>

#include "base/atomic.h"
#include "base/common.h"

#define MOST_FIGURES 3

/* Tasks that are spawned together, where there are many. */
#define BURST 64u

struct scenario {
	const char *name;
	unsigned int workers; /* at least */
	unsigned int figures; /* that a round gives */
	/* One round only, the first: what it asks for stays. */
	bool once;
	bool sized; /* what it does depends on `size` */
	void (*round)(struct weir_runtime *rt, double *figures);
	/* After the shutdown; NULL: nothing is left to free. */
	void (*end)(void);
};

extern const struct scenario spawn_local, spawn_remote, spawn_join,
	chained_spawn, yield_many, ping_pong_oneshot, ping_pong_chan,
	cross_wake, fan_out_steal, mpsc, timers, timer_reset, memory,
	grow_tasks, grow_sources, grow_threads;

/* How many of what the scenario is about. */
extern unsigned int size;

/* Says so and ends the program. */
_Noreturn void
fail(const char *what);

static inline void
must(bool holds, const char *what)
{
	if (unlikely(!holds))
		fail(what);
}

/* What was started and is not awaited. */
void
start(struct weir_runtime *rt, const struct weir_task_ops *ops,
      const void *state);

/* Runs a driver task, whose result is the TSC cycles that it measured; in ns. */
double
drive(struct weir_runtime *rt, const struct weir_task_ops *driver);

/*
 * A driver task spawns n tasks, whose state begins as zeros, and awaits each: ns
 * from the first spawn to the last join. *spawn_ns: those of spawning; may be
 * NULL.
 */
double
crowd(struct weir_runtime *rt, const struct weir_task_ops *ops, unsigned int n,
      double *spawn_ns);

/* TSC cycles in ns. */
double
ns_of(uint64_t cycles);

/* Resident memory in bytes, when the program began and now. */
extern double rss_at_start;
double
rss_now(void);

/* Smallest first. */
int
by_size(const void *a, const void *b);

/* n dependent steps of xorshift64: work that no compiler shortens. */
static inline uint64_t
spin(uint64_t x, unsigned int n)
{
	while (n-- > 0) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* For tasks that do nothing. */
int
nothing(struct weir_context *ctx, void *state);
extern const struct weir_task_ops nothing_ops;

/*
 * Awaits the first n of a list of handles, from *next on: WEIR_PENDING, or 0
 * when all have ended.
 */
int
await_all(struct weir_context *ctx, struct weir_join **joins, unsigned int n,
	  unsigned int *next);

#endif
