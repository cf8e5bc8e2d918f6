/* SPDX-License-Identifier: BSD-3-Clause */

/* A runtime's clock in the hands of a test. */

#include "sched/scheduler.h"

const struct clock *
weir__clock_of(const struct weir_runtime *rt)
{
	return &rt->clock;
}

/* Workers that sleep look at the clock again. */
static void
call_workers(struct weir_runtime *rt)
{
	unsigned int i;

	/* [sleep:F1] the clock's change comes before our looks. */
	atomic_fence(SEQ_CST);
	for (i = 0; i < rt->nb_workers; i++)
		sleeper_call(&rt->workers[i]->sleeper, RELAXED);
}

int
weir_clock_pause(struct weir_runtime *rt)
{
	return weir__clock_hold(&rt->clock);
}

int
weir_clock_resume(struct weir_runtime *rt)
{
	int rc = weir__clock_go_on(&rt->clock);

	if (rc == 0)
		call_workers(rt);
	return rc;
}

int
weir_clock_advance(struct weir_runtime *rt, uint64_t ns)
{
	int rc = weir__clock_advance(&rt->clock, ns);

	if (rc != -EINVAL)
		call_workers(rt);
	return rc;
}
