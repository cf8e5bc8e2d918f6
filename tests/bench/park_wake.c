/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How long after an event was posted does the task run that waits for it, when
 * its worker has been idle for a while?
 *
 *	park_wake [EAL options] -- POLICY SECONDS
 *
 * prints one line: the latency's median and 99th percentile in us.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_pause.h>

#include <weir.h>
#include <weir_event.h>

#include "base/atomic.h"

#define MOST_SAMPLES 100000u
/* Longer than the phases in which an adaptive worker does not sleep. */
#define IDLE_NS 1000000

static struct weir_event *event;
static struct atomic_u64 ran_at; /* TSC; 0: not yet */

static int
stamp(struct weir_context *ctx, void *state)
{
	int n;

	while ((n = weir_event_wait(ctx, event)) > 0)
		atomic_u64_store(&ran_at, rte_rdtsc(), RELEASE);
	return n;
}

static const struct weir_task_ops stamp_ops = {
	.name = "stamp",
	.poll = stamp,
};

static uint64_t
one_wake(void)
{
	const struct timespec idle = { .tv_nsec = IDLE_NS };
	uint64_t posted, ran;

	nanosleep(&idle, NULL);
	atomic_u64_store(&ran_at, 0, RELEASE);
	posted = rte_rdtsc();
	weir_event_post(event);
	while ((ran = atomic_u64_load(&ran_at, ACQUIRE)) == 0)
		rte_pause();
	return ran - posted;
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
measure(double seconds)
{
	static uint64_t took[MOST_SAMPLES];
	double us = (double)rte_get_tsc_hz() / 1e6;
	uint64_t end;
	unsigned int n = 0;

	one_wake();
	end = rte_rdtsc() + (uint64_t)(seconds * 1e6 * us);
	while (n < MOST_SAMPLES && rte_rdtsc() < end)
		took[n++] = one_wake();
	qsort(took, n, sizeof(took[0]), by_size);
	printf("wakes %u, p50 %.2f us, p99 %.2f us\n", n,
	       (double)took[n / 2] / us, (double)took[n * 99 / 100] / us);
}

static int
policy_of(const char *name)
{
	static const char *const names[] = { "poll", "pause", "interrupt",
					     "adaptive" };
	unsigned int i;

	for (i = 0; i < RTE_DIM(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (int)i;
	return -1;
}

int
main(int argc, char **argv)
{
	struct weir_options options;
	struct weir_runtime *rt;
	struct weir_join *join;
	double seconds;
	int used, park;

	used = rte_eal_init(argc, argv);
	if (used < 0 || argc - used != 3)
		return 2;
	park = policy_of(argv[used + 1]);
	seconds = strtod(argv[used + 2], NULL);
	if (park < 0 || !(seconds > 0))
		return 2;
	weir_options_init(&options);
	options.nb_workers = 1;
	options.park = (enum weir_park)park;
	rt = weir_runtime_create(&options);
	if (rt == NULL)
		return 1;
	event = weir_event_create(rt, 0);
	join = weir_task_spawn(rt, &stamp_ops, NULL, NULL);
	if (event == NULL || join == NULL)
		return 1;
	measure(seconds);
	weir_join_detach(join);
	weir_runtime_shutdown(rt, UINT64_MAX, NULL);
	weir_event_free(event);
	weir_runtime_free(rt);
	rte_eal_cleanup();
	return 0;
}
