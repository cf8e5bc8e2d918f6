/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SCHED_HANDOFF_H
#define SCHED_HANDOFF_H

/*
 * Which thread drives a worker's core, and which ones wait for it. See
 * handoff.c.
 */

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include <rte_lcore.h>

struct core;

/* What a thread that drives a core is. */
enum driver {
	DRIVER_HOME,	/* the worker's own: returns when the worker ends */
	DRIVER_STANDBY, /* while the others are blocked */
};

struct blocked;
struct claim;

struct handoff {
	pthread_mutex_t mutex;
	bool taken;  /* a thread drives the core, or is being given it */
	bool coming; /* a standby thread was called that has not looked yet */
	unsigned int nb_blocked;
	rte_cpuset_t away; /* where the last standby thread came from */
	TAILQ_HEAD(, blocked) blocked;
	TAILQ_HEAD(, claim) claims; /* first come, first served */
};

void
weir__handoff_init(struct handoff *h);
void
weir__handoff_fini(struct handoff *h);

/*
 * At a tick, when a thread has claimed the core: gives it away. A standby
 * thread has lost it then (false); a home thread waits until it has it again
 * (true).
 */
bool
weir__handoff_pass(struct core *c, enum driver driver);

/*
 * The worker ends: true for the home thread once nobody else will come for the
 * core, false for others, which have lost it.
 */
bool
weir__handoff_settle(struct core *c, enum driver driver);

/* Is no thread blocked, so that the worker can go? */
bool
weir__handoff_idle(struct core *c);

#endif
