/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Channels.
 *
 * The values lie in blocks, each of which is a ring: one of the channel's
 * capacity, which lies behind it, or a list of them that grows. A waiter in
 * front is not given a value or its place but the right to one, which it uses
 * when it comes back: so a value is always with its sender, in a block, or with
 * its receiver, and whoever gives up gives the right to the next.
 *
 * Invariants:
 * Y8  Places: those at hand + those promised to senders + values in blocks =
 *     capacity. Values: those at hand + those promised to receivers = values in
 *     blocks.
 * Y9  Values leave the blocks in the order in which they came.
 * Y10 After close, or with the last receiver, nothing comes into a block; what
 *     is in them then is received or dropped, once.
 * Y11 Memory is got and given back without the lock.
 * Y50 A task that finds the channel empty, and found many values when it was
 *     woken last, yields and looks again CHANNEL_PAUSE_US later, once, before it waits in
 *     line. Meanwhile it is in no line, as one that was not there yet: nobody is
 *     to wake it, and none of the values is promised to it.
 */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "base/cycles.h"
#include "sync/memory.h"
#include "sync/wait.h"
#include "sync/weir_channel.h"

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

enum side {
	SENDERS,
	RECEIVERS,
};

/*
 * Values in a block of an unbounded channel. Smaller: memory is got more often.
 * Larger: an empty channel takes more.
 */
#ifndef CHANNEL_BLOCK_SIZE
#define CHANNEL_BLOCK_SIZE 256
#endif

struct block {
	struct block *next;
	uint32_t first, n; /* values */
	uint8_t values[] __attribute__((aligned(16)));
};

struct channel {
	/* Written by each call, as is what lies in the block. */
	struct sync sync;
	/* Places, values: promised to nobody. Read by others without the lock. */
	struct atomic_u64 at_hand[2];

	/* Read by each call; written where somebody waits, comes or goes. */
	/* Receivers take from the first, senders fill the last. */
	struct block *first, *last;
	uint32_t size;
	uint32_t room; /* values in a block */
	size_t promised[2];
	uint32_t ends[2];	   /* senders and receivers */
	struct atomic_u32 pausing; /* a receiver (Y50) */
	bool closed;
	bool quick;
	void (*drop)(void *value);

	struct atomic_u64 pause_end weir_cache_aligned; /* TSC */
	uint32_t refs; /* of those who are not done with the memory */

	/* The only one, if there is a capacity. */
	struct block own weir_cache_aligned;
};

static_assert(offsetof(struct channel, first) == WEIR_CACHE_LINE &&
		      offsetof(struct channel, pause_end) ==
			      2 * WEIR_CACHE_LINE,
	      "what each call writes is not where it only reads");

static struct channel *
channel_of(const void *end)
{
	return (struct channel *)(uintptr_t)end;
}

static struct block *
alloc_block(const struct channel *c)
{
	return sync_alloc("weir_channel",
			  sizeof(struct block) + (size_t)c->room * c->size);
}

static void
free_blocks(struct block *b)
{
	struct block *next;

	for (; b != NULL; b = next) {
		next = b->next;
		sync_free(b);
	}
}

static void
free_channel(struct channel *c)
{
	if (c->first != &c->own)
		free_blocks(c->first);
	sync_free(c);
}

static inline uint64_t
at_hand(const struct channel *c, enum side side)
{
	return atomic_u64_load(&c->at_hand[side], RELAXED);
}

/* With the lock. */
static inline void
add_at_hand(struct channel *c, enum side side, uint64_t n)
{
	atomic_u64_add_owner(&c->at_hand[side], n);
}

/* Nothing comes any more. */
static bool
is_ended(const struct channel *c)
{
	return c->closed || c->ends[SENDERS] == 0;
}

/* What is at hand is promised to one of that side, or taken back for it to take. */
static void
promise(struct channel *c, enum side side)
{
	add_at_hand(c, side, (uint64_t)-1);
	c->promised[side]++;
}

static void
take_back(struct channel *c, enum side side)
{
	add_at_hand(c, side, 1);
	c->promised[side]--;
}

static bool
grant(struct sync *s, struct wait *w)
{
	struct channel *c = (struct channel *)s;
	bool ended = w->side == SENDERS ? c->closed : is_ended(c);

	if (at_hand(c, w->side) > 0 && !(w->side == SENDERS && ended)) {
		promise(c, w->side);
		return true;
	}
	if (ended)
		w->rc = -EPIPE;
	return ended;
}

static void
give_up(struct sync *s, struct wait *w, bool granted)
{
	if (granted)
		take_back((struct channel *)s, w->side);
}

static const struct sync_ops ops = {
	.grant = grant,
	.give_up = give_up,
};

int
weir_channel_create(size_t capacity, size_t size, void (*drop)(void *value),
		    struct weir_sender **sender,
		    struct weir_receiver **receiver)
{
	bool bounded = capacity != WEIR_CHANNEL_UNBOUNDED;
	struct channel *c;

	if (capacity == 0 ||
	    (bounded && capacity > WEIR_CHANNEL_CAPACITY_MAX) || size == 0 ||
	    size > WEIR_CHANNEL_SIZE_MAX)
		return -EINVAL;
	c = sync_alloc("weir_channel",
		       sizeof(*c) + (bounded ? capacity * size : 0));
	if (c == NULL)
		return -ENOMEM;
	weir__sync_init(&c->sync, &ops);
	atomic_u64_store(&c->at_hand[SENDERS], capacity, RELAXED);
	c->size = (uint32_t)size;
	c->room = bounded ? (uint32_t)capacity : CHANNEL_BLOCK_SIZE;
	c->drop = drop;
	c->ends[SENDERS] = 1;
	c->ends[RECEIVERS] = 1;
	c->refs = 2;
	c->first = bounded ? &c->own : alloc_block(c);
	c->last = c->first;
	if (c->first == NULL) {
		sync_free(c);
		return -ENOMEM;
	}
	*sender = (struct weir_sender *)c;
	*receiver = (struct weir_receiver *)c;
	return 0;
}

static void
add_end(struct channel *c, enum side side)
{
	lock_acquire(&c->sync.lock);
	c->ends[side]++;
	c->refs++;
	lock_release(&c->sync.lock);
}

struct weir_sender *
weir_sender_clone(struct weir_sender *sender)
{
	add_end(channel_of(sender), SENDERS);
	return sender;
}

struct weir_receiver *
weir_receiver_clone(struct weir_receiver *receiver)
{
	add_end(channel_of(receiver), RECEIVERS);
	return receiver;
}

/*
 * How many of n values lie, or have room, one behind the other from a place in a
 * block's ring on; behind the last one comes the first. Of one all do.
 */
static inline uint32_t
stretch(const struct channel *c, uint32_t at, uint32_t n)
{
	return n == 1 ? 1 : RTE_MIN(n, c->room - at);
}

static uint8_t *
place(struct block *b, uint32_t at, uint32_t size)
{
	return b->values + (size_t)at * size;
}

static inline void
copy(void *to, const void *from, uint32_t n, uint32_t size)
{
	if (likely(n == 1))
		sync_copy(to, from, size);
	else
		memcpy(to, from, (size_t)n * size);
}

/*
 * Into the last block, in which there is room. With the lock.
 *
 * The two counts change at either end of the copy, here and in pop(): side by
 * side a compiler makes one vector of them, whose load waits until a store to one
 * of the two has left the CPU.
 */
static __rte_always_inline void
push(struct channel *c, const void *values, uint32_t n, uint32_t size)
{
	const uint8_t *from = values;
	struct block *b = c->last;
	uint32_t at = b->first + b->n, m;

	if (at >= c->room)
		at -= c->room;
	m = stretch(c, at, n);
	add_at_hand(c, SENDERS, -(uint64_t)n);
	copy(place(b, at, size), from, m, size);
	if (unlikely(m < n))
		copy(b->values, from + (size_t)m * size, n - m, size);
	b->n += n;
	add_at_hand(c, RECEIVERS, n);
}

/*
 * As many as are wanted and there. Blocks that are empty then, but for the last,
 * are put before `old`. With the lock.
 */
static __rte_always_inline void
pop(struct channel *c, void *values, uint32_t n, uint32_t size,
    struct block **old)
{
	uint32_t left = n, m;
	uint8_t *to = values;
	struct block *b;

	add_at_hand(c, RECEIVERS, -(uint64_t)n);
	for (; left > 0; left -= m, to += (size_t)m * size) {
		while (unlikely(c->first->n == 0)) {
			b = c->first;
			c->first = b->next;
			b->next = *old;
			*old = b;
		}
		b = c->first;
		m = left == 1 ? 1 : stretch(c, b->first, RTE_MIN(left, b->n));
		copy(to, place(b, b->first, size), m, size);
		b->n -= m;
		b->first += m;
		if (b->first == c->room)
			b->first = 0;
	}
	add_at_hand(c, SENDERS, n);
}

/* Y10: nobody else comes to them any more. */
static void
drop_values(struct channel *c)
{
	uint8_t value[WEIR_CHANNEL_SIZE_MAX] __attribute__((aligned(16)));
	struct block *old = NULL;

	lock_acquire(&c->sync.lock);
	while (at_hand(c, RECEIVERS) > 0) {
		pop(c, value, 1, c->size, &old);
		lock_release(&c->sync.lock);
		if (c->drop != NULL)
			c->drop(value);
		lock_acquire(&c->sync.lock);
	}
	lock_release(&c->sync.lock);
	free_blocks(old);
}

static void
drop_end(struct channel *c, enum side side)
{
	bool last, gone;

	lock_acquire(&c->sync.lock);
	gone = --c->ends[side] == 0;
	if (gone && side == RECEIVERS)
		c->closed = true;
	sync_settle(&c->sync);
	if (gone && side == RECEIVERS)
		drop_values(c);
	lock_acquire(&c->sync.lock);
	last = --c->refs == 0;
	lock_release(&c->sync.lock);
	if (!last)
		return;
	weir__sync_fini(&c->sync);
	free_channel(c);
}

void
weir_sender_drop(struct weir_sender *sender)
{
	if (sender != NULL)
		drop_end(channel_of(sender), SENDERS);
}

void
weir_receiver_drop(struct weir_receiver *receiver)
{
	if (receiver != NULL)
		drop_end(channel_of(receiver), RECEIVERS);
}

void
weir_receiver_close(struct weir_receiver *receiver)
{
	struct channel *c = channel_of(receiver);

	lock_acquire(&c->sync.lock);
	c->closed = true;
	sync_settle(&c->sync);
}

/*
 * The shortest way, of a pointer or a number while nobody waits: no registers are
 * saved on it, since it makes no calls. False: nothing was done, and the call takes
 * the way that does for all. True: with the lock, in a channel where no line has to
 * be looked at, and with budget.
 */
static __rte_always_inline bool
enter_alone(struct weir_context *ctx, struct channel *c,
	    const struct weir_wait *wait)
{
	if (unlikely(ctx == NULL || !wait_is_idle(wait) ||
		     context_is_spent(ctx) || c->size != sizeof(uint64_t) ||
		     !lock_take(&c->sync.lock)))
		return false;
	if (likely(!sync_awaited(&c->sync, SENDERS) &&
		   !sync_awaited(&c->sync, RECEIVERS)))
		return true;
	lock_release(&c->sync.lock);
	return false;
}

/*
 * Begins a call with the lock: how many have been promised to it, which are
 * taken back here for it to take; or what to return.
 */
static __rte_always_inline int
enter(struct weir_context *ctx, struct channel *c, enum side side,
      struct weir_wait *wait)
{
	int rc;

	if (wait_begin(ctx, &c->sync, wait, &rc))
		return 0;
	if (rc < 0)
		return rc;
	lock_acquire(&c->sync.lock);
	take_back(c, side);
	return 1;
}

/*
 * Waits in line. 0 or an error is to be returned; 1: as from enter(), for a
 * plain thread.
 */
static int
wait_in_line(struct weir_context *ctx, struct channel *c, enum side side,
	     struct weir_wait *wait)
{
	int rc = weir__wait_join(ctx, &c->sync, wait, side, NULL, 0);

	if (rc < 0)
		return rc;
	lock_acquire(&c->sync.lock);
	take_back(c, side);
	return 1;
}

/* How many of n a call may take now, to which some were promised. */
static uint32_t
share(const struct channel *c, enum side side, int promised, uint32_t n)
{
	const bool awaited = sync_awaited(&c->sync, side);

	const uint64_t there = at_hand(c, side);

	if (there == 0 || (awaited && promised == 0))
		return 0;
	return awaited ? 1 : (uint32_t)RTE_MIN((uint64_t)n, there);
}

/*
 * Room in the last block for one value or more, up to n; 0: there was none, and
 * there is a new block now. Without memory -ENOMEM, without the lock.
 */
static int
make_room(struct channel *c, uint32_t n)
{
	uint32_t room = c->room - c->last->n;
	struct block *b;

	if (likely(room > 0))
		return (int)RTE_MIN(n, room);
	/* Y11 */
	lock_release(&c->sync.lock);
	b = alloc_block(c);
	if (b == NULL)
		return -ENOMEM;
	lock_acquire(&c->sync.lock);
	c->last->next = b;
	c->last = b;
	return 0;
}

/*
 * With the lock, which is given back if it returns anything but 0, the number of
 * values, or -EAGAIN.
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
		m = share(c, SENDERS, promised, n);
		if (m == 0)
			return -EAGAIN;
		room = make_room(c, m);
		if (unlikely(room < 0))
			return room;
	} while (room == 0);
	push(c, values, n == 1 ? 1 : (uint32_t)room, c->size);
	sync_settle(&c->sync);
	return room;
}

static __rte_always_inline int
send_values(struct weir_context *ctx, struct channel *c, const void *values,
	    uint32_t n, struct weir_wait *wait)
{
	int promised = enter(ctx, c, SENDERS, wait);
	int rc;

	while (promised >= 0) {
		rc = send_now(c, values, n, promised);
		if (rc != -EAGAIN)
			return rc;
		promised = wait_in_line(ctx, c, SENDERS, wait);
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

static __rte_always_inline bool
send_alone(struct weir_context *ctx, struct channel *c, const void *value,
	   const struct weir_wait *wait)
{
	bool room;

	if (!enter_alone(ctx, c, wait))
		return false;
	room = !c->closed && at_hand(c, SENDERS) > 0 && c->last->n < c->room;
	if (likely(room)) {
		ctx->budget--;
		push(c, value, 1, sizeof(uint64_t));
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

	if (likely(send_alone(ctx, c, value, wait)))
		return 0;
	return send_one(ctx, c, value, wait);
}

int
weir_try_send(struct weir_sender *sender, const void *value)
{
	struct channel *c = channel_of(sender);
	int rc;

	lock_acquire(&c->sync.lock);
	rc = send_now(c, value, 1, 0);
	if (rc == -EAGAIN)
		lock_release(&c->sync.lock);
	return RTE_MIN(rc, 0);
}

/* Is a task to look again later (Y50)? The channel is empty. With the lock. */
static bool
pause_begins(struct channel *c)
{
	if (!c->quick || sync_awaited(&c->sync, RECEIVERS))
		return false;
	if (atomic_u32_load(&c->pausing, RELAXED) != 0) {
		/* In vain. */
		atomic_u32_store(&c->pausing, 0, RELAXED);
		c->quick = false;
		return false;
	}
	atomic_u64_store(&c->pause_end,
			 rte_rdtsc() + cycles_of_us(CHANNEL_PAUSE_US), RELAXED);
	atomic_u32_store(&c->pausing, 1, RELAXED);
	return true;
}

/*
 * Without the lock, and in no order with it: a pause that is seen late ends early or
 * is joined once more, and whoever looks then does so with the lock.
 */
static bool
pause_goes_on(const struct channel *c)
{
	return unlikely(atomic_u32_load(&c->pausing, RELAXED) != 0) &&
	       rte_rdtsc() < atomic_u64_load(&c->pause_end, RELAXED);
}

/*
 * What a receiver finds says whether to pause next time: not where a quarter of
 * the places were taken meanwhile. With the lock.
 */
static void
note_found(struct channel *c, int promised)
{
	uint64_t n = at_hand(c, RECEIVERS);

	if (atomic_u32_load(&c->pausing, RELAXED) != 0)
		atomic_u32_store(&c->pausing, 0, RELAXED);
	else if (promised > 0)
		c->quick = n >= CHANNEL_QUICK_VALUES;
	if (c->quick && at_hand(c, SENDERS) < 3 * n)
		c->quick = false;
}

/* As send_now(). */
static __rte_always_inline int
recv_now(struct channel *c, void *values, uint32_t n, int promised)
{
	struct block *old = NULL;
	uint32_t m = share(c, RECEIVERS, promised, n);

	if (m == 0) {
		if (!is_ended(c) || at_hand(c, RECEIVERS) > 0)
			return -EAGAIN;
		lock_release(&c->sync.lock);
		return -EPIPE;
	}
	if (unlikely(promised > 0 || c->quick))
		note_found(c, promised);
	pop(c, values, m, c->size, &old);
	sync_settle(&c->sync);
	if (unlikely(old != NULL))
		free_blocks(old);
	return (int)m;
}

static __rte_always_inline int
recv_values(struct weir_context *ctx, struct channel *c, void *values,
	    uint32_t n, struct weir_wait *wait)
{
	int promised, rc;

	if (unlikely(pause_goes_on(c)) && ctx != NULL && wait_is_idle(wait))
		return context_look_again(ctx);
	promised = enter(ctx, c, RECEIVERS, wait);
	while (promised >= 0) {
		rc = recv_now(c, values, n, promised);
		if (rc != -EAGAIN)
			return wait_over(wait, rc);
		if (ctx != NULL && pause_begins(c)) {
			lock_release(&c->sync.lock);
			return context_look_again(ctx);
		}
		promised = wait_in_line(ctx, c, RECEIVERS, wait);
	}
	return promised;
}

/*
 * Y51: does a receiver, who would find nothing, let others run first? Without the
 * lock: what has just come is seen when it looks again. Not so a sender, who fills
 * many places each time.
 */
static __rte_always_inline bool
looks_later(struct weir_context *ctx, const struct channel *c,
	    struct weir_wait *wait)
{
	return ctx != NULL && context_next(ctx) != NULL && wait_is_idle(wait) &&
	       at_hand(c, RECEIVERS) == 0 && wait_looks_again(ctx, wait);
}

static __rte_always_inline bool
recv_alone(struct weir_context *ctx, struct channel *c, void *value,
	   struct weir_wait *wait)
{
	struct block *old = NULL;
	bool found;

	if (!enter_alone(ctx, c, wait))
		return false;
	found = at_hand(c, RECEIVERS) > 0 && c->first->n > 0 && !c->quick;
	if (likely(found)) {
		ctx->budget--;
		pop(c, value, 1, sizeof(uint64_t), &old);
		wait_over(wait, 0);
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

	if (looks_later(ctx, c, wait))
		return context_look_behind_next(ctx);
	if (likely(recv_alone(ctx, c, value, wait)))
		return 0;
	return recv_one(ctx, c, value, wait);
}

int
weir_try_recv(struct weir_receiver *receiver, void *value)
{
	struct channel *c = channel_of(receiver);
	int rc;

	lock_acquire(&c->sync.lock);
	rc = recv_now(c, value, 1, 0);
	if (rc == -EAGAIN)
		lock_release(&c->sync.lock);
	return RTE_MIN(rc, 0);
}

size_t
weir_receiver_len(struct weir_receiver *receiver)
{
	struct channel *c = channel_of(receiver);
	size_t n;

	lock_acquire(&c->sync.lock);
	n = at_hand(c, RECEIVERS) + c->promised[RECEIVERS];
	lock_release(&c->sync.lock);
	return n;
}
