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
 * move down a few at a time until the wheel comes to it, and those that are left then
 * in larger parts.
 *
 * Empty slots are skipped by bitmaps: time that passes costs nothing. Nor does
 * their memory, which is not touched before a timer comes.
 *
 * Invariants:
 * W1 On level k, whose slots count from tick 0 on, a timer's slot is less than
 *    WHEEL_SLOTS ahead of the one of `now`; it is that one on level 0 only.
 * W2 A bit of `used` is set if and only if its slot is not empty; only then is its
 *    list there. A bit of `words` is set if and only if its word of `used` is not 0.
 * W3 at[k] is not after the tick at which a timer on level 0 is due, or the
 *    first slot of level k above opens or, if it is open, begins; `above` is the
 *    first of those above level 0, of `level`, the highest that is as early; `next`
 *    is the first of all.
 * W4 No timer is taken before its tick.
 * W5 Of two timers of a tick, the one that was inserted first is on the higher
 *    level, or before the other in their slot. So what moves down does so from
 *    the end, and to the front.
 */

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

/* W2: what one that is not in use has for a list's head is anything. */
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
	w->above = WHEEL_NEVER;
	w->level = 1;
	w->awaited = 0;
	w->open = 0;
	w->n = 0;
	for (i = 0; i < WHEEL_LEVELS; i++) {
		w->at[i] = WHEEL_NEVER;
		w->words[i] = 0;
		for (j = 0; j < WHEEL_WORDS; j++)
			w->used[i][j] = 0;
	}
}

/* W3: when to look at a level above 0 next, or WHEEL_NEVER. */
static void
look_at(struct wheel *w, unsigned int level, uint64_t tick)
{
	unsigned int awaited;

	w->at[level] = tick;
	if (tick != WHEEL_NEVER)
		w->awaited |= 1u << level;
	else
		w->awaited &= ~(1u << level);
	w->above = WHEEL_NEVER;
	for (awaited = w->awaited; awaited != 0; awaited &= awaited - 1) {
		level = (unsigned int)__builtin_ctz(awaited);
		if (w->at[level] > w->above)
			continue;
		w->above = w->at[level];
		w->level = level;
	}
	w->next = RTE_MIN(w->above, w->at[0]);
}

/* The same for level 0. */
static void
take_at(struct wheel *w, uint64_t tick)
{
	w->at[0] = tick;
	w->next = RTE_MIN(w->above, tick);
}

/* W3: something is to be done on this level at that tick. */
static void
bound(struct wheel *w, unsigned int level, uint64_t tick)
{
	if (tick >= w->at[level])
		return;
	if (level == 0)
		take_at(w, tick);
	else
		look_at(w, level, tick);
}

/*
 * The tick at which a slot comes: on level 0 its own, above that the one at which it
 * opens. A tick late: no slot begins there, so `now` gets there with no timer left
 * behind on another level.
 */
static uint64_t
comes_at(unsigned int level, uint64_t slot)
{
	return level == 0 ? slot : ((slot - 1) << WHEEL_BITS * level) + 1;
}

/*
 * Puts it on that level, in front of its slot's others or behind them. A slot's
 * first comes without a look at the head, which has long not been touched.
 */
static __rte_always_inline void
put(struct wheel *w, struct wheel_timer *t, unsigned int level, bool in_front)
{
	uint64_t slot = slot_at(RTE_MAX(t->due, w->now), level);
	unsigned int i = slot % WHEEL_SLOTS;
	struct list_link *head = slot_list(w, level, slot);

	if (!slot_used(w, level, slot)) {
		w->used[level][i / 64] |= UINT64_C(1) << i % 64;
		w->words[level] |= UINT64_C(1) << i / 64;
		list_init_one(head, &t->link);
		bound(w, level, comes_at(level, slot));
	} else if (in_front) {
		list_push_front(head, &t->link);
	} else {
		list_push_back(head, &t->link);
	}
}

void
weir__wheel_insert(struct wheel *w, struct wheel_timer *t, uint64_t due)
{
	t->due = due;
	weir__wheel_put_back(w, t);
}

void
weir__wheel_put_back(struct wheel *w, struct wheel_timer *t)
{
	w->n++;
	put(w, t, level_of(w->now, RTE_MAX(t->due, w->now)), false);
}

/* W2. `at` and what follows from it stay: too early does no harm (W3). */
static inline void
take_off(struct wheel *w, struct wheel_timer *t, unsigned int level,
	 uint64_t slot)
{
	unsigned int i = slot % WHEEL_SLOTS;

	if (!list_alone(&t->link)) {
		list_remove(&t->link);
		return;
	}
	list_forget(&t->link);
	w->used[level][i / 64] &= ~(UINT64_C(1) << i % 64);
	if (w->used[level][i / 64] == 0)
		w->words[level] &= ~(UINT64_C(1) << i / 64);
}

void
weir__wheel_remove(struct wheel *w, struct wheel_timer *t)
{
	size_t place = 0;

	/* Of a slot's last timer, both links say which slot that is. */
	if (list_alone(&t->link))
		place = (size_t)(t->link.next - w->slots);
	take_off(w, t, (unsigned int)(place / WHEEL_SLOTS), place);
	w->n--;
}

/* The first slot of a level in use, from `slot` on; false if none is. */
static inline bool
first_used(const struct wheel *w, unsigned int level, uint64_t *slot)
{
	const unsigned int from = *slot % WHEEL_SLOTS;
	const uint64_t *used = w->used[level];
	unsigned int i = from / 64;
	uint64_t word = used[i] & ~UINT64_C(0) << from % 64, words;

	if (word == 0) {
		/* Those behind this word, or else from the first on, up to this one. */
		words = w->words[level] & -(UINT64_C(2) << i);
		if (words == 0)
			words = w->words[level];
		if (words == 0)
			return false;
		i = (unsigned int)__builtin_ctzll(words);
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

/*
 * Moves timers of an open slot to the level below, n at most. Not further, also if they
 * could: one that was inserted later may be there (W5).
 */
static __rte_always_inline void
move_down(struct wheel *w, unsigned int level, uint64_t slot, unsigned int n)
{
	struct wheel_timer *t;

	for (; n > 0 && slot_used(w, level, slot); n--) {
		t = timer_of(slot_list(w, level, slot)->prev);
		take_off(w, t, level, slot);
		put(w, t, level - 1, true);
	}
	if (slot_used(w, level, slot))
		w->open |= 1u << level;
	else
		w->open &= ~(1u << level);
}

/* A timer goes: as many move down on each level that has an open slot. */
static inline void
keep_pace(struct wheel *w)
{
	unsigned int open, level;

	for (open = w->open; open != 0; open &= open - 1) {
		level = (unsigned int)__builtin_ctz(open);
		move_down(w, level, slot_at(w->now, level) + 1, 1);
	}
}

/* As first_used(): when that slot comes, or WHEEL_NEVER. */
static uint64_t
first_comes_at(const struct wheel *w, unsigned int level, uint64_t *slot)
{
	return first_used(w, level, slot) ? comes_at(level, *slot) :
					    WHEEL_NEVER;
}

/*
 * What is to be done by `now` on a level above 0 when at[level] has come. False: the
 * slot begins by then, and more of it is to move before the wheel can go on, which has
 * come to it.
 */
static bool
tend(struct wheel *w, unsigned int level, uint64_t now)
{
	uint64_t slot = slot_at(w->now, level) + 1, begins;
	uint64_t told = w->at[level], comes;

	w->open &= ~(1u << level);
	comes = first_comes_at(w, level, &slot);
	/* A bound that was too early: others may come first. */
	if (comes > told) {
		look_at(w, level, comes);
		return true;
	}
	w->now = RTE_MAX(w->now, comes);
	begins = slot << WHEEL_BITS * level;
	move_down(w, level, slot, now < begins ? CHORE_TIMERS : WHEEL_MOST);
	if (!(w->open & 1u << level)) {
		look_at(w, level, first_comes_at(w, level, &slot));
		return true;
	}
	look_at(w, level,
		now < begins ? now + RTE_MIN(begins - now, CHORE_TICKS) :
			       begins);
	return now < begins || w->at[0] < begins;
}

/* The first timer of level 0 when at[0] has come; NULL: that was too early. */
static inline struct wheel_timer *
take_due(struct wheel *w)
{
	struct wheel_timer *t = NULL;
	uint64_t slot = w->at[0];

	/* W3: before that slot there is none. */
	if (slot_used(w, 0, slot)) {
		w->now = slot;
		t = timer_of(slot_list(w, 0, slot)->next);
		take_off(w, t, 0, slot);
		w->n--;
	}
	take_at(w, first_comes_at(w, 0, &slot));
	return t;
}

struct wheel_timer *
weir__wheel_advance(struct wheel *w, uint64_t now)
{
	struct wheel_timer *t;

	while (w->next <= now) {
		/* Of two levels, the higher comes first (W1). */
		if (w->above <= w->at[0]) {
			if (!tend(w, w->level, now))
				return NULL;
			continue;
		}
		t = take_due(w);
		if (t != NULL) {
			keep_pace(w);
			return t;
		}
	}
	w->now = RTE_MAX(w->now, now);
	return NULL;
}

const struct wheel_timer *
weir__wheel_peek(const struct wheel *w)
{
	/* A bound: where timers were removed, a slot before the first one's. */
	uint64_t slot = w->at[0];

	if (slot == WHEEL_NEVER || !slot_used(w, 0, slot))
		return NULL;
	return timer_of(w->slots[slot % WHEEL_SLOTS].next);
}

const struct wheel_timer *
weir__wheel_peek_down(struct wheel *w)
{
	/* Of a slot that is not open, the one after it is the next to open. */
	uint64_t slot = slot_at(w->now, 1) + (w->open >> 1 & 1 ? 1 : 2);

	if (!slot_used(w, 1, slot))
		return NULL;
	return timer_of(slot_list(w, 1, slot)->prev->prev);
}

struct wheel_timer *
weir__wheel_take(struct wheel *w)
{
	unsigned int level;
	struct wheel_timer *t;
	uint64_t slot;

	/* W5: of those of a tick, the first. */
	for (level = WHEEL_LEVELS; level-- > 0;) {
		slot = slot_at(w->now, level);
		if (!first_used(w, level, &slot))
			continue;
		t = timer_of(slot_list(w, level, slot)->next);
		weir__wheel_remove(w, t);
		return t;
	}
	return NULL;
}
