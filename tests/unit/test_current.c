/* SPDX-License-Identifier: BSD-3-Clause */

/* The current-thread runtime: lib/sched/current.c. */

#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <rte_lcore.h>

#include <weir_null.h>

#define THREADS 6u
#define ROUNDS 50u

static struct weir_runtime *rt;

static int
create(void **state)
{
	struct weir_options o;

	rig_options(&o, 0);
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	return 0;
}

static int
destroy(void **state)
{
	rig_runtime_free(rt);
	return 0;
}

static int
who_polls(struct weir_context *ctx, void *state)
{
	pthread_t *polled_by = state;

	assert_ptr_equal(weir_runtime_current(), rt);
	*polled_by = pthread_self();
	return WEIR_DONE;
}

static const struct weir_task_ops who_ops = {
	.name = "who",
	.state_size = sizeof(pthread_t),
	.poll = who_polls,
	.result_size = sizeof(pthread_t),
};

static void
test_block_on_runs_tasks_on_the_calling_thread(void **state)
{
	pthread_t polled_by = 0, detached = 0;
	struct weir_join *other;

	other = weir_task_spawn(rt, &who_ops, NULL, NULL);
	/* Nobody runs anything until someone blocks. */
	assert_int_equal(weir_join_try(other, NULL), WEIR_PENDING);
	assert_int_equal(weir_runtime_block_on(rt, &who_ops, NULL, &polled_by),
			 0);
	assert_true(pthread_equal(polled_by, pthread_self()));
	assert_int_equal(weir_join_try(other, &detached), 0);
	assert_true(pthread_equal(detached, pthread_self()));
	assert_null(weir_runtime_current());
}

static void
test_its_worker_has_no_lcore(void **state)
{
	assert_int_equal(weir_runtime_nb_workers(rt), 1);
	assert_int_equal(weir_runtime_worker_of_lcore(rt, LCORE_ID_ANY),
			 -ENOENT);
	assert_int_equal(weir_runtime_worker_of_lcore(rt, rte_lcore_id()),
			 -ENOENT);
}

struct relay {
	struct weir_join *child;
	unsigned int yields;
};

static int
yield_some(struct weir_context *ctx, void *state)
{
	unsigned int *left = state;

	return (*left)-- > 0 ? weir_context_yield(ctx) : WEIR_DONE;
}

static const struct weir_task_ops yield_ops = {
	.name = "yield",
	.state_size = sizeof(unsigned int),
	.poll = yield_some,
};

/* Spawns a child that yields, and awaits it. */
static int
relay_poll(struct weir_context *ctx, void *state)
{
	struct relay *r = state;

	if (r->child == NULL)
		r->child = weir_task_spawn(weir_context_runtime(ctx),
					   &yield_ops, &r->yields, NULL);
	return weir_join_poll(ctx, r->child, NULL);
}

static const struct weir_task_ops relay_ops = {
	.name = "relay",
	.state_size = sizeof(struct relay),
	.poll = relay_poll,
};

static void *
block_often(void *arg)
{
	struct atomic_u32 *done = arg;
	struct relay r = { .yields = 7 };
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		if (weir_runtime_block_on(rt, &relay_ops, &r, NULL) == 0)
			atomic_u32_fetch_add(done, 1, RELAXED);
	return NULL;
}

static void
test_threads_pass_the_core_between_them(void **state)
{
	struct atomic_u32 done = { 0 };

	rig_threads(THREADS, block_often, &done);
	assert_int_equal(atomic_u32_load(&done, RELAXED), THREADS * ROUNDS);
}

static int
nested(struct weir_context *ctx, void *state)
{
	return weir_runtime_block_on(rt, &yield_ops, NULL, NULL) == -EDEADLK ?
		       WEIR_DONE :
		       -EINVAL;
}

static void
test_nested_block_on_is_refused(void **state)
{
	const struct weir_task_ops ops = { .name = "nested", .poll = nested };

	assert_int_equal(weir_runtime_block_on(rt, &ops, NULL, NULL), 0);
}

static struct atomic_ptr waker;
static struct atomic_u32 drops;

static int
wait_for_waker(struct weir_context *ctx, void *state)
{
	bool *woken = state;

	if (*woken)
		return WEIR_DONE;
	*woken = true;
	/* Of several that wait, the last one's is kept. */
	weir_waker_drop(
		atomic_ptr_exchange(&waker, weir_context_waker(ctx), ACQ_REL));
	return WEIR_PENDING;
}

static void
count_drop(void *state)
{
	atomic_u32_fetch_add(&drops, 1, RELAXED);
}

static const struct weir_task_ops wait_ops = {
	.name = "wait",
	.state_size = sizeof(bool),
	.poll = wait_for_waker,
	.drop = count_drop,
};

static void *
wake_when_there(void *arg)
{
	rig_wait_until(atomic_ptr_load(&waker, ACQUIRE) != NULL);
	weir_waker_wake(atomic_ptr_load(&waker, RELAXED));
	return NULL;
}

static void
test_a_plain_thread_wakes_the_driver(void **state)
{
	pthread_t thread;

	atomic_ptr_store(&waker, NULL, RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, wake_when_there, NULL),
			 0);
	assert_int_equal(weir_runtime_block_on(rt, &wait_ops, NULL, NULL), 0);
	pthread_join(thread, NULL);
}

static int
be_cancelled(struct weir_context *ctx, void *state)
{
	pthread_testcancel();
	return WEIR_DONE;
}

static const struct weir_task_ops cancelled_ops = {
	.name = "cancelled",
	.poll = be_cancelled,
};

/* As close(2) would end who drops a descriptor. */
static void
drop_cancelled(void *state)
{
	pthread_testcancel();
}

static const struct weir_task_ops result_ops = {
	.name = "result",
	.state_size = sizeof(int),
	.poll = be_cancelled,
	.result_size = sizeof(int),
	.drop = drop_cancelled,
	.result_drop = drop_cancelled,
};

struct driver {
	const struct weir_task_ops *ops;
	struct weir_join *join; /* NULL: spawns */
	int rc;
};

static void *
drive_cancelled(void *arg)
{
	struct driver *d = arg;

	pthread_cancel(pthread_self());
	d->rc = d->join != NULL ? weir_join_wait(d->join, NULL) :
				  weir_runtime_block_on(rt, d->ops, NULL, NULL);
	pthread_testcancel();
	return NULL;
}

/* On a thread that is cancelled, which ends behind it. */
static void
expect_end_behind(struct driver d, int rc)
{
	pthread_t thread;
	void *end = NULL;

	d.rc = 1;
	assert_int_equal(pthread_create(&thread, NULL, drive_cancelled, &d), 0);
	pthread_join(thread, &end);
	assert_int_equal(d.rc, rc);
	assert_ptr_equal(end, PTHREAD_CANCELED);
}

/* B2: it gives the core back first. */
static void
test_a_driver_that_is_cancelled_ends_behind_its_task(void **state)
{
	expect_end_behind((struct driver){ .ops = &cancelled_ops }, 0);
	assert_int_equal(weir_runtime_block_on(rt, &cancelled_ops, NULL, NULL),
			 0);
}

/* Else its handle would keep the runtime's memory, and its name. */
static void
test_who_is_cancelled_ends_behind_what_it_drops(void **state)
{
	struct driver d = { .ops = &result_ops };

	expect_end_behind(d, 0);
	d.join = weir_task_spawn(rt, &result_ops, NULL, NULL);
	assert_non_null(d.join);
	assert_int_equal(weir_runtime_block_on(rt, &cancelled_ops, NULL, NULL),
			 0);
	assert_true(weir_join_ended(d.join));
	expect_end_behind(d, 0);
	/* It is refused. */
	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, NULL), 0);
	d.join = NULL;
	expect_end_behind(d, -ECANCELED);
}

struct creator {
	struct weir_options options;
	struct weir_runtime *made;
	bool done;
};

static void *
create_cancelled(void *arg)
{
	struct creator *c = arg;

	pthread_cancel(pthread_self());
	c->made = weir_runtime_create(&c->options);
	c->done = true;
	pthread_testcancel();
	return NULL;
}

static void *
validate_cancelled(void *arg)
{
	struct creator *c = arg;

	pthread_cancel(pthread_self());
	c->done = weir_options_validate(&c->options, NULL, 0) == 0;
	pthread_testcancel();
	return NULL;
}

static void
test_who_is_cancelled_validates(void **state)
{
	struct creator c = { .done = false };
	pthread_t thread;
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	rig_options(&c.options, 0);
	c.options.current_thread = true;
	c.options.blocking_cpus = &cpus;
	assert_int_equal(pthread_create(&thread, NULL, validate_cancelled, &c),
			 0);
	pthread_join(thread, NULL);
	assert_true(c.done);
}

/* It tries CPUs by a thread, reads files, and writes to the log. */
static void
test_who_is_cancelled_creates_a_whole_runtime(void **state)
{
	struct creator good = { .done = false }, bad;
	pthread_t thread;
	cpu_set_t cpus;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	rig_options(&good.options, 0);
	good.options.current_thread = true;
	good.options.name = "made";
	good.options.blocking_cpus = &cpus;
	bad = good;
	bad.options.event_interval = 0;
	assert_int_equal(pthread_create(&thread, NULL, create_cancelled, &good),
			 0);
	pthread_join(thread, NULL);
	assert_true(good.done);
	assert_non_null(good.made);
	weir_runtime_free(good.made);
	assert_int_equal(pthread_create(&thread, NULL, create_cancelled, &bad),
			 0);
	pthread_join(thread, NULL);
	assert_true(bad.done);
	assert_null(bad.made);
}

static int
take_events(struct weir_context *ctx, void *state)
{
	struct weir_null **null = state;
	int n = weir_null_recv(ctx, *null);

	return n < 0 ? n : n == 3 ? WEIR_DONE : -EINVAL;
}

static void *
post_events(void *null)
{
	weir_null_post(null, 3);
	return NULL;
}

static void
test_the_driver_polls_sources(void **state)
{
	const struct weir_task_ops ops = {
		.name = "take",
		.state_size = sizeof(struct weir_null *),
		.poll = take_events,
	};
	struct weir_null *null = weir_null_create(rt, 0);
	pthread_t thread;

	assert_non_null(null);
	assert_int_equal(pthread_create(&thread, NULL, post_events, null), 0);
	assert_int_equal(weir_runtime_block_on(rt, &ops, &null, NULL), 0);
	pthread_join(thread, NULL);
	weir_null_free(null);
}

static void *
block_for_ever(void *arg)
{
	struct atomic_u32 *cancelled = arg;

	if (weir_runtime_block_on(rt, &wait_ops, NULL, NULL) == -ECANCELED)
		atomic_u32_fetch_add(cancelled, 1, RELAXED);
	return NULL;
}

static void
test_shutdown_ends_those_who_block(void **state)
{
	struct atomic_u32 cancelled = { 0 };
	pthread_t threads[3];
	unsigned int i;

	atomic_ptr_store(&waker, NULL, RELAXED);
	atomic_u32_store(&drops, 0, RELAXED);
	for (i = 0; i < RTE_DIM(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						block_for_ever, &cancelled),
				 0);
	rig_wait_until(atomic_ptr_load(&waker, ACQUIRE) != NULL);
	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, NULL), 0);
	for (i = 0; i < RTE_DIM(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_u32_load(&cancelled, RELAXED),
			 RTE_DIM(threads));
	assert_int_equal(atomic_u32_load(&drops, RELAXED), RTE_DIM(threads));
	weir_waker_drop(atomic_ptr_exchange(&waker, NULL, RELAXED));
}

/* Who shuts down has time to return before this does. */
static void
stop_slowly(void *arg, unsigned int worker)
{
	unsigned int i;

	(void)worker;
	for (i = 0; i < 1000; i++)
		sched_yield();
	atomic_u32_fetch_add((struct atomic_u32 *)arg, 1, RELEASE);
}

static int
create_with_hooks(void **state)
{
	static struct atomic_u32 stops;
	static const struct weir_hooks hooks = {
		.arg = &stops,
		.thread_stop = stop_slowly,
	};
	struct weir_options o;

	rig_options(&o, 0);
	o.current_thread = true;
	o.hooks = &hooks;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	atomic_u32_store(&stops, 0, RELAXED);
	*state = &stops;
	return 0;
}

static void
test_shutdown_waits_for_the_hooks_of_who_drives(void **state)
{
	const struct atomic_u32 *stops = *state;
	struct atomic_u32 cancelled = { 0 };
	pthread_t thread;

	atomic_ptr_store(&waker, NULL, RELAXED);
	assert_int_equal(
		pthread_create(&thread, NULL, block_for_ever, &cancelled), 0);
	rig_wait_until(atomic_ptr_load(&waker, ACQUIRE) != NULL);
	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, NULL), 0);
	assert_int_equal(atomic_u32_load(stops, ACQUIRE), 1);
	pthread_join(thread, NULL);
	weir_waker_drop(atomic_ptr_exchange(&waker, NULL, RELAXED));
}

static void
test_shutdown_ends_tasks_that_nobody_drives(void **state)
{
	unsigned int i;

	atomic_u32_store(&drops, 0, RELAXED);
	for (i = 0; i < 10; i++)
		weir_join_detach(weir_task_spawn(rt, &wait_ops, NULL, NULL));
	assert_int_equal(weir_runtime_shutdown(rt, 0, NULL), 0);
	assert_int_equal(atomic_u32_load(&drops, RELAXED), 10);
	/* And what comes later is refused. */
	assert_int_equal(weir_runtime_block_on(rt, &wait_ops, NULL, NULL),
			 -ECANCELED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_block_on_runs_tasks_on_the_calling_thread),
		TEST(test_its_worker_has_no_lcore),
		TEST(test_threads_pass_the_core_between_them),
		TEST(test_nested_block_on_is_refused),
		TEST(test_a_plain_thread_wakes_the_driver),
		TEST(test_a_driver_that_is_cancelled_ends_behind_its_task),
		TEST(test_who_is_cancelled_ends_behind_what_it_drops),
		TEST(test_who_is_cancelled_creates_a_whole_runtime),
		TEST(test_who_is_cancelled_validates),
		TEST(test_the_driver_polls_sources),
		TEST(test_shutdown_ends_those_who_block),
		TEST(test_shutdown_ends_tasks_that_nobody_drives),
		cmocka_unit_test_setup_teardown(
			test_shutdown_waits_for_the_hooks_of_who_drives,
			create_with_hooks, destroy),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
