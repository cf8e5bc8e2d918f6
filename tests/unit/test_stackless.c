/* SPDX-License-Identifier: BSD-3-Clause */

/* weir_stackless.h: where a poll function goes on. What does not compile, the
 * system test "compile" shows. */

#include "unit.h"

#include <errno.h>

#include "rig.h"

/* Ns; so long that it is not over before the first look, on a slow machine too. */
#define SLEEP UINT64_C(100000000)

struct job {
	struct weir_place place;
	struct weir_place inner; /* of the function below */
	struct weir_sleep sleep;
	struct rig_log *log;
	struct atomic_ptr *waker;
	unsigned int i;
	unsigned int j;
	struct trail {
		unsigned int begun; /* polls from the first line */
		unsigned int inner_begun;
		unsigned int inner_ended;
		unsigned int calls;
		unsigned int order; /* a digit for each step */
	} trail;		    /* the result */
};

static void
step(struct job *j, unsigned int digit)
{
	j->trail.order = 10 * j->trail.order + digit;
}

/* Pending every other time. */
static int
wait_once(struct weir_context *ctx, struct job *j)
{
	j->trail.calls++;
	return j->trail.calls % 2 == 1 ? weir_context_yield(ctx) : 7;
}

static int
inner(struct weir_context *ctx, struct job *j)
{
	int rc;

	WEIR_BEGIN(&j->inner);
	j->trail.inner_begun++;
	for (j->j = 0; j->j < 2; j->j++) {
		WEIR_AWAIT(rc, wait_once(ctx, j));
		if (rc != 7)
			return -EILSEQ;
	}
	WEIR_END;
	j->trail.inner_ended++;
	return 3;
}

static int
job_poll(struct weir_context *ctx, void *state)
{
	struct job *j = state;
	int rc;

	rig_add(&j->log->polls, 1);
	WEIR_BEGIN(&j->place);
	j->trail.begun++;
	step(j, 1);
	WEIR_YIELD(ctx);
	step(j, 2);
	for (j->i = 0; j->i < 2; j->i++) {
		if (j->i == 0)
			WEIR_AWAIT(rc, weir_sleep(ctx, &j->sleep, SLEEP));
		else
			WEIR_AWAIT(rc, wait_once(ctx, j));
		if (rc != (j->i == 0 ? 0 : 7))
			return -EILSEQ;
		step(j, 3 + j->i);
	}
	do {
		WEIR_AWAIT(rc, inner(ctx, j));
		if (rc != 3)
			return -EILSEQ;
		step(j, 5);
	} while (j->trail.inner_ended < 2);
	atomic_ptr_store(j->waker, weir_context_waker(ctx), RELEASE);
	WEIR_SUSPEND();
	step(j, 6);
	WEIR_END;
	return WEIR_DONE;
}

static const struct weir_task_ops job_ops = {
	.name = "job",
	.state_size = sizeof(struct job),
	.poll = job_poll,
	.result_offset = offsetof(struct job, trail),
	.result_size = sizeof(struct trail),
};

static void
goes_on_where_it_was(void **state)
{
	struct job j = { .log = &rig.log, .waker = &rig.waker };
	struct weir_join *join = weir_task_spawn(rig.rt, &job_ops, &j, NULL);
	struct weir_waker *w;
	struct trail trail;

	assert_non_null(join);
	w = rig_take_waker(&rig.waker);
	/* 1 yields, 1 sleeps, 1 waits, and the inner one does so 2 times twice. */
	weir_waker_wake(w);
	assert_int_equal(rig_join(join, &trail), 0);
	assert_int_equal(trail.begun, 1);
	assert_int_equal(trail.inner_begun, 2);
	assert_int_equal(trail.inner_ended, 2);
	assert_int_equal(trail.calls, 10);
	assert_int_equal(trail.order, 1234556);
	assert_int_equal(rig_get(&rig.log.polls), 9);
}

/* Each way out of it but the end leaves the place as it was. */
static int
again(struct weir_context *ctx, struct job *j)
{
	WEIR_BEGIN(&j->place);
	j->i++;
	WEIR_SUSPEND();
	j->j++;
	WEIR_END;
	return 0;
}

static void
begins_anew_behind_its_end(void **state)
{
	struct job j = { .i = 0 };
	unsigned int n;

	for (n = 1; n <= 3; n++) {
		assert_int_equal(again(NULL, &j), WEIR_PENDING);
		assert_int_equal(j.i, n);
		assert_int_equal(j.j, n - 1);
		assert_int_equal(again(NULL, &j), 0);
		assert_int_equal(j.i, n);
		assert_int_equal(j.j, n);
	}
}

static void
place_that_is_none_is_refused(void **state)
{
	struct job j = { .place = { .line = 1 } };

	assert_int_equal(again(NULL, &j), -EPROTO);
	assert_int_equal(j.i + j.j, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(goes_on_where_it_was),
		cmocka_unit_test(begins_anew_behind_its_end),
		cmocka_unit_test(place_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
