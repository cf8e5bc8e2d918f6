/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_WAIT_GROUP_H
#define WEIR_WAIT_GROUP_H

/**
 * @file
 * A count of things under way, and a wait until there are none.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A wait group: weir_wait_group_init() before use. */
struct weir_wait_group {
	uint64_t reserved[8]; /**< not the user's */
};

/** Nothing is under way. Before it is shared. */
WEIR_API void
weir_wait_group_init(struct weir_wait_group *group);

/**
 * Nobody waits any more, or comes. Who has just waited for all that was under
 * way may call this at once, and release the memory, also while the last call of
 * weir_wait_group_done() has not returned yet.
 */
WEIR_API void
weir_wait_group_fini(struct weir_wait_group *group);

/**
 * n more things are under way. Who adds before it begins them cannot have them
 * missed; adding while others wait makes them wait for these too, but for those
 * that were let go already.
 *
 * @param n  0 is legal, and changes nothing.
 * @return 0; -EOVERFLOW: more than UINT32_MAX would be under way, and nothing
 * has changed; -EPIPE: closed.
 *
 * Any thread.
 */
WEIR_API int
weir_wait_group_add(struct weir_wait_group *group, uint32_t n);

/**
 * One has ended. With the last of them all that wait are let go, also if more
 * are added before they run.
 *
 * @return 0, or -EINVAL: none was under way, and nothing has changed.
 *
 * Any thread.
 */
WEIR_API int
weir_wait_group_done(struct weir_wait_group *group);

/**
 * Waits until nothing is under way. Who goes on sees what was done before the
 * calls of weir_wait_group_done().
 *
 * @return 0; WEIR_PENDING; -EPIPE: closed; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_wait_group_wait(struct weir_context *ctx, struct weir_wait_group *group,
		     struct weir_wait *wait);

/**
 * Whoever waits or comes gets -EPIPE. What is under way may still be done. Any
 * thread.
 */
WEIR_API void
weir_wait_group_close(struct weir_wait_group *group);

#ifdef __cplusplus
}
#endif

#endif
