/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_WATCH_H
#define WEIR_WATCH_H

/**
 * @file
 * A value that changes, such as a configuration, for any number of receivers:
 * each sees the newest, and may miss those before it.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most bytes of a value; it is copied under a lock. */
#define WEIR_WATCH_SIZE_MAX 256

/** A watch: weir_watch_init() before use. */
struct weir_watch {
	uint64_t reserved[10]; /**< not the user's */
};

/**
 * Which value somebody has seen. Zero-initialised it has seen none, so that the
 * first is new to it. For one task or thread at a time, and one watch; there is
 * nothing to release.
 */
struct weir_watch_receiver {
	uint64_t seen; /**< not the user's */
};

/**
 * Makes it ready for use.
 *
 * @param value  Memory of the caller's, with the first value. It is the watch's
 *               until weir_watch_fini().
 * @param size   Its bytes.
 * @return 0, or -EINVAL: a size of 0 or of more than WEIR_WATCH_SIZE_MAX.
 *
 * Before it is shared.
 */
WEIR_API int
weir_watch_init(struct weir_watch *watch, void *value, size_t size);

/** Nobody uses it any more. */
WEIR_API void
weir_watch_fini(struct weir_watch *watch);

/**
 * Puts a value in the place of the one before, and tells all that wait. Copies
 * it.
 *
 * @return 0, or -EPIPE: closed.
 *
 * Any thread.
 */
WEIR_API int
weir_watch_send(struct weir_watch *watch, const void *value);

/** The receiver has seen the value that there is. Any thread. */
WEIR_API void
weir_watch_subscribe(struct weir_watch *watch,
		     struct weir_watch_receiver *receiver);

/**
 * Is there a newer value than the receiver has seen? A hint, for a load: a value
 * that is just sent may not be noticed yet. Any thread.
 */
WEIR_API bool
weir_watch_has_changed(const struct weir_watch *watch,
		       const struct weir_watch_receiver *receiver);

/**
 * Waits for a newer value than the receiver has seen. It stays new until it is
 * taken by weir_watch_get().
 *
 * @return 0; WEIR_PENDING; -EPIPE: closed, and the last value has been seen;
 * -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_watch_changed(struct weir_context *ctx, struct weir_watch *watch,
		   const struct weir_watch_receiver *receiver,
		   struct weir_wait *wait);

/**
 * Copies the newest value, which the receiver then has seen.
 *
 * @return 1, or 0: it had seen it already.
 *
 * Any thread, also when it is closed.
 */
WEIR_API int
weir_watch_get(struct weir_watch *watch, struct weir_watch_receiver *receiver,
	       void *value);

/**
 * There will be no other value: whoever has seen the last one, and waits or
 * comes, gets -EPIPE. Any thread.
 */
WEIR_API void
weir_watch_close(struct weir_watch *watch);

#ifdef __cplusplus
}
#endif

#endif
