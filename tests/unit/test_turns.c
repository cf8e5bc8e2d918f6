/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How many polls of others a task waits for at most, on one worker: the bounds of
 * worker.c, L2, for each place that a task can wait in.
 */

#include "unit.h"

#include <pthread.h>
#include <string.h>

#include "queue/inject.h"
#include "rig.h"
#include "sched/scheduler.h"

static struct weir_runtime *rt;
static const struct inject *fed;

static void
start(unsigned int inject_interval)
{
	struct weir_options o;

	rig_options(&o, 1);
	o.inject_interval = inject_interval;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	fed = &rt->nodes[0]->inject;
}

/* A thread that spawns. */
static pthread_t spawner;
static bool spawner_runs;

static void
start_spawner(void *(*thread_main)(void *arg))
{
	assert_int_equal(pthread_create(&spawner, NULL, thread_main, NULL), 0);
	spawner_runs = true;
}

static void
await_spawner(void)
{
	if (spawner_runs)
		pthread_join(spawner, NULL);
	spawner_runs = false;
}

/* Of the tasks of a test. */
static struct weir_join *joins[3];

static void
join_all(void)
{
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++) {
		join = joins[i];
		joins[i] = NULL;
		if (join != NULL)
			assert_int_equal(rig_join(join, NULL), 0);
	}
}

/*
 * Which queue had its turn: two tasks that wake themselves are always in the run
 * queue, one that is bound and does the same in the local chain, and a thread
 * sees to it that something is in the inject queue before each poll ends.
 */
enum turn {
	FROM_QUEUE,
	FROM_CHAIN,
	FROM_INJECT,
	TURNS
};

#define TURN_POLLS 400u

static struct {
	uint32_t polls;
	uint32_t last[TURNS]; /* the poll of its last turn */
	uint32_t longest[TURNS];
	struct atomic_u32 fed;
	struct atomic_u32 over;
} turns;

/* One poll, which ends with all three queues filled. */
static void
note_turn(enum turn turn)
{
	uint32_t wait = turns.polls - turns.last[turn];

	/* From there on they need not all be filled. */
	if (rig_get(&turns.over))
		return;
	/* Before that, they were not all filled. */
	if (turns.last[FROM_QUEUE] > 0 && turns.last[FROM_CHAIN] > 0 &&
	    turns.last[FROM_INJECT] > 0)
		turns.longest[turn] = RTE_MAX(turns.longest[turn], wait);
	turns.last[turn] = ++turns.polls;
	if (turns.polls >= TURN_POLLS)
		rig_set(&turns.over, 1);
	rig_wait_until(weir__inject_len(fed) > 0 || rig_get(&turns.over));
}

static int
take_turns(struct weir_context *ctx, void *state)
{
	note_turn(*(enum turn *)state);
	if (rig_get(&turns.over))
		return WEIR_DONE;
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static int
take_one_turn(struct weir_context *ctx, void *state)
{
	note_turn(FROM_INJECT);
	return WEIR_DONE;
}

static const struct weir_task_ops turn_ops = {
	.name = "turn",
	.state_size = sizeof(enum turn),
	.poll = take_turns,
};

static void *
feed_turns(void *arg)
{
	static const struct weir_task_ops ops = {
		.name = "food",
		.poll = take_one_turn,
	};

	/* One at a time: of several the worker would queue all but the first. */
	rig_wait_until(
		rig_get(&turns.over) ||
		(weir__inject_len(fed) == 0 &&
		 (weir_join_detach(weir_task_spawn(rt, &ops, NULL, NULL)),
		  false)));
	return NULL;
}

/* The most polls of others between two turns of each queue. */
static void
measure_turns(unsigned int inject_interval)
{
	const struct weir_spawn_attr bound = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	const enum turn queue = FROM_QUEUE, chain = FROM_CHAIN;
	struct rig_blockers b;

	memset(&turns, 0, sizeof(turns));
	start(inject_interval);
	rig_block(&b, rt);
	joins[0] = weir_task_spawn(rt, &turn_ops, &queue, NULL);
	joins[1] = weir_task_spawn(rt, &turn_ops, &queue, NULL);
	joins[2] = weir_task_spawn(rt, &turn_ops, &chain, &bound);
	rig_unblock(&b);
	/* Its tasks are polled only after this. */
	start_spawner(feed_turns);
	join_all();
	await_spawner();
	rig_runtime_end(&rt);
}

static const unsigned int intervals[] = { 2, 3, 7, 61 };

/* L2 */
static void
inject_queue_has_a_turn_every_interval(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(intervals); i++) {
		measure_turns(intervals[i]);
		assert_int_equal(turns.longest[FROM_INJECT], intervals[i] - 1);
	}
}

/* L2: every other turn that is not the inject queue's, which has every second. */
static void
own_queues_have_a_turn_every_four_polls(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(intervals); i++) {
		measure_turns(intervals[i]);
		assert_uint_in_range(turns.longest[FROM_QUEUE], 1, 3);
		assert_uint_in_range(turns.longest[FROM_CHAIN], 1, 3);
	}
	/* Which is how long it is at worst. */
	measure_turns(2);
	assert_int_equal(turns.longest[FROM_CHAIN], 3);
}

/* A pair in the slot, while a thread spawns one task from outside. */
static struct {
	uint32_t polls;
	uint32_t spawn_at;
	uint32_t waited;
	struct weir_waker *wakers[2];
	struct atomic_u32 wanted; /* spawn now */
	struct atomic_u32 stop;
} beside;

static int
ran_beside(struct weir_context *ctx, void *state)
{
	beside.waited = beside.polls - beside.spawn_at;
	rig_set(&beside.stop, 1);
	return WEIR_DONE;
}

/* Wakes the other; at one of the polls, once that task is in the queue. */
static int
ping_pong(struct weir_context *ctx, void *state)
{
	unsigned int me = *(unsigned int *)state;
	struct weir_waker *other = beside.wakers[1 - me];

	if (++beside.polls == beside.spawn_at) {
		rig_set(&beside.wanted, 1);
		rig_wait_until(weir__inject_len(fed) > 0);
	}
	beside.wakers[1 - me] = NULL;
	beside.wakers[me] = weir_context_waker(ctx);
	if (other != NULL)
		weir_waker_wake(other);
	return rig_get(&beside.stop) ? WEIR_DONE : WEIR_PENDING;
}

static void *
spawn_when_wanted(void *arg)
{
	static const struct weir_task_ops ops = {
		.name = "beside",
		.poll = ran_beside,
	};

	rig_wait_until(rig_get(&beside.wanted));
	weir_join_detach(weir_task_spawn(rt, &ops, NULL, NULL));
	return NULL;
}

static void
drop_wakers(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		weir_waker_drop(beside.wakers[i]);
		beside.wakers[i] = NULL;
	}
}

/* How long a task that comes at that poll of the pair waits for its own. */
static uint32_t
wait_beside_a_pair(unsigned int inject_interval, uint32_t spawn_at)
{
	static const struct weir_task_ops ops = {
		.name = "ping pong",
		.state_size = sizeof(unsigned int),
		.poll = ping_pong,
	};
	unsigned int i;

	memset(&beside, 0, sizeof(beside));
	beside.spawn_at = spawn_at;
	start(inject_interval);
	start_spawner(spawn_when_wanted);
	for (i = 0; i < 2; i++)
		joins[i] = weir_task_spawn(rt, &ops, &i, NULL);
	join_all();
	await_spawner();
	drop_wakers();
	rig_runtime_end(&rt);
	return beside.waited;
}

/* L2: each tick is one turn of a queue, and then so many of the slot. */
static void
slot_makes_turns_longer_by_its_polls(void **state)
{
	const unsigned int tick = 1 + LIFO_MAX_POLLS;
	unsigned int i, k, interval;

	for (i = 0; i < 2; i++) {
		interval = intervals[i];
		/* Wherever in the rounds of slot and interval it comes. */
		for (k = 0; k < interval * tick; k++)
			assert_uint_in_range(
				wait_beside_a_pair(interval, 100 + k), 0,
				(interval - 1) * tick + LIFO_MAX_POLLS);
	}
}

/* A test that has failed leaves a runtime, and who spawns there. */
static int
teardown(void **state)
{
	unsigned int i;

	rig_set(&turns.over, 1);
	rig_set(&beside.stop, 1);
	rig_set(&beside.wanted, 1);
	await_spawner();
	for (i = 0; i < RTE_DIM(joins); i++) {
		weir_join_detach(joins[i]);
		joins[i] = NULL;
	}
	weir_runtime_free(rt);
	rt = NULL;
	/* Its tasks have left them by now. */
	drop_wakers();
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inject_queue_has_a_turn_every_interval),
		TEST(own_queues_have_a_turn_every_four_polls),
		TEST(slot_makes_turns_longer_by_its_polls),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
