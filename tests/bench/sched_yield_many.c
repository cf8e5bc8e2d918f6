/* SPDX-License-Identifier: BSD-3-Clause */

/* Tasks that yield in turns, with their spawn and join: ns a yield. */

#include "scenario.h"

#define TASKS 200u
#define YIELDS 1000u

static int
poll_yielder(struct weir_context *ctx, void *state)
{
	unsigned int *done = state;

	return (*done)++ < YIELDS ? weir_context_yield(ctx) : WEIR_DONE;
}

static const struct weir_task_ops yielder_ops = {
	.name = "yielder",
	.state_size = sizeof(unsigned int),
	.poll = poll_yielder,
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	figures[0] = crowd(rt, &yielder_ops, TASKS, NULL) / (TASKS * YIELDS);
}

const struct scenario yield_many = {
	.name = "yield_many",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
