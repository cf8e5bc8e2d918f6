/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One sample of a scenario of the scheduler.
 *
 *	sched [EAL options] -- SCENARIO WORKERS
 *
 * warms up, goes on with rounds for at least 400 ms, and prints the median of
 * each figure, in the units that sched.py knows:
 *
 *	figures 38.27
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	&mpsc,		 &timers,	&memory,
};

double rss_at_start;

void
must(bool holds, const char *what)
{
	if (likely(holds))
		return;
	fprintf(stderr, "sched: %s\n", what);
	exit(1);
}

double
ns_of(uint64_t cycles)
{
	return (double)cycles * 1e9 / (double)rte_get_tsc_hz();
}

double
rss_now(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	must(f != NULL && fscanf(f, "%*u %lu", &pages) == 1, "no statm");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
nothing(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

const struct weir_task_ops nothing_ops = {
	.name = "nothing",
	.poll = nothing,
};

void
start(struct weir_runtime *rt, const struct weir_task_ops *ops,
      const void *state)
{
	struct weir_join *join = weir_task_spawn(rt, ops, state, NULL);

	must(join != NULL, "no task");
	weir_join_detach(join);
}

int
await_all(struct weir_context *ctx, struct weir_join **joins, unsigned int n,
	  unsigned int *next)
{
	int rc;

	while (*next < n) {
		rc = weir_join_poll(ctx, joins[*next], NULL);
		if (rc == WEIR_PENDING)
			return rc;
		must(rc == 0, "a task failed");
		(*next)++;
	}
	return 0;
}

double
drive(struct weir_runtime *rt, const struct weir_task_ops *driver)
{
	uint64_t cycles;

	must(weir_runtime_block_on(rt, driver, NULL, &cycles) == 0,
	     "the driver failed");
	return ns_of(cycles);
}

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

int
main(int argc, char **argv)
{
	const struct scenario *s;
	struct weir_options options;
	struct weir_runtime *rt;
	int used;

	used = rte_eal_init(argc, argv);
	if (used < 0 || argc - used != 3)
		return 2;
	s = find(argv[used + 1]);
	weir_options_init(&options);
	options.nb_workers = (unsigned int)strtoul(argv[used + 2], NULL, 10);
	if (s == NULL || options.nb_workers < s->workers ||
	    options.nb_workers > rte_lcore_count() - 1)
		return 2;
	if (s->task_cells != 0)
		options.task_cells = s->task_cells;
	rss_at_start = rss_now();
	rt = weir_runtime_create(&options);
	must(rt != NULL, "no runtime");
	measure(rt, s);
	must(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0, "no clean end");
	weir_runtime_free(rt);
	rte_eal_cleanup();
	return 0;
}
