/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <limits.h>
#include <pthread.h>
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
		assert_true(owned_insert(owned_shard_of(&home.owned, i),
					 &tasks[i]));
	assert_int_equal(weir__owned_count(&home.owned), TASKS);
	for (i = 0; i < TASKS; i++) {
		assert_true(owned_remove(&tasks[i]));
		assert_false(owned_remove(&tasks[i]));
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
	assert_true(owned_insert(owned_shard_of(&home.owned, 0), &tasks[0]));
	weir__owned_close(&home.owned);
	for (i = 1; i < TASKS; i++) {
		assert_false(owned_insert(owned_shard_of(&home.owned, i),
					  &tasks[i]));
		assert_false(owned_remove(&tasks[i]));
	}
	assert_int_equal(weir__owned_count(&home.owned), 1);
	assert_true(owned_remove(&tasks[0]));
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
		assert_true(owned_insert(owned_shard_of(&home.owned, i),
					 &tasks[i]));
	weir__owned_close(&home.owned);
	/* From any shard on, it goes through all of them. */
	weir__owned_shutdown(&home.owned, 7, 0);
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
	assert_true(owned_insert(owned_shard_of(&home.owned, 0), t));
	atomic_u64_fetch_or(&t->state.word, STATE_RUNNING, RELAXED);
	weir__owned_close(&home.owned);
	weir__owned_shutdown(&home.owned, 0, 0);
	/* It counts until its worker takes it off, with the list's reference. */
	assert_int_equal(weir__owned_count(&home.owned), 1);
	assert_int_equal(rig_get(&nb_drops), 0);
	assert_int_equal(refs(t), 2);
	assert_int_equal(state_to_idle(&t->state, 0), STATE_IDLE_CANCEL);
	assert_true(owned_remove(t));
	assert_int_equal(weir__owned_count(&home.owned), 0);
	free(t);
}

/* O6 */
static void
shutdown_leaves_bound_tasks_to_their_worker(void **state)
{
	struct task *tasks = tasks_of_home(TASKS, &counted_ops);
	unsigned int i;

	rig_set(&nb_drops, 0);
	weir__owned_init(&home.owned, 2);
	/* Of any, of worker 0, of worker 1, of any, ... */
	for (i = 0; i < TASKS; i++) {
		if (i % 3 != 0)
			tasks[i].affinity = WEIR_AFFINITY_WORKER;
		tasks[i].worker = i % 3 == 2;
		assert_true(owned_insert(owned_shard_of(&home.owned, i / 3),
					 &tasks[i]));
	}
	weir__owned_close(&home.owned);
	weir__owned_shutdown(&home.owned, 0, 0);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(refs(&tasks[i]), i % 3 == 2 ? 2 : 1);
	assert_int_equal(weir__owned_count(&home.owned), TASKS / 3);
	weir__owned_shutdown(&home.owned, 0, 1);
	assert_int_equal(weir__owned_count(&home.owned), 0);
	assert_int_equal(rig_get(&nb_drops), TASKS);
	free(tasks);
}

/* A drop that asks for the lists' locks. The task that it drops counts (O1). */
static void
look_at_lists(void *state)
{
	unsigned int i;

	for (i = 0; i < home.owned.nb_shards; i++) {
		if (!lock_try(&home.owned.shards[i].lock))
			abort();
		lock_release(&home.owned.shards[i].lock);
	}
	if (weir__owned_count(&home.owned) != TASKS - rig_get(&nb_drops))
		abort();
	rig_add(&nb_drops, 1);
}

/* O1, O3 */
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
		assert_true(owned_insert(owned_shard_of(&home.owned, i),
					 &tasks[i]));
	weir__owned_close(&home.owned);
	weir__owned_shutdown(&home.owned, 0, 0);
	assert_int_equal(rig_get(&nb_drops), TASKS);
	free(tasks);
}

struct walk {
	unsigned int visits[200];
	unsigned int n;
	unsigned int limit;
	struct atomic_u32 visited; /* n, for another thread */
	struct atomic_u32 locked;  /* that one: visits when it had the lock */
	struct atomic_u32 begun;
};

static bool
count_visit(const struct task *t, void *arg)
{
	struct walk *w = arg;

	w->visits[t->id]++;
	return ++w->n < w->limit;
}

static void
walk_visits_each_task_once(void **state)
{
	struct walk w = { .limit = UINT_MAX };
	struct task *tasks = tasks_of_home(RTE_DIM(w.visits), &counted_ops);
	unsigned int i;

	weir__owned_init(&home.owned, 2);
	for (i = 0; i < RTE_DIM(w.visits); i++)
		assert_true(owned_insert(owned_shard_of(&home.owned, i % 8),
					 &tasks[i]));
	/* One is removed; one is left to its worker by shutdown. */
	assert_true(owned_remove(&tasks[100]));
	weir__owned_walk(&home.owned, count_visit, &w);
	for (i = 0; i < RTE_DIM(w.visits); i++)
		assert_int_equal(w.visits[i], i != 100);
	atomic_u64_fetch_or(&tasks[3].state.word, STATE_RUNNING, RELAXED);
	weir__owned_close(&home.owned);
	weir__owned_shutdown(&home.owned, 0, 0);
	weir__owned_walk(&home.owned, count_visit, &w);
	for (i = 0; i < RTE_DIM(w.visits); i++)
		assert_int_equal(w.visits[i], i == 3 ? 2 : i != 100);
	assert_true(owned_remove(&tasks[3]));
	free(tasks);
}

static void
walk_ends_when_it_is_told(void **state)
{
	const unsigned int limits[] = { 1, 40, 150 };
	struct task *tasks;
	struct walk w;
	unsigned int i, k;

	for (k = 0; k < RTE_DIM(limits); k++) {
		memset(&w, 0, sizeof(w));
		w.limit = limits[k];
		tasks = tasks_of_home(RTE_DIM(w.visits), &counted_ops);
		weir__owned_init(&home.owned, 2);
		for (i = 0; i < RTE_DIM(w.visits); i++)
			assert_true(owned_insert(owned_shard_of(&home.owned, i),
						 &tasks[i]));
		weir__owned_walk(&home.owned, count_visit, &w);
		assert_int_equal(w.n, w.limit);
		/* And leaves the lists as they were. */
		weir__owned_close(&home.owned);
		weir__owned_shutdown(&home.owned, 0, 0);
		assert_int_equal(weir__owned_count(&home.owned), 0);
		free(tasks);
	}
}

static bool
wait_for_the_other(const struct task *t, void *arg)
{
	struct lock *lock = &home.owned.shards[0].lock;
	struct walk *w = arg;

	rig_set(&w->begun, 1);
	/* From here on the other thread waits for the lock. */
	rig_wait_until(rig_get(&lock->waiting) == 1 || rig_get(&w->locked));
	rig_add(&w->visited, 1);
	return true;
}

static void *
take_lock(void *arg)
{
	struct lock *lock = &home.owned.shards[0].lock;
	struct walk *w = arg;

	/* The walk has it, and keeps it. */
	rig_wait_until(rig_get(&w->begun));
	lock_acquire(lock);
	rig_set(&w->locked, rig_get(&w->visited));
	lock_release(lock);
	return NULL;
}

/* O5 */
static void
walk_gives_way_to_others(void **state)
{
	struct walk w = { .n = 0 };
	struct task *tasks = tasks_of_home(RTE_DIM(w.visits), &counted_ops);
	pthread_t thread;
	unsigned int i;

	weir__owned_init(&home.owned, 1);
	for (i = 0; i < RTE_DIM(w.visits); i++)
		assert_true(owned_insert(owned_shard_of(&home.owned, 0),
					 &tasks[i]));
	assert_int_equal(pthread_create(&thread, NULL, take_lock, &w), 0);
	weir__owned_walk(&home.owned, wait_for_the_other, &w);
	pthread_join(thread, NULL);
	assert_int_equal(rig_get(&w.locked), OWNED_WALK_CHUNK);
	assert_int_equal(rig_get(&w.visited), RTE_DIM(w.visits));
	for (i = 0; i < RTE_DIM(w.visits); i++)
		assert_true(owned_remove(&tasks[i]));
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
	struct atomic_u32 closed;
	uint64_t seed;
};

static bool
look_at(const struct task *t, void *arg)
{
	const struct race *r = arg;

	/* What is visited has a reference, and is one of ours. */
	if (refs(t) == 0 || t < r->tasks || t >= r->tasks + INSERTERS * EACH)
		abort();
	return true;
}

/* O5: one walk at a time, beside everything else. */
static void
walk_until_closed(struct race *r)
{
	while (rig_get(&r->closed) < CLOSERS)
		weir__owned_walk(&home.owned, look_at, r);
}

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
		if (!owned_insert(owned_shard_of(&home.owned, rand_u32(&rand)),
				  t)) {
			rig_add(&r->refused, 1);
			weir__task_ref_dec(t);
		} else if (rand_below(&rand, 2) == 0 &&
			   state_to_shutdown(&t->state)) {
			/* As who runs it: shutdown leaves it to us (O1). */
			rig_add(&r->removed, owned_remove(t));
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
	while (rig_get(&r->ready) < INSERTERS + CLOSERS + 1)
		sched_yield();
	if (index == INSERTERS + CLOSERS) {
		walk_until_closed(r);
		return NULL;
	}
	if (index < INSERTERS) {
		insert_and_remove(r, index);
		return NULL;
	}
	/* While they are at it. */
	while (rig_get(&r->inserted) < EACH)
		sched_yield();
	weir__owned_close(&home.owned);
	weir__owned_shutdown(&home.owned, index, 0);
	rig_add(&r->closed, 1);
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
		rig_threads(INSERTERS + CLOSERS + 1, insert_or_shut_down, &r);
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
		cmocka_unit_test(shutdown_leaves_bound_tasks_to_their_worker),
		cmocka_unit_test(drop_runs_without_a_lock),
		cmocka_unit_test(walk_visits_each_task_once),
		cmocka_unit_test(walk_ends_when_it_is_told),
		cmocka_unit_test(walk_gives_way_to_others),
		cmocka_unit_test(every_task_is_refused_removed_or_shut_down),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
