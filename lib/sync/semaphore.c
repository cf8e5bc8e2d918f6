/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A semaphore is a count. Who is first in line waits until there are enough for
 * it, and meanwhile nobody else takes any (wait.c, Y3), so that a large request
 * is not starved by small ones.
 *
 * Y5 permits + those granted in line and not taken yet + those taken and not
 *    released = those it began with and those that were added. The first two are
 *    WEIR_SEMAPHORE_MAX at most: what was granted may come back.
 */

#include <errno.h>

#include "sync/permits.h"

/* 0, -EAGAIN or -EPIPE. With the lock. */
static int
take(struct semaphore *s, uint32_t n)
{
	if (unlikely(s->closed))
		return -EPIPE;
	if (n > s->permits)
		return -EAGAIN;
	s->permits -= n;
	return 0;
}

static bool
grant(struct sync *sync, struct wait *w)
{
	struct semaphore *s = (struct semaphore *)sync;

	w->rc = take(s, w->n);
	if (w->rc == 0)
		atomic_u32_fetch_sub(&s->most, w->n, RELAXED);
	return w->rc != -EAGAIN;
}

static void
give_up(struct sync *sync, struct wait *w, bool granted)
{
	struct semaphore *s = (struct semaphore *)sync;

	if (granted) {
		semaphore_take_granted(s, w->n, 0);
		s->permits += w->n;
	}
	if (unlikely(w->place != NULL))
		weir__cond_give_up(w);
}

static const struct sync_ops ops = {
	.grant = grant,
	.give_up = give_up,
};

int
weir_semaphore_init(struct weir_semaphore *sem, uint32_t permits)
{
	struct semaphore *s = semaphore_of(sem);

	if (permits > WEIR_SEMAPHORE_MAX)
		return -EINVAL;
	weir__sync_init(&s->sync, &ops);
	s->permits = permits;
	atomic_u32_store(&s->most, WEIR_SEMAPHORE_MAX, RELAXED);
	s->closed = false;
	return 0;
}

void
weir_semaphore_fini(struct weir_semaphore *sem)
{
	weir__sync_fini(&semaphore_of(sem)->sync);
}

/* -EAGAIN also when others wait. With the lock. */
static int
take_in_turn(struct semaphore *s, uint32_t n)
{
	return sync_awaited(&s->sync, 0) ? -EAGAIN : take(s, n);
}

/* With another number of permits, or a condition, the wait is for something else. */
static int
go_on(struct semaphore *s, uint32_t n, struct weir_wait *wait)
{
	const struct wait *w = (const struct wait *)wait;

	if (w->n != n || w->place != NULL)
		return -EBUSY;
	return semaphore_take_granted(s, n, wait_outcome(wait));
}

int
weir_semaphore_acquire(struct weir_context *ctx, struct weir_semaphore *sem,
		       uint32_t n, struct weir_wait *wait)
{
	struct semaphore *s = semaphore_of(sem);
	int rc;

	if (unlikely(n > WEIR_SEMAPHORE_MAX))
		return -EINVAL;
	rc = wait_enter(ctx, &s->sync.awaited, wait);
	if (unlikely(rc != 0))
		return rc > 0 ? go_on(s, n, wait) : rc;
	lock_acquire(&s->sync.lock);
	rc = take_in_turn(s, n);
	if (rc == -EAGAIN)
		return semaphore_take_granted(
			s, n, weir__wait_join(ctx, &s->sync, wait, 0, NULL, n));
	lock_release(&s->sync.lock);
	return rc;
}

int
weir_semaphore_try_acquire(struct weir_semaphore *sem, uint32_t n)
{
	struct semaphore *s = semaphore_of(sem);
	int rc;

	if (unlikely(n > WEIR_SEMAPHORE_MAX))
		return -EINVAL;
	lock_acquire(&s->sync.lock);
	rc = take_in_turn(s, n);
	lock_release(&s->sync.lock);
	return rc;
}

int
weir_semaphore_release(struct weir_semaphore *sem, uint32_t n)
{
	struct semaphore *s = semaphore_of(sem);

	lock_acquire(&s->sync.lock);
	/* Y5 */
	if (unlikely(n > atomic_u32_load(&s->most, RELAXED) - s->permits)) {
		lock_release(&s->sync.lock);
		return -EOVERFLOW;
	}
	s->permits += n;
	sync_settle(&s->sync);
	return 0;
}

void
weir_semaphore_close(struct weir_semaphore *sem)
{
	struct semaphore *s = semaphore_of(sem);

	lock_acquire(&s->sync.lock);
	s->closed = true;
	sync_settle(&s->sync);
}

uint32_t
weir_semaphore_available(struct weir_semaphore *sem)
{
	struct semaphore *s = semaphore_of(sem);
	uint32_t n;

	lock_acquire(&s->sync.lock);
	n = s->permits;
	lock_release(&s->sync.lock);
	return n;
}
