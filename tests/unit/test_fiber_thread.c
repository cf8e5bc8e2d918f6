/* SPDX-License-Identifier: BSD-3-Clause */

/* Fibers and threads: where they run, and what they take along. */

#include "unit.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>

#include <rte_lcore.h>

#include "fibers.h"
#include "sched/scheduler.h"

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
	struct weir_join *join = fiber_spawn(move_run, NULL, 0);
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

/* How numbers are computed, which on x86 two registers say. */
enum computing {
	AS_EVER,
	ROUNDED_DOWN,
	FLUSHED_TO_ZERO,
	SHORT
};

static void
compute(enum computing how)
{
	uint16_t x87 = 0x007f;

	if (how == ROUNDED_DOWN)
		fesetround(FE_DOWNWARD);
#ifdef __x86_64__
	if (how == FLUSHED_TO_ZERO)
		__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000);
	if (how == SHORT)
		__asm__ volatile("fldcw %0" : : "m"(x87));
#else
	RTE_SET_USED(x87);
#endif
}

static bool
computes(enum computing how)
{
	bool same = fegetround() ==
		    (how == ROUNDED_DOWN ? FE_DOWNWARD : FE_TONEAREST);
#ifdef __x86_64__
	uint16_t x87 = 0;

	__asm__ volatile("fnstcw %0" : "=m"(x87));
	same = same && (x87 & 0x300) == (how == SHORT ? 0 : 0x300);
	same = same && ((__builtin_ia32_stmxcsr() & 0x8000) != 0) ==
			       (how == FLUSHED_TO_ZERO);
#endif
	return same;
}

static int
computing_poll(struct weir_context *ctx, void *state)
{
	return computes(AS_EVER) ? WEIR_DONE : -EILSEQ;
}

static int
computing_run(struct weir_fiber *f, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "computing",
		.poll = computing_poll,
	};
	struct job *j = state;
	struct weir_join *join;
	int rc;

	if (!computes(AS_EVER))
		return -EILSEQ;
	compute((enum computing)j->n);
	join = weir_task_spawn(weir_context_runtime(weir_fiber_context(f)),
			       &ops, NULL, NULL);
	rc = weir_fiber_join(f, join, NULL);
	return computes((enum computing)j->n) ? rc : -EILSEQ;
}

static void
how_it_computes_is_its_own(void **state)
{
	enum computing how;

	/* One that ends so leaves it behind as little. */
	for (how = AS_EVER; how <= SHORT; how++)
		assert_int_equal(fiber_outcome(computing_run, NULL, how), 0);
	assert_int_equal(fiber_outcome(computing_run, NULL, AS_EVER), 0);
}

/* Its last bit tells how it was rounded. Not the compiler's: volatile. */
static double
tenth(void)
{
	volatile double one = 1, ten = 10;

	return one / ten;
}

static int
tenth_poll(struct weir_context *ctx, void *state)
{
	**(double **)state = tenth();
	return WEIR_DONE;
}

static int
tenth_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	*(double *)j->arg = tenth();
	return computes((enum computing)j->n) ? 0 : -EILSEQ;
}

static void
it_begins_as_its_thread_computes(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "tenth",
		.state_size = sizeof(double *),
		.poll = tenth_poll,
	};
	struct weir_runtime *rt = fiber_current_thread_runtime();
	double of_task, of_fiber, *result = &of_task;
	enum computing how;
	struct job j;
	fenv_t ever;
	int rc;

	fegetenv(&ever);
	for (how = AS_EVER; how <= SHORT; how++) {
		j = fiber_job(tenth_run, &of_fiber, how);
		compute(how);
		rc = weir_runtime_block_on(rt, &ops, &result, NULL);
		rc += weir_runtime_block_on(rt, &fiber_job_ops, &j, NULL);
		fesetenv(&ever);
		assert_int_equal(rc, 0);
		assert_true(of_task == of_fiber);
	}
	weir_runtime_free(rt);
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
	struct weir_join *join = fiber_spawn(in_place_run, NULL, 0);
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
	struct job inner = fiber_job(fiber_sum_run, NULL, 10);
	struct weir_runtime *rt = fiber_current_thread_runtime();
	uint64_t *result = arg;

	if (weir_runtime_block_on(rt, &fiber_job_ops, &inner, result) < 0)
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
	struct job j = fiber_job(outer_run, NULL, 0);
	struct weir_join *join;
	uint64_t result = 0;

	j.fiber.stack_size = 1 << 20;
	join = weir_task_spawn(rig.rt, &fiber_job_ops, &j, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, &result), 0);
	assert_int_equal(result, 55);
}

static void
plain_thread_drives_them(void **state)
{
	struct job j = fiber_job(fiber_sum_run, NULL, 30);
	struct weir_runtime *rt = fiber_current_thread_runtime();
	uint64_t result = 0;

	assert_int_equal(weir_runtime_block_on(rt, &fiber_job_ops, &j, &result),
			 0);
	weir_runtime_free(rt);
	assert_int_equal(result, 465);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(it_moves_between_workers, 2),
		RIG_TEST(it_moves_between_workers, 3),
		RIG_TEST(how_it_computes_is_its_own, 1),
		RIG_TEST(it_begins_as_its_thread_computes, 1),
		RIG_TESTS(it_blocks_in_place),
		RIG_TEST(fibers_run_on_top_of_fibers, 2),
		RIG_TEST(plain_thread_drives_them, 1),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
