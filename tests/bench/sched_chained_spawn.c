/* SPDX-License-Identifier: BSD-3-Clause */

/* A task spawns the next one and ends; the last wakes the driver: ns a link. */

#include "scenario.h"

#define LINKS 1000u

struct driver {
	uint64_t took;
	uint64_t begin;
};

struct link {
	struct weir_waker *waker; /* the driver's */
	unsigned int left;
};

static int
poll_link(struct weir_context *ctx, void *state);

static const struct weir_task_ops link_ops = {
	.name = "link",
	.state_size = sizeof(struct link),
	.poll = poll_link,
};

static int
poll_link(struct weir_context *ctx, void *state)
{
	const struct link *l = state;
	struct link next = { l->waker, l->left - 1 };

	if (l->left > 1)
		start(weir_context_runtime(ctx), &link_ops, &next);
	else
		weir_waker_wake(l->waker);
	return WEIR_DONE;
}

static int
poll(struct weir_context *ctx, void *state)
{
	struct driver *d = state;
	struct link first;

	if (d->begin == 0) {
		first.waker = weir_context_waker(ctx);
		first.left = LINKS;
		d->begin = rte_rdtsc();
		start(weir_context_runtime(ctx), &link_ops, &first);
		return WEIR_PENDING;
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
	figures[0] = drive(rt, &driver_ops) / LINKS;
}

const struct scenario chained_spawn = {
	.name = "chained_spawn",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
