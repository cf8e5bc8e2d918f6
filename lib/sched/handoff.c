/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker's core passes between threads, so that polling goes on while a task
 * blocks its thread. After tokio's block_in_place().
 *
 * The thread that will block leaves the core; a standby thread of the blocking
 * pool takes it, with queue, slot and sources. When the call has returned, its
 * thread claims the core, gets it at the driver's next tick, and goes on with
 * its poll as if nothing had been. (tokio's thread goes on without the core,
 * and ends; ours is an lcore's and has to come back.)
 *
 * C1 One thread at a time drives a core: `taken` is set while one does. The
 *    core passes from hand to hand with the mutex held.
 * C2 Claims are served first come, first served, at the driver's next tick. A
 *    standby thread that gave the core away is done; the home thread queues a
 *    claim of its own.
 * C3 A free core means that a standby thread is on its way, that who called one in
 *    vain comes back, or that the runtime ends. In the end, the core lies free until
 *    the next blocked thread comes for it, and the home thread has it last. One
 *    thread at a time is on its way (`coming`): where calls are short, and over
 *    before it has come, it does for the next.
 * C4 The lcore id goes with the core. What DPDK indexes by it, such as the
 *    caches of mempools, has one user at a time, and a standby thread has the
 *    caches of the lcore. A blocked thread is one without lcore id meanwhile.
 * C5 A standby thread runs on the CPUs of the lcore, and the blocked threads
 *    on those that it came from: a blocking function that computes does not
 *    take turns with the worker.
 */

#include <errno.h>

#include <rte_cycles.h>

#include "sched/handoff.h"
#include "sched/scheduler.h"
#include "task/parker.h"

/* A thread that has left the core and will come back. On its stack. */
struct blocked {
	TAILQ_ENTRY(blocked) link;
	pthread_t thread;
	rte_cpuset_t cpus; /* its own */
	bool moved;	   /* to others' (C5) */
	/* Of its poll, in which it is: see struct weir_context. */
	struct task *task;
	uint32_t budget, asked, kept;
};

/* A thread that wants the core. On its stack. */
struct claim {
	TAILQ_ENTRY(claim) link;
	struct thread_parker granted;
};

/* The runtime that the calling thread blocks in a task of, or NULL. */
static __thread const struct weir_runtime *blocked_in;

void
weir__handoff_init(struct handoff *h)
{
	pthread_mutex_init(&h->mutex, NULL);
	h->taken = true;
	h->coming = false;
	h->nb_blocked = 0;
	TAILQ_INIT(&h->blocked);
	TAILQ_INIT(&h->claims);
}

void
weir__handoff_fini(struct handoff *h)
{
	pthread_mutex_destroy(&h->mutex);
}

static void
adopt(struct core *c)
{
	weir__core = c;
	RTE_PER_LCORE(_lcore_id) = worker_of(c)->lcore;
}

/* Before another thread can have the core (C4). */
static void
disown(void)
{
	weir__core = NULL;
	RTE_PER_LCORE(_lcore_id) = LCORE_ID_ANY;
}

/* The thread will give the core away, which a standby thread does for good (C2). */
static void
tell_stop(const struct core *c, enum driver driver)
{
	if (driver != DRIVER_HOME)
		worker_hook(worker_of(c), thread_stop);
}

static void
add_claim(struct worker *w, struct claim *claim)
{
	parker_init(&claim->granted);
	TAILQ_INSERT_TAIL(&w->handoff.claims, claim, link);
	weir__worker_call(w, ATTENTION_CLAIM);
}

static void
await_claim(struct core *c, struct claim *claim)
{
	parker_park(&claim->granted);
	parker_fini(&claim->granted);
	adopt(c);
}

/* Gives the core to the first claim, or leaves it free. With the mutex. */
static bool
give(struct worker *w)
{
	struct handoff *h = &w->handoff;
	struct claim *next = TAILQ_FIRST(&h->claims);

	h->taken = next != NULL;
	if (next == NULL)
		return false;
	TAILQ_REMOVE(&h->claims, next, link);
	if (TAILQ_EMPTY(&h->claims))
		atomic_u32_fetch_and(&w->attention, ~ATTENTION_CLAIM, RELAXED);
	weir__parker_unpark(&next->granted);
	return true;
}

bool
weir__handoff_pass(struct core *c, enum driver driver)
{
	struct worker *w = worker_of(c);
	struct claim mine;

	tell_stop(c, driver);
	disown();
	pthread_mutex_lock(&w->handoff.mutex);
	if (!give(w))
		WEIR_ASSERT(false, "C2: called without a claim");
	if (driver == DRIVER_HOME)
		add_claim(w, &mine);
	pthread_mutex_unlock(&w->handoff.mutex);
	if (driver != DRIVER_HOME)
		return false;
	await_claim(c, &mine);
	return true;
}

bool
weir__handoff_settle(struct core *c, enum driver driver)
{
	struct handoff *h = &worker_of(c)->handoff;
	struct claim mine;

	tell_stop(c, driver);
	pthread_mutex_lock(&h->mutex);
	while (driver != DRIVER_HOME || h->nb_blocked > 0) {
		disown();
		give(worker_of(c));
		if (driver == DRIVER_HOME)
			add_claim(worker_of(c), &mine);
		pthread_mutex_unlock(&h->mutex);
		if (driver != DRIVER_HOME)
			return false;
		await_claim(c, &mine);
		pthread_mutex_lock(&h->mutex);
	}
	pthread_mutex_unlock(&h->mutex);
	return true;
}

bool
weir__handoff_idle(struct core *c)
{
	struct handoff *h = &worker_of(c)->handoff;
	bool idle;

	pthread_mutex_lock(&h->mutex);
	idle = h->nb_blocked == 0;
	pthread_mutex_unlock(&h->mutex);
	return idle;
}

/* Moves those that are blocked to where a standby thread was (C5). With the mutex. */
static void
swap_cpus(struct handoff *h)
{
	struct blocked *b;

	TAILQ_FOREACH(b, &h->blocked, link) {
		if (b->moved)
			continue;
		b->moved = true;
		/* Not being moved costs speed only. */
		pthread_setaffinity_np(b->thread, sizeof(h->away), &h->away);
	}
}

/* The calling thread's; those of the lcore where the kernel does not tell. */
static rte_cpuset_t
own_cpus(const struct worker *w)
{
	rte_cpuset_t cpus;

	if (pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus) != 0)
		cpus = rte_lcore_cpuset(w->lcore);
	return cpus;
}

/* A thread of the pool, while the core is free. */
static void
standby(void *arg)
{
	struct core *c = arg;
	struct handoff *h = &worker_of(c)->handoff;
	rte_cpuset_t cpus = rte_lcore_cpuset(worker_of(c)->lcore);
	rte_cpuset_t own = own_cpus(worker_of(c));

	pthread_mutex_lock(&h->mutex);
	h->coming = false;
	/* The blocked thread may have been faster. */
	if (h->taken) {
		pthread_mutex_unlock(&h->mutex);
		return;
	}
	h->taken = true;
	h->away = own;
	swap_cpus(h);
	pthread_mutex_unlock(&h->mutex);
	rte_thread_set_affinity(&cpus);
	adopt(c);
	weir__drive(c, NULL, DRIVER_STANDBY);
	rte_thread_set_affinity(&own);
}

/* -EAGAIN: none can come. The caller then takes the core back. */
static int
call_standby(struct core *c)
{
	struct handoff *h = &worker_of(c)->handoff;
	int rc = weir__blocking_drive(worker_of(c)->rt, standby, c);

	if (rc < 0) {
		pthread_mutex_lock(&h->mutex);
		h->coming = false;
		pthread_mutex_unlock(&h->mutex);
	}
	return rc;
}

/* Leaves the core; -EAGAIN: nobody could take it, so it was not left. */
static int
leave(struct core *c, struct blocked *me)
{
	struct worker *w = worker_of(c);
	struct handoff *h = &w->handoff;
	bool given, call;

	me->thread = pthread_self();
	me->moved = false;
	me->task = context_task(&c->ctx);
	me->budget = c->ctx.budget;
	me->asked = c->ctx.asked;
	me->kept = c->ctx.kept;
	me->cpus = own_cpus(w);
	context_begin(&c->ctx, NULL);
	c->ctx.next = &c->lifo;
	/* It need not wait until the call, or that of the next driver, returns. */
	weir__queue_next(c);
	/* The next driver begins to count anew. */
	count_busy(c, rte_rdtsc());
	disown();
	pthread_mutex_lock(&h->mutex);
	TAILQ_INSERT_TAIL(&h->blocked, me, link);
	h->nb_blocked++;
	given = give(w);
	/* Who claims has been away, so there was a standby thread. */
	if (given)
		swap_cpus(h);
	call = !given && !h->coming;
	if (call)
		h->coming = true;
	pthread_mutex_unlock(&h->mutex);
	return call ? call_standby(c) : 0;
}

/* Claims the core, and goes on with the poll. */
static void
come_back(struct core *c, struct blocked *me)
{
	struct handoff *h = &worker_of(c)->handoff;
	struct claim mine;
	bool wait;

	pthread_mutex_lock(&h->mutex);
	TAILQ_REMOVE(&h->blocked, me, link);
	wait = h->taken;
	h->taken = true;
	if (wait) {
		add_claim(worker_of(c), &mine);
	} else {
		h->nb_blocked--;
		/* Who else is blocked was a standby thread. */
		swap_cpus(h);
	}
	pthread_mutex_unlock(&h->mutex);
	/* Nobody moves us any more. */
	if (me->moved)
		pthread_setaffinity_np(me->thread, sizeof(me->cpus), &me->cpus);
	if (wait) {
		await_claim(c, &mine);
		/* Not before: who settles must not go without us. */
		pthread_mutex_lock(&h->mutex);
		h->nb_blocked--;
		pthread_mutex_unlock(&h->mutex);
	} else {
		adopt(c);
		/* Nobody has driven it until now. */
		c->busy_since = rte_rdtsc();
	}
	context_begin(&c->ctx, me->task);
	c->ctx.budget = me->budget;
	c->ctx.asked = me->asked;
	c->ctx.kept = me->kept;
}

int
weir_block_in_place(void (*fn)(void *arg), void *arg)
{
	const struct weir_runtime *outer = blocked_in;
	struct core *c = weir__core;
	struct blocked me;
	int rc;

	/* A thread that drives nothing may block as it is. */
	if (c == NULL) {
		fn(arg);
		return 0;
	}
	if (worker_of(c)->rt->options.current_thread)
		return -ENOTSUP;
	if (weir__task_current() == NULL)
		return -EPERM;
	rc = leave(c, &me);
	if (rc == 0) {
		blocked_in = worker_of(c)->rt;
		fn(arg);
		blocked_in = outer;
	}
	come_back(c, &me);
	return rc;
}

bool
weir__blocked_in(const struct weir_runtime *rt)
{
	return blocked_in == rt;
}
