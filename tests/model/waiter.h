/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_WAITER_H
#define MODEL_WAITER_H

/*
 * Tasks that wait for something, on the scheduler of scheduler.h, for models of
 * what is waited for.
 */

#include "model.h"
#include "scheduler.h"
#include "weir_wait.h"

/* A call that waits; see weir_wait.h. */
typedef int (*waiter_call)(struct weir_context *ctx, void *what,
			   struct weir_wait *wait);

/*
 * Spawns a task that makes the call until it returns something else than
 * WEIR_PENDING; done, if it is not NULL, is then told what. It gives its wait up
 * when it is dropped.
 */
struct weir_join *
waiter_spawn(waiter_call call, void *what, void (*done)(void *what, int rc));

/* How many were dropped. */
extern unsigned int waiter_drops;

/* Gives a task's handle up. */
void
waiter_detach(struct weir_join *join);
/* A thread's main: aborts the task, and gives its handle up. */
void
waiter_abort(void *join);

#endif
