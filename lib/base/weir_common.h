/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_COMMON_H
#define WEIR_COMMON_H

/**
 * @file
 * What every public header needs: export marks, and the three kinds of answer
 * that a poll or a wait can give.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks a function that the shared library exports. */
#define WEIR_API __attribute__((visibility("default")))

/**
 * A task's poll function returns this when the task has ended with a result.
 */
#define WEIR_DONE 0

/**
 * Not yet: the caller has been registered and will be woken.
 *
 * Negative, and outside the range of errno values, so that a task hands on both
 * "not yet" and errors with one test:
 *
 * @code
 * n = weir_ring_recv(ctx, rx, objs, 32);
 * if (n < 0)
 *	return n;
 * @endcode
 */
#define WEIR_PENDING (-4096)

/** Which task something is about. */
struct weir_task_info {
	uint64_t id;	  /**< unique in its runtime */
	const char *name; /**< that of its ops */
};

struct weir_abort;
struct weir_context;
struct weir_join;
struct weir_runtime;
struct weir_source;
struct weir_waker;

#ifdef __cplusplus
}
#endif

#endif
