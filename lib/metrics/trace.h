/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef METRICS_TRACE_H
#define METRICS_TRACE_H

/*
 * Trace points, in DPDK's traces (CTF) as weir.*. Ordinary ones cost a call and
 * a load. TRACE_FP is for the path of every task and burst: it is nothing at
 * all unless DPDK was built with enable_trace_fp.
 *
 * They are functions, since DPDK's macros are experimental, and do nothing in a
 * file that does not ask for experimental things before its first header.
 */

#include <stdint.h>

#include <rte_config.h>

/* Of a thread that is not a worker. */
#define TRACE_NO_WORKER UINT32_MAX

#ifdef RTE_ENABLE_TRACE_FP
#define TRACE_FP(point, ...) weir__trace_##point(__VA_ARGS__)
#else
#define TRACE_FP(point, ...) \
	do {                 \
	} while (0)
#endif

void
weir__trace_worker_park(uint32_t worker);
void
weir__trace_worker_unpark(uint32_t worker);
void
weir__trace_worker_steal(uint32_t thief, uint32_t victim, uint32_t tasks);

/* Through TRACE_FP. */
void
weir__trace_task_spawn(uint64_t id, const char *name, uint32_t worker);
void
weir__trace_task_wake(uint64_t id, uint32_t worker);
void
weir__trace_poll_begin(uint64_t id, const char *name, uint32_t worker);
void
weir__trace_poll_end(uint32_t worker);
void
weir__trace_source_poll(uint32_t worker, uint32_t ready);

#endif
