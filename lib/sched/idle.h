/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SCHED_IDLE_H
#define SCHED_IDLE_H

/*
 * Who on a node searches for work and who sleeps, so that a notifier wakes as
 * few as needed. See idle.c.
 */

#include <rte_lcore.h>

#include "base/atomic.h"
#include "base/common.h"

#define IDLE_WORDS ((RTE_MAX_LCORE + 63) / 64)

struct idle {
	/*
	 * searching:16 | sleeping:16. Written by those that go idle and by
	 * notifiers; read by all.
	 */
	struct atomic_u32 state weir_cache_aligned;
	struct atomic_u32 nb_workers;
	/* A set bit: that worker sleeps and nobody has claimed it. */
	struct atomic_u64 sleepers[IDLE_WORDS];
};

void
weir__idle_init(struct idle *idle, unsigned int nb_workers);

/* A worker, which is awake and does not search, comes or goes. */
void
weir__idle_add_worker(struct idle *idle);
void
weir__idle_remove_worker(struct idle *idle);

static inline unsigned int
idle_workers(const struct idle *idle)
{
	return atomic_u32_load(&idle->nb_workers, RELAXED);
}

/* May the caller search? At most half of the workers do at once. */
bool
weir__idle_start_searching(struct idle *idle);

/* The caller found work. True if it was the last one searching. */
bool
weir__idle_stop_searching(struct idle *idle);

/*
 * The worker with this bit goes to sleep. True if it was searching and the
 * last one, or is alone: it must then look at every queue once more.
 */
bool
weir__idle_sleep(struct idle *idle, unsigned int bit, bool searching);

/* Has a notifier claimed the sleeper? It is then searching. */
bool
weir__idle_claimed(const struct idle *idle, unsigned int bit);

/* A sleeper gets up by itself. True if a notifier claimed it first. */
bool
weir__idle_wake_self(struct idle *idle, unsigned int bit);

/* How many sleep; at once old. */
static inline unsigned int
idle_sleeping(const struct idle *idle)
{
	return atomic_u32_load(&idle->state, RELAXED) & 0xffff;
}

/* Do all of them sleep, unclaimed? */
static inline bool
idle_all_asleep(const struct idle *idle)
{
	return idle_sleeping(idle) == idle_workers(idle);
}

/* Does nobody sleep? The one relaxed load of a notifier. */
static inline bool
idle_all_awake(const struct idle *idle)
{
	return idle_sleeping(idle) == 0;
}

/*
 * Claims a sleeper, which wakes as a searcher; *bit is its bit. It is one of
 * those whose bits are in preferred[IDLE_WORDS], if they are given and one of
 * them sleeps. It may sleep in the kernel: the caller sees to that. False if
 * nobody sleeps, or someone searches already.
 */
bool
weir__idle_notify(struct idle *idle, const uint64_t *preferred,
		  unsigned int *bit);

#endif
