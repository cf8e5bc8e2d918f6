/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_DUMP_H
#define WEIR_DUMP_H

/**
 * @file
 * A dump of a runtime's live tasks.
 */

#include <weir_common.h>
#include <weir_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a live task is doing. */
enum weir_task_state {
	WEIR_TASK_WAITING, /**< for a wake-up */
	WEIR_TASK_QUEUED,  /**< for a worker */
	WEIR_TASK_RUNNING, /**< it is inside poll or drop */
	/**
	 * Nothing wakes it any more: its last poll gave WEIR_PENDING, and nobody has a
	 * waker of it. Unless it is to wait for its end, poll had forgotten to wait for
	 * something, or what it waits for has been given up.
	 */
	WEIR_TASK_STRANDED,
};

/** One task of a dump. */
struct weir_task_entry {
	struct weir_task_info task;
	enum weir_task_state state;
	bool cancelled; /**< to be dropped instead of polled */
	enum weir_affinity affinity;
	unsigned int worker; /**< the one that it is bound to, if it is */
	unsigned int node;   /**< NUMA id of the home node */
	uint32_t polls;	     /**< begins again at 0 after INT32_MAX */
	/**
	 * Microseconds since it was last made runnable: spawned, woken, or put
	 * back by its own yield. Coarse, 22 us at 3 GHz, and for a wake-up by
	 * another task as of that one's turn. After 2^47 TSC cycles, 13 hours
	 * at 3 GHz, it begins again at 0; with weir_options.histograms, while
	 * it is queued, after 2^35, 11 seconds.
	 */
	uint64_t since_wake_us;
};

/**
 * Lists live tasks.
 *
 * Not taken at one instant: a task that comes or goes meanwhile may be missing, and
 * polls and the last wake-up of one that goes be those of another. No worker waits,
 * but for some nanoseconds where it spawns or ends a task whose state is larger than
 * 2,240 bytes. A worker that calls this does nothing else meanwhile, which matters when
 * there are, or have been, many tasks.
 *
 * @param entries  Where up to n tasks go; may be NULL if n is 0.
 * @return The number of live tasks; n of them are listed if it is greater than n.
 *
 * Any thread, until the runtime is freed.
 */
WEIR_API uint64_t
weir_task_list(struct weir_runtime *rt, struct weir_task_entry *entries,
	       unsigned int n);

#ifdef __cplusplus
}
#endif

#endif
