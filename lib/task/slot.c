/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A task's way out of a slot whose owner is not there, at no swap to who is: as what is
 * left of a batch in run_queue.c.
 *
 * P1 Who recalls says so in `recalled`, has all threads pass a fence, and has the task
 *    that it saw before if that is there still. The owner changes the slot first, and
 *    then looks at `recalled`: either who recalls sees the change, or the owner sees
 *    that, and waits on the lock for what comes of it.
 * P2 What has been recalled stands in the slot, and in `gone`, until the owner changes
 *    the slot the next time. Who looks without a change may take it to be there. If
 *    the same task comes again by that change, it is given back as what was there.
 * P3 After the fence at most one change is under way, since the owner waits in the next
 *    one. So what was seen before and behind the fence is one task in one stay, or has
 *    come again by that change: then that is its stay that ends.
 */

#include "base/membarrier.h"
#include "task/slot.h"

struct task *
weir__slot_recalled_owner(struct slot *s, struct task *was,
			  const struct task *t)
{
	/* [lock:A1] what has come of it. */
	lock_acquire(&s->lock);
	if (s->gone != NULL && s->gone == t)
		atomic_ptr_store(&s->task, NULL, RELAXED);
	else if (s->gone != NULL)
		was = NULL; /* P3: it was that */
	s->gone = NULL;
	atomic_u32_store(&s->recalled, 0, RELAXED);
	lock_release(&s->lock);
	return was;
}

/* With the lock. */
static struct task *
recall(struct slot *s)
{
	struct task *t = atomic_ptr_load(&s->task, RELAXED);

	if (t == NULL || s->gone != NULL)
		return NULL;
	atomic_u32_store(&s->recalled, 1, RELAXED);
	/* [slot:F1] If it is refused now, it will be from here on. */
	if (weir__membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
		atomic_u32_store(&s->kept, 1, RELAXED);
	/* [slot:A1] */
	else if (atomic_ptr_load(&s->task, ACQUIRE) == t)
		s->gone = t;
	if (s->gone != NULL)
		return t;
	atomic_u32_store(&s->recalled, 0, RELAXED);
	return NULL;
}

struct task *
weir__slot_recall(struct slot *s)
{
	struct task *t;

	if (!slot_is_full_any(s) || !lock_try(&s->lock))
		return NULL;
	t = recall(s);
	lock_release(&s->lock);
	return t;
}
