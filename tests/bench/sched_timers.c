/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tasks that sleep for a random time, each once. What they cost: the time in
 * which workers were not idle, a timer; and how late tasks ran, p50 and p99.
 */

#include <stdlib.h>
#include <string.h>

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

/* What a worker has noted: ns, in the order in which they came. */
struct notes {
	unsigned int n;
	uint64_t late[TIMERS];
};

static struct weir_join *joins[TIMERS];
static struct notes *notes; /* of each worker */
static uint64_t late[TIMERS];

static void
note(const struct weir_context *ctx, uint64_t ns)
{
	struct notes *n = &notes[weir_context_worker(ctx)];

	n->late[n->n++] = ns;
}

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
		note(ctx, weir_clock_now(rt) - s->deadline);
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

static int
by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* What the workers have noted comes together. */
static void
gather(struct weir_runtime *rt)
{
	unsigned int i, n = 0;

	for (i = 0; i < weir_runtime_nb_workers(rt); i++) {
		memcpy(late + n, notes[i].late, notes[i].n * sizeof(late[0]));
		n += notes[i].n;
	}
	must(n == TIMERS, "a timer is missing");
	qsort(late, TIMERS, sizeof(late[0]), by_time);
}

static void
round_of(struct weir_runtime *rt, double *figures)
{
	const size_t bytes = weir_runtime_nb_workers(rt) * sizeof(*notes);
	double before;

	notes = malloc(bytes);
	must(notes != NULL, "no memory for notes");
	/* Touched, so that the round does not pay for its pages. */
	memset(notes, 0, bytes);
	before = busy_ns(rt);
	drive(rt, &driver_ops);
	figures[0] = (busy_ns(rt) - before) / TIMERS;
	gather(rt);
	figures[1] = (double)late[TIMERS / 2] / 1e3;
	figures[2] = (double)late[TIMERS / 100 * 99] / 1e3;
	free(notes);
}

const struct scenario timers = {
	.name = "timers",
	.workers = 1,
	.figures = 3,
	.round = round_of,
};
