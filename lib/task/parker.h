/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_PARKER_H
#define TASK_PARKER_H

/*
 * A plain thread that waits in the kernel until it is woken once.
 *
 * The parker may be on the waiting thread's stack: the waker's last touch of it
 * is the unlock, and the waiter takes the same lock before it returns.
 */

#include <pthread.h>
#include <stdbool.h>

#include "base/cancel.h"

struct thread_parker {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool notified;
};

static inline void
parker_init(struct thread_parker *p)
{
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->cond, NULL);
	p->notified = false;
}

static inline void
parker_fini(struct thread_parker *p)
{
	pthread_cond_destroy(&p->cond);
	pthread_mutex_destroy(&p->mutex);
}

static inline void
parker_park(struct thread_parker *p)
{
	/* Who wakes it touches this, on the stack of a thread. */
	int cancel = cancel_defer();

	pthread_mutex_lock(&p->mutex);
	while (!p->notified)
		pthread_cond_wait(&p->cond, &p->mutex);
	p->notified = false;
	pthread_mutex_unlock(&p->mutex);
	cancel_allow(cancel);
}

static inline void
weir__parker_unpark(struct thread_parker *p)
{
	pthread_mutex_lock(&p->mutex);
	p->notified = true;
	/* Under the lock: the waiter may destroy the parker once it is free. */
	pthread_cond_signal(&p->cond);
	pthread_mutex_unlock(&p->mutex);
}

#endif
