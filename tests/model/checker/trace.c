/* SPDX-License-Identifier: BSD-3-Clause */

/* Trace points, which would be steps that nobody looks at. */

#include "metrics/trace.h"

void
__wrap_weir__trace_worker_park(uint32_t worker);
void
__wrap_weir__trace_worker_park(uint32_t worker)
{
}

void
__wrap_weir__trace_worker_unpark(uint32_t worker);
void
__wrap_weir__trace_worker_unpark(uint32_t worker)
{
}

void
__wrap_weir__trace_worker_steal(uint32_t thief, uint32_t victim,
				uint32_t tasks);
void
__wrap_weir__trace_worker_steal(uint32_t thief, uint32_t victim, uint32_t tasks)
{
}
