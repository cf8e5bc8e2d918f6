/* SPDX-License-Identifier: BSD-3-Clause */

#include "fibers.h"

static void
job_drop(void *state)
{
	struct job *j = state;

	weir_fiber_drop(state);
	rig_add(&j->log->drops, 1);
}

const struct weir_task_ops fiber_job_ops = {
	.name = "job",
	.state_size = sizeof(struct job),
	.poll = weir_fiber_poll,
	.drop = job_drop,
	.result_offset = offsetof(struct job, result),
	.result_size = sizeof(uint64_t),
};

struct job
fiber_job(fiber_run *run, void *arg, uint64_t n)
{
	return (struct job){
		.fiber = { .run = run },
		.log = &rig.log,
		.go = &rig.go,
		.waker = &rig.waker,
		.arg = arg,
		.n = n,
	};
}

struct weir_join *
fiber_spawn(fiber_run *run, void *arg, uint64_t n)
{
	struct job j = fiber_job(run, arg, n);
	struct weir_join *join =
		weir_task_spawn(rig.rt, &fiber_job_ops, &j, NULL);

	assert_non_null(join);
	return join;
}

int
fiber_outcome(fiber_run *run, void *arg, uint64_t n)
{
	return rig_join(fiber_spawn(run, arg, n), NULL);
}

struct weir_runtime *
fiber_current_thread_runtime(void)
{
	struct weir_options o;
	struct weir_runtime *rt;

	rig_options(&o, 0);
	o.name = "current";
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	return rt;
}

uint64_t
fiber_sum(struct weir_fiber *f, uint64_t n)
{
	uint64_t local[4] = { n, n, n, n }, below;

	if (n == 0 || weir_fiber_yield(f) < 0)
		return 0;
	below = fiber_sum(f, n - 1);
	return below + (local[0] + local[1] + local[2] + local[3]) / 4;
}

int
fiber_sum_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	j->result = fiber_sum(f, j->n);
	return 0;
}
