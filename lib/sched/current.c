/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The current-thread runtime: one core, and whoever is in block_on drives it.
 * After tokio's scheduler of that name.
 *
 * B1 The core is driven by one thread at a time: by who set core_taken, until
 *    that thread clears it.
 * B2 While the core is free and threads wait, one of them has been woken to
 *    take it: whoever frees the core wakes one, and a thread that was woken
 *    and does not need the core any more wakes the next.
 * B3 The runtime's shutdown is carried out by the thread that has the core when
 *    it is asked for, or by the one that asks if the core is free.
 */

#include "sched/scheduler.h"
#include "task/parker.h"

struct core_waiter {
	TAILQ_ENTRY(core_waiter) link;
	struct thread_parker parker;
	bool listed;
};

static void
leave_list(struct weir_runtime *rt, struct core_waiter *me)
{
	if (me->listed)
		TAILQ_REMOVE(&rt->core_waiters, me, link);
	me->listed = false;
}

/* With the mutex (B2). */
static void
wake_next(struct weir_runtime *rt)
{
	struct core_waiter *next = TAILQ_FIRST(&rt->core_waiters);

	if (rt->core_taken || next == NULL)
		return;
	leave_list(rt, next);
	weir__parker_unpark(&next->parker);
}

static bool
take_core(struct weir_runtime *rt, struct core_waiter *me)
{
	bool taken;

	pthread_mutex_lock(&rt->mutex);
	taken = !rt->core_taken && rt->phase != RUNTIME_STOPPED;
	if (taken) {
		rt->core_taken = true;
		leave_list(rt, me);
	} else if (!me->listed) {
		TAILQ_INSERT_TAIL(&rt->core_waiters, me, link);
		me->listed = true;
	}
	pthread_mutex_unlock(&rt->mutex);
	return taken;
}

static void
free_core(struct weir_runtime *rt)
{
	pthread_mutex_lock(&rt->mutex);
	rt->core_taken = false;
	/* For who shuts down. */
	pthread_cond_broadcast(&rt->changed);
	/* B3: asked for after our last look. */
	weir__current_shutdown(rt);
	wake_next(rt);
	pthread_mutex_unlock(&rt->mutex);
}

/* With the mutex, which is given back meanwhile. */
void
weir__current_shutdown(struct weir_runtime *rt)
{
	if (rt->core_taken || rt->phase != RUNTIME_STOPPING)
		return;
	rt->core_taken = true;
	pthread_mutex_unlock(&rt->mutex);
	weir__drive(&rt->workers[0]->core, NULL, DRIVER_HOME);
	pthread_mutex_lock(&rt->mutex);
	rt->core_taken = false;
	pthread_cond_broadcast(&rt->changed);
}

/* Until the task has ended: drives the core, or waits for it or for the end. */
void
weir__current_run(struct weir_runtime *rt, struct weir_join *join)
{
	struct core_waiter me = { .listed = false };
	int cancel = cancel_defer(); /* B1, B2 */
	bool watching = false;

	parker_init(&me.parker);
	while (!weir_join_ended(join)) {
		if (take_core(rt, &me)) {
			weir__drive(&rt->workers[0]->core, join, DRIVER_HOME);
			free_core(rt);
			continue;
		}
		if (!watching)
			watching = weir__join_watch(
				join, weir__waker_of_parker(&me.parker));
		if (watching)
			parker_park(&me.parker);
	}
	pthread_mutex_lock(&rt->mutex);
	leave_list(rt, &me);
	wake_next(rt);
	pthread_mutex_unlock(&rt->mutex);
	if (watching)
		weir__join_unwatch(join);
	parker_fini(&me.parker);
	cancel_allow(cancel);
}
