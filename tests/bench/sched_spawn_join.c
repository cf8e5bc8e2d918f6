/* SPDX-License-Identifier: BSD-3-Clause */

/* A task spawns an empty task and awaits it, again and again: ns a pair. */

#include "scenario.h"

#define PAIRS 50000u

struct driver {
	uint64_t took;
	uint64_t begin;
	struct weir_join *join;
	unsigned int done;
};

static int
poll(struct weir_context *ctx, void *state)
{
	struct driver *d = state;
	int rc;

	if (d->begin == 0)
		d->begin = rte_rdtsc();
	while (d->done < PAIRS) {
		if (d->join == NULL)
			d->join = weir_task_spawn(weir_context_runtime(ctx),
						  &nothing_ops, NULL, NULL);
		must(d->join != NULL, "no task");
		rc = weir_join_poll(ctx, d->join, NULL);
		if (rc == WEIR_PENDING)
			return rc;
		must(rc == 0, "a task failed");
		d->join = NULL;
		d->done++;
	}
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
	figures[0] = drive(rt, &driver_ops) / PAIRS;
}

const struct scenario spawn_join = {
	.name = "spawn_join",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
