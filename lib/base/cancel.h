/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_CANCEL_H
#define BASE_CANCEL_H

/*
 * A plain thread of the application's may be cancelled (pthread_cancel(3)), and then
 * ends in a wait or a system call: not in one of ours, where it has a lock, or others
 * count on it.
 */

#include <pthread.h>

/* It is not from here on. Returns what cancel_allow() is given. */
static inline int
cancel_defer(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void
cancel_allow(int before)
{
	pthread_setcancelstate(before, NULL);
}

#endif
