/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * `size` tasks that are alive at once and yield by turns: ns to spawn one, and ns
 * for a turn, with the tasks' ends in them.
 */

#include <stdlib.h>

#include "scenario.h"

/* Of all tasks together, at least. */
#define TURNS 1000000u

struct driver {
	uint64_t took; /* turns and ends */
	uint64_t begin;
	struct weir_join **joins;
	unsigned int next;
};

static unsigned int turns; /* of each task */
static uint64_t spawning;  /* TSC cycles */

static int
take_turns(struct weir_context *ctx, void *state)
{
	unsigned int *done = state;

	return (*done)++ < turns ? weir_context_yield(ctx) : WEIR_DONE;
}

static const struct weir_task_ops turns_ops = {
	.name = "turns",
	.state_size = sizeof(unsigned int),
	.poll = take_turns,
};

static int
poll(struct weir_context *ctx, void *state)
{
	struct driver *d = state;
	uint64_t begin = rte_rdtsc();
	unsigned int i;

	if (d->begin == 0) {
		for (i = 0; i < size; i++) {
			d->joins[i] = weir_task_spawn(weir_context_runtime(ctx),
						      &turns_ops, NULL, NULL);
			must(d->joins[i] != NULL, "no task");
		}
		d->begin = rte_rdtsc();
		spawning = d->begin - begin;
	}
	if (await_all(ctx, d->joins, size, &d->next) == WEIR_PENDING)
		return WEIR_PENDING;
	d->took = rte_rdtsc() - d->begin;
	return WEIR_DONE;
}

static const struct weir_task_ops driver_ops = {
	.name = "driver",
	.state_size = sizeof(struct driver),
	.poll = poll,
	.result_size = sizeof(uint64_t),
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	struct driver d = { .joins = calloc(size, sizeof(d.joins[0])) };

	must(d.joins != NULL, "no memory for handles");
	turns = RTE_MAX(TURNS / size, 1u);
	figures[1] = drive(rt, &driver_ops, &d) / size / turns;
	figures[0] = ns_of(spawning) / size;
	free(d.joins);
}

const struct scenario grow_tasks = {
	.name = "grow_tasks",
	.workers = 1,
	.figures = 2,
	.sized = true,
	.round = round_of,
};
