/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_RUNTIME_RIG_H
#define MODEL_RUNTIME_RIG_H

/*
 * Runtimes for models: as weir_runtime_create() makes them, on the machine of
 * tests/virtual, with tasks that note what was done to them. Time stands still.
 * A wait for the time of a poller's pause ends when nobody can go on otherwise;
 * longer ones do not end, but for those that the model wants to.
 */

#include "model.h"
#include "sched/scheduler.h"

#define RUNTIME_TASKS_MAX 8

struct machine {
	/* A launch starts no thread: the model plays the worker. */
	bool no_launch;
	/* A wait on a condition with an end near by may come to it at once. */
	bool waits_end;
	/* pthread_create() and its like may fail. */
	bool threads_fail;
};

/* Of one task. Plain: who polls or drops it comes behind who did so before. */
struct task_log {
	unsigned int polls;
	unsigned int drops;
	unsigned int worker; /* of the last poll */
	unsigned int thread;
};

extern struct task_log task_logs[RUNTIME_TASKS_MAX];

/* A runtime of n workers, on the first lcores, and a spare one behind them or not. */
struct weir_runtime *
runtime_create(const struct machine *machine, unsigned int n, bool spare);
struct weir_runtime *
runtime_create_current(const struct machine *machine);

/* Ends at its first poll; can be run as a job as well. */
extern const struct weir_task_ops once_ops;
/* Waits for ever. */
extern const struct weir_task_ops wait_ops;
/* Yields once. */
extern const struct weir_task_ops yield_ops;

/* Spawns the task with that number, for any worker or for that one. */
struct weir_join *
runtime_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
	      unsigned int task);
struct weir_join *
runtime_spawn_on(struct weir_runtime *rt, const struct weir_task_ops *ops,
		 unsigned int task, unsigned int worker);
struct weir_join *
runtime_spawn_job(struct weir_runtime *rt, const struct weir_task_ops *ops,
		  unsigned int task);

/* The calling thread plays the worker's, without its loop, or does no more. */
struct core *
runtime_enter(struct weir_runtime *rt, unsigned int worker);
void
runtime_leave(void);

/* Shuts down, and what is left is nothing. */
void
runtime_end(struct weir_runtime *rt);

#endif
