/* SPDX-License-Identifier: BSD-3-Clause */

/* Sending. See channel.c. */

#include <errno.h>

#include "base/prefetch.h"
#include "sync/channel.h"

/*
 * A line of pointers or numbers is fetched so many before they are written: receivers
 * had it last. Smaller: it comes late. Larger: they may not be through with it.
 */
#ifndef CHANNEL_FETCH_AHEAD
#define CHANNEL_FETCH_AHEAD 32u
#endif

/* Into the last block, in which there is room, behind `sent`. With the lock. */
static __rte_always_inline void
push(struct channel *c, uint64_t sent, const void *values, uint32_t n,
     uint32_t size)
{
	uint32_t m = stretch(c, sent, n);
	const uint8_t *from = values;

	copy(place(c, c->last, sent, size), from, m, size);
	if (unlikely(m < n))
		copy(c->last->values, from + (size_t)m * size, n - m, size);
	/* [channel:A1] */
	atomic_u64_store(&c->sent, sent + n, RELEASE);
}

/* What was received apart. With the lock. */
static void
see_received(struct channel *c)
{
	/* [channel:A2] */
	if (is_apart(c))
		atomic_u64_store(&c->received,
				 atomic_u64_load(&c->taken, ACQUIRE), RELAXED);
}

/* Behind the last one, which is full. With the lock. */
static void
add_block(struct channel *c, struct block *b)
{
	b->next = NULL;
	b->begin = atomic_u64_load(&c->sent, RELAXED);
	c->last->next = b;
	c->last = b;
}

/* The places of n values for a sender. With the lock. */
static uint32_t
share_places(struct channel *c, int promised, uint32_t n)
{
	uint64_t there = at_hand(c, SENDERS);

	if (unlikely(there < n)) {
		see_received(c);
		there = at_hand(c, SENDERS);
	}
	return share(c, SENDERS, there, promised, n);
}

/* Uses the last block again if it is empty, else one that is left. With the lock. */
static bool
grow_by_what_is_there(struct channel *c)
{
	struct block *b;

	see_received(c);
	if (count_values(c, &c->received) == 0) {
		c->last->begin = atomic_u64_load(&c->sent, RELAXED);
		return true;
	}
	/* [channel:A4] */
	b = atomic_ptr_exchange(&c->spare, NULL, ACQUIRE);
	if (b == NULL)
		return false;
	add_block(c, b);
	return true;
}

/*
 * The last block is full: there is another, or it is empty again. 0 or -ENOMEM,
 * without the lock.
 */
static __rte_noinline int
grow(struct channel *c)
{
	struct block *b;

	if (grow_by_what_is_there(c))
		return 0;
	/* Y11 */
	lock_release(&c->sync.lock);
	b = weir__channel_alloc_block(c);
	lock_acquire(&c->sync.lock);
	/* Another was faster, or nobody wants it any more. */
	if (!is_behind(c, c->last, atomic_u64_load(&c->sent, RELAXED)) ||
	    c->closed) {
		lock_release(&c->sync.lock);
		sync_free(b);
		lock_acquire(&c->sync.lock);
		return 0;
	}
	if (b != NULL) {
		add_block(c, b);
		return 0;
	}
	/* Receivers may have gone on meanwhile. */
	if (grow_by_what_is_there(c))
		return 0;
	lock_release(&c->sync.lock);
	return -ENOMEM;
}

/*
 * Room in the last block for one value or more, up to n; 0: there was none, and
 * there is a new block now. Without memory -ENOMEM, without the lock.
 */
static int
make_room(struct channel *c, uint32_t n)
{
	const uint64_t sent = atomic_u64_load(&c->sent, RELAXED);

	if (c->last == &c->own)
		return (int)n;
	if (unlikely(is_behind(c, c->last, sent)))
		return grow(c);
	return (int)stretch(c, sent, n);
}

/*
 * With the lock, which is given back unless it returns -EAGAIN; else the number of
 * values, -EPIPE or -ENOMEM.
 */
static __rte_always_inline int
send_now(struct channel *c, const void *values, uint32_t n, int promised)
{
	uint32_t m;
	int room;

	do {
		if (unlikely(c->closed)) {
			sync_settle(&c->sync);
			return -EPIPE;
		}
		m = share_places(c, promised, n);
		if (m == 0)
			return -EAGAIN;
		room = make_room(c, m);
		if (unlikely(room < 0))
			return room;
	} while (room == 0);
	push(c, atomic_u64_load(&c->sent, RELAXED), values,
	     n == 1 ? 1 : (uint32_t)room, c->size);
	sync_settle(&c->sync);
	return room;
}

static __rte_always_inline int
send_values(struct weir_context *ctx, struct channel *c, const void *values,
	    uint32_t n, struct weir_wait *wait)
{
	int promised = wait_enter(ctx, &c->sync.awaited, wait), rc;

	if (unlikely(promised > 0))
		promised = weir__channel_go_on(c, SENDERS, wait);
	else if (likely(promised == 0))
		lock_acquire(&c->sync.lock);
	while (promised >= 0) {
		rc = send_now(c, values, n, promised);
		if (rc != -EAGAIN)
			return rc;
		if (is_apart(c)) {
			lock_release(&c->sync.lock);
			weir__channel_lock_together(c);
		} else {
			promised = weir__channel_wait(ctx, c, SENDERS, wait);
		}
	}
	return promised;
}

int
weir_send_burst(struct weir_context *ctx, struct weir_sender *sender,
		const void *values, uint32_t n, struct weir_wait *wait)
{
	if (unlikely(n == 0))
		return -EINVAL;
	n = RTE_MIN(n, (uint32_t)INT32_MAX);
	return send_values(ctx, channel_of(sender), values, n, wait);
}

int
weir_send_all(struct weir_context *ctx, struct weir_sender *sender,
	      const void *values, uint32_t n, uint32_t *sent,
	      struct weir_wait *wait)
{
	const struct channel *c = channel_of(sender);
	const uint8_t *from = values;
	int rc;

	while (*sent < n) {
		rc = weir_send_burst(ctx, sender,
				     from + (size_t)*sent * c->size, n - *sent,
				     wait);
		if (rc < 0)
			return rc;
		*sent += (uint32_t)rc;
	}
	return 0;
}

/*
 * Y54: is there room for pointers or numbers sent one by one, and nothing else to look
 * at? If so, the next ones know how far. With the lock.
 */
static __rte_always_inline bool
opens(struct channel *c, uint64_t sent)
{
	const uint64_t room = c->capacity - count_values(c, &c->received);

	if (c->size != sizeof(uint64_t) || c->closed || is_awaited(c) ||
	    room == 0 || is_behind(c, c->last, sent))
		return false;
	c->open_to =
		sent +
		(c->last == &c->own ? room : c->mask + 1 - (sent & c->mask));
	return true;
}

/* With the lock. */
static __rte_always_inline void
fetch_ahead(const struct channel *c, uint64_t sent)
{
	if (sent % (WEIR_CACHE_LINE / sizeof(uint64_t)) == 0)
		prefetch_to_write(place(c, c->last, sent + CHANNEL_FETCH_AHEAD,
					sizeof(uint64_t)));
}

static __rte_always_inline bool
send_alone(struct weir_context *ctx, struct channel *c, const void *value,
	   const struct weir_wait *wait)
{
	uint64_t sent;
	bool room;

	if (!is_alone(ctx, wait) || unlikely(!lock_take(&c->sync.lock)))
		return false;
	sent = atomic_u64_load(&c->sent, RELAXED);
	room = sent < c->open_to || opens(c, sent);
	if (likely(room)) {
		ctx->budget--;
		fetch_ahead(c, sent);
		push(c, sent, value, 1, sizeof(uint64_t));
	}
	lock_release(&c->sync.lock);
	return room;
}

static __rte_noinline int
send_one(struct weir_context *ctx, struct channel *c, const void *value,
	 struct weir_wait *wait)
{
	int rc = send_values(ctx, c, value, 1, wait);

	return RTE_MIN(rc, 0);
}

int
weir_send(struct weir_context *ctx, struct weir_sender *sender,
	  const void *value, struct weir_wait *wait)
{
	struct channel *c = channel_of(sender);

	wait_check(ctx, wait);
	if (likely(send_alone(ctx, c, value, wait)))
		return 0;
	return send_one(ctx, c, value, wait);
}

static __rte_always_inline int
try_send(struct channel *c, const void *values, uint32_t n)
{
	int rc;

	lock_acquire(&c->sync.lock);
	rc = send_now(c, values, n, 0);
	if (rc == -EAGAIN)
		lock_release(&c->sync.lock);
	return rc;
}

int
weir_try_send_burst(struct weir_sender *sender, const void *values, uint32_t n)
{
	struct channel *c = channel_of(sender);
	const uint8_t *from = values;
	uint32_t sent = 0;
	int rc;

	if (unlikely(n == 0))
		return -EINVAL;
	n = RTE_MIN(n, (uint32_t)INT32_MAX);
	/* Without a capacity, up to the end of a block each time. */
	do {
		rc = try_send(c, from + (size_t)sent * c->size, n - sent);
		if (unlikely(rc < 0))
			return sent > 0 ? (int)sent : rc;
		sent += (uint32_t)rc;
	} while (sent < n && c->capacity == WEIR_CHANNEL_UNBOUNDED);
	return (int)sent;
}

int
weir_try_send(struct weir_sender *sender, const void *value)
{
	int rc = try_send(channel_of(sender), value, 1);

	return RTE_MIN(rc, 0);
}
