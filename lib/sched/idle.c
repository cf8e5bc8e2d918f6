/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Idle coordination of one node, after tokio's multi-thread scheduler and the
 * comment that opens Go's runtime/proc.go, without their lock.
 *
 * A notifier wakes a sleeper only if nobody searches: a searcher will come by
 * anyway, and wakes the next one when it has found something. So wake-ups come
 * one after another instead of in a herd.
 *
 * Invariants:
 * D1 set bits = sleeping + claims under way. A sleeper sets its bit before it
 *    is counted, and whoever wants a sleeper lowers the count before it clears
 *    a bit.
 * D2 A claimed sleeper is counted as searching by its claimer, so there is no
 *    moment in which work was announced and nobody looks for it.
 * D3 The last searcher to give up looks at every queue after it was uncounted. So
 *    does who is alone on its node, which need not have searched.
 *
 * What is not here: a full fence between a notifier's push and its load of
 * `state`. On the packet path it would cost more than the push. So a notifier
 * may miss a sleeper that has just missed its push. That delays a wake-up, and
 * loses none: a sleeper that polls looks at the queues again after growing
 * pauses (park.c), and a store becomes visible in finite time. One that sleeps
 * in the kernel has made the notifiers pass a fence before (sleeper.c, K1).
 */

#include <sched.h>

#include "sched/idle.h"

#define SEARCHING_ONE (UINT32_C(1) << 16)
#define SLEEPING_ONE UINT32_C(1)

static uint32_t
searching(uint32_t state)
{
	return state >> 16;
}

static uint32_t
sleeping(uint32_t state)
{
	return state & 0xffff;
}

static uint64_t
mask_of(unsigned int bit)
{
	return UINT64_C(1) << (bit % 64);
}

void
weir__idle_init(struct idle *idle, unsigned int nb_workers)
{
	unsigned int i;

	atomic_u32_store(&idle->state, 0, RELAXED);
	atomic_u32_store(&idle->nb_workers, nb_workers, RELAXED);
	for (i = 0; i < IDLE_WORDS; i++)
		atomic_u64_store(&idle->sleepers[i], 0, RELAXED);
}

void
weir__idle_add_worker(struct idle *idle)
{
	atomic_u32_fetch_add(&idle->nb_workers, 1, RELAXED);
}

void
weir__idle_remove_worker(struct idle *idle)
{
	atomic_u32_fetch_sub(&idle->nb_workers, 1, RELAXED);
}

bool
weir__idle_start_searching(struct idle *idle)
{
	uint32_t s = atomic_u32_load(&idle->state, RELAXED);

	do {
		if (2 * searching(s) >= idle_workers(idle))
			return false;
	} while (!atomic_u32_cas(&idle->state, &s, s + SEARCHING_ONE, RELAXED,
				 RELAXED));
	return true;
}

bool
weir__idle_stop_searching(struct idle *idle)
{
	uint32_t s = atomic_u32_fetch_sub(&idle->state, SEARCHING_ONE, RELAXED);

	WEIR_ASSERT(searching(s) > 0, "D2");
	return searching(s) == 1;
}

bool
weir__idle_sleep(struct idle *idle, unsigned int bit, bool was_searching)
{
	uint32_t s, change;

	/* D1: the bit first. A claimer that does not see it yet looks again. */
	atomic_u64_fetch_or(&idle->sleepers[bit / 64], mask_of(bit), RELAXED);
	change = SLEEPING_ONE - (was_searching ? SEARCHING_ONE : 0);
	s = atomic_u32_fetch_add(&idle->state, change, RELAXED);
	/* D3 */
	if (was_searching ? searching(s) != 1 : idle_workers(idle) > 1)
		return false;
	/*
	 * [idle:F1] pairs with the fence at the end of a push to an inject
	 * queue: without it the pusher could still see us searching and wake
	 * nobody, while our last look (D3) misses what it pushed.
	 */
	atomic_fence_after_rmw(SEQ_CST);
	return true;
}

bool
weir__idle_claimed(const struct idle *idle, unsigned int bit)
{
	/* [idle:A1] with the claimer: what it pushed is seen by the search. */
	return !(atomic_u64_load(&idle->sleepers[bit / 64], ACQUIRE) &
		 mask_of(bit));
}

/* Lowers the number of sleepers; false if all of them are claimed already. */
static bool
claim_count(struct idle *idle, uint32_t searchers)
{
	uint32_t s = atomic_u32_load(&idle->state, RELAXED);

	do {
		if (sleeping(s) == 0)
			return false;
		/* A notifier is not needed while someone searches. */
		if (searchers > 0 && searching(s) > 0)
			return false;
	} while (!atomic_u32_cas(&idle->state, &s,
				 s - SLEEPING_ONE + searchers * SEARCHING_ONE,
				 RELAXED, RELAXED));
	return true;
}

bool
weir__idle_wake_self(struct idle *idle, unsigned int bit)
{
	unsigned int spins = 0;
	uint64_t old;

	/*
	 * No count left to claim: there is a claim for every bit (D1), so one
	 * will clear ours, or come back to the count.
	 */
	while (!claim_count(idle, 0)) {
		if (weir__idle_claimed(idle, bit))
			return true;
		atomic_pause();
		/* The claimer may have been preempted on this very CPU. */
		if (++spins % 64 == 0)
			sched_yield();
	}
	/* [idle:A1] as in weir__idle_claimed(), if it was cleared before. */
	old = atomic_u64_fetch_and(&idle->sleepers[bit / 64], ~mask_of(bit),
				   ACQUIRE);
	if (old & mask_of(bit))
		return false;
	/* Claimed in between: our own claim is another sleeper's. */
	atomic_u32_fetch_add(&idle->state, SLEEPING_ONE, RELAXED);
	return true;
}

/*
 * Clears a set bit, one of `among` if that is not NULL, and says which. False if
 * there is none.
 */
static bool
claim_bit(struct idle *idle, const uint64_t *among, unsigned int *bit)
{
	uint64_t w, mask;
	unsigned int i;

	for (i = 0; i < IDLE_WORDS; i++) {
		mask = among != NULL ? among[i] : UINT64_MAX;
		if (mask == 0)
			continue;
		w = atomic_u64_load(&idle->sleepers[i], RELAXED);
		while ((w & mask) != 0) {
			*bit = 64 * i + (unsigned int)__builtin_ctzll(w & mask);
			/*
			 * [idle:A1] and, for a sleeper in the kernel,
			 * [sleep:F1]: the claim before our caller's look
			 * whether it is there.
			 */
			if (atomic_u64_cas(&idle->sleepers[i], &w,
					   w & ~mask_of(*bit), SEQ_CST,
					   RELAXED))
				return true;
		}
	}
	return false;
}

bool
weir__idle_notify(struct idle *idle, const uint64_t *preferred,
		  unsigned int *bit)
{
	if (!claim_count(idle, 1))
		return false;
	if (preferred != NULL && claim_bit(idle, preferred, bit))
		return true;
	/* D1: there is a bit for our claim, in the end. */
	while (!claim_bit(idle, NULL, bit))
		atomic_pause();
	return true;
}
