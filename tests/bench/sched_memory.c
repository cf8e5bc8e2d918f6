/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A million tasks that ran once and wait: bytes of resident memory a task, with
 * all that their runtime takes.
 */

#include "scenario.h"

#define TASKS 1000000u

static struct atomic_u64 waiting;

static int
wait_for_ever(struct weir_context *ctx, void *state)
{
	struct weir_waker **waker = state;

	*waker = weir_context_waker(ctx);
	atomic_u64_fetch_add(&waiting, 1, RELAXED);
	return WEIR_PENDING;
}

static void
drop(void *state)
{
	struct weir_waker **waker = state;

	weir_waker_drop(*waker);
}

static const struct weir_task_ops waiter_ops = {
	.name = "waiter",
	.state_size = sizeof(struct weir_waker *),
	.poll = wait_for_ever,
	.drop = drop,
};

static int
poll(struct weir_context *ctx, void *state)
{
	unsigned int *begun = state, i;

	for (i = 0; i < TASKS && *begun == 0; i++)
		start(weir_context_runtime(ctx), &waiter_ops, NULL);
	*begun = 1;
	return atomic_u64_load(&waiting, RELAXED) < TASKS ?
		       weir_context_yield(ctx) :
		       WEIR_DONE;
}

static const struct weir_task_ops driver_ops = {
	.name = "driver",
	.state_size = sizeof(unsigned int),
	.poll = poll,
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	must(weir_runtime_block_on(rt, &driver_ops, NULL, NULL) == 0,
	     "the driver failed");
	figures[0] = (rss_now() - rss_at_start) / TASKS;
}

const struct scenario memory = {
	.name = "memory",
	.workers = 1,
	.figures = 1,
	.once = true,
	.round = round_of,
};
