/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Abort handles: the address of a task and a reference, like a waker, but what
 * they arrange is the task's end.
 *
 * E1 The handle's reference is held while the task is being queued, so that the
 *    runtime cannot go meanwhile (waker.c, W2).
 * E2 The handle has no part in JOIN_INTEREST: the outcome is dropped or reported
 *    as if the handle were not there.
 */

#include "task/task.h"

static struct task *
task_of(struct weir_abort *abort)
{
	return (struct task *)abort;
}

struct weir_abort *
weir_join_abort_handle(struct weir_join *join)
{
	state_ref_inc(&((struct task *)join)->state);
	return (struct weir_abort *)join;
}

struct weir_abort *
weir_abort_clone(struct weir_abort *abort)
{
	state_ref_inc(&task_of(abort)->state);
	return abort;
}

void
weir_abort_task(struct weir_abort *abort)
{
	weir__task_abort(task_of(abort));
}

bool
weir_abort_ended(const struct weir_abort *abort)
{
	const struct task *t = (const struct task *)abort;

	return (state_load(&t->state) & STATE_COMPLETE) != 0;
}

void
weir_abort_drop(struct weir_abort *abort)
{
	if (abort != NULL)
		weir__task_ref_dec(task_of(abort));
}
