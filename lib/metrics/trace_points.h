/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef METRICS_TRACE_POINTS_H
#define METRICS_TRACE_POINTS_H

/*
 * What each trace point writes. Compiled twice: trace_register.c makes DPDK's
 * description of it, trace.c writes the events.
 */

#include <rte_trace_point.h>

RTE_TRACE_POINT(weir__tp_worker_park, RTE_TRACE_POINT_ARGS(uint32_t worker),
		rte_trace_point_emit_u32(worker);)

RTE_TRACE_POINT(weir__tp_worker_unpark, RTE_TRACE_POINT_ARGS(uint32_t worker),
		rte_trace_point_emit_u32(worker);)

RTE_TRACE_POINT(weir__tp_worker_steal,
		RTE_TRACE_POINT_ARGS(uint32_t thief, uint32_t victim,
				     uint32_t tasks),
		rte_trace_point_emit_u32(thief);
		rte_trace_point_emit_u32(victim);
		rte_trace_point_emit_u32(tasks);)

RTE_TRACE_POINT_FP(weir__tp_task_spawn,
		   RTE_TRACE_POINT_ARGS(uint64_t id, const char *name,
					uint32_t worker),
		   rte_trace_point_emit_u64(id);
		   rte_trace_point_emit_string(name);
		   rte_trace_point_emit_u32(worker);)

RTE_TRACE_POINT_FP(weir__tp_task_wake,
		   RTE_TRACE_POINT_ARGS(uint64_t id, uint32_t worker),
		   rte_trace_point_emit_u64(id);
		   rte_trace_point_emit_u32(worker);)

RTE_TRACE_POINT_FP(weir__tp_poll_begin,
		   RTE_TRACE_POINT_ARGS(uint64_t id, const char *name,
					uint32_t worker),
		   rte_trace_point_emit_u64(id);
		   rte_trace_point_emit_string(name);
		   rte_trace_point_emit_u32(worker);)

RTE_TRACE_POINT_FP(weir__tp_poll_end, RTE_TRACE_POINT_ARGS(uint32_t worker),
		   rte_trace_point_emit_u32(worker);)

RTE_TRACE_POINT_FP(weir__tp_source_poll,
		   RTE_TRACE_POINT_ARGS(uint32_t worker, uint32_t ready),
		   rte_trace_point_emit_u32(worker);
		   rte_trace_point_emit_u32(ready);)

#endif
