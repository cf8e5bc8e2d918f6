/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The timer wheel against a list. An input is where time begins, and then a
 * program of insertions, near and far, removals, and advances. Slots are few, so
 * that timers move through many levels.
 */

#include "fuzz.h"

#include <string.h>

/* Another target has more slots (fuzz_wheel_words.c). */
#ifndef WHEEL_BITS
#define WHEEL_BITS 2
#endif
#define WHEEL_MOST 3u
#include "time/wheel.c"

#define TIMERS 64

static struct wheel wheels[2];
static struct wheel *wheel; /* which has them all */
static struct wheel_timer timers[TIMERS];
static struct {
	bool in;
	uint64_t due;
	uint64_t comes;	    /* the same, or when a late one was inserted */
	unsigned int order; /* of insertion */
} model[TIMERS];
static uint64_t now;
static unsigned int nb_inserted;

/* Which comes first of those due by a tick; TIMERS: none is. */
static unsigned int
first_by(uint64_t tick)
{
	unsigned int i, best = TIMERS;

	for (i = 0; i < TIMERS; i++) {
		if (!model[i].in || model[i].due > tick)
			continue;
		if (best == TIMERS || model[i].due < model[best].due ||
		    (model[i].due == model[best].due &&
		     model[i].order < model[best].order))
			best = i;
	}
	return best;
}

/* A distance of any size, small ones more often than large ones. */
static uint64_t
distance(struct fuzz_input *in)
{
	return fuzz_u64(in) >> (fuzz_u8(in) % 64);
}

/* It has been put into the wheel, behind all others. */
static void
note_inserted(unsigned int i)
{
	model[i].in = true;
	model[i].comes = RTE_MAX(model[i].due, wheel->now);
	model[i].order = nb_inserted++;
}

static void
insert(struct fuzz_input *in, unsigned int i)
{
	uint64_t d = distance(in);

	if (model[i].in || d >= WHEEL_NEVER - now)
		return;
	/* Some are late already. */
	model[i].due = fuzz_u8(in) % 8 == 0 && now > d ? now - d : now + d;
	if (fuzz_u8(in) % 2 == 0)
		wheel_catch_up(wheel, now);
	weir__wheel_insert(wheel, &timers[i], model[i].due);
	note_inserted(i);
}

static void
take_out(unsigned int i)
{
	fuzz_check(wheel_contains(&timers[i]) == model[i].in);
	if (!model[i].in)
		return;
	weir__wheel_remove(wheel, &timers[i]);
	model[i].in = false;
}

/* To a tick, from bound to bound as a worker goes. */
static void
advance(uint64_t to)
{
	struct wheel_timer *t;
	uint64_t last = 0;
	unsigned int i, first, last_order = 0;

	while ((t = wheel_advance(wheel, to)) != NULL ||
	       wheel_next(wheel) <= to) {
		if (t == NULL)
			continue;
		i = (unsigned int)(t - timers);
		fuzz_check(i < TIMERS && model[i].in && model[i].due <= to);
		fuzz_check(model[i].comes > last ||
			   (model[i].comes == last &&
			    model[i].order >= last_order));
		last = model[i].comes;
		last_order = model[i].order;
		model[i].in = false;
	}
	now = to;
	first = first_by(now);
	fuzz_check(first == TIMERS);
	fuzz_check(wheel_next(wheel) > now);
	for (i = 0; i < TIMERS; i++)
		fuzz_check(!model[i].in || model[i].due >= wheel_next(wheel));
}

/* W2 */
static void
check_words(void)
{
	unsigned int level, i;
	uint64_t words;

	for (level = 0; level < WHEEL_LEVELS; level++) {
		words = 0;
		for (i = 0; i < WHEEL_WORDS; i++)
			words |= (uint64_t)(wheel->used[level][i] != 0) << i;
		fuzz_check(wheel->words[level] == words);
	}
}

static void
check_counts(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < TIMERS; i++)
		n += model[i].in;
	fuzz_check(wheel->n == n);
	check_words();
}

static void
step(struct fuzz_input *in)
{
	uint64_t d;

	switch (fuzz_below(in, 4)) {
	case 0:
	case 1:
		insert(in, fuzz_below(in, TIMERS));
		break;
	case 2:
		take_out(fuzz_below(in, TIMERS));
		break;
	case 3:
		d = distance(in);
		if (d < WHEEL_NEVER - 1 - now)
			advance(now + d);
		break;
	}
	check_counts();
}

/* Of a tick, the first comes first. NULL: it was the last. */
static struct wheel_timer *
take(struct wheel *from)
{
	struct wheel_timer *t = weir__wheel_take(from);
	unsigned int i, j;

	if (t == NULL)
		return NULL;
	i = (unsigned int)(t - timers);
	fuzz_check(i < TIMERS && model[i].in);
	for (j = 0; j < TIMERS; j++)
		fuzz_check(!model[j].in || model[j].due != model[i].due ||
			   model[j].order >= model[i].order);
	return t;
}

/* All of them, to a wheel that may not have come as far. */
static void
move(uint64_t lag)
{
	struct wheel *from = wheel;
	struct wheel_timer *t;

	wheel = &wheels[1];
	weir__wheel_init(wheel, now - RTE_MIN(now, lag));
	while ((t = take(from)) != NULL) {
		weir__wheel_put_back(wheel, t);
		note_inserted((unsigned int)(t - timers));
	}
	fuzz_check(from->n == 0);
	check_counts();
	while (wheel_next(wheel) != WHEEL_NEVER)
		advance(wheel_next(wheel));
	check_counts();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	unsigned int i;

	memset(timers, 0, sizeof(timers));
	memset(model, 0, sizeof(model));
	nb_inserted = 0;
	now = distance(&in) / 2;
	wheel = &wheels[0];
	weir__wheel_init(wheel, now);
	while (in.left > 0)
		step(&in);
	/* Not told by the input: what there is to be read has been. */
	if (nb_inserted % 2 == 0)
		move(nb_inserted % 4 == 0 ? 0 : nb_inserted * nb_inserted);
	for (i = 0; i < TIMERS; i++)
		take_out(i);
	fuzz_check(weir__wheel_take(wheel) == NULL);
	/* It looks for those that were removed, once on each level. */
	for (i = 0; wheel_next(wheel) != WHEEL_NEVER; i++) {
		fuzz_check(i < WHEEL_LEVELS);
		advance(wheel_next(wheel));
	}
	return 0;
}
