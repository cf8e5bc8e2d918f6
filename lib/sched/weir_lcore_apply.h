/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_LCORE_APPLY_H
#define WEIR_LCORE_APPLY_H

/**
 * @file
 * Lcore maps and the program that runs: does EAL have its lcores where a map
 * has them, and how a runtime changes over to another map under traffic.
 */

#include <weir_lcore_map.h>
#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Compares a map with EAL: the main lcore is the map's, if it names one, the
 * others are EAL's worker lcores, and those with CPUs or a node are there. Any
 * thread, after rte_eal_init().
 *
 * @param error  Where one line goes that says what differs; may be NULL.
 * @return 0 or -EINVAL.
 */
WEIR_API int
weir_lcore_map_match(const struct weir_lcore_map *map, char *error,
		     size_t size);

/** A receive queue and its source. */
struct weir_lcore_map_source {
	struct weir_lcore_map_queue queue;
	struct weir_source *source; /**< NULL: it has none to be moved */
};

/** What weir_lcore_map_apply() did. */
struct weir_lcore_map_change {
	unsigned int added;   /**< workers */
	unsigned int retired; /**< workers */
	unsigned int moved;   /**< sources */
};

/**
 * Changes a running runtime over to a map. Nothing is lost, and the order of
 * each queue is kept: park policies are set, workers added, sources moved, and
 * then those workers retired that the map does not name, or names as spare, each
 * with the nearest of the others as successor. An lcore without a policy of its
 * own gets that of weir_options.park.
 *
 * Nothing changes unless the map is one that can be had: it agrees with EAL, as
 * weir_lcore_map_match() has it, has a worker, its lcores are the runtime's, and
 * its queues, which workers have, are exactly those of `sources`. When a step
 * fails after that, those before it are undone; where that fails too, for want of memory
 * or since the runtime ends, the change stays as far as it has come, and `error` says so.
 * A map may also name no queue: then each stays with its worker or, where that is
 * retired, goes to its successor.
 *
 * What a retired worker polls beside these sources goes to its successor, as
 * weir_worker_retire() says, and is not undone.
 *
 * @param sources  All queues that there are, with sources of this runtime; kept
 *                 no longer than the call.
 * @param change   What was done; may be NULL. Written on success only.
 * @param error    Where one line goes that says what is wrong; may be NULL.
 * @return 0; -EINVAL for a map that cannot be had, or a source of another runtime, and
 * when another thread has just retired the worker that a source was to move to; -EBUSY
 * when an lcore runs something else; -EEXIST when another thread has just added a
 * worker; -ENOMEM; -ESHUTDOWN, also for a map that would change nothing;
 * -ENOTSUP in a current-thread runtime; -EDEADLK on a worker or in a function that a
 * task of the runtime blocks in.
 *
 * Main lcore, or any thread while the main lcore launches nothing. Whoever else
 * adds, retires or moves at the same time may be overridden.
 */
WEIR_API int
weir_lcore_map_apply(const struct weir_lcore_map *map, struct weir_runtime *rt,
		     const struct weir_lcore_map_source *sources,
		     unsigned int nb_sources,
		     struct weir_lcore_map_change *change, char *error,
		     size_t size);

#ifdef __cplusplus
}
#endif

#endif
