/* SPDX-License-Identifier: BSD-3-Clause */

/* Several waits of one task: what the losers were given goes to the next. */

#include <errno.h>

#include "rig.h"
#include "sync/wait.h"
#include "waiter.h"
#include "weir_notify.h"
#include "weir_select.h"
#include "weir_semaphore.h"

static struct weir_semaphore *sem;
static struct weir_notify *notify;
static unsigned int permits, notes, drops;

struct selecting {
	struct weir_select select;
	struct weir_wait waits[2];
};

static int
poll_permit(struct weir_context *ctx, void *state)
{
	struct selecting *s = state;
	int rc = weir_semaphore_acquire(ctx, sem, 1, &s->waits[0]);

	if (rc == 0)
		rig_count(&permits);
	return rc;
}

static void
cancel_permit(void *state)
{
	weir_wait_cancel(&((struct selecting *)state)->waits[0]);
}

static int
poll_note(struct weir_context *ctx, void *state)
{
	struct selecting *s = state;
	int rc = weir_notify_wait(ctx, notify, &s->waits[1]);

	if (rc == 0)
		rig_count(&notes);
	return rc;
}

static void
cancel_note(void *state)
{
	weir_wait_cancel(&((struct selecting *)state)->waits[1]);
}

static const struct weir_branch branches[] = {
	{ poll_permit, cancel_permit },
	{ poll_note, cancel_note },
};

static bool
is_idle(const void *wait)
{
	return ((const struct wait *)wait)->awaited == NULL;
}

static int
first_poll(struct weir_context *ctx, void *state)
{
	struct selecting *s = state;
	int rc, n;

	n = weir_select_first(ctx, &s->select, branches, 2, s, &rc);
	if (n < 0)
		return n;
	model_check(rc == 0 && (n == 0 ? permits : notes) == 1);
	/* Y46 */
	model_check(is_idle(&s->waits[1 - n]));
	return WEIR_DONE;
}

static int
all_poll(struct weir_context *ctx, void *state)
{
	struct selecting *s = state;

	return weir_select_all(ctx, &s->select, branches, 2, s,
			       WEIR_SELECT_UNTIL_ENDED, NULL);
}

static void
selecting_drop(void *state)
{
	struct selecting *s = state;

	weir_select_cancel(&s->select, branches, 2, s);
	rig_count(&drops);
}

static const struct weir_task_ops first_ops = {
	.name = "first",
	.state_size = sizeof(struct selecting),
	.poll = first_poll,
	.drop = selecting_drop,
};

static const struct weir_task_ops all_ops = {
	.name = "all",
	.state_size = sizeof(struct selecting),
	.poll = all_poll,
	.drop = selecting_drop,
};

static void
begin(void)
{
	permits = 0;
	notes = 0;
	drops = 0;
	sem = model_alloc(sizeof(*sem));
	notify = model_alloc(sizeof(*notify));
	model_check(weir_semaphore_init(sem, 0) == 0);
	weir_notify_init(notify);
	scheduler_start(1);
}

/* Both were given once, and what nobody took is there. */
static void
end(void)
{
	scheduler_end();
	model_check(drops == 1);
	model_check(weir_semaphore_available(sem) + permits == 1);
	if (notes == 0)
		model_check(weir_notify_wait(NULL, notify, NULL) == 0);
	model_free(sem);
	model_free(notify);
}

static void
give_permit(void *arg)
{
	(void)arg;
	model_check(weir_semaphore_release(sem, 1) == 0);
}

MODEL(select_first, "both branches of a task end, and one is first", 2, 1)
{
	begin();
	weir_join_detach(scheduler_spawn(&first_ops, NULL));
	model_thread("giver", give_permit, NULL);
	weir_notify_one(notify);
	end();
	model_check(permits + notes == 1);
}

MODEL(select_abort, "a task is aborted beside the end of a branch", 2, 1)
{
	begin();
	waiter_abort(scheduler_spawn(&first_ops, NULL));
	weir_notify_one(notify);
	give_permit(NULL);
	end();
}

MODEL(select_all, "a task waits for both branches", 2, 1)
{
	begin();
	weir_join_detach(scheduler_spawn(&all_ops, NULL));
	model_thread("giver", give_permit, NULL);
	weir_notify_one(notify);
	end();
	model_check(permits == 1 && notes == 1);
}
