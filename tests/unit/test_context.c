/* SPDX-License-Identifier: BSD-3-Clause */

/* What code can ask about where it runs: runtime, worker, task. */

#include "unit.h"

#include <pthread.h>
#include <string.h>

#include "rig.h"

/* What somebody was told. */
struct place {
	struct weir_runtime *rt;
	unsigned int worker;
	uint64_t task;
};

static void
ask(struct place *p)
{
	p->rt = weir_runtime_current();
	p->worker = weir_worker_current();
	p->task = weir_task_current();
}

static void
expect_nowhere(const struct place *p)
{
	assert_null(p->rt);
	assert_int_equal(p->worker, WEIR_WORKER_NONE);
	assert_int_equal(p->task, WEIR_TASK_NONE);
}

static void *
ask_in_thread(void *place)
{
	ask(place);
	return NULL;
}

static void
plain_threads_are_nowhere(void **state)
{
	struct place p = { .rt = rig.rt };
	pthread_t thread;

	expect_nowhere((ask(&p), &p));
	assert_int_equal(pthread_create(&thread, NULL, ask_in_thread, &p), 0);
	pthread_join(thread, NULL);
	expect_nowhere(&p);
}

/* A task that asks in its poll and in its drop, and awaits one of its own. */
struct asker {
	struct place *dropped;
	struct weir_join *child;
	struct place polled;
	uint64_t child_id;
	struct place child_polled;
	unsigned int worker; /* by its context */
};

static struct atomic_u32 polled; /* turns of askers and parents */

static int
ask_poll(struct weir_context *ctx, void *state)
{
	struct asker *a = state;

	rig_add(&polled, 1);
	ask(&a->polled);
	a->worker = weir_context_worker(ctx);
	return WEIR_DONE;
}

static void
ask_drop(void *state)
{
	struct asker *a = state;

	if (a->dropped != NULL)
		ask(a->dropped);
}

static const struct weir_task_ops asker_ops = {
	.name = "asker",
	.state_size = sizeof(struct asker),
	.poll = ask_poll,
	.drop = ask_drop,
	.result_size = sizeof(struct asker),
};

static int
parent_poll(struct weir_context *ctx, void *state)
{
	struct asker *a = state, child;
	int rc;

	if (a->child == NULL) {
		a->child = weir_task_spawn(weir_context_runtime(ctx),
					   &asker_ops, NULL, NULL);
		a->child_id = weir_join_id(a->child);
	}
	rc = weir_join_poll(ctx, a->child, &child);
	if (rc < 0) {
		rig_add(&polled, 1);
		return rc;
	}
	a->child_polled = child.polled;
	return ask_poll(ctx, state);
}

static const struct weir_task_ops parent_ops = {
	.name = "parent",
	.state_size = sizeof(struct asker),
	.poll = parent_poll,
	.drop = ask_drop,
	.result_size = sizeof(struct asker),
};

static void
tasks_know_runtime_worker_and_themselves(void **state)
{
	struct weir_join *join;
	struct asker a;
	uint64_t id;

	join = weir_task_spawn(rig.rt, &parent_ops, NULL, NULL);
	id = weir_join_id(join);
	assert_int_equal(rig_join(join, &a), 0);
	assert_ptr_equal(a.polled.rt, rig.rt);
	assert_int_equal(a.polled.worker, a.worker);
	assert_uint_in_range(a.worker, 0, weir_runtime_nb_workers(rig.rt) - 1);
	assert_true(a.polled.task == id);
	assert_true(a.child_polled.task == a.child_id);
	assert_true(a.child_id != id);
}

static void
bound_tasks_know_their_worker(void **state)
{
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER };
	struct asker a;

	for (; attr.worker < weir_runtime_nb_workers(rig.rt); attr.worker++) {
		assert_int_equal(rig_join(weir_task_spawn(rig.rt, &asker_ops,
							  NULL, &attr),
					  &a),
				 0);
		assert_int_equal(a.polled.worker, attr.worker);
	}
}

static void
drop_is_on_a_worker_and_in_no_task(void **state)
{
	struct place dropped = { 0 };
	struct asker a = { .dropped = &dropped };

	assert_int_equal(
		rig_join(weir_task_spawn(rig.rt, &asker_ops, &a, NULL), &a), 0);
	assert_ptr_equal(dropped.rt, rig.rt);
	assert_int_equal(dropped.worker, a.worker);
	assert_int_equal(dropped.task, WEIR_TASK_NONE);
}

static void
drop_of_a_refused_task_is_where_it_was_spawned(void **state)
{
	struct place dropped = { .rt = rig.rt };
	struct asker a = { .dropped = &dropped };

	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	weir_join_detach(weir_task_spawn(rig.rt, &asker_ops, &a, NULL));
	expect_nowhere(&dropped);
}

static void
who_blocks_is_nowhere_while_workers_run_its_task(void **state)
{
	struct asker a;
	struct place p;

	assert_int_equal(weir_runtime_block_on(rig.rt, &asker_ops, NULL, &a),
			 0);
	assert_ptr_equal(a.polled.rt, rig.rt);
	assert_int_not_equal(a.polled.task, WEIR_TASK_NONE);
	expect_nowhere((ask(&p), &p));
}

static void
no_task_has_the_id_none(void **state)
{
	struct weir_join *join;

	/* The first of the runtime, by a thread that is no worker. */
	join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	assert_int_not_equal(weir_join_id(join), WEIR_TASK_NONE);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
who_drives_a_current_thread_runtime_is_its_worker(void **state)
{
	struct weir_runtime *rt;
	struct weir_options o;
	struct asker a;
	struct place p;

	rig_options(&o, 0);
	o.name = "current";
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	expect_nowhere((ask(&p), &p));
	assert_int_equal(weir_runtime_block_on(rt, &parent_ops, NULL, &a), 0);
	assert_ptr_equal(a.polled.rt, rt);
	assert_int_equal(a.polled.worker, 0);
	assert_int_not_equal(a.polled.task, WEIR_TASK_NONE);
	assert_true(a.child_polled.task == a.child_id);
	expect_nowhere((ask(&p), &p));
	weir_runtime_free(rt);
}

static struct {
	struct weir_runtime *rt;
	struct atomic_u32 threads, parks, polls, ends, spawns, wrong;
} hooked;

static void
expect_in_hook(bool right)
{
	if (!right)
		rig_add(&hooked.wrong, 1);
}

static void
thread_hook(void *arg, unsigned int worker)
{
	rig_add(arg, 1);
	expect_in_hook(weir_runtime_current() != NULL &&
		       weir_worker_current() == worker &&
		       weir_task_current() == WEIR_TASK_NONE);
}

static void
count_thread(void *arg, unsigned int worker)
{
	thread_hook(&hooked.threads, worker);
}

static void
count_park(void *arg, unsigned int worker)
{
	thread_hook(&hooked.parks, worker);
}

static void
poll_hook(void *arg, const struct weir_task_info *task)
{
	rig_add(&hooked.polls, 1);
	expect_in_hook(weir_worker_current() != WEIR_WORKER_NONE &&
		       weir_task_current() == task->id);
}

static void
end_hook(void *arg, const struct weir_task_info *task)
{
	rig_add(&hooked.ends, 1);
	expect_in_hook(weir_worker_current() != WEIR_WORKER_NONE &&
		       weir_task_current() == WEIR_TASK_NONE);
}

/* The parent's by the test's thread, the child's by the parent. */
static void
spawn_hook(void *arg, const struct weir_task_info *task)
{
	bool by_thread = strcmp(task->name, "parent") == 0;

	rig_add(&hooked.spawns, 1);
	expect_in_hook((weir_runtime_current() == NULL) == by_thread &&
		       (weir_task_current() == WEIR_TASK_NONE) == by_thread);
}

static void
hooks_are_told_where_they_are(void **state)
{
	static const struct weir_hooks hooks = {
		.thread_start = count_thread,
		.thread_stop = count_thread,
		.park = count_park,
		.unpark = count_park,
		.task_spawn = spawn_hook,
		.task_before_poll = poll_hook,
		.task_after_poll = poll_hook,
		.task_end = end_hook,
	};
	struct weir_options o;
	struct asker a;

	memset(&hooked, 0, sizeof(hooked));
	atomic_u32_store(&polled, 0, RELAXED);
	rig_options(&o, 2);
	o.hooks = &hooks;
	hooked.rt = weir_runtime_create(&o);
	assert_non_null(hooked.rt);
	assert_int_equal(
		weir_runtime_block_on(hooked.rt, &parent_ops, NULL, &a), 0);
	rig_wait_until(rig_get(&hooked.parks) > 0);
	rig_runtime_free(hooked.rt);
	assert_int_equal(rig_get(&hooked.threads), 2 * 2);
	assert_int_equal(rig_get(&hooked.spawns), 2);
	assert_int_equal(rig_get(&hooked.ends), 2);
	/* How often the parent has looked depends on who runs its child. */
	assert_true(rig_get(&polled) >= 2);
	assert_int_equal(rig_get(&hooked.polls), 2 * rig_get(&polled));
	assert_int_equal(rig_get(&hooked.wrong), 0);
}

static void
await_standby(void *arg)
{
	/* The lcore's thread, and the one that drives its worker now. */
	rig_wait_until(rig_get(&hooked.threads) == 2);
}

static int
blocking_poll(struct weir_context *ctx, void *state)
{
	return weir_block_in_place(await_standby, NULL);
}

static void
hooks_of_a_standby_thread_are_on_its_worker(void **state)
{
	static const struct weir_hooks hooks = {
		.thread_start = count_thread,
		.thread_stop = count_thread,
	};
	static const struct weir_task_ops ops = { .name = "blocking",
						  .poll = blocking_poll };
	struct weir_options o;

	memset(&hooked, 0, sizeof(hooked));
	rig_options(&o, 1);
	o.hooks = &hooks;
	hooked.rt = weir_runtime_create(&o);
	assert_non_null(hooked.rt);
	assert_int_equal(weir_runtime_block_on(hooked.rt, &ops, NULL, NULL), 0);
	rig_runtime_free(hooked.rt);
	assert_int_equal(rig_get(&hooked.threads), 2 * 2);
	assert_int_equal(rig_get(&hooked.wrong), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(plain_threads_are_nowhere, 2),
		RIG_TESTS(tasks_know_runtime_worker_and_themselves),
		RIG_TESTS(bound_tasks_know_their_worker),
		RIG_TESTS(drop_is_on_a_worker_and_in_no_task),
		RIG_TEST(drop_of_a_refused_task_is_where_it_was_spawned, 1),
		RIG_TESTS(who_blocks_is_nowhere_while_workers_run_its_task),
		RIG_TEST(no_task_has_the_id_none, 1),
		cmocka_unit_test(
			who_drives_a_current_thread_runtime_is_its_worker),
		cmocka_unit_test(hooks_are_told_where_they_are),
		cmocka_unit_test(hooks_of_a_standby_thread_are_on_its_worker),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
