/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VIRTUAL_THREAD_H
#define VIRTUAL_THREAD_H

/*
 * Virtual threads: coroutines on one thread of the kernel, of which one runs at
 * a time, until it comes to a point where another may go on. Who does is the
 * policy's choice, and nothing else is left to chance, so the same choices give
 * the same run.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VTHREADS_MAX 192
#define VTHREAD_NAME_LEN 15

struct vthread_policy {
	/*
	 * Which of n threads that can go on does: an index into `ready`.
	 * current: the index of the one that asks, or -1 if it has to wait.
	 */
	unsigned int (*choose)(void *arg, const unsigned int *ready,
			       unsigned int n, int current);
	/*
	 * Nobody can go on. True if something has been changed and it should be
	 * looked again, such as the clock; else the run ends.
	 */
	bool (*stuck)(void *arg);
	void *arg;
};

/*
 * Runs main as thread 0, and what it starts, until all have ended. False if
 * they were stuck or the run was abandoned.
 */
bool
vthreads_run(const struct vthread_policy *policy, void (*main)(void *arg),
	     void *arg);

/* Ends the run where it is; does not return. In a virtual thread. */
void
vthreads_abandon(void) __attribute__((noreturn));

/* Bytes of thread-local memory that each virtual thread has its own of. */
void
vthread_local(void *p, size_t size);
/* Is it a part of such memory? */
bool
vthread_is_local(const void *p);

/* Starts a thread; returns its number. */
unsigned int
vthread_start(const char *name, void (*main)(void *arg), void *arg);

unsigned int
vthread_self(void);
/* How many have been started in this run. */
unsigned int
vthread_count(void);
const char *
vthread_name(unsigned int thread);
bool
vthread_ended(unsigned int thread);

/* Does this program run virtual threads now? */
bool
vthreads_running(void);

/* Others may come in between here. */
void
vthread_point(void);

/*
 * Waits until ready(arg), which others' steps or the clock make true. It is
 * asked often, and only looks.
 */
void
vthread_wait(bool (*ready)(const void *arg), const void *arg);

/*
 * One turn of a loop that waits for others: goes on when one of them has made
 * progress since the thread's last turn began, or at once if it knows better.
 */
void
vthread_pause(bool at_once);

/* Something has changed that a loop may wait for. */
void
vthread_progress(void);

/* Where the thread is, for reports. */
void
vthread_where(const char *file, int line);
void
vthread_where_get(unsigned int thread, const char **file, int *line);
/* Can it go on? For reports. */
bool
vthread_ready(unsigned int thread);

/* Is this address on the stack of that thread? */
bool
vthread_owns_stack(unsigned int thread, uintptr_t address);

#endif
