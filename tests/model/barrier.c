/* SPDX-License-Identifier: BSD-3-Clause */

/* Barriers: a round takes all its parties, and has one leader. */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_barrier.h"

static struct weir_barrier *barrier;
/* One of each party, written before it arrives and read by all after. */
static unsigned int *parts;
static unsigned int leaders, followers, refused;

static void
begin(uint32_t parties)
{
	leaders = 0;
	followers = 0;
	refused = 0;
	waiter_drops = 0;
	barrier = model_alloc(sizeof(*barrier));
	parts = model_alloc(2 * sizeof(*parts));
	model_check(weir_barrier_init(barrier, parties) == 0);
	scheduler_start(1);
}

static void
end(void)
{
	scheduler_end();
	model_check(waiter_drops == 1);
	weir_barrier_fini(barrier);
	model_free(barrier);
	model_free(parts);
}

static void
went_on(void *what, int rc)
{
	(void)what;
	if (rc == -EPIPE) {
		rig_count(&refused);
		return;
	}
	model_check(rc == 0 || rc == 1);
	model_check(parts[0] == 1 && parts[1] == 1);
	rig_count(rc == 1 ? &leaders : &followers);
}

/* The task's part is done with its first poll. */
static int
arrive(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	if (parts[0] == 0)
		parts[0] = 1;
	return weir_barrier_wait(ctx, what, wait);
}

static void
arrive_too(void *what)
{
	parts[1] = 1;
	went_on(what, weir_barrier_wait(NULL, what, NULL));
}

static void
wake(void *waker)
{
	weir_waker_wake(waker);
}

MODEL(barrier_two, "a task and a thread meet, and one leads", 3, 1)
{
	begin(2);
	waiter_detach(waiter_spawn(arrive, barrier, went_on));
	arrive_too(barrier);
	end();
	model_check(leaders == 1 && followers == 1);
}

MODEL(barrier_woken, "one that waits there is woken for something else", 2, 1)
{
	struct weir_join *join;

	begin(2);
	join = waiter_spawn(arrive, barrier, went_on);
	model_thread("waker", wake,
		     weir_waker_clone((struct weir_waker *)join));
	waiter_detach(join);
	arrive_too(barrier);
	end();
	model_check(leaders == 1 && followers == 1);
}

static void
close_after_task(void *what)
{
	while (waiter_drops == 0)
		atomic_pause();
	weir_barrier_close(what);
}

MODEL(barrier_abort, "who is aborted has arrived if the round was complete", 2,
      1)
{
	struct weir_join *join;

	begin(2);
	join = waiter_spawn(arrive, barrier, went_on);
	model_thread("aborter", waiter_abort, join);
	model_thread("closer", close_after_task, barrier);
	arrive_too(barrier);
	end();
	model_check(leaders + refused == 1);
	model_check(refused == 0 || followers == 0);
}

MODEL(barrier_again, "who gave up before the others came has not arrived", 2, 1)
{
	struct weir_join *join;

	begin(2);
	join = waiter_spawn(arrive, barrier, went_on);
	model_thread("aborter", waiter_abort, join);
	scheduler_end();
	model_check(leaders == 0 && followers == 0);
	parts[0] = 1;
	model_thread("other", arrive_too, barrier);
	went_on(barrier, weir_barrier_wait(NULL, barrier, NULL));
	model_join_all();
	model_check(leaders == 1 && followers == 1);
	weir_barrier_fini(barrier);
	model_free(barrier);
	model_free(parts);
}

MODEL(barrier_close, "a task waits, or comes, while it is closed", 3, 1)
{
	begin(2);
	waiter_detach(waiter_spawn(arrive, barrier, went_on));
	weir_barrier_close(barrier);
	end();
	model_check(refused == 1 && leaders + followers == 0);
}
