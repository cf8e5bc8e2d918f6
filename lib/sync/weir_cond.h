/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_COND_H
#define WEIR_COND_H

/**
 * @file
 * Condition variables: to wait, without a mutex, until another holder of it has
 * changed what it guards.
 *
 * @code
 * rc = weir_mutex_lock(NULL, &pool->mutex, NULL);
 * while (rc == 0 && pool->nb_free == 0)
 *	rc = weir_cond_wait(NULL, &pool->freed, NULL);
 * if (rc < 0)
 *	return rc;
 * @endcode
 *
 * That is a plain thread. A task gives its context and a wait: a fiber inside of
 * weir_fiber_await(), a stackless one inside of WEIR_AWAIT(). Another notes in its state
 * that it waits, and calls weir_cond_wait() again when it is polled.
 *
 * There is nothing to be closed: that no more will come is a part of what is waited
 * for, set under the mutex before weir_cond_broadcast().
 */

#include <weir_semaphore.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A condition variable: weir_cond_init() before use. */
struct weir_cond {
	uint64_t reserved[4]; /**< not the user's */
};

/**
 * Makes it ready for use.
 *
 * @param mutex  The one with which it is waited for from here on, which is ready for
 *               use, and is used no longer when weir_mutex_fini() comes. There may be
 *               other condition variables with the same.
 *
 * Before it is shared.
 */
WEIR_API void
weir_cond_init(struct weir_cond *cond, struct weir_mutex *mutex);

/** Nobody uses it any more. Before weir_mutex_fini(). */
WEIR_API void
weir_cond_fini(struct weir_cond *cond);

/**
 * Gives the mutex back, waits until it is told, and takes the mutex again. Whoever takes
 * the mutex behind it, and then tells, reaches it. It is not told for nothing; but others
 * may have had the mutex in between, so what is waited for is looked at anew.
 *
 * Who is told comes behind those who wait for the mutex by then, and is woken when it
 * has it. Its place is of the first call, which always gets one: a task without budget
 * is in line, too.
 *
 * @return 0: it has the mutex again; WEIR_PENDING: it is in line, without the mutex;
 * -EBUSY, -EDEADLK: see weir_wait.h; nothing has changed, and it still has the mutex.
 * When the task ends meanwhile, or gives up, weir_wait_cancel() has it leave the line:
 * it is without the mutex then, which goes to the next if it had been given already, as
 * does what weir_cond_signal() told it.
 *
 * Who holds the mutex: a task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_cond_wait(struct weir_context *ctx, struct weir_cond *cond,
	       struct weir_wait *wait);

/**
 * Tells the first that waits; when nobody does, nobody. With the mutex, or without when
 * it had it for the change. Any thread.
 */
WEIR_API void
weir_cond_signal(struct weir_cond *cond);

/** Tells all that wait, who then have the mutex one after the other. Likewise. */
WEIR_API void
weir_cond_broadcast(struct weir_cond *cond);

#ifdef __cplusplus
}
#endif

#endif
