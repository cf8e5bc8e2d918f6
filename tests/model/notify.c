/* SPDX-License-Identifier: BSD-3-Clause */

/* Notes: none is lost, and none reaches two. */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_notify.h"

static struct weir_notify *notify;
static unsigned int told;

static void
begin(unsigned int nb_workers)
{
	told = 0;
	waiter_drops = 0;
	notify = model_alloc(sizeof(*notify));
	weir_notify_init(notify);
	scheduler_start(nb_workers);
}

static void
end(void)
{
	scheduler_end();
	weir_notify_fini(notify);
	model_free(notify);
}

static int
wait_for_note(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_notify_wait(ctx, what, wait);
}

static void
count(void *what, int rc)
{
	(void)what;
	model_check(rc == 0);
	rig_count(&told);
}

static void
tell_one(void *what)
{
	weir_notify_one(what);
}

MODEL(notify_one, "a note comes while a task begins to wait", 3, 2)
{
	begin(1);
	waiter_detach(waiter_spawn(wait_for_note, notify, count));
	weir_notify_one(notify);
	end();
	model_check(told == 1);
}

MODEL(notify_two, "a note each for two", 1, 1)
{
	begin(2);
	waiter_detach(waiter_spawn(wait_for_note, notify, count));
	waiter_detach(waiter_spawn(wait_for_note, notify, count));
	weir_notify_one(notify);
	/* Said twice while it is kept, it counts once. */
	while (waiter_drops == 0)
		atomic_pause();
	weir_notify_one(notify);
	end();
	model_check(told == 2);
}

MODEL(notify_abort, "a note to one that is aborted goes to the next", 2, 1)
{
	struct weir_join *join;

	begin(1);
	join = waiter_spawn(wait_for_note, notify, count);
	model_thread("aborter", waiter_abort, join);
	model_thread("teller", tell_one, notify);
	scheduler_end();
	/* It is kept, unless the task has taken it. */
	if (told == 0)
		model_check(weir_notify_wait(NULL, notify, NULL) == 0);
	model_free(notify);
}

MODEL(notify_all, "a note to all reaches a thread and a task that wait", 2, 1)
{
	begin(1);
	model_thread("teller", tell_one, notify);
	waiter_detach(waiter_spawn(wait_for_note, notify, count));
	weir_notify_all(notify);
	weir_notify_all(notify);
	end();
	model_check(told == 1);
}
