/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef METRICS_COUNTERS_H
#define METRICS_COUNTERS_H

/*
 * A worker's counters. One writer, the worker's driver of the moment; anyone
 * reads. Adding is a plain load and store: an atomic one would cost as
 * much as running an empty task.
 */

#include "base/atomic.h"
#include "base/common.h"

struct counters {
	struct atomic_u64 polls;
	struct atomic_u64 parks;
	struct atomic_u64 noop_wakes;
	struct atomic_u64 steal_ops;
	struct atomic_u64 steals;
	struct atomic_u64 steals_remote;
	struct atomic_u64 local_schedules;
	struct atomic_u64 remote_schedules;
	struct atomic_u64 overflows;
	struct atomic_u64 injected;
	struct atomic_u64 forced_yields;
	struct atomic_u64 source_polls;
	struct atomic_u64 empty_polls;
	struct atomic_u64 source_events;
	struct atomic_u64 rescues;
	struct atomic_u64 max_poll_gap; /* TSC cycles */
	struct atomic_u64 busy;		/* TSC cycles */
	struct atomic_u64 spawned;
} weir_cache_aligned;

/* The worker itself. */
#define counter_add(counters, name, n) \
	atomic_u64_add_owner(&(counters)->name, (n))

#define counter_get(counters, name) atomic_u64_load(&(counters)->name, RELAXED)

#endif
