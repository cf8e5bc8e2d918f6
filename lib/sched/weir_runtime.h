/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_RUNTIME_H
#define WEIR_RUNTIME_H

/**
 * @file
 * The runtime: workers on EAL lcores that run tasks and poll sources.
 */

#include <weir_common.h>
#include <weir_hooks.h>
#include <weir_metrics.h>
#include <weir_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a runtime does about a failure that nobody awaits. */
enum weir_failure {
	/** One line in the log, with the task's name, id and errno. */
	WEIR_FAILURE_LOG,
	/**
	 * As above, and the runtime shuts down; weir_runtime_block_on() then
	 * returns the failure instead of -ECANCELED.
	 */
	WEIR_FAILURE_SHUTDOWN,
};

/** How a runtime is built. Fill with weir_options_init(), then change. */
struct weir_options {
	/**
	 * Begins the names of the runtime's rings and pools, so it must be
	 * unique in the process. At most 8 characters. Default "weir".
	 */
	const char *name;

	/**
	 * The lcores to run workers on, one worker each, in this order. NULL:
	 * the first nb_workers EAL worker lcores. The main lcore cannot be one:
	 * it stays the application's.
	 */
	const unsigned int *lcores;

	/** Number of workers; 0: one for every EAL worker lcore. Default 0. */
	unsigned int nb_workers;

	/**
	 * No worker threads: whoever calls weir_runtime_block_on() runs the
	 * tasks meanwhile, on one worker, on whatever CPU it is on. For tests,
	 * tools and control planes. lcores and nb_workers are then not used.
	 * Default false.
	 */
	bool current_thread;

	/**
	 * Ticks (tasks run) between two polls of the sources. Smaller: more
	 * polls that find nothing. Larger: longer bursts wait in the NIC.
	 * 1 to 100000, default 61.
	 */
	unsigned int event_interval;

	/**
	 * Microseconds that may pass between two polls of the sources while
	 * there is work; looked at between tasks. Smaller: more time goes into
	 * polls. Larger: RX rings overflow (1,024 descriptors at 14.88 Mpps
	 * last 69 us). 1 to 1000000, default 20.
	 */
	unsigned int max_poll_gap_us;

	/**
	 * Ticks after which the inject queue is served before the worker's own
	 * queue. Smaller: outside work waits less. Larger: fewer looks at a
	 * shared cache line. 0: self-tuned, so that the looks are about 200 us
	 * apart, between 2 and 127 ticks. 0 or 2 to 100000, default 0.
	 */
	unsigned int inject_interval;

	/**
	 * Units a task may spend in one poll. Smaller: waits are fairer.
	 * Larger: less switching between tasks. 1 to 65535, default 128.
	 */
	unsigned int budget;

	/**
	 * Run the task woken last by a running task next. Good for pairs that
	 * exchange messages; off, every wake-up waits its turn. Default true.
	 */
	bool lifo_slot;

	/**
	 * Entries of the ring part of each inject queue. When it is full the
	 * queue goes on in a linked list, which is slower. A power of two, 64
	 * to 1048576, default 4096.
	 */
	unsigned int inject_ring_size;

	/**
	 * Task cells in the pool of each size class and node. When it is empty,
	 * cells come from socket-local memory, which is slower. 64 to 16777216,
	 * default 16384.
	 */
	unsigned int task_cells;

	/**
	 * Tasks that a run queue on another node must hold before an idle
	 * worker steals from it. Smaller: balances better. Larger: fewer tasks
	 * run far from their memory. 1 to 256, default 128.
	 */
	unsigned int cross_node_backlog;

	/**
	 * Microseconds that a worker on another node may be stuck in one task
	 * before its queue is stolen from whatever it holds.
	 * 1 to 1000000, default 200.
	 */
	unsigned int cross_node_age_us;

	/**
	 * What becomes of a failure that nobody awaits: the task returned
	 * -errno and its handle was detached. Default WEIR_FAILURE_LOG.
	 */
	enum weir_failure on_failure;

	/** The application's hooks; copied. NULL: none. Default NULL. */
	const struct weir_hooks *hooks;

	/** Seed of victim choice, to repeat it; 0: from the TSC. Default 0. */
	uint64_t seed;
};

/** Sets every field to its default. */
WEIR_API void
weir_options_init(struct weir_options *options);

/**
 * Checks options as weir_runtime_create() does. Call after rte_eal_init().
 *
 * @param error  Where one line goes that names the field, its value and what
 *               would be right; may be NULL.
 * @return 0 or -EINVAL.
 */
WEIR_API int
weir_options_validate(const struct weir_options *options, char *error,
		      size_t size);

/**
 * Builds a runtime and starts its workers. Call after rte_eal_init(), on the
 * main lcore; with current_thread, on any thread that stays on one node.
 *
 * @param options  NULL for the defaults; not kept.
 * @return NULL with rte_errno, and one line in the log (EINVAL for options,
 * EBUSY when an lcore runs something already, ENOMEM).
 */
WEIR_API struct weir_runtime *
weir_runtime_create(const struct weir_options *options);

/**
 * Ends all tasks and stops the workers.
 *
 * No new task starts from here on; every live one is dropped at its next wait
 * and its join handle gives -ECANCELED. Open sources are closed.
 *
 * @param timeout_ms  Milliseconds to wait for tasks that do not return from
 *                    poll; UINT64_MAX: for ever.
 * @param report      What is left; may be NULL.
 * @return 0: the lcores are EAL's again; -ETIMEDOUT: they are not yet (call
 * again to go on waiting); -EDEADLK on a worker.
 *
 * Any thread that is not a worker; a second call returns what the first did.
 */
WEIR_API int
weir_runtime_shutdown(struct weir_runtime *rt, uint64_t timeout_ms,
		      struct weir_shutdown_report *report);

/**
 * Begins what weir_runtime_shutdown() does and does not wait for it. In a
 * current-thread runtime that nobody drives, that one has to come for it to
 * happen. Any thread, tasks included.
 */
WEIR_API void
weir_runtime_shutdown_begin(struct weir_runtime *rt);

/**
 * Shuts down if that has not been done, and gives the memory back.
 *
 * Join handles and wakers that still exist stay valid; the last one to go
 * takes the rest of the memory with it. NULL is legal. Main lcore.
 */
WEIR_API void
weir_runtime_free(struct weir_runtime *rt);

/**
 * Runs a task to its end while the calling thread waits; in a current-thread
 * runtime it runs that and the others while it waits. Several threads may then
 * be in this call: one runs tasks, and when its own has ended hands over to the
 * next.
 *
 * @return The outcome, as weir_join_wait(); the failure that shut the runtime
 * down, see weir_options.on_failure; -EDEADLK on a worker, -EINVAL or
 * -ENOMEM when it could not be started: in these three cases the state still
 * is the caller's.
 *
 * Any thread that is not a worker, also several at once.
 */
WEIR_API int
weir_runtime_block_on(struct weir_runtime *rt, const struct weir_task_ops *ops,
		      const void *state, void *result);

/** Number of workers. Any thread. */
WEIR_API unsigned int
weir_runtime_nb_workers(const struct weir_runtime *rt);

/** The worker on an EAL lcore, or -ENOENT. Any thread. */
WEIR_API int
weir_runtime_worker_of_lcore(const struct weir_runtime *rt, unsigned int lcore);

/** The runtime whose worker calls, or NULL on any other thread. */
WEIR_API struct weir_runtime *
weir_runtime_current(void);

#ifdef __cplusplus
}
#endif

#endif
