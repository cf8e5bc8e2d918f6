/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "rig.h"
#include "task/owned.h"

#define TASKS 40u

static struct task_home home;

/* Tasks of `home`, idle, with the list's reference and one of the test's. */
static struct task *
tasks_of_home(unsigned int n, const struct weir_task_ops *ops)
{
	struct task *tasks = rig_tasks(n);
	unsigned int i;

	for (i = 0; i < n; i++) {
		tasks[i].home = &home;
		tasks[i].ops = ops;
	}
	return tasks;
}

static int
never(struct weir_context *ctx, void *state)
{
	return WEIR_PENDING;
}

static struct atomic_u32 nb_drops;

static void
count_drop(void *state)
{
	rig_add(&nb_drops, 1);
}

static const struct weir_task_ops counted_ops = {
	.name = "counted",
	.poll = never,
	.drop = count_drop,
};

static unsigned int
refs(const struct task *t)
{
	return (unsigned int)state_refs(state_load(&t->state));
}

static void
shards_are_a_power_of_two(void **state)
{
	const unsigned int workers[] = { 1, 2, 3, 4, 5, 33, 64, 65, 1000 };
	const unsigned int shards[] = { 1, 2, 4, 4, 8, 64, 64, 64, 64 };
	unsigned int i;

	for (i = 0; i < RTE_DIM(workers); i++) {
		weir__owned_init(&home.owned, workers[i]);
		assert_int_equal(home.owned.nb_shards, shards[i]);
	}
}

static void
removal_tells_once(void **state)
{
	struct task *tasks = tasks_of_home(TASKS, &counted_ops);
	unsigned int i;

	weir__owned_init(&home.owned, 4);
	for (i = 0; i < TASKS; i++)
		assert_true(weir__owned_insert(&home.owned, &tasks[i], i));
	assert_int_equal(weir__owned_count(&home.owned), TASKS);
	for (i = 0; i < TASKS; i++) {
		assert_true(weir__owned_remove(&tasks[i]));
		assert_false(weir__owned_remove(&tasks[i]));
		assert_int_equal(weir__owned_count(&home.owned), TASKS - 1 - i);
	}
	free(tasks);
}

/* O2 */
static void
closed_list_takes_nothing(void **state)
{
	struct task *tasks = tasks_of_home(TASKS, &counted_ops);
	unsigned int i;

	weir__owned_init(&home.owned, 4);
	assert_true(weir__owned_insert(&home.owned, &tasks[0], 0));
	weir__owned_close(&home.owned);
	for (i = 1; i < TASKS; i++) {
		assert_false(weir__owned_insert(&home.owned, &tasks[i], i));
		assert_false(weir__owned_remove(&tasks[i]));
	}
	assert_int_equal(weir__owned_count(&home.owned), 1);
	assert_true(weir__owned_remove(&tasks[0]));
	free(tasks);
}

static void
shutdown_ends_idle_tasks(void **state)
{
	struct task *tasks = tasks_of_home(TASKS, &counted_ops);
	unsigned int i;

	rig_set(&nb_drops, 0);
	weir__owned_init(&home.owned, 4);
	for (i = 0; i < TASKS; i++)
		assert_true(weir__owned_insert(&home.owned, &tasks[i], i));
	weir__owned_close(&home.owned);
	/* From any shard on, it goes through all of them. */
	weir__owned_shutdown(&home.owned, 7);
	assert_int_equal(weir__owned_count(&home.owned), 0);
	assert_int_equal(rig_get(&nb_drops), TASKS);
	for (i = 0; i < TASKS; i++) {
		assert_int_equal(refs(&tasks[i]), 1);
		assert_int_equal(tasks[i].outcome, -ECANCELED);
		assert_true(state_load(&tasks[i].state) & STATE_COMPLETE);
	}
	free(tasks);
}

static void
shutdown_leaves_a_running_task_to_its_worker(void **state)
{
	struct task *t = tasks_of_home(1, &counted_ops);

	rig_set(&nb_drops, 0);
	weir__owned_init(&home.owned, 1);
	assert_true(weir__owned_insert(&home.owned, t, 0));
	atomic_u64_fetch_or(&t->state.word, STATE_RUNNING, RELAXED);
	weir__owned_close(&home.owned);
	weir__owned_shutdown(&home.owned, 0);
	assert_int_equal(weir__owned_count(&home.owned), 0);
	assert_int_equal(rig_get(&nb_drops), 0);
	/* The list's reference is gone, and the task knows what to do. */
	assert_int_equal(refs(t), 1);
	assert_int_equal(state_to_idle(&t->state), STATE_IDLE_CANCEL);
	assert_false(weir__owned_remove(t));
	free(t);
}

/* A drop that asks for the lists' locks. */
static void
look_at_lists(void *state)
{
	rig_add(&nb_drops, 1);
	if (weir__owned_count(&home.owned) >= TASKS)
		abort();
}

/* O3 */
static void
drop_runs_without_a_lock(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "looks",
		.poll = never,
		.drop = look_at_lists,
	};
	struct task *tasks = tasks_of_home(TASKS, &ops);
	unsigned int i;

	rig_set(&nb_drops, 0);
	weir__owned_init(&home.owned, 2);
	for (i = 0; i < TASKS; i++)
		assert_true(weir__owned_insert(&home.owned, &tasks[i], i));
	weir__owned_close(&home.owned);
	weir__owned_shutdown(&home.owned, 0);
	assert_int_equal(rig_get(&nb_drops), TASKS);
	free(tasks);
}

#define INSERTERS 3
#define CLOSERS 3
#define EACH 300u

struct race {
	struct task *tasks;
	struct atomic_u32 next;
	struct atomic_u32 ready;
	struct atomic_u32 inserted;
	struct atomic_u32 refused;
	struct atomic_u32 removed;
	uint64_t seed;
};

/* Spawns, and ends some tasks itself, as a worker does. */
static void
insert_and_remove(struct race *r, unsigned int index)
{
	unsigned int i = index * EACH, end = i + EACH;
	struct rand_state rand;
	struct task *t;

	rand_seed(&rand, r->seed + index);
	for (; i < end; i++) {
		t = &r->tasks[i];
		rig_add(&r->inserted, 1);
		if (!weir__owned_insert(&home.owned, t, rand_u32(&rand))) {
			rig_add(&r->refused, 1);
			weir__task_ref_dec(t);
		} else if (rand_below(&rand, 2) == 0 && weir__owned_remove(t)) {
			rig_add(&r->removed, 1);
			weir__task_ref_dec(t);
		}
	}
}

static void *
insert_or_shut_down(void *arg)
{
	struct race *r = arg;
	uint32_t index;

	index = atomic_u32_fetch_add(&r->next, 1, RELAXED);
	rig_add(&r->ready, 1);
	while (rig_get(&r->ready) < INSERTERS + CLOSERS)
		sched_yield();
	if (index < INSERTERS) {
		insert_and_remove(r, index);
		return NULL;
	}
	/* While they are at it. */
	while (rig_get(&r->inserted) < EACH)
		sched_yield();
	weir__owned_close(&home.owned);
	weir__owned_shutdown(&home.owned, index);
	return NULL;
}

static void
every_task_is_refused_removed_or_shut_down(void **state)
{
	const unsigned int n = INSERTERS * EACH;
	uint64_t seed = unit_seed();
	unsigned int round, i;
	struct race r;

	for (round = 0; round < 60; round++) {
		memset(&r, 0, sizeof(r));
		r.seed = seed + round * INSERTERS;
		r.tasks = tasks_of_home(n, &counted_ops);
		rig_set(&nb_drops, 0);
		weir__owned_init(&home.owned, 3);
		rig_threads(INSERTERS + CLOSERS, insert_or_shut_down, &r);
		assert_int_equal(weir__owned_count(&home.owned), 0);
		assert_int_equal(rig_get(&nb_drops) + rig_get(&r.refused) +
					 rig_get(&r.removed),
				 n);
		for (i = 0; i < n; i++)
			assert_int_equal(refs(&r.tasks[i]), 1);
		free(r.tasks);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shards_are_a_power_of_two),
		cmocka_unit_test(removal_tells_once),
		cmocka_unit_test(closed_list_takes_nothing),
		cmocka_unit_test(shutdown_ends_idle_tasks),
		cmocka_unit_test(shutdown_leaves_a_running_task_to_its_worker),
		cmocka_unit_test(drop_runs_without_a_lock),
		cmocka_unit_test(every_task_is_refused_removed_or_shut_down),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
