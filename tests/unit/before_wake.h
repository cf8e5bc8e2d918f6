/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BEFORE_WAKE_H
#define BEFORE_WAKE_H

/*
 * What comes between two batches of waiters that are let go, see lib/sync/wait.c.
 * For tests that put themselves in front of weir_waker_wake().
 */

#include <stdbool.h>

/* More than a batch. */
#define BEFORE_WAKE_CROWD 40

/* Has it called once by this thread, before it wakes the next task or thread. */
void
before_wake(void (*call)(void));
/* Has it been called? */
bool
before_wake_called(void);

#endif
