/* SPDX-License-Identifier: BSD-3-Clause */

/* Who runs when, on one worker. */

#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "queue/inject.h"
#include "rig.h"
#include "sched/scheduler.h"

#define MAX_TRACE 64

/* The order in which tasks were polled, by their numbers. */
struct trace {
	unsigned int order[MAX_TRACE];
	unsigned int n;
	struct weir_waker *wakers[8];
	struct weir_join *awaited;
	struct atomic_u32 waiting;
	struct atomic_u32 stop;
	struct weir_join *aside;
};

static struct trace trace;

struct tracer {
	unsigned int number;
	unsigned int polls;
	unsigned int spend;
	unsigned int spent;
};

static void
start(bool lifo_slot, unsigned int budget)
{
	struct weir_options o;

	memset(&trace, 0, sizeof(trace));
	rig_options(&o, 1);
	o.lifo_slot = lifo_slot;
	o.budget = budget;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
}

static void
free_runtime(void)
{
	rig_runtime_free(rig.rt);
	rig.rt = NULL;
}

static void
note(const struct tracer *t)
{
	if (trace.n < MAX_TRACE)
		trace.order[trace.n++] = t->number;
}

static void
expect_order(const unsigned int *order, unsigned int n)
{
	unsigned int i;

	assert_int_equal(trace.n, n);
	for (i = 0; i < n; i++)
		assert_int_equal(trace.order[i], order[i]);
}
#define expect_order(...)                                   \
	expect_order((const unsigned int[]){ __VA_ARGS__ }, \
		     RTE_DIM(((const unsigned int[]){ __VA_ARGS__ })))

static struct weir_join *
spawn(int (*poll)(struct weir_context *, void *), unsigned int number,
      unsigned int spend)
{
	/* One for each poll function; they must outlive the tasks. */
	static struct weir_task_ops ops[16];
	struct tracer t = { .number = number, .spend = spend };
	unsigned int i;

	for (i = 0; ops[i].poll != NULL && ops[i].poll != poll; i++)
		;
	/* Tasks read those that are there already. */
	if (ops[i].poll == NULL)
		ops[i] = (struct weir_task_ops){
			.name = "tracer",
			.state_size = sizeof(t),
			.poll = poll,
			.result_offset = offsetof(struct tracer, spent),
			.result_size = sizeof(t.spent),
		};
	return weir_task_spawn(rig.rt, &ops[i], &t, NULL);
}

static int
plain(struct weir_context *ctx, void *state)
{
	note(state);
	return WEIR_DONE;
}

/* Waits once, and not in the trace; then spends what it can get. */
static int
wait_once(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;

	if (t->polls++ == 0) {
		trace.wakers[t->number] = weir_context_waker(ctx);
		rig_add(&trace.waiting, 1);
		return WEIR_PENDING;
	}
	note(t);
	while (t->spent < t->spend && weir_context_spend(ctx, 1) == 0)
		t->spent++;
	return WEIR_DONE;
}

/* Spends, and wakes tasks 1 and 2 in this order. */
static int
wake_both(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;
	unsigned int i;

	note(t);
	weir_context_spend(ctx, t->spend);
	for (i = 1; i <= 2; i++)
		if (trace.wakers[i] != NULL)
			weir_waker_wake(trace.wakers[i]);
	return WEIR_DONE;
}

static void
wake_two_beside_another(void)
{
	struct weir_join *joins[4];
	struct rig_blockers b;
	unsigned int i;

	joins[1] = spawn(wait_once, 1, 0);
	joins[2] = spawn(wait_once, 2, 0);
	rig_wait_until(rig_get(&trace.waiting) == 2);
	rig_block(&b, rig.rt);
	joins[0] = spawn(wake_both, 0, 0);
	joins[3] = spawn(plain, 3, 0);
	rig_unblock(&b);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
}

static void
task_woken_last_runs_next(void **state)
{
	start(true, 128);
	wake_two_beside_another();
	expect_order(0, 2, 3, 1);
	free_runtime();
}

static int
nothing(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

/* Awaits task 0. */
static int
await_first(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;
	int rc;

	if (t->polls++ == 0)
		rig_add(&trace.waiting, 1);
	rc = weir_join_poll(ctx, trace.awaited, NULL);
	if (rc < 0)
		return rc;
	note(t);
	return WEIR_DONE;
}

/* H4 */
static void
waiter_of_a_queued_task_takes_its_turn(void **state)
{
	struct weir_join *waiter, *other;
	struct rig_blockers b;

	start(true, 128);
	trace.awaited = spawn(wait_once, 0, 0);
	rig_wait_until(rig_get(&trace.waiting) == 1);
	waiter = spawn(await_first, 1, 0);
	rig_wait_until(rig_get(&trace.waiting) == 2);
	rig_block(&b, rig.rt);
	weir_waker_wake(trace.wakers[0]);
	other = spawn(plain, 2, 0);
	rig_unblock(&b);
	assert_int_equal(rig_join(waiter, NULL), 0);
	assert_int_equal(rig_join(other, NULL), 0);
	expect_order(0, 2, 1);
	free_runtime();
}

/* Spawns task 1 behind another and awaits it. */
static int
call(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;
	int rc;

	if (t->polls++ == 0) {
		trace.aside = spawn(plain, 2, 0);
		trace.awaited = spawn(plain, 1, 0);
	}
	rc = weir_join_poll(ctx, trace.awaited, NULL);
	if (rc < 0)
		return rc;
	note(t);
	return WEIR_DONE;
}

/* H4 */
static void
waiter_of_a_task_from_the_slot_runs_next(void **state)
{
	start(true, 128);
	assert_int_equal(rig_join(spawn(call, 0, 0), NULL), 0);
	assert_int_equal(rig_join(trace.aside, NULL), 0);
	expect_order(1, 0, 2);
	free_runtime();
}

/* Spawns one and awaits it, behind which it is resumed. */
static int
call_nothing(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;

	if (t->polls++ == 0)
		trace.awaited = spawn(nothing, 0, 0);
	return weir_join_poll(ctx, trace.awaited, NULL);
}

#define CHILDREN 100

/* Spawns many and awaits each; number: whether they call others. */
static int
fan_in(struct weir_context *ctx, void *state)
{
	static struct weir_join *children[CHILDREN];
	static unsigned int next;
	struct tracer *t = state;
	int rc = 0;

	if (t->polls++ == 0)
		for (next = 0; next < CHILDREN; next++)
			children[next] =
				spawn(t->number ? call_nothing : nothing, 0, 0);
	while (next > 0 && rc == 0) {
		rc = weir_join_poll(ctx, children[CHILDREN - next], NULL);
		next -= rc == 0;
	}
	t->spent = t->polls;
	return rc;
}

/* H4 */
static void
who_awaits_many_gets_few_turns(void **state)
{
	unsigned int polls, i;

	for (i = 0; i < 2; i++) {
		start(true, 2 * CHILDREN);
		assert_int_equal(rig_join(spawn(fan_in, i, 0), &polls), 0);
		assert_uint_in_range(polls, 1, 3);
		free_runtime();
	}
}

static void
without_the_slot_every_task_waits_its_turn(void **state)
{
	start(false, 128);
	wake_two_beside_another();
	expect_order(0, 3, 1, 2);
	free_runtime();
}

/* Spends in task 0, of 20; returns what the task it wakes could spend. */
static uint32_t
spend_then_wake(unsigned int spend)
{
	struct weir_join *first, *second;
	uint32_t spent = 0;

	start(true, 20);
	second = spawn(wait_once, 1, 1000);
	rig_wait_until(rig_get(&trace.waiting) == 1);
	first = spawn(wake_both, 0, spend);
	assert_int_equal(rig_join(second, &spent), 0);
	assert_int_equal(rig_join(first, NULL), 0);
	free_runtime();
	return spent;
}

static void
slot_runs_inside_the_same_budget(void **state)
{
	assert_int_equal(spend_then_wake(0), 20);
	assert_int_equal(spend_then_wake(13), 7);
	/* Nothing is left: it waits its turn and has all of it. */
	assert_int_equal(spend_then_wake(20), 20);
	assert_int_equal(spend_then_wake(21), 20);
}

/* Tasks 0 and 1 wake each other until they are told to stop. */
static int
ping_pong(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;
	struct weir_waker *other = trace.wakers[1 - t->number];

	note(t);
	trace.wakers[1 - t->number] = NULL;
	trace.wakers[t->number] = weir_context_waker(ctx);
	if (other != NULL)
		weir_waker_wake(other);
	return rig_get(&trace.stop) ? WEIR_DONE : WEIR_PENDING;
}

static int
stop_all(struct weir_context *ctx, void *state)
{
	note(state);
	rig_set(&trace.stop, 1);
	return WEIR_DONE;
}

/* L2 */
static void
pair_in_the_slot_does_not_starve_others(void **state)
{
	struct weir_join *joins[3];
	struct rig_blockers b;
	unsigned int i;

	start(true, 65535);
	rig_block(&b, rig.rt);
	joins[0] = spawn(ping_pong, 0, 0);
	joins[1] = spawn(ping_pong, 1, 0);
	joins[2] = spawn(stop_all, 2, 0);
	rig_unblock(&b);
	assert_int_equal(rig_join(joins[2], NULL), 0);
	assert_int_equal(rig_join(joins[0], NULL), 0);
	assert_int_equal(rig_join(joins[1], NULL), 0);
	/* After task 1, the slot wins LIFO_MAX_POLLS times. */
	for (i = 0; i < 2 + LIFO_MAX_POLLS; i++)
		assert_int_equal(trace.order[i], i % 2);
	assert_int_equal(trace.order[i], 2);
	weir_waker_drop(trace.wakers[0]);
	weir_waker_drop(trace.wakers[1]);
	free_runtime();
}

static int
yield_twice(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;

	note(t);
	return t->polls++ < 2 ? weir_context_yield(ctx) : WEIR_DONE;
}

static void
yielding_tasks_take_turns(void **state)
{
	struct weir_join *joins[3];
	struct rig_blockers b;
	unsigned int i;

	start(true, 128);
	rig_block(&b, rig.rt);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = spawn(yield_twice, i, 0);
	rig_unblock(&b);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	expect_order(0, 1, 2, 0, 1, 2, 0, 1, 2);
	free_runtime();
}

/* Spends one at a time, to the end of each of three budgets. */
static int
spend_all(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;

	note(t);
	if (t->polls++ == 3)
		return WEIR_DONE;
	while (weir_context_spend(ctx, 1) == 0)
		t->spent++;
	return WEIR_PENDING;
}

static void
empty_budget_makes_a_task_yield(void **state)
{
	struct weir_worker_stats stats;
	struct weir_join *joins[2];
	struct rig_blockers b;
	uint32_t spent[2];

	start(true, 17);
	rig_block(&b, rig.rt);
	joins[0] = spawn(spend_all, 0, 0);
	joins[1] = spawn(plain, 1, 0);
	rig_unblock(&b);
	assert_int_equal(rig_join(joins[0], &spent[0]), 0);
	assert_int_equal(rig_join(joins[1], &spent[1]), 0);
	assert_int_equal(spent[0], 3 * 17);
	expect_order(0, 1, 0, 0, 0);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(weir_worker_stats_get(rig.rt, 0, &stats), 0);
	assert_int_equal(stats.forced_yields, 3);
	free_runtime();
}

static void
spending_more_than_is_left_spends_it_all(void **state)
{
	/* 13 of 20 in one, and then more than there is. */
	struct task *task = rig_tasks(1);
	struct atomic_u64 forced_yields = { 0 };
	struct weir_context ctx = { .task = { task },
				    .budget = 20,
				    .forced_yields = &forced_yields };

	assert_int_equal(weir_context_spend(&ctx, 13), 0);
	assert_int_equal(weir_context_spend(&ctx, 100), 0);
	assert_int_equal(ctx.asked, 0);
	assert_int_equal(weir_context_spend(&ctx, 0), WEIR_PENDING);
	assert_int_equal(weir_context_spend(&ctx, 1), WEIR_PENDING);
	assert_int_equal(ctx.asked, ASKED_YIELD | ASKED_OUT_OF_BUDGET);
	assert_int_equal(atomic_u64_load(&forced_yields, RELAXED), 1);
	free(task);
}

/*
 * Hogs fill the run queue, and a thread keeps one of the other queues from ever
 * being empty when a hog has run. A task in the third must be run all the same.
 */
#define HOGS 3
#define HOG_POLLS 3000u

static struct atomic_u32 hog_polls;
/* Set once the task that is put aside is there. */
static struct atomic_u32 hog_limit;
/* Entries of the queue that is never to be empty. */
static unsigned int (*nb_fed)(void);

static unsigned int
nb_injected(void)
{
	return weir__inject_len(&rig.rt->nodes[0]->inject);
}

static unsigned int
nb_in_inbox(void)
{
	return weir__inbox_len(&rig.rt->workers[0]->inbox);
}

static bool
hogs_are_over(void)
{
	return rig_get(&trace.stop) ||
	       rig_get(&hog_polls) > rig_get(&hog_limit);
}

static int
hog(struct weir_context *ctx, void *state)
{
	rig_wait_until(nb_fed() > 0 || hogs_are_over());
	rig_add(&hog_polls, 1);
	if (hogs_are_over())
		return WEIR_DONE;
	/* Into the run queue at once; who yields waits for maintenance. */
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static void *
feed(void *arg)
{
	const struct weir_spawn_attr *attr = arg;
	const struct tracer t = { .number = 7 };
	static const struct weir_task_ops ops = {
		.name = "food",
		.state_size = sizeof(t),
		.poll = plain,
	};

	rig_wait_until(hogs_are_over() ||
		       (nb_fed() == 0 && (weir_join_detach(weir_task_spawn(
						  rig.rt, &ops, &t, attr)),
					  false)));
	return NULL;
}

/* How many polls the hogs had until the task that was put aside has ended. */
static unsigned int
polls_beside_hogs(const struct weir_task_ops *ops,
		  const struct weir_spawn_attr *attr,
		  const struct weir_spawn_attr *food)
{
	struct weir_join *hogs[HOGS], *aside;
	struct tracer t = { .number = 1 };
	struct rig_blockers b;
	pthread_t feeder;
	unsigned int i, before;

	rig_set(&hog_polls, 0);
	rig_set(&hog_limit, UINT32_MAX);
	rig_block(&b, rig.rt);
	for (i = 0; i < HOGS; i++)
		hogs[i] = spawn(hog, 0, 0);
	assert_int_equal(
		pthread_create(&feeder, NULL, feed, (void *)(uintptr_t)food),
		0);
	rig_unblock(&b);
	rig_wait_until(rig_get(&hog_polls) > 2 * HOGS);
	aside = weir_task_spawn(rig.rt, ops, &t, attr);
	before = rig_get(&hog_polls);
	rig_set(&hog_limit, before + HOG_POLLS);
	assert_int_equal(rig_join(aside, NULL), 0);
	for (i = 0; i < HOGS; i++)
		assert_int_equal(rig_join(hogs[i], NULL), 0);
	pthread_join(feeder, NULL);
	return rig_get(&hog_polls) - before;
}

static void
start_interval(unsigned int inject_interval)
{
	struct weir_options o;

	memset(&trace, 0, sizeof(trace));
	rig_options(&o, 1);
	o.inject_interval = inject_interval;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
}

/* Yields, so that it is in the local chain, and then ends all. */
static int
yield_and_stop(struct weir_context *ctx, void *state)
{
	struct tracer *t = state;

	return t->polls++ < 5 ? weir_context_yield(ctx) : stop_all(ctx, state);
}

static const struct weir_spawn_attr bound = {
	.affinity = WEIR_AFFINITY_WORKER,
	.worker = 0,
};

/* L2 */
static void
bound_task_runs_beside_full_queues(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "aside",
		.state_size = sizeof(struct tracer),
		.poll = yield_and_stop,
	};
	unsigned int interval, polls, worst = 0;

	for (interval = 2; interval <= 5; interval++) {
		start_interval(interval);
		nb_fed = nb_injected;
		polls = polls_beside_hogs(&ops, &bound, NULL);
		print_message("# interval %u: after %u polls\n", interval,
			      polls);
		worst = RTE_MAX(worst, polls);
		free_runtime();
	}
	assert_uint_in_range(worst, 0, HOG_POLLS);
}

/* L2 */
static void
outside_task_runs_beside_a_full_inbox(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "aside",
		.state_size = sizeof(struct tracer),
		.poll = stop_all,
	};
	unsigned int interval, polls, worst = 0;

	for (interval = 2; interval <= 5; interval++) {
		start_interval(interval);
		nb_fed = nb_in_inbox;
		polls = polls_beside_hogs(&ops, NULL, &bound);
		print_message("# interval %u: after %u polls\n", interval,
			      polls);
		worst = RTE_MAX(worst, polls);
		free_runtime();
	}
	assert_uint_in_range(worst, 0, HOG_POLLS);
}

#define TEST(name) cmocka_unit_test_teardown(name, rig_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(task_woken_last_runs_next),
		TEST(waiter_of_a_queued_task_takes_its_turn),
		TEST(waiter_of_a_task_from_the_slot_runs_next),
		TEST(who_awaits_many_gets_few_turns),
		TEST(without_the_slot_every_task_waits_its_turn),
		TEST(slot_runs_inside_the_same_budget),
		TEST(pair_in_the_slot_does_not_starve_others),
		TEST(yielding_tasks_take_turns),
		TEST(empty_budget_makes_a_task_yield),
		TEST(spending_more_than_is_left_spends_it_all),
		TEST(bound_task_runs_beside_full_queues),
		TEST(outside_task_runs_beside_a_full_inbox),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
