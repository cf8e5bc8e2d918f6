/* SPDX-License-Identifier: BSD-3-Clause */

/* A task spawns empty tasks, then awaits each: ns a task. */

#include "scenario.h"

#define TASKS 10000u

static void
round_of(struct weir_runtime *rt, double *figures)
{
	figures[0] = crowd(rt, &nothing_ops, TASKS, NULL) / TASKS;
}

const struct scenario spawn_local = {
	.name = "spawn_local",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
