/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The blocking pool, after tokio's.
 *
 * A job is a task that no node owns (task/owned.c) and that is run once, by ops->run.
 * Jobs wait in one queue, first in, first out. A spawner calls an idle thread
 * or, below the limit, starts one; both then look at the queue. An idle thread
 * waits on a condition of its own: the one that idled last is called first, so
 * that the others grow old and leave.
 *
 * A thread can also be told to make a call, which is how a worker's core gets a
 * thread to drive it. That one serves no jobs meanwhile and so does not count
 * towards the limit: else jobs could wait for a thread that waits for them.
 *
 * P1 While a job is queued, there is a thread that serves jobs and has not
 *    looked at the queue since. It looks before it idles or leaves.
 * P2 At most blocking_threads threads serve jobs. One that comes back from a
 *    call leaves if it would be one more.
 * P3 Who takes a job off the queue, under the mutex, ends it. Abort changes the
 *    state word only: a job is NOTIFIED in the queue and RUNNING after it.
 * P4 Jobs, calls and drops run without the mutex.
 * P5 A thread's last touch of the pool is the unlock after it has left. It is
 *    joined by the next one to leave, or by finish.
 */

#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_thread.h>

#include "base/heap.h"
#include "base/log.h"
#include "sched/scheduler.h"

struct blocking_thread {
	LIST_ENTRY(blocking_thread) link;
	struct weir_runtime *rt;
	pthread_cond_t called;
	bool idle; /* on the pool's list */
	/* The call that it has been told to make, or NULL. */
	void (*fn)(void *arg);
	void *arg;
};

/*
 * Of whose pool the calling thread is, or whose jobs it cancels; the drop of a job may
 * begin the shutdown of another runtime.
 */
struct within {
	const struct weir_runtime *rt;
	const struct within *outer;
};

static __thread const struct within *inside;

static void
init_cond(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void
weir__blocking_init(struct weir_runtime *rt)
{
	struct blocking_pool *p = &rt->blocking;

	snprintf(p->thread_name, sizeof(p->thread_name), "%s_b",
		 rt->options.name);
	if (rt->options.blocking_cpus != NULL) {
		p->cpus = *rt->options.blocking_cpus;
		rt->options.blocking_cpus = &p->cpus;
	}
	pthread_mutex_init(&p->mutex, NULL);
	init_cond(&p->quiet);
	task_chain_init(&p->queue);
	LIST_INIT(&p->idle);
}

void
weir__blocking_fini(struct weir_runtime *rt)
{
	struct blocking_pool *p = &rt->blocking;

	WEIR_ASSERT(atomic_u32_load(&p->threads, RELAXED) == 0, "P5");
	pthread_cond_destroy(&p->quiet);
	pthread_mutex_destroy(&p->mutex);
}

/* With the mutex, which makes the caller the only writer. */
static uint32_t
count(struct atomic_u32 *counter, int change)
{
	atomic_u32_add_owner(counter, (uint32_t)change);
	return atomic_u32_load(counter, RELAXED);
}

/* Threads that serve jobs. */
static uint32_t
serving(const struct blocking_pool *p)
{
	return atomic_u32_load(&p->threads, RELAXED) - p->driving;
}

static bool
is_quiet(const struct blocking_pool *p)
{
	return atomic_u32_load(&p->threads, RELAXED) == 0 &&
	       atomic_u32_load(&p->running, RELAXED) == 0;
}

/* Runs a job, or ends it without (P3). With the mutex, let go meanwhile (P4). */
static void
run_job(struct blocking_pool *p, struct task *t)
{
	bool closed = p->closed;

	count(&p->queued, -1);
	count(&p->running, 1);
	pthread_mutex_unlock(&p->mutex);
	if (closed)
		state_to_cancelled(&t->state);
	weir__task_run_blocking(t);
	pthread_mutex_lock(&p->mutex);
	count(&p->running, -1);
}

static void
make_call(struct blocking_pool *p, struct blocking_thread *me)
{
	pthread_mutex_unlock(&p->mutex);
	me->fn(me->arg);
	pthread_mutex_lock(&p->mutex);
	me->fn = NULL;
	p->driving--;
}

/* False: nobody has called, and the thread is to leave. */
static bool
wait_idle(struct blocking_pool *p, struct blocking_thread *me)
{
	struct timespec end =
		weir__deadline(me->rt->options.blocking_keep_alive_ms);
	int rc = 0;

	if (p->closed)
		return false;
	me->idle = true;
	LIST_INSERT_HEAD(&p->idle, me, link);
	while (me->idle && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&me->called, &p->mutex, &end);
	if (!me->idle)
		return true;
	LIST_REMOVE(me, link);
	return false;
}

/* P5. With the mutex, which it gives back. */
static void
leave(struct blocking_pool *p, struct blocking_thread *me)
{
	pthread_t before = p->leaver;
	bool join_before = p->has_leaver;

	p->leaver = pthread_self();
	p->has_leaver = true;
	count(&p->threads, -1);
	if (is_quiet(p))
		pthread_cond_broadcast(&p->quiet);
	pthread_cond_destroy(&me->called);
	heap_free(me);
	pthread_mutex_unlock(&p->mutex);
	if (join_before)
		pthread_join(before, NULL);
}

static void
serve(struct blocking_thread *me)
{
	struct weir_runtime *rt = me->rt;
	const struct within here = { .rt = rt };
	struct blocking_pool *p = &rt->blocking;
	struct task *t;

	inside = &here;
	if (rt->options.blocking_cpus != NULL &&
	    rte_thread_set_affinity(&p->cpus) != 0)
		WEIR_LOG(WARNING, "blocking_cpus: none of them is left\n");
	pthread_mutex_lock(&p->mutex);
	for (;;) {
		if (me->fn != NULL)
			make_call(p, me);
		else if (serving(p) > rt->options.blocking_threads)
			break; /* P2 */
		else if ((t = task_chain_pop(&p->queue)) != NULL)
			run_job(p, t);
		else if (!wait_idle(p, me))
			break;
	}
	leave(p, me);
}

/* EAL's control threads got another type and name in DPDK 23.11. */
#ifdef WEIR_HAVE_THREAD_CREATE_CONTROL
static uint32_t
thread_main(void *me)
{
	serve(me);
	return 0;
}

static int
create_thread(const char *name, struct blocking_thread *me)
{
	rte_thread_t id;

	return rte_thread_create_control(&id, name, thread_main, me);
}
#else
static void *
thread_main(void *me)
{
	serve(me);
	return NULL;
}

static int
create_thread(const char *name, struct blocking_thread *me)
{
	pthread_t id;

	return rte_ctrl_thread_create(&id, name, NULL, thread_main, me);
}
#endif

/*
 * With the mutex: so a thread that could not be started leaves no job behind
 * that counted on it (P1).
 */
static int
start_thread(struct weir_runtime *rt, void (*fn)(void *arg), void *arg)
{
	struct blocking_pool *p = &rt->blocking;
	struct blocking_thread *th;
	char name[16]; /* the kernel's limit */

	th = heap_taken(rte_zmalloc("blocking_thread", sizeof(*th), 0));
	if (th == NULL)
		return -EAGAIN;
	th->rt = rt;
	th->fn = fn;
	th->arg = arg;
	init_cond(&th->called);
	snprintf(name, sizeof(name), "%s%u", p->thread_name,
		 p->started++ % 10000);
	if (create_thread(name, th) != 0) {
		pthread_cond_destroy(&th->called);
		heap_free(th);
		return -EAGAIN;
	}
	count(&p->threads, 1);
	p->driving += fn != NULL;
	return 0;
}

/* Calls an idle thread, if there is one, and tells it to call fn if not NULL. */
static bool
call_idle(struct blocking_pool *p, void (*fn)(void *arg), void *arg)
{
	struct blocking_thread *th = LIST_FIRST(&p->idle);

	if (th == NULL)
		return false;
	LIST_REMOVE(th, link);
	th->idle = false;
	th->fn = fn;
	th->arg = arg;
	p->driving += fn != NULL;
	pthread_cond_signal(&th->called);
	return true;
}

int
weir__blocking_drive(struct weir_runtime *rt, void (*fn)(void *arg), void *arg)
{
	struct blocking_pool *p = &rt->blocking;
	int rc = 0;

	pthread_mutex_lock(&p->mutex);
	if (p->finished)
		rc = -EAGAIN;
	else if (!call_idle(p, fn, arg))
		rc = start_thread(rt, fn, arg);
	pthread_mutex_unlock(&p->mutex);
	return rc;
}

/* With the mutex. Sees to it that a thread comes for one more job (P1). */
static int
call_server(struct weir_runtime *rt)
{
	struct blocking_pool *p = &rt->blocking;

	if (call_idle(p, NULL, NULL))
		return 0;
	if (serving(p) < rt->options.blocking_threads &&
	    start_thread(rt, NULL, NULL) == 0)
		return 0;
	return serving(p) > 0 ? 0 : -EAGAIN;
}

static int
enqueue(struct weir_runtime *rt, struct task *t)
{
	struct blocking_pool *p = &rt->blocking;
	int cancel = cancel_defer(), rc;

	pthread_mutex_lock(&p->mutex);
	rc = p->closed ? -ECANCELED : call_server(rt);
	if (rc == 0) {
		/* Its hook comes before the job can run, hence in here. */
		weir__task_announce(core_of(rt), t);
		task_chain_add(&p->queue, t);
		count(&p->queued, 1);
	}
	pthread_mutex_unlock(&p->mutex);
	cancel_allow(cancel);
	return rc;
}

struct weir_join *
weir_blocking_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
		    const void *state)
{
	struct core *c = core_of(rt);
	struct node *home =
		c != NULL ? worker_of(c)->node : rt->workers[0]->node;
	struct task *t;
	int rc;

	if (!weir__ops_valid(ops) || ops->run == NULL) {
		rte_errno = EINVAL;
		return NULL;
	}
	t = weir__task_alloc(c, home, ops, state, false);
	if (t == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	state_begin_job(&t->state);
	rc = enqueue(rt, t);
	if (rc == -EAGAIN) {
		weir__cell_put(t);
		rte_errno = EAGAIN;
		return NULL;
	}
	if (rc == -ECANCELED) {
		weir__task_announce(c, t);
		weir__task_refuse(t);
	}
	return (struct weir_join *)t;
}

void
weir__blocking_close(struct weir_runtime *rt)
{
	const struct within here = { .rt = rt, .outer = inside };
	struct blocking_pool *p = &rt->blocking;
	struct task *t;

	pthread_mutex_lock(&p->mutex);
	/* From the drop of a job that is cancelled below: the rest is not for us. */
	if (p->closed && weir__blocking_inside(rt)) {
		pthread_mutex_unlock(&p->mutex);
		return;
	}
	p->closed = true;
	while (call_idle(p, NULL, NULL))
		;
	inside = &here;
	while ((t = task_chain_pop(&p->queue)) != NULL)
		run_job(p, t);
	inside = here.outer;
	if (is_quiet(p))
		pthread_cond_broadcast(&p->quiet);
	pthread_mutex_unlock(&p->mutex);
}

int
weir__blocking_finish(struct weir_runtime *rt, const struct timespec *deadline)
{
	struct blocking_pool *p = &rt->blocking;
	bool join_leaver;
	pthread_t leaver;
	int rc = 0;

	pthread_mutex_lock(&p->mutex);
	while (!is_quiet(p) && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&p->quiet, &p->mutex, deadline);
	if (!is_quiet(p)) {
		pthread_mutex_unlock(&p->mutex);
		return -ETIMEDOUT;
	}
	p->finished = true;
	leaver = p->leaver;
	join_leaver = p->has_leaver;
	p->has_leaver = false;
	pthread_mutex_unlock(&p->mutex);
	if (join_leaver)
		pthread_join(leaver, NULL);
	return 0;
}

bool
weir__blocking_inside(const struct weir_runtime *rt)
{
	const struct within *w;

	for (w = inside; w != NULL; w = w->outer)
		if (w->rt == rt)
			return true;
	return false;
}
