/* SPDX-License-Identifier: BSD-3-Clause */

/* Receiving. See channel.c. */

#include <errno.h>

#include <rte_cycles.h>

#include "base/cycles.h"
#include "sync/channel.h"

/*
 * To wake a receiver on another worker takes both as long as some dozen values do.
 * Where these come faster than wake-ups, a receiver that waits a moment has them
 * all at once, and the senders the channel for themselves, as with a NIC that
 * moderates its interrupts. Smaller: fewer values at a time. Larger: those that
 * come at the end of a burst wait longer.
 */
#ifndef CHANNEL_PAUSE_US
#define CHANNEL_PAUSE_US 2u
#endif

/* So many are worth a pause. */
#ifndef CHANNEL_QUICK_VALUES
#define CHANNEL_QUICK_VALUES 4u
#endif

/*
 * So many at once that the two sides part. Smaller: a receiver that empties the
 * channel each time takes two locks more for few values.
 */
#ifndef CHANNEL_APART_VALUES
#define CHANNEL_APART_VALUES 8u
#endif

/* Y52. With the channel's lock, with which nothing of the receivers' is touched then. */
static void
part(struct channel *c)
{
	if (is_awaited(c))
		return;
	atomic_u64_store(&c->taken, atomic_u64_load(&c->received, RELAXED),
			 RELAXED);
	c->seen = atomic_u64_load(&c->sent, RELAXED);
	/*
	 * [channel:A3] what receivers have written: the next has another lock than
	 * the last one had.
	 */
	set_mode(c, MODE_APART, RELEASE);
}

/* Takes the lock that receivers have now. */
static inline void
lock_receivers(struct channel *c)
{
	struct lock *l;
	bool apart;

	for (;;) {
		apart = is_apart(c);
		l = apart ? &c->taking : &c->sync.lock;
		lock_acquire(l);
		/* [channel:A3] */
		if (likely((atomic_u32_load(&c->mode, ACQUIRE) & MODE_APART) ==
			   (apart ? MODE_APART : 0)))
			return;
		lock_release(l);
	}
}

static inline void
unlock_receivers(struct channel *c)
{
	lock_release(is_apart(c) ? &c->taking : &c->sync.lock);
}

/* The first block is used up, and is left for the next that is needed. */
static __rte_noinline void
next_block(struct channel *c, struct block **old)
{
	struct block *b = c->first;

	c->first = b->next;
	/* [channel:A4] what was in it has been read. */
	b = atomic_ptr_exchange(&c->spare, b, RELEASE);
	if (b != NULL) {
		b->next = *old;
		*old = b;
	}
}

/*
 * As many as are wanted and there. Blocks that nobody needs then are put before
 * `old`. With the receivers' lock.
 */
static __rte_always_inline void
pop(struct channel *c, struct atomic_u64 *received, void *values, uint32_t n,
    uint32_t size, struct block **old)
{
	uint64_t number = atomic_u64_load(received, RELAXED);
	uint32_t left = n, m;
	uint8_t *to = values;

	for (; left > 0; left -= m, number += m, to += (size_t)m * size) {
		if (is_behind(c, c->first, number))
			next_block(c, old);
		m = stretch(c, number, left);
		copy(to, place(c, c->first, number, size), m, size);
	}
	/*
	 * [channel:A2] they have been copied: apart a sender has not the lock with
	 * which that was done, and puts others into their places.
	 */
	atomic_u64_store(received, number, RELEASE);
}

void
weir__channel_drop_values(struct channel *c)
{
	uint8_t value[WEIR_CHANNEL_SIZE_MAX] __attribute__((aligned(16)));
	struct block *old = NULL;

	lock_acquire(&c->sync.lock);
	while (count_values(c, &c->received) > 0) {
		pop(c, &c->received, value, 1, c->size, &old);
		lock_release(&c->sync.lock);
		if (c->drop != NULL)
			c->drop(value);
		lock_acquire(&c->sync.lock);
	}
	lock_release(&c->sync.lock);
	weir__channel_free_blocks(old);
}

/* Y50: does it pause no more? */
static inline bool
has_paused(const struct wait *w)
{
	return (w->tried & WAIT_PAUSED) != 0 && rte_rdtsc() >= w->pause_end;
}

static void
pause_until(struct wait *w, uint64_t end)
{
	w->pause_end = end;
	w->tried |= WAIT_PAUSED;
}

/* Y50: is a task that found nothing to look again? With the receivers' lock. */
static bool
pause_begins(struct channel *c, struct wait *w)
{
	if (!has_mode(c, MODE_QUICK) || sync_awaited(&c->sync, RECEIVERS))
		return false;
	if (atomic_u32_load(&c->pausing, RELAXED) != 0) {
		/* In vain. */
		atomic_u32_store(&c->pausing, 0, RELAXED);
		clear_mode(c, MODE_QUICK);
		return false;
	}
	/* Another has found something meanwhile: its own pause is the only one. */
	if ((w->tried & WAIT_PAUSED) != 0)
		return !has_paused(w);
	pause_until(w, rte_rdtsc() + cycles_of_us(CHANNEL_PAUSE_US));
	atomic_u64_store(&c->pause_end, w->pause_end, RELAXED);
	atomic_u32_store(&c->pausing, 1, RELAXED);
	return true;
}

/*
 * Its own pause, or for once that of another. Without the lock, and in no order with
 * it: a pause that is seen late ends early, and whoever looks then does so with the
 * lock.
 */
static bool
pause_goes_on(const struct channel *c, struct wait *w)
{
	const uint64_t end = atomic_u64_load(&c->pause_end, RELAXED);

	if ((w->tried & WAIT_PAUSED) != 0)
		return !has_paused(w);
	if (rte_rdtsc() >= end)
		return false;
	pause_until(w, end);
	return true;
}

/*
 * What a receiver finds says whether to pause next time: not where half of the
 * places were taken meanwhile. With the receivers' lock.
 */
static void
note_found(struct channel *c, int promised, uint64_t n)
{
	if (atomic_u32_load(&c->pausing, RELAXED) != 0)
		atomic_u32_store(&c->pausing, 0, RELAXED);
	else if (promised > 0 && n >= CHANNEL_QUICK_VALUES)
		set_mode(c, MODE_QUICK, RELAXED);
	else if (promised > 0)
		clear_mode(c, MODE_QUICK);
	if (c->capacity - n < n)
		clear_mode(c, MODE_QUICK);
}

/* Y50: has a task taken what it saw, and is to pause? With the receivers' lock. */
static inline bool
is_to_pause(const struct channel *c, const struct wait *w)
{
	return is_apart(c) && has_mode(c, MODE_QUICK) &&
	       atomic_u32_load(&c->pausing, RELAXED) == 0 &&
	       c->seen == atomic_u64_load(&c->taken, RELAXED) && !has_paused(w);
}

/*
 * How many values a receiver may take. *looked: that is what there is now; apart that
 * is asked when fewer than `enough` are left of those that were there before. With the
 * receivers' lock.
 */
static __rte_always_inline uint64_t
values_at_hand(struct channel *c, uint32_t enough, bool *looked)
{
	uint64_t taken;

	*looked = true;
	if (!is_apart(c))
		return at_hand(c, RECEIVERS);
	taken = atomic_u64_load(&c->taken, RELAXED);
	*looked = c->seen - taken < enough;
	if (*looked)
		/* [channel:A1] */
		c->seen = atomic_u64_load(&c->sent, ACQUIRE);
	return c->seen - taken;
}

/*
 * With the receivers' lock, which is given back if it returns anything but -EAGAIN:
 * the number of values, or -EPIPE. Fewer than `enough`: there are no more. Apart it
 * does not look whether all have ended.
 */
static __rte_always_inline int
recv_now(struct channel *c, void *values, uint32_t n, uint32_t enough,
	 int promised)
{
	bool looked;
	const uint64_t there = values_at_hand(c, enough, &looked);
	struct block *old = NULL;
	uint32_t m = share(c, RECEIVERS, there, promised, n);

	if (m == 0) {
		if (is_apart(c) || !has_ended(c))
			return -EAGAIN;
		lock_release(&c->sync.lock);
		return -EPIPE;
	}
	if (looked && unlikely(promised > 0 || has_mode(c, MODE_QUICK)))
		note_found(c, promised, there);
	pop(c, received_at(c), values, m, c->size, &old);
	if (is_apart(c)) {
		lock_release(&c->taking);
	} else {
		if (there >= CHANNEL_APART_VALUES)
			part(c);
		sync_settle(&c->sync);
	}
	if (unlikely(old != NULL))
		weir__channel_free_blocks(old);
	return (int)m;
}

static __rte_always_inline int
recv_values(struct weir_context *ctx, struct channel *c, void *values,
	    uint32_t n, struct weir_wait *wait)
{
	struct wait *w = (struct wait *)wait;
	int promised, rc;

	if (unlikely(atomic_u32_load(&c->pausing, RELAXED) != 0) &&
	    ctx != NULL && wait_is_idle(wait) && pause_goes_on(c, w))
		return context_look_again(ctx);
	promised = wait_enter(ctx, &c->sync.awaited, wait);
	if (unlikely(promised > 0))
		promised = weir__channel_go_on(c, RECEIVERS, wait);
	else if (likely(promised == 0))
		lock_receivers(c);
	while (promised >= 0) {
		rc = ctx != NULL && is_to_pause(c, w) ?
			     -EAGAIN :
			     recv_now(c, values, n, 1, promised);
		if (rc != -EAGAIN)
			return wait_over(wait, rc);
		if (ctx != NULL && pause_begins(c, w)) {
			unlock_receivers(c);
			return context_look_again(ctx);
		}
		if (is_apart(c))
			weir__channel_come_together(c);
		else
			promised = weir__channel_wait(ctx, c, RECEIVERS, wait);
	}
	return promised;
}

/*
 * Y51: does a receiver, who would find nothing, let others run first? Without the
 * lock: what has just come is seen when it looks again. Not so a sender, who fills
 * many places each time.
 */
static __rte_always_inline bool
looks_later(struct weir_context *ctx, struct channel *c, struct weir_wait *wait)
{
	return ctx != NULL && context_next(ctx) != NULL && wait_is_idle(wait) &&
	       count_values(c, received_at(c)) == 0 &&
	       wait_looks_again(ctx, wait);
}

static __rte_always_inline bool
recv_alone(struct weir_context *ctx, struct channel *c, void *value,
	   struct weir_wait *wait)
{
	uint64_t number, there;
	bool found;

	if (!is_alone(ctx, wait) || unlikely(c->size != sizeof(uint64_t)) ||
	    unlikely(has_mode(c, MODE_APART | MODE_QUICK)) ||
	    unlikely(!lock_take(&c->sync.lock)))
		return false;
	number = atomic_u64_load(&c->received, RELAXED);
	there = count_values(c, &c->received);
	found = !is_awaited(c) && !has_mode(c, MODE_APART | MODE_QUICK) &&
		there - 1 < CHANNEL_APART_VALUES - 1 &&
		!is_behind(c, c->first, number);
	if (likely(found)) {
		ctx->budget--;
		wait_over(wait, 0);
		sync_copy(value, place(c, c->first, number, sizeof(uint64_t)),
			  sizeof(uint64_t));
		/* Together a sender has the lock, too. */
		atomic_u64_store(&c->received, number + 1, RELAXED);
	}
	lock_release(&c->sync.lock);
	return found;
}

static __rte_noinline int
recv_one(struct weir_context *ctx, struct channel *c, void *value,
	 struct weir_wait *wait)
{
	int rc = recv_values(ctx, c, value, 1, wait);

	return RTE_MIN(rc, 0);
}

int
weir_recv_burst(struct weir_context *ctx, struct weir_receiver *receiver,
		void *values, uint32_t n, struct weir_wait *wait)
{
	if (unlikely(n == 0))
		return -EINVAL;
	wait_check(ctx, wait);
	if (looks_later(ctx, channel_of(receiver), wait))
		return context_look_behind_next(ctx);
	n = RTE_MIN(n, (uint32_t)INT32_MAX);
	return recv_values(ctx, channel_of(receiver), values, n, wait);
}

int
weir_recv(struct weir_context *ctx, struct weir_receiver *receiver, void *value,
	  struct weir_wait *wait)
{
	struct channel *c = channel_of(receiver);

	wait_check(ctx, wait);
	if (looks_later(ctx, c, wait))
		return context_look_behind_next(ctx);
	if (likely(recv_alone(ctx, c, value, wait)))
		return 0;
	return recv_one(ctx, c, value, wait);
}

static int
try_recv(struct channel *c, void *values, uint32_t n)
{
	int rc;

	lock_receivers(c);
	rc = recv_now(c, values, n, n, 0);
	if (rc == -EAGAIN && is_apart(c)) {
		weir__channel_come_together(c);
		rc = recv_now(c, values, n, n, 0);
	}
	if (rc == -EAGAIN)
		lock_release(&c->sync.lock);
	return rc;
}

int
weir_try_recv_burst(struct weir_receiver *receiver, void *values, uint32_t n)
{
	if (unlikely(n == 0))
		return -EINVAL;
	n = RTE_MIN(n, (uint32_t)INT32_MAX);
	return try_recv(channel_of(receiver), values, n);
}

int
weir_try_recv(struct weir_receiver *receiver, void *value)
{
	int rc = try_recv(channel_of(receiver), value, 1);

	return RTE_MIN(rc, 0);
}
