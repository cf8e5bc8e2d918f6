/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_EVENT_H
#define WEIR_EVENT_H

/**
 * @file
 * An event that anyone can post, signal handlers too, and a task waits for.
 *
 * Wakers are for all threads; in a signal handler there may be none at hand,
 * and using one may take a lock that the interrupted code holds.
 */

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_event;

/**
 * Makes an event whose waiter is woken by a worker.
 *
 * @return NULL with rte_errno: EINVAL (no such worker, or it does not run),
 * ENOMEM, ESHUTDOWN.
 *
 * Any thread.
 */
WEIR_API struct weir_event *
weir_event_create(struct weir_runtime *rt, unsigned int worker);

/**
 * Frees it. NULL is legal. Any thread, once nobody posts and no task waits;
 * before the runtime is freed.
 */
WEIR_API void
weir_event_free(struct weir_event *event);

/** The event as a source, for weir_source_close() and statistics. Any thread. */
WEIR_API struct weir_source *
weir_event_source(struct weir_event *event);

/**
 * Adds one to the count, and wakes the worker if it sleeps. What was written
 * before is seen by the task that takes the count. errno stays as it is.
 *
 * Any thread, and async-signal-safe.
 */
WEIR_API void
weir_event_post(struct weir_event *event);

/**
 * Takes what has been posted since it was last taken, for a unit of budget.
 *
 * @return The count, at least 1; WEIR_PENDING; -errno of a closed source, once nothing is
 * posted any more; -EBUSY when another task waits.
 *
 * The task that ctx belongs to. One task at a time for each event.
 */
WEIR_API int
weir_event_wait(struct weir_context *ctx, struct weir_event *event);

#ifdef __cplusplus
}
#endif

#endif
