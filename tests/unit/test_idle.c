/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "rig.h"
#include "sched/idle.h"

static unsigned int
searching(const struct idle *idle)
{
	return atomic_u32_load(&idle->state, RELAXED) >> 16;
}

static unsigned int
sleeping(const struct idle *idle)
{
	return atomic_u32_load(&idle->state, RELAXED) & 0xffff;
}

static unsigned int
bits(const struct idle *idle)
{
	unsigned int i, n = 0;

	for (i = 0; i < IDLE_WORDS; i++)
		n += __builtin_popcountll(
			atomic_u64_load(&idle->sleepers[i], RELAXED));
	return n;
}

/* D1 and D2, when nobody is in the middle of anything. */
static void
expect(const struct idle *idle, unsigned int searchers, unsigned int sleepers)
{
	assert_int_equal(searching(idle), searchers);
	assert_int_equal(sleeping(idle), sleepers);
	assert_int_equal(bits(idle), sleepers);
}

static void
at_most_half_search(void **state)
{
	struct idle idle;
	unsigned int n, i;

	for (n = 1; n <= 9; n++) {
		weir__idle_init(&idle, n);
		for (i = 0; i < (n + 1) / 2; i++)
			assert_true(weir__idle_start_searching(&idle));
		assert_false(weir__idle_start_searching(&idle));
		expect(&idle, (n + 1) / 2, 0);
		weir__idle_stop_searching(&idle);
		assert_true(weir__idle_start_searching(&idle));
	}
}

static void
last_searcher_is_told(void **state)
{
	struct idle idle;

	weir__idle_init(&idle, 6);
	assert_true(weir__idle_start_searching(&idle));
	assert_true(weir__idle_start_searching(&idle));
	assert_true(weir__idle_start_searching(&idle));
	assert_false(weir__idle_stop_searching(&idle));
	assert_false(weir__idle_sleep(&idle, 0, true));
	assert_true(weir__idle_stop_searching(&idle));
	expect(&idle, 0, 1);
	/* D3: the last one that goes to sleep as well. */
	assert_true(weir__idle_start_searching(&idle));
	assert_true(weir__idle_sleep(&idle, 1, true));
	expect(&idle, 0, 2);
}

static void
sleeping_without_a_search_is_not_last(void **state)
{
	struct idle idle;

	weir__idle_init(&idle, 2);
	assert_false(weir__idle_sleep(&idle, 0, false));
	assert_false(weir__idle_sleep(&idle, 1, false));
	expect(&idle, 0, 2);
}

/* D3: there is nobody else who could be the last one. */
static void
who_is_alone_is_last_without_a_search(void **state)
{
	struct idle idle;

	weir__idle_init(&idle, 1);
	assert_true(weir__idle_sleep(&idle, 0, false));
	expect(&idle, 0, 1);
	/* Not so once another has come. */
	assert_false(weir__idle_wake_self(&idle, 0));
	weir__idle_add_worker(&idle);
	assert_false(weir__idle_sleep(&idle, 0, false));
	expect(&idle, 0, 1);
}

static void
notify_claims_one_sleeper_as_searcher(void **state)
{
	struct idle idle;
	unsigned int bit;

	weir__idle_init(&idle, 4);
	assert_true(idle_all_awake(&idle));
	assert_false(weir__idle_notify(&idle, NULL, &bit));
	weir__idle_sleep(&idle, 1, false);
	weir__idle_sleep(&idle, 2, false);
	weir__idle_sleep(&idle, 3, false);
	assert_false(idle_all_awake(&idle));
	assert_true(weir__idle_notify(&idle, NULL, &bit));
	expect(&idle, 1, 2);
	assert_true(weir__idle_claimed(&idle, bit));
	assert_int_equal(weir__idle_claimed(&idle, 1) +
				 weir__idle_claimed(&idle, 2) +
				 weir__idle_claimed(&idle, 3),
			 1);
}

/* The last ones that can be told apart among them. */
static void
notify_claims_a_preferred_sleeper_if_there_is_one(void **state)
{
	const unsigned int near = RTE_MAX_LCORE - 1;
	uint64_t preferred[IDLE_WORDS] = { UINT64_C(1) << 5 };
	struct idle idle;
	unsigned int bit;

	preferred[near / 64] |= UINT64_C(1) << near % 64;
	weir__idle_init(&idle, RTE_MAX_LCORE);
	weir__idle_sleep(&idle, 0, false);
	weir__idle_sleep(&idle, 1, false);
	weir__idle_sleep(&idle, near, false);
	assert_true(weir__idle_notify(&idle, preferred, &bit));
	assert_int_equal(bit, near);
	weir__idle_stop_searching(&idle);
	/* None of them is left. */
	assert_true(weir__idle_notify(&idle, preferred, &bit));
	assert_uint_in_range(bit, 0, 1);
	weir__idle_stop_searching(&idle);
	weir__idle_sleep(&idle, 5, false);
	assert_true(weir__idle_notify(&idle, preferred, &bit));
	assert_int_equal(bit, 5);
	expect(&idle, 1, 1);
}

static void
notify_is_not_needed_while_someone_searches(void **state)
{
	struct idle idle;
	unsigned int bit;

	weir__idle_init(&idle, 4);
	weir__idle_sleep(&idle, 0, false);
	weir__idle_sleep(&idle, 1, false);
	assert_true(weir__idle_start_searching(&idle));
	assert_false(weir__idle_notify(&idle, NULL, &bit));
	expect(&idle, 1, 2);
	assert_true(weir__idle_stop_searching(&idle));
	assert_true(weir__idle_notify(&idle, NULL, &bit));
	/* The one that was claimed searches. */
	assert_false(weir__idle_notify(&idle, NULL, &bit));
	expect(&idle, 1, 1);
	assert_true(weir__idle_stop_searching(&idle));
	assert_true(weir__idle_notify(&idle, NULL, &bit));
	expect(&idle, 1, 0);
}

static void
sleeper_gets_up_by_itself(void **state)
{
	struct idle idle;

	weir__idle_init(&idle, 2);
	weir__idle_sleep(&idle, 0, false);
	weir__idle_sleep(&idle, 1, false);
	assert_false(weir__idle_wake_self(&idle, 1));
	expect(&idle, 0, 1);
	assert_false(weir__idle_claimed(&idle, 0));
	assert_false(weir__idle_wake_self(&idle, 0));
	expect(&idle, 0, 0);
}

static void
sleeper_that_was_claimed_gets_up_searching(void **state)
{
	struct idle idle;
	unsigned int bit;

	weir__idle_init(&idle, 2);
	weir__idle_sleep(&idle, 0, false);
	assert_true(weir__idle_notify(&idle, NULL, &bit));
	assert_true(weir__idle_claimed(&idle, 0));
	assert_true(weir__idle_wake_self(&idle, 0));
	expect(&idle, 1, 0);
	weir__idle_stop_searching(&idle);

	/* The claim is given back if it turns out to be another's. */
	weir__idle_sleep(&idle, 0, false);
	weir__idle_sleep(&idle, 1, false);
	assert_true(weir__idle_notify(&idle, NULL, &bit));
	assert_true(weir__idle_claimed(&idle, 0));
	assert_true(weir__idle_wake_self(&idle, 0));
	expect(&idle, 1, 1);
	assert_false(weir__idle_claimed(&idle, 1));
}

static void
sleepers_of_all_words_are_found(void **state)
{
	struct idle idle;
	unsigned int bit;
	unsigned int i;

	weir__idle_init(&idle, RTE_MAX_LCORE);
	for (i = 0; i < RTE_MAX_LCORE; i++)
		weir__idle_sleep(&idle, i, false);
	expect(&idle, 0, RTE_MAX_LCORE);
	for (i = 0; i < RTE_MAX_LCORE; i++) {
		assert_true(weir__idle_notify(&idle, NULL, &bit));
		assert_int_equal(bit, i);
		assert_true(weir__idle_stop_searching(&idle));
	}
	assert_false(weir__idle_notify(&idle, NULL, &bit));
	expect(&idle, 0, 0);
}

struct riser {
	struct idle idle;
	struct atomic_u32 up;
};

static void *
rise(void *arg)
{
	struct riser *r = arg;

	weir__idle_wake_self(&r->idle, 1);
	rig_set(&r->up, 1);
	return NULL;
}

/*
 * Workers 0 and 1 get up while a notifier is at work. Worker 0 has lowered the
 * count, and so has the notifier, which has then cleared the bit of worker 0.
 * Worker 1 thus sees no count, and a bit of its own, which nobody clears:
 * worker 0 gives its claim back.
 */
static void
getting_up_takes_a_claim_that_is_given_back(void **state)
{
	pthread_t thread;
	unsigned int i;
	struct riser r;

	weir__idle_init(&r.idle, 2);
	rig_set(&r.up, 0);
	weir__idle_sleep(&r.idle, 1, false);
	atomic_u32_fetch_sub(&r.idle.state, 1, RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, rise, &r), 0);
	/* Likely it has looked by then; if not, it must get up all the same. */
	for (i = 0; i < 1000; i++)
		sched_yield();
	atomic_u32_fetch_add(&r.idle.state, 1, RELEASE);
	rig_wait_until(rig_get(&r.up));
	pthread_join(thread, NULL);
	expect(&r.idle, 0, 0);
}

#define WORKERS 4
#define NOTIFIERS 2
#define ROUNDS 20000u

struct stress {
	struct idle idle;
	struct atomic_u32 next;
	struct atomic_u32 done; /* workers that have had all their rounds */
	struct atomic_u32 claims;
	uint64_t seed;
};

/*
 * What worker.c does around its sleep, with dice in place of work; and on and on until
 * somebody has been claimed.
 */
static void
work(struct stress *s, unsigned int bit, struct rand_state *r)
{
	struct idle *idle = &s->idle;
	unsigned int patience;
	bool is_searching;
	uint32_t i;

	for (i = 0; i < ROUNDS || rig_get(&s->claims) == 0; i++) {
		is_searching = rand_below(r, 4) == 0 &&
			       weir__idle_start_searching(idle);
		weir__idle_sleep(idle, bit, is_searching);
		if (rand_below(r, 32) == 0)
			sched_yield();
		patience = rand_below(r, 30);
		while (!weir__idle_claimed(idle, bit) && patience > 0)
			patience--;
		if (patience > 0) {
			is_searching = true;
		} else {
			is_searching = weir__idle_wake_self(idle, bit);
		}
		if (is_searching)
			weir__idle_stop_searching(idle);
	}
	rig_add(&s->done, 1);
}

static void *
work_or_notify(void *arg)
{
	struct stress *s = arg;
	unsigned int bit;
	struct rand_state r;
	uint32_t index;

	index = atomic_u32_fetch_add(&s->next, 1, RELAXED);
	rand_seed(&r, s->seed + index);
	if (index < WORKERS) {
		work(s, index, &r);
		return NULL;
	}
	rig_wait_until(rig_get(&s->done) == WORKERS ||
		       (weir__idle_notify(&s->idle, NULL, &bit) &&
			(rig_add(&s->claims, 1), false)));
	return NULL;
}

static void
getting_up_and_being_claimed_do_not_collide(void **state)
{
	struct stress s;

	memset(&s, 0, sizeof(s));
	s.seed = unit_seed();
	weir__idle_init(&s.idle, WORKERS);
	rig_threads(WORKERS + NOTIFIERS, work_or_notify, &s);
	print_message("# %u claims\n", rig_get(&s.claims));
	expect(&s.idle, 0, 0);
}

/* Nobody notifies any more when the last ones get up, as in a shutdown. */
static void *
rise_together(void *arg)
{
	struct stress *s = arg;
	unsigned int bit;
	uint32_t index;

	index = atomic_u32_fetch_add(&s->next, 1, RELAXED);
	if (index < WORKERS)
		weir__idle_sleep(&s->idle, index, false);
	rig_add(&s->done, 1);
	rig_wait_until(rig_get(&s->done) == WORKERS + 1);
	if (index == WORKERS)
		weir__idle_notify(&s->idle, NULL, &bit);
	else if (weir__idle_wake_self(&s->idle, index))
		weir__idle_stop_searching(&s->idle);
	return NULL;
}

static void
all_get_up_although_one_is_claimed(void **state)
{
	unsigned int round;
	struct stress s;

	for (round = 0; round < 500; round++) {
		memset(&s, 0, sizeof(s));
		weir__idle_init(&s.idle, WORKERS);
		rig_threads(WORKERS + 1, rise_together, &s);
		assert_int_equal(sleeping(&s.idle), 0);
		assert_int_equal(bits(&s.idle), 0);
		assert_int_equal(searching(&s.idle), 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_most_half_search),
		cmocka_unit_test(last_searcher_is_told),
		cmocka_unit_test(sleeping_without_a_search_is_not_last),
		cmocka_unit_test(who_is_alone_is_last_without_a_search),
		cmocka_unit_test(notify_claims_one_sleeper_as_searcher),
		cmocka_unit_test(
			notify_claims_a_preferred_sleeper_if_there_is_one),
		cmocka_unit_test(notify_is_not_needed_while_someone_searches),
		cmocka_unit_test(sleeper_gets_up_by_itself),
		cmocka_unit_test(sleeper_that_was_claimed_gets_up_searching),
		cmocka_unit_test(sleepers_of_all_words_are_found),
		cmocka_unit_test(getting_up_and_being_claimed_do_not_collide),
		cmocka_unit_test(all_get_up_although_one_is_claimed),
		cmocka_unit_test(getting_up_takes_a_claim_that_is_given_back),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
