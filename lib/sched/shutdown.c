/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shutdown in six steps, after tokio's multi-thread worker:
 *
 *	1 close the owned lists and the inject queues, raise the flag
 *	2 each worker sees the flag between two tasks, asleep or not
 *	3 in parallel, workers end all tasks on their node's lists
 *	4 each hands in its core; the last one goes on alone
 *	5 it empties the workers' queues, then the inject queues
 *	6 sources are closed, memory is returned by weir_runtime_free()
 *
 * Z1 A spawn either binds its task before the owned list closes, and step 3
 *    ends it, or is refused and ends it itself (O2).
 * Z2 A notification is pushed before an inject queue closes, and step 5 drops
 *    it, or is refused and dropped by its pusher, or is pushed across the end
 *    and dropped by either (inject.c, I4).
 * Z3 After step 4 no task runs and none is left; what steps 5 finds are
 *    notifications of tasks that have ended.
 */

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>

#include "base/log.h"
#include "sched/scheduler.h"

/* Step 1, once. */
static void
close_all(struct weir_runtime *rt)
{
	unsigned int i;

	for (i = 0; i < rt->nb_nodes; i++)
		weir__owned_close(&rt->nodes[i]->home.owned);
	for (i = 0; i < rt->nb_nodes; i++)
		weir__inject_close(&rt->nodes[i]->inject);
	for (i = 0; i < rt->nb_workers; i++)
		weir__inject_close(&rt->workers[i]->inbox);
	/* [shutdown:A1] closed lists before the flag. */
	atomic_u32_store(&rt->stopping, 1, RELEASE);
}

/* Step 5 for one worker, whose thread is done with it. */
static void
empty_worker(struct worker *w)
{
	struct core *c = w->core;
	struct task *t;

	if (c->lifo != NULL)
		weir__task_drop_notification(c->lifo);
	c->lifo = NULL;
	weir__drop_chain(&c->local);
	weir__drop_chain(&c->deferred);
	while ((t = weir__run_queue_pop_owner(&w->queue)) != NULL)
		weir__task_drop_notification(t);
	weir__inject_finish(&w->inbox);
}

static uint64_t
entries_left(const struct weir_runtime *rt)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < rt->nb_nodes; i++)
		n += weir__inject_len(&rt->nodes[i]->inject);
	for (i = 0; i < rt->nb_workers; i++) {
		const struct worker *w = rt->workers[i];

		n += weir__inject_len(&w->inbox);
		n += weir__run_queue_len_any(&w->queue);
		n += w->core->local.n + w->core->deferred.n;
		n += w->core->lifo != NULL;
	}
	return n;
}

/* Steps 3 to 6, on a worker that has left its loop. */
void
weir__shutdown_worker(struct core *c)
{
	struct worker *w = c->worker;
	struct weir_runtime *rt = w->rt;
	unsigned int i;

	weir__owned_shutdown(&w->node->home.owned, w->idle_bit);
	/* [shutdown:A2] the last one sees all that the others left behind. */
	if (atomic_u32_fetch_add(&rt->cores_out, 1, ACQ_REL) + 1 <
	    rt->nb_workers)
		return;
	for (i = 0; i < rt->nb_workers; i++)
		empty_worker(rt->workers[i]);
	for (i = 0; i < rt->nb_nodes; i++)
		weir__inject_finish(&rt->nodes[i]->inject);
	for (i = 0; i < rt->nb_workers; i++)
		weir__source_set_close(&rt->workers[i]->sources);
	pthread_mutex_lock(&rt->mutex);
	rt->phase = RUNTIME_STOPPED;
	pthread_cond_broadcast(&rt->stopped);
	pthread_mutex_unlock(&rt->mutex);
}

static struct timespec
deadline_of(uint64_t timeout_ms)
{
	struct timespec ts;
	/* Farther than this is for ever, and must not wrap. */
	const uint64_t longest_ms = UINT64_C(1000) * 3600 * 24 * 365;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	timeout_ms = RTE_MIN(timeout_ms, longest_ms);
	ts.tv_sec += (time_t)(timeout_ms / 1000);
	ts.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return ts;
}

/*
 * Until the worker threads have returned to EAL: from here on the lcores may
 * be another's. With the mutex, which no worker takes any more.
 */
static void
give_lcores_back(struct weir_runtime *rt)
{
	unsigned int i;

	for (i = 0; i < rt->nb_workers && !rt->lcores_back; i++)
		rte_eal_wait_lcore(rt->places[i].lcore);
	rt->lcores_back = true;
}

/*
 * What nobody has dropped. A pusher that was caught by the end drops its entry
 * itself (Z2), as soon as it runs again: it gets a second.
 */
static uint64_t
settled_entries(const struct weir_runtime *rt)
{
	uint64_t since = rte_rdtsc(), n;

	while ((n = entries_left(rt)) > 0 &&
	       rte_rdtsc() - since < rte_get_tsc_hz())
		sched_yield();
	return n;
}

static void
fill_report(struct weir_runtime *rt, struct weir_shutdown_report *report)
{
	unsigned int i;

	/* A worker that has not handed in its core is inside a task. */
	/* [shutdown:A2] */
	report->live_tasks =
		rt->nb_workers - atomic_u32_load(&rt->cores_out, ACQUIRE);
	for (i = 0; i < rt->nb_nodes; i++)
		report->live_tasks +=
			weir__owned_count(&rt->nodes[i]->home.owned);
	report->ring_entries =
		rt->phase == RUNTIME_STOPPED ? settled_entries(rt) : 0;
}

/* Step 1, whoever comes first. With the mutex. */
static void
begin(struct weir_runtime *rt, int failure)
{
	if (rt->phase != RUNTIME_RUNNING)
		return;
	rt->phase = RUNTIME_STOPPING;
	rt->failure = failure;
	close_all(rt);
}

void
weir_runtime_shutdown_begin(struct weir_runtime *rt)
{
	pthread_mutex_lock(&rt->mutex);
	begin(rt, 0);
	pthread_mutex_unlock(&rt->mutex);
}

int
weir__shutdown_reason(struct weir_runtime *rt)
{
	int failure;

	pthread_mutex_lock(&rt->mutex);
	failure = rt->failure;
	pthread_mutex_unlock(&rt->mutex);
	return failure != 0 ? failure : -ECANCELED;
}

void
weir__task_failed(const struct task *t)
{
	struct weir_runtime *rt = node_of_home(t->home)->rt;

	WEIR_LOG(ERR,
		 "task %s (%" PRIx64 ") failed, and nobody awaits it: %s\n",
		 t->ops->name, t->id, rte_strerror(-t->outcome));
	if (rt->options.on_failure != WEIR_FAILURE_SHUTDOWN)
		return;
	pthread_mutex_lock(&rt->mutex);
	begin(rt, t->outcome);
	pthread_mutex_unlock(&rt->mutex);
}

int
weir_runtime_shutdown(struct weir_runtime *rt, uint64_t timeout_ms,
		      struct weir_shutdown_report *report)
{
	struct timespec deadline = deadline_of(timeout_ms);
	int rc = 0;

	if (weir__on_worker())
		return -EDEADLK;
	pthread_mutex_lock(&rt->mutex);
	begin(rt, 0);
	if (rt->options.current_thread)
		weir__current_shutdown(rt);
	while (rt->phase != RUNTIME_STOPPED && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&rt->stopped, &rt->mutex,
					    &deadline);
	rc = rt->phase == RUNTIME_STOPPED ? 0 : -ETIMEDOUT;
	if (rc == 0 && !rt->options.current_thread)
		give_lcores_back(rt);
	if (report != NULL)
		fill_report(rt, report);
	pthread_mutex_unlock(&rt->mutex);
	return rc;
}
