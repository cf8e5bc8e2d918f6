/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SCHED_SCHEDULER_H
#define SCHED_SCHEDULER_H

/*
 * The scheduler's data: a runtime has nodes, a node has workers, a worker has a
 * core.
 *
 * A worker is a place in the runtime, and others look into it. Its core is what
 * only the thread that drives the worker touches.
 */

#include <pthread.h>
#include <sys/queue.h>

#include "base/rand.h"
#include "metrics/counters.h"
#include "park/source.h"
#include "queue/inject.h"
#include "queue/run_queue.h"
#include "sched/idle.h"
#include "sched/options.h"
#include "sched/weir_runtime.h"
#include "task/owned.h"
#include "topology/topology.h"

#define LIFO_MAX_POLLS 3

struct worker;

struct core {
	struct worker *worker;
	struct weir_context ctx;

	/* Woken by the running task: next. Never stolen. */
	struct task *lifo;
	/* Tasks bound to this worker. Never stolen. */
	struct task_chain local;
	/* Yielded: back to the queue after the sources were polled. */
	struct task_chain deferred;

	uint32_t tick;
	uint32_t next_event;	  /* tick of the next maintenance */
	uint32_t next_inject;	  /* tick of the next look at inject first */
	uint32_t inject_interval; /* ticks */
	uint64_t last_poll;	  /* TSC */
	uint64_t tuned_at;	  /* TSC */
	uint32_t tuned_tick;
	uint64_t mean_poll; /* cycles a task poll takes, EWMA */

	bool local_first;  /* bound tasks have the next turn */
	bool shared_first; /* so has the node's inject queue */
	bool searching;
	bool woken; /* claimed by a notifier and has not found work yet */
	struct rand_state rand;
	struct cell_cache cells;
};

struct worker {
	/* Written at start only. */
	struct weir_runtime *rt;
	struct node *node;
	struct core *core;
	unsigned int index;
	unsigned int lcore;
	unsigned int idle_bit;
	/* Other workers: those of this node, then by distance. */
	uint16_t *victims;
	unsigned int *tier_end;
	unsigned int nb_tiers;
	struct atomic_u64 *steals_from; /* by victim; written by this worker */

	struct source_set sources;
	struct inject inbox;
	struct counters counters;
	/* Cells this worker took minus those it gave back. Its own. */
	struct atomic_u64 cells;

	struct run_queue queue;
};

struct node {
	struct task_home home;
	struct weir_runtime *rt;
	unsigned int index;
	unsigned int id; /* NUMA node */
	unsigned int nb_workers;
	/* Indices of all nodes by distance, itself first. */
	unsigned int *near;
	struct inject inject;
	struct idle idle;
};

enum runtime_phase {
	RUNTIME_RUNNING,
	RUNTIME_STOPPING,
	RUNTIME_STOPPED,
};

struct weir_runtime {
	/* Written at start only. */
	struct weir_options options;
	struct weir_hooks hooks;
	struct topology topology;
	uint64_t max_poll_gap; /* TSC cycles */
	uint64_t cross_node_age;
	uint64_t inject_target; /* cycles between looks at inject queues */
	uint64_t recheck_min;	/* a sleeper's looks at others' queues */
	uint64_t recheck_max;
	unsigned int nb_workers;
	unsigned int nb_nodes;
	struct worker **workers;
	struct node **nodes;
	struct place *places;

	struct source_registry sources;

	/* Shutdown: see shutdown.c. */
	struct atomic_u32 stopping weir_cache_aligned;
	struct atomic_u32 cores_out;
	pthread_mutex_t mutex;
	pthread_cond_t stopped;
	enum runtime_phase phase;
	bool lcores_back;
	int failure; /* that shut it down */

	/* Current-thread runtime: see current.c. Under the mutex. */
	bool core_taken;
	TAILQ_HEAD(, core_waiter) core_waiters;

	/* Written by threads that are not workers. */
	struct atomic_u64 spawned weir_cache_aligned;
	struct atomic_u64 remote_schedules;
	/* See runtime.c, M1. */
	struct atomic_u64 cells;
};

/* The core that the calling thread drives, or NULL. */
extern __thread struct core *weir__core
	__attribute__((tls_model("initial-exec")));

static inline struct node *
node_of_home(struct task_home *home)
{
	return container_of(home, struct node, home);
}

/* The calling thread's core, if it is one of this runtime. */
static inline struct core *
core_of(const struct weir_runtime *rt)
{
	struct core *c = weir__core;

	return c != NULL && c->worker->rt == rt ? c : NULL;
}

/* schedule.c */
void
weir__notify(struct node *node, const struct run_queue *queue);
void
weir__drop_chain(struct task_chain *c);
void
weir__schedule_back(struct core *c, struct task *t);
void
weir__schedule_deferred(struct core *c);
void
weir__overflow(struct core *c, struct task_chain *overflow);

/* steal.c */
struct task *
weir__take_inject(struct core *c);
struct task *
weir__search(struct core *c);
bool
weir__work_pending(const struct worker *w);
void
weir__rescue_neighbours(struct core *c);

/* worker.c */
int
weir__worker_main(void *worker);

/*
 * The calling thread drives the core until the runtime stops or, if `until` is
 * not NULL, that task has ended.
 */
void
weir__drive(struct core *c, const struct weir_join *until);

/* A hook of the worker, if there is one. */
#define worker_hook(w, hook)                                       \
	do {                                                       \
		const struct weir_hooks *hooks_ = &(w)->rt->hooks; \
		if (unlikely(hooks_->hook != NULL))                \
			hooks_->hook(hooks_->arg, (w)->index);     \
	} while (0)

/* current.c */
void
weir__current_run(struct weir_runtime *rt, struct weir_join *join);
void
weir__current_shutdown(struct weir_runtime *rt);

/* shutdown.c */
/* The failure that shut the runtime down, or -ECANCELED. */
int
weir__shutdown_reason(struct weir_runtime *rt);
void
weir__shutdown_worker(struct core *c);

/* runtime.c */
void
weir__runtime_unref(struct weir_runtime *rt);

#endif
