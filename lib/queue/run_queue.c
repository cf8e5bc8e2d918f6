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
 * R4 Each task is claimed by exactly one successful swap of head.
 * R5 Where there is no thief the owner alone changes head: a store does, and
 *    a turn is one of three swaps cheaper.
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

#include "queue/run_queue.h"

#define HALF (RUN_QUEUE_SIZE / 2)

void
weir__run_queue_init(struct run_queue *q, bool alone)
{
	q->alone = alone;
	atomic_u64_store(&q->head, 0, RELAXED);
	atomic_u32_store(&q->tail, 0, RELAXED);
}

/* Moves the older half out; false if a thief came first. */
static bool
take_half(struct run_queue *q, uint64_t head, struct task **overflow)
{
	uint32_t real = run_queue_real_of(head), i;

	if (!atomic_u64_cas(&q->head, &head,
			    run_queue_pack(real + HALF, real + HALF), RELAXED,
			    RELAXED))
		return false;
	for (i = 0; i < HALF; i++)
		overflow[i] = run_queue_slot(q, real + i);
	return true;
}

unsigned int
weir__run_queue_push_owner(struct run_queue *q, struct task *t,
			   struct task **overflow)
{
	uint32_t tail = atomic_u32_load(&q->tail, RELAXED);
	uint64_t head;

	while (!run_queue_push_owner(q, t)) {
		head = atomic_u64_load(&q->head, RELAXED);
		/* Thieves have made room meanwhile. */
		if (tail - run_queue_steal_of(head) < RUN_QUEUE_SIZE)
			continue;
		if (run_queue_steal_of(head) != run_queue_real_of(head)) {
			overflow[0] = t;
			return 1;
		}
		if (take_half(q, head, overflow)) {
			overflow[HALF] = t;
			return HALF + 1;
		}
	}
	return 0;
}

void
weir__run_queue_append_owner(struct run_queue *q, struct task *const *tasks,
			     unsigned int n)
{
	uint32_t tail = run_queue_tail_owner(q);
	unsigned int i;

	WEIR_ASSERT(n <= weir__run_queue_room_owner(q), "R1");
	for (i = 0; i < n; i++)
		run_queue_slot_set(q, tail + i, tasks[i]);
	run_queue_publish_owner(q, tail + n);
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

unsigned int
weir__run_queue_room_owner(const struct run_queue *q)
{
	uint32_t tail = atomic_u32_load(&q->tail, RELAXED);

	/* [queue:A1] as in push. */
	return RUN_QUEUE_SIZE -
	       (tail - run_queue_steal_of(atomic_u64_load(&q->head, ACQUIRE)));
}
