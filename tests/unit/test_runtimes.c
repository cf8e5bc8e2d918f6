/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several runtimes in one process: two with workers, on lcores of their own, and
 * a current-thread one that a plain thread drives.
 */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "park/grace.h"
#include "park/source.h"
#include "rig.h"
#include "sched/scheduler.h"
#include "weir_event.h"

enum {
	ONE,
	TWO,
	CURRENT,
	RUNTIMES
};

static const char *const names[RUNTIMES] = { "one", "two", "current" };
static struct weir_runtime *rts[RUNTIMES];
static struct rig_log seen;

/* Whoever drives the current-thread runtime, until it is told to end. */
static struct {
	pthread_t thread;
	struct rig_log log;
	struct atomic_u32 go;
	struct atomic_ptr waker;
	struct weir_waker *taken;
	int outcome;
	struct atomic_u32 over;
} driver;

static void *
drive(void *arg)
{
	const struct rig_state s = {
		.log = &driver.log,
		.go = &driver.go,
		.waker = &driver.waker,
	};

	driver.outcome =
		weir_runtime_block_on(rts[CURRENT], &rig_wait_ops, &s, NULL);
	rig_set(&driver.over, 1);
	return NULL;
}

static struct weir_runtime *
create(unsigned int i)
{
	const unsigned int lcores[][2] = { { 1 }, { 2, 3 }, { 0 } };
	struct weir_options o;
	struct weir_runtime *rt;

	rig_options(&o, 1 + (i == TWO));
	o.name = names[i];
	o.lcores = lcores[i];
	o.current_thread = i == CURRENT;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	return rt;
}

static int
setup(void **state)
{
	unsigned int i;

	memset(&seen, 0, sizeof(seen));
	memset(&driver, 0, sizeof(driver));
	for (i = 0; i < RUNTIMES; i++)
		rts[i] = create(i);
	assert_int_equal(pthread_create(&driver.thread, NULL, drive, NULL), 0);
	driver.taken = rig_take_waker(&driver.waker);
	return 0;
}

/* Shuts one down; nothing may be left of it. */
static void
shut_down(unsigned int i)
{
	struct weir_shutdown_report report = { .live_tasks = 7,
					       .ring_entries = 7 };

	assert_int_equal(weir_runtime_shutdown(rts[i], UINT64_MAX, &report), 0);
	assert_int_equal(report.live_tasks, 0);
	assert_int_equal(report.ring_entries, 0);
}

static int
teardown(void **state)
{
	unsigned int i;

	rig_set(&driver.go, 1);
	weir_waker_wake(driver.taken);
	pthread_join(driver.thread, NULL);
	for (i = 0; i < RUNTIMES; i++) {
		shut_down(i);
		weir_runtime_free(rts[i]);
		/* Another's worker may be in there still, behind a wake-up (W2). */
		rig_wait_until(!rig_runtime_exists(names[i]));
	}
	return 0;
}

/* A task that awaits another's handle; its result is that one's outcome. */
struct joiner {
	struct weir_join *join;
	int32_t outcome;
};

static int
join_poll(struct weir_context *ctx, void *state)
{
	struct joiner *j = state;
	int rc = weir_join_poll(ctx, j->join, NULL);

	if (rc == WEIR_PENDING)
		return rc;
	j->join = NULL;
	j->outcome = rc;
	return WEIR_DONE;
}

static void
join_drop(void *state)
{
	struct joiner *j = state;

	weir_join_detach(j->join);
	rig_add(&seen.results_dropped, 1);
}

static const struct weir_task_ops joiner_ops = {
	.name = "joiner",
	.state_size = sizeof(struct joiner),
	.poll = join_poll,
	.drop = join_drop,
	.result_offset = offsetof(struct joiner, outcome),
	.result_size = sizeof(int32_t),
};

/* A task of one runtime that awaits a task of another, which waits itself. */
struct pair {
	struct atomic_u32 go;
	struct atomic_ptr waker;
	struct weir_waker *waits;
	struct task *awaited;
	struct weir_join *joiner;
};

static bool
has_waiter(const struct pair *p)
{
	return (state_load(&p->awaited->state) & STATE_JOIN_WAKER) != 0;
}

static void
await_across(struct pair *p, unsigned int from, unsigned int to)
{
	const struct rig_state s = {
		.log = &seen,
		.go = &p->go,
		.waker = &p->waker,
	};
	struct joiner j;

	memset(p, 0, sizeof(*p));
	j.join = rig_spawn(rts[to], &rig_wait_ops, &s);
	p->awaited = (struct task *)j.join;
	p->waits = rig_take_waker(&p->waker);
	p->joiner = weir_task_spawn(rts[from], &joiner_ops, &j, NULL);
	assert_non_null(p->joiner);
	rig_wait_until(has_waiter(p));
}

static void
task_awaits_a_task_of_another_runtime(void **state)
{
	unsigned int from, to, pairs = 0;
	int32_t outcome = -1;
	struct pair p;

	for (from = 0; from < RUNTIMES; from++) {
		for (to = 0; to < RUNTIMES; to++) {
			if (from == to)
				continue;
			await_across(&p, from, to);
			rig_set(&p.go, 1);
			weir_waker_wake(p.waits);
			assert_int_equal(rig_join(p.joiner, &outcome), 0);
			assert_int_equal(outcome, 0);
			assert_int_equal(rig_get(&seen.drops), ++pairs);
		}
	}
}

/* What it awaits is cancelled, and nothing else. */
static void
expect_target_ends(unsigned int from, unsigned int to)
{
	int32_t outcome = 0;
	struct pair p;

	await_across(&p, from, to);
	shut_down(to);
	assert_int_equal(rig_join(p.joiner, &outcome), 0);
	assert_int_equal(outcome, -ECANCELED);
	assert_int_equal(rig_get(&seen.drops), 1);
	weir_waker_drop(p.waits);
	/* The other runtime goes on. */
	assert_int_equal(
		rig_join(rig_spawn(rts[from], &rig_done_ops,
				   &(struct rig_state){ .log = &seen }),
			 NULL),
		0);
}

static void
task_learns_that_another_runtime_has_ended(void **state)
{
	expect_target_ends(TWO, ONE);
}

static void
driven_task_learns_that_another_runtime_has_ended(void **state)
{
	expect_target_ends(CURRENT, TWO);
}

static void
task_learns_that_a_driven_runtime_has_ended(void **state)
{
	expect_target_ends(ONE, CURRENT);
	/* And so does the thread that drove it. */
	rig_wait_until(rig_get(&driver.over));
	assert_int_equal(driver.outcome, -ECANCELED);
}

/* The awaiting task ends with its runtime, and the awaited one runs on. */
static void
expect_source_ends(unsigned int from, unsigned int to)
{
	struct pair p;

	await_across(&p, from, to);
	shut_down(from);
	assert_int_equal(rig_join(p.joiner, NULL), -ECANCELED);
	/* The joiner was dropped, and has detached its handle. */
	assert_int_equal(rig_get(&seen.results_dropped), 1);
	assert_false(has_waiter(&p));
	assert_int_equal(rig_get(&seen.drops), 0);
	rig_set(&p.go, 1);
	weir_waker_wake(p.waits);
	rig_wait_until(rig_get(&seen.drops) == 1);
}

static void
task_outlives_the_runtime_that_awaits_it(void **state)
{
	expect_source_ends(ONE, TWO);
}

static void
task_outlives_a_driven_runtime_that_awaits_it(void **state)
{
	expect_source_ends(CURRENT, ONE);
}

static void
driven_task_outlives_the_runtime_that_awaits_it(void **state)
{
	expect_source_ends(TWO, CURRENT);
}

/* Blocks on what belongs to other runtimes, where it must not block at all. */
static int
block_on_others(struct weir_context *ctx, void *state)
{
	struct rig_state s = { .log = &seen };
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < RUNTIMES; i++) {
		if (weir_runtime_block_on(rts[i], &rig_done_ops, &s, NULL) !=
		    -EDEADLK)
			return -EPERM;
		if (weir_runtime_shutdown(rts[i], 0, NULL) != -EDEADLK)
			return -EIO;
		join = weir_task_spawn(rts[i], &rig_done_ops, &s, NULL);
		if (weir_join_wait(join, NULL) != -EDEADLK)
			return -EINVAL;
		weir_join_detach(join);
	}
	return WEIR_DONE;
}

static void
worker_may_not_block_on_any_runtime(void **state)
{
	const struct weir_task_ops ops = {
		.name = "blocks",
		.poll = block_on_others,
	};
	unsigned int i;

	for (i = 0; i < RUNTIMES; i++)
		assert_int_equal(
			rig_join(weir_task_spawn(rts[i], &ops, NULL, NULL),
				 NULL),
			0);
	rig_wait_until(rig_get(&seen.drops) == RUNTIMES * RUNTIMES);
}

/* Waits for readers, and those of them that came beside another. */
static struct atomic_u32 readers_awaited, badly;

void
__real_weir__grace_period(struct rte_rcu_qsbr *v);
void
__wrap_weir__grace_period(struct rte_rcu_qsbr *v);

void
__wrap_weir__grace_period(struct rte_rcu_qsbr *v)
{
	unsigned int i;

	rig_add(&readers_awaited, 1);
	for (i = 0; i < RUNTIMES; i++)
		if (rts[i]->sources.qsbr == v &&
		    pthread_mutex_trylock(&rts[i]->sources.waits) == 0) {
			pthread_mutex_unlock(&rts[i]->sources.waits);
			rig_add(&badly, 1);
		}
	__real_weir__grace_period(v);
}

/* Once one of each runtime is in its poll, makes and frees a source of another's. */
struct changer {
	unsigned int other;
	struct atomic_u32 *inside;
};

static int
changer_poll(struct weir_context *ctx, void *state)
{
	struct changer *s = state;
	struct weir_event *event;

	rig_add(s->inside, 1);
	rig_wait_until(rig_get(s->inside) == RUNTIMES);
	event = weir_event_create(rts[s->other], 0);
	if (event == NULL)
		return -EINVAL;
	weir_event_free(event);
	return WEIR_DONE;
}

/* S5 S6: each waits for the readers of one runtime, and is one of another. */
static void
workers_change_each_others_sources(void **state)
{
	const struct weir_task_ops ops = {
		.name = "changer",
		.state_size = sizeof(struct changer),
		.poll = changer_poll,
	};
	struct atomic_u32 inside = { 0 };
	struct weir_join *joins[RUNTIMES];
	struct changer s = { .inside = &inside };
	unsigned int i;

	for (i = 0; i < RUNTIMES; i++) {
		s.other = (i + 1) % RUNTIMES;
		joins[i] = weir_task_spawn(rts[i], &ops, &s, NULL);
	}
	for (i = 0; i < RUNTIMES; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_not_equal(rig_get(&readers_awaited), 0);
	assert_int_equal(rig_get(&badly), 0);
}

#define THREADS 6u
#define ROUNDS 40u

static void *
block_on_each(void *done)
{
	const struct rig_state s = { .log = &seen };
	unsigned int i, k;

	for (i = 0; i < ROUNDS; i++)
		for (k = 0; k < RUNTIMES; k++)
			if (weir_runtime_block_on(rts[k], &rig_done_ops, &s,
						  NULL) == 0)
				rig_add(done, 1);
	return NULL;
}

static void
threads_block_on_all_runtimes_at_once(void **state)
{
	struct atomic_u32 done = { 0 };

	rig_threads(THREADS, block_on_each, &done);
	assert_int_equal(rig_get(&done), THREADS * ROUNDS * RUNTIMES);
	assert_int_equal(rig_get(&seen.drops), THREADS * ROUNDS * RUNTIMES);
}

/* Memory that one thread's runtime had is given to another's. */
static void *
make_and_free(void *threads)
{
	struct rig_log log = { .polls = { 0 } };
	const struct rig_state s = { .log = &log };
	struct weir_options o;
	struct weir_runtime *rt;
	char name[16];
	unsigned int i;

	snprintf(name, sizeof(name), "of%u",
		 atomic_u32_fetch_add(threads, 1, RELAXED));
	for (i = 0; i < ROUNDS; i++) {
		rig_options(&o, 0);
		o.name = name;
		o.current_thread = true;
		o.histograms = true;
		rt = weir_runtime_create(&o);
		if (rt == NULL ||
		    weir_runtime_block_on(rt, &rig_done_ops, &s, NULL) < 0)
			rig_add(&badly, 1);
		weir_runtime_free(rt);
	}
	return NULL;
}

static void
threads_make_and_free_runtimes_at_once(void **state)
{
	struct atomic_u32 threads = { 0 };

	rig_set(&badly, 0);
	rig_threads(THREADS, make_and_free, &threads);
	assert_int_equal(rig_get(&badly), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(task_awaits_a_task_of_another_runtime),
		TEST(task_learns_that_another_runtime_has_ended),
		TEST(driven_task_learns_that_another_runtime_has_ended),
		TEST(task_learns_that_a_driven_runtime_has_ended),
		TEST(task_outlives_the_runtime_that_awaits_it),
		TEST(task_outlives_a_driven_runtime_that_awaits_it),
		TEST(driven_task_outlives_the_runtime_that_awaits_it),
		TEST(worker_may_not_block_on_any_runtime),
		TEST(workers_change_each_others_sources),
		TEST(threads_block_on_all_runtimes_at_once),
		cmocka_unit_test(threads_make_and_free_runtimes_at_once),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
