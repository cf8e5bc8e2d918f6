/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_WORKERS_H
#define MODEL_WORKERS_H

/*
 * A runtime put together by hand: workers that look for tasks and park as the
 * library's do, and tasks of its first node that are not run but seen (rig.h).
 */

#include "rig.h"
#include "sched/scheduler.h"

#define WORKERS_MAX 3

extern struct weir_runtime *workers_rt;

/*
 * Those that poll look at others' queues in each turn, and a short sleep in the
 * kernel is such a turn. But with:
 */
enum workers_kind {
	/* Nobody looks again before it is called. */
	WORKERS_PATIENT = 1,
	/* There is no membarrier, and short sleeps do not end by themselves. */
	WORKERS_NO_MEMBARRIER = 2,
	/* Each has a node of its own, whose work is worth taking at once. */
	WORKERS_APART = 4,
	/* Their waits were short. */
	WORKERS_LINGER = 8,
	/* And are all: they linger until they find something by their polls. */
	WORKERS_LINGER_ON = 16,
};

/* n workers, awake, which wait by that policy; kind: of enum workers_kind. */
void
workers_begin(unsigned int n, enum weir_park park, unsigned int kind);

/* An inject queue with a ring for that many; the ring is the caller's to free. */
void
workers_make_inject(struct inject *q, unsigned int capacity);

struct worker *
workers_get(unsigned int i);

/* Starts a thread that drives worker i until it is told to stop. */
void
workers_drive(unsigned int i);

/* As if the calling thread drove worker i, and ran a task. */
void
workers_enter(unsigned int i);

/* A task for any worker, or for worker i; not queued. */
struct task *
workers_task(unsigned int id);
struct task *
workers_bound_task(unsigned int id, unsigned int i);

/*
 * A task that waits for something: it is polled until that does not say
 * WEIR_PENDING, or it is cancelled, and then seen.
 */
struct task *
workers_polled_task(unsigned int id, const struct weir_task_ops *ops);
struct task *
workers_polled_bound_task(unsigned int id, const struct weir_task_ops *ops,
			  unsigned int i);

/* The calling thread, which drives worker i, runs such a task for a turn. */
void
workers_poll(unsigned int i, struct task *t);

/* Who has been told to run a task stays in it until n have been seen. */
extern unsigned int workers_run_until;

/* Waits until tasks 0 to n - 1 have been seen. */
void
workers_await(unsigned int n);

/* Stops those that are driven; the calling thread drives none then. */
void
workers_stop(void);

/* The same, checks D1 and D2, and takes all down. */
void
workers_end(void);

#endif
