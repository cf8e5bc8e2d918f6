/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The hierarchical timing wheel of Varghese and Lauck (SOSP 1987, scheme 7).
 *
 * Level 0 has a slot for each of the next WHEEL_SLOTS ticks, level 1 one for
 * each WHEEL_SLOTS ticks, and so on. A timer lies on the level of the highest digit in which its
 * tick differs from the wheel's. When the wheel comes to a slot of a higher
 * level, its timers move down. So a timer is moved at most once a level, and
 * one that is cancelled before costs an insertion and a removal.
 *
 * Empty slots are skipped by bitmaps: time that passes costs nothing.
 *
 * Invariants:
 * W1 A timer on level k agrees with `now` in all digits above k; on level 0 and
 *    in the others its digit k is greater than that of `now`, or it is due.
 * W2 A bit of `used` is set if and only if its slot is not empty.
 * W3 `next` is not after the begin of the earliest slot that is not empty.
 * W4 No timer is taken before its tick.
 */

#include "time/wheel.h"

#define DIGIT(tick, level) \
	((unsigned int)((tick) >> WHEEL_BITS * (level)) & (WHEEL_SLOTS - 1))

static unsigned int
level_of(uint64_t now, uint64_t due)
{
	uint64_t differs = (now ^ due) | 1;

	return (63 - (unsigned int)__builtin_clzll(differs)) / WHEEL_BITS;
}

/* The tick at which a slot that lies ahead begins. */
static uint64_t
begin_of(const struct wheel *w, unsigned int level, unsigned int digit)
{
	unsigned int shift = WHEEL_BITS * level;
	uint64_t below = (UINT64_C(2) << (shift + WHEEL_BITS - 1)) - 1;

	return (w->now & ~below) | (uint64_t)digit << shift;
}

void
weir__wheel_init(struct wheel *w, uint64_t now)
{
	unsigned int i, j;

	w->now = now;
	w->next = WHEEL_NEVER;
	w->n = 0;
	for (i = 0; i < WHEEL_LEVELS; i++)
		for (j = 0; j < WHEEL_WORDS; j++)
			w->used[i][j] = 0;
	for (i = 0; i < WHEEL_LEVELS * WHEEL_SLOTS; i++)
		list_init(&w->slots[i]);
}

static void
place(struct wheel *w, struct wheel_timer *t)
{
	uint64_t due = RTE_MAX(t->due, w->now), begin;
	unsigned int level, digit;

	level = level_of(w->now, due);
	digit = DIGIT(due, level);
	t->slot = (uint16_t)(level * WHEEL_SLOTS + digit);
	list_push_back(&w->slots[t->slot], &t->link);
	w->used[level][digit / 64] |= UINT64_C(1) << digit % 64;
	begin = begin_of(w, level, digit);
	w->next = RTE_MIN(w->next, begin);
}

void
weir__wheel_insert(struct wheel *w, struct wheel_timer *t, uint64_t due)
{
	t->due = due;
	w->n++;
	place(w, t);
}

void
weir__wheel_remove(struct wheel *w, struct wheel_timer *t)
{
	unsigned int level = t->slot / WHEEL_SLOTS;
	unsigned int digit = t->slot % WHEEL_SLOTS;

	list_remove(&t->link);
	if (list_empty(&w->slots[t->slot]))
		w->used[level][digit / 64] &= ~(UINT64_C(1) << digit % 64);
	/* `next` stays: too early does no harm (W3). */
	w->n--;
}

/* The first used slot of a level from `digit` on, or WHEEL_SLOTS. */
static unsigned int
first_used(const struct wheel *w, unsigned int level, unsigned int digit)
{
	const uint64_t *used = w->used[level];
	unsigned int i = digit / 64;
	uint64_t word = used[i] & ~UINT64_C(0) << digit % 64;

	while (word == 0) {
		if (++i == WHEEL_WORDS)
			return WHEEL_SLOTS;
		word = used[i];
	}
	return i * 64 + (unsigned int)__builtin_ctzll(word);
}

/*
 * The earliest slot that is not empty: a lower level's lies before any of a
 * higher one's (W1). False if there is none.
 */
static bool
find_first(const struct wheel *w, unsigned int *level, unsigned int *digit)
{
	for (*level = 0; *level < WHEEL_LEVELS; (*level)++) {
		*digit = first_used(w, *level, DIGIT(w->now, *level));
		if (*digit < WHEEL_SLOTS)
			return true;
	}
	return false;
}

static struct wheel_timer *
timer_of(struct list_link *l)
{
	return container_of(l, struct wheel_timer, link);
}

/* The wheel has come to this slot: its timers move to lower levels. */
static void
move_down(struct wheel *w, unsigned int level, unsigned int digit)
{
	struct list_link *head = &w->slots[level * WHEEL_SLOTS + digit];
	struct list_link *l;

	w->used[level][digit / 64] &= ~(UINT64_C(1) << digit % 64);
	while ((l = list_pop_front(head)) != NULL)
		place(w, timer_of(l));
}

struct wheel_timer *
weir__wheel_advance(struct wheel *w, uint64_t now)
{
	unsigned int level, digit;
	struct wheel_timer *t;
	uint64_t begin;

	while (w->next <= now) {
		if (!find_first(w, &level, &digit)) {
			w->next = WHEEL_NEVER;
			break;
		}
		begin = begin_of(w, level, digit);
		if (begin > now) {
			w->next = begin;
			break;
		}
		w->now = RTE_MAX(w->now, begin);
		if (level > 0) {
			move_down(w, level, digit);
			continue;
		}
		t = timer_of(w->slots[digit].next);
		weir__wheel_remove(w, t);
		return t;
	}
	w->now = RTE_MAX(w->now, now);
	return NULL;
}

struct wheel_timer *
weir__wheel_take(struct wheel *w)
{
	unsigned int level, digit;
	struct wheel_timer *t;

	if (!find_first(w, &level, &digit))
		return NULL;
	t = timer_of(w->slots[level * WHEEL_SLOTS + digit].next);
	weir__wheel_remove(w, t);
	return t;
}
