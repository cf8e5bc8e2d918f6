/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_SLOT_H
#define TASK_SLOT_H

/*
 * A place for one task, which its owner fills and empties without a swap; others recall
 * what is in it when the owner has been in a task for long. See slot.c for how.
 */

#include "base/atomic.h"
#include "base/common.h"
#include "base/lock.h"

struct task;

struct slot {
	/* Written by the owner only. */
	struct atomic_ptr task;
	/* The task is being recalled, or has been: see `gone`. By both. */
	struct atomic_u32 recalled;
	/* There is no membarrier, or it was refused. Any thread. */
	struct atomic_u32 kept;
	struct lock lock; /* held through a system call */
	/* With the lock: what has been recalled, while the owner does not know (P2). */
	const struct task *gone;
};

/* kept: nobody will recall what is in it. */
static inline void
slot_init(struct slot *s, bool kept)
{
	atomic_ptr_store(&s->task, NULL, RELAXED);
	atomic_u32_store(&s->recalled, 0, RELAXED);
	atomic_u32_store(&s->kept, kept, RELAXED);
	lock_init(&s->lock);
	s->gone = NULL;
}

/* What is in it, if nobody has recalled that. Owner. */
static inline struct task *
slot_peek_owner(const struct slot *s)
{
	return atomic_ptr_load(&s->task, RELAXED);
}

/*
 * Puts a task in, or NULL. True: what was there is the caller's. False: somebody
 * recalls, so weir__slot_recalled_owner() says what has come of it. Owner.
 */
static __rte_always_inline bool
slot_set_owner(struct slot *s, struct task *t)
{
	/*
	 * [slot:F1] between the change and the look whether that task has been
	 * recalled: the fence is that of who recalls. Without it both would have it.
	 * [slot:A1] the task before its address.
	 */
	atomic_ptr_store(&s->task, t, RELEASE);
	atomic_light_fence();
	return likely(atomic_u32_load(&s->recalled, RELAXED) == 0);
}

/* t was put in for `was`: returns that, or NULL if it has been recalled. Owner. */
struct task *
weir__slot_recalled_owner(struct slot *s, struct task *was,
			  const struct task *t);

static __rte_always_inline struct task *
slot_change_owner(struct slot *s, struct task *was, struct task *t)
{
	if (slot_set_owner(s, t))
		return was;
	return weir__slot_recalled_owner(s, was, t);
}

/* Puts a task in, or NULL; returns what was there, or NULL. Owner. */
static __rte_always_inline struct task *
slot_swap_owner(struct slot *s, struct task *t)
{
	return slot_change_owner(s, slot_peek_owner(s), t);
}

/* Takes what is in it, or NULL. Owner. */
static __rte_always_inline struct task *
slot_take_owner(struct slot *s)
{
	struct task *t = slot_peek_owner(s);

	return likely(t == NULL) ? NULL : slot_change_owner(s, t, NULL);
}

/* Is there something to recall? At once old. Any thread. */
static inline bool
slot_is_full_any(const struct slot *s)
{
	return atomic_ptr_load(&s->task, RELAXED) != NULL &&
	       atomic_u32_load(&s->recalled, RELAXED) == 0 &&
	       atomic_u32_load(&s->kept, RELAXED) == 0;
}

/*
 * Takes what is in it, or NULL: for who finds that the owner has been in a task for
 * long. Any thread.
 */
struct task *
weir__slot_recall(struct slot *s);

#endif
