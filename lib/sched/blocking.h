/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SCHED_BLOCKING_H
#define SCHED_BLOCKING_H

/*
 * The blocking pool: threads for functions that block, beside the workers. See
 * blocking.c for how.
 */

#include <pthread.h>
#include <sched.h>
#include <sys/queue.h>
#include <time.h>

#include "queue/run_queue.h"
#include "sched/weir_runtime.h"

struct blocking_thread;

struct blocking_pool {
	/* Written at start only. */
	char thread_name[12]; /* what their names begin with */
	cpu_set_t cpus;	      /* for options.blocking_cpus */

	/* The rest is under this mutex; no other is taken with it. */
	pthread_mutex_t mutex;
	pthread_cond_t quiet; /* the closed pool may have come to its end */
	struct task_chain queue;
	LIST_HEAD(, blocking_thread) idle; /* who idled last is first */
	unsigned int started;		   /* threads, ever */
	unsigned int driving;		   /* threads inside a call */
	bool closed;			   /* jobs are refused and cancelled */
	bool finished;			   /* no thread starts any more */
	bool has_leaver;
	pthread_t leaver; /* left last; to be joined */

	/* Written under it, read by anyone. */
	struct atomic_u32 threads;
	struct atomic_u32 queued;
	struct atomic_u32 running; /* jobs that a thread is in */
};

void
weir__blocking_init(struct weir_runtime *rt);
void
weir__blocking_fini(struct weir_runtime *rt);

/*
 * Runs fn(arg) on a thread of the pool at once: before queued jobs, and beyond
 * the limit if no thread idles. fn leaves the thread as it found it. Any thread,
 * until the runtime's shutdown is over. 0, or -EAGAIN if no thread can be had.
 */
int
weir__blocking_drive(struct weir_runtime *rt, void (*fn)(void *arg), void *arg);

/*
 * Refuses jobs from here on and cancels those that are queued; jobs that run
 * go on. Their drop runs here, so no lock may be held. Any thread, repeatedly.
 */
void
weir__blocking_close(struct weir_runtime *rt);

/*
 * Waits until the threads of a closed pool have ended, and with them its jobs.
 * 0 or -ETIMEDOUT. Any thread that is not one of them.
 */
int
weir__blocking_finish(struct weir_runtime *rt, const struct timespec *deadline);

/* Is the caller one that weir__blocking_finish() waits for? */
bool
weir__blocking_inside(const struct weir_runtime *rt);

#endif
