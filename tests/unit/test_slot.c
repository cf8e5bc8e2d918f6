/* SPDX-License-Identifier: BSD-3-Clause */

#include "rig.h"

#include <pthread.h>
#include <stdlib.h>

#include "refusal.h"
#include "task/slot.h"

static struct task *tasks;
static struct slot slot;

static int
setup(void **state)
{
	tasks = rig_tasks(3);
	slot_init(&slot, false);
	return 0;
}

static int
teardown(void **state)
{
	free(tasks);
	return 0;
}

static void
has_one_task_at_a_time(void **state)
{
	assert_null(slot_take_owner(&slot));
	assert_null(slot_swap_owner(&slot, &tasks[0]));
	assert_ptr_equal(slot_peek_owner(&slot), &tasks[0]);
	assert_ptr_equal(slot_swap_owner(&slot, &tasks[1]), &tasks[0]);
	assert_ptr_equal(slot_take_owner(&slot), &tasks[1]);
	assert_null(slot_peek_owner(&slot));
	assert_null(slot_take_owner(&slot));
}

static void
what_is_recalled_is_gone(void **state)
{
	rig_need_membarrier();
	assert_false(slot_is_full_any(&slot));
	assert_null(weir__slot_recall(&slot));
	slot_swap_owner(&slot, &tasks[0]);
	assert_true(slot_is_full_any(&slot));
	assert_ptr_equal(weir__slot_recall(&slot), &tasks[0]);
	assert_false(slot_is_full_any(&slot));
	assert_null(weir__slot_recall(&slot));
	/* Its owner finds that out by the next change. */
	assert_null(slot_take_owner(&slot));
	assert_null(slot_peek_owner(&slot));
	slot_swap_owner(&slot, &tasks[0]);
	assert_ptr_equal(weir__slot_recall(&slot), &tasks[0]);
	assert_null(slot_swap_owner(&slot, &tasks[1]));
	assert_ptr_equal(slot_swap_owner(&slot, &tasks[2]), &tasks[1]);
	assert_ptr_equal(weir__slot_recall(&slot), &tasks[2]);
	assert_null(slot_swap_owner(&slot, NULL));
}

/* It has had its turn elsewhere, and its owner does not know yet that it went. */
static void
what_was_recalled_comes_again_once(void **state)
{
	rig_need_membarrier();
	slot_swap_owner(&slot, &tasks[0]);
	assert_ptr_equal(weir__slot_recall(&slot), &tasks[0]);
	/* Given back, so it is not in the slot. */
	assert_ptr_equal(slot_swap_owner(&slot, &tasks[0]), &tasks[0]);
	assert_null(slot_take_owner(&slot));
}

static void
what_is_kept_is_not_recalled(void **state)
{
	slot_init(&slot, true);
	slot_swap_owner(&slot, &tasks[0]);
	assert_false(slot_is_full_any(&slot));
	assert_null(weir__slot_recall(&slot));
	assert_ptr_equal(slot_take_owner(&slot), &tasks[0]);
}

/* It is not tried again and again. */
static void
what_cannot_be_recalled_is_kept(void **state)
{
	slot_swap_owner(&slot, &tasks[0]);
	assert_true(slot_is_full_any(&slot));
	membarrier_refused = true;
	assert_null(weir__slot_recall(&slot));
	membarrier_refused = false;
	assert_false(slot_is_full_any(&slot));
	assert_null(weir__slot_recall(&slot));
	assert_ptr_equal(slot_take_owner(&slot), &tasks[0]);
}

#define ROUNDS 20000u

static struct atomic_u32 turns, recalled, end;

static void *
recall_all(void *arg)
{
	while (!rig_get(&end)) {
		if (weir__slot_recall(&slot) == NULL)
			continue;
		rig_add(&turns, 1);
		rig_add(&recalled, 1);
	}
	return NULL;
}

static void
each_task_has_one_turn(void **state)
{
	pthread_t rescuer;
	unsigned int i;

	rig_need_membarrier();
	assert_int_equal(pthread_create(&rescuer, NULL, recall_all, NULL), 0);
	for (i = 0; i < ROUNDS; i++) {
		if (slot_swap_owner(&slot, &tasks[i % 2]) != NULL)
			rig_add(&turns, 1);
		/* The rescuer has time now and then. */
		if (i % 16 == 0)
			sched_yield();
		if (i % 3 == 0 && slot_take_owner(&slot) != NULL)
			rig_add(&turns, 1);
	}
	if (slot_take_owner(&slot) != NULL)
		rig_add(&turns, 1);
	rig_set(&end, 1);
	pthread_join(rescuer, NULL);
	print_message("# %u recalled\n", rig_get(&recalled));
	assert_int_equal(rig_get(&turns), ROUNDS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(has_one_task_at_a_time),
		TEST(what_is_recalled_is_gone),
		TEST(what_was_recalled_comes_again_once),
		TEST(what_is_kept_is_not_recalled),
		TEST(what_cannot_be_recalled_is_kept),
		TEST(each_task_has_one_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
