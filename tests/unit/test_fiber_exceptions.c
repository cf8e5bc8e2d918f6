/* SPDX-License-Identifier: BSD-3-Clause */

/* Fibers in C++, whose library keeps exceptions by thread: here, this is that library. */

#include "unit.h"

#include <errno.h>

#include "fiber/fiber.h"
#include "fibers.h"

#define FIBERS 64u
#define ROUNDS 20u

static __thread struct exceptions globals;

struct exceptions *
__cxa_get_globals(void)
{
	return &globals;
}

/* See weir_fiber.h about threads' variables. */
static __attribute__((noipa)) void
set_exceptions(void *caught, unsigned int nb_uncaught)
{
	globals.caught = caught;
	globals.nb_uncaught = nb_uncaught;
}

static __attribute__((noipa)) bool
exceptions_are(const void *caught, unsigned int nb_uncaught)
{
	return globals.caught == caught && globals.nb_uncaught == nb_uncaught;
}

/* Handles others from round to round. */
static int
handling_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	unsigned int i;

	if (!exceptions_are(NULL, 0))
		return -EILSEQ;
	for (i = 0; i < ROUNDS; i++) {
		set_exceptions((uint8_t *)state + i, i);
		if (weir_fiber_yield(f) < 0 ||
		    !exceptions_are((uint8_t *)state + i, i))
			return -EILSEQ;
	}
	j->result = j->n;
	return 0;
}

/* Waits in the middle of handling some until it is ended. */
static int
waiting_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	int rc;

	set_exceptions(state, 3);
	rig_add(&j->log->polls, 1);
	rc = weir_fiber_suspend(f);
	if (rc == -ECANCELED && exceptions_are(state, 3))
		rig_set(j->go, 1);
	return rc;
}

/* Handles none, as whatever else is polled between fibers. */
static int
plain_poll(struct weir_context *ctx, void *state)
{
	unsigned int *polls = state;

	if (!exceptions_are(NULL, 0))
		return -EILSEQ;
	if (++*polls == ROUNDS)
		return WEIR_DONE;
	return weir_context_yield(ctx);
}

static const struct weir_task_ops plain_ops = {
	.name = "plain",
	.state_size = sizeof(unsigned int),
	.poll = plain_poll,
};

static void
each_has_its_exceptions(void **state)
{
	struct weir_join *joins[FIBERS], *plain[FIBERS];
	const unsigned int polls = 0;
	uint64_t result;
	unsigned int i;

	for (i = 0; i < FIBERS; i++) {
		joins[i] = fiber_spawn(handling_run, NULL, i);
		plain[i] = weir_task_spawn(rig.rt, &plain_ops, &polls, NULL);
		assert_non_null(plain[i]);
	}
	for (i = 0; i < FIBERS; i++) {
		assert_int_equal(rig_join(joins[i], &result), 0);
		assert_int_equal(result, i);
		assert_int_equal(rig_join(plain[i], NULL), 0);
	}
}

static void
cancelled_it_has_them_at_its_end(void **state)
{
	struct weir_join *join = fiber_spawn(waiting_run, NULL, 0);
	const unsigned int polls = 0;

	rig_wait_until(rig_get(&rig.log.polls) == 1);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(rig_get(&rig.go), 1);
	join = weir_task_spawn(rig.rt, &plain_ops, &polls, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, NULL), 0);
}

static int
between_poll(struct weir_context *ctx, void *state)
{
	return exceptions_are(&globals, 7) ? WEIR_DONE : -EILSEQ;
}

static const struct weir_task_ops between_ops = {
	.name = "between",
	.poll = between_poll,
};

/* A thread that handles some drives tasks meanwhile. */
static void
thread_has_its_own_back(void **state)
{
	struct weir_runtime *rt = fiber_current_thread_runtime();
	struct job ends = fiber_job(handling_run, NULL, 0);
	struct job waits = fiber_job(waiting_run, NULL, 0);
	struct weir_join *join =
		weir_task_spawn(rt, &fiber_job_ops, &waits, NULL);
	int outcome, between;
	bool kept;

	assert_non_null(join);
	set_exceptions(&globals, 7);
	outcome = weir_runtime_block_on(rt, &fiber_job_ops, &ends, NULL);
	between = weir_runtime_block_on(rt, &between_ops, NULL, NULL);
	weir_join_detach(join);
	weir_runtime_free(rt);
	kept = exceptions_are(&globals, 7);
	set_exceptions(NULL, 0);
	assert_int_equal(outcome, 0);
	assert_int_equal(between, 0);
	assert_int_equal(rig_get(&rig.go), 1);
	assert_true(kept);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(each_has_its_exceptions),
		RIG_TEST(cancelled_it_has_them_at_its_end, 1),
		RIG_TEST(thread_has_its_own_back, 1),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
