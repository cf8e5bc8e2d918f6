/* SPDX-License-Identifier: BSD-3-Clause */

/* Fibers: what they wait for, and who may not wait in them. */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <weir_event.h>

#include "base/rand.h"
#include "fibers.h"
#include "sched/scheduler.h"
#include "waiter.h"

#define MS UINT64_C(1000000)
#define MANY 500u
#define STORM 300u

static uint64_t
stacks_in_use(const struct weir_runtime *rt)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < rt->nb_nodes; i++)
		n += atomic_u64_load(&rt->nodes[i]->home.stacks.in_use,
				     RELAXED);
	return n;
}

static void
functions_wait_and_keep_their_variables(void **state)
{
	uint64_t result = 0;

	assert_int_equal(
		rig_join(fiber_spawn(fiber_sum_run, NULL, 20), &result), 0);
	assert_int_equal(result, 210);
	assert_int_equal(rig_get(&rig.log.drops), 1);
	assert_int_equal(stacks_in_use(rig.rt), 0);
}

static int
return_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	return (int)(int64_t)j->n;
}

static void
what_it_returns_is_the_outcome(void **state)
{
	assert_int_equal(fiber_outcome(return_run, NULL, 0), 0);
	assert_int_equal(fiber_outcome(return_run, NULL, (uint64_t)-EIO), -EIO);
	assert_int_equal(fiber_outcome(return_run, NULL, 7), -EPROTO);
	assert_int_equal(
		fiber_outcome(return_run, NULL, (uint64_t)WEIR_PENDING),
		-EPROTO);
	assert_int_equal(fiber_outcome(NULL, NULL, 0), -EINVAL);
	assert_int_equal(rig_get(&rig.log.drops), 5);
}

/* What it waits for would have it in line for ever, were it aborted. */
static void
fiber_without_drop_is_refused(void **state)
{
	struct weir_task_ops ops = fiber_job_ops;
	struct job j = fiber_job(return_run, NULL, 0);

	ops.drop = NULL;
	assert_int_equal(
		rig_join(weir_task_spawn(rig.rt, &ops, &j, NULL), NULL),
		-EINVAL);
	assert_int_equal(stacks_in_use(rig.rt), 0);
}

/* Each kind of wait that tasks have. */
static int
waits_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	struct weir_runtime *rt = weir_context_runtime(weir_fiber_context(f));
	struct rig_state told = rig.told;
	struct weir_sleep sleep = { { 0 } };
	struct weir_interval ticks;
	struct weir_join *join;
	uint32_t polls = 0;
	int rc;

	rc = weir_fiber_await(f, weir_sleep(weir_fiber_context(f), &sleep, MS));
	if (rc < 0)
		return rc;
	rc = weir_fiber_await(
		f,
		weir_timeout(weir_fiber_context(f), &sleep, MS,
			     weir_event_wait(weir_fiber_context(f), j->arg)));
	if (rc != -ETIMEDOUT)
		return -EILSEQ;
	weir_event_post(j->arg);
	rc = weir_fiber_await(f,
			      weir_event_wait(weir_fiber_context(f), j->arg));
	if (rc != 1)
		return -EILSEQ;
	weir_interval_init(&ticks, MS, WEIR_MISSED_SKIP);
	rc = weir_fiber_await(
		f, weir_interval_tick(weir_fiber_context(f), &ticks));
	if (rc < 0)
		return rc;
	join = weir_task_spawn(rt, &rig_done_ops, &told, NULL);
	rc = weir_fiber_await(
		f, weir_join_poll(weir_fiber_context(f), join, &polls));
	if (rc < 0 || polls != 1)
		return -EILSEQ;
	join = weir_blocking_spawn(rt, &rig_done_ops, &told);
	return weir_fiber_await(
		f, weir_join_poll(weir_fiber_context(f), join, NULL));
}

static void
it_waits_for_what_tasks_wait_for(void **state)
{
	struct weir_event *event = weir_event_create(rig.rt, 0);

	assert_non_null(event);
	assert_int_equal(fiber_outcome(waits_run, event, 0), 0);
	weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL);
	weir_event_free(event);
}

/* What calls say that are made where they must not be. */
struct refusals {
	struct weir_fiber *other;
	int may_wait, suspend, yield, sleep, await, calls;
	bool context;
	bool current;
};

static int
count_call(struct refusals *r)
{
	r->calls++;
	return 0;
}

static void
try_all(void *arg)
{
	struct refusals *r = arg;

	r->may_wait = weir_fiber_may_wait(r->other);
	r->suspend = weir_fiber_suspend(r->other);
	r->yield = weir_fiber_yield(r->other);
	r->sleep = weir_fiber_sleep(r->other, 1);
	r->await = weir_fiber_await(r->other, count_call(r));
	r->context = weir_fiber_context(r->other) != NULL;
	r->current = weir_fiber_current() == r->other;
}

static void
expect_refusals(const struct refusals *r, int rc)
{
	assert_int_equal(r->may_wait, rc);
	assert_int_equal(r->suspend, rc);
	assert_int_equal(r->yield, rc);
	assert_int_equal(r->sleep, rc);
	assert_int_equal(r->await, rc);
	assert_int_equal(r->calls, 0);
	assert_false(r->context);
	assert_false(r->current);
}

static int
try_poll(struct weir_context *ctx, void *state)
{
	struct refusals *r = *(void **)state;

	if (weir_fiber_current() != NULL)
		return -EILSEQ;
	try_all(r);
	return WEIR_DONE;
}

static int
try_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	if (weir_fiber_current() != f)
		return -EILSEQ;
	try_all(j->arg);
	return 0;
}

static int
block_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	struct refusals *r = j->arg;
	int rc;

	r->other = f;
	rc = weir_block_in_place(try_all, r);
	/* It has its turn again. */
	return rc < 0 ? rc : weir_fiber_yield(f);
}

static int
wait_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	j->result++;
	while (!rig_get(j->go)) {
		atomic_ptr_store(j->waker,
				 weir_context_waker(weir_fiber_context(f)),
				 RELEASE);
		if (weir_fiber_suspend(f) == -ECANCELED)
			return -ECANCELED;
	}
	return 0;
}

static const struct weir_task_ops plain_ops = {
	.name = "plain",
	.state_size = sizeof(void *),
	.poll = try_poll,
};

/* A task of another runtime that is driven on the fiber's stack. */
static void
try_on_top(void *arg)
{
	struct weir_runtime *rt = fiber_current_thread_runtime();

	if (weir_runtime_block_on(rt, &plain_ops, &arg, NULL) < 0)
		((struct refusals *)arg)->calls = 99;
	weir_runtime_free(rt);
}

static int
block_on_top_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	struct refusals *r = j->arg;

	r->other = f;
	return weir_block_in_place(try_on_top, r);
}

static void
others_may_not_wait_in_it(void **state)
{
	struct weir_join *join = fiber_spawn(wait_run, NULL, 0);
	struct weir_waker *w = rig_take_waker(&rig.waker);
	struct refusals r = {
		.other = (struct weir_fiber *)((struct task *)join)->bytes,
	}, *arg = &r;

	assert_null(weir_fiber_current());
	try_all(&r);
	expect_refusals(&r, -EINVAL);
	memset(&r.may_wait, 0, 5 * sizeof(int));
	assert_int_equal(weir_runtime_block_on(rig.rt, &plain_ops, &arg, NULL),
			 0);
	expect_refusals(&r, -EINVAL);
	memset(&r.may_wait, 0, 5 * sizeof(int));
	assert_int_equal(fiber_outcome(try_run, &r, 0), 0);
	expect_refusals(&r, -EINVAL);
	memset(&r.may_wait, 0, 5 * sizeof(int));
	assert_int_equal(fiber_outcome(block_run, &r, 0), 0);
	expect_refusals(&r, -EINVAL);
	memset(&r.may_wait, 0, 5 * sizeof(int));
	assert_int_equal(fiber_outcome(block_on_top_run, &r, 0), 0);
	expect_refusals(&r, -EINVAL);
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(rig_join(join, NULL), 0);
}

static struct weir_semaphore permits;

/* Takes a mutex, n times after it had no time for that, and gives it back. */
static int
lock_and_unlock(struct weir_fiber *f, void *state)
{
	struct weir_mutex *mutex = ((struct job *)state)->arg;
	struct weir_sleep limit = { 0 };
	struct weir_wait wait = { 0 };
	struct job *j = state;
	int rc;

	while (j->n-- > 0) {
		rc = weir_fiber_await_with(
			f, &wait,
			weir_timeout(weir_fiber_context(f), &limit, 1000,
				     weir_mutex_lock(weir_fiber_context(f),
						     mutex, &wait)));
		weir_sleep_cancel(&limit);
		if (rc != -ETIMEDOUT)
			return -EILSEQ;
		/* The wait does for something else. */
		rc = weir_fiber_await_with(
			f, &wait,
			weir_semaphore_acquire(weir_fiber_context(f), &permits,
					       1, &wait));
		if (rc < 0)
			return rc;
	}
	rig_set(&rig.go, 1);
	rc = weir_fiber_await_with(
		f, &wait, weir_mutex_lock(weir_fiber_context(f), mutex, &wait));
	if (rc == 0)
		weir_mutex_unlock(mutex);
	return rc;
}

static void
wait_on_its_stack_is_given_up(void **state)
{
	struct weir_mutex mutex;
	struct weir_join *join;

	assert_int_equal(weir_semaphore_init(&permits, 2), 0);
	weir_mutex_init(&mutex);
	assert_int_equal(weir_mutex_try_lock(&mutex), 0);
	rig_set(&rig.go, 0);
	join = fiber_spawn(lock_and_unlock, &mutex, 2);
	rig_wait_until(rig_get(&rig.go));
	waiter_wait_for(&mutex, 1);
	weir_mutex_unlock(&mutex);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(weir_mutex_try_lock(&mutex), 0);
	join = fiber_spawn(lock_and_unlock, &mutex, 0);
	waiter_wait_for(&mutex, 1);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(waiters(&mutex), 0);
	weir_mutex_unlock(&mutex);
	weir_mutex_fini(&mutex);
	assert_int_equal(weir_semaphore_available(&permits), 0);
	weir_semaphore_fini(&permits);
}

static int
sleeping_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	int rc;

	rig_add(&j->log->polls, 1);
	rc = weir_fiber_sleep(f, 3600 * 1000 * MS);
	j->result = j->n;
	return rc;
}

static void
many_wait_at_once(void **state)
{
	static struct weir_join *joins[MANY];
	uint64_t result;
	unsigned int i;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	for (i = 0; i < MANY; i++)
		joins[i] = fiber_spawn(sleeping_run, NULL, i);
	rig_wait_until(rig_timers(rig.rt) == MANY);
	assert_int_equal(rig_get(&rig.log.polls), MANY);
	assert_int_equal(stacks_in_use(rig.rt), MANY);
	assert_int_equal(weir_clock_advance(rig.rt, 3600 * 1000 * MS), 0);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(rig_join(joins[i], &result), 0);
		assert_int_equal(result, i);
	}
	assert_int_equal(stacks_in_use(rig.rt), 0);
}

/* Of a storm: does this and that, and notes that it has come to its end. */
static int
storm_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	struct rand_state rand;
	unsigned int i;
	int rc = 0;

	rand_seed(&rand, j->n);
	for (i = 0; i < 20 && rc == 0; i++) {
		switch (rand_below(&rand, 4)) {
		case 0:
			rc = weir_fiber_sleep(f, rand_below(&rand, 50000));
			break;
		case 1:
			rc = fiber_sum(f, 1 + rand_below(&rand, 8)) > 0 ?
				     0 :
				     weir_fiber_may_wait(f);
			break;
		default:
			rc = weir_fiber_yield(f);
		}
	}
	rig_add(&j->log->polls, 1);
	return rc;
}

static void
storm_of_fibers_and_aborts(void **state)
{
	static struct weir_join *joins[STORM];
	uint64_t seed = unit_seed();
	unsigned int i, done = 0;
	struct rand_state rand;
	int rc;

	rand_seed(&rand, seed);
	for (i = 0; i < STORM; i++)
		joins[i] = fiber_spawn(storm_run, NULL, seed + i);
	for (i = 0; i < STORM / 2; i++)
		weir_join_abort(joins[rand_below(&rand, STORM)]);
	for (i = 0; i < STORM; i++) {
		rc = rig_join(joins[i], NULL);
		assert_true(rc == 0 || rc == -ECANCELED);
		done += rc == 0;
	}
	assert_int_equal(rig_get(&rig.log.drops), STORM);
	/* Those that began have returned; others never had a turn. */
	assert_uint_in_range(rig_get(&rig.log.polls), done, STORM);
	assert_int_equal(stacks_in_use(rig.rt), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(functions_wait_and_keep_their_variables),
		RIG_TEST(what_it_returns_is_the_outcome, 2),
		RIG_TEST(fiber_without_drop_is_refused, 2),
		RIG_TESTS(it_waits_for_what_tasks_wait_for),
		RIG_TEST(others_may_not_wait_in_it, 2),
		RIG_TESTS(wait_on_its_stack_is_given_up),
		RIG_TESTS(many_wait_at_once),
		RIG_TESTS(storm_of_fibers_and_aborts),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
