/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef QUEUE_RUN_QUEUE_H
#define QUEUE_RUN_QUEUE_H

/*
 * A worker's run queue: the owner pushes and pops, thieves take half. See
 * run_queue.c for how.
 */

#include <rte_prefetch.h>

#include "base/atomic.h"
#include "base/common.h"
#include "base/lock.h"
#include "task/task.h"

/* A power of two; tests shrink it. */
#ifndef RUN_QUEUE_SIZE
#define RUN_QUEUE_SIZE 256
#endif
/*
 * What the owner claims with one swap: a share of the queue, up to so many. Smaller:
 * more swaps. Larger: others find less, and more waits behind a task that takes long,
 * but not so long that it is recalled. The last two are for turns that are short, behind
 * which nothing waits for long.
 */
#ifndef RUN_QUEUE_SHARE
#define RUN_QUEUE_SHARE 4u
#define RUN_QUEUE_BATCH 8u
#define RUN_QUEUE_SHARE_SHORT 2u
#define RUN_QUEUE_BATCH_SHORT 32u
#endif

#define RUN_QUEUE_NO_BATCH UINT32_MAX

struct run_queue {
	/*
	 * Slot i is the owner's while free, and a thief's while it is claimed.
	 * First, so that its address is the queue's and an index.
	 */
	struct atomic_ptr slots[RUN_QUEUE_SIZE] weir_cache_aligned;
	/* Written by the owner and by thieves. steal:32 | real:32 */
	struct atomic_u64 head weir_cache_aligned;
	/* Written by the owner only, as most of this line. */
	struct atomic_u32 tail weir_cache_aligned;
	/*
	 * The owner's batch (R6): slots from next to end, which it has claimed and not
	 * taken yet. What is not below limit has been recalled.
	 */
	struct atomic_u32 next;
	struct atomic_u32 limit; /* by who recalls, too */
	uint32_t end;
	/* Slots up to here were free when the owner last looked; so they are (R8). */
	uint32_t free_end;
	/* Of fewer tasks the owner claims no batch; RUN_QUEUE_NO_BATCH: of none. */
	struct atomic_u32 worth; /* the same */
	struct lock recall;	 /* held through a system call */
	uint32_t most;		 /* of a batch; by the owner */
	/* There is no other worker, nor will be: see run_queue.c, R5. */
	bool alone;
};

static_assert((RUN_QUEUE_SIZE & (RUN_QUEUE_SIZE - 1)) == 0, "power of two");

/*
 * What others push comes as a list with the youngest first. Steps through memory that
 * who takes it goes at once to turn it round; tests shrink it. Smaller: a long list
 * takes more looks. Larger: the next look at the sources comes later.
 */
#ifndef CHAIN_STEPS
#define CHAIN_STEPS 256u
#endif

/* A chain of tasks, linked by task.next. */
struct task_chain {
	struct task *first;  /* of n; what comes behind the last is not said */
	struct task **end;   /* where the next one is linked */
	struct atomic_u32 n; /* of which others may want to know */
};

/* At once old but for the owner. Any thread. */
static inline unsigned int
task_chain_len(const struct task_chain *c)
{
	return atomic_u32_load(&c->n, RELAXED);
}

static inline void
task_chain_init(struct task_chain *c)
{
	atomic_u32_store(&c->n, 0, RELAXED);
	c->first = NULL;
	c->end = &c->first;
}

static inline void
task_chain_add(struct task_chain *c, struct task *t)
{
	*c->end = t;
	c->end = &t->next;
	atomic_u32_add_owner(&c->n, 1);
}

static inline struct task *
task_chain_pop(struct task_chain *c)
{
	unsigned int n = task_chain_len(c);
	struct task *t = c->first;

	if (n == 0)
		return NULL;
	atomic_u32_store(&c->n, n - 1, RELAXED);
	c->first = t->next;
	if (n == 1)
		c->end = &c->first;
	return t;
}

/*
 * alone: nobody will ever steal from it. batches: who steals can have every thread pass
 * a fence (membarrier), and so recall what the owner has claimed.
 */
void
weir__run_queue_init(struct run_queue *q, bool alone, bool batches);

/*
 * So many of the owner's next turns are expected to take next to no time together: the
 * next batches have as many, within the bounds above. Owner.
 */
void
weir__run_queue_expect_owner(struct run_queue *q, uint64_t turns);

static inline uint64_t
run_queue_pack(uint32_t steal, uint32_t real)
{
	return (uint64_t)steal << 32 | real;
}

static inline uint32_t
run_queue_steal_of(uint64_t head)
{
	return (uint32_t)(head >> 32);
}

static inline uint32_t
run_queue_real_of(uint64_t head)
{
	return (uint32_t)head;
}

static inline struct task *
run_queue_slot(const struct run_queue *q, uint32_t i)
{
	return atomic_ptr_load(&q->slots[i & (RUN_QUEUE_SIZE - 1)], RELAXED);
}

static inline void
run_queue_slot_set(struct run_queue *q, uint32_t i, struct task *t)
{
	atomic_ptr_store(&q->slots[i & (RUN_QUEUE_SIZE - 1)], t, RELAXED);
}

/* Behind the last task. Owner. */
static inline uint32_t
run_queue_tail_owner(const struct run_queue *q)
{
	return atomic_u32_load(&q->tail, RELAXED);
}

/*
 * Those in the slots up to `tail`, which were free, are in the queue from here on.
 * Owner.
 */
static inline void
run_queue_publish_owner(struct run_queue *q, uint32_t tail)
{
	/* [queue:A3] the slots, and the tasks behind them, before the index. */
	atomic_u32_store(&q->tail, tail, RELEASE);
}

/* Tasks that can be stolen, but for those that have been meanwhile. Owner. */
static inline uint32_t
run_queue_shared_owner(const struct run_queue *q)
{
	return run_queue_tail_owner(q) -
	       run_queue_real_of(atomic_u64_load(&q->head, RELAXED));
}

/* Tasks of the owner's batch that have not been recalled. At once old but for it. */
static inline uint32_t
run_queue_batch(const struct run_queue *q)
{
	uint32_t n = atomic_u32_load(&q->limit, RELAXED) -
		     atomic_u32_load(&q->next, RELAXED);

	/* The two loads are not one: they may be of two batches. */
	return n <= RUN_QUEUE_SIZE / 2 ? n : 0;
}

/* Both; while it is being recalled, the batch may come back. Owner. */
static inline uint32_t
run_queue_len_owner(const struct run_queue *q)
{
	return run_queue_shared_owner(q) + run_queue_batch(q);
}

/* How many more tasks fit. Owner. */
unsigned int
weir__run_queue_room_owner(struct run_queue *q);

/*
 * Adds a task at the back; false if the queue seems to be full, which
 * weir__run_queue_push_owner() looks into. Without a call of its own: where most
 * tasks come from saves no registers for it. Owner.
 */
static inline bool
run_queue_push_owner(struct run_queue *q, struct task *t)
{
	uint32_t tail = run_queue_tail_owner(q);

	/* R8 */
	if (unlikely(tail == q->free_end))
		return false;
	run_queue_slot_set(q, tail, t);
	run_queue_publish_owner(q, tail + 1);
	return true;
}

/*
 * Adds a task to a queue that seems to be full. If it is, `overflow`, which has
 * RUN_QUEUE_OVERFLOW places, gets what has to go to the inject queue, in order: the
 * older half, which begins with what is left of the owner's batch, and the new task;
 * less of them where thieves have made room meanwhile; just the new task if a thief is
 * at work and room will appear. Returns how many those are. Owner.
 */
#define RUN_QUEUE_OVERFLOW (RUN_QUEUE_SIZE / 2 + 1)
unsigned int
weir__run_queue_push_owner(struct run_queue *q, struct task *t,
			   struct task **overflow);

/* Adds n tasks at the back, for which there is room. Owner. */
void
weir__run_queue_append_owner(struct run_queue *q, struct task *const *tasks,
			     unsigned int n);

/* Takes the first place, at `real`, of a head that was just read. Owner. */
static inline bool
run_queue_claim_owner(struct run_queue *q, uint64_t *head, uint32_t real)
{
	uint32_t steal;

	/* R5 */
	if (q->alone) {
		atomic_u64_store(&q->head, run_queue_pack(real + 1, real + 1),
				 RELAXED);
		return true;
	}
	steal = run_queue_steal_of(*head);
	return atomic_u64_cas(
		&q->head, head,
		run_queue_pack(steal == real ? real + 1 : steal, real + 1),
		RELAXED, RELAXED);
}

/* There is a slot for each task. Owner. */
static inline struct task *
run_queue_take_owner(const struct run_queue *q, uint32_t i)
{
	struct task *t = run_queue_slot(q, i);

	/* Its turn comes next, and it may have waited for long. */
	rte_prefetch0(run_queue_slot(q, i + 1));
	if (t == NULL)
		__builtin_unreachable();
	return t;
}

/* Claims a batch, and takes the first of it. NULL: that was in vain. Owner. */
struct task *
weir__run_queue_pop_batch_owner(struct run_queue *q);
/* The batch is being recalled, or has been. Owner. */
void
weir__run_queue_recalled_owner(struct run_queue *q, uint32_t next);

/* Takes the next of the batch, or NULL. Owner. */
static inline struct task *
run_queue_pop_from_batch(struct run_queue *q)
{
	uint32_t i;

	while ((i = atomic_u32_load(&q->next, RELAXED)) != q->end) {
		/*
		 * [queue:F1] between saying that the task is taken and the look
		 * whether it has been recalled: the fence is that of who recalls.
		 * Without it both would have the task.
		 */
		atomic_u32_store(&q->next, i + 1, RELAXED);
		atomic_light_fence();
		if (likely((int32_t)(atomic_u32_load(&q->limit, RELAXED) - i) >
			   0))
			return run_queue_take_owner(q, i);
		weir__run_queue_recalled_owner(q, i);
	}
	return NULL;
}

/* Takes the task at the front, or NULL. Owner. */
static inline struct task *
run_queue_pop_owner(struct run_queue *q)
{
	struct task *t = run_queue_pop_from_batch(q);
	uint32_t tail, real;
	uint64_t head;

	if (t != NULL)
		return t;
	head = atomic_u64_load(&q->head, RELAXED);
	tail = run_queue_tail_owner(q);
	do {
		real = run_queue_real_of(head);
		if (unlikely(real == tail))
			return NULL;
		if (tail - real >= atomic_u32_load(&q->worth, RELAXED)) {
			t = weir__run_queue_pop_batch_owner(q);
			if (likely(t != NULL))
				return t;
		}
	} while (!run_queue_claim_owner(q, &head, real));
	return run_queue_take_owner(q, real);
}

/*
 * Moves half of src, rounded up, to dst. Returns one of the tasks, which is in
 * neither queue, and sets *n to how many were taken with it; NULL if there is
 * nothing or another thief is at work. The owner of dst.
 */
struct task *
weir__run_queue_steal(struct run_queue *src, struct run_queue *dst,
		      unsigned int *n);

/*
 * Gives dst what is left of src's batch: for who finds that the owner of src has been
 * in a task for long. Returns how many, 0 if that cannot be. The owner of dst, where
 * there is room for a batch.
 */
unsigned int
weir__run_queue_recall(struct run_queue *src, struct run_queue *dst);

/* Tasks in the queue that can be stolen; at once old. Any thread. */
unsigned int
weir__run_queue_len_any(const struct run_queue *q);

/* Is there a batch, and can it be recalled? At once old. Any thread. */
static inline bool
run_queue_has_batch_any(const struct run_queue *q)
{
	return run_queue_batch(q) > 0 &&
	       atomic_u32_load(&q->worth, RELAXED) != RUN_QUEUE_NO_BATCH;
}

#endif
