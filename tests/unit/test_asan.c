/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What the address sanitizer is told of the states of tasks. That those that have not
 * ended can be used, all other tests show.
 */

#include "unit.h"

#include <sanitizer/asan_interface.h>

#include "rig.h"

struct state {
	struct atomic_ptr *at; /* where it lies is told there */
	uint64_t held[5];
	uint64_t result;
	uint64_t behind[3];
};

static struct atomic_ptr at;

static int
poll_once(struct weir_context *ctx, void *state)
{
	struct state *s = state;

	s->result = s->held[4] + s->behind[2];
	atomic_ptr_store(s->at, s, RELEASE);
	return WEIR_DONE;
}

static const struct weir_task_ops ops = {
	.name = "tells where it is",
	.state_size = sizeof(struct state),
	.poll = poll_once,
	.result_offset = offsetof(struct state, result),
	.result_size = sizeof(uint64_t),
};

static const struct state told = { .at = &at, .held[4] = 3, .behind[2] = 4 };

static const struct state *
state_of_one_that_ran(void)
{
	rig_wait_until(atomic_ptr_load(&at, ACQUIRE) != NULL);
	return atomic_ptr_exchange(&at, NULL, ACQ_REL);
}

static bool
is_nobodys(const void *p, size_t size)
{
	const char *bytes = p;
	size_t i;

	for (i = 0; i < size; i++)
		if (!__asan_address_is_poisoned(bytes + i))
			return false;
	return true;
}

static void
state_of_a_task_that_ended_is_nobodys_but_for_its_result(void **state)
{
	struct weir_join *join = weir_task_spawn(rig.rt, &ops, &told, NULL);
	const struct state *s = state_of_one_that_ran();
	uint64_t result = 0;

	rig_wait_until(weir_join_ended(join));
	assert_true(is_nobodys(s, offsetof(struct state, result)));
	assert_true(is_nobodys(s->behind, sizeof(s->behind)));
	assert_null(__asan_region_is_poisoned((void *)(uintptr_t)&s->result,
					      sizeof(s->result)));
	assert_int_equal(weir_join_wait(join, &result), 0);
	assert_int_equal(result, 7);
	assert_true(is_nobodys(s, sizeof(*s)));
}

static void
state_of_a_detached_task_is_nobodys(void **state)
{
	const struct state *s;

	assert_int_equal(weir_task_spawn_detached(rig.rt, &ops, &told, NULL),
			 0);
	s = state_of_one_that_ran();
	rig_wait_until(is_nobodys(s, sizeof(*s)));
}

/* So many that batches of cells go round. */
static void
states_of_many_are_used_again(void **state)
{
	static struct weir_join *joins[20000];
	uint64_t result;
	unsigned int i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < RTE_DIM(joins); i++) {
			joins[i] = weir_task_spawn(rig.rt, &ops, &told, NULL);
			assert_non_null(joins[i]);
		}
		for (i = 0; i < RTE_DIM(joins); i++) {
			assert_int_equal(weir_join_wait(joins[i], &result), 0);
			assert_int_equal(result, 7);
		}
	}
	atomic_ptr_store(&at, NULL, RELAXED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(
			state_of_a_task_that_ended_is_nobodys_but_for_its_result),
		RIG_TESTS(state_of_a_detached_task_is_nobodys),
		RIG_TESTS(states_of_many_are_used_again),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
