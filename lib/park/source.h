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
#include "park/sleeper.h"
#include "park/weir_source_driver.h"
#include "task/task.h"

struct source_watch;

/* Replaced as a whole, never changed. */
struct source_array {
	unsigned int n;
	struct weir_source *s[];
};

/* Guards changes of all source sets of a runtime. */
struct source_registry {
	pthread_mutex_t mutex;
	pthread_mutex_t waits;	   /* for the readers, one at a time (S6) */
	struct rte_rcu_qsbr *qsbr; /* the workers are its readers */
	bool closed;		   /* no more sources */
};

struct source_set {
	/* A source_array. Read by the home worker and by rescuers. */
	struct atomic_ptr array;
	/* TSC of the home worker's last round, 0 while it sleeps; read by rescuers.
	 */
	struct atomic_u64 last_poll;
	/*
	 * Whether a source may be armed. Set by who arms one; cleared by a round of
	 * the home worker's that finds none, and by mistake if one is armed elsewhere
	 * meanwhile: it hastens a round, and what must not miss one looks itself.
	 */
	struct atomic_u32 awaited;
	struct source_registry *registry;
	bool closed; /* its worker does not run. With the registry's mutex */
	struct sleeper *sleeper; /* the home worker's */
	unsigned int worker;
	unsigned int socket;
};

struct weir_source {
	const struct weir_source_ops *ops;
	/* Changed with the registry's mutex and the lock. */
	struct atomic_ptr set;
	/*
	 * How many wait. Changed with the lock; read without it to skip the
	 * others.
	 */
	struct atomic_u32 armed;

	/* Under the lock. */
	uint8_t looks; /* in vain since a task waits, up to SOURCE_FEW_LOOKS */
	bool quick;    /* the last time there were fewer */
	bool again;    /* a task yielded to look again, and has found nothing */
	struct lock lock;
	union {
		struct {
			int16_t error; /* closed with this errno */
			int16_t alert; /* to be told once */
			bool stocked;  /* its driver has something in a stash */
		};
		uint64_t told; /* all of it, for one look */
	};
	struct weir_waker *waiter; /* the one, if there are no other places */
	struct atomic_u64 polls;
	/* TSC: no round looks before; read without the lock. */
	struct atomic_u64 not_before;

	/*
	 * Second line: the home worker's, around its sleeps. See source_sleep.c.
	 */
	/* TSC: before, there is no sleeping on it, since that did not work; 0: it may. */
	struct atomic_u64 polled_until weir_cache_aligned;
	struct atomic_u32 leaves; /* its worker: no sleep on it begins */
	/*
	 * ops->sleep was called, and ops->wake not yet. Changed with the lock, by the
	 * home worker, which reads it without to skip the others (N1).
	 */
	struct atomic_u32 slept;
	uint8_t refusals; /* of ops->sleep, the last ones, up to REFUSALS */
	bool trusted;	  /* its interrupt has ended a sleep before */
	uint8_t strikes;  /* sleeps that it should have ended */
	/* By its user; it may be in the array still. With the registry's mutex. */
	bool freed;
	struct source_watch *watch; /* with the lock; see source_watch.c */
	struct atomic_u64 idle_not_before; /* the same, for an idle worker's */
	/* Written under the lock. */
	struct atomic_u64 events;
	struct atomic_u64 rescues;

	uint8_t priv[] weir_cache_aligned;
};

/* So many looks later, others have had their turn: they may have sent something. */
#define SOURCE_FEW_LOOKS 2

static inline struct weir_source *
source_of(const void *priv)
{
	uintptr_t p = (uintptr_t)priv;

	return (struct weir_source *)(p - offsetof(struct weir_source, priv));
}

static inline bool
source_is_armed(const struct weir_source *src)
{
	return atomic_u32_load(&src->armed, RELAXED) != 0;
}

/* The set of the worker that polls it; it may be moving. */
static inline struct source_set *
source_home(const struct weir_source *src)
{
	return atomic_ptr_load(&src->set, RELAXED);
}

/* With the lock. */
static inline void
source_count_waiters(struct weir_source *src, int more)
{
	uint32_t n = atomic_u32_load(&src->armed, RELAXED);

	atomic_u32_store(&src->armed, n + (uint32_t)more, RELAXED);
	if (more > 0)
		atomic_u32_store(&source_home(src)->awaited, 1, RELAXED);
}

void
weir__source_set_init(struct source_set *s, struct source_registry *r,
		      struct sleeper *sleeper, unsigned int worker,
		      unsigned int socket);
void
weir__source_set_fini(struct source_set *s);

/* The worker runs; until then, no source can be added. */
void
weir__source_set_open(struct source_set *s);

/*
 * Closes a set and gives its sources to another. Returns 0; or -ENOMEM or
 * -ESHUTDOWN, and nothing has changed. Any thread.
 */
int
weir__source_set_hand_over(struct source_set *from, struct source_set *to);

/* The sources now; until the next quiescent state. The worker's driver. */
const struct source_array *
weir__source_set_array(const struct source_set *s);

/*
 * Polls the armed sources once and wakes the tasks of those that are ready.
 * now: TSC. idle: the worker has nothing to run. Returns how many were. The home
 * worker, between two of its quiescent states.
 */
unsigned int
weir__source_set_poll_owner(struct source_set *s, uint64_t now, bool idle);
/* Would that look at any? Not so if it was just armed elsewhere. */
static inline bool
source_set_is_awaited(const struct source_set *s)
{
	return atomic_u32_load(&s->awaited, RELAXED) != 0;
}

/*
 * The same for a worker that has not come to it, over those sources that allow
 * it. Any worker.
 */
unsigned int
weir__source_set_rescue(struct source_set *s, uint64_t now);

/*
 * Polls a source that is waited on. True when there was something; the one
 * waiter is then in *w, taken out, or NULL if there is none. With the lock.
 */
bool
weir__source_look(struct weir_source *src, bool rescue, struct weir_waker **w);

/*
 * source_wait.c: empties the one place, if who is in it has ended and nobody has
 * the lock. The home worker, without the lock.
 */
void
weir__source_forget_ended(struct weir_source *src);

/*
 * source_sleep.c: the home worker sleeps. may_sleep: is there none of its
 * sources that has to be polled? Those whose waiter has ended are waited on no
 * more after it, but for those with places for several.
 */
bool
weir__source_set_may_sleep(const struct source_set *s);

/*
 * Has the armed sources wake the worker, and polls them once more. Returns for
 * how long it may sleep, timeout_ns at most; 0: not at all. After it, in any
 * case, comes wake; late: the time was up, and was longer than an interrupt takes.
 */
uint64_t
weir__source_set_sleep(struct source_set *s, uint64_t timeout_ns);
void
weir__source_set_wake(struct source_set *s, bool late);

/* Waits until the home worker's sleep is none of the source's any more. */
void
weir__source_await_wake(struct weir_source *src);

/* The runtime ends: sources are neither made nor moved any more. */
void
weir__source_registry_close(struct source_registry *r);

/* The same, and closes those of a set. */
void
weir__source_set_close(struct source_set *s);

/* How many are there that have not been freed? Any thread. */
unsigned int
weir__source_set_count(struct source_set *s);

/*
 * What the scheduler provides.
 */

/* NULL if there is no such worker. */
struct source_set *
weir__runtime_source_set(struct weir_runtime *rt, unsigned int worker);

/* The task whose poll the calling thread is in, or NULL. */
const struct task *
weir__task_current(void);

/*
 * The calling thread's worker, of whatever runtime, is no reader of arrays for a
 * while. False: it was none.
 */
bool
weir__reader_leave(void);
void
weir__reader_return(void);

#endif
