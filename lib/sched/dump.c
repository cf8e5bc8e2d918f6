/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The dump of live tasks: a walk over those of each node (task/owned.c, O5), which
 * reads what wakers and pollers leave in the tasks as they go.
 */

#include <rte_cycles.h>

#include "base/cycles.h"
#include "sched/scheduler.h"
#include "sched/weir_dump.h"

struct listing {
	struct weir_task_entry *entries;
	unsigned int n;
	unsigned int filled;
	unsigned int node; /* NUMA id */
};

/* Whatever is to wake it has a reference. */
static bool
is_of_no_waker(uint64_t word)
{
	return state_refs(word) == (word & STATE_JOIN_INTEREST ? 1 : 0);
}

static enum weir_task_state
state_of(uint64_t word, bool kept)
{
	if (word & STATE_RUNNING)
		return kept ? WEIR_TASK_QUEUED : WEIR_TASK_RUNNING;
	if (word & STATE_NOTIFIED)
		return WEIR_TASK_QUEUED;
	return is_of_no_waker(word) ? WEIR_TASK_STRANDED : WEIR_TASK_WAITING;
}

static uint64_t
age_us(uint32_t woken)
{
	/* The clock is read last: what was read before is not in its future. */
	return us_of_cycles(stamp_age(woken, rte_rdtsc()));
}

static bool
add_entry(const struct task_view *v, void *arg)
{
	const uint16_t place = state_place(v->state);
	struct listing *l = arg;

	if (l->filled == l->n)
		return false;
	l->entries[l->filled++] = (struct weir_task_entry){
		.task = { v->id, v->ops->name },
		.state = state_of(v->state, v->polls & TASK_KEPT),
		.cancelled = (v->state & STATE_CANCELLED) != 0,
		.affinity = place_affinity(place),
		.worker = place_worker(place),
		.node = l->node,
		.polls = v->polls & ~TASK_KEPT,
		.since_wake_us = age_us(v->woken),
	};
	return true;
}

uint64_t
weir_task_list(struct weir_runtime *rt, struct weir_task_entry *entries,
	       unsigned int n)
{
	struct listing l = { .entries = entries, .n = n };
	uint64_t live = 0;
	unsigned int i;

	for (i = 0; i < rt->nb_nodes; i++) {
		l.node = rt->nodes[i]->id;
		weir__owned_walk(&rt->nodes[i]->home, add_entry, &l);
	}
	if (l.filled < n)
		return l.filled;
	for (i = 0; i < rt->nb_nodes; i++)
		live += weir__owned_count(&rt->nodes[i]->home.owned);
	return RTE_MAX(live, n);
}
