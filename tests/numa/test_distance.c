/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Who takes whose work on this machine: nearest first, from another node only a
 * backlog, and what is woken goes home.
 *
 * Workers are kept busy by tasks that wait in the kernel, which leaves the CPUs
 * to those that are looked at.
 */

#include "nodes.h"

#include <errno.h>
#include <numa.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <rte_malloc.h>

#include "sched/scheduler.h"
#include "topology/weir_machine.h"

/* Fits into a run queue. */
#define TASKS 60u
#define ROUNDS 50u
#define TRIES 20u
#define MANY 100u

static struct weir_runtime *rt;

static void
create(unsigned int backlog, unsigned int age_us)
{
	struct weir_options o;

	nodes_options(&o);
	/* What a task spawns can be stolen. */
	o.lifo_slot = false;
	o.cross_node_backlog = backlog;
	o.cross_node_age_us = age_us;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
}

/* A worker that is held: it has spawned tasks, and waits for the test. */
struct held {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const struct weir_task_ops *ops;
	void *state; /* of each task */
	unsigned int spawned;
	unsigned int wanted;
	bool in;
	bool let_go;
	struct weir_join *join; /* NULL: none is */
};

static struct held held[RTE_MAX_LCORE];

static void
spawn_wanted(struct held *h)
{
	for (; h->spawned < h->wanted; h->spawned++)
		weir_join_detach(weir_task_spawn(rt, h->ops, h->state, NULL));
}

static int
hold(struct weir_context *ctx, void *state)
{
	struct held *h = *(struct held **)state;

	pthread_mutex_lock(&h->mutex);
	h->in = true;
	while (!h->let_go) {
		spawn_wanted(h);
		pthread_cond_broadcast(&h->changed);
		pthread_cond_wait(&h->changed, &h->mutex);
	}
	pthread_mutex_unlock(&h->mutex);
	return WEIR_DONE;
}

/* Holds a worker; it spawns with `more` what others may steal. */
static void
hold_worker(unsigned int worker, const struct weir_task_ops *ops, void *state)
{
	static const struct weir_task_ops hold_ops = {
		.name = "hold",
		.state_size = sizeof(struct held *),
		.poll = hold,
	};
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};
	struct held *h = &held[worker];

	memset(h, 0, sizeof(*h));
	pthread_mutex_init(&h->mutex, NULL);
	pthread_cond_init(&h->changed, NULL);
	h->ops = ops;
	h->state = state;
	h->join = weir_task_spawn(rt, &hold_ops, &h, &attr);
	pthread_mutex_lock(&h->mutex);
	while (!h->in)
		pthread_cond_wait(&h->changed, &h->mutex);
	pthread_mutex_unlock(&h->mutex);
}

static void
more(unsigned int worker, unsigned int n)
{
	struct held *h = &held[worker];

	pthread_mutex_lock(&h->mutex);
	h->wanted += n;
	pthread_cond_broadcast(&h->changed);
	while (h->spawned < h->wanted)
		pthread_cond_wait(&h->changed, &h->mutex);
	pthread_mutex_unlock(&h->mutex);
}

static struct weir_join *
tell_to_go(struct held *h)
{
	struct weir_join *join = h->join;

	h->join = NULL;
	pthread_mutex_lock(&h->mutex);
	h->let_go = true;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->mutex);
	return join;
}

static void
let_go(unsigned int worker)
{
	struct held *h = &held[worker];

	assert_int_equal(rig_join(tell_to_go(h), NULL), 0);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->mutex);
}

/* A test that has failed leaves a runtime, and workers that are held. */
static int
teardown(void **state)
{
	unsigned int i;

	if (rt == NULL)
		return 0;
	/* What is queued there points into the test: it has no turn any more. */
	weir_runtime_shutdown_begin(rt);
	for (i = 0; i < RTE_DIM(held); i++)
		if (held[i].join != NULL)
			weir_join_detach(tell_to_go(&held[i]));
	weir_runtime_free(rt);
	rt = NULL;
	return 0;
}

/* Whose tasks have run, in this order. */
static struct {
	struct atomic_u32 n;
	struct atomic_u32 strays; /* run elsewhere than was expected */
	unsigned int origin[RTE_MAX_LCORE * TASKS];
} ran;

struct mark {
	unsigned int origin;
	unsigned int runner; /* who should run it */
};

static int
mark(struct weir_context *ctx, void *state)
{
	const struct mark *m = state;
	uint32_t i = rig_get(&ran.n);

	if (weir_context_worker(ctx) != m->runner)
		rig_add(&ran.strays, 1);
	ran.origin[i] = m->origin;
	rig_set(&ran.n, i + 1);
	return WEIR_DONE;
}

static const struct weir_task_ops mark_ops = {
	.name = "mark",
	.state_size = sizeof(struct mark),
	.poll = mark,
};

/* How far a worker is for another one, by what the machine says. */
static unsigned int
rank(const struct weir_machine *m, unsigned int thief, unsigned int victim)
{
	const struct weir_machine_cpu *a, *b;
	int from = (int)nodes_of_worker(thief);
	int to = (int)nodes_of_worker(victim);

	/* Behind all that is on the node, whatever the table says. */
	if (from != to)
		return 1000 + (unsigned int)numa_distance(from, to);
	a = weir_machine_cpu_get(m, nodes_cpu_of_worker(thief));
	b = weir_machine_cpu_get(m, nodes_cpu_of_worker(victim));
	if (a->core != WEIR_MACHINE_UNKNOWN && a->core == b->core)
		return 0;
	if (a->cache != WEIR_MACHINE_UNKNOWN && a->cache == b->cache)
		return 1;
	return 2;
}

/* All others have tasks; the thief, alone at large, runs them. */
static void
let_steal(const struct weir_machine *m, unsigned int thief)
{
	unsigned int i, n = nodes_nb_workers();
	struct mark marks[RTE_MAX_LCORE];

	memset(&ran, 0, sizeof(ran));
	create(1, 1);
	for (i = 0; i < n; i++) {
		marks[i] = (struct mark){ .origin = i, .runner = thief };
		hold_worker(i, &mark_ops, &marks[i]);
	}
	for (i = 0; i < n; i++)
		if (i != thief)
			more(i, TASKS);
	let_go(thief);
	rig_wait_until(rig_get(&ran.n) == (n - 1) * TASKS);
	for (i = 1; i < (n - 1) * TASKS; i++)
		assert_true(rank(m, thief, ran.origin[i - 1]) <=
			    rank(m, thief, ran.origin[i]));
	assert_int_equal(rig_get(&ran.strays), 0);
	for (i = 0; i < n; i++) {
		assert_int_equal(weir_worker_steals_from(rt, thief, i),
				 i != thief ? TASKS : 0);
		if (i != thief)
			let_go(i);
	}
	rig_runtime_end(&rt);
}

static void
work_is_stolen_in_the_order_of_distance(void **state)
{
	struct weir_machine *m = weir_machine_read();
	unsigned int thief;

	assert_non_null(m);
	for (thief = 0; thief < nodes_nb_workers(); thief++)
		let_steal(m, thief);
	weir_machine_free(m);
}

/* The first worker on another node than that of worker 0. */
static unsigned int
far_worker(void)
{
	unsigned int w = 0;

	while (nodes_of_worker(w) == nodes_of_worker(0))
		w++;
	return w;
}

static uint64_t
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int
note(struct weir_context *ctx, void *state)
{
	rig_add(*(struct atomic_u32 **)state, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops note_ops = {
	.name = "note",
	.state_size = sizeof(struct atomic_u32 *),
	.poll = note,
};

/* Has a worker look for work so often, with a task each time. */
static void
make_rounds(unsigned int worker, unsigned int rounds)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};
	struct atomic_u32 n = { 0 }, *where = &n;
	unsigned int i;

	for (i = 0; i < rounds; i++)
		assert_int_equal(
			rig_join(weir_task_spawn(rt, &note_ops, &where, &attr),
				 NULL),
			0);
}

/*
 * A worker with one task less than the threshold keeps them, one with as many
 * does not. False if it took so long that the worker counted as stuck.
 */
static bool
try_threshold(unsigned int victim, unsigned int backlog)
{
	uint64_t since = now_us(), taken, took;
	struct atomic_u32 done = { 0 }, *where = &done;
	unsigned int i;

	create(backlog, 1000000);
	for (i = 1; i < nodes_nb_workers(); i++)
		hold_worker(i, &note_ops, &where);
	more(victim, backlog - 1);
	make_rounds(0, ROUNDS);
	taken = weir_worker_steals_from(rt, 0, victim);
	took = now_us() - since;
	if (took < 900000) {
		assert_int_equal(taken, 0);
		more(victim, 1);
		rig_wait_until((make_rounds(0, 1),
				weir_worker_steals_from(rt, 0, victim) > 0));
	}
	for (i = 1; i < nodes_nb_workers(); i++)
		let_go(i);
	rig_wait_until(rig_get(&done) == held[victim].spawned);
	rig_runtime_end(&rt);
	return took < 900000;
}

static void
only_a_backlog_crosses(void **state)
{
	unsigned int i;

	nodes_need_two();
	for (i = 0; i < TRIES; i++)
		if (try_threshold(far_worker(), TASKS))
			return;
	unit_skip("the machine is too slow: a worker counts as stuck before "
		  "the others have looked at it");
}

/* Waits, and notes who polls it then. */
struct waiting {
	struct atomic_ptr *waker;
	struct atomic_u32 *polled_by; /* worker + 1 */
	bool woken;
};

static int
wait_once(struct weir_context *ctx, void *state)
{
	struct waiting *s = state;

	rig_set(s->polled_by, 1 + weir_context_worker(ctx));
	if (s->woken)
		return WEIR_DONE;
	s->woken = true;
	atomic_ptr_store(s->waker, weir_context_waker(ctx), RELEASE);
	return WEIR_PENDING;
}

static const struct weir_task_ops wait_ops = {
	.name = "waiting",
	.state_size = sizeof(struct waiting),
	.poll = wait_once,
};

static int
wake(struct weir_context *ctx, void *state)
{
	weir_waker_wake(*(struct weir_waker **)state);
	return WEIR_DONE;
}

static const struct weir_task_ops wake_ops = {
	.name = "wake",
	.state_size = sizeof(struct weir_waker *),
	.poll = wake,
};

static void
wake_from(unsigned int worker, struct weir_waker *w)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};

	assert_int_equal(
		rig_join(weir_task_spawn(rt, &wake_ops, &w, &attr), NULL), 0);
}

static void
expect_home(const struct atomic_u32 *polled_by, unsigned int home)
{
	assert_int_equal(nodes_of_worker(rig_get(polled_by) - 1), home);
}

static void
wake_up_from_any_worker_goes_home(void **state)
{
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_ANY };
	struct atomic_u32 polled_by = { 0 };
	struct atomic_ptr waker = { NULL };
	struct waiting s = { .waker = &waker, .polled_by = &polled_by };
	unsigned int i, w, home;
	struct weir_join *join;

	create(256, 1000000);
	for (i = 0; i < nodes_count(); i++) {
		home = nodes_id(i);
		attr.node_plus_1 = 1 + home;
		for (w = 0; w < nodes_nb_workers(); w++) {
			join = weir_task_spawn(rt, &wait_ops, &s, &attr);
			wake_from(w, rig_take_waker(&waker));
			assert_int_equal(rig_join(join, NULL), 0);
			expect_home(&polled_by, home);
		}
	}
	rig_runtime_end(&rt);
}

/*
 * Steals a task, and wakes it on the thief; false if others than its home's
 * workers ran it then, which may be when those were late.
 */
static bool
steal_and_wake(void)
{
	unsigned int thief = 0, victim = far_worker(), i;
	struct atomic_u32 polled_by = { 0 };
	struct atomic_ptr waker = { NULL };
	struct waiting s = { .waker = &waker, .polled_by = &polled_by };
	struct weir_waker *w;
	bool home;

	/* From a stuck worker, and nothing else. */
	create(256, 200000);
	for (i = 0; i < nodes_nb_workers(); i++)
		if (i != thief)
			hold_worker(i, &wait_ops, &s);
	more(victim, 1);
	rig_wait_until(
		(make_rounds(thief, 1),
		 (w = atomic_ptr_exchange(&waker, NULL, ACQ_REL)) != NULL));
	assert_int_equal(weir_worker_steals_from(rt, thief, victim), 1);
	assert_int_equal(rig_get(&polled_by), 1 + thief);
	rig_set(&polled_by, 0);
	for (i = 0; i < nodes_nb_workers(); i++)
		if (i != thief)
			let_go(i);
	wake_from(thief, w);
	rig_wait_until(rig_get(&polled_by) != 0);
	home = nodes_of_worker(rig_get(&polled_by) - 1) ==
	       nodes_of_worker(victim);
	rig_runtime_end(&rt);
	return home;
}

static void
stolen_task_keeps_its_home(void **state)
{
	unsigned int i;

	nodes_need_two();
	for (i = 0; i < TRIES; i++)
		if (steal_and_wake())
			return;
	fail_msg("it was run elsewhere %u times", i);
}

/* In the heaps of all nodes. */
static size_t
heap_in_use(void)
{
	struct rte_malloc_socket_stats stats;
	size_t sum = 0;
	unsigned int i;

	for (i = 0; i < nodes_count(); i++)
		if (rte_malloc_get_socket_stats((int)nodes_id(i), &stats) == 0)
			sum += stats.heap_allocsz_bytes;
	return sum;
}

static int
run_fiber(struct weir_fiber *f, void *state)
{
	int rc = 0;

	while (rc == 0)
		rc = weir_fiber_sleep(f, 1000);
	return rc;
}

/* Tasks of each kind on each node, which a shutdown finds in all states. */
static void
shut_down_with_tasks(void)
{
	static const struct weir_task_ops fiber_ops = {
		.name = "fiber",
		.state_size = sizeof(struct weir_fiber),
		.poll = weir_fiber_poll,
		.drop = weir_fiber_drop,
	};
	const struct weir_fiber fiber = { .run = run_fiber };
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_ANY };
	struct rig_log log = { 0 };
	struct atomic_u32 never = { 0 };
	const struct rig_state s = { .log = &log, .go = &never };
	unsigned int i, n = MANY * nodes_count();

	create(1, 1);
	for (i = 0; i < n; i++) {
		attr.node_plus_1 = 1 + nodes_id(i % nodes_count());
		attr.affinity =
			i % 2 == 0 ? WEIR_AFFINITY_ANY : WEIR_AFFINITY_NODE;
		weir_join_detach(
			weir_task_spawn(rt, &rig_yield_ops, &s, &attr));
		weir_join_detach(
			weir_task_spawn(rt, &fiber_ops, &fiber, &attr));
		weir_join_detach(rig_spawn_on(rt, i % nodes_nb_workers(),
					      &rig_yield_ops, &s));
	}
	rig_wait_until(rig_get(&log.polls) > n);
	rig_runtime_end(&rt);
	assert_int_equal(rig_get(&log.drops), 2 * n);
}

static void
shutdown_leaves_nothing_on_any_node(void **state)
{
	size_t before;

	/* rte_ring_free() keeps some memory for the next one. */
	shut_down_with_tasks();
	before = heap_in_use();
	shut_down_with_tasks();
	assert_int_equal(heap_in_use(), before);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_is_stolen_in_the_order_of_distance),
		TEST(only_a_backlog_crosses),
		TEST(wake_up_from_any_worker_goes_home),
		TEST(stolen_task_keeps_its_home),
		TEST(shutdown_leaves_nothing_on_any_node),
	};

	return cmocka_run_group_tests(tests, nodes_setup, unit_eal_teardown);
}
