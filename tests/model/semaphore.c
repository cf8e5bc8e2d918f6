/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lines of waiters, as those of a semaphore: whoever is in front is given what
 * there is, wherever it waits, once; and what a task did not take goes to the
 * next.
 */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_semaphore.h"

static struct weir_semaphore *sem;
/* Guarded by a permit. */
static unsigned int *guarded;
static unsigned int uses, got, refused;

static void
begin(uint32_t permits, unsigned int nb_workers)
{
	uses = 0;
	got = 0;
	refused = 0;
	waiter_drops = 0;
	sem = model_alloc(sizeof(*sem));
	guarded = model_alloc(sizeof(*guarded));
	model_check(weir_semaphore_init(sem, permits) == 0);
	scheduler_start(nb_workers);
}

static void
end(unsigned int tasks, uint32_t permits)
{
	scheduler_end();
	model_check(waiter_drops == tasks && *guarded == uses);
	model_check(weir_semaphore_available(sem) == permits);
	weir_semaphore_fini(sem);
	model_free(sem);
	model_free(guarded);
}

static int
acquire(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, what, 1, wait);
}

/* Holds the permit for a moment. */
static void
use(void *what, int rc)
{
	if (rc == -EPIPE) {
		rig_count(&refused);
		return;
	}
	model_check(rc == 0);
	rig_count(&got);
	rig_count(&uses);
	++*guarded;
	model_check(weir_semaphore_release(what, 1) == 0);
}

/* Keeps it. */
static void
keep(void *what, int rc)
{
	(void)what;
	model_check(rc == 0);
	rig_count(&got);
}

static void
release(void *what)
{
	model_check(weir_semaphore_release(what, 1) == 0);
}

static void
close_it(void *what)
{
	weir_semaphore_close(what);
}

MODEL(semaphore_tasks, "two tasks take turns, one permit between them", 2, 1)
{
	begin(1, 2);
	waiter_detach(waiter_spawn(acquire, sem, use));
	waiter_detach(waiter_spawn(acquire, sem, use));
	end(2, 1);
	model_check(got == 2);
}

MODEL(semaphore_release, "a task waits for a permit of a plain thread", 3, 2)
{
	begin(0, 1);
	model_thread("releaser", release, sem);
	waiter_detach(waiter_spawn(acquire, sem, keep));
	end(1, 0);
	model_check(got == 1);
}

static void
wake(void *waker)
{
	weir_waker_wake(waker);
}

MODEL(semaphore_woken, "a task that waits is woken for something else", 2, 1)
{
	struct weir_join *join;

	begin(0, 1);
	join = waiter_spawn(acquire, sem, keep);
	model_thread("waker", wake,
		     weir_waker_clone((struct weir_waker *)join));
	model_thread("releaser", release, sem);
	waiter_detach(join);
	end(1, 0);
	model_check(got == 1);
}

MODEL(semaphore_thread, "a plain thread waits beside a task", 2, 1)
{
	begin(0, 1);
	waiter_detach(waiter_spawn(acquire, sem, use));
	model_thread("releaser", release, sem);
	use(sem, weir_semaphore_acquire(NULL, sem, 1, NULL));
	end(1, 1);
	model_check(got == 2);
}

MODEL(semaphore_abort, "one that waits is aborted while it is given a permit",
      2, 1)
{
	struct weir_join *join;

	begin(0, 1);
	join = waiter_spawn(acquire, sem, keep);
	model_thread("aborter", waiter_abort, join);
	model_thread("releaser", release, sem);
	scheduler_end();
	/* It is its, or it is left. */
	model_check(weir_semaphore_available(sem) + got == 1);
	model_free(sem);
	model_free(guarded);
}

MODEL(semaphore_abort_next, "the permit goes to the next then", 1, 1)
{
	struct weir_join *join;

	begin(0, 1);
	join = waiter_spawn(acquire, sem, use);
	model_thread("aborter", waiter_abort, join);
	model_thread("releaser", release, sem);
	use(sem, weir_semaphore_acquire(NULL, sem, 1, NULL));
	end(1, 1);
}

MODEL(semaphore_close, "a task and a thread wait while it is closed", 2, 1)
{
	begin(0, 1);
	waiter_detach(waiter_spawn(acquire, sem, use));
	model_thread("closer", close_it, sem);
	use(sem, weir_semaphore_acquire(NULL, sem, 1, NULL));
	end(1, 0);
	model_check(refused == 2);
}
