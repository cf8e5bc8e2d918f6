/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Wakers: one word that wakes either a task or a blocked thread, or tells a
 * watcher that a task has ended.
 *
 * A waker is the address of a task (a reference of its own) or, with bit 0
 * set, of a thread_parker, which lives on the blocked thread's stack, or, with
 * bit 1 set, of a task_watcher.
 *
 * W1 The waker of a parker or watcher does not wake after its thread was let go,
 *    or the watcher was told: the join handle that it waits on takes it back
 *    first (T4). To drop it is to forget the word.
 * W2 Whoever schedules a task holds a reference to it meanwhile or is a worker
 *    of its runtime: else a runtime that is being freed could go with the
 *    notification, while its queue is still being touched.
 */

#include "base/common.h"
#include "task/parker.h"
#include "task/task.h"

static struct thread_parker *
parker_of(struct weir_waker *w)
{
	return (struct thread_parker *)((uintptr_t)w & ~WAKER_PARKER);
}

static struct task_watcher *
watcher_of(struct weir_waker *w)
{
	return (struct task_watcher *)((uintptr_t)w & ~WAKER_WATCHER);
}

static struct task *
task_of(struct weir_waker *w)
{
	return (struct task *)w;
}

/* It is no task's. */
static void
wake_other(struct weir_waker *w)
{
	if (((uintptr_t)w & WAKER_PARKER) != 0)
		weir__parker_unpark(parker_of(w));
	else
		watcher_of(w)->ended(watcher_of(w));
}

struct weir_waker *
weir__waker_of_parker(struct thread_parker *p)
{
	return (struct weir_waker *)((uintptr_t)p | WAKER_PARKER);
}

struct weir_waker *
weir__waker_of_watcher(struct task_watcher *w)
{
	return (struct weir_waker *)((uintptr_t)w | WAKER_WATCHER);
}

bool
weir__waker_same(const struct weir_waker *w, const struct task *t)
{
	return (uintptr_t)w == (uintptr_t)t;
}

bool
weir__waker_ended(const struct weir_waker *w)
{
	return waker_is_task(w) &&
	       (state_load(&((const struct task *)w)->state) & STATE_COMPLETE);
}

struct weir_waker *
weir_context_waker(struct weir_context *ctx)
{
	context_check(ctx);
	return context_waker(ctx);
}

struct weir_waker *
weir_waker_clone(struct weir_waker *waker)
{
	if (waker_is_task(waker))
		state_ref_inc(&task_of(waker)->state);
	return waker;
}

void
weir_waker_wake(struct weir_waker *waker)
{
	struct task *t;

	if (!waker_is_task(waker)) {
		wake_other(waker);
		return;
	}
	t = task_of(waker);
	if (!weir__on_worker_of(t)) {
		/*
		 * W2: our reference keeps the runtime until weir__schedule() is
		 * done with it; the notification's may be gone by then.
		 */
		weir_waker_wake_by_ref(waker);
		weir__task_ref_dec(t);
		return;
	}
	switch (state_wake_by_value(&t->state)) {
	case STATE_WAKE_SCHEDULE:
		weir__schedule(t);
		break;
	case STATE_WAKE_FREE:
		weir__cell_put(t);
		break;
	case STATE_WAKE_NOTHING:
		break;
	}
}

void
weir_waker_wake_by_ref(struct weir_waker *waker)
{
	struct task *t;

	if (!waker_is_task(waker)) {
		wake_other(waker);
		return;
	}
	t = task_of(waker);
	if (state_wake_by_ref(&t->state) == STATE_WAKE_SCHEDULE)
		weir__schedule(t);
}

void
weir_waker_drop(struct weir_waker *waker)
{
	if (waker != NULL && waker_is_task(waker))
		weir__task_ref_dec(task_of(waker));
}
