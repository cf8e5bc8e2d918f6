/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A task spawns tasks of about a microsecond, which the other workers steal:
 * the share of the workers' time that goes into the tasks' own work.
 */

#include "scenario.h"

#define TASKS 100000u
#define STEPS 470u
/* Spins by which the cost of one is measured. */
#define SPINS 2000u

static struct atomic_u64 kept; /* so that what is spun counts */

static int
work(struct weir_context *ctx, void *state)
{
	if (unlikely(spin((uintptr_t)state, STEPS) == 0))
		atomic_u64_store(&kept, 1, RELAXED);
	return WEIR_DONE;
}

static const struct weir_task_ops work_ops = {
	.name = "work",
	.poll = work,
};

/* On a worker: how long one takes there. */
static int
measure_spin(struct weir_context *ctx, void *state)
{
	uint64_t *took = state, begin = rte_rdtsc(), x = begin;
	unsigned int i;

	for (i = 0; i < SPINS; i++)
		x = spin(x, STEPS);
	atomic_u64_store(&kept, x, RELAXED);
	*took = rte_rdtsc() - begin;
	return WEIR_DONE;
}

static const struct weir_task_ops measure_spin_ops = {
	.name = "measure_spin",
	.state_size = sizeof(uint64_t),
	.poll = measure_spin,
	.result_size = sizeof(uint64_t),
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	double spin_ns = drive(rt, &measure_spin_ops) / SPINS;

	figures[0] = TASKS * spin_ns / weir_runtime_nb_workers(rt) /
		     crowd(rt, &work_ops, TASKS, NULL);
}

const struct scenario fan_out_steal = {
	.name = "fan_out_steal",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
