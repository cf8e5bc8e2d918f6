/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shutdown in six steps, after tokio's multi-thread worker:
 *
 *	1 have no task begin (task/owned.c), close the inject queues, raise the
 *	  flag; close the blocking pool
 *	2 each worker sees the flag between two tasks, asleep or not
 *	3 in parallel, workers have those in their queues give their turns back
 *	  (task/run.h, N2), empty their node's inject queue, and end all tasks of the
 *	  node, those that are bound to a worker on that one (owned.c, O6)
 *	4 each hands in its core; the last one goes on alone, and ends what is left
 *	5 it empties the workers' queues, then the inject queues
 *	6 sources are closed, the pool's threads awaited; memory is returned
 *	  by weir_runtime_free()
 *
 * Z1 A spawn either begins its task before it can know of step 1, and step 3 or 4
 *    ends it, or is refused, maybe late, and ends it itself (O2).
 * Z2 A notification is pushed before an inject queue closes, and step 3 or 5 drops
 *    it, or is refused and dropped by its pusher, or is pushed across the end
 *    and dropped by either (inject.c, I4).
 * Z3 After step 4 no task runs and none is left but in the hands of a spawner that was
 *    late; what step 5 finds are notifications of tasks that have ended.
 * Z4 A blocking job is taken off its queue before the pool closes, and step 6
 *    awaits it, or by step 1, which drops it and holds no mutex by then.
 * Z5 A task that has its turn with it in an inject queue came from a worker of that
 *    queue's node, which takes it out in step 3, if nobody else has; or, if that has gone
 *    before, those who end the node's tasks do. What such a push is behind, and hidden
 *    by, is awaited there.
 */

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>

#include "base/log.h"
#include "base/race.h"
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
		/* [attention:A1] no task begins behind the call (owned.c, O2). */
		weir__worker_call(rt->workers[i], ATTENTION_STOP);
}

/* Gives back the references of notifications that nobody will run. */
static void
drop_chain(struct task_chain *c)
{
	struct task *t;

	while ((t = task_chain_pop(c)) != NULL)
		weir__task_drop_notification(t);
}

/* Step 5 for one worker, whose thread is done with it: [shutdown:A2]. */
static void
empty_worker(struct worker *w)
{
	struct core *c = &w->core;
	struct task *t;

	if ((t = slot_take_owner(&c->lifo)) != NULL)
		weir__task_drop_notification(t);
	drop_chain(&c->local);
	weir__chain_yielded(c);
	drop_chain(&c->deferred);
	while ((t = run_queue_pop_owner(&w->queue)) != NULL)
		weir__task_drop_notification(t);
	weir__inbox_close(&w->inbox);
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

		n += weir__inbox_len(&w->inbox);
		n += weir__run_queue_len_any(&w->queue);
		n += run_queue_batch(&w->queue);
		n += task_chain_len(&w->core.local) +
		     core_nb_deferred(&w->core);
		n += slot_peek_owner(&w->core.lifo) != NULL;
	}
	return n;
}

/* A place whose lcore is spare still (else its successor is asked for), where nobody is. */
static bool
is_deserted(const struct worker *place)
{
	return !worker_active(place) && idle_workers(&place->node->idle) == 0;
}

/*
 * Step 3 for one worker, and for those whose successor it is. Nothing is bound to a place
 * whose lcore is still spare; but its node may have tasks, for which functions may wait
 * that block others' threads (handoff.c, C3).
 */
static void
end_tasks_of(struct worker *w)
{
	const struct weir_runtime *rt = w->rt;
	const struct worker *v;
	unsigned int i;

	/* Z5: also if it has a successor by now. */
	weir__inject_empty(&w->node->inject);
	for (i = 0; i < rt->nb_workers; i++) {
		v = weir__worker_for(rt, i);
		if (v != w && !is_deserted(v))
			continue;
		weir__inject_empty(&rt->workers[i]->node->inject);
		weir__owned_shutdown(&rt->workers[i]->node->home, i, &w->live);
	}
}

/* Steps 3 to 6, on a worker that has left its loop. */
void
weir__shutdown_worker(struct core *c, enum driver driver)
{
	struct worker *w = worker_of(c);
	struct weir_runtime *rt = w->rt;
	unsigned int i;

	weir__give_turns_back(c);
	end_tasks_of(w);
	/* Tasks that block their threads end there (handoff.c, C3). */
	if (!weir__handoff_settle(c, driver))
		return;
	/* [shutdown:A2] the last one sees all that the others left behind. */
	if (atomic_u32_fetch_add(&rt->cores_out, 1, ACQ_REL) + 1 <
	    rt->nb_active)
		return;
	/* Those of nodes without workers, and of who spawned until now (O2). */
	for (i = 0; i < rt->nb_nodes; i++)
		weir__owned_shutdown(&rt->nodes[i]->home, OWNED_ALL_WORKERS,
				     &w->live);
	for (i = 0; i < rt->nb_workers; i++)
		empty_worker(rt->workers[i]);
	for (i = 0; i < rt->nb_nodes; i++)
		weir__inject_finish(&rt->nodes[i]->inject);
	for (i = 0; i < rt->nb_workers; i++)
		weir__source_set_close(&rt->workers[i]->sources);
	pthread_mutex_lock(&rt->mutex);
	rt->phase = RUNTIME_STOPPED;
	pthread_cond_broadcast(&rt->changed);
	pthread_mutex_unlock(&rt->mutex);
}

struct timespec
weir__deadline(uint64_t ms)
{
	struct timespec ts;
	/* Farther than this is for ever, and must not wrap. */
	const uint64_t longest_ms = UINT64_C(1000) * 3600 * 24 * 365;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ms = RTE_MIN(ms, longest_ms);
	ts.tv_sec += (time_t)(ms / 1000);
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
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

	for (i = 0; i < rt->nb_workers && !rt->lcores_back; i++) {
		if (worker_active(rt->workers[i]))
			weir__lcore_give_back(rt->workers[i]);
	}
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

/* Names the task; running ones stay in front, and push out others. */
static bool
name_task(const struct task_view *v, void *arg)
{
	struct weir_shutdown_report *report = arg;
	const struct weir_task_info info = { v->id, v->ops->name };

	if ((v->state & STATE_RUNNING) && !(v->polls & TASK_KEPT)) {
		if (report->nb_tasks < WEIR_REPORT_TASKS)
			report->tasks[report->nb_tasks++] =
				report->tasks[report->nb_running];
		report->tasks[report->nb_running++] = info;
	} else if (report->nb_tasks < WEIR_REPORT_TASKS) {
		report->tasks[report->nb_tasks++] = info;
	}
	return report->nb_running < WEIR_REPORT_TASKS;
}

static void
fill_report(struct weir_runtime *rt, struct weir_shutdown_report *report)
{
	unsigned int i;

	memset(report, 0, sizeof(*report));
	for (i = 0; i < rt->nb_nodes; i++) {
		struct task_home *home = &rt->nodes[i]->home;

		report->live_tasks += weir__owned_count(&home->owned);
		report->stacks +=
			atomic_u64_load(&home->stacks.in_use, RELAXED);
	}
	for (i = 0; i < rt->nb_nodes && report->nb_running < WEIR_REPORT_TASKS;
	     i++)
		weir__owned_walk(&rt->nodes[i]->home, name_task, report);
	report->ring_entries =
		rt->phase == RUNTIME_STOPPED ? settled_entries(rt) : 0;
	report->blocking = atomic_u32_load(&rt->blocking.queued, RELAXED) +
			   atomic_u32_load(&rt->blocking.running, RELAXED);
}

static void
log_report(const struct weir_shutdown_report *report)
{
	unsigned int i;

	for (i = 0; i < report->nb_tasks; i++)
		WEIR_LOG(WARNING, "task %s (%" PRIx64 ") does not end%s\n",
			 report->tasks[i].name, report->tasks[i].id,
			 i < report->nb_running ? ": it is running" : "");
	if (report->live_tasks > report->nb_tasks)
		WEIR_LOG(WARNING, "%" PRIu64 " more tasks do not end\n",
			 report->live_tasks - report->nb_tasks);
	if (report->blocking > 0)
		WEIR_LOG(WARNING, "%" PRIu64 " blocking jobs do not end\n",
			 report->blocking);
}

/* Step 1, whoever comes first. */
static void
begin(struct weir_runtime *rt, int failure)
{
	int cancel = cancel_defer();
	bool counts;

	pthread_mutex_lock(&rt->mutex);
	/*
	 * Whom the end lets go may free the runtime, but not before we are out of
	 * here. Who comes after the end cannot have let anybody go, and must not
	 * take back what others have been told.
	 */
	counts = rt->phase != RUNTIME_STOPPED;
	rt->nb_beginning += counts;
	if (rt->phase == RUNTIME_RUNNING) {
		rt->phase = RUNTIME_STOPPING;
		rt->failure = failure;
		close_all(rt);
		/* Whoever waits to change the workers. */
		pthread_cond_broadcast(&rt->changed);
	}
	pthread_mutex_unlock(&rt->mutex);
	/*
	 * Whoever comes later must find these closed as well. Who makes or moves a source
	 * waits for the workers, which may never come round again.
	 */
	weir__source_registry_close(&rt->sources);
	weir__blocking_close(rt);
	if (counts) {
		pthread_mutex_lock(&rt->mutex);
		if (--rt->nb_beginning == 0)
			pthread_cond_broadcast(&rt->changed);
		pthread_mutex_unlock(&rt->mutex);
	}
	cancel_allow(cancel);
}

void
weir_runtime_shutdown_begin(struct weir_runtime *rt)
{
	begin(rt, 0);
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
	int cancel = cancel_defer();
	bool ends;

	pthread_mutex_lock(&rt->mutex);
	ends = rt->phase != RUNTIME_RUNNING;
	pthread_mutex_unlock(&rt->mutex);
	/* Whom it talked to may have been dropped before it. */
	if (!ends || t->outcome != -EPIPE)
		WEIR_LOG(ERR,
			 "task %s (%" PRIx64
			 ") failed, and nobody awaits it: %s\n",
			 task_ops(t)->name, task_id(t),
			 rte_strerror(-t->outcome));
	if (rt->options.on_failure == WEIR_FAILURE_SHUTDOWN)
		begin(rt, t->outcome);
	cancel_allow(cancel);
}

/*
 * With the mutex. Who is in the middle of changing the workers looks at them yet, who
 * drives the core of a current-thread runtime calls its hooks, and who is in step 1
 * closes the pool.
 */
static bool
has_stopped(const struct weir_runtime *rt)
{
	return rt->phase == RUNTIME_STOPPED && !rt->changing &&
	       !rt->core_taken && rt->nb_beginning == 0;
}

static int
shut_down(struct weir_runtime *rt, uint64_t timeout_ms,
	  struct weir_shutdown_report *report)
{
	struct timespec deadline = weir__deadline(timeout_ms);
	struct weir_shutdown_report left;
	int rc = 0;

	if (weir__on_worker() || weir__blocking_inside(rt) ||
	    weir__blocked_in(rt))
		return -EDEADLK;
	begin(rt, 0);
	pthread_mutex_lock(&rt->mutex);
	if (rt->options.current_thread)
		weir__current_shutdown(rt);
	while (!has_stopped(rt) && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&rt->changed, &rt->mutex,
					    &deadline);
	rc = has_stopped(rt) ? 0 : -ETIMEDOUT;
	if (rc == 0 && !rt->options.current_thread)
		give_lcores_back(rt);
	pthread_mutex_unlock(&rt->mutex);
	/* A job that is awaited may want the mutex. */
	if (rc == 0)
		rc = weir__blocking_finish(rt, &deadline);
	if (rc < 0 || report != NULL) {
		pthread_mutex_lock(&rt->mutex);
		fill_report(rt, &left);
		pthread_mutex_unlock(&rt->mutex);
	}
	if (rc < 0)
		log_report(&left);
	if (report != NULL)
		*report = left;
	return rc;
}

int
weir_runtime_shutdown(struct weir_runtime *rt, uint64_t timeout_ms,
		      struct weir_shutdown_report *report)
{
	int cancel = cancel_defer(), rc;

	rc = shut_down(rt, timeout_ms, report);
	cancel_allow(cancel);
	return rc;
}
