/* SPDX-License-Identifier: BSD-3-Clause */

#include "waiter.h"

#include "rig.h"

unsigned int waiter_drops;

struct waiter {
	waiter_call call;
	void *what;
	void (*done)(void *what, int rc);
	struct weir_wait wait;
};

static int
waiter_poll(struct weir_context *ctx, void *state)
{
	struct waiter *w = state;
	int rc = w->call(ctx, w->what, &w->wait);

	if (rc == WEIR_PENDING)
		return rc;
	if (w->done != NULL)
		w->done(w->what, rc);
	return WEIR_DONE;
}

static void
waiter_drop(void *state)
{
	struct waiter *w = state;

	weir_wait_cancel(&w->wait);
	rig_count(&waiter_drops);
}

static const struct weir_task_ops waiter_ops = {
	.name = "waiter",
	.state_size = sizeof(struct waiter),
	.poll = waiter_poll,
	.drop = waiter_drop,
};

struct weir_join *
waiter_spawn(waiter_call call, void *what, void (*done)(void *what, int rc))
{
	struct waiter w = { .call = call, .what = what, .done = done };

	return scheduler_spawn(&waiter_ops, &w);
}

void
waiter_detach(struct weir_join *join)
{
	weir_join_detach(join);
}

void
waiter_abort(void *join)
{
	weir_join_abort(join);
	weir_join_detach(join);
}
