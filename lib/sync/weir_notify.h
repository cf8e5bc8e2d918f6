/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_NOTIFY_H
#define WEIR_NOTIFY_H

/**
 * @file
 * A note to one waiter or to all, without a value.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A place to wait at: weir_notify_init() before use. */
struct weir_notify {
	uint64_t reserved[8]; /**< not the user's */
};

/** Before it is shared. */
WEIR_API void
weir_notify_init(struct weir_notify *notify);

/** Nobody uses it any more. */
WEIR_API void
weir_notify_fini(struct weir_notify *notify);

/**
 * Waits for a note.
 *
 * @return 0; WEIR_PENDING; -EPIPE: closed; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread. Who was told sees what
 * the teller did before.
 */
WEIR_API int
weir_notify_wait(struct weir_context *ctx, struct weir_notify *notify,
		 struct weir_wait *wait);

/**
 * Tells the first that waits. When nobody does, the next one that comes has
 * been told; that is kept once, however often it is said. Who gives up between
 * being told and taking note leaves it to the next. Any thread.
 */
WEIR_API void
weir_notify_one(struct weir_notify *notify);

/** Tells all that wait now, and nobody who comes later. Any thread. */
WEIR_API void
weir_notify_all(struct weir_notify *notify);

/** Whoever waits or comes gets -EPIPE. Any thread. */
WEIR_API void
weir_notify_close(struct weir_notify *notify);

#ifdef __cplusplus
}
#endif

#endif
