/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_CLAIM_H
#define BASE_CLAIM_H

/*
 * Things of the process that have one user at a time, such as a device's queues: who
 * has which.
 */

#include "base/list.h"
#include "base/lock.h"

/* All of a kind. */
struct claims {
	struct lock lock;
	struct list_link list;
};

#define CLAIMS_INIT(claims)                                \
	{                                                  \
		.list = { &(claims).list, &(claims).list } \
	}

/* Zeroed before the first. */
struct claim {
	struct list_link link;
	uint32_t thing;
};

/* The number of a queue, or of a channel, of a device. */
static inline uint32_t
claim_of_queue(uint16_t device, uint16_t queue)
{
	return (uint32_t)device << 16 | queue;
}

/* With the lock. */
static inline bool
claim_is_taken(const struct claims *claims, uint32_t thing)
{
	const struct list_link *l;

	for (l = claims->list.next; l != &claims->list; l = l->next)
		if (container_of(l, const struct claim, link)->thing == thing)
			return true;
	return false;
}

/* False: somebody has it. Else it is the claim's until claim_leave(). */
static inline bool
claim_take(struct claims *claims, struct claim *claim, uint32_t thing)
{
	bool is_free;

	lock_acquire(&claims->lock);
	is_free = !claim_is_taken(claims, thing);
	if (is_free) {
		claim->thing = thing;
		list_push_back(&claims->list, &claim->link);
	}
	lock_release(&claims->lock);
	return is_free;
}

/* Does nothing if it was not taken. */
static inline void
claim_leave(struct claims *claims, struct claim *claim)
{
	lock_acquire(&claims->lock);
	if (list_linked(&claim->link))
		list_remove(&claim->link);
	lock_release(&claims->lock);
}

#endif
