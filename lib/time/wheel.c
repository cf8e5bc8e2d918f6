/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The hierarchical timing wheel of Varghese and Lauck (SOSP 1987, scheme 7),
 * with levels of two turns.
 *
 * Level 0 has a slot for each of the next WHEEL_SLOTS ticks, level 1 one for
 * each WHEEL_TURN ticks, and so on. A timer lies on the lowest level that
 * reaches as far as its tick. Before the wheel comes to a slot of a higher level,
 * the slot's timers move down. So a timer is moved at most once a level, and
 * one that is cancelled before costs an insertion and a removal.
 *
 * Timers that lie far apart in memory take long to move, and those of a tick
 * that has come must not wait for them. A level's next slot is within reach of
 * the level below as a whole, since that has two turns: it is open. Its timers
 * move down a few at a time until the wheel comes to it.
 *
 * Empty slots are skipped by bitmaps: time that passes costs nothing. Nor does
 * their memory, which is not touched before a timer comes.
 *
 * Invariants:
 * W1 On level k, whose slots count from tick 0 on, a timer's slot is less than
 *    WHEEL_SLOTS ahead of the one of `now`; it is that one on level 0 only.
 * W2 A bit of `used` is set if and only if its slot is not empty; only then is its
 *    list there.
 * W3 at[k] is not after the tick at which a timer on level 0 is due, or the
 *    first slot of level k above opens or, if it is open, begins; `next` is not
 *    after any of them.
 * W4 No timer is taken before its tick.
 * W5 Of two timers of a tick, the one that was inserted first is on the higher
 *    level, or before the other in their slot. So what moves down does so from
 *    the end, and to the front.
 */

#include <limits.h>

#include <rte_prefetch.h>

#include "time/wheel.h"

/* Smaller: more looks at the wheel. Larger: an open slot empties later. */
#define CHORE_TICKS 128
/* Smaller: as above. Larger: who is due then waits for longer. */
#define CHORE_TIMERS 2

/* The slot of a tick, counted from tick 0 on. */
static uint64_t
slot_at(uint64_t tick, unsigned int level)
{
	return tick >> WHEEL_BITS * level;
}

static struct list_link *
slot_list(struct wheel *w, unsigned int level, uint64_t slot)
{
	return &w->slots[level * WHEEL_SLOTS + slot % WHEEL_SLOTS];
}

/* W2: a slot that is not in use has no list yet, or an empty one. */
static bool
slot_used(const struct wheel *w, unsigned int level, uint64_t slot)
{
	unsigned int i = slot % WHEEL_SLOTS;

	return (w->used[level][i / 64] >> i % 64 & 1) != 0;
}

/* W1 */
static unsigned int
level_of(uint64_t now, uint64_t due)
{
	unsigned int level = 0;

	while (slot_at(due, level) - slot_at(now, level) >= WHEEL_SLOTS)
		level++;
	return level;
}

void
weir__wheel_init(struct wheel *w, uint64_t now)
{
	unsigned int i, j;

	w->now = now;
	w->next = WHEEL_NEVER;
	w->open = 0;
	w->n = 0;
	for (i = 0; i < WHEEL_LEVELS; i++) {
		w->at[i] = WHEEL_NEVER;
		for (j = 0; j < WHEEL_WORDS; j++)
			w->used[i][j] = 0;
	}
}

/* W3: something is to be done on this level at that tick. */
static void
bound(struct wheel *w, unsigned int level, uint64_t tick)
{
	w->at[level] = RTE_MIN(w->at[level], tick);
	w->next = RTE_MIN(w->next, tick);
}

/*
 * The tick at which a slot of a level above 0 opens. A tick late: no slot begins
 * there, so `now` gets there with no timer left behind on another level.
 */
static uint64_t
opens_at(unsigned int level, uint64_t slot)
{
	return ((slot - 1) << WHEEL_BITS * level) + 1;
}

/* Where it belongs; its slot's list is the caller's. */
static struct list_link *
place(struct wheel *w, struct wheel_timer *t)
{
	uint64_t due = RTE_MAX(t->due, w->now), slot;
	unsigned int level = level_of(w->now, due), i;

	slot = slot_at(due, level);
	i = slot % WHEEL_SLOTS;
	t->slot = (uint16_t)(level * WHEEL_SLOTS + i);
	if (!slot_used(w, level, slot)) {
		w->used[level][i / 64] |= UINT64_C(1) << i % 64;
		list_init(&w->slots[t->slot]);
	}
	bound(w, level, level == 0 ? due : opens_at(level, slot));
	return &w->slots[t->slot];
}

void
weir__wheel_insert(struct wheel *w, struct wheel_timer *t, uint64_t due)
{
	t->due = due;
	w->n++;
	list_push_back(place(w, t), &t->link);
}

/* Takes it off its slot. `at` and `next` stay: too early does no harm (W3). */
static void
unlink_timer(struct wheel *w, struct wheel_timer *t)
{
	unsigned int level = t->slot / WHEEL_SLOTS;
	unsigned int i = t->slot % WHEEL_SLOTS;

	list_remove(&t->link);
	if (list_empty(&w->slots[t->slot]))
		w->used[level][i / 64] &= ~(UINT64_C(1) << i % 64);
}

void
weir__wheel_remove(struct wheel *w, struct wheel_timer *t)
{
	unlink_timer(w, t);
	w->n--;
}

/* The first slot of a level in use, from `slot` on; false if none is. */
static bool
first_used(const struct wheel *w, unsigned int level, uint64_t *slot)
{
	const unsigned int from = *slot % WHEEL_SLOTS;
	const uint64_t *used = w->used[level];
	unsigned int i = from / 64, n;
	uint64_t word = used[i] & ~UINT64_C(0) << from % 64;

	for (n = 0; word == 0; n++) {
		if (n == WHEEL_WORDS)
			return false;
		i = (i + 1) % WHEEL_WORDS;
		word = used[i];
	}
	i = i * 64 + (unsigned int)__builtin_ctzll(word);
	*slot += (i - from) % WHEEL_SLOTS;
	return true;
}

static struct wheel_timer *
timer_of(struct list_link *l)
{
	return container_of(l, struct wheel_timer, link);
}

/* Moves timers of an open slot to lower levels, n at most. */
static void
move_down(struct wheel *w, unsigned int level, uint64_t slot, unsigned int n)
{
	struct list_link *head = slot_list(w, level, slot);
	struct wheel_timer *t;

	for (; n > 0 && slot_used(w, level, slot); n--) {
		t = timer_of(head->prev);
		unlink_timer(w, t);
		list_push_front(place(w, t), &t->link);
	}
	if (slot_used(w, level, slot))
		w->open |= 1u << level;
	else
		w->open &= ~(1u << level);
}

/* A timer goes: as many move down on each level that has an open slot. */
static void
keep_pace(struct wheel *w)
{
	unsigned int open, level;

	for (open = w->open; open != 0; open &= open - 1) {
		level = (unsigned int)__builtin_ctz(open);
		move_down(w, level, slot_at(w->now, level) + 1, 1);
	}
}

/* When to look at a level above 0 again, for what is in it from `slot` on. */
static void
look_again(struct wheel *w, unsigned int level, uint64_t slot)
{
	w->at[level] = first_used(w, level, &slot) ? opens_at(level, slot) :
						     WHEEL_NEVER;
}

/* What is to be done by `now` on a level above 0 when at[level] has come. */
static void
tend(struct wheel *w, unsigned int level, uint64_t now)
{
	uint64_t slot = slot_at(w->now, level) + 1, begins;
	uint64_t told = w->at[level];

	w->open &= ~(1u << level);
	look_again(w, level, slot);
	/* A bound that was too early: others may come first. */
	if (w->at[level] > told)
		return;
	first_used(w, level, &slot);
	w->now = RTE_MAX(w->now, w->at[level]);
	begins = slot << WHEEL_BITS * level;
	move_down(w, level, slot, now < begins ? CHORE_TIMERS : UINT_MAX);
	if (w->open & 1u << level)
		w->at[level] = now + RTE_MIN(begins - now, CHORE_TICKS);
	else
		look_again(w, level, slot);
}

/* The first timer of level 0, if it is due by `now`. */
static struct wheel_timer *
take_due(struct wheel *w, uint64_t now)
{
	struct wheel_timer *t;
	uint64_t slot = w->now;

	if (!first_used(w, 0, &slot)) {
		w->at[0] = WHEEL_NEVER;
		return NULL;
	}
	/* A bound that was too early, as in tend(). */
	if (slot > w->at[0] || slot > now) {
		w->at[0] = slot;
		return NULL;
	}
	w->now = slot;
	t = timer_of(slot_list(w, 0, slot)->next);
	weir__wheel_remove(w, t);
	return t;
}

/* The level that is to be looked at first: of two, the higher (W1). */
static unsigned int
first_level(struct wheel *w)
{
	unsigned int level, first = 0;

	for (level = 1; level < WHEEL_LEVELS; level++)
		if (w->at[level] <= w->at[first])
			first = level;
	w->next = w->at[first];
	return first;
}

struct wheel_timer *
weir__wheel_advance(struct wheel *w, uint64_t now)
{
	struct wheel_timer *t;
	unsigned int level;

	while (w->next <= now) {
		level = first_level(w);
		if (w->next > now)
			break;
		if (level > 0) {
			tend(w, level, now);
			continue;
		}
		t = take_due(w, now);
		if (t != NULL) {
			keep_pace(w);
			return t;
		}
	}
	w->now = RTE_MAX(w->now, now);
	return NULL;
}

struct wheel_timer *
weir__wheel_peek(struct wheel *w)
{
	uint64_t first = w->at[0];

	return first == WHEEL_NEVER || !slot_used(w, 0, first) ?
		       NULL :
		       timer_of(slot_list(w, 0, first)->next);
}

void
weir__wheel_fetch(struct wheel *w, unsigned int far)
{
	unsigned int open, level, i;
	struct list_link *l;
	uint64_t slot;

	for (open = w->open; open != 0; open &= open - 1) {
		level = (unsigned int)__builtin_ctz(open);
		slot = slot_at(w->now, level) + 1;
		if (!slot_used(w, level, slot))
			continue;
		l = slot_list(w, level, slot)->prev;
		for (i = 0; i < far; i++)
			l = l->prev;
		rte_prefetch0(l);
	}
}

struct wheel_timer *
weir__wheel_take(struct wheel *w)
{
	unsigned int level;
	struct wheel_timer *t;
	uint64_t slot;

	for (level = 0; level < WHEEL_LEVELS; level++) {
		slot = slot_at(w->now, level);
		if (!first_used(w, level, &slot))
			continue;
		t = timer_of(slot_list(w, level, slot)->next);
		weir__wheel_remove(w, t);
		return t;
	}
	return NULL;
}
