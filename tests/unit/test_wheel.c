/* SPDX-License-Identifier: BSD-3-Clause */

/* The timer wheel against a plain array. */

#include "unit.h"

#include <stdlib.h>

#include "base/rand.h"
#include "time/wheel.h"

#define TIMERS 200
#define STEPS 20000

static struct wheel wheel;

/* A timer, and when it was put in: 0 for one that is not in. */
static struct {
	struct wheel_timer t;
	uint64_t due;
	unsigned int turn;
} timers[TIMERS];

static unsigned int
in_wheel(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < TIMERS; i++)
		n += timers[i].turn != 0;
	return n;
}

static uint64_t
first_due(void)
{
	uint64_t first = WHEEL_NEVER;
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		if (timers[i].turn != 0)
			first = RTE_MIN(first, timers[i].due);
	return first;
}

static void
insert(unsigned int i, uint64_t due, unsigned int turn)
{
	weir__wheel_insert(&wheel, &timers[i].t, due);
	timers[i].due = due;
	timers[i].turn = turn;
}

static void
remove_timer(unsigned int i)
{
	weir__wheel_remove(&wheel, &timers[i].t);
	timers[i].turn = 0;
}

/* The next that is due, also where others have to move first. */
static struct wheel_timer *
take_due(uint64_t now)
{
	struct wheel_timer *t;

	do
		t = wheel_advance(&wheel, now);
	while (t == NULL && wheel_next(&wheel) <= now);
	return t;
}

/* Everything that is due by now comes, in order, and nothing else does. */
static void
advance(uint64_t now, uint64_t before)
{
	uint64_t last_due = 0;
	unsigned int last_turn = 0;
	struct wheel_timer *t;
	unsigned int i;

	while ((t = take_due(now)) != NULL) {
		i = (unsigned int)((char *)t - (char *)timers) /
		    sizeof(timers[0]);
		assert_true(timers[i].turn != 0);
		assert_true(timers[i].due <= now);
		assert_false(wheel_contains(t));
		/* Those that were late when they came lie with the present. */
		timers[i].due = RTE_MAX(timers[i].due, before);
		assert_true(timers[i].due > last_due ||
			    (timers[i].due == last_due &&
			     timers[i].turn > last_turn));
		last_due = timers[i].due;
		last_turn = timers[i].turn;
		timers[i].turn = 0;
	}
	assert_true(first_due() > now);
	assert_int_equal(wheel.n, in_wheel());
	/* Never too late; too early at most once for each level. */
	assert_true(wheel_next(&wheel) <= first_due());
}

static unsigned int
on_level(unsigned int level)
{
	const struct list_link *head, *l;
	unsigned int i, n = 0;

	for (i = 0; i < WHEEL_SLOTS; i++) {
		if (!(wheel.used[level][i / 64] >> i % 64 & 1))
			continue;
		head = &wheel.slots[level * WHEEL_SLOTS + i];
		for (l = head->next; l != head; l = l->next)
			n++;
	}
	return n;
}

/* When the first timer on level 0 is to be taken. */
static uint64_t
first_on_level_0(void)
{
	const struct list_link *head, *l;
	uint64_t first = WHEEL_NEVER, due;
	unsigned int i;

	for (i = 0; i < WHEEL_SLOTS; i++) {
		if (!(wheel.used[0][i / 64] >> i % 64 & 1))
			continue;
		head = &wheel.slots[i];
		for (l = head->next; l != head; l = l->next) {
			due = container_of(l, const struct wheel_timer, link)
				      ->due;
			first = RTE_MIN(first, RTE_MAX(due, wheel.now));
		}
	}
	return first;
}

static void
peek(void)
{
	const struct wheel_timer *t = weir__wheel_peek(&wheel);
	const uint64_t first = first_on_level_0();

	if (t != NULL)
		assert_int_equal(RTE_MAX(t->due, wheel.now), first);
	else
		assert_true(first == WHEEL_NEVER || wheel.at[0] < first);
	/* It is not looked at, since it may be none. */
	t = weir__wheel_peek_down(&wheel);
	assert_true(t == NULL || list_linked(&t->link));
}

/* Distances of all magnitudes. */
static uint64_t
random_distance(struct rand_state *r, unsigned int bits)
{
	uint64_t v = (uint64_t)rand_u32(r) << 32 | rand_u32(r);

	return v >> (64 - 1 - rand_below(r, bits));
}

static void
storm_from(uint64_t now, unsigned int bits, uint64_t seed)
{
	struct rand_state r;
	unsigned int turn, i;
	uint64_t to, due;

	rand_seed(&r, seed);
	weir__wheel_init(&wheel, now);
	for (turn = 1; turn <= STEPS; turn++) {
		i = rand_below(&r, TIMERS);
		switch (rand_below(&r, 4)) {
		case 0:
		case 1:
			if (timers[i].turn != 0)
				break;
			due = now + random_distance(&r, bits);
			/* Some are late already, some beyond the end. */
			if (rand_below(&r, 16) == 0)
				due = now - RTE_MIN(now, (uint64_t)i);
			insert(i, due < now && i % 2 ? UINT64_MAX : due, turn);
			break;
		case 2:
			if (timers[i].turn != 0)
				remove_timer(i);
			break;
		case 3:
			to = now + random_distance(&r, bits - 1);
			if (rand_below(&r, 2) == 0)
				to = RTE_MIN(first_due(), to);
			if (to < now || to >= UINT64_MAX - 1)
				break;
			if (rand_below(&r, 4) == 0)
				wheel_catch_up(&wheel, to);
			peek();
			advance(to, now);
			now = to;
			break;
		}
	}
	for (i = 0; i < TIMERS; i++)
		if (timers[i].turn != 0)
			remove_timer(i);
	assert_null(weir__wheel_take(&wheel));
}

static void
timers_come_when_they_are_due(void **state)
{
	const unsigned int bits[] = { 4, 9, 17, 33, 63 };
	uint64_t seed = unit_seed();
	unsigned int i;

	for (i = 0; i < RTE_DIM(bits); i++) {
		storm_from(0, bits[i], seed + i);
		/* Across a carry through many digits. */
		storm_from((UINT64_C(1) << 40) - 100, bits[i], seed + i);
	}
}

static void
time_that_passes_costs_nothing(void **state)
{
	struct wheel_timer t;

	weir__wheel_init(&wheel, 0);
	assert_null(wheel_advance(&wheel, UINT64_MAX / 2));
	assert_true(wheel_next(&wheel) == WHEEL_NEVER);
	weir__wheel_insert(&wheel, &t, UINT64_MAX - 1);
	assert_null(wheel_advance(&wheel, UINT64_MAX - 2));
	assert_ptr_equal(wheel_advance(&wheel, UINT64_MAX - 1), &t);
	/* It has moved down from each level: no bound is left of it that is early. */
	assert_true(wheel_next(&wheel) == WHEEL_NEVER);
}

/* An advance to wheel_next() that finds nothing brings a later wheel_next(). */
static void
early_bounds_are_few(void **state)
{
	struct wheel_timer t;
	unsigned int early = 0;
	uint64_t due = UINT64_C(0x0123456789abcdef);

	weir__wheel_init(&wheel, 0);
	weir__wheel_insert(&wheel, &t, due);
	while (wheel_advance(&wheel, wheel_next(&wheel)) == NULL)
		assert_true(++early < WHEEL_LEVELS);
	assert_int_equal(wheel.now, due);
}

/*
 * So many timers that their slots do not move down at once. In steps of some
 * ticks each comes with the step that reaches it, whatever the levels.
 */
static void
crowds_come_when_they_are_due(void **state)
{
	static struct wheel_timer crowd[20000];
	const uint64_t begin = (UINT64_C(1) << 3 * WHEEL_BITS) - 70000;
	uint64_t now = begin, last = begin;
	struct rand_state r;
	struct wheel_timer *t;
	unsigned int i, left = RTE_DIM(crowd);

	rand_seed(&r, unit_seed());
	weir__wheel_init(&wheel, begin);
	for (i = 0; i < RTE_DIM(crowd); i++)
		weir__wheel_insert(&wheel, &crowd[i],
				   begin + 1 + rand_below(&r, 300000));
	while (left > 0) {
		now += 1 + rand_below(&r, 200);
		while ((t = take_due(now)) != NULL) {
			assert_true(t->due > last && t->due <= now);
			left--;
		}
		last = now;
	}
}

/*
 * A slot that begins where one of the level above opens, and that too many are
 * in to have moved down by then.
 */
static void
a_crowd_comes_where_another_slot_opens(void **state)
{
	static struct wheel_timer crowd[1000];
	const uint64_t turn = UINT64_C(1) << 2 * WHEEL_BITS, begins = 3 * turn;
	uint64_t now = 0;
	struct wheel_timer far, *t;
	unsigned int i, left = RTE_DIM(crowd);

	weir__wheel_init(&wheel, 0);
	for (i = 0; i < RTE_DIM(crowd); i++)
		weir__wheel_insert(&wheel, &crowd[i], begins + i % WHEEL_TURN);
	weir__wheel_insert(&wheel, &far, begins + turn);
	while (left > 0) {
		now = RTE_MAX(now + 1, RTE_MIN(wheel_next(&wheel), begins - 1));
		for (; (t = take_due(now)) != NULL; left--)
			assert_int_equal(t->due, now);
	}
	assert_ptr_equal(wheel_advance(&wheel, begins + turn), &far);
}

/* Those of a slot of level 2 have moved down before the wheel comes to it. */
static void
a_crowd_moves_down_bit_by_bit(void **state)
{
	static struct wheel_timer crowd[1000];
	const uint64_t turn = UINT64_C(1) << 2 * WHEEL_BITS;
	uint64_t now = 0, begins = 3 * turn;
	unsigned int i, level_2, last, most = 0;

	weir__wheel_init(&wheel, 0);
	for (i = 0; i < RTE_DIM(crowd); i++)
		weir__wheel_insert(&wheel, &crowd[i], begins + i);
	last = RTE_DIM(crowd);
	while (now < begins - 1) {
		now = RTE_MIN(wheel_next(&wheel), begins - 1);
		assert_null(wheel_advance(&wheel, now));
		level_2 = on_level(2);
		most = RTE_MAX(most, last - level_2);
		last = level_2;
	}
	assert_int_equal(last, 0);
	assert_uint_in_range(most, 1, 32);
}

/* Time has jumped to where they are due. Those before them have not to wait. */
static void
a_slot_that_has_come_moves_down_in_parts(void **state)
{
	static struct wheel_timer crowd[4 * WHEEL_MOST];
	const uint64_t due = 5 * WHEEL_TURN + 1;
	struct wheel_timer early, *t;
	unsigned int i, left, parts = 1;

	weir__wheel_init(&wheel, 0);
	weir__wheel_insert(&wheel, &early, 10);
	for (i = 0; i < RTE_DIM(crowd); i++)
		weir__wheel_insert(&wheel, &crowd[i], due);
	assert_ptr_equal(wheel_advance(&wheel, due + 1), &early);
	for (; (t = wheel_advance(&wheel, due + 1)) == NULL; parts++) {
		assert_true(wheel_next(&wheel) <= due);
		/* As one before them goes, another moves. */
		left = RTE_DIM(crowd) - parts * WHEEL_MOST - (parts - 1);
		assert_int_equal(on_level(1), left);
		/* One that comes meanwhile, and is late. */
		weir__wheel_insert(&wheel, &early, due - 10);
		assert_ptr_equal(wheel_advance(&wheel, due + 1), &early);
	}
	assert_int_equal(parts, 4);
	for (i = 0; i < RTE_DIM(crowd); i++) {
		assert_ptr_equal(t, &crowd[i]);
		t = wheel_advance(&wheel, due + 1);
	}
	assert_null(t);
	assert_true(wheel_next(&wheel) == WHEEL_NEVER);
}

/* It is at hand, and the slot that has come as well does not begin before. */
static void
one_that_is_due_waits_for_no_part_of_a_slot(void **state)
{
	static struct wheel_timer crowd[3 * WHEEL_MOST];
	const uint64_t begins = 5 * WHEEL_TURN;
	struct wheel_timer early;
	unsigned int i;

	weir__wheel_init(&wheel, 0);
	for (i = 0; i < RTE_DIM(crowd); i++)
		weir__wheel_insert(&wheel, &crowd[i], begins + 1);
	wheel_catch_up(&wheel, begins - WHEEL_TURN - 10);
	weir__wheel_insert(&wheel, &early, begins - 5);
	assert_int_equal(on_level(1), RTE_DIM(crowd));
	assert_ptr_equal(wheel_advance(&wheel, begins + 1), &early);
	assert_null(wheel_advance(&wheel, begins + 1));
	assert_ptr_equal(wheel_advance(&wheel, begins + 1), &crowd[0]);
}

/*
 * W5: an older timer is on the way down from level 2 while a younger one of its tick is
 * on level 1. The wheel goes `step` ticks at a time, or to its end.
 */
static void
expect_order(uint64_t step)
{
	static struct wheel_timer crowd[2 * WHEEL_MOST + 10];
	const uint64_t turn = UINT64_C(1) << 2 * WHEEL_BITS;
	const uint64_t due = 2 * turn + 1, end = due + WHEEL_TURN;
	uint64_t now = turn - 10 * WHEEL_TURN;
	struct wheel_timer younger, *t;
	unsigned int i, n = 0;

	weir__wheel_init(&wheel, 0);
	for (i = 0; i < RTE_DIM(crowd); i++)
		weir__wheel_insert(&wheel, &crowd[i], due);
	wheel_catch_up(&wheel, now);
	weir__wheel_insert(&wheel, &younger, due);
	while (now < end) {
		now = RTE_MIN(now + step, end);
		while ((t = take_due(now)) != NULL) {
			assert_ptr_equal(t, n < RTE_DIM(crowd) ? &crowd[n] :
								 &younger);
			n++;
		}
	}
	assert_int_equal(n, RTE_DIM(crowd) + 1);
}

static void
timers_of_a_tick_keep_their_order_on_the_way_down(void **state)
{
	expect_order(UINT64_MAX / 2);
	expect_order(WHEEL_TURN);
	expect_order(WHEEL_TURN / 3);
}

static void
take_empties_a_wheel(void **state)
{
	struct wheel_timer t[3];
	unsigned int i;

	weir__wheel_init(&wheel, 7);
	for (i = 0; i < RTE_DIM(t); i++)
		weir__wheel_insert(&wheel, &t[i], UINT64_C(1) << 20 * i);
	for (i = RTE_DIM(t); i-- > 0;)
		assert_ptr_equal(weir__wheel_take(&wheel), &t[i]);
	assert_null(weir__wheel_take(&wheel));
	assert_int_equal(wheel.n, 0);
}

static void
take_keeps_the_order_of_a_tick(void **state)
{
	struct wheel_timer t[6];
	unsigned int i;

	/* As far as two levels: the second half goes where the first has come to. */
	weir__wheel_init(&wheel, 0);
	for (i = 0; i < RTE_DIM(t) / 2; i++)
		weir__wheel_insert(&wheel, &t[i], 1 << 20);
	assert_null(weir__wheel_advance(&wheel, (1 << 20) - 1));
	for (; i < RTE_DIM(t); i++)
		weir__wheel_insert(&wheel, &t[i], 1 << 20);
	for (i = 0; i < RTE_DIM(t); i++)
		assert_ptr_equal(weir__wheel_take(&wheel), &t[i]);
	assert_null(weir__wheel_take(&wheel));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_come_when_they_are_due),
		cmocka_unit_test(time_that_passes_costs_nothing),
		cmocka_unit_test(early_bounds_are_few),
		cmocka_unit_test(crowds_come_when_they_are_due),
		cmocka_unit_test(a_crowd_comes_where_another_slot_opens),
		cmocka_unit_test(a_crowd_moves_down_bit_by_bit),
		cmocka_unit_test(a_slot_that_has_come_moves_down_in_parts),
		cmocka_unit_test(one_that_is_due_waits_for_no_part_of_a_slot),
		cmocka_unit_test(
			timers_of_a_tick_keep_their_order_on_the_way_down),
		cmocka_unit_test(take_empties_a_wheel),
		cmocka_unit_test(take_keeps_the_order_of_a_tick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
