/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tasks that look at their source again instead of waiting: source_wait.c, U1
 * and U2, and where their worker puts them meanwhile.
 */

#include "unit.h"

#include <errno.h>

#include "park/source.h"
#include "rig.h"
#include "weir_null.h"

#define HOPS 10000u

/*
 * Two tasks that throw a ball. Each throw counts it down, and the last one is
 * kept.
 */
struct player {
	struct weir_null *own;
	struct weir_null *other;
};

static struct weir_null *sources[2];
static struct weir_join *players[2];
static struct atomic_u32 hops;
static struct atomic_u32 turns;

static int
play(struct weir_context *ctx, void *state)
{
	struct player *p = state;
	int n;

	rig_add(&turns, 1);
	for (;;) {
		n = weir_null_recv(ctx, p->own);
		if (n < 0)
			return n;
		rig_add(&hops, 1);
		if (n > 1)
			weir_null_post(p->other, (unsigned int)n - 1);
	}
}

static const struct weir_task_ops player_ops = {
	.name = "player",
	.state_size = sizeof(struct player),
	.poll = play,
};

static struct weir_source *
source(unsigned int i)
{
	return weir_null_source(sources[i]);
}

static struct weir_source_stats
stats_of(struct weir_null *null)
{
	struct weir_source_stats stats;

	weir_source_stats_get(weir_null_source(null), &stats);
	return stats;
}

static uint64_t
events(void)
{
	return stats_of(sources[0]).events + stats_of(sources[1]).events;
}

static void
await_armed(unsigned int i)
{
	rig_wait_until(atomic_u32_load(&source(i)->armed, ACQUIRE) != 0);
}

/* Both wait, and have been looked at in vain. */
static void
await_quiet(void)
{
	uint64_t before;
	unsigned int i;

	for (i = 0; i < RTE_DIM(sources); i++) {
		await_armed(i);
		before = stats_of(sources[i]).polls;
		rig_wait_until(stats_of(sources[i]).polls >
			       before + SOURCE_FEW_LOOKS);
	}
}

static void
spawn_players(unsigned int affinity, unsigned int worker)
{
	struct weir_spawn_attr attr = { .affinity = affinity,
					.worker = worker };
	unsigned int i;

	for (i = 0; i < RTE_DIM(players); i++) {
		struct player p = { sources[i], sources[1 - i] };

		players[i] = weir_task_spawn(rig.rt, &player_ops, &p, &attr);
		assert_non_null(players[i]);
	}
	await_quiet();
	rig_set(&hops, 0);
	rig_set(&turns, 0);
}

static int
setup(void **state)
{
	unsigned int i;

	rig_setup(state);
	for (i = 0; i < RTE_DIM(sources); i++) {
		sources[i] = weir_null_create(rig.rt, 0);
		assert_non_null(sources[i]);
		players[i] = NULL;
	}
	return 0;
}

static int
teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(sources); i++) {
		weir_source_close(source(i), ECANCELED);
		if (players[i] != NULL)
			assert_int_equal(rig_join(players[i], NULL),
					 -ECANCELED);
	}
	for (i = 0; i < RTE_DIM(sources); i++)
		weir_null_free(sources[i]);
	return rig_teardown(state);
}

static void
play_ball(unsigned int n)
{
	weir_null_post(sources[0], n);
	rig_wait_until(rig_get(&hops) == n);
}

/* U1 */
static void
who_always_finds_something_is_not_woken(void **state)
{
	spawn_players(WEIR_AFFINITY_ANY, 0);
	play_ball(HOPS);
	assert_uint_in_range(events(), 1, HOPS / 100);
	/* Nor does it look in vain. */
	assert_uint_in_range(rig_get(&turns), HOPS, HOPS + HOPS / 100);
	/* And it waits when it is over. */
	await_quiet();
}

/* U1 */
static void
who_looks_in_vain_waits(void **state)
{
	unsigned int i;

	spawn_players(WEIR_AFFINITY_ANY, 0);
	play_ball(HOPS);
	await_quiet();
	rig_set(&turns, 0);
	for (i = 1; i <= 100; i++) {
		rig_set(&hops, 0);
		play_ball(1);
		await_quiet();
		assert_int_equal(rig_get(&turns), i);
	}
}

/* U2 */
static void
elsewhere_a_task_waits_for_the_home_worker(void **state)
{
	uint64_t before;

	spawn_players(WEIR_AFFINITY_WORKER, 1);
	before = events();
	play_ball(HOPS);
	/* But for those that a player finds who was kept out by a poll, and yielded. */
	assert_uint_in_range(events() - before, HOPS - HOPS / 100, HOPS);
}

/* worker.c, L1: a third, which waits, is looked at between two of their turns. */
static void
others_are_polled_meanwhile(void **state)
{
	struct weir_null *third = weir_null_create(rig.rt, 0);
	struct player p = { third, third };
	struct weir_join *join;
	uint64_t before;

	join = weir_task_spawn(rig.rt, &player_ops, &p, NULL);
	spawn_players(WEIR_AFFINITY_ANY, 0);
	before = stats_of(third).polls;
	play_ball(HOPS);
	assert_true(stats_of(third).polls - before >= HOPS / 2 - 10);
	weir_source_close(weir_null_source(third), ECANCELED);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_null_free(third);
}

static struct rig_log stuck_log;
static struct atomic_u32 stuck_go;
static struct weir_join *stuck;

static bool
is_quick(struct weir_source *src)
{
	bool quick;

	lock_acquire(&src->lock);
	quick = src->quick;
	lock_release(&src->lock);
	return quick;
}

/*
 * Plays until it is one that looks again. Then it has its worker get stuck when
 * its turn is over, and waits for one ball more.
 */
static int
play_and_stick(struct weir_context *ctx, void *state)
{
	struct rig_state stick = { .log = &stuck_log, .go = &stuck_go };
	struct player *p = state;
	int n;

	for (;;) {
		n = weir_null_recv(ctx, p->own);
		if (n < 0)
			return n;
		if (stuck != NULL)
			return WEIR_DONE;
		if (weir_context_worker(ctx) != 0 ||
		    !is_quick(weir_null_source(p->own))) {
			weir_null_post(p->other, 2);
			continue;
		}
		stuck = rig_spawn_on(rig.rt, 0, &rig_block_ops, &stick);
	}
}

/* Throws each ball back. */
static int
throw_back(struct weir_context *ctx, void *state)
{
	struct player *p = state;
	int n;

	while ((n = weir_null_recv(ctx, p->own)) >= 0)
		weir_null_post(p->other, 2);
	return n;
}

static void
who_looks_again_is_taken_from_a_stuck_worker(void **state)
{
	static const struct weir_task_ops first = {
		.name = "first",
		.state_size = sizeof(struct player),
		.poll = play_and_stick,
	};
	static const struct weir_task_ops second = {
		.name = "second",
		.state_size = sizeof(struct player),
		.poll = throw_back,
	};
	struct player a = { sources[0], sources[1] };
	struct player b = { sources[1], sources[0] };
	struct weir_join *join;

	stuck = NULL;
	rig_set(&stuck_go, 0);
	rig_set(&stuck_log.polls, 0);
	players[1] = weir_task_spawn(rig.rt, &second, &b, NULL);
	join = weir_task_spawn(rig.rt, &first, &a, NULL);
	weir_null_post(sources[0], 2);
	rig_wait_until(rig_get(&stuck_log.polls) == 1);
	weir_null_post(sources[0], 2);
	assert_int_equal(rig_join(join, NULL), 0);
	rig_set(&stuck_go, 1);
	assert_int_equal(rig_join(stuck, NULL), 0);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_always_finds_something_is_not_woken, 1),
		TEST(who_looks_in_vain_waits, 1),
		TEST(elsewhere_a_task_waits_for_the_home_worker, 2),
		TEST(others_are_polled_meanwhile, 1),
		TEST(who_looks_again_is_taken_from_a_stuck_worker, 2),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
