/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_METRICS_H
#define WEIR_METRICS_H

/**
 * @file
 * What a runtime counts.
 *
 * Each counter has one writer, the worker itself. A snapshot takes no lock and
 * keeps nobody waiting. That of a running worker is not taken at one instant;
 * after shutdown the figures are exact.
 */

#include <weir_common.h>
#include <weir_histogram.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Counts of one worker since it started. */
struct weir_worker_stats {
	/** EAL lcore it runs on; LCORE_ID_ANY: a thread that is none */
	unsigned int lcore;
	unsigned int node; /**< NUMA node id of that lcore */
	/** Tasks taken to be polled; also those that, aborted, are dropped instead. */
	uint64_t polls;
	/**
	 * Times it had nothing to run; of waits of some microseconds behind others as
	 * short, about one a millisecond, and none where no other worker can be.
	 */
	uint64_t parks;
	uint64_t noop_wakes;	  /**< wake-ups that found nothing */
	uint64_t steal_ops;	  /**< times it took tasks from another */
	uint64_t steals;	  /**< tasks taken from other workers */
	uint64_t steals_remote;	  /**< of these, from another node */
	uint64_t local_schedules; /**< tasks put into its own queue or slot */
	/**
	 * Tasks it put into inject queues, or sent to the worker that they are
	 * bound to, unless that one waited for them in particular.
	 */
	uint64_t remote_schedules;
	uint64_t overflows;	  /**< times its run queue was full */
	uint64_t injected;	  /**< tasks that it took from inject queues or
				   *   that were sent to it alone */
	uint64_t forced_yields;	  /**< polls that ran out of budget */
	uint64_t source_polls;	  /**< rounds over its sources */
	uint64_t empty_polls;	  /**< of these, found no source ready */
	uint64_t source_events;	  /**< sources found ready in them */
	uint64_t rescues;	  /**< sources and timers served for others */
	uint64_t max_poll_gap_ns; /**< longest time between two source rounds */
	/**
	 * Time it was not waiting, be that parked or for microseconds only: so
	 * running tasks, polling sources between them, looking for work, or
	 * looking after timers; as of its last round over its sources.
	 */
	uint64_t busy_ns;
	uint64_t spawned;	  /**< tasks it started, those included that a
				   *   runtime which shuts down refused */
	unsigned int queue_depth; /**< tasks in its run queue now */
};

/** Counts of one of a runtime's NUMA nodes. */
struct weir_node_stats {
	unsigned int id;      /**< NUMA node id */
	unsigned int workers; /**< workers on it */
	/** of these, have nothing to run now; without those whose waits are short */
	unsigned int parked;
	uint64_t live_tasks;	    /**< tasks at home there, not ended yet */
	uint64_t inject_depth;	    /**< tasks in its inject queue now */
	uint64_t outside_schedules; /**< of remote_schedules, those by threads
				     *   other than workers */
};

/** Counts of a whole runtime. */
struct weir_runtime_stats {
	unsigned int workers;	   /**< places of workers, spare ones too */
	unsigned int nodes;	   /**< NUMA nodes they are on */
	uint64_t spawned;	   /**< tasks and blocking jobs ever started, or
				    *   refused by the shutdown */
	uint64_t live_tasks;	   /**< tasks not ended yet */
	uint64_t remote_schedules; /**< as of one worker; by any thread */
	uint64_t inject_depth; /**< tasks in inject queues and inboxes now */
	uint64_t blocking_threads; /**< threads of the blocking pool now */
	uint64_t blocking_queued;  /**< jobs that wait for one of them */
	uint64_t blocking_running; /**< jobs that one of them is in */
	uint64_t polls;		   /**< sum over the workers */
	uint64_t forced_yields;	   /**< sum over the workers */
};

/** At most so many tasks are named in a report. */
#define WEIR_REPORT_TASKS 8

/** What a runtime proves when it has shut down; all zero is a clean end. */
struct weir_shutdown_report {
	uint64_t live_tasks;   /**< tasks that did not end */
	uint64_t ring_entries; /**< notifications left in any queue */
	uint64_t blocking;     /**< blocking jobs that did not end */
	uint64_t stacks;       /**< of fibers that did not end */
	/**
	 * Some of the tasks that did not end: first those that are inside poll
	 * or drop, which are what the others wait for.
	 */
	struct weir_task_info tasks[WEIR_REPORT_TASKS];
	unsigned int nb_tasks;	 /**< so many are named */
	unsigned int nb_running; /**< of these, inside poll or drop */
};

/**
 * Snapshot of one worker.
 *
 * @return 0, or -EINVAL for a worker that does not exist.
 *
 * Any thread.
 */
WEIR_API int
weir_worker_stats_get(const struct weir_runtime *rt, unsigned int worker,
		      struct weir_worker_stats *stats);

/**
 * Snapshot of one node.
 *
 * @param node  0 to weir_runtime_stats.nodes - 1.
 * @return 0, or -EINVAL for a node that does not exist.
 *
 * Any thread.
 */
WEIR_API int
weir_node_stats_get(const struct weir_runtime *rt, unsigned int node,
		    struct weir_node_stats *stats);

/**
 * Snapshot of the runtime and its workers in one go: the sums are those of the
 * figures in `workers`.
 *
 * @param workers  Where those of the first n workers go; may be NULL if n is 0.
 * @return The number of workers.
 *
 * Any thread.
 */
WEIR_API unsigned int
weir_runtime_snapshot(const struct weir_runtime *rt,
		      struct weir_runtime_stats *stats,
		      struct weir_worker_stats *workers, unsigned int n);

/** Snapshot of the runtime alone. Any thread. */
WEIR_API void
weir_runtime_stats_get(const struct weir_runtime *rt,
		       struct weir_runtime_stats *stats);

/**
 * One cell of the steal matrix: tasks that thief took from victim.
 *
 * 0 for workers that do not exist. Any thread.
 */
WEIR_API uint64_t
weir_worker_steals_from(const struct weir_runtime *rt, unsigned int thief,
			unsigned int victim);

/** What a worker's histograms are about, when weir_options.histograms is set. */
enum weir_histogram_kind {
	/** How long polls took; the task's end, if it came, included. */
	WEIR_HISTOGRAM_POLL,
	/**
	 * From when a task was made runnable until it had its turn. Less than 2^35
	 * TSC cycles, 11 s at 3 GHz: of a longer wait, what is over a multiple.
	 */
	WEIR_HISTOGRAM_WAKE,
};

/**
 * Copies a histogram of one worker, in nanoseconds.
 *
 * @return 0; -EINVAL for a worker or kind that does not exist; -ENOTSUP when
 * weir_options.histograms is not set.
 *
 * Any thread.
 */
WEIR_API int
weir_worker_histogram_get(const struct weir_runtime *rt, unsigned int worker,
			  enum weir_histogram_kind kind,
			  struct weir_histogram *histogram);

/** As weir_worker_histogram_get(), of all workers together. */
WEIR_API int
weir_runtime_histogram_get(const struct weir_runtime *rt,
			   enum weir_histogram_kind kind,
			   struct weir_histogram *histogram);

#ifdef __cplusplus
}
#endif

#endif
