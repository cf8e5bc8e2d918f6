/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sources: how a task comes to wait on one. See source.c.
 *
 * A waiter is in a place: the source's own, `waiter`, of which there is one, or
 * places that the driver keeps, as many as it likes. `armed` counts those that
 * are taken (source.c, S3), and places change with the lock only.
 *
 * To wait costs a place, a poll by the worker, a wake-up and a second look by the
 * task. Where events come as fast as that, the task yields and looks itself, for
 * half the price. The source remembers whether it is such a one: `quick` says
 * that the worker's first or second look found something when a task waited last.
 *
 * U1 A task yields once after a wait that found something, and only on a quick
 *    source. If it then finds nothing it waits, and the source is quick no more.
 * U2 It yields on the home worker only. Elsewhere it waits, and so comes home.
 */

#include <errno.h>

#include "park/source_wait.h"

void
weir_source_lock(void *priv)
{
	lock_acquire(&source_of(priv)->lock);
}

void
weir_source_unlock(void *priv)
{
	lock_release(&source_of(priv)->lock);
}

int
weir__source_wait_later(struct weir_context *ctx)
{
	if (context_is_spent(ctx))
		return weir_context_spend(ctx, 0);
	/* A rescuer is in it and will be gone in a moment. */
	return weir_context_yield(ctx);
}

int
weir_source_wait_begin(struct weir_context *ctx, void *priv)
{
	return source_wait_begin(ctx, source_of(priv));
}

int
weir_source_wait_fail(void *priv)
{
	struct weir_source *src = source_of(priv);
	int error = src->error;

	if (error == 0) {
		error = src->alert;
		src->alert = 0;
	}
	WEIR_ASSERT(error != 0, "weir_source_wait_fail(): no error to report");
	lock_release(&src->lock);
	return -error;
}

void
weir_source_wait_ready(struct weir_context *ctx, void *priv, unsigned int units)
{
	source_wait_ready(ctx, source_of(priv), units);
}

bool
weir_source_place_open(struct weir_context *ctx,
		       struct weir_waker *const *place)
{
	return *place == NULL || weir__waker_same(*place, context_task(ctx)) ||
	       weir__waker_ended(*place);
}

/* Puts the task into a place that is open. Returns the waker to drop. */
static struct weir_waker *
take_place(struct weir_context *ctx, struct weir_source *src,
	   struct weir_waker **place)
{
	struct weir_waker *gone = *place;

	if (gone != NULL && weir__waker_same(gone, context_task(ctx)))
		return NULL;
	/* A waiter that was cancelled leaves its place to the next. */
	if (gone == NULL)
		source_count_waiters(src, 1);
	*place = context_waker(ctx);
	return gone;
}

void
weir_source_place_take(struct weir_context *ctx, void *priv,
		       struct weir_waker **place)
{
	weir_waker_drop(take_place(ctx, source_of(priv), place));
}

/* Empties a place, if somebody is in it. */
static struct weir_waker *
leave_place(void *priv, struct weir_waker **place)
{
	struct weir_waker *w = *place;

	if (w != NULL)
		source_count_waiters(source_of(priv), -1);
	*place = NULL;
	return w;
}

void
weir_source_place_clear(void *priv, struct weir_waker **place)
{
	weir_waker_drop(leave_place(priv, place));
}

bool
weir_source_place_wake(void *priv, struct weir_waker **place)
{
	struct weir_waker *w = leave_place(priv, place);

	if (w == NULL)
		return false;
	weir_waker_wake(w);
	return true;
}

void
weir_source_place_tell(void *priv, struct weir_waker **place)
{
	if (source_of(priv)->error != 0)
		weir_source_place_wake(priv, place);
	else if (*place != NULL)
		weir_waker_wake_by_ref(*place);
}

void
weir_source_cancel(struct weir_source *source)
{
	const struct task *t = weir__task_current();
	struct weir_waker *gone = NULL;

	lock_acquire(&source->lock);
	/* It may have been woken meanwhile, and another be there. */
	if (t != NULL && weir__waker_same(source->waiter, t))
		gone = leave_place(source->priv, &source->waiter);
	lock_release(&source->lock);
	weir_waker_drop(gone);
}

void
weir__source_forget_ended(struct weir_source *src)
{
	struct weir_waker *gone = NULL;

	/* Whoever has the lock is out of it the next time. */
	if (!lock_try(&src->lock))
		return;
	if (src->waiter != NULL && weir__waker_ended(src->waiter))
		gone = leave_place(src->priv, &src->waiter);
	lock_release(&src->lock);
	weir_waker_drop(gone);
}

int
weir_source_wait_leave(struct weir_context *ctx, void *priv)
{
	struct weir_source *src = source_of(priv);

	lock_release(&src->lock);
	/*
	 * [sleep:F2] A home worker that sleeps must see that this source is armed.
	 * That is rare, and this is the packet's path: the fence is the
	 * sleeper's.
	 */
	atomic_light_fence();
	sleeper_call(source_home(src)->sleeper, RELAXED);
	return WEIR_PENDING;
}

int
weir_source_wait_arm(struct weir_context *ctx, void *priv)
{
	struct weir_source *src = source_of(priv);
	struct weir_waker *gone;

	if (!weir_source_place_open(ctx, &src->waiter)) {
		lock_release(&src->lock);
		return -EBUSY;
	}
	if (source_looks_again(ctx, src)) {
		lock_release(&src->lock);
		return context_look_again(ctx);
	}
	/* U1: it has done so, in vain. */
	if (src->again) {
		src->again = false;
		src->quick = false;
	}
	src->looks = 0;
	gone = take_place(ctx, src, &src->waiter);
	weir_source_wait_leave(ctx, priv);
	weir_waker_drop(gone);
	return WEIR_PENDING;
}
