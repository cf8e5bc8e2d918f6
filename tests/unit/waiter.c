/* SPDX-License-Identifier: BSD-3-Clause */

#include "waiter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "sync/wait.h"

struct waiter {
	waiter_call call;
	void *what;
	struct weir_wait wait;
	int rc; /* the result */
};

static int
waiter_poll(struct weir_context *ctx, void *state)
{
	struct waiter *w = state;

	w->rc = w->call(ctx, w->what, &w->wait);
	return w->rc == WEIR_PENDING ? WEIR_PENDING : WEIR_DONE;
}

static void
waiter_drop(void *state)
{
	struct waiter *w = state;

	weir_wait_cancel(&w->wait);
}

static const struct weir_task_ops waiter_ops = {
	.name = "waiter",
	.state_size = sizeof(struct waiter),
	.poll = waiter_poll,
	.drop = waiter_drop,
	.result_offset = offsetof(struct waiter, rc),
	.result_size = sizeof(int),
};

struct weir_join *
waiter_spawn(struct weir_runtime *rt, waiter_call call, void *what)
{
	struct waiter w = { .call = call, .what = what };
	struct weir_join *join = weir_task_spawn(rt, &waiter_ops, &w, NULL);

	assert_non_null(join);
	return join;
}

int
waiter_join(struct weir_join *join)
{
	int rc = 0;

	assert_int_equal(rig_join(join, &rc), 0);
	return rc;
}

void
waiter_abort(struct weir_join *join)
{
	int rc;

	weir_join_abort(join);
	rc = rig_join(join, NULL);
	assert_true(rc == -ECANCELED || rc == 0);
}

struct waiter_thread {
	pthread_t thread;
	waiter_call call;
	void *what;
	int rc;
};

static void *
thread_main(void *arg)
{
	struct waiter_thread *t = arg;

	t->rc = t->call(NULL, t->what, NULL);
	return NULL;
}

struct waiter_thread *
waiter_thread_start(waiter_call call, void *what)
{
	struct waiter_thread *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->call = call;
	t->what = what;
	assert_int_equal(pthread_create(&t->thread, NULL, thread_main, t), 0);
	return t;
}

int
waiter_thread_join(struct waiter_thread *t)
{
	int rc;

	assert_int_equal(pthread_join(t->thread, NULL), 0);
	rc = t->rc;
	free(t);
	return rc;
}

struct refusal {
	waiter_call call;
	void *what;
	struct weir_semaphore sem; /* without permits */
};

static int
call_as_thread(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct refusal *r = what;

	return r->call(NULL, r->what, NULL);
}

static int
call_in_another_line(struct weir_context *ctx, void *what,
		     struct weir_wait *wait)
{
	struct refusal *r = what;
	int rc;

	rc = weir_semaphore_acquire(ctx, &r->sem, 1, wait);
	assert_int_equal(rc, WEIR_PENDING);
	rc = r->call(ctx, r->what, wait);
	weir_wait_cancel(wait);
	return rc;
}

void
waiter_check_refusals(struct weir_runtime *rt, waiter_call call, void *what)
{
	struct refusal r = { .call = call, .what = what };

	assert_int_equal(weir_semaphore_init(&r.sem, 0), 0);
	assert_int_equal(waiter_join(waiter_spawn(rt, call_as_thread, &r)),
			 -EDEADLK);
	assert_int_equal(
		waiter_join(waiter_spawn(rt, call_in_another_line, &r)),
		-EBUSY);
	weir_semaphore_fini(&r.sem);
}

unsigned int
waiters(const void *sync)
{
	struct sync *s = (struct sync *)(uintptr_t)sync;
	unsigned int side, n = 0;
	struct list_link *l;

	lock_acquire(&s->lock);
	for (side = 0; side < 2; side++)
		for (l = s->waiting[side].next; l != &s->waiting[side];
		     l = l->next)
			n++;
	lock_release(&s->lock);
	return n;
}
