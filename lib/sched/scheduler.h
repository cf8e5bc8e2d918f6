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

#include <rte_cycles.h>

#include "base/cancel.h"
#include "base/rand.h"
#include "metrics/counters.h"
#include "metrics/histogram.h"
#include "metrics/trace.h"
#include "park/sleeper.h"
#include "park/source.h"
#include "queue/inbox.h"
#include "queue/inject.h"
#include "queue/run_queue.h"
#include "sched/blocking.h"
#include "sched/handoff.h"
#include "sched/idle.h"
#include "sched/options.h"
#include "sched/weir_runtime.h"
#include "task/owned.h"
#include "task/run.h"
#include "time/timers.h"
#include "topology/topology.h"

#define LIFO_MAX_POLLS 3u

/*
 * Turns resumed or looked behind in a row, all on one budget. Smaller: pairs that
 * answer each other wait in the queue more often. Larger: sources wait for more
 * turns.
 */
#define RESUMED_MAX 16u

/*
 * What a worker takes from an inject queue at once, at most: the first where turns are
 * short, the second where they are long (worker.c, tune()). Smaller: more looks at the
 * queue. Larger: in a full run queue there is no room for who is woken next; and others
 * could have run what waits there.
 */
#define INJECT_TAKE_MAX (RUN_QUEUE_SIZE / 2u)
#define INJECT_TAKE_MIN RTE_MIN(16u, INJECT_TAKE_MAX)

struct core {
	struct weir_context ctx;

	/* What each tick looks at, in two cache lines with what is above. */
	uint32_t next_look; /* tick of the next look at the clock */
	/* Ticks between this one and that; below 0: it is due. See core_tick(). */
	int32_t ticks_left;
	/* Tasks bound to this worker. Never stolen. */
	struct task_chain local;
	/*
	 * Yielded: back to the queue after the sources were polled. They are in an
	 * array, the last member, since who goes through a chain waits for each link;
	 * what it has no place for, and who was cancelled in a queue that was full while
	 * the runtime ends, is in a chain behind it.
	 */
	struct task_chain deferred;
	struct atomic_u32 recalled;   /* those, by others: see recall.c */
	struct atomic_u32 nb_yielded; /* in the array */
	/* Woken by the running task, or alone here: next. */
	struct slot lifo;

	/*
	 * Looks again behind the running task: next, before that of the slot. Its
	 * RUNNING is the core's, or that of who recalls it. Empty between ticks.
	 */
	struct slot behind;
	struct lock recall; /* held through a system call */

	uint32_t clock_ticks;	  /* between two of those */
	uint32_t calm_ticks;	  /* the same where nothing is timed */
	uint32_t next_event;	  /* tick of the next maintenance */
	uint32_t next_inject;	  /* tick of the next look at inject first */
	uint32_t inject_interval; /* ticks */
	uint32_t took_inject;	  /* tick of the last take from such a queue */
	/* TSC of the last look at the clock, or poll while parked. */
	uint64_t now;
	uint32_t stamp;	 /* the same, coarse */
	uint32_t budget; /* weir_options.budget */
	/*
	 * TSC of a moment ago, since which nothing has been done that may take long, or
	 * 0. Only while turns are timed, each of which looks at the clock as it is.
	 */
	uint64_t recent;
	uint64_t last_poll;  /* TSC */
	uint64_t busy_since; /* TSC up to which `busy` has been counted */
	uint64_t tuned_at;   /* TSC */
	uint32_t tuned_tick;
	uint32_t looked;    /* tick of the last look at the clock */
	uint64_t mean_poll; /* cycles a task poll takes, EWMA */
	uint32_t take_most; /* from an inject queue at once */
	/*
	 * The cell of the bound task that had its turn last, whatever it holds by now;
	 * NULL: none that is worth a look. See park.c, Q9.
	 */
	struct task *last_bound;
	uint64_t idle_since;   /* TSC; see park.c, Q3 */
	uint32_t short_waits;  /* in a row, up to the last; see park.c, Q6 */
	uint64_t idle_polls;   /* tasks polled until then */
	uint64_t far_after;    /* TSC; see steal.c, V5 */
	uint64_t recall_after; /* TSC; see recall.c, Z3 */
	uint64_t search_after; /* TSC; see park.c, Q6 */
	/* TSC of its next looks after those who are stuck, here and on other nodes. */
	uint64_t rescue_near;
	uint64_t rescue_far;

	/* What a turn has besides itself: in most none of it (worker.c, L7). */
	union {
		struct {
			bool searching; /* for others' tasks, until now */
			bool woken; /* by a notifier, and has not found work yet */
			bool from_slot; /* the task came through the LIFO slot */
			bool timed;	/* weir_options.histograms */
		};
		uint32_t rare;
	};
	bool lifo_slot;	       /* weir_options.lifo_slot */
	bool behind_from_slot; /* so did the one that looks again behind it */
	bool local_first;      /* bound tasks have the next turn */
	bool far_first;	   /* so have inject queues of nodes without workers */
	uint16_t deserted; /* where the last task of those was, by nearness */
	/*
	 * Between two tasks' turns: of what it makes runnable itself, the worker
	 * tells at the end.
	 */
	bool looking;
	bool dropping; /* a task's drop runs, maybe inside another's poll */
	struct rand_state rand;
	struct cell_cache cells;
	struct task *yielded[RUN_QUEUE_SIZE] weir_cache_aligned;
};

enum attention {
	ATTENTION_STOP = 1,   /* the runtime ends */
	ATTENTION_CLAIM = 2,  /* a thread wants the core: see handoff.c */
	ATTENTION_RETIRE = 4, /* the worker is to go: see workers.c */
	ATTENTION_RETURN = 8, /* one that it stands in for comes back */
};

/* Histograms of a worker: see timing.c. */
struct timing {
	/* By enum weir_histogram_kind; NULL: nothing is timed. */
	struct histogram *histograms[2];
	uint64_t ns_per_cycle; /* << NS_SHIFT */
	uint64_t longest;      /* cycles */
};

struct worker {
	struct core core weir_cache_aligned;
	/* Written when the worker starts or changes only. */
	struct weir_runtime *rt weir_cache_aligned;
	struct node *node;
	unsigned int index;
	unsigned int lcore;
	unsigned int idle_bit;
	/* Other workers, nearest first: see weir__topology_victims(). */
	uint16_t *victims;
	unsigned int *tier_end;
	unsigned int nb_tiers;
	unsigned int nb_near; /* the first of them are on this node */
	/* Idle bits of those on its core or with its last-level cache. */
	uint64_t beside[IDLE_WORDS];
	struct atomic_u64 *steals_from; /* by victim; written by this worker */
	struct timing timing;

	/* ATTENTION_*: what others want of its driver, who looks each tick. */
	struct atomic_u32 attention;
	/* See workers.c. */
	struct atomic_u32 active;    /* written with the runtime's mutex */
	struct atomic_u32 settled;   /* it has been active */
	struct atomic_u32 successor; /* index + 1; 0: none */
	struct atomic_u32 park;	     /* enum weir_park; written by anyone */
	struct atomic_u32
		quiet; /* see worker_is_quiet(); written by its driver */
	struct sleeper sleeper;

	struct handoff handoff;
	struct source_set sources;
	struct inbox inbox;
	struct counters counters;
	uint64_t id_base; /* of the tasks that it spawns */
	struct owned_count live;

	struct run_queue queue;
	struct timers timers;
};

struct node {
	struct task_home home;
	struct weir_runtime *rt;
	unsigned int index;
	unsigned int id; /* NUMA node */
	unsigned int nb_places;
	struct worker **workers; /* by idle bit */
	/* Indices of all nodes by distance, itself first. */
	unsigned int *near;
	struct inject inject;
	struct idle idle;
	/* Written by threads that are not workers. */
	struct atomic_u64 outside_schedules weir_cache_aligned;
};

enum runtime_phase {
	RUNTIME_RUNNING,
	RUNTIME_STOPPING,
	RUNTIME_STOPPED,
};

/* See telemetry.c. */
enum registry_state {
	REGISTRY_OUT,
	REGISTRY_NAMED,	 /* its name is no other's */
	REGISTRY_LISTED, /* and commands find it */
};

struct weir_runtime {
	/* Written at start only. */
	struct weir_options options;
	char name[OPTIONS_NAME_LEN + 1];
	struct weir_hooks hooks;
	struct topology topology;
	struct clock clock;
	uint64_t max_poll_gap; /* TSC cycles */
	uint64_t cross_node_age;
	uint64_t inject_target; /* cycles between looks at inject queues */
	uint64_t clock_target;	/* and at the clock */
	uint64_t take_target;	/* cycles that what is taken at once takes */
	uint64_t linger;	/* cycles of a short wait; see park.c, Q6 */
	uint64_t linger_polled; /* and of one that a poll ends */
	uint64_t recall_age;	/* without a poll, before a batch is recalled */
	uint64_t recheck_min;	/* a sleeper's looks at others' queues */
	uint64_t recheck_max;
	uint64_t adaptive_poll;	 /* TSC cycles without work before it pauses */
	uint64_t adaptive_sleep; /* and before it sleeps */
	bool power_pause;	 /* weir__pause_saves_power() */
	bool membarrier;	 /* the kernel has it */
	unsigned int nb_workers; /* places; see workers.c */
	unsigned int nb_nodes;
	struct worker **workers;
	struct node **nodes;
	struct place *places;
	/* Nodes without workers. Written when those come and go. */
	struct atomic_u32 deserted;

	struct source_registry sources;
	TAILQ_ENTRY(weir_runtime) registry_link;
	enum registry_state registry_state;

	/* Shutdown: see shutdown.c. */
	struct atomic_u32 cores_out weir_cache_aligned;
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* phase, or workers */
	enum runtime_phase phase;
	bool lcores_back;
	unsigned int nb_beginning; /* threads in step 1 */
	int failure;		   /* that shut it down */

	/* Workers that come and go: see workers.c. With the mutex. */
	bool changing;
	struct worker *heir;	  /* of the one that retires */
	struct worker *returning; /* until its tasks have been let go */
	unsigned int nb_active;

	/* Current-thread runtime: see current.c. Under the mutex. */
	bool core_taken;
	TAILQ_HEAD(, core_waiter) core_waiters;

	/* Written by its threads and by those that spawn jobs. */
	struct blocking_pool blocking weir_cache_aligned;

	/* Written by threads that are not workers. */
	struct atomic_u64 spawned weir_cache_aligned;
	/* See runtime.c, M1. */
	struct atomic_u64 cells;
};

static inline struct worker *
worker_of(const struct core *c)
{
	/* DPDK's macro casts const away, of which Clang warns. */
	return container_of((struct core *)(uintptr_t)c, struct worker, core);
}

/* The core that the calling thread drives, or NULL. */
extern __thread struct core *weir__core
	__attribute__((tls_model("initial-exec")));

/* The number of the present tick. */
static inline uint32_t
core_tick(const struct core *c)
{
	return c->next_look - 1 - (uint32_t)c->ticks_left;
}

static inline void
core_look_at(struct core *c, uint32_t tick)
{
	c->ticks_left += (int32_t)(tick - c->next_look);
	c->next_look = tick;
}

/*
 * It has just looked at the clock: says when to do so next, counted from a tick on
 * (worker.c, L1 to L3). At that tick if it is late for something else by then.
 */
static inline void
core_looked(struct core *c, uint32_t tick)
{
	const struct worker *w = worker_of(c);
	bool calm =
		!timers_any(&w->timers) && !source_set_is_awaited(&w->sources);
	int32_t ticks = (int32_t)(calm ? c->calm_ticks : c->clock_ticks);

	ticks = RTE_MIN(ticks, (int32_t)(c->next_event - tick));
	ticks = RTE_MIN(ticks, (int32_t)(c->next_inject - tick));
	core_look_at(c, tick + (uint32_t)RTE_MAX(ticks, 0));
}

/* May it take from other nodes (steal.c, V5)? */
static inline bool
core_goes_far(const struct core *c)
{
	return c->now >= c->far_after;
}

/* A task that is bound to this worker, to have its turn; or NULL. */
static inline struct task *
core_pop_bound(struct core *c)
{
	struct task *t = task_chain_pop(&c->local);

	if (t != NULL)
		c->last_bound = cell_is_large(t) ? NULL : t;
	return t;
}

static inline struct node *
node_of_home(struct task_home *home)
{
	return container_of(home, struct node, home);
}

static inline bool
worker_active(const struct worker *w)
{
	return atomic_u32_load(&w->active, RELAXED) != 0;
}

/* What others want of the worker's driver. */
static inline uint32_t
worker_attention(const struct worker *w)
{
	/* [attention:A1] what was arranged before the call is seen. */
	return atomic_u32_load(&w->attention, ACQUIRE);
}

/* Does it wait without saying that it sleeps (park.c, Q7)? */
static inline bool
worker_is_quiet(const struct worker *w)
{
	return atomic_u32_load(&w->quiet, RELAXED) != 0;
}

/* Has the runtime one worker, and no node besides that one's? */
static inline bool
runtime_is_alone(const struct weir_runtime *rt)
{
	return rt->nb_workers == 1 && rt->nb_nodes == 1;
}

/* The calling thread's core, if it is one of this runtime. */
static inline struct core *
core_of(const struct weir_runtime *rt)
{
	struct core *c = weir__core;

	return c != NULL && worker_of(c)->rt == rt ? c : NULL;
}

static inline void
core_set_now(struct core *c, uint64_t tsc)
{
	c->now = tsc;
	c->stamp = stamp_coarse(tsc);
}

/*
 * The stamp of what is made runnable now. A core has the time of its turn at hand,
 * which does but when wake-ups are timed.
 */
static inline uint32_t
woken_now(const struct weir_runtime *rt, const struct core *c)
{
	if (unlikely(rt->options.histograms))
		return stamp_fine(rte_rdtsc());
	return c != NULL ? c->stamp : stamp_coarse(rte_rdtsc());
}

/*
 * Notes when a task was made runnable. The holder of the notification, on core c
 * or NULL.
 */
static inline void
note_woken_at(const struct core *c, struct task *t, uint32_t stamp)
{
	atomic_u32_store(&t->woken, stamp, RELAXED);
	TRACE_FP(task_wake, task_id(t),
		 c != NULL ? worker_of(c)->index : TRACE_NO_WORKER);
}

static inline void
note_woken(const struct weir_runtime *rt, const struct core *c, struct task *t)
{
	note_woken_at(c, t, woken_now(rt, c));
}

/* schedule.c */
/* As weir__schedule(), but it has been noted when the task was woken. */
void
weir__place(struct task *t);
void
weir__notify(struct node *node, const struct run_queue *queue);

/* Has this worker been away from its sources, so from its queue, for long? */
static inline bool
worker_is_stuck(const struct worker *w, uint64_t limit)
{
	uint64_t last = atomic_u64_load(&w->sources.last_poll, RELAXED);
	uint64_t now = rte_rdtsc();

	return last != 0 && now > last && now - last > limit;
}

/* H3: something else runs first, so others can have all that they can take. */
static inline void
tell_of_all(const struct core *c)
{
	const struct worker *w = worker_of(c);

	if (run_queue_shared_owner(&w->queue) > 0)
		weir__notify(w->node, &w->queue);
}

/* Has the worker nothing to run that waits longer than what it finds now? */
static inline bool
nothing_queued(const struct core *c)
{
	return slot_peek_owner(&c->lifo) == NULL &&
	       task_chain_len(&c->local) == 0 &&
	       run_queue_len_owner(&worker_of(c)->queue) == 0;
}

/*
 * H3, for what was queued between two tasks: of that nobody was told yet. Others
 * can have what is not run next.
 */
static inline void
tell_of_queued(const struct core *c)
{
	if (task_chain_len(&c->local) > 0 ||
	    slot_peek_owner(&c->lifo) != NULL ||
	    run_queue_len_owner(&worker_of(c)->queue) > 1)
		tell_of_all(c);
}

/*
 * Pushes to a node's inject queue. If that is closed, drops the notifications; a task that
 * has its turn with it, and is the calling worker's, gives that back or stays.
 */
void
weir__inject(struct node *node, struct task *const *tasks, unsigned int n);
void
weir__schedule_back(struct core *c, struct task *t);
/* The same for several, none of which is bound to a worker. */
void
weir__schedule_batch(struct core *c, struct task *const *tasks, unsigned int n);
void
weir__schedule_deferred(struct core *c);
/* All who yielded are in the chain then. Whoever may touch them. */
void
weir__chain_yielded(struct core *c);

/* recall.c */
/* Has that worker tasks that only it comes to, and has not come for long? */
bool
weir__keeps_tasks(const struct worker *victim, const struct worker *thief);
/*
 * Takes some of them: returns one, the others are queued here; n: how many. NULL: there
 * was nothing after all.
 */
struct task *
weir__recall(struct core *c, struct worker *victim, unsigned int *n);
void
weir__await_recall(struct core *c);

/* Those who yielded, bound or not. At once old. Any thread. */
static inline unsigned int
core_nb_deferred(const struct core *c)
{
	return atomic_u32_load(&c->nb_yielded, RELAXED) +
	       task_chain_len(&c->deferred);
}

/* Between polls, before they are touched: nobody else goes through them (Z1). */
static __rte_always_inline void
core_own_deferred(struct core *c)
{
	/*
	 * [recall:F1] between the end of the last poll and this look. [recall:A2] what
	 * others did to them.
	 */
	atomic_light_fence();
	if (unlikely(atomic_u32_load(&c->recalled, ACQUIRE) != 0))
		weir__await_recall(c);
}

/* It waits for the next poll of the sources. Between polls. */
static __rte_always_inline void
core_defer(struct core *c, struct task *t)
{
	uint32_t n;

	core_own_deferred(c);
	n = atomic_u32_load(&c->nb_yielded, RELAXED);
	if (unlikely(n == RUN_QUEUE_SIZE)) {
		task_chain_add(&c->deferred, t);
		return;
	}
	c->yielded[n] = t;
	atomic_u32_store(&c->nb_yielded, n + 1, RELAXED);
}

/* But for poll and run, of which the caller wants one or the other. */
bool
weir__ops_valid(const struct weir_task_ops *ops);

/*
 * A cell for a new task, filled in but for its id and its state word, and counted
 * (runtime.c, M1).
 * The core is the calling thread's, if it is of this runtime. kept: see spawn.h. NULL: no
 * memory.
 */
struct task *
weir__task_alloc(struct core *c, struct node *home,
		 const struct weir_task_ops *ops, const void *state, bool kept);

/* A cell of a node, counted (runtime.c, M1). NULL: no memory. */
struct task *
weir__cell_get(struct core *c, struct node *home, size_t size);

/*
 * object.c: memory of what tasks share, aligned as a task's state. Any thread. It may
 * outlive the runtime, whose own memory then stays until it is freed.
 */
void *
weir__object_alloc(struct weir_runtime *rt, size_t size);
/* Zeroed; the type is for who looks at EAL's heap. */
void *
weir__object_zalloc(const char *type, size_t size);
/* The same, of the heap, whoever asks. */
void *
weir__object_zalloc_heap(const char *type, size_t size);
void
weir__object_free(void *object);

/* It will be started, or refused: gives it its id and tells the hook. */
void
weir__task_announce(struct core *c, struct task *t);

/* steal.c */
struct task *
weir__take_inject(struct core *c);
/* From nodes that have no workers. */
struct task *
weir__take_deserted(struct core *c);
struct task *
weir__search(struct core *c);
bool
weir__work_pending(const struct worker *w);
unsigned int
weir__worth_taking(const struct node *node);
/* True: of somebody's timers that are due, a part was done. */
bool
weir__rescue_neighbours(struct core *c);
bool
weir__rescue_far(struct core *c);
/* Whom a worker asks for work, and wakes first. Once all workers are there. */
void
weir__find_neighbours(struct worker *w);

/* worker.c */
int
weir__worker_main(void *worker);

/*
 * The calling thread drives the core until the runtime stops, the worker
 * retires, another thread gets the core, or, if `until` is not NULL, that task
 * has ended.
 */
void
weir__drive(struct core *c, const struct weir_join *until, enum driver driver);

/*
 * Those in the worker's queues that keep their turn give it back, or end if they were
 * cancelled (task/run.h, N2). Between two turns.
 */
void
weir__give_turns_back(struct core *c);

/*
 * Another poll comes first, on this thread or on the one that gets the core: what was
 * to be next, in the slot or behind the running task, goes to the queue, and others are
 * told.
 */
void
weir__queue_next(struct core *c);

/* The core found something to run, or will not look any more. */
void
weir__stop_searching(struct core *c);

/* The worker has not been parked since it was last counted. */
static inline void
count_busy(struct core *c, uint64_t now)
{
	counter_add(&worker_of(c)->counters, busy, now - c->busy_since);
	c->busy_since = now;
}

/* One round over the sources. */
void
weir__poll_sources(struct core *c, uint64_t now, bool idle);

/* Is there something to be done about a worker's timers? now: TSC. Any thread. */
static inline bool
worker_timers_due(const struct worker *w, uint64_t now)
{
	/* Without timers, no look at the clock. */
	return unlikely(timers_any(&w->timers)) &&
	       unlikely(timers_due(&w->timers, clock_at(w->timers.clock, now)));
}

/*
 * Wakes those whose time has come on a worker, or the first of them if they are many,
 * and adds how many to *fired. now: TSC. False if there was nothing to do about timers.
 * Any worker.
 */
static inline bool
fire_timers(struct worker *w, uint64_t now, unsigned int *fired)
{
	if (likely(!worker_timers_due(w, now)))
		return false;
	*fired += weir__timers_fire(&w->timers, clock_at(w->timers.clock, now));
	return true;
}

/*
 * park.c: waits before a search, if waits have been short (Q6). True if there is
 * something to do, of its own, or that it has taken from the inject queue: *t, which is
 * NULL before.
 */
bool
weir__linger(struct core *c, struct task **t);
void
weir__park(struct core *c);

/* Sets an ATTENTION_* bit, and wakes the worker if it sleeps. Any thread. */
void
weir__worker_call(struct worker *w, uint32_t bit);
/*
 * telemetry.c: the runtime's name is its own until the release, which comes last and
 * may come without this. Returns 0 or -EEXIST.
 */
int
weir__name_reserve(struct weir_runtime *rt);
void
weir__name_release(struct weir_runtime *rt);
/* From when a runtime is whole until it is taken apart. */
void
weir__telemetry_add(struct weir_runtime *rt);
void
weir__telemetry_remove(struct weir_runtime *rt);

/* timing.c */
int
weir__timing_init(struct worker *w);
void
weir__timing_fini(struct worker *w);
/* task_run() with its times; `recent` is when it was over. */
enum task_next
weir__task_run_timed(struct core *c, struct task *t, bool resumed);

/* A hook of the worker, if there is one. */
#define worker_hook(w, hook)                                       \
	do {                                                       \
		const struct weir_hooks *hooks_ = &(w)->rt->hooks; \
		if (unlikely(hooks_->hook != NULL))                \
			hooks_->hook(hooks_->arg, (w)->index);     \
	} while (0)

/* handoff.c */
/* Is the calling thread inside weir_block_in_place() of a task of rt? */
bool
weir__blocked_in(const struct weir_runtime *rt);

/* current.c */
void
weir__current_run(struct weir_runtime *rt, struct weir_join *join);
void
weir__current_shutdown(struct weir_runtime *rt);

/* workers.c */
/* The worker that a task bound to worker `index` runs on now. */
struct worker *
weir__worker_for(const struct weir_runtime *rt, unsigned int index);
/* Whatever was pushed to the inbox of a worker that has gone. */
void
weir__forward_inbox(struct worker *w);
/* Before its thread starts. */
void
weir__worker_enable(struct worker *w);
/* The worker has the tasks of one that comes back, and runs none of them. */
void
weir__worker_let_go(struct core *c);
/* The worker's part of retiring. */
void
weir__retire_worker(struct core *c);
/*
 * The lcore is the caller's runtime's to launch on, until it leaves it; or -EBUSY, and
 * something else runs there or is about to.
 */
int
weir__lcore_take(unsigned int lcore);
void
weir__lcore_leave(unsigned int lcore);
/* Waits for the worker's thread to be back, and leaves its lcore. */
void
weir__lcore_give_back(struct worker *w);
/* Can the calling thread, and the runtime? 0, -EDEADLK or -ENOTSUP. */
int
weir__may_change_workers(const struct weir_runtime *rt);

/* shutdown.c */
/* Milliseconds from now, by CLOCK_MONOTONIC. */
struct timespec
weir__deadline(uint64_t ms);
/* The failure that shut the runtime down, or -ECANCELED. */
int
weir__shutdown_reason(struct weir_runtime *rt);
void
weir__shutdown_worker(struct core *c, enum driver driver);

/* runtime.c */
void
weir__runtime_unref(struct weir_runtime *rt);

#endif
