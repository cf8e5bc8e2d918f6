/* SPDX-License-Identifier: BSD-3-Clause */

/* The end of a runtime that has a blocking pool: lib/sched/blocking.c. */

#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_launch.h>

#include "base/rand.h"

/* In place of the test's runtime, one whose pool has few threads. */
static void
restart(unsigned int threads, bool current_thread)
{
	struct weir_options o;

	rig_runtime_free(rig.rt);
	rig_options(&o, 1);
	o.current_thread = current_thread;
	o.blocking_threads = threads;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
}

static void
expect_end(void)
{
	struct weir_shutdown_report report = { .live_tasks = 7,
					       .ring_entries = 7,
					       .blocking = 7 };

	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, &report), 0);
	assert_int_equal(report.live_tasks, 0);
	assert_int_equal(report.ring_entries, 0);
	assert_int_equal(report.blocking, 0);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 0);
}

/* All has ended but these jobs. */
static void
expect_all_but(uint64_t jobs)
{
	struct weir_shutdown_report report = { .live_tasks = 7,
					       .ring_entries = 7,
					       .blocking = 7 };

	/* The workers take their time; a job has ended before it is uncounted. */
	rig_wait_until(
		weir_runtime_shutdown(rig.rt, 5, &report) == -ETIMEDOUT &&
		rte_eal_get_lcore_state(1) == WAIT && report.blocking == jobs);
	assert_int_equal(report.live_tasks, 0);
	assert_int_equal(report.ring_entries, 0);
	assert_int_equal(report.blocking, jobs);
}

static void
queued_jobs_are_cancelled_and_running_ones_awaited(void **state)
{
	struct weir_join *joins[5];
	uint32_t runs = 0;
	unsigned int i;

	restart(2, false);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 2);
	weir_runtime_shutdown_begin(rig.rt);
	/* Before anyone waits. */
	rig_expect_log(2, 3, 0);
	for (i = 2; i < RTE_DIM(joins); i++)
		assert_int_equal(weir_join_try(joins[i], NULL), -ECANCELED);
	expect_all_but(2);
	rig_set(&rig.go, 1);
	expect_end();
	rig_expect_log(2, 5, 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(weir_join_try(joins[i], &runs), 0);
	assert_int_equal(runs, 1);
}

static void
stuck_job_times_out_is_reported_and_keeps_no_lcore(void **state)
{
	struct weir_join *join =
		rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);

	rig_wait_until(rig_get(&rig.log.polls) == 1);
	expect_all_but(1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), -ETIMEDOUT);
	rig_set(&rig.go, 1);
	expect_end();
	/* A second time, too. */
	expect_end();
	assert_int_equal(weir_join_try(join, NULL), 0);
}

static void
idle_threads_end(void **state)
{
	struct weir_join *joins[3];
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_set(&rig.go, 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(weir_join_wait(joins[i], NULL), 0);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 3);
	expect_end();
}

static void
job_after_the_end_is_dropped(void **state)
{
	struct weir_join *join;

	expect_end();
	join = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
	rig_expect_log(0, 1, 0);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	weir_join_detach(rig_spawn_job(rig.rt, &rig_done_ops, &rig.told));
	rig_expect_log(0, 2, 0);
}

/* The last wrong answer that be_busy() got. */
static struct atomic_u32 wrong_line;
#define EXPECT(condition)                               \
	do {                                            \
		if (!(condition))                       \
			rig_set(&wrong_line, __LINE__); \
	} while (0)

/* Uses the runtime in every way that waits. */
static void
be_busy(int outcome)
{
	struct weir_join *join;

	join = weir_task_spawn(rig.rt, &rig_done_ops, &rig.told, NULL);
	EXPECT(join != NULL);
	/* Nobody runs it but whoever blocks on another one. */
	EXPECT(weir_runtime_block_on(rig.rt, &rig_done_ops, &rig.told, NULL) ==
	       outcome);
	EXPECT(weir_join_wait(join, NULL) == outcome);
	join = weir_blocking_spawn(rig.rt, &rig_done_ops, &rig.told);
	EXPECT(join != NULL && weir_join_wait(join, NULL) == outcome);
	EXPECT(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL) == -EDEADLK);
}

static int
busy_run(void *state)
{
	be_busy(0);
	weir_runtime_shutdown_begin(rig.rt);
	be_busy(-ECANCELED);
	rig_set(&rig.go, 1);
	/* Until the runtime is in the middle of its end. */
	rig_wait_until(!rig_get(&rig.go));
	be_busy(-ECANCELED);
	return WEIR_DONE;
}

static const struct weir_task_ops busy_ops = {
	.name = "busy",
	.run = busy_run,
};

static void
job_may_use_a_runtime_that_ends(void **state)
{
	struct weir_join *join;

	rig_set(&wrong_line, 0);
	join = weir_blocking_spawn(rig.rt, &busy_ops, NULL);
	assert_non_null(join);
	rig_wait_until(rig_get(&rig.go));
	expect_all_but(1);
	rig_set(&rig.go, 0);
	expect_end();
	assert_int_equal(weir_join_wait(join, NULL), 0);
	assert_int_equal(rig_get(&wrong_line), 0);
	assert_int_equal(rig_get(&rig.log.drops), 9);
}

static void
job_may_use_a_current_thread_runtime_that_ends(void **state)
{
	restart(2, true);
	job_may_use_a_runtime_that_ends(state);
}

/* A drop may use the runtime as well, as long as it does not wait. */
static void
busy_drop(void *state)
{
	static __thread unsigned int depth;

	EXPECT(depth++ == 0);
	weir_runtime_shutdown_begin(rig.rt);
	depth--;
	weir_join_detach(weir_blocking_spawn(rig.rt, &rig_done_ops, &rig.told));
	weir_join_detach(
		weir_task_spawn(rig.rt, &rig_done_ops, &rig.told, NULL));
	EXPECT(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL) == -EDEADLK);
	rig_add(&rig.log.results_dropped, 1);
}

static int
begin_poll(struct weir_context *ctx, void *state)
{
	weir_runtime_shutdown_begin(weir_context_runtime(ctx));
	return WEIR_DONE;
}

/* By a task (row 0), another thread, or whoever waits for the end. */
static void
cancelled_jobs_are_dropped_without_a_lock(void **state)
{
	static const struct weir_task_ops begin_ops = {
		.name = "begins",
		.poll = begin_poll,
	};
	struct weir_task_ops ops = { .name = "drops", .run = busy_run };
	struct weir_join *join;
	unsigned int row, i;

	ops.drop = busy_drop;
	for (row = 0; row < 3; row++) {
		restart(1, false);
		memset(&rig.log, 0, sizeof(rig.log));
		rig_set(&rig.go, 0);
		rig_set(&wrong_line, 0);
		join = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
		rig_wait_until(rig_get(&rig.log.polls) == 1);
		for (i = 0; i < 3; i++)
			weir_join_detach(
				weir_blocking_spawn(rig.rt, &ops, NULL));
		if (row == 0)
			weir_runtime_block_on(rig.rt, &begin_ops, NULL, NULL);
		else if (row == 1)
			weir_runtime_shutdown_begin(rig.rt);
		expect_all_but(1);
		assert_int_equal(rig_get(&rig.log.results_dropped), 3);
		assert_int_equal(rig_get(&rig.log.drops), 6);
		assert_int_equal(rig_get(&wrong_line), 0);
		rig_set(&rig.go, 1);
		assert_int_equal(weir_join_wait(join, NULL), 0);
	}
}

static int
end_other(void *state)
{
	return weir_runtime_shutdown(*(struct weir_runtime **)state, UINT64_MAX,
				     NULL);
}

static void
job_may_await_the_end_of_another_runtime(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "ends other",
		.state_size = sizeof(void *),
		.run = end_other,
	};
	const unsigned int lcores[] = { 2 };
	struct weir_runtime *other;
	struct weir_options o;

	rig_options(&o, 1);
	o.name = "other";
	o.lcores = lcores;
	other = weir_runtime_create(&o);
	assert_non_null(other);
	assert_int_equal(
		weir_join_wait(weir_blocking_spawn(rig.rt, &ops, &other), NULL),
		0);
	weir_runtime_free(other);
	assert_false(rig_runtime_exists("other"));
}

/* Lets the jobs go on when the runtime's end has begun. */
static void *
let_go(void *arg)
{
	struct weir_join *join;
	int rc = 0;

	while (rc != -ECANCELED) {
		join = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
		rc = weir_join_wait(join, NULL);
		sched_yield();
	}
	rig_set(&rig.go, 1);
	return NULL;
}

static struct weir_runtime *other;
static int inner_rc;

static int
never_run(void *state)
{
	(void)state;
	return -EBADE;
}

static void
begin_the_others_end(void *state)
{
	(void)state;
	weir_runtime_shutdown_begin(other);
}

static void
await_the_first_ones_end(void *state)
{
	(void)state;
	inner_rc = weir_runtime_shutdown(rig.rt, 0, NULL);
}

/* One that runs, and behind it one that is dropped in the runtime's end. */
static void
occupy(struct weir_runtime *rt, const struct weir_task_ops *dropped)
{
	const uint32_t polls = rig_get(&rig.log.polls);

	weir_join_detach(rig_spawn_job(rt, &rig_block_ops, &rig.told));
	rig_wait_until(rig_get(&rig.log.polls) == polls + 1);
	weir_join_detach(weir_blocking_spawn(rt, dropped, NULL));
}

static void
who_cancels_jobs_of_two_runtimes_is_inside_both(void **state)
{
	static const struct weir_task_ops first = {
		.name = "first",
		.run = never_run,
		.drop = begin_the_others_end,
	};
	static const struct weir_task_ops second = {
		.name = "second",
		.run = never_run,
		.drop = await_the_first_ones_end,
	};
	struct weir_options o;

	restart(1, false);
	rig_options(&o, 0);
	o.current_thread = true;
	o.blocking_threads = 1;
	o.name = "other";
	other = weir_runtime_create(&o);
	assert_non_null(other);
	occupy(rig.rt, &first);
	occupy(other, &second);
	inner_rc = 0;
	weir_runtime_shutdown_begin(rig.rt);
	assert_int_equal(inner_rc, -EDEADLK);
	rig_set(&rig.go, 1);
	weir_runtime_free(other);
	expect_end();
}

static void
free_waits_for_jobs_that_run(void **state)
{
	struct weir_join *join;
	pthread_t thread;

	join = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	assert_int_equal(pthread_create(&thread, NULL, let_go, NULL), 0);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	pthread_join(thread, NULL);
	/* The handle has outlived it. */
	assert_int_equal(weir_join_try(join, NULL), 0);
	assert_false(rig_runtime_exists("weir"));
}

#define STORM_THREADS 4u

static struct storm {
	struct atomic_u32 next;
	struct atomic_u32 spawned;
	struct atomic_u32 cancelled;
	struct atomic_u32 over;
	uint64_t seed;
} storm;

static void
storm_spawn(uint64_t seed)
{
	unsigned int after = 0;
	struct weir_join *join;
	struct rand_state r;

	rand_seed(&r, seed);
	while (after < 20) {
		after += rig_get(&storm.over);
		join = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
		rig_add(&storm.spawned, 1);
		if (rand_below(&r, 4) == 0)
			weir_join_abort(join);
		if (rand_below(&r, 4) != 0)
			weir_join_detach(join);
		else if (weir_join_wait(join, NULL) == -ECANCELED)
			rig_add(&storm.cancelled, 1);
	}
}

static void *
storm_or_end(void *arg)
{
	uint32_t index = atomic_u32_fetch_add(&storm.next, 1, RELAXED);

	if (index > 1) {
		storm_spawn(storm.seed + index);
		return NULL;
	}
	/* Two at once. */
	rig_wait_until(rig_get(&storm.spawned) > 100);
	if (weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL) != 0)
		rig_set(&wrong_line, __LINE__);
	rig_set(&storm.over, 1);
	return NULL;
}

static void
every_job_of_a_spawn_storm_is_dropped_once(void **state)
{
	uint64_t seed = unit_seed();
	struct weir_options o;
	unsigned int round;

	rig_set(&wrong_line, 0);
	for (round = 0; round < 10; round++) {
		rig_runtime_free(rig.rt);
		rig_options(&o, 1);
		o.current_thread = round % 2;
		o.blocking_threads = 1 + round % 3;
		o.blocking_keep_alive_ms = round % 4;
		rig.rt = weir_runtime_create(&o);
		assert_non_null(rig.rt);
		memset(&rig.log, 0, sizeof(rig.log));
		memset(&storm, 0, sizeof(storm));
		storm.seed = seed + 8 * round;
		rig_threads(STORM_THREADS + 2, storm_or_end, NULL);
		assert_int_equal(rig_get(&wrong_line), 0);
		assert_int_equal(rig_get(&rig.log.drops),
				 rig_get(&storm.spawned));
		assert_int_equal(rig_get(&rig.log.polls),
				 rig_get(&rig.log.results_dropped));
		assert_int_not_equal(rig_get(&storm.cancelled), 0);
	}
}

#define END_TEST(name) RIG_TEST(name, 1)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		END_TEST(queued_jobs_are_cancelled_and_running_ones_awaited),
		END_TEST(stuck_job_times_out_is_reported_and_keeps_no_lcore),
		END_TEST(idle_threads_end),
		END_TEST(job_after_the_end_is_dropped),
		END_TEST(job_may_use_a_runtime_that_ends),
		END_TEST(job_may_use_a_current_thread_runtime_that_ends),
		END_TEST(cancelled_jobs_are_dropped_without_a_lock),
		END_TEST(job_may_await_the_end_of_another_runtime),
		END_TEST(who_cancels_jobs_of_two_runtimes_is_inside_both),
		END_TEST(free_waits_for_jobs_that_run),
		END_TEST(every_job_of_a_spawn_storm_is_dropped_once),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
