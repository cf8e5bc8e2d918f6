/* SPDX-License-Identifier: BSD-3-Clause */

/* Wait groups: who goes on sees all that was done, and may end the group. */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_wait_group.h"

static struct weir_wait_group *group;
static unsigned int *parts;
static unsigned int done, waited;
static struct atomic_u32 inside;

static void
begin(uint32_t n)
{
	done = 0;
	waited = 0;
	waiter_drops = 0;
	group = model_alloc(sizeof(*group));
	parts = model_alloc(2 * sizeof(*parts));
	weir_wait_group_init(group);
	model_check(weir_wait_group_add(group, n) == 0);
	scheduler_start(1);
}

static int
wait_for_all(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_wait_group_wait(ctx, what, wait);
}

static void
do_part(void *part)
{
	*(unsigned int *)part = 1;
	rig_count(&done);
	model_check(weir_wait_group_done(group) == 0);
}

/* It waited alone: nobody needs the group any more. */
static void
end_group(void *what, int rc)
{
	model_check(rc == 0 && parts[0] == 1 && parts[1] == 1);
	weir_wait_group_fini(what);
	model_free(what);
	rig_count(&waited);
}

static void
wake(void *waker)
{
	weir_waker_wake(waker);
}

MODEL(wait_group_thread, "a thread waits for two others", 2, 1)
{
	begin(2);
	model_thread("first", do_part, &parts[0]);
	model_thread("second", do_part, &parts[1]);
	end_group(group, weir_wait_group_wait(NULL, group, NULL));
	scheduler_close();
	scheduler_end();
	model_free(parts);
}

MODEL(wait_group_end, "a task that is woken early ends the group at once", 2, 1)
{
	struct weir_join *join;

	begin(1);
	parts[1] = 1;
	join = waiter_spawn(wait_for_all, group, end_group);
	model_thread("doer", do_part, &parts[0]);
	model_thread("waker", wake,
		     weir_waker_clone((struct weir_waker *)join));
	waiter_detach(join);
	scheduler_end();
	model_check(waited == 1 && waiter_drops == 1);
	model_free(parts);
}

static void
leave(void *what, int rc)
{
	model_check(rc == 0 || rc == -EPIPE);
	if (atomic_u32_fetch_sub(&inside, 1, ACQ_REL) > 1)
		return;
	weir_wait_group_fini(what);
	model_free(what);
}

MODEL(wait_group_leave, "one is let go by another call than the last done()", 2,
      1)
{
	int rc;

	begin(1);
	atomic_u32_store(&inside, 2, RELAXED);
	waiter_detach(waiter_spawn(wait_for_all, group, leave));
	model_thread("doer", do_part, &parts[0]);
	rc = weir_wait_group_wait(NULL, group, NULL);
	weir_wait_group_close(group);
	leave(group, rc);
	scheduler_end();
	model_check(waiter_drops == 1);
	model_free(parts);
}

static void
count(void *what, int rc)
{
	(void)what;
	model_check(rc == 0 && done == 2);
	rig_count(&waited);
}

MODEL(wait_group_add, "more is added while a task waits", 2, 1)
{
	begin(1);
	waiter_detach(waiter_spawn(wait_for_all, group, count));
	model_check(weir_wait_group_add(group, 1) == 0);
	model_thread("doer", do_part, &parts[0]);
	do_part(&parts[1]);
	scheduler_end();
	model_check(waited == 1 && waiter_drops == 1);
	model_check(weir_wait_group_wait(NULL, group, NULL) == 0);
	weir_wait_group_fini(group);
	model_free(group);
	model_free(parts);
}
