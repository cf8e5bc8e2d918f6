/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where a worker that has nothing to run looks for work.
 *
 * Its node's inject queue; the other workers' run queues, tier by tier, nearest
 * first, from a random start within a tier, and what those that are stuck have claimed
 * of theirs or keep to be next; then other nodes' inject queues. Tiers are the core, the
 * last-level cache, the node, and other nodes by distance. Another node's work is taken
 * only when that node has a backlog worth the distance, or is stuck: a short spike must
 * not drag memory across sockets.
 *
 * V1 A stolen task keeps its home: its next wake-up goes back there (H2).
 * V2 Every steal is counted by thief and victim.
 * V3 A worker that is farther is asked only when all that are nearer had nothing
 *    to take; how far it is, is the thief's view.
 * V4 A node whose workers are all stuck is looked after by others: they poll its
 *    sources and timers, and take what its inject queue has.
 * V5 Who has taken a task that may run on its own node only, and sent it back, takes
 *    nothing from other nodes for a while. Else it would take that one again and
 *    again, and whoever is told of it at home would find nothing. From a node without
 *    workers it takes all the same (workers.c, G5): what is bound to that runs anywhere.
 *    It is not told when the while is over, so it sleeps for short times only.
 */

#include <rte_cycles.h>

#include "sched/scheduler.h"

/*
 * Of the turns since tasks were last taken from an inject queue, at most those from one
 * look at it to the next, the part for which tasks are taken though the worker's own
 * queue is full; and the most. Fewer: they wait for longer beside many that are always
 * runnable. More: more of those that are in the queue go to the inject queue instead.
 */
#define TAKE_PART 4u
#define TAKE_MOST (RUN_QUEUE_SIZE / 8u)

/* Tasks in a node's inject queue that another node's workers take some of. */
unsigned int
weir__worth_taking(const struct node *node)
{
	/* Nobody else will (workers.c, G5). */
	if (idle_workers(&node->idle) == 0)
		return 1;
	return node->rt->options.cross_node_backlog;
}

/* Does nobody on the node come to its inject queue? */
static bool
node_is_stuck(const struct node *node)
{
	const struct worker *w;
	unsigned int i;

	for (i = 0; i < node->nb_places; i++) {
		w = node->workers[i];
		if (worker_active(w) &&
		    !worker_is_stuck(w, node->rt->cross_node_age))
			return false;
	}
	return true;
}

/* Is there something in another node's inject queue for this worker? */
static bool
worth_looking(const struct core *c, const struct node *node)
{
	unsigned int n = weir__inject_len(&node->inject);

	if (n == 0 || (idle_workers(&node->idle) > 0 && !core_goes_far(c)))
		return false;
	return n >= weir__worth_taking(node) || node_is_stuck(node);
}

/*
 * Of n, as many as make half of what fits at most: a full queue would give tasks back
 * for the next that is woken. Who yielded comes back behind them (worker.c, give_way()),
 * so they are no more than are through soon. But some at least: where a queue stays
 * nearly full, fewer would be taken than come.
 */
static unsigned int
fitting(const struct core *c, unsigned int n)
{
	unsigned int room = weir__run_queue_room_owner(&worker_of(c)->queue);
	unsigned int back = RTE_MIN(core_nb_deferred(c), room);
	uint32_t ticks = core_tick(c) - c->took_inject;
	uint32_t least = RTE_MIN(ticks, c->inject_interval) / TAKE_PART;
	/* One is run at once. */
	uint32_t most = RTE_MIN((room - back) / 2 + 1, c->take_most);

	n = RTE_MIN(n, INJECT_TAKE_MAX);
	return RTE_MIN(n, RTE_MAX(most, RTE_MIN(least, TAKE_MOST)));
}

/*
 * Takes a fair share of a node's: the first task is returned, the others are
 * queued. None is bound to a worker (H1), so none need be looked at.
 */
static struct task *
take_batch(struct core *c, struct inject *q, unsigned int workers)
{
	struct task *tasks[INJECT_TAKE_MAX];
	unsigned int n;

	if (!inject_pending(q))
		return NULL;
	n = fitting(c, weir__inject_len(q) / workers + 1);
	n = weir__inject_pop(q, tasks, n);
	if (n == 0)
		return NULL;
	c->took_inject = core_tick(c);
	counter_add(&worker_of(c)->counters, injected, n);
	weir__schedule_batch(c, tasks + 1, n - 1);
	if (n > 1)
		tell_of_all(c);
	return tasks[0];
}

/* What came to this worker alone goes to its chain. Returns whether there was any. */
static bool
take_inbox(struct core *c)
{
	struct worker *w = worker_of(c);
	unsigned int n = weir__inbox_take_owner(&w->inbox, &c->local);

	counter_add(&w->counters, injected, n);
	return n > 0;
}

static struct task *
take_shared(struct core *c)
{
	struct node *node = worker_of(c)->node;

	return take_batch(c, &node->inject, idle_workers(&node->idle));
}

/*
 * What was in the inbox has every other turn from then on, so the inject queue's has
 * this one.
 */
struct task *
weir__take_inject(struct core *c)
{
	const struct worker *w = worker_of(c);
	bool came = unlikely(inbox_pending(&w->inbox)) && take_inbox(c);
	struct task *t = NULL;

	/* What follows has an array of tasks, and most looks are in vain. */
	if (unlikely(inject_pending(&w->node->inject)))
		t = take_shared(c);
	if (t == NULL && came)
		t = core_pop_bound(c);
	return t;
}

static bool
worth_crossing(const struct worker *victim, unsigned int backlog)
{
	const struct weir_runtime *rt = victim->rt;

	return backlog >= rt->options.cross_node_backlog ||
	       (backlog > 0 && worker_is_stuck(victim, rt->cross_node_age));
}

/* V2 */
static void
count_steal(struct core *c, const struct worker *victim, unsigned int n)
{
	struct worker *w = worker_of(c);

	counter_add(&w->counters, steal_ops, 1);
	counter_add(&w->counters, steals, n);
	if (victim->node != w->node)
		counter_add(&w->counters, steals_remote, n);
	atomic_u64_add_owner(&w->steals_from[victim->index], n);
	weir__trace_worker_steal(w->index, victim->index, n);
}

/* What a victim that is stuck keeps for itself. */
static struct task *
recall_from(struct core *c, struct worker *victim)
{
	struct worker *w = worker_of(c);
	unsigned int n;
	struct task *t;

	if (!weir__keeps_tasks(victim, w) ||
	    (victim->node != w->node && !core_goes_far(c)))
		return NULL;
	t = weir__recall(c, victim, &n);
	/* Others may have stolen it already. */
	if (n > 0)
		count_steal(c, victim, n);
	return t;
}

static struct task *
steal_from(struct core *c, struct worker *victim)
{
	struct worker *w = worker_of(c);
	unsigned int backlog = weir__run_queue_len_any(&victim->queue);
	unsigned int n = 0;
	struct task *t;

	if (backlog == 0)
		return recall_from(c, victim);
	if (victim->node != w->node &&
	    (!core_goes_far(c) || !worth_crossing(victim, backlog)))
		return NULL;
	t = weir__run_queue_steal(&victim->queue, &w->queue, &n);
	if (t != NULL)
		count_steal(c, victim, n);
	return t;
}

static struct task *
steal(struct core *c)
{
	const struct worker *w = worker_of(c);
	unsigned int tier, begin = 0, n, i, start;
	struct task *t;

	for (tier = 0; tier < w->nb_tiers; tier++) {
		n = w->tier_end[tier] - begin;
		start = n > 1 ? rand_below(&c->rand, n) : 0;
		for (i = 0; i < n; i++) {
			unsigned int v = w->victims[begin + (start + i) % n];

			t = steal_from(c, w->rt->workers[v]);
			if (t != NULL)
				return t;
		}
		begin = w->tier_end[tier];
	}
	return NULL;
}

/* Other nodes' inject queues, when they hold more than their node gets done. */
static struct task *
take_far_inject(struct core *c)
{
	const struct weir_runtime *rt = worker_of(c)->rt;
	unsigned int i;
	struct task *t;

	for (i = 1; i < rt->nb_nodes; i++) {
		struct node *node = rt->nodes[worker_of(c)->node->near[i]];

		if (!worth_looking(c, node))
			continue;
		t = take_batch(c, &node->inject, rt->nb_workers);
		if (t != NULL)
			return t;
	}
	return NULL;
}

/* By turns: what woken tasks of one go back to would always be first else. */
struct task *
weir__take_deserted(struct core *c)
{
	const struct weir_runtime *rt = worker_of(c)->rt;
	const unsigned int others = rt->nb_nodes - 1;
	unsigned int i;
	struct task *t;

	for (i = 0; i < others; i++) {
		unsigned int at = 1 + (c->deserted + i) % others;
		struct node *node = rt->nodes[worker_of(c)->node->near[at]];

		if (idle_workers(&node->idle) > 0)
			continue;
		t = take_batch(c, &node->inject, rt->nb_workers);
		if (t == NULL)
			continue;
		c->deserted = (uint16_t)at;
		return t;
	}
	return NULL;
}

struct task *
weir__search(struct core *c)
{
	const struct weir_runtime *rt = worker_of(c)->rt;
	struct task *t;

	if (!c->searching) {
		/* There is nobody whose searches are to be few, nor to be asked. */
		if (runtime_is_alone(rt))
			return weir__take_inject(c);
		if (!weir__idle_start_searching(&worker_of(c)->node->idle))
			return NULL;
		c->searching = true;
	}
	t = weir__take_inject(c);
	if (t == NULL)
		t = steal(c);
	if (t == NULL)
		t = take_far_inject(c);
	return t;
}

/* Is there work that this worker would take if it searched? On its thread. */
bool
weir__work_pending(const struct worker *w)
{
	const struct weir_runtime *rt = w->rt;
	const bool far = core_goes_far(&w->core);
	unsigned int i, backlog;

	if (inject_pending(&w->node->inject))
		return true;
	for (i = 0; i < rt->nb_workers; i++) {
		const struct worker *v = rt->workers[i];

		if (v == w || (v->node != w->node && !far))
			continue;
		backlog = weir__run_queue_len_any(&v->queue);
		if (backlog > 0 &&
		    (v->node == w->node || worth_crossing(v, backlog)))
			return true;
		if (backlog == 0 && weir__keeps_tasks(v, w))
			return true;
	}
	for (i = 1; i < rt->nb_nodes; i++)
		if (worth_looking(&w->core, rt->nodes[w->node->near[i]]))
			return true;
	return false;
}

/*
 * Polls the sources of the i-th victim, and fires its timers, if it is stuck. True: that
 * was a part of them.
 */
static bool
rescue(struct core *c, unsigned int i, uint64_t limit)
{
	struct worker *w = worker_of(c);
	struct worker *v = w->rt->workers[w->victims[i]];
	unsigned int ready;
	bool left;

	if (!worker_is_stuck(v, limit))
		return false;
	ready = weir__source_set_rescue(&v->sources, c->now);
	left = fire_timers(v, c->now, &ready) && worker_timers_due(v, c->now);
	if (ready > 0)
		counter_add(&w->counters, rescues, ready);
	return left;
}

/*
 * Polls the sources of workers on this node that have not come to it: their
 * packets would be lost. (ZygOS, SOSP '17, and Caladan, OSDI '20, do this.)
 */
bool
weir__rescue_neighbours(struct core *c)
{
	const struct worker *w = worker_of(c);
	bool left = false;
	unsigned int i;

	for (i = 0; i < w->nb_near; i++)
		left |= rescue(c, i, 2 * w->rt->max_poll_gap);
	return left;
}

/* V4: the same for other nodes', who may have no neighbour that does. */
bool
weir__rescue_far(struct core *c)
{
	const struct worker *w = worker_of(c);
	const struct weir_runtime *rt = w->rt;
	uint64_t limit = RTE_MAX(2 * rt->max_poll_gap, rt->cross_node_age);
	bool left = false;
	unsigned int i;

	for (i = w->nb_near; i + 1 < rt->nb_workers; i++)
		left |= rescue(c, i, limit);
	return left;
}

void
weir__find_neighbours(struct worker *w)
{
	const struct weir_runtime *rt = w->rt;
	const struct place *places = rt->places;
	unsigned int i, bit;

	w->nb_tiers = weir__topology_victims(
		&rt->topology, places, rt->nb_workers, w->index, w->victims,
		w->tier_end, &w->nb_near);
	for (i = 0; i < w->nb_near; i++) {
		unsigned int v = w->victims[i];

		if (!weir__topology_is_beside(&places[w->index], &places[v]))
			continue;
		bit = rt->workers[v]->idle_bit;
		w->beside[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}
