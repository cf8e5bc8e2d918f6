/* SPDX-License-Identifier: BSD-3-Clause */

/* Jobs of the blocking pool and their handles: lib/sched/blocking.c. */

#include "rig.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "base/rand.h"

/* In place of the test's runtime, one with these options. */
static void
restart(const struct weir_options *o)
{
	rig_runtime_free(rig.rt);
	rig.rt = weir_runtime_create(o);
	assert_non_null(rig.rt);
}

/* A pool of few threads, on one worker. */
static void
restart_with_threads(unsigned int threads)
{
	struct weir_options o;

	rig_options(&o, 1);
	o.blocking_threads = threads;
	restart(&o);
}

static void
result_comes_through_the_handle(void **state)
{
	struct weir_join *join;
	uint32_t runs = 0;

	join = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
	assert_int_equal(weir_join_wait(join, &runs), 0);
	assert_int_equal(runs, 1);
	rig_expect_log(1, 1, 0);
	join = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
	assert_int_equal(rig_join(join, NULL), 0);
	rig_expect_log(2, 2, 1);
}

static int
return_it(void *state)
{
	return *(int *)state;
}

static void
outcomes_are_those_of_poll_but_for_pending(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "returns",
		.state_size = sizeof(int),
		.run = return_it,
	};
	const struct {
		int returned;
		int outcome;
	} rows[] = {
		{ WEIR_DONE, 0 },	    { -ENOENT, -ENOENT },
		{ -ECANCELED, -ECANCELED }, { -4095, -4095 },
		{ WEIR_PENDING, -EPROTO },  { 1, -EPROTO },
		{ -4097, -EPROTO },
	};
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		join = weir_blocking_spawn(rig.rt, &ops, &rows[i].returned);
		assert_non_null(join);
		assert_int_equal(weir_join_wait(join, NULL), rows[i].outcome);
	}
}

static void
detached_job_runs_and_its_result_is_dropped(void **state)
{
	weir_join_detach(rig_spawn_job(rig.rt, &rig_done_ops, &rig.told));
	rig_wait_until(rig_get(&rig.log.results_dropped) == 1);
	rig_expect_log(1, 1, 1);
}

static void
handle_that_goes_last_drops_the_result(void **state)
{
	struct weir_join *join =
		rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);

	/* In this order: before it begins, none runs either. */
	rig_wait_until(rig_get(&rig.log.drops) == 1 &&
		       rig_stats(rig.rt).blocking_running == 0);
	rig_expect_log(1, 1, 0);
	weir_join_detach(join);
	rig_expect_log(1, 1, 1);
}

/* A task that awaits a job, which goes on once the task waits. */
struct await {
	struct weir_join *job;
	uint32_t runs;
};

static int
await_poll(struct weir_context *ctx, void *state)
{
	struct await *a = state;
	int rc;

	if (a->job == NULL)
		a->job = weir_blocking_spawn(weir_context_runtime(ctx),
					     &rig_block_ops, &rig.told);
	if (a->job == NULL)
		return -rte_errno;
	rc = weir_join_poll(ctx, a->job, &a->runs);
	rig_set(&rig.go, 1);
	return rc;
}

static const struct weir_task_ops await_ops = {
	.name = "awaits",
	.state_size = sizeof(struct await),
	.poll = await_poll,
	.result_offset = offsetof(struct await, runs),
	.result_size = sizeof(uint32_t),
};

static void
task_awaits_a_job(void **state)
{
	unsigned int i;
	uint32_t runs;

	for (i = 0; i < 100; i++) {
		runs = 0;
		rig_set(&rig.go, 0);
		assert_int_equal(
			weir_runtime_block_on(rig.rt, &await_ops, NULL, &runs),
			0);
		assert_int_equal(runs, 1);
	}
	rig_expect_log(100, 100, 0);
}

static void
task_of_a_current_thread_runtime_awaits_a_job(void **state)
{
	struct weir_options o;

	rig_options(&o, 0);
	o.current_thread = true;
	restart(&o);
	task_awaits_a_job(state);
}

static void
job_aborted_in_the_queue_never_runs(void **state)
{
	struct weir_join *first, *second;

	restart_with_threads(1);
	first = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	second = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
	weir_join_abort(second);
	assert_int_equal(weir_join_try(second, NULL), WEIR_PENDING);
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_wait(second, NULL), -ECANCELED);
	assert_int_equal(weir_join_wait(first, NULL), 0);
	rig_expect_log(1, 2, 1);
}

static void
job_that_runs_is_past_abort(void **state)
{
	struct weir_join *join;
	uint32_t runs = 0;

	join = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	weir_join_abort(join);
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_wait(join, &runs), 0);
	assert_int_equal(runs, 1);
	rig_expect_log(1, 1, 0);
}

static void
expect_refused(const struct weir_task_ops *ops, int error)
{
	rte_errno = 0;
	assert_null(weir_blocking_spawn(rig.rt, ops, NULL));
	assert_int_equal(rte_errno, error);
}

static void
each_way_to_spawn_needs_its_function(void **state)
{
	struct weir_task_ops ops = rig_done_ops;

	expect_refused(NULL, EINVAL);
	ops.run = NULL;
	expect_refused(&ops, EINVAL);
	ops = rig_done_ops;
	ops.name = NULL;
	expect_refused(&ops, EINVAL);
	ops = rig_done_ops;
	ops.result_size = ops.state_size + 1;
	expect_refused(&ops, EINVAL);
	ops = rig_done_ops;
	ops.poll = NULL;
	assert_null(weir_task_spawn(rig.rt, &ops, &rig.told, NULL));
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &rig.told, NULL),
			 -EINVAL);
	assert_int_equal(
		weir_join_wait(rig_spawn_job(rig.rt, &ops, &rig.told), NULL),
		0);
	rig_expect_log(1, 1, 1);
}

static void
job_without_memory_is_refused_whole(void **state)
{
	struct weir_task_ops ops = rig_done_ops;

	ops.state_size = (size_t)1 << 40;
	expect_refused(&ops, ENOMEM);
	rig_expect_log(0, 0, 0);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 0);
}

/* An empty state, and one that no cell of a pool holds. */
static int
check_state(void *state)
{
	const char *bytes = state;
	unsigned int i;

	for (i = 0; i < 5000; i++)
		if (bytes[i] != (char)i)
			return -EBADMSG;
	return WEIR_DONE;
}

static int
do_nothing(void *state)
{
	return WEIR_DONE;
}

static void
state_of_any_size_is_copied(void **state)
{
	static const struct weir_task_ops large = {
		.name = "large",
		.state_size = 5000,
		.run = check_state,
	};
	static const struct weir_task_ops none = {
		.name = "none",
		.run = do_nothing,
	};
	char bytes[5000];
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	join = weir_blocking_spawn(rig.rt, &large, bytes);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(weir_join_wait(join, NULL), 0);
	join = weir_blocking_spawn(rig.rt, &none, NULL);
	assert_int_equal(weir_join_wait(join, NULL), 0);
}

#define STORM_JOBS 200u
#define STORM_THREADS 4u

struct storm {
	struct atomic_u32 next;
	struct atomic_u32 inside;
	struct atomic_u32 too_many;
	struct atomic_u32 awaited;
	uint64_t seed;
} storm;

static int
storm_run(void *state)
{
	struct rig_state *s = state;

	if (atomic_u32_fetch_add(&storm.inside, 1, ACQ_REL) >= STORM_THREADS)
		rig_add(&storm.too_many, 1);
	rig_add(&s->log->polls, 1);
	sched_yield();
	atomic_u32_fetch_sub(&storm.inside, 1, ACQ_REL);
	return WEIR_DONE;
}

static void *
spawn_storm(void *arg)
{
	struct weir_task_ops *ops = arg;
	struct weir_join *join;
	struct rand_state r;
	unsigned int i;

	rand_seed(&r,
		  storm.seed + atomic_u32_fetch_add(&storm.next, 1, RELAXED));
	for (i = 0; i < STORM_JOBS; i++) {
		join = rig_spawn_job(rig.rt, ops, &rig.told);
		if (rand_below(&r, 2) == 0) {
			weir_join_detach(join);
			continue;
		}
		if (weir_join_wait(join, NULL) == 0)
			rig_add(&storm.awaited, 1);
	}
	return NULL;
}

/* Threads come and go all the time, at their limit. */
static void
storm_of_spawners_loses_no_job_and_keeps_the_limit(void **state)
{
	struct weir_task_ops ops = rig_done_ops;
	struct weir_options o;

	memset(&storm, 0, sizeof(storm));
	storm.seed = unit_seed();
	ops.run = storm_run;
	rig_options(&o, 1);
	o.blocking_threads = STORM_THREADS;
	o.blocking_keep_alive_ms = 0;
	restart(&o);
	rig_threads(6, spawn_storm, &ops);
	rig_wait_until(rig_get(&rig.log.results_dropped) == 6 * STORM_JOBS);
	rig_expect_log(6 * STORM_JOBS, 6 * STORM_JOBS, 6 * STORM_JOBS);
	assert_int_equal(rig_get(&storm.too_many), 0);
	assert_uint_in_range(rig_get(&storm.awaited), 1, 6 * STORM_JOBS);
	rig_wait_until(rig_stats(rig.rt).blocking_threads == 0);
	assert_int_equal(rig_stats(rig.rt).blocking_queued, 0);
	assert_int_equal(rig_stats(rig.rt).blocking_running, 0);
}

/* Calls of each hook for the tasks named "done". */
static struct atomic_u32 hook_calls[4];

#define COUNT_HOOK(hook, i)                                         \
	static void hook(void *arg, const struct weir_task_info *t) \
	{                                                           \
		if (strcmp(t->name, "done") == 0)                   \
			rig_add(&hook_calls[i], 1);                 \
	}
COUNT_HOOK(count_spawn, 0)
COUNT_HOOK(count_before, 1)
COUNT_HOOK(count_after, 2)
COUNT_HOOK(count_end, 3)

static void
expect_hooks(uint32_t spawns, uint32_t runs, uint32_t ends)
{
	assert_int_equal(rig_get(&hook_calls[0]), spawns);
	assert_int_equal(rig_get(&hook_calls[1]), runs);
	assert_int_equal(rig_get(&hook_calls[2]), runs);
	assert_int_equal(rig_get(&hook_calls[3]), ends);
}

static void
hooks_are_called_for_jobs(void **state)
{
	const struct weir_hooks hooks = {
		.task_spawn = count_spawn,
		.task_before_poll = count_before,
		.task_after_poll = count_after,
		.task_end = count_end,
	};
	struct weir_options o;
	struct weir_join *join;
	uint64_t id;

	memset(hook_calls, 0, sizeof(hook_calls));
	rig_options(&o, 1);
	o.hooks = &hooks;
	restart(&o);
	join = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
	id = weir_join_id(join);
	assert_int_equal(weir_join_wait(join, NULL), 0);
	expect_hooks(1, 1, 1);
	weir_runtime_shutdown_begin(rig.rt);
	join = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
	assert_int_not_equal(weir_join_id(join), id);
	weir_join_detach(join);
	expect_hooks(2, 1, 2);
	assert_int_equal(rig_stats(rig.rt).spawned, 2);
}

static int
fail_run(void *state)
{
	return -ENETUNREACH;
}

static void
failure_that_nobody_awaits_shuts_down(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "fails",
		.run = fail_run,
	};
	struct weir_options o;

	rig_options(&o, 1);
	o.on_failure = WEIR_FAILURE_SHUTDOWN;
	restart(&o);
	weir_join_detach(weir_blocking_spawn(rig.rt, &ops, NULL));
	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_yield_ops, &rig.told, NULL),
		-ENETUNREACH);
}

#define JOB_TEST(name) RIG_TEST(name, 2)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		JOB_TEST(result_comes_through_the_handle),
		JOB_TEST(outcomes_are_those_of_poll_but_for_pending),
		JOB_TEST(detached_job_runs_and_its_result_is_dropped),
		JOB_TEST(handle_that_goes_last_drops_the_result),
		JOB_TEST(task_awaits_a_job),
		JOB_TEST(task_of_a_current_thread_runtime_awaits_a_job),
		JOB_TEST(job_aborted_in_the_queue_never_runs),
		JOB_TEST(job_that_runs_is_past_abort),
		JOB_TEST(each_way_to_spawn_needs_its_function),
		JOB_TEST(job_without_memory_is_refused_whole),
		JOB_TEST(state_of_any_size_is_copied),
		JOB_TEST(storm_of_spawners_loses_no_job_and_keeps_the_limit),
		JOB_TEST(hooks_are_called_for_jobs),
		JOB_TEST(failure_that_nobody_awaits_shuts_down),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
