/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A condition variable is one more line of its mutex, under the same lock. Who waits
 * gives the mutex back and comes into it at once; who is told is moved to the line of
 * those who want the mutex, and is woken when it has that: so a broadcast wakes no crowd
 * that would find the mutex taken (wait morphing, as in the Linux kernel's futex requeue).
 *
 * Y56 Between the mutex that a waiter gives back and its place in line there is nobody:
 *     who takes the mutex later finds it there. It is in one of the two lines until it
 *     is granted the mutex.
 * Y57 A signal is with the waiter that was told. If that gives up before it has taken
 *     the mutex, the signal goes to the next. A broadcast has nobody left to go to.
 */

#include "sync/permits.h"
#include "sync/weir_cond.h"

struct cond {
	struct semaphore *mutex;
	struct list_link waiting; /* with the mutex's lock */
};

static_assert(sizeof(struct cond) <= sizeof(struct weir_cond),
	      "it is inside what the user has of it");

/* What a wait's side says here. */
enum {
	SIGNALLED, /* alone, of those who waited */
	NOT_SIGNALLED,
};

static struct cond *
cond_of(struct weir_cond *cond)
{
	return (struct cond *)cond;
}

void
weir_cond_init(struct weir_cond *cond, struct weir_mutex *mutex)
{
	struct cond *c = cond_of(cond);

	c->mutex = semaphore_of(&mutex->sem);
	list_init(&c->waiting);
}

void
weir_cond_fini(struct weir_cond *cond)
{
	struct cond *c = cond_of(cond);

	lock_acquire(&c->mutex->sync.lock);
	WEIR_ASSERT(list_empty(&c->waiting), "fini: nobody may wait any more");
	lock_release(&c->mutex->sync.lock);
}

/* Y57. With the lock. */
static void
signal_next(struct cond *c)
{
	struct list_link *l = list_pop_front(&c->waiting);

	if (l == NULL)
		return;
	container_of(l, struct wait, link)->side = SIGNALLED;
	list_push_back(&c->mutex->sync.waiting[0], l);
}

void
weir__cond_give_up(struct wait *w)
{
	if (w->side == SIGNALLED)
		signal_next(w->place);
}

/* Is the wait that the task goes on with this one's? */
static bool
is_waiting(const struct weir_context *ctx, const struct cond *c,
	   const struct wait *w)
{
	return w->awaited == &c->mutex->sync.awaited && w->place == c &&
	       wait_is_of(w, context_task(ctx));
}

int
weir_cond_wait(struct weir_context *ctx, struct weir_cond *cond,
	       struct weir_wait *wait)
{
	struct cond *c = cond_of(cond);
	struct semaphore *s = c->mutex;
	int rc;

	wait_check(ctx, wait);
	if (ctx == NULL) {
		if (weir__on_worker())
			return -EDEADLK;
	} else if (!wait_is_idle(wait)) {
		if (!is_waiting(ctx, c, (struct wait *)wait))
			return -EBUSY;
		return semaphore_take_granted(s, 1, wait_outcome(wait));
	} else {
		/* Without budget it would have to keep the mutex. */
		context_charge(ctx, 1);
	}
	lock_acquire(&s->sync.lock);
	WEIR_ASSERT(s->permits == 0, "cond: who waits has the mutex");
	/* Y56 */
	s->permits++;
	rc = weir__wait_join_beside(ctx, &s->sync, wait, &c->waiting,
				    NOT_SIGNALLED, c, 1);
	return semaphore_take_granted(s, 1, rc);
}

void
weir_cond_signal(struct weir_cond *cond)
{
	struct cond *c = cond_of(cond);
	struct sync *s = &c->mutex->sync;

	lock_acquire(&s->lock);
	signal_next(c);
	sync_settle(s);
}

void
weir_cond_broadcast(struct weir_cond *cond)
{
	struct cond *c = cond_of(cond);
	struct sync *s = &c->mutex->sync;

	lock_acquire(&s->lock);
	list_move_before(&s->waiting[0], &c->waiting);
	sync_settle(s);
}
