/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PARK_SOURCE_H
#define PARK_SOURCE_H

/*
 * The sources of a worker, as the scheduler sees them. Polling them is how a
 * worker parks. See source.c.
 */

#include <pthread.h>
#include <rte_rcu_qsbr.h>

#include "base/common.h"
#include "base/lock.h"
#include "metrics/counters.h"
#include "park/weir_source_driver.h"
#include "task/task.h"

struct source_array;

/* Guards changes of all source sets of a runtime. */
struct source_registry {
	pthread_mutex_t mutex;
	struct rte_rcu_qsbr *qsbr; /* the workers are its readers */
	bool closed;		   /* no more sources */
};

struct source_set {
	/* Read by the home worker and by rescuers; replaced, never changed. */
	struct atomic_ptr array;
	/* TSC of the home worker's last round; read by rescuers. */
	struct atomic_u64 last_poll;
	struct source_registry *registry;
	unsigned int worker;
	unsigned int socket;
};

struct weir_source {
	const struct weir_source_ops *ops;
	struct source_set *set;
	/* The waiter is set; read without the lock to skip the others. */
	struct atomic_u32 armed;
	struct lock lock;

	/* Under the lock. */
	int16_t error; /* closed with this errno */
	int16_t alert; /* to be told once */
	struct weir_waker *waiter;
	struct atomic_u64 polls;
	struct atomic_u64 events;
	struct atomic_u64 rescues;

	uint8_t priv[] weir_cache_aligned;
};

void
weir__source_set_init(struct source_set *s, struct source_registry *r,
		      unsigned int worker, unsigned int socket);
void
weir__source_set_fini(struct source_set *s);

/*
 * Polls the armed sources once and wakes the tasks of those that are ready.
 * Returns how many were. The home worker, between two of its quiescent states.
 */
unsigned int
weir__source_set_poll_owner(struct source_set *s);

/*
 * The same for a worker that has not come to it, over those sources that allow
 * it. Any worker.
 */
unsigned int
weir__source_set_rescue(struct source_set *s);

/* Closes all sources and refuses new ones: the runtime ends. */
void
weir__source_set_close(struct source_set *s);

/*
 * What the scheduler provides.
 */

/* NULL if there is no such worker. */
struct source_set *
weir__runtime_source_set(struct weir_runtime *rt, unsigned int worker);

/* The calling worker's reader id, or RTE_QSBR_THRID_INVALID. */
unsigned int
weir__qsbr_id(const struct source_registry *r);

#endif
