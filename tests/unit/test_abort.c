/* SPDX-License-Identifier: BSD-3-Clause */

/* Abort handles, and what else is asked of a task from outside. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>

#include "rig.h"

static unsigned int
refs(const void *handle)
{
	return (unsigned int)state_refs(
		state_load(&((const struct task *)handle)->state));
}

static void
ended_says_whether_the_outcome_is_there(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_block_ops, &rig.told);
	uint32_t polls = 0;

	rig_wait_until(rig_get(&rig.log.polls) == 1);
	assert_false(weir_join_ended(join));
	rig_set(&rig.go, 1);
	rig_wait_until(weir_join_ended(join));
	assert_int_equal(weir_join_try(join, &polls), 0);
	assert_int_equal(polls, 1);
}

static void
handle_aborts_a_task_that_waits(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_abort *abort = weir_join_abort_handle(join);
	struct weir_waker *w = rig_take_waker(&rig.waker);

	assert_false(weir_abort_ended(abort));
	weir_abort_task(abort);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	assert_true(weir_abort_ended(abort));
	rig_expect_log(1, 1, 0);
	weir_abort_drop(abort);
	weir_waker_drop(w);
}

static void
handle_aborts_a_task_that_is_queued(void **state)
{
	struct weir_abort *abort;
	struct weir_join *join;
	struct rig_blockers b;

	rig_block(&b, rig.rt);
	join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	abort = weir_join_abort_handle(join);
	weir_abort_task(abort);
	weir_abort_task(abort);
	assert_false(weir_abort_ended(abort));
	rig_unblock(&b);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	weir_abort_drop(abort);
	rig_expect_log(0, 1, 0);
}

/* It ends at its next wait; one that needs none keeps its result. */
static void
handle_lets_a_running_poll_end(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_block_ops, &rig.told);
	struct weir_abort *abort = weir_join_abort_handle(join);
	uint32_t polls = 0;

	rig_wait_until(rig_get(&rig.log.polls) == 1);
	weir_abort_task(abort);
	assert_false(weir_abort_ended(abort));
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_wait(join, &polls), 0);
	assert_int_equal(polls, 1);
	assert_true(weir_abort_ended(abort));
	weir_abort_drop(abort);
	rig_expect_log(1, 1, 0);
}

static void
handle_of_an_ended_task_leaves_the_outcome(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	struct weir_abort *abort;
	uint32_t polls = 0;

	rig_wait_until(weir_join_ended(join));
	abort = weir_join_abort_handle(join);
	assert_true(weir_abort_ended(abort));
	weir_abort_task(abort);
	assert_int_equal(weir_join_try(join, &polls), 0);
	assert_int_equal(polls, 1);
	weir_abort_task(abort);
	weir_abort_drop(abort);
	weir_abort_drop(NULL);
}

static void
handle_outlives_the_join_handle(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_abort *abort = weir_join_abort_handle(join);

	weir_waker_drop(rig_take_waker(&rig.waker));
	weir_join_detach(join);
	assert_false(weir_abort_ended(abort));
	weir_abort_task(abort);
	rig_wait_until(weir_abort_ended(abort));
	rig_expect_log(1, 1, 0);
	weir_abort_drop(abort);
}

/* E2: it is no reason to keep the result. */
static void
detached_task_with_a_handle_drops_its_result(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_block_ops, &rig.told);
	struct weir_abort *abort = weir_join_abort_handle(join);

	weir_join_detach(join);
	rig_set(&rig.go, 1);
	rig_wait_until(rig_get(&rig.log.results_dropped) == 1);
	rig_wait_until(weir_abort_ended(abort));
	weir_abort_drop(abort);
	rig_expect_log(1, 1, 1);
}

static void
handles_are_references_of_their_own(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_abort *first, *second, *clone;

	weir_waker_drop(rig_take_waker(&rig.waker));
	/* The notification's is gone, too, once it waits. */
	rig_wait_until(refs(join) == 1);
	first = weir_join_abort_handle(join);
	second = weir_join_abort_handle(join);
	clone = weir_abort_clone(second);
	assert_int_equal(refs(join), 4);
	weir_abort_drop(first);
	weir_abort_drop(second);
	assert_int_equal(refs(join), 2);
	weir_abort_task(clone);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	/* The worker may be about to let its own go. */
	rig_wait_until(refs(clone) == 1);
	weir_abort_drop(clone);
}

static void
handle_outlives_the_runtime(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_abort *abort = weir_join_abort_handle(join), *clone;

	weir_waker_drop(rig_take_waker(&rig.waker));
	weir_join_detach(join);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	assert_true(weir_abort_ended(abort));
	clone = weir_abort_clone(abort);
	weir_abort_task(abort);
	weir_abort_drop(abort);
	weir_abort_task(clone);
	/* The last reference takes the rest of the runtime with it. */
	assert_true(rig_runtime_exists("weir"));
	weir_abort_drop(clone);
	assert_false(rig_runtime_exists("weir"));
	rig_expect_log(1, 1, 0);
}

/* Aborts a task that is given to it. */
static int
abort_poll(struct weir_context *ctx, void *state)
{
	struct weir_abort *abort = *(struct weir_abort **)state;

	weir_abort_task(abort);
	weir_abort_drop(abort);
	return WEIR_DONE;
}

static void
task_aborts_another(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "abort",
		.state_size = sizeof(struct weir_abort *),
		.poll = abort_poll,
	};
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_abort *abort = weir_join_abort_handle(join);

	weir_waker_drop(rig_take_waker(&rig.waker));
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &abort, NULL), 0);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	rig_expect_log(1, 1, 0);
}

#define ROUNDS 30u

struct race {
	struct atomic_u32 next;
	struct atomic_u32 ready;
	struct weir_abort *abort;
	struct weir_waker *waker;
};

/* One aborts, one wakes, one ends the runtime, from the same moment. */
static void *
abort_wake_or_end(void *arg)
{
	struct race *r = arg;
	uint32_t index = atomic_u32_fetch_add(&r->next, 1, RELAXED);

	rig_add(&r->ready, 1);
	rig_wait_until(rig_get(&r->ready) == 3);
	if (index == 0) {
		weir_abort_task(r->abort);
		weir_abort_drop(r->abort);
	} else if (index == 1) {
		weir_waker_wake(r->waker);
	} else {
		weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL);
	}
	return NULL;
}

/* E1 */
static void
abort_across_the_end_leaks_nothing(void **state)
{
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		struct race r = { .next = { 0 } };
		struct weir_join *join;

		if (round > 0)
			rig_setup(state);
		join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
		r.abort = weir_join_abort_handle(join);
		r.waker = rig_take_waker(&rig.waker);
		weir_join_detach(join);
		rig_threads(3, abort_wake_or_end, &r);
		weir_runtime_free(rig.rt);
		rig.rt = NULL;
		weir_waker_drop(atomic_ptr_exchange(&rig.waker, NULL, RELAXED));
		assert_int_equal(rig_get(&rig.log.drops), 1);
		assert_false(rig_runtime_exists("weir"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(ended_says_whether_the_outcome_is_there),
		RIG_TESTS(handle_aborts_a_task_that_waits),
		RIG_TESTS(handle_aborts_a_task_that_is_queued),
		RIG_TESTS(handle_lets_a_running_poll_end),
		RIG_TESTS(handle_of_an_ended_task_leaves_the_outcome),
		RIG_TESTS(handle_outlives_the_join_handle),
		RIG_TESTS(detached_task_with_a_handle_drops_its_result),
		RIG_TESTS(handles_are_references_of_their_own),
		RIG_TESTS(handle_outlives_the_runtime),
		RIG_TESTS(task_aborts_another),
		RIG_TESTS(abort_across_the_end_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
