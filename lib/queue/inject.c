/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A bounded rte_ring, and behind it an unbounded list for when it is full. A ring
 * serves those well who take a few of many each.
 *
 * The ring is in RTS mode (rte_ring's programmer's guide, "Producer/consumer
 * synchronization modes"), with the largest head-tail distance: a thread that
 * is preempted in the middle keeps its own entry, and those queued behind it,
 * from being seen, but nobody waits for it before the end.
 *
 * The list is a stack of batches that pushers swap onto it: chains, oldest task
 * first, whose last is linked to the batch below. A popper takes all of it and turns it
 * round batch by batch, since many tasks that wait have left the caches. What it does
 * not take of that stays in the stash for the next.
 *
 * Invariants:
 * I1 A push is never refused but for a closed queue, and never lost.
 * I2 While anything is spilled, pushes go to the list, so that the older
 *    entries, in the ring, come out first. The order is open between pushers
 *    that race with the change, and for a popper that meets it.
 * I3 Where something is spilled and its push is over, whoever looks sees it on the
 *    list or that there is a stash, also while a popper carries it from one to the
 *    other. What is seen there can be popped, if not at once (I6): nobody waits for a
 *    pusher that was preempted.
 * I4 What is pushed while the queue is being finished is dropped either by
 *    finish or by its pusher.
 * I5 Spilled entries are counted after their push and after their pop, each on a
 *    line that nobody waits for, so that a push is but one change of what the
 *    popper watches. The difference is late, and may be below zero for a moment.
 * I6 A pop turns CHAIN_STEPS batches round at most: its worker has sources to poll.
 *    Before the oldest is reached it gives nothing, and the next one goes on. One thread
 *    at a time is enough for that; others do not wait for it.
 */

#include <errno.h>

#include <rte_errno.h>
#include <rte_ring.h>

#include "base/race.h"
#include "queue/inject.h"

#define CHUNK 32

int
weir__inject_init(struct inject *q, const char *name, unsigned int size,
		  unsigned int socket)
{
	q->ring = NULL;
	atomic_u32_store(&q->state, INJECT_OPEN, RELAXED);
	atomic_ptr_store(&q->spill, NULL, RELAXED);
	atomic_u64_store(&q->pushed, 0, RELAXED);
	lock_init(&q->stash_lock);
	atomic_u32_store(&q->stashed, INJECT_NO_STASH, RELAXED);
	atomic_u64_store(&q->popped, 0, RELAXED);
	q->stash = NULL;
	q->unturned = NULL;
	q->ring = rte_ring_create(name, size, (int)socket,
				  RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ);
	if (q->ring == NULL)
		return -rte_errno;
	rte_ring_set_prod_htd_max(q->ring, rte_ring_get_capacity(q->ring));
	rte_ring_set_cons_htd_max(q->ring, rte_ring_get_capacity(q->ring));
	return 0;
}

void
weir__inject_fini(struct inject *q)
{
	rte_ring_free(q->ring);
	q->ring = NULL;
}

/* Returns how many found room. */
static unsigned int
push_ring(struct inject *q, struct task *const *tasks, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		race_release(&tasks[i]->next); /* the ring */
	return rte_ring_mp_rts_enqueue_burst(q->ring, (void *const *)tasks, n,
					     NULL);
}

/*
 * The first of a batch says how far in memory the last one is, in lines. Tasks that are
 * pushed together were mostly spawned one after the other, and lie near.
 */
static bool
set_reach(struct task *first, const struct task *last)
{
	intptr_t lines = ((intptr_t)last - (intptr_t)first) / WEIR_CACHE_LINE;

	first->reach = (int16_t)lines;
	return first->reach == lines;
}

static struct task *
last_of(struct task *first)
{
	return (struct task *)((intptr_t)first +
			       (intptr_t)first->reach * WEIR_CACHE_LINE);
}

/* Tasks that are linked, of which the first reaches the last. */
static void
push_batch(struct inject *q, struct task *first, struct task *last)
{
	void *top = atomic_ptr_load(&q->spill, RELAXED);

	do {
		last->next = top;
		/* [inject:A1] the links before the top. */
	} while (!atomic_ptr_cas(&q->spill, &top, first, RELEASE, RELAXED));
}

/* Ends with the fence of a push. */
static void
push_spill(struct inject *q, struct task *const *tasks, unsigned int n)
{
	unsigned int done, m, i;

	for (done = 0; done < n; done += m) {
		m = n - done;
		while (!set_reach(tasks[done], tasks[done + m - 1]))
			m = (m + 1) / 2;
		for (i = 1; i < m; i++)
			tasks[done + i - 1]->next = tasks[done + i];
		push_batch(q, tasks[done], tasks[done + m - 1]);
	}
	atomic_u64_fetch_add(&q->pushed, n, RELAXED);
	/* [inject:F1] */
	atomic_fence_after_rmw(SEQ_CST);
}

static void
drain(struct inject *q)
{
	struct task *tasks[CHUNK];
	unsigned int i, n, spins = 0;

	while ((n = weir__inject_pop(q, tasks, CHUNK)) > 0 ||
	       inject_has_spilled(q)) {
		for (i = 0; i < n; i++)
			weir__task_drop_notification(tasks[i]);
		/* I6: maybe another is at it. */
		if (n == 0)
			lock_rest(&spins);
	}
}

/* One end of the ring: where it is, and how many have moved it. */
static uint64_t
ring_end(uintptr_t end)
{
	return atomic_u64_load((const struct atomic_u64 *)end, RELAXED);
}

/*
 * Is every push into the ring that has begun over? Until then what is behind one that is
 * not cannot be popped.
 */
static bool
pushes_are_over(const struct inject *q)
{
	const struct rte_ring_rts_headtail *prod = &q->ring->rts_prod;

	return ring_end((uintptr_t)&prod->head) ==
	       ring_end((uintptr_t)&prod->tail);
}

void
weir__inject_empty(struct inject *q)
{
	unsigned int spins = 0;
	bool over;

	while (true) {
		over = pushes_are_over(q);
		drain(q);
		if (likely(over))
			return;
		lock_rest(&spins);
	}
}

bool
weir__inject_push(struct inject *q, struct task *const *tasks, unsigned int n)
{
	unsigned int done = 0;

	if (n == 0)
		return true;
	if (unlikely(atomic_u32_load(&q->state, RELAXED) != INJECT_OPEN))
		return false;
	if (!inject_has_spilled(q))
		done = push_ring(q, tasks, n);
	/*
	 * [inject:F1] pairs with the fence in finish: either finish's drain
	 * sees our entry, or we see that it has finished. Without it both could
	 * look before the other's store, and the notification and its task
	 * would leak (I4). It also comes before our caller's look at who
	 * searches, [idle:F1], and who sleeps, [sleep:F1].
	 */
	if (done < n)
		push_spill(q, tasks + done, n - done);
	else
		atomic_fence(SEQ_CST);
	if (unlikely(atomic_u32_load(&q->state, RELAXED) == INJECT_FINISHED))
		drain(q);
	return true;
}

/* Takes the stack. */
static struct task *
take_spill(struct inject *q)
{
	atomic_u32_store(&q->stashed, INJECT_STASHED, RELAXED);
	/* [inject:A1], and [inject:A2]: who sees it empty sees the store above. */
	return atomic_ptr_exchange(&q->spill, NULL, ACQ_REL);
}

/* Goes on to make the stash of the stack. False: more is to be done (I6). */
static bool
refill_stash(struct inject *q)
{
	struct task *unturned = q->unturned, *stash = q->stash, *last, *first;
	unsigned int i;

	if (unturned == NULL)
		unturned = take_spill(q);
	for (i = 0; i < CHAIN_STEPS && unturned != NULL; i++) {
		first = unturned;
		last = last_of(first);
		unturned = last->next;
		last->next = stash;
		stash = first;
	}
	q->unturned = unturned;
	q->stash = stash;
	return unturned == NULL;
}

/* False: somebody is turning the list round (I6). */
static bool
take_stash(struct inject *q)
{
	unsigned int spins = 0;

	while (!lock_grab(&q->stash_lock)) {
		if (inject_turns(q))
			return false;
		lock_rest(&spins);
	}
	return true;
}

static unsigned int
pop_spill(struct inject *q, struct task **tasks, unsigned int n)
{
	unsigned int i;
	bool ready;

	if (!take_stash(q))
		return 0;
	ready = (q->stash != NULL && q->unturned == NULL) || refill_stash(q);
	for (i = 0; ready && i < n && q->stash != NULL; i++) {
		tasks[i] = q->stash;
		q->stash = tasks[i]->next;
	}
	atomic_u32_store(&q->stashed,
			 !ready		  ? INJECT_TURNING :
			 q->stash != NULL ? INJECT_STASHED :
					    INJECT_NO_STASH,
			 RELAXED);
	atomic_u64_add_owner(&q->popped, i);
	lock_release(&q->stash_lock);
	return i;
}

unsigned int
weir__inject_pop(struct inject *q, struct task **tasks, unsigned int n)
{
	unsigned int got, i;

	got = rte_ring_mc_rts_dequeue_burst(q->ring, (void **)tasks, n, NULL);
	for (i = 0; i < got; i++)
		race_acquire(&tasks[i]->next); /* the ring */
	if (got < n && inject_has_spilled(q))
		got += pop_spill(q, tasks + got, n - got);
	return got;
}

unsigned int
weir__inject_len(const struct inject *q)
{
	uint64_t popped = atomic_u64_load(&q->popped, RELAXED);
	int64_t n = (int64_t)(atomic_u64_load(&q->pushed, RELAXED) - popped);

	return (n > 0 ? (unsigned int)n : 0) + rte_ring_count(q->ring);
}

void
weir__inject_close(struct inject *q)
{
	uint32_t open = INJECT_OPEN;

	/* A finished queue stays finished. */
	atomic_u32_cas(&q->state, &open, INJECT_CLOSED, RELAXED, RELAXED);
}

void
weir__inject_finish(struct inject *q)
{
	atomic_u32_store(&q->state, INJECT_FINISHED, RELAXED);
	/* [inject:F1] */
	atomic_fence(SEQ_CST);
	drain(q);
}
