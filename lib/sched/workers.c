/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Workers that come and go.
 *
 * A runtime has a place for every lcore that may ever be a worker of it. What
 * is at a place stays there, so that others look into it without a lock; a
 * worker that has retired leaves empty queues behind. One worker changes at a
 * time.
 *
 * G1 What is in a retired worker's queues goes on: shared tasks through its
 *    node's inject queue, bound ones through its successor's inbox. Whoever
 *    pushes to its inbox across the change looks at the successor afterwards,
 *    and forwards.
 * G2 The chain of successors ends at a worker: a successor works when it is
 *    named, and names one itself before it goes.
 * G3 Sources move first, all at once, so polling never pauses.
 *    Timers go to the successor as well.
 * G4 Shutdown counts a worker until it has moved everything. After that its
 *    thread touches nothing of the runtime.
 * G5 A node without workers is served by others, whatever it holds, and whether
 *    they have work of their own or not (worker.c, L2).
 * G6 Of the tasks bound to one worker, no two are polled or dropped at a time,
 *    across a change too: a worker names its successor after its last poll, and
 *    comes back when the one who has its tasks meanwhile is between two polls
 *    and nothing blocks its thread. Whoever finds a task in its queues that is
 *    another's by now sends it on.
 */

#include <errno.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "base/lock.h"
#include "base/race.h"
#include "sched/scheduler.h"

struct worker *
weir__worker_for(const struct weir_runtime *rt, unsigned int index)
{
	struct worker *w = rt->workers[index];
	uint32_t next;

	/*
	 * [workers:A1] what the tasks did where they were polled before: they
	 * may share it without a lock (G6).
	 */
	while ((next = atomic_u32_load(&w->successor, ACQUIRE)) != 0)
		w = rt->workers[next - 1];
	return w;
}

void
weir__forward_inbox(struct worker *w)
{
	struct task_chain left;
	struct task *t;

	task_chain_init(&left);
	weir__inbox_take_any(&w->inbox, &left);
	while ((t = task_chain_pop(&left)) != NULL)
		weir__place(t);
}

/* What only the worker itself can move. */
static void
move_tasks(struct core *c)
{
	struct worker *w = worker_of(c);
	struct worker *successor = weir__worker_for(w->rt, w->index);
	struct task *shared[RUN_QUEUE_SIZE + 1], *t;
	unsigned int n = 0;

	weir__schedule_deferred(c);
	if ((t = slot_take_owner(&c->lifo)) != NULL)
		shared[n++] = t;
	while ((t = run_queue_pop_owner(&w->queue)) != NULL)
		shared[n++] = t;
	weir__inject(w->node, shared, n);
	while (inbox_pending(&w->inbox))
		counter_add(&w->counters, injected,
			    weir__inbox_take_owner(&w->inbox, &c->local));
	while ((t = task_chain_pop(&c->local)) != NULL)
		weir__place(t);
	weir__timers_move(&w->timers, &successor->timers);
	/*
	 * [workers:F1] pairs with the fence behind a send to the inbox: a sender whose task
	 * is not seen here sees the successor. Without it both could look too
	 * early, and the task would never run (G1). [sleep:F1] And the timers are
	 * there before we look whether the successor sleeps.
	 */
	atomic_fence(SEQ_CST);
	sleeper_call(&successor->sleeper, RELAXED);
	weir__forward_inbox(w);
}

/* G6. False: the runtime ends, and the worker ends its tasks itself. */
static bool
name_successor(struct worker *w)
{
	struct weir_runtime *rt = w->rt;
	bool goes;

	pthread_mutex_lock(&rt->mutex);
	goes = rt->phase == RUNTIME_RUNNING;
	if (goes)
		/* [workers:A1] */
		atomic_u32_store(&w->successor, rt->heir->index + 1, RELEASE);
	pthread_mutex_unlock(&rt->mutex);
	return goes;
}

void
weir__retire_worker(struct core *c)
{
	struct worker *w = worker_of(c);
	struct weir_runtime *rt = w->rt;
	bool goes;

	if (c->searching)
		weir__stop_searching(c);
	/* As in weir__worker_let_go(). */
	weir__give_turns_back(c);
	/* Before anything is moved: to move is to look at the successor. */
	if (!name_successor(w)) {
		weir__shutdown_worker(c, DRIVER_HOME);
		return;
	}
	weir__idle_remove_worker(&w->node->idle);
	if (idle_workers(&w->node->idle) == 0)
		atomic_u32_fetch_add(&rt->deserted, 1, RELAXED);
	move_tasks(c);
	/* Nobody is to find it stuck. */
	atomic_u64_store(&w->sources.last_poll, 0, RELAXED);
	weir__notify(w->node, NULL);
	pthread_mutex_lock(&rt->mutex);
	/* G4: a shutdown that began meanwhile counts on us. */
	goes = rt->phase == RUNTIME_RUNNING;
	if (goes) {
		rt->nb_active--;
		atomic_u32_store(&w->active, 0, RELAXED);
		pthread_cond_broadcast(&rt->changed);
	}
	pthread_mutex_unlock(&rt->mutex);
	if (!goes)
		weir__shutdown_worker(c, DRIVER_HOME);
}

void
weir__worker_enable(struct worker *w)
{
	weir__source_set_open(&w->sources);
	if (idle_workers(&w->node->idle) == 0)
		atomic_u32_fetch_sub(&w->rt->deserted, 1, RELAXED);
	weir__idle_add_worker(&w->node->idle);
	/* Others see that it is stuck, until it runs. */
	atomic_u64_store(&w->sources.last_poll, rte_rdtsc(), RELAXED);
	atomic_u32_store(&w->active, 1, RELAXED);
	atomic_u32_store(&w->settled, 1, RELAXED);
	/*
	 * From here on its tasks are its own. Only its thread polls them then,
	 * and that is launched later.
	 */
	atomic_u32_store(&w->successor, 0, RELAXED);
}

/* With the mutex. */
static void
let_return(struct weir_runtime *rt)
{
	struct worker *w = rt->returning;

	/* A shutdown finds its tasks where they are. */
	if (w == NULL || rt->phase != RUNTIME_RUNNING)
		return;
	rt->returning = NULL;
	rt->nb_active++;
	atomic_u32_fetch_and(&w->attention, ~ATTENTION_RETIRE, RELAXED);
	weir__worker_enable(w);
	pthread_cond_broadcast(&rt->changed);
}

void
weir__worker_let_go(struct core *c)
{
	struct worker *w = worker_of(c);
	struct weir_runtime *rt = w->rt;

	/* Those that end have been its own until now (G6). */
	weir__give_turns_back(c);
	pthread_mutex_lock(&rt->mutex);
	atomic_u32_fetch_and(&w->attention, ~ATTENTION_RETURN, RELAXED);
	let_return(rt);
	pthread_mutex_unlock(&rt->mutex);
	/* What runs next may take long: others can have the rest until then (H3). */
	weir__schedule_deferred(c);
	tell_of_all(c);
}

int
weir__may_change_workers(const struct weir_runtime *rt)
{
	if (weir__on_worker() || weir__blocked_in(rt))
		return -EDEADLK;
	return rt->options.current_thread ? -ENOTSUP : 0;
}

/* Waits for its turn to change the workers. */
static int
begin_change(struct weir_runtime *rt)
{
	int rc = weir__may_change_workers(rt);

	if (rc < 0)
		return rc;
	pthread_mutex_lock(&rt->mutex);
	while (rt->changing && rt->phase == RUNTIME_RUNNING)
		pthread_cond_wait(&rt->changed, &rt->mutex);
	if (rt->phase == RUNTIME_RUNNING)
		rt->changing = true;
	else
		rc = -ESHUTDOWN;
	pthread_mutex_unlock(&rt->mutex);
	return rc;
}

static int
end_change(struct weir_runtime *rt, int rc)
{
	pthread_mutex_lock(&rt->mutex);
	rt->changing = false;
	pthread_cond_broadcast(&rt->changed);
	pthread_mutex_unlock(&rt->mutex);
	return rc;
}

/*
 * Lcores that are some runtime's. EAL says that one is free while it is about to be
 * launched on, which may take long, and again when its thread is back before those who
 * wait for that have seen it; another runtime may have a place there.
 */
static struct lock taken[RTE_MAX_LCORE];

int
weir__lcore_take(unsigned int lcore)
{
	if (!lock_take(&taken[lcore]))
		return -EBUSY;
	if (rte_eal_get_lcore_state(lcore) == WAIT)
		return 0;
	weir__lcore_leave(lcore);
	return -EBUSY;
}

void
weir__lcore_leave(unsigned int lcore)
{
	lock_release(&taken[lcore]);
}

void
weir__lcore_give_back(struct worker *w)
{
	rte_eal_wait_lcore(w->lcore);
	race_acquire(w); /* the lcore's state says that its thread is back */
	weir__lcore_leave(w->lcore);
}

static int
retire(struct weir_runtime *rt, unsigned int worker, unsigned int successor)
{
	struct worker *w, *s;
	bool active;
	int rc;

	if (worker >= rt->nb_workers || successor >= rt->nb_workers ||
	    worker == successor)
		return -EINVAL;
	w = rt->workers[worker];
	s = rt->workers[successor];
	if (!worker_active(w) || !worker_active(s))
		return -EINVAL;
	rc = weir__source_set_hand_over(&w->sources, &s->sources);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&rt->mutex);
	rt->heir = s;
	weir__worker_call(w, ATTENTION_RETIRE);
	while (worker_active(w) && rt->phase == RUNTIME_RUNNING)
		pthread_cond_wait(&rt->changed, &rt->mutex);
	active = worker_active(w);
	pthread_mutex_unlock(&rt->mutex);
	if (active)
		return -ESHUTDOWN;
	weir__lcore_give_back(w);
	return 0;
}

int
weir_worker_retire(struct weir_runtime *rt, unsigned int worker,
		   unsigned int successor)
{
	int cancel = cancel_defer(), rc = begin_change(rt);

	if (rc == 0)
		rc = end_change(rt, retire(rt, worker, successor));
	cancel_allow(cancel);
	return rc;
}

/* Waits until the worker has its tasks back and counts. */
static int
take_place(struct worker *w)
{
	struct weir_runtime *rt = w->rt;
	struct worker *stand_in = weir__worker_for(rt, w->index);
	bool active;

	pthread_mutex_lock(&rt->mutex);
	rt->returning = w;
	if (stand_in == w)
		let_return(rt);
	else
		weir__worker_call(stand_in, ATTENTION_RETURN);
	while (!worker_active(w) && rt->phase == RUNTIME_RUNNING)
		pthread_cond_wait(&rt->changed, &rt->mutex);
	active = worker_active(w);
	pthread_mutex_unlock(&rt->mutex);
	return active ? 0 : -ESHUTDOWN;
}

/* With the lcore. */
static int
launch(struct worker *w)
{
	int rc = take_place(w);

	if (rc < 0)
		return rc;
	/* In a shutdown too, which counts on it now. */
	race_release(w); /* to the lcore's thread */
	rc = rte_eal_remote_launch(weir__worker_main, w, w->lcore);
	WEIR_ASSERT(rc == 0, "weir_worker_add(): the main lcore launches too");
	return rc;
}

static int
add(struct weir_runtime *rt, unsigned int lcore)
{
	int rc, worker = weir_runtime_worker_of_lcore(rt, lcore);
	struct worker *w;

	if (worker < 0)
		return -EINVAL;
	w = rt->workers[worker];
	if (worker_active(w))
		return -EEXIST;
	rc = weir__lcore_take(lcore);
	if (rc < 0)
		return rc;
	rc = launch(w);
	if (rc < 0)
		weir__lcore_leave(lcore);
	return rc < 0 ? rc : worker;
}

bool
weir_worker_is_active(const struct weir_runtime *rt, unsigned int worker)
{
	return worker < rt->nb_workers && worker_active(rt->workers[worker]);
}

int
weir_worker_add(struct weir_runtime *rt, unsigned int lcore)
{
	int cancel = cancel_defer(), rc = begin_change(rt);

	if (rc == 0)
		rc = end_change(rt, add(rt, lcore));
	cancel_allow(cancel);
	return rc;
}
