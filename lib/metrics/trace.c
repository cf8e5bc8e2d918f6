/* SPDX-License-Identifier: BSD-3-Clause */

/* For rte_trace_point.h. */
#define ALLOW_EXPERIMENTAL_API

#include "metrics/trace.h"
#include "metrics/trace_points.h"

void
weir__trace_worker_park(uint32_t worker)
{
	weir__tp_worker_park(worker);
}

void
weir__trace_worker_unpark(uint32_t worker)
{
	weir__tp_worker_unpark(worker);
}

void
weir__trace_worker_steal(uint32_t thief, uint32_t victim, uint32_t tasks)
{
	weir__tp_worker_steal(thief, victim, tasks);
}

void
weir__trace_task_spawn(uint64_t id, const char *name, uint32_t worker)
{
	weir__tp_task_spawn(id, name, worker);
}

void
weir__trace_task_wake(uint64_t id, uint32_t worker)
{
	weir__tp_task_wake(id, worker);
}

void
weir__trace_poll_begin(uint64_t id, const char *name, uint32_t worker)
{
	weir__tp_poll_begin(id, name, worker);
}

void
weir__trace_poll_end(uint32_t worker)
{
	weir__tp_poll_end(worker);
}

void
weir__trace_source_poll(uint32_t worker, uint32_t ready)
{
	weir__tp_source_poll(worker, ready);
}
