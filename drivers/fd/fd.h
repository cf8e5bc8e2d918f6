/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FD_FD_H
#define FD_FD_H

/* Between the set and what is in it. */

#include "base/atomic.h"
#include "base/list.h"
#include "weir_fd.h"
#include "weir_source_driver.h"

enum {
	SIDE_IN,
	SIDE_OUT,
	SIDES
};

/* Those who read, or those who write: one of each. */
struct fd_side {
	struct weir_waker *waiter; /* a place */
	/* Who that is: other runtimes have tasks of the same ids. */
	const struct weir_runtime *rt;
	uint64_t task;
	uint32_t wants; /* what the waiter waits for */
	uint32_t ready; /* has come, and nobody was told */
	bool apart;	/* the waiter has had another wait on the other side */
};

/* Under the set's lock, but for fd, flags and `closed`. */
struct weir_fd {
	struct weir_fd_set *set;
	struct list_link link;
	int fd;
	unsigned int flags;
	/* Positive errno; written with the lock. */
	struct atomic_u32 closed;
	bool joint; /* one task waits on both sides */
	struct fd_side sides[SIDES];
};

struct weir_fd_set {
	int epfd;
	uint64_t gap;	      /* TSC cycles, from the last look to the next */
	uint64_t min_gap;     /* after the first look that found nothing */
	uint64_t max_gap;     /* after many */
	struct list_link fds; /* struct weir_fd.link */
};

/* The next round looks. With the lock. */
static inline void
fd_set_look_soon(struct weir_fd_set *set)
{
	set->gap = 0;
	weir_source_poll_after(set, 0, 0);
}

/*
 * As weir_fd_wait(). drained: the task has just tried, and found nothing of these
 * events.
 */
int
weir__fd_wait(struct weir_context *ctx, struct weir_fd *f, uint32_t events,
	      bool drained);

/* These have come: wakes who waits. False: nobody. With the lock. */
bool
weir__fd_tell(struct weir_fd *f, uint32_t events);
/* Wakes who waits, for whatever reason. With the lock. */
void
weir__fd_wake_all(struct weir_fd *f);

#endif
