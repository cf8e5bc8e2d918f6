/* SPDX-License-Identifier: BSD-3-Clause */

/* Tasks that are spawned in bursts: lib/sched/spawn_burst.c. */

#include "rig.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "sched/scheduler.h"

#define MANY 1000u
#define THREADS 3
#define ROUNDS 40u

static struct {
	struct atomic_u32 runs[MANY];
	struct atomic_u32 next; /* how many have run */
	struct atomic_u32 disorder;
	struct atomic_u32 ended;
	struct atomic_u32 failed;
} seen;

struct numbered {
	uint32_t number;
	uint32_t square; /* the result */
};

static int
square_poll(struct weir_context *ctx, void *state)
{
	struct numbered *s = state;

	rig_add(&seen.runs[s->number], 1);
	if (atomic_u32_fetch_add(&seen.next, 1, ACQ_REL) != s->number)
		rig_add(&seen.disorder, 1);
	s->square = s->number * s->number;
	return WEIR_DONE;
}

static void
square_drop(void *state)
{
	rig_add(&seen.ended, 1);
}

static const struct weir_task_ops square_ops = {
	.name = "square",
	.state_size = sizeof(struct numbered),
	.poll = square_poll,
	.drop = square_drop,
	.result_offset = offsetof(struct numbered, square),
	.result_size = sizeof(uint32_t),
};

static struct numbered states[MANY];
static struct weir_join *joins[MANY];

static void
prepare(void)
{
	unsigned int i;

	memset(&seen, 0, sizeof(seen));
	memset(joins, 0, sizeof(joins));
	for (i = 0; i < MANY; i++)
		states[i] = (struct numbered){ .number = i };
}

static void
expect_squares(void)
{
	uint32_t square;
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		assert_int_equal(rig_join(joins[i], &square), 0);
		assert_int_equal(square, i * i);
		assert_int_equal(rig_get(&seen.runs[i]), 1);
	}
	assert_int_equal(rig_get(&seen.ended), MANY);
}

static void
each_task_of_a_burst_runs_once(void **state)
{
	prepare();
	assert_int_equal(weir_task_spawn_burst(rig.rt, &square_ops, states,
					       MANY, NULL, joins),
			 MANY);
	expect_squares();
}

static void
burst_without_handles(void **state)
{
	prepare();
	assert_int_equal(weir_task_spawn_burst(rig.rt, &square_ops, states,
					       MANY, NULL, NULL),
			 MANY);
	rig_wait_until(rig_get(&seen.ended) == MANY);
	assert_int_equal(rig_get(&seen.next), MANY);
}

static void
burst_without_states_has_zeros(void **state)
{
	prepare();
	assert_int_equal(weir_task_spawn_burst(rig.rt, &square_ops, NULL, 70,
					       NULL, NULL),
			 70);
	rig_wait_until(rig_get(&seen.ended) == 70);
	assert_int_equal(rig_get(&seen.runs[0]), 70);
}

static int
spawn_poll(struct weir_context *ctx, void *state)
{
	const unsigned int n = *(unsigned int *)state;

	return weir_task_spawn_burst(weir_context_runtime(ctx), &square_ops,
				     states, n, NULL, joins) == n ?
		       WEIR_DONE :
		       -EIO;
}

static void
spawn_by_a_task(unsigned int n)
{
	static const struct weir_task_ops ops = {
		.name = "spawn",
		.state_size = sizeof(unsigned int),
		.poll = spawn_poll,
	};

	prepare();
	assert_int_equal(
		rig_join(weir_task_spawn(rig.rt, &ops, &n, NULL), NULL), 0);
}

static void
burst_of_a_task(void **state)
{
	spawn_by_a_task(MANY);
	expect_squares();
}

/* What the task that awaits a burst is told, and when. */
static struct {
	struct atomic_u32 polls;
	struct atomic_u32 taken;  /* in all */
	struct atomic_u32 pieces; /* calls that took some */
	int outcomes[MANY];
	uint32_t squares[MANY];
} awaited;

static int
await_poll(struct weir_context *ctx, void *state)
{
	const unsigned int n = *(unsigned int *)state;
	unsigned int done;
	int rc;

	rig_add(&awaited.polls, 1);
	while ((done = rig_get(&awaited.taken)) < n) {
		rc = weir_join_poll_burst(ctx, joins + done, n - done,
					  awaited.outcomes + done,
					  awaited.squares + done);
		if (rc == WEIR_PENDING)
			return rc;
		rig_add(&awaited.pieces, 1);
		rig_add(&awaited.taken, (unsigned int)rc);
	}
	return weir_join_poll_burst(ctx, joins, 0, NULL, NULL);
}

static const struct weir_task_ops await_ops = {
	.name = "await",
	.state_size = sizeof(unsigned int),
	.poll = await_poll,
};

static struct weir_join *
await_burst(unsigned int n)
{
	return weir_task_spawn(rig.rt, &await_ops, &n, NULL);
}

/* n of them, that have ended. */
static void
spawn_to_end(const struct weir_task_ops *ops, unsigned int n)
{
	unsigned int i;

	prepare();
	memset(&awaited, 0, sizeof(awaited));
	assert_int_equal(
		weir_task_spawn_burst(rig.rt, ops, states, n, NULL, joins), n);
	for (i = 0; i < n; i++)
		rig_wait_until(weir_join_ended(joins[i]));
}

static void
burst_is_awaited_in_order(void **state)
{
	unsigned int i;

	prepare();
	memset(&awaited, 0, sizeof(awaited));
	assert_int_equal(weir_task_spawn_burst(rig.rt, &square_ops, states,
					       MANY, NULL, joins),
			 MANY);
	assert_int_equal(rig_join(await_burst(MANY), NULL), 0);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(awaited.outcomes[i], 0);
		assert_int_equal(awaited.squares[i], i * i);
	}
	assert_int_equal(rig_get(&seen.ended), MANY);
}

/* Those before it are there at once, those behind it later. */
static void
awaited_burst_stops_at_who_goes_on(void **state)
{
	const struct rig_state s = { .log = &rig.log,
				     .go = &rig.go,
				     .waker = &rig.waker };
	struct weir_join *await;
	unsigned int i;

	spawn_to_end(&square_ops, 20);
	for (i = 20; i > 7; i--)
		joins[i] = joins[i - 1];
	joins[7] = rig_spawn(rig.rt, &rig_wait_ops, &s);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	await = await_burst(21);
	rig_wait_until(rig_get(&awaited.taken) == 7);
	assert_int_equal(weir_join_try(await, NULL), WEIR_PENDING);
	rig_set(&rig.go, 1);
	weir_waker_wake(rig_take_waker(&rig.waker));
	assert_int_equal(rig_join(await, NULL), 0);
	assert_int_equal(rig_get(&awaited.taken), 21);
	for (i = 8; i < 21; i++)
		assert_int_equal(awaited.outcomes[i], 0);
}

static int
fail_third(struct weir_context *ctx, void *state)
{
	struct numbered *s = state;

	s->square = s->number * s->number;
	return s->number % 3 == 2 ? -EIO : WEIR_DONE;
}

static void
failures_in_a_burst_are_told_one_by_one(void **state)
{
	struct weir_task_ops ops = square_ops;
	unsigned int i;

	ops.poll = fail_third;
	spawn_to_end(&ops, 30);
	for (i = 0; i < 30; i++)
		awaited.squares[i] = 77;
	assert_int_equal(rig_join(await_burst(30), NULL), 0);
	for (i = 0; i < 30; i++) {
		assert_int_equal(awaited.outcomes[i], i % 3 == 2 ? -EIO : 0);
		assert_int_equal(awaited.squares[i], i % 3 == 2 ? 77 : i * i);
	}
}

/* Of a budget of 128. */
static void
awaited_burst_spends_a_unit_each(void **state)
{
	spawn_to_end(&square_ops, 300);
	assert_int_equal(rig_join(await_burst(300), NULL), 0);
	assert_int_equal(rig_get(&awaited.polls), 3);
	assert_int_equal(rig_get(&awaited.pieces), 3);
}

/* As many as the run queue has room for: then none overtakes another. */
static void
burst_runs_in_order(void **state)
{
	unsigned int i;

	spawn_by_a_task(RUN_QUEUE_SIZE / 2);
	for (i = 0; i < RUN_QUEUE_SIZE / 2; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_equal(rig_get(&seen.disorder), 0);
}

/* On the last worker. */
static int
bound_poll(struct weir_context *ctx, void *state)
{
	if (weir_context_worker(ctx) + 1 != weir_runtime_nb_workers(rig.rt))
		rig_add(&seen.disorder, 1);
	rig_add(&seen.next, 1);
	return WEIR_DONE;
}

static void
burst_for_one_worker(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "bound",
		.poll = bound_poll,
	};
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = weir_runtime_nb_workers(rig.rt) - 1,
	};

	prepare();
	assert_int_equal(
		weir_task_spawn_burst(rig.rt, &ops, NULL, MANY, &attr, NULL),
		MANY);
	rig_wait_until(rig_get(&seen.next) == MANY);
	assert_int_equal(rig_get(&seen.disorder), 0);
}

static void
expect_refused(const struct weir_task_ops *ops,
	       const struct weir_spawn_attr *attr)
{
	rte_errno = 0;
	assert_int_equal(
		weir_task_spawn_burst(rig.rt, ops, states, 2, attr, joins), 0);
	assert_int_equal(rte_errno, EINVAL);
	assert_null(joins[0]);
}

static void
wrong_bursts_start_nothing(void **state)
{
	const struct weir_spawn_attr nowhere = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = 1000,
	};
	struct weir_task_ops ops = square_ops;

	prepare();
	expect_refused(NULL, NULL);
	expect_refused(&square_ops, &nowhere);
	ops.poll = NULL;
	expect_refused(&ops, NULL);
	ops = square_ops;
	ops.result_offset = SIZE_MAX;
	expect_refused(&ops, NULL);
	assert_int_equal(weir_task_spawn_burst(rig.rt, &square_ops, states, 0,
					       NULL, joins),
			 0);
}

/* Memory ends in the middle: so many are there, and the others are the caller's. */
static void
what_has_no_memory_stays_the_callers(void **state)
{
	struct weir_task_ops ops = square_ops;
	unsigned int n, i;

	prepare();
	ops.state_size = 8 << 20;
	rte_errno = 0;
	n = weir_task_spawn_burst(rig.rt, &ops, NULL, MANY, NULL, joins);
	assert_uint_in_range(n, 1, MANY - 1);
	assert_int_equal(rte_errno, ENOMEM);
	for (i = 0; i < n; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_null(joins[n]);
	assert_int_equal(rig_get(&seen.ended), n);
}

static void
burst_in_a_runtime_that_ends_is_dropped(void **state)
{
	struct weir_runtime_stats stats;
	unsigned int i;

	prepare();
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(weir_task_spawn_burst(rig.rt, &square_ops, states,
					       MANY / 2, NULL, joins),
			 MANY / 2);
	assert_int_equal(weir_task_spawn_burst(rig.rt, &square_ops, states,
					       MANY / 2, NULL, NULL),
			 MANY / 2);
	assert_int_equal(rig_get(&seen.ended), MANY);
	assert_int_equal(rig_get(&seen.next), 0);
	for (i = 0; i < MANY / 2; i++)
		assert_int_equal(weir_join_try(joins[i], NULL), -ECANCELED);
	stats = rig_stats(rig.rt);
	assert_int_equal(stats.live_tasks, 0);
}

/* Ids differ, and all tasks are counted. */
static void
tasks_of_bursts_have_ids_of_their_own(void **state)
{
	uint64_t before = rig_stats(rig.rt).spawned;
	unsigned int i;

	prepare();
	for (i = 0; i < MANY; i += 100)
		assert_int_equal(weir_task_spawn_burst(rig.rt, &square_ops,
						       states + i, 100, NULL,
						       joins + i),
				 100);
	for (i = 1; i < MANY; i++)
		assert_true(weir_join_id(joins[i]) >
			    weir_join_id(joins[i - 1]));
	expect_squares();
	assert_int_equal(rig_stats(rig.rt).spawned - before, MANY);
}

static void *
storm_main(void *arg)
{
	struct weir_join *mine[97];
	unsigned int i, k;

	for (i = 0; i < ROUNDS; i++) {
		rig_wait_until(weir_task_spawn_burst(rig.rt, &square_ops,
						     states, 97, NULL,
						     mine) == 97);
		for (k = 0; k < 97; k++)
			if (weir_join_wait(mine[k], NULL) != 0)
				rig_add(&seen.failed, 1);
	}
	return NULL;
}

static void
bursts_of_several_threads(void **state)
{
	unsigned int i;

	prepare();
	rig_threads(THREADS, storm_main, NULL);
	for (i = 0; i < 97; i++)
		assert_int_equal(rig_get(&seen.runs[i]), THREADS * ROUNDS);
	assert_int_equal(rig_get(&seen.ended), THREADS * ROUNDS * 97);
	assert_int_equal(rig_get(&seen.failed), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(each_task_of_a_burst_runs_once),
		RIG_TESTS(burst_without_handles),
		RIG_TEST(burst_without_states_has_zeros, 1),
		RIG_TESTS(burst_of_a_task),
		RIG_TEST(burst_runs_in_order, 1),
		RIG_TESTS(burst_for_one_worker),
		RIG_TEST(wrong_bursts_start_nothing, 1),
		RIG_TEST(what_has_no_memory_stays_the_callers, 1),
		RIG_TESTS(burst_in_a_runtime_that_ends_is_dropped),
		RIG_TEST(tasks_of_bursts_have_ids_of_their_own, 2),
		RIG_TESTS(bursts_of_several_threads),
		RIG_TESTS(burst_is_awaited_in_order),
		RIG_TESTS(awaited_burst_stops_at_who_goes_on),
		RIG_TESTS(failures_in_a_burst_are_told_one_by_one),
		RIG_TESTS(awaited_burst_spends_a_unit_each),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
