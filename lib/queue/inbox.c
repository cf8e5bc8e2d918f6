/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A stack that senders swap tasks onto, one by one, and that is taken as a whole
 * (R. K. Treiber, "Systems programming: coping with parallelism", IBM RJ 5118, 1986).
 *
 * To another worker cross two cache lines, the top and the task's own, each once. Since
 * nothing but the top is looked at before all of it belongs to who took it, a task may
 * come back to the top meanwhile.
 *
 * Invariants:
 * B1 What was sent is taken once, in the order in which it came; or dropped by the
 *    close.
 * B2 Nobody sends to a closed inbox, which stays so: it is the same word that says what
 *    is there.
 * B3 Entries are counted after they were sent and after they were taken, each on a line
 *    that nobody waits for, so that to send is but one change of what the worker
 *    watches. The difference is late, and may be below zero for a moment.
 * B4 The owner goes CHAIN_STEPS at most before it looks at its sources, and then on.
 *    Until it has come to the oldest task it takes none.
 */

#include <limits.h>

#include "queue/inbox.h"

void
weir__inbox_init(struct inbox *b)
{
	atomic_ptr_store(&b->top, NULL, RELAXED);
	atomic_u64_store(&b->sent, 0, RELAXED);
	atomic_u64_store(&b->taken, 0, RELAXED);
	b->unturned = NULL;
}

bool
weir__inbox_send(struct inbox *b, struct task *t)
{
	/*
	 * That it is empty is a guess, and mostly right where the worker waits. A look
	 * would have the line come twice: to be read, and then to be written.
	 */
	void *top = NULL;

	do {
		if (unlikely(top == INBOX_CLOSED))
			return false;
		t->next = top;
		/* [inbox:A1] the task and its link before the top. */
	} while (!atomic_ptr_cas(&b->top, &top, t, RELEASE, RELAXED));
	atomic_u64_fetch_add(&b->sent, 1, RELAXED);
	/*
	 * [workers:F1] [sleep:F1] before our caller's looks at who has the worker's
	 * tasks, and whether that one sleeps.
	 */
	atomic_fence_after_rmw(SEQ_CST);
	return true;
}

/* Takes the list, or NULL. */
static struct task *
take_list(struct inbox *b)
{
	void *top = atomic_ptr_load(&b->top, RELAXED);

	do {
		if (top == NULL || top == INBOX_CLOSED)
			return NULL;
		/* [inbox:A1] */
	} while (!atomic_ptr_cas(&b->top, &top, NULL, ACQUIRE, RELAXED));
	return top;
}

/*
 * Moves tasks of a list, which has the youngest first, to the front of a chain, steps
 * at most. Returns how many.
 */
static unsigned int
turn(struct task **list, struct task **chain, unsigned int steps)
{
	struct task *t = *list, *below;
	unsigned int n;

	for (n = 0; n < steps && t != NULL; n++) {
		below = t->next;
		t->next = *chain;
		*chain = t;
		t = below;
	}
	*list = t;
	return n;
}

static void
append(struct task_chain *to, struct task *first, struct task *last,
       unsigned int n)
{
	*to->end = first;
	to->end = &last->next;
	atomic_u32_add_owner(&to->n, n);
}

unsigned int
weir__inbox_take_owner(struct inbox *b, struct task_chain *to)
{
	if (b->unturned == NULL) {
		b->unturned = b->youngest = take_list(b);
		b->turned = NULL;
		b->nb_turned = 0;
	}
	b->nb_turned += turn(&b->unturned, &b->turned, CHAIN_STEPS);
	if (b->nb_turned == 0 || b->unturned != NULL)
		return 0;
	append(to, b->turned, b->youngest, b->nb_turned);
	atomic_u64_add_owner(&b->taken, b->nb_turned);
	return b->nb_turned;
}

unsigned int
weir__inbox_take_any(struct inbox *b, struct task_chain *to)
{
	struct task *youngest = take_list(b), *list = youngest, *first = NULL;
	unsigned int n = turn(&list, &first, UINT_MAX);

	if (n > 0)
		append(to, first, youngest, n);
	atomic_u64_fetch_sub(&b->sent, n, RELAXED);
	return n;
}

unsigned int
weir__inbox_len(const struct inbox *b)
{
	uint64_t taken = atomic_u64_load(&b->taken, RELAXED);
	int64_t n = (int64_t)(atomic_u64_load(&b->sent, RELAXED) - taken);

	return n > 0 ? (unsigned int)n : 0;
}

static unsigned int
drop(struct task *t)
{
	struct task *below;
	unsigned int n;

	for (n = 0; t != NULL; t = below, n++) {
		below = t->next;
		weir__task_drop_notification(t);
	}
	return n;
}

void
weir__inbox_close(struct inbox *b)
{
	/* [inbox:A1] */
	void *top = atomic_ptr_exchange(&b->top, INBOX_CLOSED, ACQUIRE);
	unsigned int n;

	if (top == INBOX_CLOSED)
		return;
	n = drop(top);
	if (b->unturned != NULL)
		n += drop(b->turned) + drop(b->unturned);
	b->unturned = NULL;
	atomic_u64_fetch_sub(&b->sent, n, RELAXED);
}
