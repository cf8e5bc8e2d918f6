/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The dump of live tasks: a walk over the owned lists (owned.c, O5), which
 * reads what wakers and pollers leave in the tasks as they go.
 */

#include <rte_cycles.h>

#include "sched/scheduler.h"
#include "sched/weir_dump.h"

struct listing {
	struct weir_task_entry *entries;
	unsigned int n;
	unsigned int filled;
};

static enum weir_task_state
state_of(uint64_t word, bool kept)
{
	if (word & STATE_COMPLETE)
		return WEIR_TASK_ENDED;
	if (word & STATE_RUNNING)
		return kept ? WEIR_TASK_QUEUED : WEIR_TASK_RUNNING;
	return word & STATE_NOTIFIED ? WEIR_TASK_QUEUED : WEIR_TASK_WAITING;
}

static uint64_t
age_us(const struct task *t)
{
	/* In this order: what is read later is not in the clock's future. */
	uint32_t stamp = atomic_u32_load(&t->woken, RELAXED);

	return stamp_age(stamp, rte_rdtsc()) / (rte_get_tsc_hz() / 1000000);
}

static bool
add_entry(const struct task *t, void *arg)
{
	uint64_t word = state_load(&t->state);
	uint32_t polls = atomic_u32_load(&t->polls, RELAXED);
	struct listing *l = arg;

	if (l->filled == l->n)
		return false;
	l->entries[l->filled++] = (struct weir_task_entry){
		.task = { t->id, t->ops->name },
		.state = state_of(word, polls & TASK_KEPT),
		.cancelled = (word & STATE_CANCELLED) != 0,
		.affinity = (enum weir_affinity)t->affinity,
		.worker = t->worker,
		.node = node_of_home(t->home)->id,
		.polls = polls & ~TASK_KEPT,
		.since_wake_us = age_us(t),
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

	pthread_mutex_lock(&rt->walk_mutex);
	for (i = 0; i < rt->nb_nodes; i++)
		weir__owned_walk(&rt->nodes[i]->home.owned, add_entry, &l);
	pthread_mutex_unlock(&rt->walk_mutex);
	if (l.filled < n)
		return l.filled;
	for (i = 0; i < rt->nb_nodes; i++)
		live += weir__owned_count(&rt->nodes[i]->home.owned);
	return RTE_MAX(live, n);
}
