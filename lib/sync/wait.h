/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SYNC_WAIT_H
#define SYNC_WAIT_H

/*
 * Lines of waiting tasks and threads, for everything in this component. See
 * wait.c.
 */

#include <errno.h>

#include "base/common.h"
#include "base/list.h"
#include "base/lock.h"
#include "sync/weir_wait.h"
#include "task/task.h"

struct awaited;
struct sync;

/*
 * What is inside struct weir_wait. What a call looks at where nobody has to wait comes
 * first: it may be on one cache line with what the user has before it.
 */
struct wait {
	/* The waiter's: NULL: it waits for nothing. */
	struct awaited *awaited;
	/*
	 * Whom to wake: a waker, in line. It stays as it was, with WAIT_OVER, when
	 * somebody has taken that away: by then it only says whose the wait is.
	 */
	struct atomic_u64 waiter;
	/* What it waits for: the kind says what these mean. */
	union {
		void *place;
		uint64_t pause_end; /* with WAIT_PAUSED, in no line: TSC */
	};
	uint32_t n;
	/* Whoever takes it out of the line writes it, before WAIT_OVER. */
	int16_t rc;
	uint8_t side;
	uint8_t tried; /* the waiter's, before it joins the line: WAIT_* below */
	/* Under the lock, while it is in line. */
	struct list_link link;
};

/* In `tried`: it looks again (Y51); it pauses, with which it does that too (Y50). */
#define WAIT_LOOKED 1u
#define WAIT_PAUSED 2u

/* In `waiter`: it is out of the line. No waker has that bit. */
#define WAIT_OVER ((uint64_t)4)

static_assert(sizeof(struct wait) <= sizeof(struct weir_wait),
	      "a wait is inside what the user has of it");

#define WAIT_RULE "wait: who has a context gives a struct weir_wait"

/* What a kind of thing that can be waited for does. */
struct sync_ops {
	/*
	 * Of one that keeps no line, and has nothing else of these: the task
	 * gives its wait up, and may free it then. NULL: it keeps a line, and
	 * has the others, which are called under the lock.
	 */
	void (*cancel)(struct awaited *a, struct wait *w);
	/*
	 * The first in line: can it be given what it waits for? If so, it is
	 * given, with its outcome in w->rc, which is 0 when it joins the line.
	 * What is left there for one who is not given anything says nothing.
	 */
	bool (*grant)(struct sync *s, struct wait *w);
	/*
	 * The waiter has given up, in line or after it was granted; what that
	 * changes is looked at next. Optional.
	 */
	void (*give_up)(struct sync *s, struct wait *w, bool granted);
};

/* What each of them begins with. */
struct awaited {
	const struct sync_ops *ops;
};

/* What each that keeps a line begins with. */
struct sync {
	struct awaited awaited;
	struct lock lock;
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

/* As below, when somebody may be in line. */
void
weir__sync_settle_lines(struct sync *s);

/* Gives what there is to those in line, wakes them, and gives the lock back. */
static inline void
sync_settle(struct sync *s)
{
	if (likely(!sync_awaited(s, 0) && !sync_awaited(s, 1)))
		lock_release(&s->lock);
	else
		weir__sync_settle_lines(s);
}

/* Is the wait that a task goes on with its own? */
static inline bool
wait_is_of(const struct wait *w, const struct task *t)
{
	return (atomic_u64_load(&w->waiter, RELAXED) & ~WAIT_OVER) ==
	       (uintptr_t)t;
}

/* For who looks at the wait before wait_enter() does. ctx: NULL for a plain thread. */
static inline void
wait_check(const struct weir_context *ctx, const struct weir_wait *wait)
{
	WEIR_ASSERT(ctx == NULL || wait != NULL, WAIT_RULE);
}

/* Is it in no line, and was it given nothing? */
static inline bool
wait_is_idle(const struct weir_wait *wait)
{
	return ((const struct wait *)wait)->awaited == NULL;
}

/*
 * Begins a call of a function that waits. 0: it is a new one; 1: it goes on with
 * the wait of one before, if the caller finds that it is for the same; less: what to
 * return. ctx and wait are NULL for a plain thread.
 */
static inline int
wait_enter(struct weir_context *ctx, const struct awaited *a,
	   const struct weir_wait *wait)
{
	const struct wait *w = (const struct wait *)wait;

	if (unlikely(ctx == NULL))
		return weir__on_worker() ? -EDEADLK : 0;
	WEIR_ASSERT(wait != NULL, WAIT_RULE);
	if (w->awaited != NULL)
		return w->awaited == a && wait_is_of(w, context_task(ctx)) ?
			       1 :
			       -EBUSY;
	return context_spend(ctx, 1);
}

/*
 * What came of a wait that the call goes on with: 0, or what to return; then it is the
 * task's again, unless that is WEIR_PENDING.
 */
static inline int
wait_outcome(struct weir_wait *wait)
{
	struct wait *w = (struct wait *)wait;

	/* [sync:A1] what it was given, or that the wait is the task's again. */
	if (!(atomic_u64_load(&w->waiter, ACQUIRE) & WAIT_OVER))
		return WEIR_PENDING;
	w->awaited = NULL;
	return w->rc;
}

/*
 * The same with a line. True: it is a new one, and the lock is held. False: *rc
 * is what to return.
 */
static inline bool
wait_begin(struct weir_context *ctx, struct sync *s, struct weir_wait *wait,
	   int *rc)
{
	*rc = wait_enter(ctx, &s->awaited, wait);
	if (likely(*rc == 0)) {
		lock_acquire(&s->lock);
		return true;
	}
	if (*rc > 0)
		*rc = wait_outcome(wait);
	return false;
}

/* The same for one of several who share it: the wait of another is not this one's. */
static inline bool
wait_begin_at(struct weir_context *ctx, struct sync *s, struct weir_wait *wait,
	      const void *place, int *rc)
{
	const struct wait *w = (const struct wait *)wait;

	wait_check(ctx, wait);
	/* In another line, `place` may be written by who grants. */
	if (ctx != NULL && w->awaited == &s->awaited && w->place != place) {
		*rc = -EBUSY;
		return false;
	}
	return wait_begin(ctx, s, wait, rc);
}

/*
 * The task would find nothing. Is it to look again, behind the task that runs next,
 * before it waits (Y51)?
 */
static inline bool
wait_looks_again(struct weir_context *ctx, struct weir_wait *wait)
{
	struct wait *w = (struct wait *)wait;

	if (context_next(ctx) == NULL || w->tried != 0)
		return false;
	w->tried = WAIT_LOOKED;
	return true;
}

/* The next wait may look again, and pause. */
static inline int
wait_over(struct weir_wait *wait, int rc)
{
	if (likely(wait != NULL))
		((struct wait *)wait)->tried = 0;
	return rc;
}

/*
 * Joins the line of a side, and gives the lock back. WEIR_PENDING; for a plain
 * thread what it was given.
 */
int
weir__wait_join(struct weir_context *ctx, struct sync *s,
		struct weir_wait *wait, unsigned int side, void *place,
		uint32_t n);

/*
 * The same with a line that the caller keeps beside those of *s, under the same lock: it
 * moves who is in there to one of them, which then are settled. What it has changed before
 * is settled behind this.
 */
int
weir__wait_join_beside(struct weir_context *ctx, struct sync *s,
		       struct weir_wait *wait, struct list_link *line,
		       unsigned int side, void *place, uint32_t n);

#endif
