/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One sample of a scenario of the scheduler.
 *
 *	sched [EAL options] -- SCENARIO WORKERS [SIZE]
 *
 * warms up, goes on with rounds for at least 400 ms, and prints the median of
 * each figure, in the units that sched_scenarios.py knows:
 *
 *	figures 38.27
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include "scenario.h"

#define MOST_ROUNDS 100000u
#define WARM_UP_S 0.1
#define MEASURE_S 0.4

static const struct scenario *const scenarios[] = {
	&spawn_local,	 &spawn_remote, &spawn_join,
	&chained_spawn,	 &yield_many,	&ping_pong_oneshot,
	&ping_pong_chan, &cross_wake,	&fan_out_steal,
	&mpsc,		 &timers,	&timer_reset,
	&memory,	 &grow_tasks,	&grow_sources,
	&grow_threads,
};

/* Rounds for so long, and one at least. Returns how many. */
static unsigned int
rounds(struct weir_runtime *rt, const struct scenario *s, double seconds,
       double (*figures)[MOST_ROUNDS])
{
	uint64_t end =
		rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
	double round[MOST_FIGURES];
	unsigned int n = 0, i;

	do {
		s->round(rt, round);
		for (i = 0; i < s->figures; i++)
			figures[i][n] = round[i];
		n++;
	} while (!s->once && rte_rdtsc() < end && n < MOST_ROUNDS);
	return n;
}

static void
measure(struct weir_runtime *rt, const struct scenario *s)
{
	static double figures[MOST_FIGURES][MOST_ROUNDS];
	unsigned int n, i;

	if (!s->once)
		rounds(rt, s, WARM_UP_S, figures);
	n = rounds(rt, s, MEASURE_S, figures);
	printf("figures");
	for (i = 0; i < s->figures; i++) {
		qsort(figures[i], n, sizeof(figures[i][0]), by_size);
		printf(" %.4f", figures[i][n / 2]);
	}
	printf("\n");
}

static const struct scenario *
find(const char *name)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(scenarios); i++)
		if (strcmp(scenarios[i]->name, name) == 0)
			return scenarios[i];
	return NULL;
}

/* The scenario that the arguments name, or NULL where they are wrong. */
static const struct scenario *
read_arguments(int argc, char **argv, struct weir_options *options)
{
	const struct scenario *s = argc > 1 ? find(argv[1]) : NULL;

	if (s == NULL || argc != (s->sized ? 4 : 3))
		return NULL;
	options->nb_workers = (unsigned int)strtoul(argv[2], NULL, 10);
	if (options->nb_workers < s->workers ||
	    options->nb_workers > rte_lcore_count() - 1)
		return NULL;
	if (!s->sized)
		return s;
	size = (unsigned int)strtoul(argv[3], NULL, 10);
	return size > 0 ? s : NULL;
}

int
main(int argc, char **argv)
{
	const struct scenario *s;
	struct weir_options options;
	struct weir_runtime *rt;
	int used;

	used = rte_eal_init(argc, argv);
	if (used < 0)
		return 2;
	weir_options_init(&options);
	s = read_arguments(argc - used, argv + used, &options);
	if (s == NULL)
		return 2;
	rss_at_start = rss_now();
	rt = weir_runtime_create(&options);
	must(rt != NULL, "no runtime");
	measure(rt, s);
	must(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0, "no clean end");
	if (s->end != NULL)
		s->end();
	weir_runtime_free(rt);
	rte_eal_cleanup();
	return 0;
}
