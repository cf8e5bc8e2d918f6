/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A bounded ring of tasks with one producer, which also consumes, and any
 * number of thieves. The design is that of tokio's multi-thread scheduler
 * (runtime/scheduler/multi_thread/queue.rs), with wider indices.
 *
 * `head` holds two indices. `real` is where the next task is taken. `steal`
 * lags behind it while a thief copies what it has claimed: slots from steal to
 * real are the thief's, and the owner does not reuse them until the thief has
 * set steal to real.
 *
 * Invariants:
 * R1 steal <= real <= tail, and tail - steal <= RUN_QUEUE_SIZE (modulo 2^32).
 * R2 At most one thief is at work: claiming needs steal == real.
 * R3 Only the owner moves tail; a slot is written before tail passes it.
 * R4 Each task is claimed by exactly one successful swap of head, and taken by who
 *    claimed it, or by who recalls it.
 * R5 Where there is no thief the owner alone changes head: a store does.
 * R6 Where many are queued the owner claims some with one swap, its batch: what is
 *    from `next` to `end`. It is older than what is left in the queue, and than what
 *    a thief copies, so slots are in use from `next` on until the batch is empty.
 * R7 An owner that is in a task for long may lose its batch. Who recalls it lowers
 *    `limit`, has all threads pass a fence, and has the batch if `next` is as it was
 *    before: the owner moves next first, and then looks at limit, so it gets a slot
 *    only if the recall sees that. Nobody else writes limit but the owner when it has
 *    another batch, or none (R9); a swap finds that out.
 * R8 Nobody but the owner uses more slots, so those that it has seen free, up to
 *    `free_end`, stay free until it fills them: tail does not pass it. It looks again
 *    when that is where tail has got, or before it adds many.
 * R9 Without a batch, next, limit and end move on with the queue, so that what a thief
 *    takes for one is never 2^32 tasks old.
 *
 * A claim needs no order of its own. The slots that it takes are below a tail
 * that was acquired, so their contents are there; and nobody writes to them before
 * the claim's end was acquired. Every change of head but its first is a
 * read-modify-write, so whoever acquires one also acquires all ends before it.
 * A head that is old fails the swap, and one that is newer than tail is seen to
 * be: R1.
 *
 * Indices have 32 bits and wrap. A thief that sleeps between its load and its
 * swap of head would have to sleep through 2^32 tasks to be fooled.
 */

#include "base/membarrier.h"
#include "queue/run_queue.h"

#define HALF (RUN_QUEUE_SIZE / 2u)

static_assert(RUN_QUEUE_BATCH <= RUN_QUEUE_BATCH_SHORT &&
		      RUN_QUEUE_BATCH_SHORT <= HALF + 1,
	      "what is left of one fits an overflow");

void
weir__run_queue_init(struct run_queue *q, bool alone, bool batches)
{
	q->alone = alone;
	atomic_u32_store(&q->worth,
			 alone || batches ? 2 * RUN_QUEUE_SHARE :
					    RUN_QUEUE_NO_BATCH,
			 RELAXED);
	atomic_u32_store(&q->next, 0, RELAXED);
	atomic_u32_store(&q->limit, 0, RELAXED);
	q->end = 0;
	q->free_end = RUN_QUEUE_SIZE;
	lock_init(&q->recall);
	q->most = RUN_QUEUE_BATCH;
	atomic_u64_store(&q->head, 0, RELAXED);
	atomic_u32_store(&q->tail, 0, RELAXED);
}

void
weir__run_queue_expect_owner(struct run_queue *q, uint64_t turns)
{
	bool are_short = turns > RUN_QUEUE_BATCH;
	uint32_t worth =
		2 * (are_short ? RUN_QUEUE_SHARE_SHORT : RUN_QUEUE_SHARE);
	uint32_t was = atomic_u32_load(&q->worth, RELAXED);

	q->most = are_short ? (uint32_t)RTE_MIN(turns, RUN_QUEUE_BATCH_SHORT) :
			      RUN_QUEUE_BATCH;
	/* By a swap: who recalls may end all batches. */
	if (was != worth && was != RUN_QUEUE_NO_BATCH)
		atomic_u32_cas(&q->worth, &was, worth, RELAXED, RELAXED);
}

/* The first slot that is in use: a batch is older than what a thief copies. */
static uint32_t
first_used(struct run_queue *q)
{
	uint32_t next = atomic_u32_load(&q->next, RELAXED);
	/*
	 * [queue:A1] pairs with the thief's end of copying: without it the owner
	 * could overwrite a slot that is still being read.
	 */
	uint64_t head = atomic_u64_load(&q->head, ACQUIRE);

	if (next != q->end)
		return next;
	/* R9. A thief that sees but one of the two finds next changed behind it (R7). */
	next = run_queue_steal_of(head);
	q->end = next;
	atomic_u32_store(&q->next, next, RELAXED);
	atomic_u32_store(&q->limit, next, RELAXED);
	return next;
}

unsigned int
weir__run_queue_room_owner(struct run_queue *q)
{
	q->free_end = first_used(q) + RUN_QUEUE_SIZE;
	return q->free_end - run_queue_tail_owner(q);
}

/* Moves the n oldest out that others may steal; false if a thief came first. */
static bool
take_oldest(struct run_queue *q, uint64_t head, struct task **overflow,
	    unsigned int n)
{
	uint32_t real = run_queue_real_of(head), i;

	if (!atomic_u64_cas(&q->head, &head, run_queue_pack(real + n, real + n),
			    RELAXED, RELAXED))
		return false;
	for (i = 0; i < n; i++)
		overflow[i] = run_queue_slot(q, real + i);
	return true;
}

unsigned int
weir__run_queue_push_owner(struct run_queue *q, struct task *t,
			   struct task **overflow)
{
	uint32_t tail = run_queue_tail_owner(q), used;
	struct task *older;
	unsigned int n = 0;
	uint64_t head;

	while (weir__run_queue_room_owner(q) == 0) {
		/* What lies behind the batch comes free with it only (R6). */
		while ((older = run_queue_pop_from_batch(q)) != NULL)
			overflow[n++] = older;
		head = atomic_u64_load(&q->head, RELAXED);
		used = tail - run_queue_steal_of(head);
		if (run_queue_steal_of(head) != run_queue_real_of(head)) {
			if (used < RUN_QUEUE_SIZE)
				continue;
			overflow[0] = t;
			return 1;
		}
		/* Thieves have made room, or the batch was a large one. */
		if (used <= HALF || (n == 0 && used < RUN_QUEUE_SIZE))
			continue;
		/* The batch alone would make room for few, again and again. */
		if (take_oldest(q, head, overflow + n, used - HALF)) {
			n += used - HALF;
			overflow[n] = t;
			return n + 1;
		}
	}
	run_queue_push_owner(q, t);
	return n;
}

void
weir__run_queue_append_owner(struct run_queue *q, struct task *const *tasks,
			     unsigned int n)
{
	uint32_t tail = run_queue_tail_owner(q);
	unsigned int i;

	WEIR_ASSERT(n <= q->free_end - tail, "R8");
	for (i = 0; i < n; i++)
		run_queue_slot_set(q, tail + i, tasks[i]);
	run_queue_publish_owner(q, tail + n);
}

/* What the owner claims of n tasks. */
static uint32_t
share_of(const struct run_queue *q, uint32_t n)
{
	/* By constants: a division would take longer than the swap. */
	n = q->most > RUN_QUEUE_BATCH ? n / RUN_QUEUE_SHARE_SHORT :
					n / RUN_QUEUE_SHARE;
	return RTE_MIN(n, q->most);
}

struct task *
weir__run_queue_pop_batch_owner(struct run_queue *q)
{
	uint64_t head = atomic_u64_load(&q->head, RELAXED);
	uint32_t real = run_queue_real_of(head);
	uint32_t n = run_queue_tail_owner(q) - real;

	if (q->alone) {
		n = RTE_MIN(n, HALF);
		atomic_u64_store(&q->head, run_queue_pack(real + n, real + n),
				 RELAXED);
	} else {
		n = share_of(q, n);
		/* R6: no thief copies what is older. */
		if (n < 2 || run_queue_steal_of(head) != real ||
		    !atomic_u64_cas(&q->head, &head,
				    run_queue_pack(real + n, real + n), RELAXED,
				    RELAXED))
			return NULL;
	}
	q->end = real + n;
	atomic_u32_store(&q->next, real + 1, RELAXED);
	/* [queue:A4] the slots, and where the batch begins, before its end. */
	atomic_u32_store(&q->limit, real + n, RELEASE);
	return run_queue_take_owner(q, real);
}

void
weir__run_queue_recalled_owner(struct run_queue *q, uint32_t next)
{
	/* It has not been taken. */
	atomic_u32_store(&q->next, next, RELAXED);
	/* [lock:A1] what is recalled has been copied. */
	lock_acquire(&q->recall);
	if ((int32_t)(atomic_u32_load(&q->limit, RELAXED) - next) <= 0)
		q->end = next;
	lock_release(&q->recall);
}

/* With the lock. Returns how many there are, from *first on. */
static uint32_t
claim_batch(struct run_queue *q, uint32_t *first)
{
	/* [queue:A4] what is in those slots. */
	uint32_t limit = atomic_u32_load(&q->limit, ACQUIRE), end = limit;
	uint32_t next = atomic_u32_load(&q->next, RELAXED), n = limit - next;

	/*
	 * One of the two may be older: then they are farther apart (R9), or next will
	 * be seen to have changed.
	 */
	if (n == 0 || n >= RUN_QUEUE_BATCH_SHORT ||
	    !atomic_u32_cas(&q->limit, &limit, next, RELAXED, RELAXED))
		return 0;
	/* [queue:F1] */
	if (weir__membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) {
		/* It is refused now: this is the last batch. */
		atomic_u32_store(&q->worth, RUN_QUEUE_NO_BATCH, RELAXED);
	} else if (atomic_u32_load(&q->next, RELAXED) == next) {
		*first = next;
		return n;
	}
	/* Or the owner comes. It may have another batch by then. */
	limit = next;
	atomic_u32_cas(&q->limit, &limit, end, RELAXED, RELAXED);
	return 0;
}

unsigned int
weir__run_queue_recall(struct run_queue *src, struct run_queue *dst)
{
	uint32_t tail = run_queue_tail_owner(dst);
	uint32_t first = 0, n, i;

	if (weir__run_queue_room_owner(dst) < RUN_QUEUE_BATCH_SHORT ||
	    !lock_try(&src->recall))
		return 0;
	n = claim_batch(src, &first);
	for (i = 0; i < n; i++)
		run_queue_slot_set(dst, tail + i,
				   run_queue_slot(src, first + i));
	lock_release(&src->recall);
	if (n > 0)
		run_queue_publish_owner(dst, tail + n);
	return n;
}

/* Claims half of src, for a thief. Returns how many, from the real one of *head. */
static uint32_t
claim_half(struct run_queue *src, uint64_t *head)
{
	uint32_t real, n;

	*head = atomic_u64_load(&src->head, RELAXED);
	for (;;) {
		if (run_queue_steal_of(*head) != run_queue_real_of(*head))
			return 0;
		real = run_queue_real_of(*head);
		/* [queue:A3] */
		n = atomic_u32_load(&src->tail, ACQUIRE) - real;
		n -= n / 2;
		if (n == 0)
			return 0;
		/* One of the two is old: by head the swap would fail. */
		if (n > HALF) {
			*head = atomic_u64_load(&src->head, RELAXED);
			continue;
		}
		/* From here on the slots are ours (R2, R4). */
		if (atomic_u64_cas(
			    &src->head, head,
			    run_queue_pack(run_queue_steal_of(*head), real + n),
			    RELAXED, RELAXED))
			return n;
	}
}

static void
end_claim(struct run_queue *src, uint64_t head)
{
	/* The owner may have popped meanwhile: steal catches up with real. */
	/* [queue:A1] all slots were read before they are given back. */
	while (!atomic_u64_cas(&src->head, &head,
			       run_queue_pack(run_queue_real_of(head),
					      run_queue_real_of(head)),
			       RELEASE, RELAXED))
		;
}

struct task *
weir__run_queue_steal(struct run_queue *src, struct run_queue *dst,
		      unsigned int *taken)
{
	uint32_t tail = atomic_u32_load(&dst->tail, RELAXED);
	uint32_t first, n, i;
	struct task *t;
	uint64_t head;

	WEIR_ASSERT(!src->alone, "R5");
	/* Whoever steals is out of work, unless thieves still copy from it. */
	if (weir__run_queue_room_owner(dst) < HALF)
		return NULL;
	n = claim_half(src, &head);
	if (n == 0)
		return NULL;
	first = run_queue_real_of(head);
	for (i = 0; i + 1 < n; i++)
		run_queue_slot_set(dst, tail + i,
				   run_queue_slot(src, first + i));
	/* The youngest is run at once: it needs no slot. */
	t = run_queue_slot(src, first + n - 1);
	end_claim(src, run_queue_pack(first, first + n));
	if (n > 1) {
		/* [queue:A3] */
		atomic_u32_store(&dst->tail, tail + n - 1, RELEASE);
	}
	*taken = n;
	return t;
}

unsigned int
weir__run_queue_len_any(const struct run_queue *q)
{
	uint32_t real = run_queue_real_of(atomic_u64_load(&q->head, RELAXED));
	uint32_t n = atomic_u32_load(&q->tail, RELAXED) - real;

	/* The two loads are not one: tail may seem to be behind. */
	return n <= RUN_QUEUE_SIZE ? n : 0;
}
