/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_SOURCE_H
#define WEIR_SOURCE_H

/**
 * @file
 * Sources, as their users see them.
 *
 * A source is something that a worker polls for events while it has nothing to
 * run: a NIC receive queue, a ring. Drivers create them; tasks wait on them
 * through the driver's own functions.
 *
 * Whoever makes, moves or frees a source waits until each worker has passed its loop
 * once, so for as long as the longest turn of a task that runs. Not so who closes one.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Counts of one source. */
struct weir_source_stats {
	uint64_t polls;	  /**< times it was polled while a task waited */
	uint64_t events;  /**< of these, times it had something */
	uint64_t rescues; /**< of these, found by another worker */
};

/** The index of the worker that polls it. Any thread. */
WEIR_API unsigned int
weir_source_worker(const struct weir_source *source);

/**
 * Gives a source to another worker, which polls it from here on. What it had
 * received stays in it, so the order of a queue is kept, and nothing is lost.
 * Its memory stays on the node where it was made. Meanwhile either may call the
 * driver's poll, by turns.
 *
 * Waits until no worker can be looking at it as it was, and the one that it leaves
 * does not sleep on it.
 *
 * @return 0; -EINVAL when there is no such worker of the source's runtime or
 * it does not run; -ENOMEM; -ESHUTDOWN.
 *
 * Any thread, but not from what a driver's poll calls.
 */
WEIR_API int
weir_source_move(struct weir_source *source, struct weir_runtime *rt,
		 unsigned int worker);

/** Snapshot of the counts. Any thread. */
WEIR_API void
weir_source_stats_get(const struct weir_source *source,
		      struct weir_source_stats *stats);

/**
 * Ends a source: its waiter is woken, and every wait on it, now and later,
 * gives the error, once it has given out what had been received before. A
 * second call changes nothing.
 *
 * @param error  Positive errno, for example ENODEV; EINVAL stands in for any
 *               other number.
 *
 * Any thread, but not from what a driver's poll calls. When it returns, no thread is
 * inside the driver's poll, and the home worker does not sleep on the source; it is
 * woken for that.
 */
WEIR_API void
weir_source_close(struct weir_source *source, int error);

/**
 * Tells the waiter something without ending the source: the next wait gives
 * the error once, behind what had been received before, and later ones go on as
 * before. An error that has not been told yet is replaced.
 *
 * @param error  Positive errno, for example ENETDOWN; EINVAL stands in for any
 *               other number.
 *
 * Any thread, but not from what a driver's poll calls.
 */
WEIR_API void
weir_source_alert(struct weir_source *source, int error);

/**
 * Gives up the calling task's wait on a source, after a timeout for example, or as
 * the cancel of a branch (weir_select.h). A wait that is not given up keeps the
 * source polled, and other tasks from waiting, until an event or the task's end;
 * its task may go on with it at any time. Nothing that has come is lost.
 *
 * Does nothing if the task does not wait there; nor for a source that has places
 * for several waiters (crypto and DMA devices; fds, for which there is
 * weir_fd_cancel()).
 *
 * The task, in its poll. In its drop there is no need, and nothing happens.
 */
WEIR_API void
weir_source_cancel(struct weir_source *source);

#ifdef __cplusplus
}
#endif

#endif
