/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tasks that sleep for a random time, each once. What they cost: the time in
 * which workers were not idle, a timer; and how late tasks ran, p50 and p99.
 */

#include <stdlib.h>

#include "base/atomic.h"
#include "scenario.h"

#define TIMERS 100000u
#define NS_PER_MS UINT64_C(1000000)
#define LEAST_NS (100 * NS_PER_MS)
#define RANGE_NS (900 * NS_PER_MS)

struct sleeper {
	struct weir_sleep sleep;
	uint64_t ns;
	uint64_t deadline; /* of the runtime's clock */
};

struct driver {
	uint64_t done; /* the result; nothing is measured here */
	uint64_t random;
	unsigned int spawned;
	unsigned int joined;
};

static struct weir_join *joins[TIMERS];
static double late[TIMERS]; /* us, in the order in which they came */
static struct atomic_u64 noted;

static int
poll_sleeper(struct weir_context *ctx, void *state)
{
	const struct weir_runtime *rt = weir_context_runtime(ctx);
	struct sleeper *s = state;
	int rc;

	if (s->deadline == 0)
		s->deadline = weir_clock_now(rt) + s->ns;
	rc = weir_sleep_until(ctx, &s->sleep, s->deadline);
	if (rc == 0)
		late[atomic_u64_fetch_add(&noted, 1, RELAXED)] =
			(double)(weir_clock_now(rt) - s->deadline) / 1e3;
	return rc;
}

static const struct weir_task_ops sleeper_ops = {
	.name = "sleeper",
	.state_size = sizeof(struct sleeper),
	.poll = poll_sleeper,
};

static void
spawn_burst(struct weir_runtime *rt, struct driver *d)
{
	struct sleeper sleepers[BURST] = { 0 };
	unsigned int n = RTE_MIN(TIMERS - d->spawned, BURST), i;

	if (d->spawned == 0)
		d->random = UINT64_C(88172645463325252);
	for (i = 0; i < n; i++) {
		d->random = spin(d->random, 1);
		sleepers[i].ns = LEAST_NS + d->random % RANGE_NS;
	}
	must(weir_task_spawn_burst(rt, &sleeper_ops, sleepers, n, NULL,
				   joins + d->spawned) == n,
	     "no task");
	d->spawned += n;
}

static int
poll(struct weir_context *ctx, void *state)
{
	struct driver *d = state;

	if (d->spawned == TIMERS)
		return await_all(ctx, joins, TIMERS, &d->joined);
	spawn_burst(weir_context_runtime(ctx), d);
	/* The sleepers begin to sleep meanwhile. */
	return weir_context_yield(ctx);
}

static const struct weir_task_ops driver_ops = {
	.name = "driver",
	.state_size = sizeof(struct driver),
	.poll = poll,
	.result_size = sizeof(uint64_t),
};

static double
busy_ns(struct weir_runtime *rt)
{
	struct weir_worker_stats stats;
	unsigned int i;
	double sum = 0;

	for (i = 0; i < weir_runtime_nb_workers(rt); i++) {
		must(weir_worker_stats_get(rt, i, &stats) == 0, "no stats");
		sum += (double)stats.busy_ns;
	}
	return sum;
}

static void
round_of(struct weir_runtime *rt, double *figures)
{
	double before = busy_ns(rt);

	atomic_u64_store(&noted, 0, RELAXED);
	drive(rt, &driver_ops);
	figures[0] = (busy_ns(rt) - before) / TIMERS;
	qsort(late, TIMERS, sizeof(late[0]), by_size);
	figures[1] = late[TIMERS / 2];
	figures[2] = late[TIMERS / 100 * 99];
}

const struct scenario timers = {
	.name = "timers",
	.workers = 1,
	.figures = 3,
	.round = round_of,
};
