/* SPDX-License-Identifier: BSD-3-Clause */

/* Tasks that yield in turns, with their spawn and join: ns a yield. */

#include "scenario.h"

#define TASKS 200u
#define YIELDS 1000u

struct driver {
	uint64_t took;
	uint64_t begin;
	unsigned int next;
	struct weir_join *joins[TASKS];
};

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

static int
poll(struct weir_context *ctx, void *state)
{
	struct driver *d = state;
	unsigned int i;

	if (d->begin == 0) {
		d->begin = rte_rdtsc();
		for (i = 0; i < TASKS; i++) {
			d->joins[i] = weir_task_spawn(weir_context_runtime(ctx),
						      &yielder_ops, NULL, NULL);
			must(d->joins[i] != NULL, "no task");
		}
	}
	if (await_all(ctx, d->joins, TASKS, &d->next) == WEIR_PENDING)
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
	figures[0] = drive(rt, &driver_ops) / (TASKS * YIELDS);
}

const struct scenario yield_many = {
	.name = "yield_many",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
