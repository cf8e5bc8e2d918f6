/* SPDX-License-Identifier: BSD-3-Clause */

/* Snapshots of what a runtime counts. No lock on a worker's way. */

#include <errno.h>

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

int
weir_worker_stats_get(const struct weir_runtime *rt, unsigned int worker,
		      struct weir_worker_stats *stats)
{
	const struct counters *c;
	const struct worker *w;

	if (worker >= rt->nb_workers)
		return -EINVAL;
	w = rt->workers[worker];
	c = &w->counters;
	stats->lcore = w->lcore;
	stats->node = w->node->id;
	stats->polls = counter_get(c, polls);
	stats->parks = counter_get(c, parks);
	stats->noop_wakes = counter_get(c, noop_wakes);
	stats->steal_ops = counter_get(c, steal_ops);
	stats->steals = counter_get(c, steals);
	stats->steals_remote = counter_get(c, steals_remote);
	stats->local_schedules = counter_get(c, local_schedules);
	stats->overflows = counter_get(c, overflows);
	stats->injected = counter_get(c, injected);
	stats->forced_yields = counter_get(c, forced_yields);
	stats->source_polls = counter_get(c, source_polls);
	stats->source_events = counter_get(c, source_events);
	stats->rescues = counter_get(c, rescues);
	stats->max_poll_gap_ns = cycles_to_ns(counter_get(c, max_poll_gap));
	stats->queue_depth = weir__run_queue_len_any(&w->queue);
	return 0;
}

void
weir_runtime_stats_get(const struct weir_runtime *rt,
		       struct weir_runtime_stats *stats)
{
	unsigned int i;

	stats->workers = rt->nb_workers;
	stats->nodes = rt->nb_nodes;
	stats->spawned = atomic_u64_load(&rt->spawned, RELAXED);
	stats->remote_schedules =
		atomic_u64_load(&rt->remote_schedules, RELAXED);
	stats->live_tasks = 0;
	stats->inject_depth = 0;
	for (i = 0; i < rt->nb_workers; i++) {
		const struct worker *w = rt->workers[i];

		stats->spawned += counter_get(&w->counters, spawned);
		stats->remote_schedules +=
			counter_get(&w->counters, remote_schedules);
		stats->inject_depth += weir__inject_len(&w->inbox);
	}
	for (i = 0; i < rt->nb_nodes; i++) {
		struct node *node = rt->nodes[i];

		stats->live_tasks += weir__owned_count(&node->home.owned);
		stats->inject_depth += weir__inject_len(&node->inject);
	}
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
