/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_NULL_H
#define WEIR_NULL_H

/**
 * @file
 * A source without a device: events are counts that a test posts.
 */

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_null;

/**
 * Makes a null source on a worker.
 *
 * @return NULL with rte_errno: EINVAL (no such worker, or it does not run),
 * ENOMEM, ESHUTDOWN.
 *
 * Any thread.
 */
WEIR_API struct weir_null *
weir_null_create(struct weir_runtime *rt, unsigned int worker);

/**
 * Frees it. NULL is legal. Any thread, once no task uses it; before the runtime is
 * freed.
 */
WEIR_API void
weir_null_free(struct weir_null *null);

/** The null source as a source. Any thread. */
WEIR_API struct weir_source *
weir_null_source(struct weir_null *null);

/** Adds events; the home worker sees them at its next poll. Any thread. */
WEIR_API void
weir_null_post(struct weir_null *null, unsigned int events);

/**
 * Takes all posted events, INT32_MAX at a time, for a unit of budget.
 *
 * @return Their number, at least 1; WEIR_PENDING; -errno of a closed source, once nothing
 * is posted any more; -EBUSY when another task waits.
 *
 * The task that ctx belongs to.
 */
WEIR_API int
weir_null_recv(struct weir_context *ctx, struct weir_null *null);

#ifdef __cplusplus
}
#endif

#endif
