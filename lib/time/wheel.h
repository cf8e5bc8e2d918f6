/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TIME_WHEEL_H
#define TIME_WHEEL_H

/*
 * A hierarchical timer wheel: when what is due. Knows no clock, no lock and no
 * tasks. See wheel.c.
 */

#include "base/common.h"
#include "base/list.h"

/*
 * The slots of a level that one slot of the next is worth, a power of two; tests
 * shrink it. Smaller: timers move down more often, each time out of memory that
 * has long not been touched. With 10 those of less than two seconds do so once.
 * Larger: more memory, 32 bytes a slot of a turn.
 */
#ifndef WHEEL_BITS
#define WHEEL_BITS 10
#endif
/*
 * Timers of a slot that has come which one advance moves down, each out of memory that
 * has long not been touched; tests shrink it. Smaller: a full slot takes more looks.
 * Larger: whoever looks comes later to what else there is.
 */
#ifndef WHEEL_MOST
#define WHEEL_MOST 256u
#endif
#define WHEEL_TURN (1u << WHEEL_BITS)
#define WHEEL_SLOTS (2 * WHEEL_TURN)
/* The last one reaches as far as there are ticks. */
#define WHEEL_LEVELS ((63 + WHEEL_BITS - 1) / WHEEL_BITS)
#define WHEEL_WORDS ((WHEEL_SLOTS + 63) / 64)
#define WHEEL_NEVER UINT64_MAX

static_assert(WHEEL_WORDS <= 64, "one word tells of all");

struct wheel_timer {
	struct list_link link; /* of its slot; NULL: not in a wheel */
	uint64_t due;	       /* tick */
};

struct wheel {
	uint64_t now;	/* all timers up to here have been taken */
	uint64_t next;	/* no timer is due before: a bound, for wheel_next() */
	uint64_t above; /* nothing is to be done before on a level above 0 */
	unsigned int level; /* nor on this one, which is to be looked at then */
	unsigned int n;	    /* timers */
	/* By level above 0, a set bit: it has an open slot; at[] is not WHEEL_NEVER.
	 */
	unsigned int open;
	unsigned int awaited;
	/* Ticks; when to look at a level next: a bound. */
	uint64_t at[WHEEL_LEVELS];
	/* A set bit: the slot is not empty. */
	uint64_t used[WHEEL_LEVELS][WHEEL_WORDS];
	uint64_t words[WHEEL_LEVELS]; /* of those, which are not 0 */
	struct list_link slots[WHEEL_LEVELS * WHEEL_SLOTS];
};

void
weir__wheel_init(struct wheel *w, uint64_t now);

static inline bool
wheel_contains(const struct wheel_timer *t)
{
	return list_linked(&t->link);
}

/*
 * Before an insertion: the wheel may come to `now` for nothing, if no timer is
 * due on the way. A wheel that lags behind has its timers move down more often.
 */
static inline void
wheel_catch_up(struct wheel *w, uint64_t now)
{
	if (now > w->now && now < w->next)
		w->now = now;
}

/* One that is due already is taken by the next advance. */
void
weir__wheel_insert(struct wheel *w, struct wheel_timer *t, uint64_t due);
/* One that was taken, for the time that it had. */
void
weir__wheel_put_back(struct wheel *w, struct wheel_timer *t);

/* The timer is in this wheel. */
void
weir__wheel_remove(struct wheel *w, struct wheel_timer *t);

/* As wheel_advance(), where something is to be done by `now`. */
struct wheel_timer *
weir__wheel_advance(struct wheel *w, uint64_t now);

/*
 * Takes a timer that is due by `now`, or NULL when there is none left; only then
 * has the wheel come to `now`. Or NULL when others are to be moved first, of which
 * each call moves WHEEL_MOST: wheel_next() is not after `now` then. Those of a tick
 * come in the order in which they were inserted.
 */
static inline struct wheel_timer *
wheel_advance(struct wheel *w, uint64_t now)
{
	if (w->next <= now)
		return weir__wheel_advance(w, now);
	w->now = RTE_MAX(w->now, now);
	return NULL;
}

/* The one that is due next; NULL if it is not at hand. */
const struct wheel_timer *
weir__wheel_peek(const struct wheel *w);

/*
 * The one that comes behind the next to move down to level 0, but only to be fetched: it
 * may be none. NULL: nothing moves soon.
 */
const struct wheel_timer *
weir__wheel_peek_down(struct wheel *w);

/*
 * A tick before which no timer is due, for an advance to that tick; WHEEL_NEVER
 * when there will be none. It may be too early: once for each level, also for
 * timers that were removed, and again for every few that are to move down.
 */
static inline uint64_t
wheel_next(const struct wheel *w)
{
	return w->next;
}

/*
 * Takes a timer, whatever its tick, or NULL for an empty wheel. Those of a tick come in
 * the order in which they were inserted.
 */
struct wheel_timer *
weir__wheel_take(struct wheel *w);

#endif
