/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WAITER_H
#define WAITER_H

/* Tasks and threads that wait for something, for tests of what is waited for. */

#include "rig.h"

/*
 * A call that waits, as one of a task or, with NULL for ctx and wait, as one of
 * a plain thread.
 */
typedef int (*waiter_call)(struct weir_context *ctx, void *what,
			   struct weir_wait *wait);

/*
 * A task that makes the call until it returns something else than WEIR_PENDING,
 * which is its result: see waiter_join(). It gives its wait up when it is
 * dropped.
 */
struct weir_join *
waiter_spawn(struct weir_runtime *rt, waiter_call call, void *what);
/* It must have ended by itself; what the call returned. */
int
waiter_join(struct weir_join *join);
/* Aborts it, and waits for its end. */
void
waiter_abort(struct weir_join *join);

/* The same as a plain thread. */
struct waiter_thread;
struct waiter_thread *
waiter_thread_start(waiter_call call, void *what);
int
waiter_thread_join(struct waiter_thread *t);

/*
 * Checks what a call that has to wait refuses: to block a worker, and a wait
 * that is in another line.
 */
void
waiter_check_refusals(struct weir_runtime *rt, waiter_call call, void *what);

/* How many wait in a line of what begins with struct sync, each side counted. */
unsigned int
waiters(const void *sync);
/* Waits until it is so many. */
#define waiter_wait_for(what, n) rig_wait_until(waiters(what) == (n))

#endif
