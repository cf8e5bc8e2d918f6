/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Channels.
 *
 * The values lie in blocks, by their numbers, counted from the channel's first: one
 * block behind the channel, a ring, or a list of them that grows. A waiter in front
 * is not given a value or its place but the right to one, which it uses when it comes
 * back: so a value is always with its sender, in a block, or with its receiver, and
 * whoever gives up gives the right to the next.
 *
 * Senders have the channel's lock. Its receivers have the same one where somebody
 * waits: the two sides are together. A receiver that finds many values, while nobody
 * waits, parts them: receivers have a lock of their own then, so that neither side
 * writes what the other one needs for each value, until one finds nothing, or no
 * room. That each side sees late what the other did, and keeps the number that it saw
 * last until that is used up, is as in B-Queue (Wang et al., 2013); for senders also as
 * in rte_ring. A receiver that does not wait looks as soon as fewer are left than it asks
 * for.
 *
 * Invariants:
 * Y8  Values in blocks = sent - received <= capacity. Of these some are promised to
 *     receivers, and of the places beside them some to senders; the others are at
 *     hand.
 * Y9  Values leave the blocks in the order in which they came.
 * Y10 After close, or with the last receiver, nothing comes into a block; what
 *     is in them then is received or dropped, once. Receivers are told of the end
 *     when the blocks are empty: what is promised may be given up, and is then for
 *     the next.
 * Y11 Memory is got and given back without the lock. A block that is empty when it
 *     ends is used again, as is one that its receivers have left.
 * Y50 A task that finds the channel empty, and found many values when it was
 *     woken last, yields and looks again CHANNEL_PAUSE_US later, once, before it waits in
 *     line. Meanwhile it is in no line, as one that was not there yet: nobody is
 *     to wake it, and none of the values is promised to it. Apart it does so as soon
 *     as it has taken what it saw: to look takes the line from the senders. Another
 *     that comes meanwhile may join the pause; each has one for a wait, whatever the
 *     others find.
 * Y52 Apart nobody is in line, and nothing is promised. They part with the channel's
 *     lock, and come together with both, the receivers' first.
 * Y53 Apart senders know of no more places than there are, and receivers of no more
 *     values.
 * Y54 The numbers below open_to are of places for values sent one by one, in the last
 *     block; while sent is below it nobody is in line, nothing is promised, and it is
 *     not closed.
 */

#include <errno.h>

#include "sync/channel.h"

/*
 * Values in a block of an unbounded channel, a power of two. Smaller: memory is got
 * more often. Larger: an empty channel takes more.
 */
#ifndef CHANNEL_BLOCK_SIZE
#define CHANNEL_BLOCK_SIZE 256
#endif

/* They come with a burst and go with it, and senders are of any runtime. */
struct block *
weir__channel_alloc_block(const struct channel *c)
{
	return weir__object_zalloc_heap(
		"weir_channel",
		sizeof(struct block) + ((size_t)c->mask + 1) * c->size);
}

void
weir__channel_free_blocks(struct block *b)
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
	if (c->first != &c->own) {
		weir__channel_free_blocks(c->first);
		sync_free(atomic_ptr_load(&c->spare, RELAXED));
	}
	sync_free(c);
}

void
weir__channel_come_together(struct channel *c)
{
	lock_acquire(&c->sync.lock);
	if (is_apart(c)) {
		atomic_u64_store(&c->received,
				 atomic_u64_load(&c->taken, RELAXED), RELAXED);
		clear_mode(c, MODE_APART);
	}
	lock_release(&c->taking);
}

void
weir__channel_lock_together(struct channel *c)
{
	lock_acquire(&c->taking);
	weir__channel_come_together(c);
}

/* What is at hand is promised to one of that side, or taken back for it to take. */
static void
promise(struct channel *c, enum side side)
{
	atomic_u64_add_owner(&c->promised, PROMISED(side));
}

static void
take_back(struct channel *c, enum side side)
{
	atomic_u64_add_owner(&c->promised, -PROMISED(side));
}

static bool
grant(struct sync *s, struct wait *w)
{
	struct channel *c = (struct channel *)s;
	bool ended = w->side == SENDERS ? c->closed : has_ended(c);

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
	size_t room;

	if (capacity == 0 ||
	    (bounded && capacity > WEIR_CHANNEL_CAPACITY_MAX) || size == 0 ||
	    size > WEIR_CHANNEL_SIZE_MAX)
		return -EINVAL;
	room = bounded ? rte_align64pow2(capacity) : CHANNEL_BLOCK_SIZE;
	c = sync_alloc("weir_channel",
		       sizeof(*c) + (bounded ? room * size : 0));
	if (c == NULL)
		return -ENOMEM;
	weir__sync_init(&c->sync, &ops);
	lock_init(&c->taking);
	c->capacity = capacity;
	c->size = (uint16_t)size;
	c->mask = (uint32_t)(room - 1);
	c->drop = drop;
	c->ends[SENDERS] = 1;
	c->ends[RECEIVERS] = 1;
	c->refs = 2;
	c->first = bounded ? &c->own : weir__channel_alloc_block(c);
	c->last = c->first;
	if (c->first == NULL) {
		sync_free(c);
		return -ENOMEM;
	}
	*sender = (struct weir_sender *)c;
	*receiver = (struct weir_receiver *)c;
	return 0;
}

/* Seen once its side has none left, while the other has, and so the channel is there. */
#define END_RULE "channel: an end that was dropped is used no more"

static void
add_end(struct channel *c, enum side side)
{
	lock_acquire(&c->sync.lock);
	WEIR_ASSERT(c->ends[side] > 0, END_RULE);
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

/* With the lock. */
static void
close_channel(struct channel *c)
{
	c->closed = true;
	shut(c);
}

static void
drop_end(struct channel *c, enum side side)
{
	bool last, gone;

	weir__channel_lock_together(c);
	WEIR_ASSERT(c->ends[side] > 0, END_RULE);
	gone = --c->ends[side] == 0;
	if (gone && side == RECEIVERS)
		close_channel(c);
	sync_settle(&c->sync);
	if (gone && side == RECEIVERS)
		weir__channel_drop_values(c);
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

	weir__channel_lock_together(c);
	close_channel(c);
	sync_settle(&c->sync);
}

int
weir__channel_go_on(struct channel *c, enum side side, struct weir_wait *wait)
{
	int rc;

	/* With the other side it waits for something else. */
	if (((struct wait *)wait)->side != side)
		return -EBUSY;
	rc = wait_outcome(wait);
	if (rc < 0)
		return rc;
	lock_acquire(&c->sync.lock);
	take_back(c, side);
	return 1;
}

int
weir__channel_wait(struct weir_context *ctx, struct channel *c, enum side side,
		   struct weir_wait *wait)
{
	int rc;

	shut(c);
	rc = weir__wait_join(ctx, &c->sync, wait, side, NULL, 0);
	if (rc < 0)
		return rc;
	lock_acquire(&c->sync.lock);
	take_back(c, side);
	return 1;
}

size_t
weir_receiver_len(struct weir_receiver *receiver)
{
	struct channel *c = channel_of(receiver);
	size_t n;

	/* With both, so that it is never more than the capacity. */
	lock_acquire(&c->taking);
	lock_acquire(&c->sync.lock);
	n = atomic_u64_load(&c->sent, RELAXED) -
	    atomic_u64_load(received_at(c), RELAXED);
	lock_release(&c->sync.lock);
	lock_release(&c->taking);
	return n;
}
