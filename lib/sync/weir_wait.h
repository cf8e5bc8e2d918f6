/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_WAIT_H
#define WEIR_WAIT_H

/**
 * @file
 * What all waits of this component have in common.
 *
 * Semaphores, locks, channels and the like are waited for by functions of one
 * form:
 *
 * @code
 * rc = weir_mutex_lock(ctx, &shared->mutex, &s->wait);
 * if (rc < 0)
 *	return rc;
 * @endcode
 *
 * A task gives its context and a wait out of its state. WEIR_PENDING says that
 * the task is in line and will be woken; it then makes the same call again, as
 * often as it is polled, until that returns something else. Waiters are served
 * in the order in which they came. (Sometimes the task has its next turn unasked,
 * and is in line after that: when its budget is spent, or behind a task that it has
 * just spawned or woken, which may give it what it waits for.)
 *
 * The call that begins a wait spends a unit of budget, also where it ends at once, and
 * one for a burst, however many values that has.
 *
 * A plain thread gives NULL for both, and is blocked until its turn has come:
 * it gets no WEIR_PENDING, and pthread_cancel() waits for that too. On a worker
 * that is refused with -EDEADLK. To wait for some time at most it gives
 * weir_runtime_block_on() a task that has weir_timeout() around the wait.
 *
 * What is waited for must stay where it was initialised, also while nobody waits: it
 * has pointers to itself. So it is not initialised in a state that is then spawned,
 * which copies it, but in the task's first poll, or beside the tasks.
 *
 * Its memory is the user's from first to last. The function that initialises it comes
 * before any other thread knows it, and the one that ends it (`_fini`) when nobody waits
 * for it or is in a call on it any more: that one wakes nobody, releases nothing, and
 * stops a library that was built with assertions if somebody still waits, or holds a
 * lock.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A task's place in a line. Zero-initialised it is ready for use; when a wait
 * has ended, for the next, of any kind. A wait is in one line at a time: used
 * for something else meanwhile, or by another task, it gives -EBUSY.
 *
 * A task whose state goes while it waits, because it is dropped or has what it
 * wants from elsewhere, calls weir_wait_cancel().
 */
struct weir_wait {
	uint64_t reserved[6]; /**< not the user's */
};

/**
 * Leaves the line, if the wait is in one. Nothing is lost: what it was given
 * and did not take yet, such as a permit, goes to the next. The task, its drop
 * included.
 */
WEIR_API void
weir_wait_cancel(struct weir_wait *wait);

#ifdef __cplusplus
}
#endif

#endif
