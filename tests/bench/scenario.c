/* SPDX-License-Identifier: BSD-3-Clause */

/* What scenarios have in common. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario.h"

unsigned int size;
double rss_at_start;

void
fail(const char *what)
{
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
	must(weir_task_spawn_detached(rt, ops, state, NULL) == 0, "no task");
}

int
await_all(struct weir_context *ctx, struct weir_join **joins, unsigned int n,
	  unsigned int *next)
{
	int outcomes[BURST], taken, i;

	while (*next < n) {
		taken = weir_join_poll_burst(ctx, joins + *next,
					     RTE_MIN(n - *next, BURST),
					     outcomes, NULL);
		if (taken == WEIR_PENDING)
			return taken;
		for (i = 0; i < taken; i++)
			must(outcomes[i] == 0, "a task failed");
		*next += (unsigned int)taken;
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

struct crowd {
	uint64_t took;
	uint64_t spawning;
	uint64_t begin;
	const struct weir_task_ops *ops;
	struct weir_join **joins;
	unsigned int n;
	unsigned int next;
};

static int
crowd_poll(struct weir_context *ctx, void *state)
{
	struct crowd *c = state;
	unsigned int i, n;

	if (c->begin == 0) {
		c->begin = rte_rdtsc();
		for (i = 0; i < c->n; i += n) {
			n = RTE_MIN(c->n - i, BURST);
			must(weir_task_spawn_burst(weir_context_runtime(ctx),
						   c->ops, NULL, n, NULL,
						   c->joins + i) == n,
			     "no task");
		}
		c->spawning = rte_rdtsc() - c->begin;
	}
	if (await_all(ctx, c->joins, c->n, &c->next) == WEIR_PENDING)
		return WEIR_PENDING;
	c->took = rte_rdtsc() - c->begin;
	return WEIR_DONE;
}

static const struct weir_task_ops crowd_ops = {
	.name = "driver",
	.state_size = sizeof(struct crowd),
	.poll = crowd_poll,
	.result_size = 2 * sizeof(uint64_t),
};

double
crowd(struct weir_runtime *rt, const struct weir_task_ops *ops, unsigned int n,
      double *spawn_ns)
{
	struct crowd c = { .ops = ops, .n = n };
	uint64_t cycles[2];

	/* Touched, so that the round does not pay for its pages. */
	c.joins = malloc(n * sizeof(c.joins[0]));
	must(c.joins != NULL, "no memory for handles");
	memset(c.joins, 0xff, n * sizeof(c.joins[0]));
	must(weir_runtime_block_on(rt, &crowd_ops, &c, cycles) == 0,
	     "the driver failed");
	free(c.joins);
	if (spawn_ns != NULL)
		*spawn_ns = ns_of(cycles[1]);
	return ns_of(cycles[0]);
}
