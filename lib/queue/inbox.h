/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef QUEUE_INBOX_H
#define QUEUE_INBOX_H

/*
 * What others send to one worker: tasks that are bound to it. See inbox.c.
 */

#include "queue/run_queue.h"

struct inbox {
	/*
	 * The youngest task, which is linked to those that came before; NULL: there is
	 * none; INBOX_CLOSED. Written by senders and by who takes them.
	 */
	struct atomic_ptr top weir_cache_aligned;

	/* How many were, but for those that others than the owner took. */
	struct atomic_u64 sent weir_cache_aligned;

	/* By the owner, who alone writes it. */
	struct atomic_u64 taken weir_cache_aligned;
	/*
	 * The owner's: of a list that it is turning round (B4), how many are a chain
	 * already, oldest first, and what is older, youngest first. unturned: NULL if
	 * there is no such list.
	 */
	unsigned int nb_turned;
	struct task *turned;
	struct task *youngest;
	struct task *unturned;
};

/* Nobody takes any more. No task is there. */
#define INBOX_CLOSED ((void *)1)

void
weir__inbox_init(struct inbox *b);

/*
 * Sends a notification. False if the inbox is closed: it is still the caller's. Passes
 * a SEQ_CST fence at the end. Any thread.
 */
bool
weir__inbox_send(struct inbox *b, struct task *t);

/*
 * Takes all that is there to the end of a chain, oldest first, in several calls if it is
 * much (B4); returns how many. The worker's driver.
 */
unsigned int
weir__inbox_take_owner(struct inbox *b, struct task_chain *to);

/* The same for any thread, at once, but for what the worker's driver has begun with. */
unsigned int
weir__inbox_take_any(struct inbox *b, struct task_chain *to);

/* Has the last take left some to be turned round (B4)? The worker's driver. */
static inline bool
inbox_turns(const struct inbox *b)
{
	return b->unturned != NULL;
}

/* Is there anything to take? The worker's driver; not once it is closed. */
static inline bool
inbox_pending(const struct inbox *b)
{
	const void *top = atomic_ptr_load(&b->top, RELAXED);

	/* Who asks will take it: its line comes meanwhile. */
	if (top != NULL)
		rte_prefetch0(top);
	return top != NULL || inbox_turns(b);
}

/* Entries, as far as they are counted (B3); at once old. Any thread. */
unsigned int
weir__inbox_len(const struct inbox *b);

/* Takes no more from anybody, and drops what is there. Of who has the worker. */
void
weir__inbox_close(struct inbox *b);

#endif
