/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The timers of a worker: a wheel, and a lock around it for those tasks that
 * have gone on to another worker since.
 *
 * The wheel is the worker's that the task was polled on when it began to wait.
 * Its own worker takes the lock uncontended; others take it to cancel, and to
 * fire the timers of one that is stuck.
 *
 * Invariants:
 * T1 A timer is in the wheel if and only if its `in` says so; both change under
 *    the wheel's lock. Moving takes both wheels' locks.
 * T2 Whoever takes a timer out takes its waiter first, and does not touch it
 *    after `in` is NULL: the task may free it then.
 * T3 `due` is not after the first timer's tick, so a worker that looks at it
 *    before it waits is late for none.
 * T4 Who fires wakes TIMERS_MOST at once: it has sources to poll, and what it has woken
 *    to run. Of more that are due, `due` says so.
 * T5 A task that finds its timer in, and then itself to be the waiter, will be woken for
 *    it: whoever takes the waiter out wakes it next, and the turn that this leads to
 *    finds neither.
 */

#include "time/timers.h"

void
weir__timers_init(struct timers *ts, const struct clock *clock)
{
	unsigned int i;

	atomic_u64_store(&ts->due, WHEEL_NEVER, RELAXED);
	for (i = 0; i < TIMERS_NEXT; i++)
		atomic_ptr_store(&ts->next[i], NULL, RELAXED);
	ts->clock = clock;
	lock_init(&ts->lock);
	weir__wheel_init(&ts->wheel, 0);
}

/* T3. With the lock. */
static void
tell_due(struct timers *ts)
{
	uint64_t next = wheel_next(&ts->wheel);

	if (next != WHEEL_NEVER)
		next <<= ts->clock->tick_shift;
	atomic_u64_store(&ts->due, next, RELAXED);
}

static struct weir_waker *
waiter_of(const struct timer *t)
{
	return atomic_ptr_load(&t->waiter, RELAXED);
}

/* T2. With the lock. */
static struct weir_waker *
release(struct timer *t)
{
	struct weir_waker *w = waiter_of(t);

	atomic_ptr_store(&t->waiter, NULL, RELAXED);
	/* [timer:A1] our last touch. */
	atomic_ptr_store(&t->in, NULL, RELEASE);
	return w;
}

static struct timer *
timer_of(struct wheel_timer *w)
{
	return container_of(w, struct timer, wheel);
}

/* For timers_fetch(). With the lock. */
static void
note_next(struct timers *ts)
{
	const struct wheel_timer *due = weir__wheel_peek(&ts->wheel);
	const struct timer *t;
	const void *next[TIMERS_NEXT];
	unsigned int i;

	if (due == NULL)
		return;
	t = container_of(due, const struct timer, wheel);
	next[0] = waiter_of(t);
	next[1] = t + 1; /* in the task's state */
	next[2] = weir__wheel_peek_down(&ts->wheel);
	for (i = 0; i < TIMERS_NEXT; i++)
		atomic_ptr_store(&ts->next[i], (void *)(uintptr_t)next[i],
				 RELAXED);
}

unsigned int
weir__timers_fire(struct timers *ts, uint64_t now)
{
	uint64_t tick = now >> ts->clock->tick_shift;
	struct weir_waker *waiters[TIMERS_BATCH];
	unsigned int n, i, fired = 0;
	struct wheel_timer *w;

	do {
		lock_acquire(&ts->lock);
		for (n = 0; n < TIMERS_BATCH; n++) {
			w = wheel_advance(&ts->wheel, tick);
			if (w == NULL)
				break;
			waiters[n] = release(timer_of(w));
			/*
			 * Of the first, timers_fetch() has done so. The timer's
			 * memory may be another's by then, and is not looked at.
			 */
			prefetch_to_write(waiters[n]);
			prefetch_to_write(timer_of(w) + 1);
		}
		tell_due(ts);
		note_next(ts);
		lock_release(&ts->lock);
		for (i = 0; i < n; i++)
			weir_waker_wake(waiters[i]);
		fired += n;
	} while (n == TIMERS_BATCH && fired < TIMERS_MOST);
	return fired;
}

void
weir__timer_arm(struct timers *ts, struct timer *t, uint64_t now, uint64_t due,
		struct weir_waker *waiter)
{
	atomic_ptr_store(&t->waiter, waiter, RELAXED);
	lock_acquire(&ts->lock);
	wheel_catch_up(&ts->wheel, now);
	weir__wheel_insert(&ts->wheel, &t->wheel, due);
	atomic_ptr_store(&t->in, ts, RELAXED);
	tell_due(ts);
	lock_release(&ts->lock);
}

/* Locks where the timer is; NULL if it is nowhere. */
static struct timers *
lock_of(struct timer *t)
{
	struct timers *ts;

	/* [timer:A1] */
	while ((ts = atomic_ptr_load(&t->in, ACQUIRE)) != NULL) {
		lock_acquire(&ts->lock);
		if (atomic_ptr_load(&t->in, RELAXED) == ts)
			return ts;
		/* It moved meanwhile, or its time came. */
		lock_release(&ts->lock);
	}
	return NULL;
}

bool
weir__timer_watch(struct timer *t, struct weir_context *ctx)
{
	struct weir_waker *old;
	struct timers *ts;

	/* T5 */
	if (likely(weir__waker_same(waiter_of(t), context_task(ctx))))
		return true;
	ts = lock_of(t);
	if (ts == NULL)
		return false;
	old = waiter_of(t);
	atomic_ptr_store(&t->waiter, context_waker(ctx), RELAXED);
	lock_release(&ts->lock);
	weir_waker_drop(old);
	return true;
}

void
weir__timer_cancel(struct timer *t)
{
	struct timers *ts = lock_of(t);
	struct weir_waker *waiter;

	if (ts == NULL)
		return;
	weir__wheel_remove(&ts->wheel, &t->wheel);
	/* Not fired: tick 0 is the only one that needs no timer. */
	t->wheel.due = 0;
	waiter = release(t);
	lock_release(&ts->lock);
	weir_waker_drop(waiter);
}

void
weir__timers_move(struct timers *from, struct timers *to)
{
	struct timers *first = from < to ? from : to;
	struct timers *second = from < to ? to : from;
	struct wheel_timer *w;

	lock_acquire(&first->lock);
	lock_acquire(&second->lock);
	while ((w = weir__wheel_take(&from->wheel)) != NULL) {
		/* `due` stays, which its task may look at. */
		weir__wheel_put_back(&to->wheel, w);
		atomic_ptr_store(&timer_of(w)->in, to, RELAXED);
	}
	tell_due(from);
	tell_due(to);
	lock_release(&second->lock);
	lock_release(&first->lock);
}
