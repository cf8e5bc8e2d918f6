/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SIM_TASKS_H
#define SIM_TASKS_H

/* What kinds of tasks (actors.c) and what all of them share (tasks.c) need. */

#include "sim.h"

struct kind {
	const char *name;
	int (*poll)(struct weir_context *ctx, struct sim_task *t);
	void (*drop)(struct sim_task *t);
	bool fails; /* with EIO */
};

/* NULL: there are too many. */
struct sim_task *
task_new(unsigned int rt, const struct kind *kind);
/* Starts it, on its worker or wherever. NULL: it could not be. */
struct sim_task *
task_spawn(struct sim_task *t);
/* As a job of the blocking pool. */
struct sim_task *
task_spawn_job(struct sim_task *t);
void
task_spawn_and_wait(struct sim_task *t);
/* So long does the polling thread take. */
void
sim_work(unsigned int steps, uint64_t cycles);

/* actors.c */
void
actors_reset(void);

#endif
