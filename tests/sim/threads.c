/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Plain threads beside the workers: some use tasks from outside, and one for
 * each runtime changes its workers and sources while all goes on.
 */

#include <errno.h>
#include <pthread.h>

#include "sched/weir_dump.h"
#include "sim.h"
#include "weir_event.h"

#define THREADS_MAX 8

static pthread_t threads[THREADS_MAX];
static unsigned int nb_threads;
static pthread_t hammer;
static bool has_hammer;

static bool
never(const void *arg)
{
	return false;
}

void
sim_sleep(uint64_t cycles)
{
	kernel_await_until(never, NULL, kernel_now() + cycles);
}

static unsigned int
any_runtime(void)
{
	return any(sim.plan.nb_runtimes);
}

/* In a current-thread runtime tasks run while somebody is in block_on. */
static void
use_and_wait(unsigned int rt)
{
	struct sim_task *t;

	if (sim.plan.current_thread[rt]) {
		task_block_on(rt, ACTOR_YIELD);
		return;
	}
	t = task_start(rt, ACTOR_TREE, -1);
	if (t == NULL)
		return;
	if (one_in(4))
		task_abort(t);
	task_wait(t);
}

static void
use_and_go(unsigned int rt)
{
	struct sim_task *t = task_start(rt, ACTOR_YIELD, -1);

	if (t == NULL)
		return;
	if (one_in(2))
		task_abort(t);
	task_detach(t);
}

static void
use_job(unsigned int rt)
{
	struct sim_task *t = task_start_job(rt);

	if (t == NULL)
		return;
	if (one_in(4))
		task_abort(t);
	if (one_in(2))
		task_wait(t);
	else
		task_detach(t);
}

static void
look(unsigned int rt)
{
	struct weir_task_entry entries[8];
	struct weir_runtime_stats stats;

	weir_task_list(sim.rt[rt], entries, RTE_DIM(entries));
	weir_runtime_stats_get(sim.rt[rt], &stats);
}

/* By an abort handle, which is there until the end: a join handle is its holder's. */
static void
abort_any(void)
{
	struct sim_task *t = &sim_tasks[any(nb_sim_tasks)];

	if (t->abort != NULL)
		task_abort(t);
}

static void
use(unsigned int rt)
{
	switch (any(12)) {
	case 0:
		use_and_wait(rt);
		break;
	case 1:
		use_and_go(rt);
		break;
	case 2:
		use_job(rt);
		break;
	case 3:
		task_block_on(rt, ACTOR_LEAF);
		break;
	case 4:
		look(rt);
		break;
	case 5:
		task_post_event(rt);
		break;
	case 6:
		abort_any();
		break;
	default:
		task_wake_sleepers(1 + any(3));
		break;
	}
}

/*
 * Wakes without rest, across whatever the others do: the end of the runtimes
 * too, since wakers outlive them.
 */
static void *
hammer_main(void *arg)
{
	unsigned int i;

	for (i = 0; i < 5 * sim.plan.nb_changes; i++)
		task_wake_sleepers(1 + any(2));
	return NULL;
}

static void *
user_main(void *arg)
{
	unsigned int i;

	for (i = 0; i < sim.plan.nb_changes; i++) {
		use(any_runtime());
		if (one_in(sim.plan.early_end ? 16 : 2))
			sim_sleep(any(30000));
	}
	return NULL;
}

/* Is the error one that this call may give now? */
static void
expect(const char *what, unsigned int rt, int rc, int also)
{
	if (rc >= 0 || rc == also || (rc == -ENOMEM && sim.plan.odds[0] != 0) ||
	    (rc == -ESHUTDOWN && sim.ending[rt]))
		return;
	virtual_failed("%s: %d", what, rc);
}

static unsigned int
any_worker(unsigned int rt, bool active)
{
	unsigned int n = sim.plan.nb_workers[rt], i = any(n), tries;

	for (tries = 0; tries < n; tries++, i = (i + 1) % n)
		if (weir_worker_is_active(sim.rt[rt], i) == active)
			break;
	return i;
}

static void
retire(unsigned int rt)
{
	unsigned int w = any_worker(rt, true), s = any_worker(rt, true);
	int rc;

	if (one_in(2))
		policy_stall_one();
	rc = weir_worker_retire(sim.rt[rt], w, s);
	/* There may be one only. */
	expect("weir_worker_retire", rt, rc, w == s ? -EINVAL : 0);
	seen[SEEN_RETIRED] += rc == 0;
}

static void
add(unsigned int rt)
{
	unsigned int w = any_worker(rt, false);
	int rc = weir_worker_add(sim.rt[rt], sim.rt[rt]->places[w].lcore);

	expect("weir_worker_add", rt, rc, -EEXIST);
	seen[SEEN_ADDED] += rc >= 0;
}

/* A source of the runtime, or -1. */
static int
any_source(unsigned int rt)
{
	unsigned int i;

	if (sim.plan.nb_sources == 0)
		return -1;
	i = any(sim.plan.nb_sources);
	return traffic_source(i) != NULL && traffic_rt(i) == rt ? (int)i : -1;
}

static void
move(unsigned int rt)
{
	int i = any_source(rt), rc;

	if (i < 0)
		return;
	rc = weir_source_move(traffic_source((unsigned int)i), sim.rt[rt],
			      any_worker(rt, true));
	/* Nobody else changes its workers; one may have been on its way out. */
	expect("weir_source_move", rt, rc, sim.ending[rt] ? -EINVAL : 0);
	seen[SEEN_MOVED] += rc == 0;
}

static void
disturb(unsigned int rt)
{
	int i = any_source(rt);

	if (i < 0)
		return;
	if (!one_in(4)) {
		weir_source_alert(traffic_source((unsigned int)i), ENETDOWN);
		return;
	}
	traffic_close((unsigned int)i);
	seen[SEEN_CLOSED]++;
}

/* Workers look into their arrays of sources meanwhile. */
static void
come_and_go(unsigned int rt)
{
	struct weir_event *event =
		weir_event_create(sim.rt[rt], any(sim.plan.nb_workers[rt]));

	if (event == NULL)
		return;
	weir_event_post(event);
	weir_event_free(event);
}

static void
change(unsigned int rt)
{
	switch (any(9)) {
	case 0:
	case 1:
		retire(rt);
		break;
	case 2:
	case 3:
		add(rt);
		break;
	case 4:
		move(rt);
		break;
	case 5:
		disturb(rt);
		break;
	case 6:
		come_and_go(rt);
		break;
	default:
		weir_worker_park_set(sim.rt[rt], any(sim.plan.nb_workers[rt]),
				     (enum weir_park)any(4));
		break;
	}
}

static void *
changer_main(void *arg)
{
	unsigned int rt = (unsigned int)(uintptr_t)arg, i;

	for (i = 0; i < sim.plan.nb_changes; i++) {
		if (sim.plan.current_thread[rt])
			disturb(rt);
		else
			change(rt);
		sim_sleep(any(50000));
	}
	return NULL;
}

static void
start(void *(*main)(void *arg), void *arg)
{
	/* There may be no thread to be had. */
	if (pthread_create(&threads[nb_threads], NULL, main, arg) == 0)
		nb_threads++;
}

void
threads_start(void)
{
	unsigned int i;

	nb_threads = 0;
	has_hammer = one_in(2) &&
		     pthread_create(&hammer, NULL, hammer_main, NULL) == 0;
	for (i = 0; i < sim.plan.nb_threads; i++)
		start(user_main, NULL);
	for (i = 0; i < sim.plan.nb_runtimes; i++)
		start(changer_main, (void *)(uintptr_t)i);
}

void
threads_join(void)
{
	unsigned int i;

	for (i = 0; i < nb_threads; i++)
		pthread_join(threads[i], NULL);
}

void
threads_join_last(void)
{
	if (has_hammer)
		pthread_join(hammer, NULL);
}
