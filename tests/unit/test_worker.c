/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_lcore.h>

#include "rig.h"
#include "sched/scheduler.h"
#include "weir_null.h"

/* Sums over all workers. */
struct totals {
	uint64_t polls;
	uint64_t steals;
	uint64_t steal_ops;
	uint64_t overflows;
	uint64_t injected;
	uint64_t rescues;
	uint64_t source_events;
};

static void
sum_up(struct totals *sum)
{
	struct weir_worker_stats s;
	unsigned int i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < weir_runtime_nb_workers(rig.rt); i++) {
		assert_int_equal(weir_worker_stats_get(rig.rt, i, &s), 0);
		sum->polls += s.polls;
		sum->steals += s.steals;
		sum->steal_ops += s.steal_ops;
		sum->overflows += s.overflows;
		sum->injected += s.injected;
		sum->rescues += s.rescues;
		sum->source_events += s.source_events;
	}
}

/* Tasks that others have taken from this worker. */
static uint64_t
stolen_from(unsigned int victim)
{
	unsigned int n = weir_runtime_nb_workers(rig.rt), thief;
	uint64_t sum = 0;

	for (thief = 0; thief < n; thief++)
		sum += weir_worker_steals_from(rig.rt, thief, victim);
	return sum;
}

static uint64_t
steal_matrix(void)
{
	unsigned int n = weir_runtime_nb_workers(rig.rt), victim;
	uint64_t sum = 0;

	for (victim = 0; victim < n; victim++)
		sum += stolen_from(victim);
	return sum;
}

static void
shut_down(void)
{
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
}

/* Spawns `n` tasks that are done at once, and stays until `wait_for` were. */
struct spawner {
	unsigned int n;
	unsigned int wait_for;
};

static int
spawn_many(struct weir_context *ctx, void *state)
{
	struct spawner *s = state;
	unsigned int i;

	for (i = 0; i < s->n; i++)
		weir_join_detach(weir_task_spawn(weir_context_runtime(ctx),
						 &rig_done_ops, &rig.told,
						 NULL));
	rig_wait_until(rig_get(&rig.log.drops) >= s->wait_for);
	return WEIR_DONE;
}

static const struct weir_task_ops spawner_ops = {
	.name = "spawner",
	.state_size = sizeof(struct spawner),
	.poll = spawn_many,
};

/* The last one is in the LIFO slot, which nobody steals. */
static void
tasks_of_a_stuck_worker_are_stolen(void **state)
{
	struct spawner s = { .n = 21, .wait_for = 20 };
	struct totals sum;

	assert_int_equal(weir_runtime_block_on(rig.rt, &spawner_ops, &s, NULL),
			 0);
	rig_wait_until(rig_get(&rig.log.drops) == s.n);
	shut_down();
	sum_up(&sum);
	assert_uint_in_range(sum.steals, 20, UINT32_MAX);
	assert_int_equal(sum.steals, steal_matrix());
	assert_uint_in_range(sum.steal_ops, 1, sum.steals);
}

static void
ten_thousand_tasks_of_one_task_all_run(void **state)
{
	struct spawner s = { .n = 10000 };
	struct weir_runtime_stats stats;
	struct totals sum;

	assert_int_equal(weir_runtime_block_on(rig.rt, &spawner_ops, &s, NULL),
			 0);
	rig_wait_until(rig_get(&rig.log.drops) == s.n);
	shut_down();
	rig_expect_log(s.n, s.n, s.n);
	sum_up(&sum);
	weir_runtime_stats_get(rig.rt, &stats);
	assert_int_equal(sum.polls, s.n + 1);
	assert_int_equal(stats.spawned, s.n + 1);
	assert_int_equal(stats.live_tasks, 0);
	assert_int_equal(stats.inject_depth, 0);
	assert_uint_in_range(sum.overflows,
			     weir_runtime_nb_workers(rig.rt) == 1, s.n);
}

#define MEETINGS 60

struct meeting {
	struct atomic_u32 *present;
	unsigned int quorum;
	bool spawned;
};

static int
meet(struct weir_context *ctx, void *state)
{
	struct meeting *m = state;

	rig_add(m->present, 1);
	rig_wait_until(rig_get(m->present) >= m->quorum);
	return WEIR_DONE;
}

static const struct weir_task_ops meet_ops = {
	.name = "meet",
	.state_size = sizeof(struct meeting),
	.poll = meet,
};

static int
call_meeting(struct weir_context *ctx, void *state)
{
	const struct meeting *m = state;
	unsigned int i;

	for (i = 0; i < m->quorum; i++)
		weir_join_detach(weir_task_spawn(weir_context_runtime(ctx),
						 &meet_ops, m, NULL));
	return WEIR_DONE;
}

static void
as_many_tasks_run_at_once_as_there_are_workers(void **state)
{
	static const struct weir_task_ops call_ops = {
		.name = "call",
		.state_size = sizeof(struct meeting),
		.poll = call_meeting,
	};
	struct atomic_u32 present[MEETINGS];
	unsigned int n = weir_runtime_nb_workers(rig.rt), i, k;

	memset(present, 0, sizeof(present));
	for (i = 0; i < MEETINGS; i++) {
		struct meeting m = { &present[i], n, false };

		/* From outside, or from one of the workers. */
		if (i % 2 == 0) {
			assert_int_equal(weir_runtime_block_on(
						 rig.rt, &call_ops, &m, NULL),
					 0);
		} else {
			for (k = 0; k < n; k++)
				weir_join_detach(weir_task_spawn(
					rig.rt, &meet_ops, &m, NULL));
		}
		rig_wait_until(rig_get(&present[i]) == n);
	}
	shut_down();
}

/* Takes events from a null source until it has had `wanted`. */
struct taker {
	struct weir_null *null;
	struct atomic_u32 *taken;
	unsigned int wanted;
	unsigned int worker; /* the result: which one took the last */
};

static int
take_events(struct weir_context *ctx, void *state)
{
	struct taker *t = state;
	int n;

	while (rig_get(t->taken) < t->wanted) {
		n = weir_null_recv(ctx, t->null);
		if (n < 0)
			return n;
		rig_add(t->taken, n);
	}
	t->worker = weir_context_worker(ctx);
	return WEIR_DONE;
}

static const struct weir_task_ops taker_ops = {
	.name = "taker",
	.state_size = sizeof(struct taker),
	.poll = take_events,
	.result_offset = offsetof(struct taker, worker),
	.result_size = sizeof(unsigned int),
};

/* Wakes itself for ever: it is always queued, and nobody is idle. */
static int
wake_self(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state;

	if (rig_get(s->go))
		return WEIR_DONE;
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static void
expect_events_beside(const struct weir_task_ops *busy)
{
	struct weir_null *null = weir_null_create(rig.rt, 0);
	struct atomic_u32 taken = { 0 };
	struct taker t = { .null = null, .taken = &taken, .wanted = 30 };
	struct weir_join *joins[3], *taker;
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn(rig.rt, busy, &rig.told);
	taker = weir_task_spawn(rig.rt, &taker_ops, &t, NULL);
	for (i = 1; i <= t.wanted; i++) {
		weir_null_post(null, 1);
		rig_wait_until(rig_get(&taken) == i);
	}
	assert_int_equal(rig_join(taker, NULL), 0);
	rig_set(&rig.go, 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	weir_null_free(null);
}

/* L1 */
static void
yielding_tasks_do_not_keep_a_source_waiting(void **state)
{
	expect_events_beside(&rig_yield_ops);
}

/* L1 */
static void
endless_work_does_not_keep_a_source_waiting(void **state)
{
	struct weir_task_ops ops = rig_yield_ops;

	ops.poll = wake_self;
	expect_events_beside(&ops);
}

#define SERVED 2u

static void
expect_service_while_worker_0_is_stuck(void)
{
	struct weir_null *null[SERVED];
	struct weir_source *source[SERVED];
	struct weir_join *taker[SERVED];
	struct atomic_u32 taken[SERVED] = { 0 };
	struct weir_source_stats stats;
	struct taker t = { .wanted = 1 };
	unsigned int worker = 0, i;
	struct rig_blockers b;

	for (i = 0; i < SERVED; i++) {
		null[i] = weir_null_create(rig.rt, 0);
		source[i] = weir_null_source(null[i]);
		t.null = null[i];
		t.taken = &taken[i];
		taker[i] = weir_task_spawn(rig.rt, &taker_ops, &t, NULL);
		/* Only a source that has a waiter is polled. */
		rig_wait_until((weir_source_stats_get(source[i], &stats),
				stats.polls > 0));
	}
	rig_block_some(&b, rig.rt, 1u << 0);
	for (i = 0; i < SERVED; i++)
		weir_null_post(null[i], 1);
	for (i = 0; i < SERVED; i++) {
		assert_int_equal(rig_join(taker[i], &worker), 0);
		assert_int_not_equal(worker, 0);
	}
	rig_unblock(&b);
	for (i = 0; i < SERVED; i++) {
		weir_source_stats_get(source[i], &stats);
		assert_int_equal(stats.rescues, 1);
		assert_int_equal(stats.events, 1);
		assert_int_equal(weir_source_worker(source[i]), 0);
		weir_null_free(null[i]);
	}
}

static void
neighbour_serves_the_source_of_a_stuck_worker(void **state)
{
	struct totals sum;

	expect_service_while_worker_0_is_stuck();
	shut_down();
	sum_up(&sum);
	assert_int_equal(sum.rescues, SERVED);
}

#define CLAIMING_CROWD 40u

/* The first of them does not end before the others have run. */
static int
be_last(struct weir_context *ctx, void *state)
{
	struct atomic_u32 *runs = *(struct atomic_u32 **)state;

	if (atomic_u32_fetch_add(runs, 1, ACQ_REL) == 0)
		rig_wait_until(rig_get(runs) >= CLAIMING_CROWD);
	return WEIR_DONE;
}

static const struct weir_task_ops be_last_ops = {
	.name = "be_last",
	.state_size = sizeof(struct atomic_u32 *),
	.poll = be_last,
};

static int
spawn_claiming_crowd(struct weir_context *ctx, void *state)
{
	struct atomic_u32 *states[CLAIMING_CROWD];
	unsigned int i;

	for (i = 0; i < CLAIMING_CROWD; i++)
		states[i] = *(struct atomic_u32 **)state;
	return weir_task_spawn_burst(weir_context_runtime(ctx), &be_last_ops,
				     states, CLAIMING_CROWD, NULL,
				     NULL) == CLAIMING_CROWD ?
		       WEIR_DONE :
		       -ENOMEM;
}

static const struct weir_task_ops spawn_claiming_crowd_ops = {
	.name = "spawn_claiming_crowd",
	.state_size = sizeof(struct atomic_u32 *),
	.poll = spawn_claiming_crowd,
};

/* A worker claims several tasks of its queue at once, and is in the first for long. */
static void
what_a_stuck_worker_has_claimed_is_run_by_others(void **state)
{
	const struct weir_spawn_attr on_0 = { .affinity = WEIR_AFFINITY_WORKER,
					      .worker = 0 };
	const struct run_queue *q = &rig.rt->workers[0]->queue;
	struct atomic_u32 runs = { 0 }, *arg = &runs;
	struct rig_blockers others;
	struct weir_join *join;
	struct totals sum;
	unsigned int batch;

	rig_block_some(&others, rig.rt, UINT32_MAX & ~1u);
	join = weir_task_spawn(rig.rt, &spawn_claiming_crowd_ops, &arg, &on_0);
	assert_int_equal(rig_join(join, NULL), 0);
	rig_wait_until(rig_get(&runs) == 1);
	if (rig.rt->membarrier) {
		batch = run_queue_batch(q);
		assert_uint_in_range(batch, RUN_QUEUE_BATCH - 1,
				     CLAIMING_CROWD / RUN_QUEUE_SHARE_SHORT -
					     1);
		assert_int_equal(weir__run_queue_len_any(q),
				 CLAIMING_CROWD - 1 - batch);
	}
	rig_unblock(&others);
	rig_wait_until(rig_get(&runs) == CLAIMING_CROWD);
	shut_down();
	sum_up(&sum);
	assert_int_equal(stolen_from(0), CLAIMING_CROWD - 1);
	assert_int_equal(sum.steals, steal_matrix());
}

#define GAP_US 20000
#define TICK_NS (GAP_US * UINT64_C(1000) / 20)

static int
setup_long_gap(void **state)
{
	struct weir_options o;

	memset(&rig, 0, sizeof(rig));
	rig_options(&o, (unsigned int)(uintptr_t)*state);
	o.max_poll_gap_us = GAP_US;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	return 0;
}

struct ticker {
	struct atomic_u32 *go;
	struct weir_sleep sleep;
};

static int
tick(struct weir_context *ctx, void *state)
{
	struct ticker *t = state;

	while (!rig_get(t->go))
		if (weir_sleep(ctx, &t->sleep, TICK_NS) == WEIR_PENDING)
			return WEIR_PENDING;
	return WEIR_DONE;
}

/* Q8 of park.c: each of its waits ends before it is time to look. */
static void
neighbour_whose_waits_are_short_serves_it_too(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "ticker",
		.state_size = sizeof(struct ticker),
		.poll = tick,
	};
	const struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER,
					      .worker = 1 };
	struct ticker t = { .go = &rig.go };
	struct weir_join *ticker = weir_task_spawn(rig.rt, &ops, &t, &attr);

	assert_non_null(ticker);
	rig_wait_until(rig_timers(rig.rt) == 1);
	expect_service_while_worker_0_is_stuck();
	rig_set(&rig.go, 1);
	assert_int_equal(rig_join(ticker, NULL), 0);
}

static void
counts_are_exact_after_shutdown(void **state)
{
	const unsigned int n = 500;
	struct weir_runtime_stats stats;
	struct weir_worker_stats worker;
	struct totals sum;
	unsigned int i;

	for (i = 0; i < n; i++)
		weir_join_detach(rig_spawn(rig.rt, &rig_done_ops, &rig.told));
	rig_wait_until(rig_get(&rig.log.drops) == n);
	for (i = 0; i < weir_runtime_nb_workers(rig.rt); i++)
		rig_wait_until(weir_worker_stats_get(rig.rt, i, &worker) == 0 &&
			       worker.source_polls > 0);
	shut_down();
	sum_up(&sum);
	weir_runtime_stats_get(rig.rt, &stats);
	assert_int_equal(stats.workers, weir_runtime_nb_workers(rig.rt));
	assert_int_equal(stats.spawned, n);
	/* Some more than once: a full queue gives back what it has. */
	assert_true(stats.remote_schedules >= n);
	assert_int_equal(sum.injected, stats.remote_schedules);
	assert_int_equal(sum.polls, n);
	assert_int_equal(sum.steals, steal_matrix());
	assert_int_equal(stats.live_tasks, 0);
	for (i = 0; i < stats.workers; i++) {
		assert_int_equal(weir_worker_stats_get(rig.rt, i, &worker), 0);
		assert_int_equal(
			weir_runtime_worker_of_lcore(rig.rt, worker.lcore), i);
		assert_int_equal(worker.node, weir_lcore_node(worker.lcore));
		assert_int_equal(worker.queue_depth, 0);
		assert_int_not_equal(worker.source_polls, 0);
	}
}

static void
unknown_workers_have_no_counts(void **state)
{
	unsigned int n = weir_runtime_nb_workers(rig.rt);
	struct weir_worker_stats stats;

	assert_int_equal(weir_worker_stats_get(rig.rt, n, &stats), -EINVAL);
	assert_int_equal(weir_worker_steals_from(rig.rt, 0, n), 0);
	assert_int_equal(weir_worker_steals_from(rig.rt, n, 0), 0);
	assert_int_equal(
		weir_runtime_worker_of_lcore(rig.rt, rte_get_main_lcore()),
		-ENOENT);
	assert_int_equal(weir_runtime_worker_of_lcore(rig.rt, RTE_MAX_LCORE),
			 -ENOENT);
	assert_int_equal(weir_lcore_node(RTE_MAX_LCORE), -EINVAL);
	assert_int_equal(weir_lcore_node(RTE_MAX_LCORE - 1), -EINVAL);
}

/* Nothing to do for long: then one task must still wake a worker up. */
static void
sleeping_workers_wake_up(void **state)
{
	struct weir_worker_stats s;
	uint64_t before;
	unsigned int i;

	for (i = 0; i < 30; i++) {
		assert_int_equal(weir_worker_stats_get(rig.rt, 0, &s), 0);
		before = s.source_polls;
		/* The time it takes is theirs: so many looks at the sources. */
		rig_wait_until((weir_worker_stats_get(rig.rt, 0, &s),
				s.source_polls > before + 3000));
		assert_int_equal(weir_runtime_block_on(rig.rt, &rig_done_ops,
						       &rig.told, NULL),
				 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(tasks_of_a_stuck_worker_are_stolen, 2),
		RIG_TEST(tasks_of_a_stuck_worker_are_stolen, 3),
		RIG_TESTS(ten_thousand_tasks_of_one_task_all_run),
		RIG_TESTS(as_many_tasks_run_at_once_as_there_are_workers),
		RIG_TESTS(yielding_tasks_do_not_keep_a_source_waiting),
		RIG_TESTS(endless_work_does_not_keep_a_source_waiting),
		RIG_TEST(neighbour_serves_the_source_of_a_stuck_worker, 2),
		RIG_TEST(neighbour_serves_the_source_of_a_stuck_worker, 3),
		RIG_TEST(what_a_stuck_worker_has_claimed_is_run_by_others, 2),
		RIG_TEST(what_a_stuck_worker_has_claimed_is_run_by_others, 3),
		cmocka_unit_test_prestate_setup_teardown(
			neighbour_whose_waits_are_short_serves_it_too,
			setup_long_gap, rig_teardown, (void *)2),
		RIG_TESTS(counts_are_exact_after_shutdown),
		RIG_TEST(unknown_workers_have_no_counts, 2),
		RIG_TESTS(sleeping_workers_wake_up),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
