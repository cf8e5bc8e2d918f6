/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A thread that is no worker spawns tasks and blocks until the last to end wakes
 * it: ns a task.
 */

#include <semaphore.h>

#include "scenario.h"

#define TASKS 10000u

static struct atomic_u64 left;
static sem_t all_done;

static int
count_down(struct weir_context *ctx, void *state)
{
	if (atomic_u64_fetch_sub(&left, 1, ACQ_REL) == 1)
		sem_post(&all_done);
	return WEIR_DONE;
}

static const struct weir_task_ops count_down_ops = {
	.name = "count_down",
	.poll = count_down,
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	uint64_t begin;
	unsigned int i, n;

	sem_init(&all_done, 0, 0);
	atomic_u64_store(&left, TASKS, RELAXED);
	begin = rte_rdtsc();
	for (i = 0; i < TASKS; i += n) {
		n = RTE_MIN(TASKS - i, BURST);
		must(weir_task_spawn_burst(rt, &count_down_ops, NULL, n, NULL,
					   NULL) == n,
		     "no task");
	}
	while (sem_wait(&all_done) != 0)
		;
	figures[0] = ns_of(rte_rdtsc() - begin) / TASKS;
	sem_destroy(&all_done);
}

const struct scenario spawn_remote = {
	.name = "spawn_remote",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
