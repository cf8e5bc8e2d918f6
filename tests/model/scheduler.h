/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_SCHEDULER_H
#define MODEL_SCHEDULER_H

/*
 * The least scheduler under lib/task: one home, one queue, and workers that run
 * what is in it. It stands in for lib/sched once it was started.
 */

#include "model.h"
#include "task/owned.h"

/*
 * A home, and threads 1 to n, which are workers 0 to n - 1. By thread 0. With no
 * workers nothing runs: tasks are ended by scheduler_end_tasks().
 */
void
scheduler_start(unsigned int nb_workers);

/* As weir_task_spawn(). Any thread, until thread 0 is in scheduler_end(). */
struct weir_join *
scheduler_spawn(const struct weir_task_ops *ops, const void *state);
/* Bound to a worker. */
struct weir_join *
scheduler_spawn_on(unsigned int worker, const struct weir_task_ops *ops,
		   const void *state);

/* A job, which nobody runs yet. */
struct weir_join *
scheduler_new_job(const struct weir_task_ops *ops, const void *state);

/* As weir_runtime_shutdown_begin(): the workers end what is left. Once. */
void
scheduler_close(void);

/*
 * As weir_runtime_free(), by thread 0: waits for the workers, which end with the
 * last task or after scheduler_close(), gives the home up and waits for all
 * others. The home's memory must be gone then, and that of the tasks.
 */
void
scheduler_end(void);

/* weir__owned_shutdown(), in the place of a worker. */
void
scheduler_end_tasks(unsigned int worker);

/* weir__owned_walk(), once. */
void
scheduler_walk(owned_visit *visit, void *arg);

/* Tasks that have not ended: weir__owned_count(). */
uint64_t
scheduler_count(void);

/* How many tasks have failed and nobody asked. */
unsigned int
scheduler_failures(void);

/* Which worker runs this? -1: a thread that is none. */
int
scheduler_self(void);

#endif
