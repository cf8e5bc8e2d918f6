/* SPDX-License-Identifier: BSD-3-Clause */

/* For rte_trace_point_register.h. */
#define ALLOW_EXPERIMENTAL_API

/* First: it gives the macros of trace_points.h another meaning. */
#include <rte_trace_point_register.h>

#include "metrics/trace_points.h"

RTE_TRACE_POINT_REGISTER(weir__tp_worker_park, weir.worker.park)
RTE_TRACE_POINT_REGISTER(weir__tp_worker_unpark, weir.worker.unpark)
RTE_TRACE_POINT_REGISTER(weir__tp_worker_steal, weir.worker.steal)
RTE_TRACE_POINT_REGISTER(weir__tp_task_spawn, weir.task.spawn)
RTE_TRACE_POINT_REGISTER(weir__tp_task_wake, weir.task.wake)
RTE_TRACE_POINT_REGISTER(weir__tp_poll_begin, weir.poll.begin)
RTE_TRACE_POINT_REGISTER(weir__tp_poll_end, weir.poll.end)
RTE_TRACE_POINT_REGISTER(weir__tp_source_poll, weir.source.poll)
