/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_lcore.h>

#include "rig.h"
#include "sched/scheduler.h"
#include "weir_null.h"

static struct weir_worker_stats
worker_stats(unsigned int worker)
{
	struct weir_worker_stats s;

	assert_int_equal(weir_worker_stats_get(rig.rt, worker, &s), 0);
	return s;
}

static uint64_t
ns(uint64_t cycles)
{
	return cycles * 1000000 / (rte_get_tsc_hz() / 1000);
}

static void
shut_down(void)
{
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
}

/* Spends until it must yield. */
static int
run_out_of_budget(struct weir_context *ctx, void *state)
{
	int rc;

	do {
		rc = weir_context_spend(ctx, 1);
	} while (rc == 0);
	return rig_get(&rig.go) ? WEIR_DONE : rc;
}

static const struct weir_task_ops greedy_ops = {
	.name = "greedy",
	.poll = run_out_of_budget,
};

/* Also of a runtime that is at work: they are the same figures. */
static void
sums_are_those_of_the_workers_shown(void **state)
{
	unsigned int n = weir_runtime_nb_workers(rig.rt), i, round;
	struct weir_worker_stats workers[3];
	struct weir_runtime_stats sum;
	struct weir_join *joins[4];

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = weir_task_spawn(rig.rt, &greedy_ops, NULL, NULL);
	for (round = 0; round < 100; round++) {
		uint64_t polls = 0, forced = 0;

		assert_int_equal(
			weir_runtime_snapshot(rig.rt, &sum, workers, n), n);
		for (i = 0; i < n; i++) {
			polls += workers[i].polls;
			forced += workers[i].forced_yields;
			assert_int_equal(weir_runtime_worker_of_lcore(
						 rig.rt, workers[i].lcore),
					 i);
		}
		assert_int_equal(sum.workers, n);
		assert_int_equal(sum.polls, polls);
		assert_int_equal(sum.forced_yields, forced);
		assert_int_equal(sum.live_tasks, RTE_DIM(joins));
		assert_int_equal(sum.spawned, RTE_DIM(joins));
	}
	rig_set(&rig.go, 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	shut_down();
	weir_runtime_stats_get(rig.rt, &sum);
	assert_int_equal(sum.live_tasks, 0);
	assert_int_equal(sum.polls, sum.forced_yields);
}

static void
snapshot_fills_no_more_than_there_is_room_for(void **state)
{
	struct weir_worker_stats workers[3];
	struct weir_runtime_stats sum;

	memset(workers, 0xff, sizeof(workers));
	assert_int_equal(weir_runtime_snapshot(rig.rt, &sum, workers, 2), 3);
	assert_int_not_equal(workers[1].lcore, UINT32_MAX);
	assert_int_equal(workers[2].lcore, UINT32_MAX);
	assert_int_equal(weir_runtime_snapshot(rig.rt, &sum, NULL, 0), 3);
	assert_int_equal(sum.workers, 3);
}

/* Their owners may have been preempted, and workers must not wait for us. */
static void
snapshot_needs_no_lock(void **state)
{
	struct cell_pools *cells = &rig.rt->nodes[0]->home.cells;
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_worker_stats worker;
	struct weir_runtime_stats sum;
	unsigned int i;

	/* All that there are in the way of who looks for tasks. */
	for (i = 0; i < CELL_CLASSES; i++)
		lock_acquire(&cells->depot[i].lock);
	lock_acquire(&cells->large_lock);
	assert_int_equal(weir_runtime_snapshot(rig.rt, &sum, &worker, 1), 1);
	lock_release(&cells->large_lock);
	for (i = 0; i < CELL_CLASSES; i++)
		lock_release(&cells->depot[i].lock);
	assert_int_equal(sum.live_tasks, 1);
	weir_waker_drop(rig_take_waker(&rig.waker));
	weir_join_detach(join);
}

static int
spawn_more_than_fit(struct weir_context *ctx, void *state)
{
	unsigned int i;

	for (i = 0; i < 4 * RUN_QUEUE_SIZE; i++)
		weir_join_detach(rig_spawn(weir_context_runtime(ctx),
					   &rig_done_ops, &rig.told));
	return WEIR_DONE;
}

static void
what_was_put_into_inject_queues_was_taken_from_them(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "spawner",
		.poll = spawn_more_than_fit,
	};
	unsigned int n = weir_runtime_nb_workers(rig.rt), i;
	uint64_t injected = 0, put = 0, spawned = 0;
	struct weir_runtime_stats sum;
	struct weir_node_stats node;

	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, NULL), 0);
	rig_wait_until(rig_get(&rig.log.drops) == 4 * RUN_QUEUE_SIZE);
	shut_down();
	for (i = 0; i < n; i++) {
		injected += worker_stats(i).injected;
		put += worker_stats(i).remote_schedules;
		spawned += worker_stats(i).spawned;
	}
	assert_int_equal(weir_node_stats_get(rig.rt, 0, &node), 0);
	assert_int_equal(node.outside_schedules, 1);
	assert_int_equal(spawned, 4 * RUN_QUEUE_SIZE);
	assert_int_equal(injected, put + 1);
	/* Some more than once: a full queue gives back what it has. */
	assert_true(put >= (n == 1 ? RUN_QUEUE_SIZE : 0));
	weir_runtime_stats_get(rig.rt, &sum);
	assert_int_equal(sum.remote_schedules, put + 1);
	assert_int_equal(sum.spawned, spawned + 1);
}

static void
node_says_what_is_in_it(void **state)
{
	unsigned int n = weir_runtime_nb_workers(rig.rt), i;
	struct weir_join *joins[5];
	struct weir_node_stats s;
	struct rig_blockers b;

	assert_int_equal(weir_node_stats_get(rig.rt, 1, &s), -EINVAL);
	rig_wait_until((weir_node_stats_get(rig.rt, 0, &s), s.parked == n));
	assert_int_equal(s.id, weir_lcore_node(1));
	assert_int_equal(s.workers, n);
	assert_int_equal(s.live_tasks, 0);
	assert_int_equal(s.outside_schedules, 0);
	rig_block(&b, rig.rt);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	assert_int_equal(weir_node_stats_get(rig.rt, 0, &s), 0);
	assert_int_equal(s.parked, 0);
	assert_int_equal(s.live_tasks, RTE_DIM(joins) + n);
	assert_int_equal(s.inject_depth, RTE_DIM(joins));
	assert_int_equal(s.outside_schedules, RTE_DIM(joins) + n);
	rig_unblock(&b);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
}

#define LONG_POLL 3000000u /* cycles */

static int
poll_for_long(struct weir_context *ctx, void *state)
{
	uint64_t since = rte_rdtsc();

	while (rte_rdtsc() - since < LONG_POLL)
		rte_pause();
	return WEIR_DONE;
}

static void
busy_is_the_time_of_tasks(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "long",
		.poll = poll_for_long,
	};
	unsigned int i, n = weir_runtime_nb_workers(rig.rt);
	uint64_t begin, took, busy = 0;

	rig_teardown(state);
	begin = rte_rdtsc();
	rig_setup(state);
	for (i = 0; i < 3; i++)
		assert_int_equal(
			weir_runtime_block_on(rig.rt, &ops, NULL, NULL), 0);
	shut_down();
	took = ns(rte_rdtsc() - begin);
	for (i = 0; i < n; i++) {
		assert_uint_in_range(worker_stats(i).busy_ns, 0, took + 10);
		busy += worker_stats(i).busy_ns;
	}
	assert_uint_in_range(busy, ns(3 * LONG_POLL) - 10, n * (took + 10));
}

/* So many more rounds over the sources, which a parked worker does not count. */
static struct weir_worker_stats
after_polls(uint64_t polls)
{
	uint64_t before = worker_stats(0).source_polls;
	struct weir_worker_stats s;

	rig_wait_until((s = worker_stats(0)).source_polls > before + polls);
	return s;
}

static void
wait_parked(void)
{
	struct weir_node_stats node;

	rig_wait_until(
		(weir_node_stats_get(rig.rt, 0, &node), node.parked == 1));
}

static void
parked_worker_is_not_busy(void **state)
{
	struct weir_worker_stats before, after;
	uint64_t begin;

	wait_parked();
	before = after_polls(100);
	begin = rte_rdtsc();
	/* Longer than the rest of the test is likely to take. */
	rig_wait_until(rte_rdtsc() - begin > rte_get_tsc_hz() / 5);
	/* What is counted next begins with its last poll before it gets up. */
	begin = rte_rdtsc();
	after = after_polls(100);
	assert_int_equal(after.parks, before.parks);
	assert_int_equal(after.busy_ns, before.busy_ns);
	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_done_ops, &rig.told, NULL),
		0);
	rig_wait_until(worker_stats(0).parks > before.parks);
	wait_parked();
	after = after_polls(100);
	assert_uint_in_range(after.busy_ns - before.busy_ns, 1,
			     ns(rte_rdtsc() - begin));
}

void
__real_weir__pause(bool save_power, uint64_t until);
void
__wrap_weir__pause(bool save_power, uint64_t until);

static struct atomic_u32 pauses_last; /* until this is 0 */
static struct atomic_u32 pausing;

void
__wrap_weir__pause(bool save_power, uint64_t until)
{
	if (!rig_get(&pauses_last)) {
		__real_weir__pause(save_power, until);
		return;
	}
	rig_add(&pausing, 1);
	rig_wait_until(!rig_get(&pauses_last));
}

/* Both have been parked and counted again. */
static uint64_t
busy_of_two(void)
{
	uint64_t polls[2], busy = 0;
	struct weir_node_stats node;
	unsigned int i;

	rig_wait_until(
		(weir_node_stats_get(rig.rt, 0, &node), node.parked == 2));
	for (i = 0; i < 2; i++)
		polls[i] = worker_stats(i).source_polls;
	for (i = 0; i < 2; i++) {
		rig_wait_until(worker_stats(i).source_polls > polls[i] + 1);
		busy += worker_stats(i).busy_ns;
	}
	return busy;
}

/*
 * It is told in a pause, and polls no more before it gets up. Beside the pauses the
 * workers may be kept from their CPUs, which counts as busy.
 */
static void
pause_of_who_is_woken_is_not_busy(void **state)
{
	const uint64_t long_pause = rte_get_tsc_hz() / 5;
	uint64_t before, since, begin, paused, busy, beside;
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(
			weir_worker_park_set(rig.rt, i, WEIR_PARK_PAUSE), 0);
	since = rte_rdtsc();
	before = busy_of_two();
	rig_set(&pausing, 0);
	rig_set(&pauses_last, 1);
	rig_wait_until(rig_get(&pausing) == 2);
	begin = rte_rdtsc();
	join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	rig_wait_until(rte_rdtsc() - begin > long_pause);
	paused = rte_rdtsc() - begin;
	rig_set(&pauses_last, 0);
	assert_int_equal(rig_join(join, NULL), 0);
	busy = busy_of_two() - before;
	beside = rte_rdtsc() - since - paused;
	assert_uint_in_range(busy, 1, ns(2 * beside));
}

static int
sleep_long(struct weir_context *ctx, void *state)
{
	rig_add(&rig.log.polls, 1);
	return weir_sleep(ctx, state, UINT64_C(20000000000));
}

static const struct weir_task_ops sleep_long_ops = {
	.name = "sleep_long",
	.state_size = sizeof(struct weir_sleep),
	.poll = sleep_long,
	.drop = (void (*)(void *))weir_sleep_cancel,
};

/* A timer that comes nearer moves in the wheel, and wakes nobody. */
static void
parked_worker_that_moves_timers_is_busy(void **state)
{
	struct weir_worker_stats before, after;
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	join = weir_task_spawn(rig.rt, &sleep_long_ops, NULL, NULL);
	assert_non_null(join);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	wait_parked();
	before = after_polls(100);
	assert_int_equal(weir_clock_advance(rig.rt, UINT64_C(19999000000)), 0);
	after = after_polls(100);
	assert_int_equal(after.parks, before.parks);
	assert_true(after.busy_ns > before.busy_ns);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
}

static void
worker_that_never_parks_is_counted_meanwhile(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_yield_ops, &rig.told);
	uint64_t before;
	unsigned int i;

	rig_wait_until(rig_get(&rig.log.polls) > 0);
	for (i = 0; i < 10; i++) {
		before = worker_stats(0).busy_ns;
		rig_wait_until(worker_stats(0).busy_ns > before);
	}
	rig_set(&rig.go, 1);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* Takes events until it has had `polls` of them. */
static int
take_events(struct weir_context *ctx, void *state)
{
	struct weir_null *null = *(struct weir_null **)state;
	int n;

	while (rig_get(&rig.log.polls) < 30) {
		n = weir_null_recv(ctx, null);
		if (n < 0)
			return n;
		rig_add(&rig.log.polls, n);
	}
	return WEIR_DONE;
}

static void
rounds_that_find_nothing_are_empty(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "taker",
		.state_size = sizeof(struct weir_null *),
		.poll = take_events,
	};
	struct weir_null *null = weir_null_create(rig.rt, 0);
	struct weir_source_stats source;
	struct weir_worker_stats s;
	struct weir_join *join;
	unsigned int i;

	join = weir_task_spawn(rig.rt, &ops, &null, NULL);
	for (i = 1; i <= 30; i++) {
		rig_wait_until(
			(weir_source_stats_get(weir_null_source(null), &source),
			 source.polls > 0));
		weir_null_post(null, 1);
		rig_wait_until(rig_get(&rig.log.polls) == i);
	}
	assert_int_equal(rig_join(join, NULL), 0);
	weir_source_stats_get(weir_null_source(null), &source);
	weir_null_free(null);
	shut_down();
	s = worker_stats(0);
	assert_uint_in_range(source.events, 1, 30);
	assert_int_equal(s.source_events, source.events);
	assert_int_equal(s.source_polls - s.empty_polls, source.events);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(sums_are_those_of_the_workers_shown),
		RIG_TEST(snapshot_fills_no_more_than_there_is_room_for, 3),
		RIG_TEST(snapshot_needs_no_lock, 1),
		RIG_TESTS(what_was_put_into_inject_queues_was_taken_from_them),
		RIG_TESTS(node_says_what_is_in_it),
		RIG_TESTS(busy_is_the_time_of_tasks),
		RIG_TEST(parked_worker_is_not_busy, 1),
		RIG_TEST(pause_of_who_is_woken_is_not_busy, 2),
		RIG_TEST(parked_worker_that_moves_timers_is_busy, 1),
		RIG_TEST(worker_that_never_parks_is_counted_meanwhile, 1),
		RIG_TEST(rounds_that_find_nothing_are_empty, 1),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
