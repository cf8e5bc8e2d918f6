/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

/*
 * What is below the library, for models of whole runtimes: threads, mutexes and
 * conditions, lcores, files to wait for, memory and rings. The linker puts it in
 * place of the C library's and DPDK's (--wrap, see meson.build).
 *
 *	machine_sync.c		threads, mutexes, condition variables
 *	machine_files.c		eventfd and epoll
 *	machine_memory.c	rte_malloc, rings, cells
 *	machine.c		lcores, the clock, and the rest
 *
 * Y1 A call blocks through vthread_wait(), and orders what the real one orders.
 * Y2 There is a point before what others may wait for or look at: not before an
 *    unlock or a call of a condition, which are made with the mutex held.
 * Y3 Time stands still. A wait for the time of a poller's pause ends when nobody
 *    can go on otherwise; longer ones do not end, but for those that the model
 *    wants to.
 */

#include <stdbool.h>

struct machine {
	/* lcores besides the main one, 0. */
	unsigned int nb_lcores;
	/* A launch starts no thread: the model plays the worker. */
	bool no_launch;
	/* A wait on a condition with an end near by may come to it at once. */
	bool waits_end;
	/* pthread_create() and its like may fail. */
	bool threads_fail;
};

/* Thread 0, before all else. What is not set stays as above at 0. */
void
machine_begin(const struct machine *options);

/* Threads that were started, but for lcores', and not joined. */
unsigned int
machine_unjoined(void);

/*
 * Between the files.
 */

extern struct machine machine_options;

/* A look at what lies in memory that may be gone. */
void
machine_touch(const void *p);

/* Y3: true if there was one. */
bool
machine_end_short_sleeps(void);

#endif
