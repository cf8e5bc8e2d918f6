/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A runtime on two NUMA nodes, on any machine: this program says where lcores
 * are. Workers 0 and 1 are on node 0, worker 2 on node 1. What a node costs in
 * time cannot be seen here; what goes where can.
 */

#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_malloc.h>

#include <weir.h>

#include "kernel.h"
#include "topology/topology.h"
#include "topology/weir_machine.h"

#define FAR_WORKER 2u
#define BACKLOG 128u
#define DEADLINE_S 30u
#define TRIES 10u
/* The longest there is. */
#define AGE_US 1000000u
#define ROUNDS 10000

/* Each worker is on a node of its own. */
static bool apart;

void
__wrap_weir__topology_locate(struct place *places, unsigned int n);

void
__wrap_weir__topology_locate(struct place *places, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		places[i].node = apart ? places[i].lcore - 1 :
				 places[i].lcore > FAR_WORKER ? 1 :
								0;
		places[i].core = WEIR_MACHINE_UNKNOWN;
		places[i].cache = WEIR_MACHINE_UNKNOWN;
	}
}

/* EAL has no heap for a node that is not there; without hugepages any will do. */
int
rte_malloc_heap_socket_is_external(int socket)
{
	return 0;
}

/* The node that has no memory; -1: all have. */
static int without_memory = -1;

void *
__real_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket);
void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket);

void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket)
{
	if (socket == without_memory)
		return NULL;
	return __real_rte_zmalloc_socket(type, size, align, socket);
}

static struct weir_runtime *rt;
static struct atomic_u32 ran;
static struct atomic_u32 strays;
static struct atomic_u32 drops;

static struct weir_runtime *
create_with(unsigned int age_us, enum weir_park park)
{
	struct weir_options o;

	weir_options_init(&o);
	o.nb_workers = 3;
	o.cross_node_backlog = BACKLOG;
	o.cross_node_age_us = age_us;
	o.task_cells = 1024;
	o.park = park;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	atomic_u32_store(&ran, 0, RELAXED);
	atomic_u32_store(&strays, 0, RELAXED);
	atomic_u32_store(&drops, 0, RELAXED);
	return rt;
}

/* With a time after which a worker counts as stuck. */
static struct weir_runtime *
create_with_age(unsigned int age_us)
{
	return create_with(age_us, WEIR_PARK_POLL);
}

/* Only the backlog decides: workers here are late for other reasons. */
static struct weir_runtime *
create(void)
{
	return create_with_age(AGE_US);
}

static void
destroy(void)
{
	struct weir_shutdown_report left;

	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, &left), 0);
	weir_runtime_free(rt);
	rt = NULL;
	assert_int_equal(left.live_tasks, 0);
	assert_int_equal(left.ring_entries, 0);
}

/* What tasks wait for, and one that keeps its worker until then. */
static struct atomic_u32 idlers_go, blocker_go;
static struct weir_join *blocker;

static int
setup(void **state)
{
	kernel_reset();
	return 0;
}

/* A test that has failed leaves them, and a runtime that cannot end before them. */
static int
teardown(void **state)
{
	atomic_u32_store(&idlers_go, 1, RELEASE);
	atomic_u32_store(&blocker_go, 1, RELEASE);
	weir_join_detach(blocker);
	weir_runtime_free(rt);
	blocker = NULL;
	rt = NULL;
	return 0;
}

static void
expired(uint64_t since, const char *what)
{
	if (rte_rdtsc() - since > DEADLINE_S * rte_get_tsc_hz())
		fail_msg("waited %u s for %s", DEADLINE_S, what);
}

static void
wait_for(const struct atomic_u32 *a, uint32_t value, const char *what)
{
	uint64_t since = rte_rdtsc();

	while (atomic_u32_load(a, ACQUIRE) < value) {
		expired(since, what);
		sched_yield();
	}
}

static void
wait_for_ptr(const struct atomic_ptr *p, const char *what)
{
	uint64_t since = rte_rdtsc();

	while (atomic_ptr_load(p, ACQUIRE) == NULL) {
		expired(since, what);
		sched_yield();
	}
}

static uint64_t
steals_remote(void)
{
	struct weir_worker_stats s;
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		weir_worker_stats_get(rt, i, &s);
		n += s.steals_remote;
	}
	return n;
}

static void
test_a_node_without_memory_is_named(void **state)
{
	struct weir_options o;
	char *text = NULL;
	size_t size = 0;
	FILE *log = open_memstream(&text, &size);

	assert_non_null(log);
	weir_options_init(&o);
	o.nb_workers = 3;
	o.task_cells = 1024;
	rte_openlog_stream(log);
	without_memory = 1;
	rt = weir_runtime_create(&o);
	without_memory = -1;
	rte_openlog_stream(NULL);
	fclose(log);
	assert_null(rt);
	assert_int_equal(rte_errno, ENOMEM);
	assert_non_null(strstr(text, "no memory on node 1 "));
	free(text);
	/* Nothing is left of it. */
	create();
	destroy();
}

static void
test_a_worker_has_the_node_of_its_memory(void **state)
{
	struct weir_worker_stats stats;
	unsigned int i;

	create();
	for (i = 0; i < 3; i++) {
		weir_worker_stats_get(rt, i, &stats);
		assert_int_equal(weir_worker_node(rt, i), stats.node);
		assert_int_equal(stats.node, i == FAR_WORKER);
	}
	assert_int_equal(weir_worker_node(rt, 3), -EINVAL);
	/* It may come back. */
	assert_int_equal(weir_worker_retire(rt, FAR_WORKER, 0), 0);
	assert_int_equal(weir_worker_node(rt, FAR_WORKER), 1);
	destroy();
}

static int
note_worker(struct weir_context *ctx, void *state)
{
	if (weir_context_worker(ctx) != FAR_WORKER)
		atomic_u32_fetch_add(&strays, 1, RELAXED);
	atomic_u32_fetch_add(&ran, 1, RELEASE);
	return WEIR_DONE;
}

static int
yield_often(struct weir_context *ctx, void *state)
{
	unsigned int *left = state;

	if (weir_context_worker(ctx) != FAR_WORKER)
		atomic_u32_fetch_add(&strays, 1, RELAXED);
	if ((*left)-- > 0)
		return weir_context_yield(ctx);
	atomic_u32_fetch_add(&ran, 1, RELEASE);
	return WEIR_DONE;
}

static const struct weir_task_ops note_ops = {
	.name = "note",
	.poll = note_worker,
};

static const struct weir_task_ops yield_ops = {
	.name = "yield",
	.state_size = sizeof(unsigned int),
	.poll = yield_often,
};

/* The rings of the second one, on another node, would have other names. */
static void
test_a_name_is_one_runtimes_on_all_nodes(void **state)
{
	const unsigned int first[] = { 1 }, second[] = { 3 };
	struct weir_runtime *other;
	struct weir_options o;
	struct weir_join *join;

	weir_options_init(&o);
	o.nb_workers = 1;
	o.task_cells = 1024;
	o.lcores = first;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	atomic_u32_store(&ran, 0, RELAXED);
	join = weir_task_spawn(rt, &note_ops, NULL, NULL);
	assert_non_null(join);
	wait_for(&ran, 1, "the task");
	o.lcores = second;
	assert_null(weir_runtime_create(&o));
	assert_int_equal(rte_errno, EEXIST);
	/* What is refused takes nobody's name. */
	assert_null(weir_runtime_create(&o));
	assert_int_equal(rte_errno, EEXIST);
	/* The handle has the rest of it. */
	weir_runtime_free(rt);
	rt = NULL;
	assert_null(weir_runtime_create(&o));
	assert_int_equal(rte_errno, EEXIST);
	weir_join_detach(join);
	other = weir_runtime_create(&o);
	assert_non_null(other);
	weir_runtime_free(other);
}

static void
test_node_tasks_never_leave_their_node(void **state)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_NODE,
		.node_plus_1 = 2,
	};
	unsigned int i, times = 50;

	create();
	/* More than a run queue holds, and than what others may take. */
	for (i = 0; i < 3 * BACKLOG; i++)
		weir_join_detach(
			weir_task_spawn(rt, &yield_ops, &times, &attr));
	wait_for(&ran, 3 * BACKLOG, "tasks of node 1");
	assert_int_equal(atomic_u32_load(&strays, RELAXED), 0);
	destroy();
}

struct sleeper {
	struct atomic_ptr *waker;
	bool woken;
};

static int
sleep_once(struct weir_context *ctx, void *state)
{
	struct sleeper *s = state;

	if (s->woken)
		return note_worker(ctx, state);
	s->woken = true;
	atomic_ptr_store(s->waker, weir_context_waker(ctx), RELEASE);
	return WEIR_PENDING;
}

static const struct weir_task_ops sleeper_ops = {
	.name = "sleeper",
	.state_size = sizeof(struct sleeper),
	.poll = sleep_once,
};

/* Wakes the task whose waker appears at the address that is its state. */
static int
wake_it(struct weir_context *ctx, void *state)
{
	struct atomic_ptr **where = state;
	struct weir_waker *w = atomic_ptr_load(*where, ACQUIRE);

	if (w == NULL)
		return weir_context_yield(ctx);
	weir_waker_wake(w);
	return WEIR_DONE;
}

static const struct weir_task_ops wake_ops = {
	.name = "wake",
	.state_size = sizeof(struct atomic_ptr *),
	.poll = wake_it,
};

static void
test_a_wake_up_from_another_node_goes_home(void **state)
{
	const struct weir_spawn_attr far = { .node_plus_1 = 2 };
	const struct weir_spawn_attr near = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = 0,
	};
	struct atomic_ptr waker, *where = &waker;
	struct sleeper s = { .waker = &waker };
	unsigned int i, strayed, wrong = 0;
	uint64_t since;

	create();
	for (i = 1; i <= 100; i++) {
		strayed = atomic_u32_load(&strays, RELAXED);
		since = rte_rdtsc();
		atomic_ptr_store(&waker, NULL, RELAXED);
		weir_join_detach(weir_task_spawn(rt, &sleeper_ops, &s, &far));
		weir_join_detach(weir_task_spawn(rt, &wake_ops, &where, &near));
		wait_for(&ran, i, "the task of node 1");
		/* Else its worker may have been kept from running, as if stuck. */
		if (rte_rdtsc() - since < AGE_US * rte_get_tsc_hz() / 1000000)
			wrong += atomic_u32_load(&strays, RELAXED) - strayed;
	}
	destroy();
	assert_int_equal(wrong, 0);
}

/* Tasks of a node whose only worker has retired run on another one. */
static void
test_a_node_without_workers_is_served_by_others(void **state)
{
	const struct weir_spawn_attr far = {
		.affinity = WEIR_AFFINITY_NODE,
		.node_plus_1 = 2,
	};
	struct atomic_ptr waker = { NULL };
	struct sleeper s = { .waker = &waker };

	create();
	weir_join_detach(weir_task_spawn(rt, &sleeper_ops, &s, &far));
	wait_for_ptr(&waker, "the task of node 1 to wait");
	assert_int_equal(weir_worker_retire(rt, FAR_WORKER, 0), 0);
	/* One that was there before, and one that comes later. */
	weir_waker_wake(atomic_ptr_load(&waker, ACQUIRE));
	wait_for(&ran, 1, "the task that had waited");
	weir_join_detach(weir_task_spawn(rt, &note_ops, NULL, &far));
	wait_for(&ran, 2, "the task that was spawned");
	assert_int_equal(atomic_u32_load(&strays, RELAXED), 2);
	/* The node's list is ended by the others, too. */
	atomic_ptr_store(&waker, NULL, RELAXED);
	weir_join_detach(weir_task_spawn(rt, &sleeper_ops, &s, &far));
	wait_for_ptr(&waker, "the last task to wait");
	weir_waker_drop(atomic_ptr_load(&waker, ACQUIRE));
	destroy();
}

/* Until the first n workers have had many chances to look for work. */
static void
wait_for_rounds(unsigned int n, uint64_t rounds)
{
	struct weir_worker_stats s;
	uint64_t since = rte_rdtsc(), before;
	unsigned int i;

	for (i = 0; i < n; i++) {
		weir_worker_stats_get(rt, i, &s);
		before = s.source_polls;
		while (s.source_polls < before + rounds) {
			expired(since, "idle workers");
			sched_yield();
			weir_worker_stats_get(rt, i, &s);
		}
	}
}

/* Always ready, until it is told to end. */
static int
idle_about(struct weir_context *ctx, void *state)
{
	return atomic_u32_load(&idlers_go, ACQUIRE) ? WEIR_DONE :
						      weir_context_yield(ctx);
}

static const struct weir_task_ops idle_ops = {
	.name = "idle",
	.poll = idle_about,
};

/* Others serve it though they always have something of their own. */
static void
test_a_node_without_workers_does_not_wait_for_idleness(void **state)
{
	const struct weir_spawn_attr far = { .node_plus_1 = 2 };
	struct weir_spawn_attr bound = { .affinity = WEIR_AFFINITY_WORKER };

	create();
	atomic_u32_store(&idlers_go, 0, RELAXED);
	assert_int_equal(weir_worker_retire(rt, FAR_WORKER, 0), 0);
	for (bound.worker = 0; bound.worker < FAR_WORKER; bound.worker++)
		weir_join_detach(weir_task_spawn(rt, &idle_ops, NULL, &bound));
	wait_for_rounds(FAR_WORKER, 10);
	weir_join_detach(weir_task_spawn(rt, &note_ops, NULL, &far));
	wait_for(&ran, 1, "the task of the node without workers");
	atomic_u32_store(&idlers_go, 1, RELEASE);
	destroy();
}

static struct atomic_ptr talkers[2];

/* Of two: wakes the other and waits for it, until it is told to end. */
static int
talk(struct weir_context *ctx, void *state)
{
	const unsigned int *me = state;
	struct weir_waker *w;

	atomic_ptr_store(&talkers[*me], weir_context_waker(ctx), RELEASE);
	w = atomic_ptr_exchange(&talkers[1 - *me], NULL, ACQ_REL);
	if (w != NULL)
		weir_waker_wake(w);
	if (!atomic_u32_load(&idlers_go, ACQUIRE))
		return WEIR_PENDING;
	w = atomic_ptr_exchange(&talkers[*me], NULL, ACQ_REL);
	if (w != NULL)
		weir_waker_drop(w);
	return WEIR_DONE;
}

static const struct weir_task_ops talk_ops = {
	.name = "talk",
	.state_size = sizeof(unsigned int),
	.poll = talk,
};

/* The nearer one always has something. */
static void
test_nodes_without_workers_are_served_by_turns(void **state)
{
	const struct weir_spawn_attr near = { .node_plus_1 = 2 };
	const struct weir_spawn_attr far = { .node_plus_1 = 3 };
	unsigned int i;

	apart = true;
	create();
	apart = false;
	atomic_u32_store(&idlers_go, 0, RELAXED);
	assert_int_equal(weir_worker_retire(rt, 2, 0), 0);
	assert_int_equal(weir_worker_retire(rt, 1, 0), 0);
	for (i = 0; i < 2; i++)
		weir_task_spawn_detached(rt, &talk_ops, &i, &near);
	wait_for_rounds(1, 10);
	weir_task_spawn_detached(rt, &note_ops, NULL, &far);
	wait_for(&ran, 1, "the task of the farther node");
	atomic_u32_store(&idlers_go, 1, RELEASE);
	destroy();
	/* Who was cancelled before it was told. The runtime is there for as long. */
	for (i = 0; i < 2; i++)
		weir_waker_drop(
			atomic_ptr_exchange(&talkers[i], NULL, ACQUIRE));
}

/* What a task that blocks its worker has got to. */
static struct atomic_u32 blocker_step;

/* Spawns some, is told to spawn more, and blocks until one was stolen. */
static int
block(struct weir_context *ctx, void *state)
{
	uint64_t since = rte_rdtsc();
	unsigned int i;

	for (i = 0; i < BACKLOG / 2; i++)
		weir_join_detach(weir_task_spawn(rt, &note_ops, NULL, NULL));
	atomic_u32_store(&blocker_step, 1, RELEASE);
	rig_wait_until(rig_get(&blocker_go));
	for (i = 0; i < BACKLOG; i++)
		weir_join_detach(weir_task_spawn(rt, &note_ops, NULL, NULL));
	while (steals_remote() == 0) {
		if (rte_rdtsc() - since > DEADLINE_S * rte_get_tsc_hz())
			return -ETIMEDOUT;
		sched_yield();
	}
	return WEIR_DONE;
}

static const struct weir_task_ops block_ops = {
	.name = "block",
	.poll = block,
};

static void
end_blocker(void)
{
	struct weir_join *join = blocker;

	blocker = NULL;
	atomic_u32_store(&blocker_go, 1, RELEASE);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* False if it took so long that the worker counted as stuck. */
static bool
try_backlog(void)
{
	const struct weir_spawn_attr far = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = FAR_WORKER,
	};
	uint64_t since, took, early, matrix;

	create();
	atomic_u32_store(&blocker_step, 0, RELAXED);
	atomic_u32_store(&blocker_go, 0, RELAXED);
	since = rte_rdtsc();
	/* From its last poll on, which is no longer ago. */
	wait_for_rounds(FAR_WORKER + 1, 2);
	blocker = weir_task_spawn(rt, &block_ops, NULL, &far);
	wait_for(&blocker_step, 1, "the blocker");
	wait_for_rounds(FAR_WORKER, 1000);
	early = steals_remote();
	took = rte_rdtsc() - since;
	end_blocker();
	wait_for(&ran, BACKLOG / 2 + BACKLOG, "all tasks");
	matrix = weir_worker_steals_from(rt, 0, FAR_WORKER) +
		 weir_worker_steals_from(rt, 1, FAR_WORKER);
	assert_true(matrix > 0);
	matrix += weir_worker_steals_from(rt, FAR_WORKER, 0) +
		  weir_worker_steals_from(rt, FAR_WORKER, 1);
	assert_int_equal(steals_remote(), matrix);
	destroy();
	if (took >= AGE_US * rte_get_tsc_hz() / 1000000)
		return false;
	assert_int_equal(early, 0);
	return true;
}

static void
test_only_a_backlog_is_stolen_across_nodes(void **state)
{
	unsigned int i;

	for (i = 0; i < TRIES; i++)
		if (try_backlog())
			return;
	unit_skip("the machine is too slow: a worker counts as stuck before "
		  "the others have looked at it");
}

static int
block_until_told(struct weir_context *ctx, void *state)
{
	atomic_u32_store(&blocker_step, 1, RELEASE);
	rig_wait_until(rig_get(&blocker_go));
	return WEIR_DONE;
}

/* Keeps a worker until end_blocker(). */
static void
block_worker(unsigned int worker)
{
	static const struct weir_task_ops ops = {
		.name = "block until told",
		.poll = block_until_told,
	};
	const struct weir_spawn_attr there = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};

	atomic_u32_store(&blocker_step, 0, RELAXED);
	atomic_u32_store(&blocker_go, 0, RELAXED);
	blocker = weir_task_spawn(rt, &ops, NULL, &there);
	wait_for(&blocker_step, 1, "the blocker");
}

/* What the workers of node 0 have done, all together. */
static struct weir_worker_stats
done_afar(void)
{
	struct weir_worker_stats s, sum = { 0 };
	unsigned int i;

	for (i = 0; i < FAR_WORKER; i++) {
		weir_worker_stats_get(rt, i, &s);
		sum.injected += s.injected;
		sum.parks += s.parks;
		sum.noop_wakes += s.noop_wakes;
	}
	return sum;
}

/* V5: each takes a share, sends it home, and leaves it there for a second then. */
static void
test_tasks_of_another_node_are_not_taken_again_and_again(void **state)
{
	const struct weir_spawn_attr there = {
		.affinity = WEIR_AFFINITY_NODE,
		.node_plus_1 = 2,
	};
	struct weir_worker_stats before, after;
	uint64_t since, seconds;
	unsigned int i;

	create();
	block_worker(FAR_WORKER);
	since = rte_rdtsc();
	before = done_afar();
	for (i = 0; i < 2 * BACKLOG; i++)
		weir_join_detach(weir_task_spawn(rt, &note_ops, NULL, &there));
	wait_for_rounds(FAR_WORKER, ROUNDS);
	after = done_afar();
	seconds = (rte_rdtsc() - since) / rte_get_tsc_hz();
	end_blocker();
	wait_for(&ran, 2 * BACKLOG, "all tasks");
	assert_int_equal(atomic_u32_load(&strays, RELAXED), 0);
	assert_uint_in_range(after.injected, 1,
			     FAR_WORKER * (seconds + 2) * BACKLOG);
	/* Nor is anybody woken for what nobody takes, in a good part of the rounds. */
	assert_uint_in_range(after.noop_wakes - before.noop_wakes, 0,
			     ROUNDS / 10);
	destroy();
}

static void
wait_until_it_takes(unsigned int worker)
{
	struct weir_worker_stats s;
	uint64_t since = rte_rdtsc();

	do {
		expired(since, "a worker that takes from another node");
		sched_yield();
		weir_worker_stats_get(rt, worker, &s);
	} while (s.injected == 0);
}

/* Two nodes with a worker each, of which 1 is kept, and one without. */
static void
create_apart(unsigned int age_us, enum weir_park park)
{
	apart = true;
	create_with(age_us, park);
	apart = false;
	assert_int_equal(weir_worker_retire(rt, 2, 0), 0);
	block_worker(1);
}

/* False if it took so long that the worker may go far again. */
static bool
try_after_strange_ones(void)
{
	const struct weir_spawn_attr bound = {
		.affinity = WEIR_AFFINITY_NODE,
		.node_plus_1 = 2,
	};
	const struct weir_spawn_attr to_none = { .node_plus_1 = 3 };
	uint64_t since, took;
	unsigned int i;

	create_apart(AGE_US, WEIR_PARK_POLL);
	for (i = 0; i < 2 * BACKLOG; i++)
		weir_task_spawn_detached(rt, &note_ops, NULL, &bound);
	wait_until_it_takes(0);
	wait_for_rounds(1, 100);
	since = rte_rdtsc();
	weir_task_spawn_detached(rt, &note_ops, NULL, &to_none);
	wait_for(&ran, 1, "the task of the node without workers");
	took = rte_rdtsc() - since;
	end_blocker();
	wait_for(&ran, 1 + 2 * BACKLOG, "all tasks");
	destroy();
	return took < AGE_US * rte_get_tsc_hz() / 1000000 / 2;
}

/* V5: nobody is at home there. */
static void
test_a_node_without_workers_waits_for_nobody(void **state)
{
	unsigned int i;

	for (i = 0; i < TRIES; i++)
		if (try_after_strange_ones())
			return;
	fail_msg("it waits for half of the time in which nothing is taken");
}

/* V5: it looks again by itself, and long sleeps have no end here. */
static void
test_a_backlog_that_was_left_for_a_while_is_taken(void **state)
{
	const struct weir_spawn_attr bound = {
		.affinity = WEIR_AFFINITY_NODE,
		.node_plus_1 = 2,
	};
	const struct weir_spawn_attr there = { .node_plus_1 = 2 };
	unsigned int i;

	create_apart(AGE_US / 10, WEIR_PARK_INTERRUPT);
	weir_task_spawn_detached(rt, &note_ops, NULL, &bound);
	for (i = 0; i < 4 * BACKLOG; i++)
		weir_task_spawn_detached(rt, &note_ops, NULL, &there);
	wait_for(&ran, 4 * BACKLOG, "all that may run elsewhere");
	end_blocker();
	wait_for(&ran, 4 * BACKLOG + 1, "the other");
	destroy();
}

/* Spawns less than a backlog, and blocks until some of it was stolen. */
static int
block_on_few(struct weir_context *ctx, void *state)
{
	uint64_t since = rte_rdtsc();
	unsigned int i;

	for (i = 0; i < 4; i++)
		weir_join_detach(weir_task_spawn(rt, &note_ops, NULL, NULL));
	while (steals_remote() == 0) {
		if (rte_rdtsc() - since > DEADLINE_S * rte_get_tsc_hz())
			return -ETIMEDOUT;
		sched_yield();
	}
	return WEIR_DONE;
}

static void
test_a_stuck_worker_is_stolen_from_across_nodes(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "block on few",
		.poll = block_on_few,
	};
	const struct weir_spawn_attr far = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = FAR_WORKER,
	};

	create_with_age(1);
	assert_int_equal(
		weir_join_wait(weir_task_spawn(rt, &ops, NULL, &far), NULL), 0);
	wait_for(&ran, 4, "all tasks");
	destroy();
}

/*
 * Sleeps for a moment, as a task of the far node: for so long that the moment is
 * not over while it is being polled, under valgrind either.
 */
static int
doze(struct weir_context *ctx, void *state)
{
	int rc = weir_sleep(ctx, state, 100000000);

	if (rc == 0)
		atomic_u32_fetch_add(&ran, 1, RELEASE);
	else
		atomic_u32_store(&blocker_step, 1, RELEASE);
	return rc;
}

/* Blocks the only worker of its node until a task that slept there has run. */
static int
block_beside_a_sleeper(struct weir_context *ctx, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "doze",
		.state_size = sizeof(struct weir_sleep),
		.poll = doze,
	};
	uint64_t since = rte_rdtsc();
	bool *begun = state;

	if (!*begun)
		weir_join_detach(weir_task_spawn(rt, &ops, NULL, NULL));
	*begun = true;
	if (atomic_u32_load(&blocker_step, ACQUIRE) == 0 &&
	    atomic_u32_load(&ran, ACQUIRE) == 0)
		return weir_context_yield(ctx);
	while (atomic_u32_load(&ran, ACQUIRE) == 0) {
		if (rte_rdtsc() - since > DEADLINE_S * rte_get_tsc_hz())
			return -ETIMEDOUT;
		sched_yield();
	}
	return WEIR_DONE;
}

/* V4: a timer, and the inject queue that it leads to. */
static void
test_a_node_that_is_stuck_is_looked_after_by_others(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "block beside a sleeper",
		.state_size = sizeof(bool),
		.poll = block_beside_a_sleeper,
	};
	const struct weir_spawn_attr far = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = FAR_WORKER,
	};

	create_with_age(500);
	atomic_u32_store(&blocker_step, 0, RELAXED);
	assert_int_equal(
		weir_join_wait(weir_task_spawn(rt, &ops, NULL, &far), NULL), 0);
	destroy();
}

static int
wait_for_ever(struct weir_context *ctx, void *state)
{
	atomic_u32_fetch_add(&ran, 1, RELEASE);
	return WEIR_PENDING;
}

static void
count_drop(void *state)
{
	atomic_u32_fetch_add(&drops, 1, RELAXED);
}

static const struct weir_task_ops wait_ops = {
	.name = "wait",
	.poll = wait_for_ever,
	.drop = count_drop,
};

static void
test_shutdown_ends_the_tasks_of_all_nodes(void **state)
{
	struct weir_spawn_attr attr = { 0 };
	struct weir_runtime_stats stats;
	unsigned int i;

	create();
	for (i = 0; i < 200; i++) {
		attr.node_plus_1 = 1 + i % 2;
		weir_join_detach(weir_task_spawn(rt, &wait_ops, NULL, &attr));
	}
	wait_for(&ran, 200, "tasks of both nodes");
	weir_runtime_stats_get(rt, &stats);
	assert_int_equal(stats.nodes, 2);
	assert_int_equal(stats.live_tasks, 200);
	destroy();
	assert_int_equal(atomic_u32_load(&drops, RELAXED), 200);
}

/* Spawned while a worker of the other node had them. */
static void
test_shutdown_ends_bound_tasks_of_a_worker_that_came_back(void **state)
{
	const struct weir_spawn_attr bound = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = FAR_WORKER,
	};

	create();
	assert_int_equal(weir_worker_retire(rt, FAR_WORKER, 0), 0);
	weir_join_detach(weir_task_spawn(rt, &wait_ops, NULL, &bound));
	wait_for(&ran, 1, "the bound task");
	assert_int_equal(weir_worker_add(rt, FAR_WORKER + 1), FAR_WORKER);
	destroy();
	assert_int_equal(atomic_u32_load(&drops, RELAXED), 1);
}

static struct weir_join *awaited;
static struct atomic_u32 blocked;

static void
await_task(void *arg)
{
	atomic_u32_store(&blocked, 1, RELEASE);
	weir_join_wait(awaited, NULL);
}

static int
block_for_task(struct weir_context *ctx, void *state)
{
	return weir_block_in_place(await_task, NULL);
}

/* Of a node whose lcores are all spare still; no worker can go before it has ended. */
static void
test_shutdown_ends_a_task_that_a_blocked_thread_waits_for(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "block for a task",
		.poll = block_for_task,
	};
	const struct weir_spawn_attr there = { .node_plus_1 = 2 };
	const unsigned int spare = FAR_WORKER + 1;
	struct weir_options o;

	weir_options_init(&o);
	o.nb_workers = FAR_WORKER;
	o.spare_lcores = &spare;
	o.nb_spare_lcores = 1;
	o.task_cells = 1024;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	atomic_u32_store(&ran, 0, RELAXED);
	atomic_u32_store(&drops, 0, RELAXED);
	atomic_u32_store(&blocked, 0, RELAXED);
	awaited = weir_task_spawn(rt, &wait_ops, NULL, &there);
	wait_for(&ran, 1, "the task of the node without workers");
	weir_join_detach(weir_task_spawn(rt, &ops, NULL, NULL));
	wait_for(&blocked, 1, "the function that waits for it");
	assert_int_equal(
		weir_runtime_shutdown(rt, DEADLINE_S * UINT64_C(1000), NULL),
		0);
	assert_int_equal(atomic_u32_load(&drops, RELAXED), 1);
	destroy();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_node_without_memory_is_named),
		TEST(test_a_worker_has_the_node_of_its_memory),
		TEST(test_a_name_is_one_runtimes_on_all_nodes),
		TEST(test_node_tasks_never_leave_their_node),
		TEST(test_a_wake_up_from_another_node_goes_home),
		TEST(test_a_node_without_workers_is_served_by_others),
		TEST(test_a_node_without_workers_does_not_wait_for_idleness),
		TEST(test_nodes_without_workers_are_served_by_turns),
		TEST(test_only_a_backlog_is_stolen_across_nodes),
		TEST(test_tasks_of_another_node_are_not_taken_again_and_again),
		TEST(test_a_node_without_workers_waits_for_nobody),
		TEST(test_a_backlog_that_was_left_for_a_while_is_taken),
		TEST(test_a_stuck_worker_is_stolen_from_across_nodes),
		TEST(test_a_node_that_is_stuck_is_looked_after_by_others),
		TEST(test_shutdown_ends_the_tasks_of_all_nodes),
		TEST(test_shutdown_ends_bound_tasks_of_a_worker_that_came_back),
		TEST(test_shutdown_ends_a_task_that_a_blocked_thread_waits_for),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
