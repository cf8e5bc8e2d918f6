/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * `size` tasks that are alive at once and yield by turns: ns to spawn one, and ns
 * for a turn, with the tasks' ends in them.
 */

#include "scenario.h"

/* Of all tasks together, at least. */
#define TURNS 1000000u

static unsigned int turns; /* of each task */

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

static void
round_of(struct weir_runtime *rt, double *figures)
{
	double spawning, all;

	turns = RTE_MAX(TURNS / size, 1u);
	all = crowd(rt, &turns_ops, size, &spawning);
	figures[0] = spawning / size;
	figures[1] = (all - spawning) / size / turns;
}

const struct scenario grow_tasks = {
	.name = "grow_tasks",
	.workers = 1,
	.figures = 2,
	.sized = true,
	.round = round_of,
};
