/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_HOOKS_H
#define WEIR_HOOKS_H

/**
 * @file
 * Functions of the application that a runtime calls as it goes along.
 *
 * Each is optional. They run on the thread that the event is about, in the
 * middle of the scheduler: they must be short, must not wait, and may call
 * nothing of Weir but weir_runtime_current(), weir_worker_current() and
 * weir_task_current(). Those about tasks are called for jobs of the blocking
 * pool too.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The functions, and what they get as first argument. */
struct weir_hooks {
	void *arg;

	/**
	 * A thread begins to drive a worker, and ends. Behind one that is in
	 * weir_block_in_place() another begins, so a worker may have several.
	 */
	void (*thread_start)(void *arg, unsigned int worker);
	void (*thread_stop)(void *arg, unsigned int worker);

	/**
	 * A worker has nothing to run, and has something again. For waits of some
	 * microseconds behind others as short, about once a millisecond, and never
	 * where no other worker can be.
	 */
	void (*park)(void *arg, unsigned int worker);
	void (*unpark)(void *arg, unsigned int worker);

	/** A task was made, and is queued or, in a shutdown, refused. Any thread. */
	void (*task_spawn)(void *arg, const struct weir_task_info *task);
	/** Around each poll. */
	void (*task_before_poll)(void *arg, const struct weir_task_info *task);
	void (*task_after_poll)(void *arg, const struct weir_task_info *task);
	/** A task has ended and was dropped. Any thread. */
	void (*task_end)(void *arg, const struct weir_task_info *task);
};

#ifdef __cplusplus
}
#endif

#endif
