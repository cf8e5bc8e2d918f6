/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>

#include "rig.h"

static void
wait_takes_the_result(void **state)
{
	uint32_t polls = 0;

	assert_int_equal(
		weir_join_wait(rig_spawn(rig.rt, &rig_done_ops, &rig.told),
			       &polls),
		0);
	assert_int_equal(polls, 1);
	rig_expect_log(1, 1, 0);
}

static void
try_says_pending_until_the_end(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_block_ops, &rig.told);
	uint32_t polls = 0;

	rig_wait_until(rig_get(&rig.log.polls) == 1);
	assert_int_equal(weir_join_try(join, &polls), WEIR_PENDING);
	assert_int_equal(weir_join_try(join, NULL), WEIR_PENDING);
	rig_set(&rig.go, 1);
	assert_int_equal(rig_join(join, &polls), 0);
	assert_int_equal(polls, 1);
	rig_expect_log(1, 1, 0);
}

static void
result_that_is_not_wanted_is_dropped(void **state)
{
	assert_int_equal(
		weir_join_wait(rig_spawn(rig.rt, &rig_done_ops, &rig.told),
			       NULL),
		0);
	rig_expect_log(1, 1, 1);
	assert_int_equal(
		rig_join(rig_spawn(rig.rt, &rig_done_ops, &rig.told), NULL), 0);
	rig_expect_log(2, 2, 2);
}

static void
detached_task_drops_its_result(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_block_ops, &rig.told);

	rig_wait_until(rig_get(&rig.log.polls) == 1);
	weir_join_detach(join);
	rig_set(&rig.go, 1);
	rig_wait_until(rig_get(&rig.log.results_dropped) == 1);
	rig_expect_log(1, 1, 1);
}

/* Spawns two detached tasks, of which one is bound, and ends. */
static int
spawn_two(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	const struct weir_spawn_attr last = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = weir_runtime_nb_workers(rt) - 1,
	};

	return weir_task_spawn_detached(rt, &rig_yield_ops, state, NULL) == 0 &&
			       weir_task_spawn_detached(rt, &rig_yield_ops,
							state, &last) == 0 ?
		       WEIR_DONE :
		       -ECHILD;
}

static const struct weir_task_ops spawn_two_ops = {
	.name = "spawns two",
	.state_size = sizeof(struct rig_state),
	.poll = spawn_two,
};

static void
task_that_is_spawned_detached_drops_its_result(void **state)
{
	assert_int_equal(weir_task_spawn_detached(rig.rt, &rig_yield_ops,
						  &rig.told, NULL),
			 0);
	assert_int_equal(
		rig_join(rig_spawn(rig.rt, &spawn_two_ops, &rig.told), NULL),
		0);
	assert_int_equal(rig_stats(rig.rt).live_tasks, 3);
	rig_set(&rig.go, 1);
	rig_wait_until(rig_get(&rig.log.results_dropped) == 3);
	assert_int_equal(rig_get(&rig.log.drops), 3);
	rig_wait_until(rig_stats(rig.rt).live_tasks == 0);
}

static void
what_cannot_be_spawned_detached_stays_the_callers(void **state)
{
	const struct weir_spawn_attr nowhere = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = 1000,
	};
	struct weir_task_ops ops = rig_done_ops;

	assert_int_equal(
		weir_task_spawn_detached(rig.rt, &ops, &rig.told, &nowhere),
		-EINVAL);
	ops.state_size = (size_t)1 << 40;
	assert_int_equal(weir_task_spawn_detached(rig.rt, &ops, NULL, NULL),
			 -ENOMEM);
	ops.poll = NULL;
	assert_int_equal(weir_task_spawn_detached(rig.rt, &ops, NULL, NULL),
			 -EINVAL);
	assert_int_equal(weir_task_spawn_detached(rig.rt, NULL, NULL, NULL),
			 -EINVAL);
	rig_expect_log(0, 0, 0);
	assert_int_equal(rig_stats(rig.rt).spawned, 0);
}

static void
detaching_an_ended_task_drops_its_result(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);

	rig_wait_until(state_load(&((struct task *)join)->state) &
		       STATE_COMPLETE);
	rig_expect_log(1, 1, 0);
	weir_join_detach(join);
	rig_expect_log(1, 1, 1);
	weir_join_detach(NULL);
}

/* A task that awaits the handle given to it, and leaves the outcome behind. */
struct joiner {
	struct weir_join *join;
	struct atomic_u32 *polls;
	struct atomic_u32 *gave_up; /* if set: leaves the handle to others */
	int rc;
	uint32_t result;
};

static int
join_poll(struct weir_context *ctx, void *state)
{
	struct joiner *j = state;

	rig_add(j->polls, 1);
	if (j->gave_up != NULL && rig_get(j->gave_up))
		return WEIR_DONE;
	j->rc = weir_join_poll(ctx, j->join, &j->result);
	return j->rc == WEIR_PENDING ? WEIR_PENDING : WEIR_DONE;
}

static const struct weir_task_ops joiner_ops = {
	.name = "joiner",
	.state_size = sizeof(struct joiner),
	.poll = join_poll,
	.result_offset = 0,
	.result_size = sizeof(struct joiner),
};

static void
task_takes_the_result_of_a_task(void **state)
{
	struct atomic_u32 polls = { 0 };
	struct joiner j = { .polls = &polls }, end;
	struct weir_join *joiner;
	struct weir_waker *w;

	j.join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	joiner = weir_task_spawn(rig.rt, &joiner_ops, &j, NULL);
	rig_wait_until(rig_get(&polls) == 1);
	w = rig_take_waker(&rig.waker);
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(weir_join_wait(joiner, &end), 0);
	assert_int_equal(end.rc, 0);
	assert_int_equal(end.result, 2);
	assert_uint_in_range(rig_get(&polls), 1, 2);
	rig_expect_log(2, 1, 0);
}

static void
task_learns_that_a_task_was_aborted(void **state)
{
	struct atomic_u32 polls = { 0 };
	struct joiner j = { .polls = &polls }, end;
	struct weir_join *joiner;
	struct weir_waker *w;

	j.join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	joiner = weir_task_spawn(rig.rt, &joiner_ops, &j, NULL);
	rig_wait_until(rig_get(&polls) == 1);
	w = rig_take_waker(&rig.waker);
	weir_join_abort(j.join);
	assert_int_equal(weir_join_wait(joiner, &end), 0);
	assert_int_equal(end.rc, -ECANCELED);
	weir_waker_drop(w);
}

/* The first waiter is not woken, and its waker is not leaked. */
static void
later_waiter_replaces_the_first(void **state)
{
	struct atomic_u32 polls1 = { 0 }, polls2 = { 0 }, over = { 0 };
	struct joiner j1 = { .polls = &polls1, .gave_up = &over };
	struct joiner j2 = { .polls = &polls2 }, end;
	struct weir_join *first, *second;
	struct weir_waker *w;

	j1.join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	j2.join = j1.join;
	first = weir_task_spawn(rig.rt, &joiner_ops, &j1, NULL);
	rig_wait_until(state_load(&((struct task *)j1.join)->state) &
		       STATE_JOIN_WAKER);
	rig_set(&over, 1);
	second = weir_task_spawn(rig.rt, &joiner_ops, &j2, NULL);
	rig_wait_until(rig_get(&polls2) == 1);
	/* It is the waiter when its poll is over. */
	rig_wait_until(
		!(state_load(&((struct task *)second)->state) & STATE_RUNNING));
	w = rig_take_waker(&rig.waker);
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(weir_join_wait(second, &end), 0);
	assert_int_equal(end.rc, 0);
	assert_int_equal(rig_get(&polls1), 1);
	assert_int_equal(weir_join_try(first, NULL), WEIR_PENDING);
	weir_join_abort(first);
	assert_int_equal(weir_join_wait(first, NULL), -ECANCELED);
}

static void
thread_replaces_a_task_as_waiter(void **state)
{
	struct atomic_u32 polls = { 0 }, over = { 0 };
	struct joiner j = { .polls = &polls, .gave_up = &over };
	struct weir_join *joiner;
	struct weir_waker *w;
	uint32_t result = 0;
	int rc;

	j.join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	joiner = weir_task_spawn(rig.rt, &joiner_ops, &j, NULL);
	rig_wait_until(state_load(&((struct task *)j.join)->state) &
		       STATE_JOIN_WAKER);
	rig_set(&over, 1);
	w = rig_take_waker(&rig.waker);
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(weir_join_wait(j.join, &result), 0);
	assert_int_equal(result, 2);
	weir_join_abort(joiner);
	rc = weir_join_wait(joiner, NULL);
	assert_true(rc == 0 || rc == -ECANCELED);
	assert_uint_in_range(rig_get(&polls), 1, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(wait_takes_the_result),
		RIG_TESTS(try_says_pending_until_the_end),
		RIG_TESTS(result_that_is_not_wanted_is_dropped),
		RIG_TESTS(detached_task_drops_its_result),
		RIG_TESTS(task_that_is_spawned_detached_drops_its_result),
		RIG_TESTS(what_cannot_be_spawned_detached_stays_the_callers),
		RIG_TESTS(detaching_an_ended_task_drops_its_result),
		RIG_TESTS(task_takes_the_result_of_a_task),
		RIG_TESTS(task_learns_that_a_task_was_aborted),
		RIG_TESTS(later_waiter_replaces_the_first),
		RIG_TESTS(thread_replaces_a_task_as_waiter),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
