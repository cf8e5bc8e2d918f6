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
 */

#include "queue/inbox.h"

void
weir__inbox_init(struct inbox *b)
{
	atomic_ptr_store(&b->top, NULL, RELAXED);
	atomic_u64_store(&b->sent, 0, RELAXED);
	atomic_u64_store(&b->taken, 0, RELAXED);
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

/* Turns them round. */
static unsigned int
append(struct task_chain *to, struct task *youngest)
{
	struct task *first = NULL, *t = youngest, *below;
	unsigned int n = 0;

	for (; t != NULL; t = below) {
		below = t->next;
		t->next = first;
		first = t;
		n++;
	}
	*to->end = first;
	to->end = &youngest->next;
	atomic_u32_add_owner(&to->n, n);
	return n;
}

static unsigned int
take(struct inbox *b, struct task_chain *to)
{
	void *top = atomic_ptr_load(&b->top, RELAXED);

	do {
		if (top == NULL || top == INBOX_CLOSED)
			return 0;
		/* [inbox:A1] */
	} while (!atomic_ptr_cas(&b->top, &top, NULL, ACQUIRE, RELAXED));
	return append(to, top);
}

unsigned int
weir__inbox_take_owner(struct inbox *b, struct task_chain *to)
{
	unsigned int n = take(b, to);

	atomic_u64_add_owner(&b->taken, n);
	return n;
}

unsigned int
weir__inbox_take_any(struct inbox *b, struct task_chain *to)
{
	unsigned int n = take(b, to);

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

void
weir__inbox_close(struct inbox *b)
{
	struct task *t, *below;
	uint64_t n = 0;

	/* [inbox:A1] */
	t = atomic_ptr_exchange(&b->top, INBOX_CLOSED, ACQUIRE);
	if (t == INBOX_CLOSED)
		return;
	for (; t != NULL; t = below, n++) {
		below = t->next;
		weir__task_drop_notification(t);
	}
	atomic_u64_fetch_sub(&b->sent, n, RELAXED);
}
