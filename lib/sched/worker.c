/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The worker's loop: tick; maintenance if due; next task; else steal; else
 * park.
 *
 * L1 Pending work never keeps a worker from its sources: maintenance comes
 *    after event_interval ticks, or when max_poll_gap has passed, whichever is
 *    first.
 * L2 A woken task waits for a bounded number of polls: the LIFO slot wins at
 *    most LIFO_MAX_POLLS times in a row, the inject queues come first every
 *    inject_interval ticks, and the local chain has every other turn.
 * L3 A worker parks only with nothing of its own to run, and stays awake for
 *    what others have as idle.c says.
 */

#include <rte_cycles.h>
#include <rte_lcore.h>

#include "sched/scheduler.h"

/* Bounds of the self-tuned interval, in ticks. */
#define INJECT_INTERVAL_MIN 2u
#define INJECT_INTERVAL_MAX 127u

__thread struct core *weir__core __attribute__((tls_model("initial-exec")));

static bool
stopping(const struct core *c)
{
	/* [shutdown:A1] what was closed before is seen closed. */
	return atomic_u32_load(&c->worker->rt->stopping, ACQUIRE) != 0;
}

static bool
has_tasks(const struct core *c)
{
	return c->lifo != NULL || c->local.n > 0 || c->deferred.n > 0 ||
	       weir__run_queue_len_any(&c->worker->queue) > 0 ||
	       weir__inject_len(&c->worker->inbox) > 0;
}

/* One round over the sources. */
static void
poll_sources(struct core *c, uint64_t now)
{
	struct worker *w = c->worker;
	uint64_t gap = now - c->last_poll;
	unsigned int ready;

	if (unlikely(gap > counter_get(&w->counters, max_poll_gap)))
		atomic_u64_store(&w->counters.max_poll_gap, gap, RELAXED);
	c->last_poll = now;
	atomic_u64_store(&w->sources.last_poll, now, RELAXED);
	ready = weir__source_set_poll_owner(&w->sources);
	counter_add(&w->counters, source_polls, 1);
	if (ready > 0)
		counter_add(&w->counters, source_events, ready);
	rte_rcu_qsbr_quiescent(w->rt->sources.qsbr, w->index);
}

/*
 * Sets how often the inject queues come first, so that it is about every
 * inject_target cycles. The mean leans to the past by seven eighths.
 */
static void
tune_inject(struct core *c, uint64_t now)
{
	const struct weir_runtime *rt = c->worker->rt;
	uint32_t ticks = c->tick - c->tuned_tick;
	uint64_t mean, interval;

	if (rt->options.inject_interval != 0 || ticks == 0)
		return;
	mean = (now - c->tuned_at) / ticks;
	c->mean_poll = (7 * c->mean_poll + mean) / 8;
	interval = rt->inject_target / (c->mean_poll + 1);
	interval = RTE_MAX(interval, INJECT_INTERVAL_MIN);
	c->inject_interval = RTE_MIN((uint32_t)interval, INJECT_INTERVAL_MAX);
	c->tuned_at = now;
	c->tuned_tick = c->tick;
}

/* A zero-timeout park (L1): sources, then those who yielded. */
static void
maintenance(struct core *c, uint64_t now)
{
	c->next_event = c->tick + c->worker->rt->options.event_interval;
	tune_inject(c, now);
	poll_sources(c, now);
	weir__schedule_deferred(c);
	if (weir__run_queue_len_any(&c->worker->queue) > 1)
		weir__notify(c->worker->node, &c->worker->queue);
}

static struct task *
take_local(struct core *c)
{
	struct task *t = c->lifo;

	if (t != NULL) {
		c->lifo = NULL;
		return t;
	}
	c->local_first = !c->local_first;
	if (c->local.n > 0 && c->local_first)
		return task_chain_pop(&c->local);
	t = weir__run_queue_pop_owner(&c->worker->queue);
	return t != NULL ? t : task_chain_pop(&c->local);
}

static struct task *
next_task(struct core *c)
{
	struct task *t;

	if ((int32_t)(c->tick - c->next_inject) >= 0) {
		c->next_inject = c->tick + c->inject_interval;
		t = weir__take_inject(c);
		if (t != NULL)
			return t;
	}
	t = take_local(c);
	return t != NULL ? t : weir__take_inject(c);
}

/* A task that crossed to a node it must not run on goes home. */
static bool
sent_home(struct core *c, struct task *t)
{
	if (likely(t->affinity != WEIR_AFFINITY_NODE ||
		   t->node == c->worker->node->index))
		return false;
	weir__schedule(t);
	return true;
}

static void
stop_searching(struct core *c)
{
	c->searching = false;
	c->woken = false;
	/* The next one goes on searching: there may be more. */
	if (weir__idle_stop_searching(&c->worker->node->idle))
		weir__notify(c->worker->node, &c->worker->queue);
}

static void
run_one(struct core *c, struct task *t)
{
	struct worker *w = c->worker;

	counter_add(&w->counters, polls, 1);
	switch (weir__task_run(t, &c->ctx)) {
	case TASK_NEXT_NOTHING:
		break;
	case TASK_NEXT_QUEUE:
		weir__schedule_back(c, t);
		weir__notify(w->node, &w->queue);
		break;
	case TASK_NEXT_DEFER:
		task_chain_add(&c->deferred, t);
		break;
	}
	if (unlikely(c->ctx.out_of_budget)) {
		c->ctx.out_of_budget = false;
		counter_add(&w->counters, forced_yields, 1);
	}
}

/* Runs a task, and those it wakes through the LIFO slot, on one budget. */
static void
run_task(struct core *c, struct task *t)
{
	unsigned int lifo_polls;

	if (unlikely(sent_home(c, t)))
		return;
	if (unlikely(c->searching))
		stop_searching(c);
	c->ctx.budget = c->worker->rt->options.budget;
	run_one(c, t);
	for (lifo_polls = 0; c->lifo != NULL; lifo_polls++) {
		t = c->lifo;
		c->lifo = NULL;
		if (lifo_polls == LIFO_MAX_POLLS || c->ctx.budget == 0) {
			weir__schedule_back(c, t);
			weir__notify(c->worker->node, &c->worker->queue);
			return;
		}
		run_one(c, t);
	}
}

/* What a sleeper does beside polling; true if it should get up. */
static bool
poll_asleep(struct core *c)
{
	poll_sources(c, rte_rdtsc());
	return has_tasks(c) || stopping(c);
}

/*
 * Parks by polling the sources, until there is something to run here or a
 * notifier calls (L3).
 */
static void
park(struct core *c)
{
	struct worker *w = c->worker;
	struct idle *idle = &w->node->idle;
	const struct weir_runtime *rt = w->rt;
	uint64_t pause = rt->recheck_min, recheck, rescue;
	bool last;

	counter_add(&w->counters, parks, 1);
	worker_hook(w, park);
	if (c->woken)
		counter_add(&w->counters, noop_wakes, 1);
	c->woken = false;
	last = weir__idle_sleep(idle, w->idle_bit, c->searching);
	c->searching = false;
	/* [idle:F1] D3: after we were uncounted. */
	if (last && weir__work_pending(w))
		weir__notify(w->node, &w->queue);
	rescue = rte_rdtsc() + rt->max_poll_gap;
	recheck = rte_rdtsc() + pause;
	while (!weir__idle_claimed(idle, w->idle_bit)) {
		if (poll_asleep(c)) {
			c->searching = weir__idle_wake_self(idle, w->idle_bit);
			goto awake;
		}
		if (c->last_poll >= recheck) {
			/* See idle.c for why a sleeper looks again. */
			if (weir__work_pending(w))
				weir__notify(w->node, &w->queue);
			pause = RTE_MIN(2 * pause, rt->recheck_max);
			recheck = c->last_poll + pause;
		}
		if (c->last_poll >= rescue) {
			weir__rescue_neighbours(c);
			rescue = c->last_poll + rt->max_poll_gap;
		}
		atomic_pause();
	}
	c->searching = true;
	c->woken = true;
awake:
	worker_hook(w, unpark);
	/* Sleep is not task time. */
	c->tuned_at = c->last_poll;
	c->tuned_tick = c->tick;
	if (weir__run_queue_len_any(&w->queue) > 1)
		weir__notify(w->node, &w->queue);
}

static bool
done(const struct core *c, const struct weir_join *until)
{
	return stopping(c) || (until != NULL && weir__join_ended(until));
}

static void
loop(struct core *c, const struct weir_join *until)
{
	struct task *t;
	uint64_t now;

	while (!done(c, until)) {
		c->tick++;
		now = rte_rdtsc();
		if ((int32_t)(c->tick - c->next_event) >= 0 ||
		    now - c->last_poll > c->worker->rt->max_poll_gap)
			maintenance(c, now);
		t = next_task(c);
		if (t == NULL) {
			/* Our own packets, and who yielded, before others' tasks. */
			maintenance(c, now);
			t = next_task(c);
		}
		if (t == NULL)
			t = weir__search(c);
		if (t != NULL)
			run_task(c, t);
		else
			park(c);
	}
}

void
weir__drive(struct core *c, const struct weir_join *until)
{
	struct worker *w = c->worker;
	struct rte_rcu_qsbr *qsbr = w->rt->sources.qsbr;

	weir__core = c;
	c->last_poll = rte_rdtsc();
	c->tuned_at = c->last_poll;
	c->tuned_tick = c->tick;
	rte_rcu_qsbr_thread_register(qsbr, w->index);
	rte_rcu_qsbr_thread_online(qsbr, w->index);
	worker_hook(w, thread_start);
	loop(c, until);
	rte_rcu_qsbr_thread_offline(qsbr, w->index);
	rte_rcu_qsbr_thread_unregister(qsbr, w->index);
	if (stopping(c))
		weir__shutdown_worker(c);
	worker_hook(w, thread_stop);
	weir__core = NULL;
}

int
weir__worker_main(void *arg)
{
	struct worker *w = arg;

	weir__drive(w->core, NULL);
	return 0;
}

unsigned int
weir__qsbr_id(const struct source_registry *r)
{
	const struct core *c = weir__core;

	if (c != NULL && &c->worker->rt->sources == r)
		return c->worker->index;
	return RTE_QSBR_THRID_INVALID;
}

struct weir_runtime *
weir_context_runtime(const struct weir_context *ctx)
{
	return ctx->core->worker->rt;
}

unsigned int
weir_context_worker(const struct weir_context *ctx)
{
	return ctx->core->worker->index;
}

struct weir_runtime *
weir_runtime_current(void)
{
	return weir__core != NULL ? weir__core->worker->rt : NULL;
}
