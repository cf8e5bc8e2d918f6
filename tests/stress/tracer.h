/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TRACER_H
#define TRACER_H

/*
 * Stops one thread of this process wherever it is, while the others run: a
 * signal would stop them all. It takes a process, which traces the thread.
 */

#include <sys/types.h>

/* Before there are threads. 0 or -errno: it cannot be done here. */
int
tracer_start(void);
/* The tracer ends, and what it has stopped goes on. */
void
tracer_end(void);

/*
 * 0: the thread stands still, until tracer_go() or for so long: it may hold a
 * lock that the caller needs for the one. Else -errno, -ESRCH for a thread that
 * ends or has ended. One thread at a time.
 */
int
tracer_stop(pid_t thread, unsigned int max_us);
void
tracer_go(void);

#endif
