/* SPDX-License-Identifier: BSD-3-Clause */

/* Snapshots of what a runtime counts: loads, and no lock. */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "sched/scheduler.h"

static uint64_t
cycles_to_ns(uint64_t cycles)
{
	/* In two parts, so that neither overflows. */
	uint64_t hz = rte_get_tsc_hz();

	return cycles / hz * UINT64_C(1000000000) +
	       cycles % hz * UINT64_C(1000000000) / hz;
}

static void
read_worker(const struct worker *w, struct weir_worker_stats *stats)
{
	const struct counters *c = &w->counters;

	stats->lcore = w->lcore;
	stats->node = w->node->id;
	stats->polls = counter_get(c, polls);
	stats->parks = counter_get(c, parks);
	stats->noop_wakes = counter_get(c, noop_wakes);
	stats->steal_ops = counter_get(c, steal_ops);
	stats->steals = counter_get(c, steals);
	stats->steals_remote = counter_get(c, steals_remote);
	stats->local_schedules = counter_get(c, local_schedules);
	stats->remote_schedules = counter_get(c, remote_schedules);
	stats->overflows = counter_get(c, overflows);
	stats->injected = counter_get(c, injected);
	stats->forced_yields = counter_get(c, forced_yields);
	stats->source_polls = counter_get(c, source_polls);
	stats->empty_polls = counter_get(c, empty_polls);
	stats->source_events = counter_get(c, source_events);
	stats->rescues = counter_get(c, rescues);
	stats->max_poll_gap_ns = cycles_to_ns(counter_get(c, max_poll_gap));
	stats->busy_ns = cycles_to_ns(counter_get(c, busy));
	stats->spawned = counter_get(c, spawned);
	stats->queue_depth =
		weir__run_queue_len_any(&w->queue) + run_queue_batch(&w->queue);
}

int
weir_worker_stats_get(const struct weir_runtime *rt, unsigned int worker,
		      struct weir_worker_stats *stats)
{
	if (worker >= rt->nb_workers)
		return -EINVAL;
	read_worker(rt->workers[worker], stats);
	return 0;
}

int
weir_node_stats_get(const struct weir_runtime *rt, unsigned int index,
		    struct weir_node_stats *stats)
{
	const struct node *node;

	if (index >= rt->nb_nodes)
		return -EINVAL;
	node = rt->nodes[index];
	stats->id = node->id;
	stats->workers = idle_workers(&node->idle);
	/* Who is quiet is alone. */
	stats->parked =
		idle_sleeping(&node->idle) + worker_is_quiet(rt->workers[0]);
	stats->live_tasks = weir__owned_count(&node->home.owned);
	stats->inject_depth = weir__inject_len(&node->inject);
	stats->outside_schedules =
		atomic_u64_load(&node->outside_schedules, RELAXED);
	return 0;
}

unsigned int
weir_runtime_snapshot(const struct weir_runtime *rt,
		      struct weir_runtime_stats *stats,
		      struct weir_worker_stats *workers, unsigned int n)
{
	struct weir_worker_stats one;
	struct weir_node_stats node;
	unsigned int i;

	memset(stats, 0, sizeof(*stats));
	stats->workers = rt->nb_workers;
	stats->nodes = rt->nb_nodes;
	stats->spawned = atomic_u64_load(&rt->spawned, RELAXED);
	stats->blocking_threads =
		atomic_u32_load(&rt->blocking.threads, RELAXED);
	stats->blocking_queued = atomic_u32_load(&rt->blocking.queued, RELAXED);
	stats->blocking_running =
		atomic_u32_load(&rt->blocking.running, RELAXED);
	for (i = 0; i < rt->nb_workers; i++) {
		read_worker(rt->workers[i], &one);
		stats->spawned += one.spawned;
		stats->polls += one.polls;
		stats->forced_yields += one.forced_yields;
		stats->remote_schedules += one.remote_schedules;
		stats->inject_depth += weir__inbox_len(&rt->workers[i]->inbox);
		if (i < n)
			workers[i] = one;
	}
	for (i = 0; i < rt->nb_nodes; i++) {
		weir_node_stats_get(rt, i, &node);
		stats->live_tasks += node.live_tasks;
		stats->inject_depth += node.inject_depth;
		stats->remote_schedules += node.outside_schedules;
	}
	return rt->nb_workers;
}

void
weir_runtime_stats_get(const struct weir_runtime *rt,
		       struct weir_runtime_stats *stats)
{
	weir_runtime_snapshot(rt, stats, NULL, 0);
}

uint64_t
weir_worker_steals_from(const struct weir_runtime *rt, unsigned int thief,
			unsigned int victim)
{
	if (thief >= rt->nb_workers || victim >= rt->nb_workers)
		return 0;
	return atomic_u64_load(&rt->workers[thief]->steals_from[victim],
			       RELAXED);
}
