/* SPDX-License-Identifier: BSD-3-Clause */

/* What is initialised by the first that comes. */

#include "unit.h"

#include <errno.h>

#include "base/rand.h"
#include "before_wake.h"
#include "waiter.h"

static struct weir_once once;

static int
begin(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_once_begin(ctx, what, wait);
}

static int
begin_now(void)
{
	return weir_once_begin(NULL, &once, NULL);
}

static int
setup(void **state)
{
	weir_once_init(&once);
	return rig_setup(state);
}

static int
teardown(void **state)
{
	weir_once_fini(&once);
	return rig_teardown(state);
}

static void
first_initialises_and_others_wait(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *joins[40];
	unsigned int i;

	assert_int_equal(waiter_join(waiter_spawn(rig.rt, begin, &once)), 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, begin, &once);
	thread = waiter_thread_start(begin, &once);
	waiter_wait_for(&once, RTE_DIM(joins) + 1);
	assert_int_equal(weir_once_done(&once), 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
	assert_int_equal(waiter_thread_join(thread), 0);
	assert_int_equal(begin_now(), 0);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, begin, &once)), 0);
}

static void
plain_thread_may_be_the_first(void **state)
{
	struct weir_join *join;

	assert_int_equal(begin_now(), 1);
	join = waiter_spawn(rig.rt, begin, &once);
	waiter_wait_for(&once, 1);
	assert_int_equal(weir_once_done(&once), 0);
	assert_int_equal(waiter_join(join), 0);
}

static void
after_a_failure_the_next_in_line_tries(void **state)
{
	struct waiter_thread *second;
	struct weir_join *first, *third;

	assert_int_equal(begin_now(), 1);
	first = waiter_spawn(rig.rt, begin, &once);
	waiter_wait_for(&once, 1);
	second = waiter_thread_start(begin, &once);
	waiter_wait_for(&once, 2);
	third = waiter_spawn(rig.rt, begin, &once);
	waiter_wait_for(&once, 3);
	assert_int_equal(weir_once_fail(&once), 0);
	assert_int_equal(waiter_join(first), 1);
	assert_int_equal(waiters(&once), 2);
	assert_int_equal(weir_once_fail(&once), 0);
	assert_int_equal(waiter_thread_join(second), 1);
	assert_int_equal(waiters(&once), 1);
	assert_int_equal(weir_once_done(&once), 0);
	assert_int_equal(waiter_join(third), 0);
}

static void
after_a_failure_the_next_that_comes_tries(void **state)
{
	assert_int_equal(begin_now(), 1);
	assert_int_equal(weir_once_fail(&once), 0);
	assert_int_equal(begin_now(), 1);
	assert_int_equal(weir_once_done(&once), 0);
	assert_int_equal(begin_now(), 0);
}

static void
who_gives_up_in_line_is_passed_over(void **state)
{
	struct weir_join *first, *second;

	assert_int_equal(begin_now(), 1);
	first = waiter_spawn(rig.rt, begin, &once);
	waiter_wait_for(&once, 1);
	second = waiter_spawn(rig.rt, begin, &once);
	waiter_wait_for(&once, 2);
	waiter_abort(first);
	assert_int_equal(waiters(&once), 1);
	assert_int_equal(weir_once_fail(&once), 0);
	assert_int_equal(waiter_join(second), 1);
	assert_int_equal(weir_once_done(&once), 0);
}

/* It is the next, and ends before it knows; `end` is what comes before. */
static void
abort_when_let_go(int (*end)(struct weir_once *once))
{
	struct rig_blockers b;
	struct weir_join *join;

	assert_int_equal(begin_now(), 1);
	join = waiter_spawn(rig.rt, begin, &once);
	waiter_wait_for(&once, 1);
	rig_block(&b, rig.rt);
	assert_int_equal(end(&once), 0);
	assert_int_equal(waiters(&once), 0);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
}

static void
who_ends_before_it_initialises_leaves_that_to_the_next(void **state)
{
	abort_when_let_go(weir_once_fail);
	assert_int_equal(begin_now(), 1);
	assert_int_equal(weir_once_done(&once), 0);
}

static void
who_gives_up_after_it_is_done_changes_nothing(void **state)
{
	abort_when_let_go(weir_once_done);
	assert_int_equal(begin_now(), 0);
}

static void
end_without_a_begin_is_refused(void **state)
{
	assert_int_equal(weir_once_done(&once), -EINVAL);
	assert_int_equal(weir_once_fail(&once), -EINVAL);
	assert_int_equal(begin_now(), 1);
	assert_int_equal(weir_once_done(&once), 0);
	assert_int_equal(weir_once_done(&once), -EINVAL);
	assert_int_equal(weir_once_fail(&once), -EINVAL);
	assert_int_equal(begin_now(), 0);
}

static void
close_wakes_every_waiter(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;

	assert_int_equal(begin_now(), 1);
	join = waiter_spawn(rig.rt, begin, &once);
	thread = waiter_thread_start(begin, &once);
	waiter_wait_for(&once, 2);
	weir_once_close(&once);
	assert_int_equal(waiter_join(join), -EPIPE);
	assert_int_equal(waiter_thread_join(thread), -EPIPE);
	assert_int_equal(begin_now(), -EPIPE);
	assert_int_equal(weir_once_fail(&once), 0);
	assert_int_equal(begin_now(), -EPIPE);
}

static void
what_is_done_stays_done_when_closed(void **state)
{
	assert_int_equal(begin_now(), 1);
	weir_once_close(&once);
	assert_int_equal(weir_once_done(&once), 0);
	assert_int_equal(begin_now(), 0);
	weir_once_close(&once);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, begin, &once)), 0);
}

static void
close_it(void)
{
	assert_true(waiters(&once) > 0);
	weir_once_close(&once);
}

static void
who_waited_when_it_was_done_goes_on_when_closed(void **state)
{
	struct weir_join *joins[BEFORE_WAKE_CROWD];
	unsigned int i;

	assert_int_equal(begin_now(), 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, begin, &once);
	waiter_wait_for(&once, RTE_DIM(joins));
	before_wake(close_it);
	assert_int_equal(weir_once_done(&once), 0);
	assert_true(before_wake_called());
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
}

/* Uses its wait for something else afterwards. */
static int
begin_and_lock(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct weir_semaphore none;
	int rc;

	rc = weir_once_begin(ctx, what, wait);
	if (rc != 0)
		return rc;
	assert_int_equal(weir_semaphore_init(&none, 0), 0);
	rc = weir_semaphore_acquire(ctx, &none, 1, wait);
	weir_wait_cancel(wait);
	weir_semaphore_fini(&none);
	return rc == WEIR_PENDING ? 0 : rc;
}

static void
wait_that_has_ended_is_for_the_next(void **state)
{
	struct weir_join *join;

	assert_int_equal(begin_now(), 1);
	join = waiter_spawn(rig.rt, begin_and_lock, &once);
	waiter_wait_for(&once, 1);
	assert_int_equal(weir_once_done(&once), 0);
	assert_int_equal(waiter_join(join), 0);
}

static void
workers_may_not_block_nor_waits_be_used_twice(void **state)
{
	assert_int_equal(begin_now(), 1);
	waiter_check_refusals(rig.rt, begin, &once);
	assert_int_equal(weir_once_done(&once), 0);
}

/* More often than there is budget, and as a plain thread on a worker too. */
static int
begin_often(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	unsigned int i;

	for (i = 0; i < 1000; i++)
		if (weir_once_begin(ctx, what, wait) != 0 ||
		    weir_once_begin(NULL, what, NULL) != 0)
			return -EIO;
	return 0;
}

static void
once_done_it_costs_no_budget_and_never_blocks(void **state)
{
	assert_int_equal(begin_now(), 1);
	assert_int_equal(weir_once_done(&once), 0);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, begin_often, &once)),
			 0);
}

#define TASKS 24
#define ROUNDS 50

/* What is initialised, in plain memory, and by whom it was tried. */
static unsigned int value, tries, failures_left;

/* Initialises it, if it comes to that; the first few fail. */
static int
initialise_or_wait(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	int rc = weir_once_begin(ctx, what, wait);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return (int)value;
	tries++;
	if (failures_left > 0) {
		failures_left--;
		return weir_once_fail(what) == 0 ? -EAGAIN : -EIO;
	}
	value++;
	return weir_once_done(what) == 0 ? (int)value : -EIO;
}

static void
one_of_a_crowd_initialises(void **state)
{
	struct waiter_thread *threads[2];
	struct weir_join *joins[TASKS];
	unsigned int i, round, failed, failures, aborted;
	struct rand_state rand;
	int rc;

	rand_seed(&rand, unit_seed());
	for (round = 0; round < ROUNDS; round++) {
		weir_once_fini(&once);
		weir_once_init(&once);
		value = 0;
		tries = 0;
		failed = 0;
		failures = rand_below(&rand, 4);
		failures_left = failures;
		aborted = rand_below(&rand, TASKS / 2);
		for (i = 0; i < TASKS; i++)
			joins[i] =
				waiter_spawn(rig.rt, initialise_or_wait, &once);
		for (i = 0; i < RTE_DIM(threads); i++)
			threads[i] =
				waiter_thread_start(initialise_or_wait, &once);
		for (i = 0; i < aborted; i++)
			weir_join_abort(joins[i]);
		for (i = 0; i < TASKS; i++) {
			int out = rig_join(joins[i], &rc);

			assert_true(out == 0 ||
				    (i < aborted && out == -ECANCELED));
			failed += out == 0 && rc == -EAGAIN;
			assert_true(out != 0 || rc == -EAGAIN || rc == 1);
		}
		for (i = 0; i < RTE_DIM(threads); i++) {
			rc = waiter_thread_join(threads[i]);
			failed += rc == -EAGAIN;
			assert_true(rc == -EAGAIN || rc == 1);
		}
		assert_int_equal(value, 1);
		assert_int_equal(failed, failures);
		assert_int_equal(tries, failures + 1);
	}
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_initialises_and_others_wait, 1),
		TEST(first_initialises_and_others_wait, 2),
		TEST(plain_thread_may_be_the_first, 1),
		TEST(after_a_failure_the_next_in_line_tries, 2),
		TEST(after_a_failure_the_next_that_comes_tries, 1),
		TEST(who_gives_up_in_line_is_passed_over, 2),
		TEST(who_ends_before_it_initialises_leaves_that_to_the_next, 2),
		TEST(who_gives_up_after_it_is_done_changes_nothing, 2),
		TEST(end_without_a_begin_is_refused, 1),
		TEST(close_wakes_every_waiter, 2),
		TEST(what_is_done_stays_done_when_closed, 1),
		TEST(who_waited_when_it_was_done_goes_on_when_closed, 2),
		TEST(wait_that_has_ended_is_for_the_next, 1),
		TEST(workers_may_not_block_nor_waits_be_used_twice, 1),
		TEST(once_done_it_costs_no_budget_and_never_blocks, 1),
		TEST(one_of_a_crowd_initialises, 1),
		TEST(one_of_a_crowd_initialises, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
