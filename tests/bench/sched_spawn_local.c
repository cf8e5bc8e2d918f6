/* SPDX-License-Identifier: BSD-3-Clause */

/* A task spawns empty tasks, then awaits each: ns a task. */

#include "scenario.h"

#define TASKS 10000u

struct driver {
	uint64_t took;
	uint64_t begin;
	unsigned int next;
};

static struct weir_join *joins[TASKS];

static int
poll(struct weir_context *ctx, void *state)
{
	struct driver *d = state;
	unsigned int i;

	if (d->begin == 0) {
		d->begin = rte_rdtsc();
		for (i = 0; i < TASKS; i++) {
			joins[i] = weir_task_spawn(weir_context_runtime(ctx),
						   &nothing_ops, NULL, NULL);
			must(joins[i] != NULL, "no task");
		}
	}
	if (await_all(ctx, joins, TASKS, &d->next) == WEIR_PENDING)
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
	figures[0] = drive(rt, &driver_ops) / TASKS;
}

const struct scenario spawn_local = {
	.name = "spawn_local",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
