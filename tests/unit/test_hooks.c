/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a runtime tells its application: hooks, failures that nobody awaits;
 * and what a task may ask of it in the middle of a poll.
 */

#include "rig.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#define TASKS 20u
#define YIELDS 3u

static struct {
	struct atomic_u32 thread_start, thread_stop, park, unpark;
	struct atomic_u32 spawn, before, after, end, wrong;
} seen;

static void
count_start(void *arg, unsigned int worker)
{
	rig_add(&seen.thread_start, 1);
	if (arg != &seen || worker >= 2)
		rig_add(&seen.wrong, 1);
}

static void
count_stop(void *arg, unsigned int worker)
{
	rig_add(&seen.thread_stop, 1);
}

static void
count_park(void *arg, unsigned int worker)
{
	rig_add(&seen.park, 1);
}

static void
count_unpark(void *arg, unsigned int worker)
{
	rig_add(&seen.unpark, 1);
}

static void
count_task(struct atomic_u32 *n, void *arg, const struct weir_task_info *task)
{
	rig_add(n, 1);
	if (arg != &seen || strcmp(task->name, "counted") != 0)
		rig_add(&seen.wrong, 1);
}

static void
count_spawn(void *arg, const struct weir_task_info *task)
{
	count_task(&seen.spawn, arg, task);
}

static void
count_before(void *arg, const struct weir_task_info *task)
{
	count_task(&seen.before, arg, task);
}

static void
count_after(void *arg, const struct weir_task_info *task)
{
	count_task(&seen.after, arg, task);
}

static void
count_end(void *arg, const struct weir_task_info *task)
{
	count_task(&seen.end, arg, task);
}

static const struct weir_hooks hooks = {
	.arg = &seen,
	.thread_start = count_start,
	.thread_stop = count_stop,
	.park = count_park,
	.unpark = count_unpark,
	.task_spawn = count_spawn,
	.task_before_poll = count_before,
	.task_after_poll = count_after,
	.task_end = count_end,
};

static int
yield_poll(struct weir_context *ctx, void *state)
{
	unsigned int *n = state;

	return (*n)++ < YIELDS ? weir_context_yield(ctx) : WEIR_DONE;
}

static const struct weir_task_ops counted_ops = {
	.name = "counted",
	.state_size = sizeof(unsigned int),
	.poll = yield_poll,
};

static struct weir_runtime *rt;

static void
create(enum weir_failure on_failure, const struct weir_hooks *with)
{
	struct weir_options o;

	rig_options(&o, 2);
	o.on_failure = on_failure;
	o.hooks = with;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
}

/* A test that has failed leaves its runtime. */
static int
teardown(void **state)
{
	weir_runtime_free(rt);
	rt = NULL;
	return 0;
}

static void
test_hooks_see_threads_parks_and_every_poll(void **state)
{
	unsigned int i;

	memset(&seen, 0, sizeof(seen));
	create(WEIR_FAILURE_LOG, &hooks);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(
			weir_runtime_block_on(rt, &counted_ops, NULL, NULL), 0);
	rig_wait_until(rig_get(&seen.park) > 0);
	rig_runtime_end(&rt);
	assert_int_equal(rig_get(&seen.thread_start), 2);
	assert_int_equal(rig_get(&seen.thread_stop), 2);
	assert_int_equal(rig_get(&seen.park), rig_get(&seen.unpark));
	assert_int_equal(rig_get(&seen.spawn), TASKS);
	assert_int_equal(rig_get(&seen.before), TASKS * (YIELDS + 1));
	assert_int_equal(rig_get(&seen.after), TASKS * (YIELDS + 1));
	assert_int_equal(rig_get(&seen.end), TASKS);
	assert_int_equal(rig_get(&seen.wrong), 0);
}

static int
fail_poll(struct weir_context *ctx, void *state)
{
	return -ENETUNREACH;
}

static const struct weir_task_ops fail_ops = {
	.name = "fails",
	.poll = fail_poll,
};

static int
wait_poll(struct weir_context *ctx, void *state)
{
	return WEIR_PENDING;
}

static const struct weir_task_ops wait_ops = {
	.name = "waits",
	.poll = wait_poll,
};

/* Spawns a task that fails, gives its handle up, and waits for ever. */
static int
lose_a_failure(struct weir_context *ctx, void *state)
{
	weir_join_detach(weir_task_spawn(weir_context_runtime(ctx), &fail_ops,
					 NULL, NULL));
	return WEIR_PENDING;
}

static const struct weir_task_ops lose_ops = {
	.name = "loses",
	.poll = lose_a_failure,
};

static void
test_a_failure_that_nobody_awaits_shuts_down(void **state)
{
	create(WEIR_FAILURE_SHUTDOWN, NULL);
	assert_int_equal(weir_runtime_block_on(rt, &lose_ops, NULL, NULL),
			 -ENETUNREACH);
	/* It was the runtime: others end the same way. */
	assert_int_equal(weir_runtime_block_on(rt, &wait_ops, NULL, NULL),
			 -ENETUNREACH);
	rig_runtime_end(&rt);
}

/* The same of one that never had a handle. */
static int
start_a_failure(struct weir_context *ctx, void *state)
{
	weir_task_spawn_detached(weir_context_runtime(ctx), &fail_ops, NULL,
				 NULL);
	return WEIR_PENDING;
}

static const struct weir_task_ops start_ops = {
	.name = "starts",
	.poll = start_a_failure,
};

static void
test_a_detached_failure_shuts_down(void **state)
{
	create(WEIR_FAILURE_SHUTDOWN, NULL);
	assert_int_equal(weir_runtime_block_on(rt, &start_ops, NULL, NULL),
			 -ENETUNREACH);
	rig_runtime_end(&rt);
}

/* Whether the log tells of it when the handle of a task that has failed is given up. */
static bool
is_told_of(const struct weir_task_ops *ops, const void *task_state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *log = open_memstream(&text, &size);
	struct weir_join *join = weir_task_spawn(rt, ops, task_state, NULL);
	bool told;

	assert_non_null(log);
	assert_non_null(join);
	rig_wait_until(weir_join_ended(join));
	rte_openlog_stream(log);
	weir_join_detach(join);
	rte_openlog_stream(NULL);
	fclose(log);
	told = strstr(text, "nobody awaits it") != NULL;
	free(text);
	return told;
}

static void
test_a_failure_is_only_logged_by_default(void **state)
{
	create(WEIR_FAILURE_LOG, NULL);
	assert_true(is_told_of(&fail_ops, NULL));
	assert_int_equal(weir_runtime_block_on(rt, &counted_ops, NULL, NULL),
			 0);
	rig_runtime_end(&rt);
}

static int
fail_at_the_end(struct weir_context *ctx, void *state)
{
	const int *error = state;

	weir_runtime_shutdown_begin(weir_context_runtime(ctx));
	return *error;
}

static const struct weir_task_ops fail_at_the_end_ops = {
	.name = "fails at the end",
	.state_size = sizeof(int),
	.poll = fail_at_the_end,
};

/* What the log says of one that fails when the shutdown has begun. */
static bool
is_told_at_the_end(int error)
{
	bool told;

	create(WEIR_FAILURE_LOG, NULL);
	told = is_told_of(&fail_at_the_end_ops, &error);
	rig_runtime_end(&rt);
	return told;
}

/* It was dropped before, and is no failure; others are. */
static void
test_a_peer_that_is_gone_at_the_end_is_not_told_of(void **state)
{
	assert_false(is_told_at_the_end(-EPIPE));
	assert_true(is_told_at_the_end(-ENETUNREACH));
}

static void
test_an_awaited_failure_is_no_reason_to_shut_down(void **state)
{
	create(WEIR_FAILURE_SHUTDOWN, NULL);
	assert_int_equal(weir_runtime_block_on(rt, &fail_ops, NULL, NULL),
			 -ENETUNREACH);
	assert_int_equal(weir_runtime_block_on(rt, &counted_ops, NULL, NULL),
			 0);
	rig_runtime_end(&rt);
}

static int
end_it_all(struct weir_context *ctx, void *state)
{
	weir_runtime_shutdown_begin(weir_context_runtime(ctx));
	weir_runtime_shutdown_begin(weir_context_runtime(ctx));
	return WEIR_PENDING;
}

static void
test_a_task_may_begin_the_shutdown(void **state)
{
	const struct weir_task_ops ops = { .name = "end", .poll = end_it_all };

	create(WEIR_FAILURE_LOG, NULL);
	assert_int_equal(weir_runtime_block_on(rt, &ops, NULL, NULL),
			 -ECANCELED);
	rig_runtime_end(&rt);
}

/* Spends more than a budget in one poll, which works only when suspended. */
static int
spend_much(struct weir_context *ctx, void *state)
{
	bool *second = state;
	unsigned int i;

	if (!*second) {
		*second = true;
		weir_context_budget_suspend(ctx);
		for (i = 0; i < 1000; i++)
			if (weir_context_spend(ctx, i == 0 ? UINT_MAX : 1) < 0)
				return -EINVAL;
		weir_context_budget_resume(ctx);
		for (i = 0; weir_context_spend(ctx, 1) == 0; i++)
			;
		/* What was left is what there was. */
		return i == 128 ? WEIR_PENDING : -ERANGE;
	}
	/* And the next poll has a budget of its own. */
	for (i = 0; weir_context_spend(ctx, 1) == 0; i++)
		;
	return i == 128 ? WEIR_DONE : -ERANGE;
}

static void
test_a_section_without_budget(void **state)
{
	const struct weir_task_ops ops = {
		.name = "spend",
		.state_size = sizeof(bool),
		.poll = spend_much,
	};

	create(WEIR_FAILURE_LOG, NULL);
	assert_int_equal(weir_runtime_block_on(rt, &ops, NULL, NULL), 0);
	rig_runtime_end(&rt);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hooks_see_threads_parks_and_every_poll),
		TEST(test_a_failure_that_nobody_awaits_shuts_down),
		TEST(test_a_detached_failure_shuts_down),
		TEST(test_a_failure_is_only_logged_by_default),
		TEST(test_a_peer_that_is_gone_at_the_end_is_not_told_of),
		TEST(test_an_awaited_failure_is_no_reason_to_shut_down),
		TEST(test_a_task_may_begin_the_shutdown),
		TEST(test_a_section_without_budget),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
