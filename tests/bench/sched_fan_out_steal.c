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

struct driver {
	uint64_t took;
	uint64_t begin;
	unsigned int next;
};

static struct weir_join *joins[TASKS];
static struct atomic_u64 kept; /* so that what is spun counts */
static double spin_cycles;

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

static double
cost_of_spin(void)
{
	uint64_t begin = rte_rdtsc(), x = begin;
	unsigned int i;

	for (i = 0; i < SPINS; i++)
		x = spin(x, STEPS);
	atomic_u64_store(&kept, x, RELAXED);
	return (double)(rte_rdtsc() - begin) / SPINS;
}

static int
poll(struct weir_context *ctx, void *state)
{
	struct driver *d = state;
	unsigned int i;

	if (d->begin == 0) {
		spin_cycles = cost_of_spin();
		d->begin = rte_rdtsc();
		for (i = 0; i < TASKS; i++) {
			joins[i] = weir_task_spawn(weir_context_runtime(ctx),
						   &work_ops, NULL, NULL);
			must(joins[i] != NULL, "no task");
		}
	}
	if (await_all(ctx, joins, TASKS, &d->next) == WEIR_PENDING)
		return WEIR_PENDING;
	d->took = rte_rdtsc() - d->begin;
	return WEIR_DONE;
}

static const struct weir_task_ops driver_ops = {
	.name = "driver",
	.state_size = sizeof(struct driver),
	.poll = poll,
	.result_size = sizeof(uint64_t),
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	double took = drive(rt, &driver_ops);

	figures[0] = TASKS * ns_of((uint64_t)spin_cycles) /
		     weir_runtime_nb_workers(rt) / took;
}

const struct scenario fan_out_steal = {
	.name = "fan_out_steal",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
