/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SYNC_CHANNEL_H
#define SYNC_CHANNEL_H

/* A channel, as its senders and its receivers see it. See channel.c. */

#include <string.h>

#include "sync/memory.h"
#include "sync/wait.h"
#include "sync/weir_channel.h"

enum side {
	SENDERS,
	RECEIVERS,
};

/* The two sides are apart; a receiver that finds nothing pauses (Y50). */
#define MODE_APART 1u
#define MODE_QUICK 2u

/* Promises to senders, and those to receivers, are counted in one word. */
#define PROMISED(side) (UINT64_C(1) << ((side) == SENDERS ? 0 : 32))

struct block {
	struct block *next;
	uint64_t begin; /* the number of its first value */
	uint8_t values[] __attribute__((aligned(16)));
};

struct channel {
	/* The senders', and while they are together the receivers'. */
	struct sync sync;
	struct atomic_u64 sent;
	struct atomic_u64 received; /* apart: as the senders know it */

	/* Read by each call; written where somebody waits, comes or goes. */
	/* Receivers take from the first, senders fill the last. */
	struct block *first, *last;
	uint64_t open_to; /* Y54 */
	uint64_t capacity;
	struct atomic_u64 promised; /* see PROMISED */
	uint32_t mask;		    /* a block's values, less one */
	struct atomic_u32 mode;	    /* MODE_*; with the receivers' lock */
	uint32_t ends[2];	    /* senders and receivers */
	uint32_t refs;		    /* of who still uses the memory */
	uint16_t size;
	bool closed;

	/* The receivers', apart. */
	struct lock taking weir_cache_aligned;
	struct atomic_u64 taken;     /* received */
	uint64_t seen;		     /* sent, as they know it */
	struct atomic_u64 pause_end; /* TSC; apart or not, as the next */
	struct atomic_u32 pausing;   /* a receiver (Y50) */

	struct atomic_ptr spare; /* a block, or NULL */
	void (*drop)(void *value);

	/* The only one, if there is a capacity. */
	struct block own weir_cache_aligned;
};

static_assert(offsetof(struct channel, first) == WEIR_CACHE_LINE &&
		      offsetof(struct channel, taking) == 2 * WEIR_CACHE_LINE,
	      "what each call writes is not where it only reads");

/* With the receivers' lock, instead of which it has the channel's then. */
void
weir__channel_come_together(struct channel *c);

/* Takes the channel's lock, and both sides are together. */
void
weir__channel_lock_together(struct channel *c);

/*
 * Goes on with a wait. 1: something was promised, and is taken back, with the lock,
 * for the caller to take; else what to return.
 */
int
weir__channel_go_on(struct channel *c, enum side side, struct weir_wait *wait);

/*
 * Waits in line, and gives the lock back. Returns as the above; 1 for a plain thread
 * only.
 */
int
weir__channel_wait(struct weir_context *ctx, struct channel *c, enum side side,
		   struct weir_wait *wait);

/* Drops what is in the channel, to which nobody else comes any more (Y10). */
void
weir__channel_drop_values(struct channel *c);

/* Of an unbounded channel. NULL: no memory. */
struct block *
weir__channel_alloc_block(const struct channel *c);

/* All of a list. */
void
weir__channel_free_blocks(struct block *b);

static inline struct channel *
channel_of(const void *end)
{
	return (struct channel *)(uintptr_t)end;
}

static inline bool
has_mode(const struct channel *c, uint32_t mode)
{
	return (atomic_u32_load(&c->mode, RELAXED) & mode) != 0;
}

static inline void
set_mode(struct channel *c, uint32_t mode, int order)
{
	atomic_u32_store(&c->mode, atomic_u32_load(&c->mode, RELAXED) | mode,
			 order);
}

static inline void
clear_mode(struct channel *c, uint32_t mode)
{
	atomic_u32_store(&c->mode, atomic_u32_load(&c->mode, RELAXED) & ~mode,
			 RELAXED);
}

static inline bool
is_apart(const struct channel *c)
{
	return unlikely(has_mode(c, MODE_APART));
}

static inline uint64_t
promised_to(const struct channel *c, enum side side)
{
	const uint64_t all = atomic_u64_load(&c->promised, RELAXED);

	return side == SENDERS ? (uint32_t)all : all >> 32;
}

/* Where receivers count what they have received. */
static inline struct atomic_u64 *
received_at(struct channel *c)
{
	return is_apart(c) ? &c->taken : &c->received;
}

/* With the lock of its side; else it is a guess. */
static inline uint64_t
count_values(const struct channel *c, const struct atomic_u64 *received)
{
	return atomic_u64_load(&c->sent, RELAXED) -
	       atomic_u64_load(received, RELAXED);
}

/* Promised to nobody. With the lock of that side. */
static inline uint64_t
at_hand(struct channel *c, enum side side)
{
	const uint64_t n = side == SENDERS ?
				   c->capacity - count_values(c, &c->received) :
				   count_values(c, received_at(c));

	return n - promised_to(c, side);
}

/*
 * Is there nothing, and comes nothing any more (Y10)? Together, with the channel's
 * lock.
 */
static inline bool
has_ended(const struct channel *c)
{
	return (c->closed || c->ends[SENDERS] == 0) &&
	       count_values(c, &c->received) == 0;
}

/* Is somebody in line, or is anything promised? With the channel's lock. */
static __rte_always_inline bool
is_awaited(const struct channel *c)
{
	return sync_awaited(&c->sync, SENDERS) ||
	       sync_awaited(&c->sync, RECEIVERS) ||
	       atomic_u64_load(&c->promised, RELAXED) != 0;
}

/* How many of n values lie one behind the other from a number on. Of one all do. */
static inline uint32_t
stretch(const struct channel *c, uint64_t number, uint32_t n)
{
	return n == 1 ? 1 : RTE_MIN(n, c->mask + 1 - (number & c->mask));
}

static inline uint8_t *
place(const struct channel *c, struct block *b, uint64_t number, uint32_t size)
{
	return b->values + (number & c->mask) * size;
}

static inline void
copy(void *to, const void *from, uint32_t n, uint32_t size)
{
	if (likely(n == 1))
		sync_copy(to, from, size);
	else
		memcpy(to, from, (size_t)n * size);
}

/* Of an unbounded channel: is its last block full, or is its first one used up? */
static inline bool
is_behind(const struct channel *c, const struct block *b, uint64_t number)
{
	return unlikely(b != &c->own) && (number & c->mask) == 0 &&
	       number != b->begin;
}

/* How many of n a call may take now of those there, to which some were promised. */
static inline uint32_t
share(const struct channel *c, enum side side, uint64_t there, int promised,
      uint32_t n)
{
	const bool awaited = sync_awaited(&c->sync, side);

	if (there == 0 || (awaited && promised == 0))
		return 0;
	return awaited ? 1 : (uint32_t)RTE_MIN((uint64_t)n, there);
}

/* Y54: the next sender looks at everything. With the channel's lock. */
static inline void
shut(struct channel *c)
{
	c->open_to = atomic_u64_load(&c->sent, RELAXED);
}

/*
 * May a call take the shortest way, that of a pointer or a number while nobody waits?
 * No registers are saved there, since it makes no calls.
 */
static __rte_always_inline bool
is_alone(struct weir_context *ctx, const struct weir_wait *wait)
{
	return likely(ctx != NULL && wait_is_idle(wait) &&
		      !context_is_spent(ctx));
}

#endif
