/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_METRICS_H
#define WEIR_METRICS_H

/**
 * @file
 * What a runtime counts.
 *
 * Each counter has one writer, the worker itself. A snapshot of a running
 * worker is not taken at one instant; after shutdown the figures are exact.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Counts of one worker since it started. */
struct weir_worker_stats {
	unsigned int lcore;	  /**< EAL lcore it runs on */
	unsigned int node;	  /**< NUMA node id of that lcore */
	uint64_t polls;		  /**< tasks taken to be polled */
	uint64_t parks;		  /**< times it had nothing to run */
	uint64_t noop_wakes;	  /**< wake-ups that found nothing */
	uint64_t steal_ops;	  /**< times it took tasks from another */
	uint64_t steals;	  /**< tasks taken from other workers */
	uint64_t steals_remote;	  /**< of these, from another node */
	uint64_t local_schedules; /**< tasks put into its own queue or slot */
	uint64_t overflows;	  /**< times its run queue was full */
	uint64_t injected;	  /**< tasks it took from inject queues */
	uint64_t forced_yields;	  /**< polls that ran out of budget */
	uint64_t source_polls;	  /**< rounds over its sources */
	uint64_t source_events;	  /**< sources found ready in them */
	uint64_t rescues;	  /**< sources found ready for others */
	uint64_t max_poll_gap_ns; /**< longest time between two source rounds */
	unsigned int queue_depth; /**< tasks in its run queue now */
};

/** Counts of a whole runtime. */
struct weir_runtime_stats {
	unsigned int workers;	   /**< workers it was created with */
	unsigned int nodes;	   /**< NUMA nodes they are on */
	uint64_t spawned;	   /**< tasks ever started */
	uint64_t live_tasks;	   /**< tasks not ended yet */
	uint64_t remote_schedules; /**< tasks put into inject queues */
	uint64_t inject_depth;	   /**< tasks in inject queues now */
};

/** What a runtime proves when it has shut down; all zero is a clean end. */
struct weir_shutdown_report {
	uint64_t live_tasks;   /**< tasks that did not end */
	uint64_t ring_entries; /**< notifications left in any queue */
};

/**
 * Snapshot of one worker.
 *
 * @return 0, or -EINVAL for a worker that does not exist. Any thread.
 */
WEIR_API int
weir_worker_stats_get(const struct weir_runtime *rt, unsigned int worker,
		      struct weir_worker_stats *stats);

/** Snapshot of the runtime. Any thread. */
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

#ifdef __cplusplus
}
#endif

#endif
