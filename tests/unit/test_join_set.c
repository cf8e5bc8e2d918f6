/* SPDX-License-Identifier: BSD-3-Clause */

/* Sets of tasks, which are taken in the order in which they end. */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/rand.h"
#include "before_wake.h"
#include "waiter.h"

static struct weir_join_set *set;
/* What the members of a set wait for, and those of others. */
static struct weir_semaphore gates[4];
static struct rig_log member_log;
static size_t heap_before;

static int
setup(void **state)
{
	unsigned int i;
	int rc;

	/* What the first runtime in a process leaves is not ours. */
	if (heap_before == 0)
		rig_runtime_free(rig_runtime(1));
	heap_before = rig_heap_in_use();
	rc = rig_setup(state);
	memset(&member_log, 0, sizeof(member_log));
	for (i = 0; i < RTE_DIM(gates); i++)
		assert_int_equal(weir_semaphore_init(&gates[i], 0), 0);
	set = weir_join_set_create();
	assert_non_null(set);
	return rc;
}

static int
teardown(void **state)
{
	unsigned int i;

	weir_join_set_free(set);
	rig_teardown(state);
	assert_int_equal(rig_heap_in_use(), heap_before);
	for (i = 0; i < RTE_DIM(gates); i++)
		weir_semaphore_fini(&gates[i]);
	return 0;
}

/* Goes through a gate, and ends as told. */
struct member {
	struct weir_semaphore *gate;
	int end;
	struct weir_wait wait;
	uint64_t value; /* the result */
};

static int
member_poll(struct weir_context *ctx, void *state)
{
	struct member *m = state;
	int rc;

	rc = weir_semaphore_acquire(ctx, m->gate, 1, &m->wait);
	return rc < 0 ? rc : m->end;
}

static void
member_drop(void *state)
{
	struct member *m = state;

	weir_wait_cancel(&m->wait);
	rig_add(&member_log.drops, 1);
}

static void
member_result_drop(void *result)
{
	assert_int_equal(*(uint64_t *)result >> 32, 7);
	rig_add(&member_log.results_dropped, 1);
}

static const struct weir_task_ops member_ops = {
	.name = "member",
	.state_size = sizeof(struct member),
	.poll = member_poll,
	.drop = member_drop,
	.result_offset = offsetof(struct member, value),
	.result_size = sizeof(uint64_t),
	.result_drop = member_result_drop,
};

static uint64_t
spawn(struct weir_join_set *to, unsigned int gate, int end)
{
	struct member m = {
		.gate = &gates[gate],
		.end = end,
		.value = UINT64_C(7) << 32 | gate,
	};
	uint64_t id = WEIR_TASK_NONE;

	assert_int_equal(
		weir_join_set_spawn(to, rig.rt, &member_ops, &m, NULL, &id), 0);
	assert_int_not_equal(id, WEIR_TASK_NONE);
	return id;
}

static void
open_gate(unsigned int gate, uint32_t n)
{
	assert_int_equal(weir_semaphore_release(&gates[gate], n), 0);
}

/* Waits for the next, which must end so. Returns its gate's number. */
static unsigned int
expect_next(uint64_t id, int rc)
{
	struct weir_joined joined;
	uint64_t value = 0;

	assert_int_equal(weir_join_set_next(NULL, set, &joined, &value, NULL),
			 0);
	if (id != WEIR_TASK_NONE)
		assert_int_equal(joined.id, id);
	assert_ptr_equal(joined.ops, &member_ops);
	assert_int_equal(joined.rc, rc);
	if (rc == 0)
		assert_int_equal(value >> 32, 7);
	return (unsigned int)value;
}

static void
expect_empty(void)
{
	struct weir_joined joined;

	assert_int_equal(weir_join_set_count(set), 0);
	assert_int_equal(weir_join_set_next(NULL, set, &joined, NULL, NULL),
			 -ENOENT);
}

static void
tasks_are_taken_as_they_end(void **state)
{
	uint64_t ids[3];
	unsigned int i;

	expect_empty();
	for (i = 0; i < 3; i++)
		ids[i] = spawn(set, i, WEIR_DONE);
	assert_int_equal(weir_join_set_count(set), 3);
	for (i = 3; i-- > 0;) {
		open_gate(i, 1);
		assert_int_equal(expect_next(ids[i], 0), i);
	}
	expect_empty();
}

/* All have ended when the first is taken. One worker: one after the other. */
static void
order_is_that_of_the_ends(void **state)
{
	static const unsigned int order[] = { 2, 0, 1 };
	uint64_t ids[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		ids[i] = spawn(set, i, WEIR_DONE);
	for (i = 0; i < 3; i++) {
		open_gate(order[i], 1);
		rig_wait_until(rig_get(&member_log.drops) == i + 1);
	}
	for (i = 0; i < 3; i++)
		expect_next(ids[order[i]], 0);
	expect_empty();
}

static void
outcomes_are_those_of_the_tasks(void **state)
{
	uint64_t failing = spawn(set, 0, -EIO), done = spawn(set, 1, WEIR_DONE);
	struct weir_joined joined;

	open_gate(0, 1);
	expect_next(failing, -EIO);
	open_gate(1, 1);
	/* A result that nobody wants goes to result_drop. */
	assert_int_equal(weir_join_set_next(NULL, set, &joined, NULL, NULL), 0);
	assert_int_equal(joined.id, done);
	assert_int_equal(rig_get(&member_log.results_dropped), 1);
}

static void
abort_all_leaves_the_ends_to_be_taken(void **state)
{
	unsigned int i;

	for (i = 0; i < 5; i++)
		spawn(set, 0, WEIR_DONE);
	waiter_wait_for(&gates[0], 5);
	weir_join_set_abort_all(set);
	assert_int_equal(weir_join_set_count(set), 5);
	for (i = 0; i < 5; i++)
		expect_next(WEIR_TASK_NONE, -ECANCELED);
	expect_empty();
	/* The set is as before. */
	spawn(set, 1, WEIR_DONE);
	open_gate(1, 1);
	expect_next(WEIR_TASK_NONE, 0);
}

static void
detached_tasks_run_on(void **state)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		spawn(set, i / 2, WEIR_DONE);
	open_gate(0, 2);
	rig_wait_until(rig_get(&member_log.drops) == 2);
	weir_join_set_detach_all(set);
	expect_empty();
	waiter_wait_for(&gates[1], 2);
	open_gate(1, 2);
	rig_wait_until(rig_get(&member_log.results_dropped) == 4);
	spawn(set, 2, WEIR_DONE);
	open_gate(2, 1);
	assert_int_equal(expect_next(WEIR_TASK_NONE, 0), 2);
}

static void
free_aborts_what_is_left(void **state)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		spawn(set, i / 3, WEIR_DONE);
	open_gate(0, 3);
	rig_wait_until(rig_get(&member_log.drops) == 3);
	waiter_wait_for(&gates[1], 3);
	weir_join_set_free(set);
	set = NULL;
	rig_wait_until(rig_get(&member_log.drops) == 6);
	weir_join_set_free(NULL);
	/* A result goes after its task's state. */
	rig_runtime_end(&rig.rt);
	assert_int_equal(rig_get(&member_log.results_dropped), 3);
}

static void
set_outlives_the_runtime(void **state)
{
	spawn(set, 0, WEIR_DONE);
	spawn(set, 0, WEIR_DONE);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	expect_next(WEIR_TASK_NONE, -ECANCELED);
	weir_join_set_abort_all(set);
	assert_int_equal(weir_join_set_count(set), 1);
}

static void
tasks_and_jobs_from_elsewhere_are_added(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	struct weir_joined joined;
	uint64_t id = weir_join_id(join);
	uint32_t polls = 0;

	/* One that has ended is taken as any other. */
	rig_wait_until(weir_join_ended(join));
	assert_int_equal(weir_join_set_add(set, join), 0);
	assert_int_equal(weir_join_set_next(NULL, set, &joined, &polls, NULL),
			 0);
	assert_int_equal(joined.id, id);
	assert_int_equal(polls, 1);
	join = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	id = weir_join_id(join);
	assert_int_equal(weir_join_set_add(set, join), 0);
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_set_next(NULL, set, &joined, &polls, NULL),
			 0);
	assert_int_equal(joined.id, id);
	assert_ptr_equal(joined.ops, &rig_block_ops);
}

/* Polls a handle in vain, and adds it to a set after its task has ended. */
static int
change_its_mind(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct weir_join *join = what;
	struct weir_join_set *own = weir_join_set_create();

	(void)wait;
	if (own == NULL)
		return -ENOMEM;
	if (weir_join_poll(ctx, join, NULL) != WEIR_PENDING)
		return -EBADE;
	rig_set(&rig.go, 1);
	rig_wait_until(weir_join_ended(join));
	if (weir_join_set_add(own, join) < 0)
		return -EBADE;
	weir_join_set_free(own);
	return 0;
}

static void
handle_that_was_polled_is_added_and_given_up(void **state)
{
	struct weir_join *join =
		rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);

	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, change_its_mind, join)), 0);
}

static void
bad_tasks_are_refused(void **state)
{
	static const struct weir_task_ops no_poll = { .name = "no poll" };

	assert_int_equal(weir_join_set_add(set, NULL), -EINVAL);
	assert_int_equal(
		weir_join_set_spawn(set, rig.rt, &no_poll, NULL, NULL, NULL),
		-EINVAL);
	expect_empty();
	/* One that the runtime refuses is in the set, and cancelled. */
	weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL);
	spawn(set, 0, WEIR_DONE);
	expect_next(WEIR_TASK_NONE, -ECANCELED);
}

static int
take_next(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct weir_joined joined;
	int rc = weir_join_set_next(ctx, what, &joined, NULL, wait);

	return rc == 0 ? joined.rc : rc;
}

/* A plain thread's call, made on a worker. */
static int
block_on_worker(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return take_next(NULL, what, NULL);
}

static void
bad_waits_are_refused(void **state)
{
	struct weir_join *join;

	spawn(set, 0, WEIR_DONE);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, block_on_worker, set)),
		-EDEADLK);
	join = waiter_spawn(rig.rt, take_next, set);
	waiter_wait_for(set, 1);
	assert_int_equal(take_next(NULL, set, NULL), -EBUSY);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, take_next, set)),
			 -EBUSY);
	open_gate(0, 1);
	assert_int_equal(waiter_join(join), 0);
}

static void
who_gives_up_leaves_the_end_to_be_taken(void **state)
{
	struct weir_joined joined;
	struct rig_blockers b;
	struct weir_join *join;

	join = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	assert_int_equal(weir_join_set_add(set, join), 0);
	/* While nothing has ended. */
	join = waiter_spawn(rig.rt, take_next, set);
	waiter_wait_for(set, 1);
	waiter_abort(join);
	assert_int_equal(waiters(set), 0);
	/* Told of the end while no worker can run it. */
	join = waiter_spawn(rig.rt, take_next, set);
	waiter_wait_for(set, 1);
	rig_block(&b, rig.rt);
	rig_set(&rig.go, 1);
	waiter_wait_for(set, 0);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(weir_join_set_next(NULL, set, &joined, NULL, NULL), 0);
	assert_ptr_equal(joined.ops, &rig_block_ops);
	expect_empty();
}

static void
who_waits_is_told_that_all_were_detached(void **state)
{
	struct weir_join *join;

	spawn(set, 0, WEIR_DONE);
	join = waiter_spawn(rig.rt, take_next, set);
	waiter_wait_for(set, 1);
	weir_join_set_detach_all(set);
	assert_int_equal(waiter_join(join), -ENOENT);
}

static void
spawn_another(void)
{
	spawn(set, 1, WEIR_DONE);
}

/* Waits, and empties and fills the set meanwhile. */
static int
detach_while_it_waits(struct weir_context *ctx, void *what,
		      struct weir_wait *wait)
{
	struct atomic_u32 *begun = what;
	int rc = take_next(ctx, set, wait);

	if (rc != WEIR_PENDING || rig_get(begun))
		return rc;
	weir_join_set_detach_all(set);
	if (waiters(set) != 0)
		return -EBADE;
	spawn_another();
	rc = take_next(ctx, set, wait);
	rig_set(begun, 1);
	return rc;
}

static void
set_that_was_emptied_and_filled_is_waited_for(void **state)
{
	struct atomic_u32 begun = { 0 };
	struct waiter_thread *thread;
	struct weir_join *join;

	spawn(set, 0, WEIR_DONE);
	join = waiter_spawn(rig.rt, detach_while_it_waits, &begun);
	rig_wait_until(rig_get(&begun) || weir_join_ended(join));
	open_gate(1, 1);
	assert_int_equal(waiter_join(join), 0);
	expect_empty();
	/* The same of a plain thread, before it is woken. */
	spawn(set, 0, WEIR_DONE);
	thread = waiter_thread_start(take_next, set);
	waiter_wait_for(set, 1);
	before_wake(spawn_another);
	weir_join_set_detach_all(set);
	assert_true(before_wake_called());
	open_gate(1, 1);
	assert_int_equal(waiter_thread_join(thread), 0);
	expect_empty();
	open_gate(0, 2);
}

/* Waits, and takes with another wait what the first was woken to. */
static int
take_with_another_wait(struct weir_context *ctx, void *what,
		       struct weir_wait *wait)
{
	struct atomic_u32 *begun = what;
	struct weir_wait other = { 0 };
	int rc = take_next(ctx, set, wait);

	if (rc != WEIR_PENDING || rig_get(begun))
		return rc;
	rig_set(&rig.go, 1);
	waiter_wait_for(set, 0);
	if (take_next(ctx, set, &other) != 0)
		return -EBADE;
	rc = take_next(ctx, set, wait);
	rig_set(begun, 1);
	return rc;
}

static void
who_finds_its_end_taken_waits_again(void **state)
{
	struct atomic_u32 begun = { 0 };
	struct weir_join *join;

	join = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	assert_int_equal(weir_join_set_add(set, join), 0);
	spawn(set, 0, WEIR_DONE);
	join = waiter_spawn(rig.rt, take_with_another_wait, &begun);
	rig_wait_until(rig_get(&begun) || weir_join_ended(join));
	assert_int_equal(weir_join_set_count(set), 1);
	open_gate(0, 1);
	assert_int_equal(waiter_join(join), 0);
	expect_empty();
}

/* A task with a set of its own: spawns, takes, and is perhaps dropped. */
#define MEMBERS 300

struct owner {
	struct weir_join_set *set;
	struct weir_wait wait;
	unsigned int spawned;
	unsigned int taken;
	uint32_t polls; /* the result */
};

static int
owner_poll(struct weir_context *ctx, void *state)
{
	struct weir_joined joined;
	struct owner *o = state;
	uint32_t polls;
	int rc;

	o->polls++;
	for (; o->spawned < MEMBERS; o->spawned++) {
		rc = weir_join_set_spawn(o->set, weir_context_runtime(ctx),
					 &rig_done_ops, &rig.told, NULL, NULL);
		if (rc < 0)
			return rc;
	}
	while (o->taken < MEMBERS) {
		rc = weir_join_set_next(ctx, o->set, &joined, &polls, &o->wait);
		if (rc < 0)
			return rc;
		if (joined.rc != 0)
			return joined.rc;
		o->taken++;
	}
	rc = weir_join_set_next(ctx, o->set, &joined, &polls, &o->wait);
	return rc == -ENOENT ? WEIR_DONE : rc;
}

static void
owner_drop(void *state)
{
	struct owner *o = state;

	weir_wait_cancel(&o->wait);
	weir_join_set_free(o->set);
}

static const struct weir_task_ops owner_ops = {
	.name = "owner",
	.state_size = sizeof(struct owner),
	.poll = owner_poll,
	.drop = owner_drop,
	.result_offset = offsetof(struct owner, polls),
	.result_size = sizeof(uint32_t),
};

static struct weir_join *
spawn_owner(void)
{
	struct owner o = { .set = weir_join_set_create() };
	struct weir_join *join;

	assert_non_null(o.set);
	join = weir_task_spawn(rig.rt, &owner_ops, &o, NULL);
	assert_non_null(join);
	return join;
}

static void
task_takes_all_that_it_spawned(void **state)
{
	uint32_t polls;

	assert_int_equal(rig_join(spawn_owner(), &polls), 0);
	assert_int_equal(rig_get(&rig.log.drops), MEMBERS);
	/* An end wakes it once at most. What is ready spends budget. */
	assert_uint_in_range(polls, 3, MEMBERS + 4);
}

static void
storm_of_sets_leaves_nothing(void **state)
{
	struct weir_join *owners[24];
	struct rand_state rand;
	unsigned int i;
	int rc;

	rand_seed(&rand, unit_seed());
	for (i = 0; i < RTE_DIM(owners); i++)
		owners[i] = spawn_owner();
	for (i = 0; i < RTE_DIM(owners); i++)
		if (rand_below(&rand, 2) == 0)
			weir_join_abort(owners[i]);
	for (i = 0; i < RTE_DIM(owners); i++) {
		rc = rig_join(owners[i], NULL);
		assert_true(rc == 0 || rc == -ECANCELED);
	}
	rig_wait_until(rig_stats(rig.rt).live_tasks == 0);
	assert_int_equal(rig_get(&rig.log.drops),
			 rig_stats(rig.rt).spawned - RTE_DIM(owners));
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tasks_are_taken_as_they_end, 1),
		TEST(tasks_are_taken_as_they_end, 3),
		TEST(order_is_that_of_the_ends, 1),
		TEST(outcomes_are_those_of_the_tasks, 2),
		TEST(abort_all_leaves_the_ends_to_be_taken, 1),
		TEST(abort_all_leaves_the_ends_to_be_taken, 3),
		TEST(detached_tasks_run_on, 2),
		TEST(free_aborts_what_is_left, 1),
		TEST(free_aborts_what_is_left, 3),
		TEST(set_outlives_the_runtime, 2),
		TEST(tasks_and_jobs_from_elsewhere_are_added, 1),
		TEST(handle_that_was_polled_is_added_and_given_up, 1),
		TEST(bad_tasks_are_refused, 1),
		TEST(bad_waits_are_refused, 2),
		TEST(who_gives_up_leaves_the_end_to_be_taken, 1),
		TEST(who_gives_up_leaves_the_end_to_be_taken, 2),
		TEST(who_waits_is_told_that_all_were_detached, 1),
		TEST(set_that_was_emptied_and_filled_is_waited_for, 1),
		TEST(set_that_was_emptied_and_filled_is_waited_for, 2),
		TEST(who_finds_its_end_taken_waits_again, 1),
		TEST(who_finds_its_end_taken_waits_again, 2),
		TEST(task_takes_all_that_it_spawned, 1),
		TEST(task_takes_all_that_it_spawned, 3),
		TEST(storm_of_sets_leaves_nothing, 1),
		TEST(storm_of_sets_leaves_nothing, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
