/* SPDX-License-Identifier: BSD-3-Clause */

/* Fibers: what they wait for, where they run, and who is beside them. */

#include "unit.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <string.h>

#include <rte_lcore.h>

#include <weir_event.h>

#include "base/rand.h"
#include "rig.h"
#include "sched/scheduler.h"

#define MS UINT64_C(1000000)
#define MANY 500u
#define STORM 300u

/* State of the fibers here; what is in it, each test says. */
struct job {
	struct weir_fiber fiber;
	struct rig_log *log;
	struct atomic_u32 *go;
	struct atomic_ptr *waker;
	void *arg;
	uint64_t n;
	uint64_t result;
};

static void
job_drop(void *state)
{
	struct job *j = state;

	weir_fiber_drop(state);
	rig_add(&j->log->drops, 1);
}

static const struct weir_task_ops job_ops = {
	.name = "job",
	.state_size = sizeof(struct job),
	.poll = weir_fiber_poll,
	.drop = job_drop,
	.result_offset = offsetof(struct job, result),
	.result_size = sizeof(uint64_t),
};

static struct job
job(int (*run)(struct weir_fiber *, void *), void *arg, uint64_t n)
{
	return (struct job){
		.fiber = { .run = run },
		.log = &rig.log,
		.go = &rig.go,
		.waker = &rig.waker,
		.arg = arg,
		.n = n,
	};
}

static struct weir_join *
spawn(int (*run)(struct weir_fiber *, void *), void *arg, uint64_t n)
{
	struct job j = job(run, arg, n);
	struct weir_join *join = weir_task_spawn(rig.rt, &job_ops, &j, NULL);

	assert_non_null(join);
	return join;
}

static int
outcome(int (*run)(struct weir_fiber *, void *), void *arg, uint64_t n)
{
	return rig_join(spawn(run, arg, n), NULL);
}

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

/* 1 + 2 + ... + n, with a wait in each frame. */
static uint64_t
sum(struct weir_fiber *f, uint64_t n)
{
	uint64_t local[4] = { n, n, n, n }, below;

	if (n == 0 || weir_fiber_yield(f) < 0)
		return 0;
	below = sum(f, n - 1);
	return below + (local[0] + local[1] + local[2] + local[3]) / 4;
}

static int
sum_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	j->result = sum(f, j->n);
	return 0;
}

static void
functions_wait_and_keep_their_variables(void **state)
{
	uint64_t result = 0;

	assert_int_equal(rig_join(spawn(sum_run, NULL, 20), &result), 0);
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
	assert_int_equal(outcome(return_run, NULL, 0), 0);
	assert_int_equal(outcome(return_run, NULL, (uint64_t)-EIO), -EIO);
	assert_int_equal(outcome(return_run, NULL, 7), -EPROTO);
	assert_int_equal(outcome(return_run, NULL, (uint64_t)WEIR_PENDING),
			 -EPROTO);
	assert_int_equal(outcome(NULL, NULL, 0), -EINVAL);
	assert_int_equal(rig_get(&rig.log.drops), 5);
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
	assert_int_equal(outcome(waits_run, event, 0), 0);
	weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL);
	weir_event_free(event);
}

/* What calls say that are made where they must not be. */
struct refusals {
	struct weir_fiber *other;
	int may_wait, suspend, yield, sleep, await, calls;
	bool context;
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

static void
others_may_not_wait_in_it(void **state)
{
	static const struct weir_task_ops plain_ops = {
		.name = "plain",
		.state_size = sizeof(void *),
		.poll = try_poll,
	};
	struct weir_join *join = spawn(wait_run, NULL, 0);
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
	assert_int_equal(outcome(try_run, &r, 0), 0);
	expect_refusals(&r, -EINVAL);
	memset(&r.may_wait, 0, 5 * sizeof(int));
	assert_int_equal(outcome(block_run, &r, 0), 0);
	expect_refusals(&r, -EINVAL);
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(rig_join(join, NULL), 0);
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
		joins[i] = spawn(sleeping_run, NULL, i);
	rig_wait_until(rig_get(&rig.log.polls) == MANY);
	assert_int_equal(stacks_in_use(rig.rt), MANY);
	/* Whoever is about to sleep has to be asleep. */
	assert_int_equal(weir_clock_advance(rig.rt, 7200 * 1000 * MS), 0);
	for (i = 0; i < MANY; i++) {
		rig_wait_until(weir_join_ended(joins[i]) ||
			       weir_clock_advance(rig.rt, 3600 * 1000 * MS));
		assert_int_equal(rig_join(joins[i], &result), 0);
		assert_int_equal(result, i);
	}
	assert_int_equal(stacks_in_use(rig.rt), 0);
}

/* See weir_fiber.h about threads' variables. */
static __attribute__((noipa)) bool
is_where_it_should_be(const struct weir_context *ctx)
{
	const struct worker *w =
		weir_context_runtime(ctx)->workers[weir_context_worker(ctx)];

	return rte_lcore_id() == w->lcore && weir_worker_current() == w->index;
}

static __attribute__((noipa)) pthread_t
thread(void)
{
	return pthread_self();
}

/* Waits until it has been on two threads. */
static int
move_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	pthread_t first = thread();
	int rc;

	fesetround(FE_UPWARD);
	while (!rig_get(j->go)) {
		weir_waker_drop(atomic_ptr_exchange(
			j->waker, weir_context_waker(weir_fiber_context(f)),
			ACQ_REL));
		rc = weir_fiber_suspend(f);
		if (rc < 0)
			return rc;
		if (!is_where_it_should_be(weir_fiber_context(f)) ||
		    fegetround() != FE_UPWARD)
			return -EILSEQ;
		if (!pthread_equal(first, thread()))
			rig_set(j->go, 1);
	}
	return 0;
}

static void
it_moves_between_workers(void **state)
{
	struct weir_join *join = spawn(move_run, NULL, 0);
	struct weir_waker *w;

	while (!weir_join_ended(join)) {
		w = atomic_ptr_exchange(&rig.waker, NULL, ACQ_REL);
		if (w != NULL)
			weir_waker_wake(w);
		sched_yield();
	}
	assert_int_equal(rig_join(join, NULL), 0);
	weir_waker_drop(atomic_ptr_exchange(&rig.waker, NULL, RELAXED));
}

static int
rounding_poll(struct weir_context *ctx, void *state)
{
	return fegetround() == FE_TONEAREST ? WEIR_DONE : -EILSEQ;
}

static int
rounding_run(struct weir_fiber *f, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "rounding",
		.poll = rounding_poll,
	};
	struct weir_join *join;
	int rc;

	if (fegetround() != FE_TONEAREST)
		return -EILSEQ;
	fesetround(FE_TOWARDZERO);
	join = weir_task_spawn(weir_context_runtime(weir_fiber_context(f)),
			       &ops, NULL, NULL);
	rc = weir_fiber_await(
		f, weir_join_poll(weir_fiber_context(f), join, NULL));
	return rc == 0 && fegetround() != FE_TOWARDZERO ? -EILSEQ : rc;
}

static void
rounding_is_its_own(void **state)
{
	assert_int_equal(outcome(rounding_run, NULL, 0), 0);
	/* One that ends with another rounding leaves it behind as little. */
	assert_int_equal(outcome(rounding_run, NULL, 0), 0);
}

static void
wait_for_others(void *arg)
{
	rig_wait_until(rig_get(&rig.log.polls) > 0);
}

static int
in_place_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	int rc;

	/* To a task that is behind it on the only worker. */
	rc = weir_block_in_place(wait_for_others, NULL);
	if (rc == 0)
		rc = weir_fiber_yield(f);
	j->result = 5;
	return rc;
}

static void
it_blocks_in_place(void **state)
{
	struct weir_join *join = spawn(in_place_run, NULL, 0);
	uint64_t result = 0;

	assert_int_equal(
		rig_join(rig_spawn(rig.rt, &rig_done_ops, &rig.told), NULL), 0);
	assert_int_equal(rig_join(join, &result), 0);
	assert_int_equal(result, 5);
}

/* A runtime that is driven on a fiber's stack has fibers too. */
static void
drive_another(void *arg)
{
	struct job inner = job(sum_run, NULL, 10);
	struct weir_options o;
	struct weir_runtime *rt;
	uint64_t *result = arg;

	rig_options(&o, 0);
	o.name = "inner";
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	if (rt == NULL)
		return;
	if (weir_runtime_block_on(rt, &job_ops, &inner, result) < 0)
		*result = 0;
	weir_runtime_free(rt);
}

static int
outer_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	int rc = weir_block_in_place(drive_another, &j->result);

	if (weir_fiber_current() != f)
		return -EILSEQ;
	return rc < 0 ? rc : weir_fiber_yield(f);
}

static void
fibers_run_on_top_of_fibers(void **state)
{
	struct job j = job(outer_run, NULL, 0);
	struct weir_join *join;
	uint64_t result = 0;

	j.fiber.stack_size = 1 << 20;
	join = weir_task_spawn(rig.rt, &job_ops, &j, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, &result), 0);
	assert_int_equal(result, 55);
}

static void
plain_thread_drives_them(void **state)
{
	struct job j = job(sum_run, NULL, 30);
	struct weir_options o;
	struct weir_runtime *rt;
	uint64_t result = 0;

	rig_options(&o, 0);
	o.name = "current";
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	assert_int_equal(weir_runtime_block_on(rt, &job_ops, &j, &result), 0);
	weir_runtime_free(rt);
	assert_int_equal(result, 465);
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
			rc = sum(f, 1 + rand_below(&rand, 8)) > 0 ?
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
		joins[i] = spawn(storm_run, NULL, seed + i);
	for (i = 0; i < STORM / 2; i++)
		weir_join_abort(joins[rand_below(&rand, STORM)]);
	for (i = 0; i < STORM; i++) {
		rc = rig_join(joins[i], NULL);
		assert_true(rc == 0 || rc == -ECANCELED);
		done += rc == 0;
	}
	assert_int_equal(rig_get(&rig.log.drops), STORM);
	/* Those that began have returned; others never had a turn. */
	assert_in_range(rig_get(&rig.log.polls), done, STORM);
	assert_int_equal(stacks_in_use(rig.rt), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(functions_wait_and_keep_their_variables),
		RIG_TEST(what_it_returns_is_the_outcome, 2),
		RIG_TESTS(it_waits_for_what_tasks_wait_for),
		RIG_TEST(others_may_not_wait_in_it, 2),
		RIG_TESTS(many_wait_at_once),
		RIG_TEST(it_moves_between_workers, 2),
		RIG_TEST(it_moves_between_workers, 3),
		RIG_TEST(rounding_is_its_own, 1),
		RIG_TESTS(it_blocks_in_place),
		RIG_TEST(fibers_run_on_top_of_fibers, 2),
		RIG_TEST(plain_thread_drives_them, 1),
		RIG_TESTS(storm_of_fibers_and_aborts),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
