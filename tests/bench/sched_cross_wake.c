/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two tasks, each bound to a worker of its own, wake each other: ns a round
 * trip.
 */

#include "scenario.h"

#define TRIPS 10000u

/* Odd: the second one's turn. */
static struct atomic_u64 turn weir_cache_aligned;
static struct atomic_ptr wakers[2];

struct side {
	uint64_t took;
	uint64_t begin;
	uint64_t me;
};

/* The other has left its waker once it has run. */
static int
meet(struct weir_context *ctx, struct side *s)
{
	if (s->begin == 0) {
		s->begin = rte_rdtsc();
		atomic_ptr_store(&wakers[s->me], weir_context_waker(ctx),
				 RELEASE);
	}
	if (atomic_ptr_load(&wakers[!s->me], ACQUIRE) == NULL)
		return weir_context_yield(ctx);
	return 0;
}

static int
poll(struct weir_context *ctx, void *state)
{
	struct side *s = state;
	uint64_t now = atomic_u64_load(&turn, ACQUIRE);

	if (now == 0) {
		if (meet(ctx, s) == WEIR_PENDING)
			return WEIR_PENDING;
		s->begin = rte_rdtsc();
	}
	if (now % 2 != s->me)
		return WEIR_PENDING;
	atomic_u64_store(&turn, now + 1, RELEASE);
	weir_waker_wake_by_ref(atomic_ptr_load(&wakers[!s->me], ACQUIRE));
	if (now < 2 * TRIPS)
		return WEIR_PENDING;
	s->took = rte_rdtsc() - s->begin;
	return WEIR_DONE;
}

static const struct weir_task_ops side_ops = {
	.name = "side",
	.state_size = sizeof(struct side),
	.poll = poll,
	.result_size = sizeof(uint64_t),
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER };
	struct weir_join *joins[2];
	struct side side;
	uint64_t took[2];
	unsigned int i;

	atomic_u64_store(&turn, 0, RELAXED);
	/* Both, before either side looks for the other's. */
	atomic_ptr_store(&wakers[0], NULL, RELAXED);
	atomic_ptr_store(&wakers[1], NULL, RELAXED);
	for (i = 0; i < 2; i++) {
		side = (struct side){ .me = i };
		attr.worker = i;
		joins[i] = weir_task_spawn(rt, &side_ops, &side, &attr);
		must(joins[i] != NULL, "no task");
	}
	for (i = 0; i < 2; i++)
		must(weir_join_wait(joins[i], &took[i]) == 0, "a side failed");
	for (i = 0; i < 2; i++)
		weir_waker_drop(atomic_ptr_load(&wakers[i], RELAXED));
	figures[0] = ns_of(took[0]) / TRIPS;
}

const struct scenario cross_wake = {
	.name = "cross_wake",
	.workers = 2,
	.figures = 1,
	.round = round_of,
};
