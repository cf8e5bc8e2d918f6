/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lines of waiting tasks and threads.
 *
 * A thing that can be waited for is its state, a lock of a few instructions, and
 * a line of those who could not have it at once, first come first served. Who
 * changes the state then settles: gives to those in front what there now is for
 * them, under the lock, and wakes them when it is free again. Being given comes
 * before being woken, so a newcomer overtakes nobody, and a task that is given
 * something and cancelled before it ran gives it back.
 *
 * The links are in the waiters' own memory; see tokio's batch_semaphore and
 * notify, which have the same idea.
 *
 * Invariants:
 * Y1 A wait that has joined a line is in it until WAIT_OVER is set, and is changed by
 *    others only under the lock. Whoever takes it out takes its waker with that, and
 *    does not touch it any more: its task may free it then.
 * Y2 When the lock is free, nobody in front can be given anything, but for those
 *    whom the holder of a full batch is about to serve.
 * Y3 A newcomer is given something at once only when its line is empty.
 * Y4 What was given and not taken comes back through give_up, once.
 * Y51 A task that cannot have it at once, while another task of its worker is to
 *    run next that it has itself woken or spawned, lets that run and looks again,
 *    once, before it joins the line: it may have what it wants then, and need not
 *    be woken. Until then it is in no line.
 */

#include "sync/wait.h"
#include "task/cell.h"
#include "task/parker.h"

/* A wait and two words besides, which many tasks are, take the smallest cell. */
static_assert(sizeof(struct weir_wait) + 2 * sizeof(uint64_t) <=
		      CELL_MIN_SIZE - offsetof(struct task, bytes),
	      "a wait is small");
static_assert(_Alignof(struct thread_parker) > WAIT_OVER,
	      "no waker has that bit");

/*
 * Wakers between two unlocks. Smaller: more of those for a crowd. Larger: others
 * wait longer for the lock.
 */
#ifndef SYNC_BATCH
#define SYNC_BATCH 16
#endif

static struct wait *
wait_of(struct weir_wait *wait)
{
	return (struct wait *)wait;
}

static struct wait *
wait_of_link(struct list_link *l)
{
	return container_of(l, struct wait, link);
}

void
weir__sync_init(struct sync *s, const struct sync_ops *ops)
{
	lock_init(&s->lock);
	s->awaited.ops = ops;
	list_init(&s->waiting[0]);
	list_init(&s->waiting[1]);
}

void
weir__sync_fini(struct sync *s)
{
	/* Who let the last one go may still be about to give it back, or to take it. */
	lock_acquire_last(&s->lock);
	WEIR_ASSERT(!sync_awaited(s, 0) && !sync_awaited(s, 1),
		    "fini: nobody may wait any more");
	lock_release(&s->lock);
}

/* Y1. With the lock. */
static struct weir_waker *
release(struct wait *w)
{
	uint64_t waiter = atomic_u64_load(&w->waiter, RELAXED);

	list_remove(&w->link);
	/*
	 * [sync:A1] our last touch: without it the task could read its outcome,
	 * or what it was given, as they were before, or free the wait under us.
	 */
	atomic_u64_store(&w->waiter, waiter | WAIT_OVER, RELEASE);
	return (struct weir_waker *)(uintptr_t)waiter;
}

/*
 * The waker of one in front who is given something, or NULL: there is none (Y2).
 * With the lock.
 */
static struct weir_waker *
grant_next(struct sync *s)
{
	struct list_link *line;
	struct wait *w;

	for (line = s->waiting; line < s->waiting + 2; line++) {
		if (list_empty(line))
			continue;
		w = wait_of_link(line->next);
		if (s->awaited.ops->grant(s, w))
			return release(w);
	}
	return NULL;
}

static bool
is_awaited(const struct sync *s)
{
	return sync_awaited(s, 0) || sync_awaited(s, 1);
}

/* One has been given something, and has left others behind. */
static __rte_noinline void
settle_batches(struct sync *s, struct weir_waker *first)
{
	struct weir_waker *wakers[SYNC_BATCH] = { first };
	unsigned int n = 1, i;
	bool more;

	do {
		/* What one side was given may be what the other waits for. */
		for (; n < SYNC_BATCH; n++) {
			wakers[n] = grant_next(s);
			if (wakers[n] == NULL)
				break;
		}
		/*
		 * When nobody waits, *s may be gone as soon as the lock is free;
		 * else those in line may go by another way meanwhile, and its end
		 * waits for us.
		 */
		more = n == SYNC_BATCH && is_awaited(s);
		if (more)
			lock_leave(&s->lock);
		else
			lock_release(&s->lock);
		for (i = 0; i < n; i++)
			weir_waker_wake(wakers[i]);
		n = 0;
		if (more)
			lock_return(&s->lock);
	} while (more);
}

void
weir__sync_settle_lines(struct sync *s)
{
	struct weir_waker *waker = grant_next(s);

	if (unlikely(waker != NULL && is_awaited(s))) {
		settle_batches(s, waker);
		return;
	}
	lock_release(&s->lock);
	if (waker != NULL)
		weir_waker_wake(waker);
}

/* With the lock. */
static void
join_line(struct list_link *line, struct wait *w, struct weir_waker *waker,
	  unsigned int side)
{
	w->rc = 0;
	w->side = (uint8_t)side;
	atomic_u64_store(&w->waiter, (uintptr_t)waker, RELAXED);
	list_push_back(line, &w->link);
}

static void
unlock(struct sync *s)
{
	lock_release(&s->lock);
}

static void
settle(struct sync *s)
{
	sync_settle(s);
}

static __rte_noinline int
block(struct sync *s, struct list_link *line, unsigned int side, void *place,
      uint32_t n, void (*leave)(struct sync *s))
{
	struct wait w = { .place = place, .n = n };
	struct thread_parker parker;

	parker_init(&parker);
	join_line(line, &w, weir__waker_of_parker(&parker), side);
	leave(s);
	/* It is unparked once, by whoever took the wait out of the line. */
	parker_park(&parker);
	parker_fini(&parker);
	return w.rc;
}

static inline int
join(struct weir_context *ctx, struct sync *s, struct weir_wait *wait,
     struct list_link *line, unsigned int side, void *place, uint32_t n,
     void (*leave)(struct sync *s))
{
	struct wait *w = wait_of(wait);

	if (ctx == NULL)
		return block(s, line, side, place, n, leave);
	w->awaited = &s->awaited;
	w->tried = 0;
	w->place = place;
	w->n = n;
	join_line(line, w, context_waker(ctx), side);
	leave(s);
	return WEIR_PENDING;
}

int
weir__wait_join(struct weir_context *ctx, struct sync *s,
		struct weir_wait *wait, unsigned int side, void *place,
		uint32_t n)
{
	return join(ctx, s, wait, &s->waiting[side], side, place, n, unlock);
}

int
weir__wait_join_beside(struct weir_context *ctx, struct sync *s,
		       struct weir_wait *wait, struct list_link *line,
		       unsigned int side, void *place, uint32_t n)
{
	return join(ctx, s, wait, line, side, place, n, settle);
}

static void
leave_line(struct sync *s, struct wait *w)
{
	const struct sync_ops *ops = s->awaited.ops;
	struct weir_waker *waker = NULL;
	bool granted;

	lock_acquire(&s->lock);
	granted = atomic_u64_load(&w->waiter, RELAXED) & WAIT_OVER;
	if (!granted)
		waker = release(w);
	if (ops->give_up != NULL && (!granted || w->rc >= 0))
		ops->give_up(s, w, granted);
	sync_settle(s);
	weir_waker_drop(waker);
}

void
weir_wait_cancel(struct weir_wait *wait)
{
	struct wait *w = wait_of(wait);
	struct awaited *a = w->awaited;

	w->tried = 0;
	if (a == NULL)
		return;
	w->awaited = NULL;
	if (a->ops->cancel != NULL)
		a->ops->cancel(a, w);
	else
		leave_line((struct sync *)a, w);
}
