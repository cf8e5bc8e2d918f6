/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SYNC_WAIT_H
#define SYNC_WAIT_H

/*
 * Lines of waiting tasks and threads, for everything in this component. See
 * wait.c.
 */

#include "base/common.h"
#include "base/list.h"
#include "base/lock.h"
#include "sync/weir_wait.h"
#include "task/task.h"

struct sync;

/* What is inside struct weir_wait. */
struct wait {
	/* Under the lock, while it is in line. */
	struct list_link link;
	struct weir_waker *waker;
	/* What it waits for: the kind says what these mean. */
	void *place;
	uint32_t n;
	/* Whoever takes it out of the line writes it, and then `over`. */
	int32_t rc;
	struct atomic_u32 over;
	uint32_t side;
	/* The waiter's: NULL: it waits for nothing. */
	struct sync *sync;
	const struct task *task;
};

static_assert(sizeof(struct wait) <= sizeof(struct weir_wait),
	      "a wait is inside what the user has of it");

/* What a kind of thing that can be waited for does. Both under the lock. */
struct sync_ops {
	/*
	 * The first in line: can it be given what it waits for? If so, it is
	 * given, with its outcome in w->rc, which is 0 else.
	 */
	bool (*grant)(struct sync *s, struct wait *w);
	/*
	 * The waiter has given up, in line or after it was granted; what that
	 * changes is looked at next. Optional.
	 */
	void (*give_up)(struct sync *s, struct wait *w, bool granted);
};

/* What each of them begins with. */
struct sync {
	struct lock lock;
	const struct sync_ops *ops;
	struct list_link waiting[2]; /* a line for each side */
};

void
weir__sync_init(struct sync *s, const struct sync_ops *ops);
/*
 * Nobody may wait. Who was given what it waited for may call it at once: it
 * waits for those who gave it.
 */
void
weir__sync_fini(struct sync *s);

static inline bool
sync_awaited(const struct sync *s, unsigned int side)
{
	return !list_empty(&s->waiting[side]);
}

/* Gives what there is to those in line, wakes them, and gives the lock back. */
void
weir__sync_settle(struct sync *s);

/*
 * Begins a call of a function that waits. True: it is a new one, and the lock is
 * held. False: *rc is what to return. ctx and wait are NULL for a plain thread.
 */
bool
weir__wait_begin(struct weir_context *ctx, struct sync *s,
		 struct weir_wait *wait, int *rc);

/*
 * Joins the line of a side, and gives the lock back. WEIR_PENDING; for a plain
 * thread what it was given.
 */
int
weir__wait_join(struct weir_context *ctx, struct sync *s,
		struct weir_wait *wait, unsigned int side, void *place,
		uint32_t n);

#endif
