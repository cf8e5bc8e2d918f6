/* SPDX-License-Identifier: BSD-3-Clause */

/* Parties that wait for each other. */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include "before_wake.h"
#include "waiter.h"

static struct weir_barrier barrier;

static int
arrive(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_barrier_wait(ctx, what, wait);
}

static int
arrive_now(void)
{
	return weir_barrier_wait(NULL, &barrier, NULL);
}

static int
setup(void **state)
{
	assert_int_equal(weir_barrier_init(&barrier, 3), 0);
	return rig_setup(state);
}

static int
teardown(void **state)
{
	weir_barrier_fini(&barrier);
	return rig_teardown(state);
}

static void
all_go_on_with_the_last_which_leads(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;
	unsigned int round;

	for (round = 0; round < 3; round++) {
		join = waiter_spawn(rig.rt, arrive, &barrier);
		thread = waiter_thread_start(arrive, &barrier);
		waiter_wait_for(&barrier, 2);
		assert_int_equal(arrive_now(), 1);
		assert_int_equal(waiter_join(join), 0);
		assert_int_equal(waiter_thread_join(thread), 0);
	}
}

static void
task_can_be_the_leader(void **state)
{
	struct weir_join *joins[2];
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, arrive, &barrier);
	waiter_wait_for(&barrier, RTE_DIM(joins));
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, arrive, &barrier)),
			 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
}

static void
no_parties_are_refused_and_one_waits_for_nobody(void **state)
{
	struct weir_barrier alone;

	assert_int_equal(weir_barrier_init(&alone, 0), -EINVAL);
	assert_int_equal(weir_barrier_init(&alone, 1), 0);
	assert_int_equal(weir_barrier_wait(NULL, &alone, NULL), 1);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, arrive, &alone)), 1);
	weir_barrier_fini(&alone);
}

static void
who_gives_up_has_not_arrived(void **state)
{
	struct weir_join *first, *second, *third;

	first = waiter_spawn(rig.rt, arrive, &barrier);
	waiter_wait_for(&barrier, 1);
	second = waiter_spawn(rig.rt, arrive, &barrier);
	waiter_wait_for(&barrier, 2);
	waiter_abort(first);
	third = waiter_spawn(rig.rt, arrive, &barrier);
	waiter_wait_for(&barrier, 2);
	assert_int_equal(arrive_now(), 1);
	assert_int_equal(waiter_join(second), 0);
	assert_int_equal(waiter_join(third), 0);
}

/* A round takes all three parties. */
static void
check_round(void)
{
	struct weir_join *joins[2];
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++) {
		joins[i] = waiter_spawn(rig.rt, arrive, &barrier);
		waiter_wait_for(&barrier, i + 1);
	}
	assert_int_equal(arrive_now(), 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
}

static void
who_gives_up_when_the_round_is_over_was_in_it(void **state)
{
	struct rig_blockers b;
	struct weir_join *join;
	struct waiter_thread *thread;

	join = waiter_spawn(rig.rt, arrive, &barrier);
	thread = waiter_thread_start(arrive, &barrier);
	waiter_wait_for(&barrier, 2);
	rig_block(&b, rig.rt);
	assert_int_equal(arrive_now(), 1);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(waiter_thread_join(thread), 0);
	check_round();
}

static struct weir_join *crowd[BEFORE_WAKE_CROWD];

/* The round is over, and it is in line still: more wait than fit one batch. */
static void
last_of_the_crowd_gives_up(void)
{
	assert_true(waiters(&barrier) > 0);
	waiter_abort(crowd[RTE_DIM(crowd) - 1]);
}

static void
who_gives_up_while_others_are_let_go_was_in_the_round(void **state)
{
	unsigned int i, round;

	weir_barrier_fini(&barrier);
	assert_int_equal(weir_barrier_init(&barrier, RTE_DIM(crowd) + 1), 0);
	for (round = 0; round < 2; round++) {
		for (i = 0; i < RTE_DIM(crowd); i++) {
			crowd[i] = waiter_spawn(rig.rt, arrive, &barrier);
			waiter_wait_for(&barrier, i + 1);
		}
		before_wake(last_of_the_crowd_gives_up);
		assert_int_equal(arrive_now(), 1);
		assert_true(before_wake_called());
		for (i = 0; i < RTE_DIM(crowd) - 1; i++)
			assert_int_equal(waiter_join(crowd[i]), 0);
	}
}

static void
close_wakes_every_waiter(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;

	check_round();
	join = waiter_spawn(rig.rt, arrive, &barrier);
	thread = waiter_thread_start(arrive, &barrier);
	waiter_wait_for(&barrier, 2);
	weir_barrier_close(&barrier);
	assert_int_equal(waiter_join(join), -EPIPE);
	assert_int_equal(waiter_thread_join(thread), -EPIPE);
	weir_barrier_close(&barrier);
	assert_int_equal(arrive_now(), -EPIPE);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, arrive, &barrier)),
			 -EPIPE);
}

/* Refused, it has not arrived either. */
static void
workers_may_not_block_nor_waits_be_used_twice(void **state)
{
	waiter_check_refusals(rig.rt, arrive, &barrier);
	check_round();
}

#define TASKS 10
#define THREADS 2
#define ROUNDS 300

/* Where each party is: plain memory, that the barrier guards. */
static unsigned int at[TASKS + THREADS];
static unsigned int leaders;
static struct rig_log seen; /* `polls` that were right, `drops` that were not */

struct party {
	unsigned int me;
	unsigned int round;
	bool met;
	struct weir_wait wait;
};

static void
check_all_are_at(unsigned int round)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(at); i++)
		rig_add(at[i] == round ? &seen.polls : &seen.drops, 1);
}

/* Says where it is, meets the others, looks where they are, meets them again. */
static int
party_go(struct weir_context *ctx, struct party *p)
{
	int rc;

	while (p->round < ROUNDS) {
		/* Before it arrives, and not again when it is polled after. */
		if (!p->met && at[p->me] != p->round)
			at[p->me] = p->round;
		rc = weir_barrier_wait(ctx, &barrier,
				       ctx == NULL ? NULL : &p->wait);
		if (rc < 0)
			return rc;
		if (p->met) {
			p->round++;
		} else {
			if (rc == 1)
				leaders++;
			check_all_are_at(p->round);
		}
		p->met = !p->met;
	}
	return WEIR_DONE;
}

static int
party_poll(struct weir_context *ctx, void *state)
{
	return party_go(ctx, state);
}

static const struct weir_task_ops party_ops = {
	.name = "party",
	.state_size = sizeof(struct party),
	.poll = party_poll,
};

static struct atomic_u32 next_thread;

static void *
party_thread(void *arg)
{
	struct party p = {
		.me = TASKS + atomic_u32_fetch_add(&next_thread, 1, RELAXED),
	};

	party_go(NULL, &p);
	return NULL;
}

static void
parties_see_what_the_others_did(void **state)
{
	struct weir_join *joins[TASKS];
	unsigned int i;

	leaders = 0;
	memset(at, -1, sizeof(at));
	seen = (struct rig_log){};
	atomic_u32_store(&next_thread, 0, RELAXED);
	weir_barrier_fini(&barrier);
	assert_int_equal(weir_barrier_init(&barrier, TASKS + THREADS), 0);
	for (i = 0; i < TASKS; i++) {
		struct party p = { .me = i };

		joins[i] = weir_task_spawn(rig.rt, &party_ops, &p, NULL);
		assert_non_null(joins[i]);
	}
	rig_threads(THREADS, party_thread, NULL);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_equal(leaders, ROUNDS);
	assert_int_equal(rig_get(&seen.drops), 0);
	assert_int_equal(rig_get(&seen.polls),
			 ROUNDS * RTE_DIM(at) * RTE_DIM(at));
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_go_on_with_the_last_which_leads, 1),
		TEST(all_go_on_with_the_last_which_leads, 2),
		TEST(task_can_be_the_leader, 2),
		TEST(no_parties_are_refused_and_one_waits_for_nobody, 1),
		TEST(who_gives_up_has_not_arrived, 2),
		TEST(who_gives_up_when_the_round_is_over_was_in_it, 2),
		TEST(who_gives_up_while_others_are_let_go_was_in_the_round, 2),
		TEST(close_wakes_every_waiter, 2),
		TEST(workers_may_not_block_nor_waits_be_used_twice, 1),
		TEST(parties_see_what_the_others_did, 1),
		TEST(parties_see_what_the_others_did, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
