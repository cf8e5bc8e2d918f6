/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef STRESS_H
#define STRESS_H

/*
 * What the stress programs share. A program has one scenario, which it repeats
 * in rounds until its time is over: WEIR_STRESS_SECONDS, or a few. Each round
 * has a seed, which it prints, and with which it picks the conditions that it
 * takes place under: how many workers share the CPUs, how they park, what else
 * runs beside them. WEIR_TEST_SEED begins with the round of that seed.
 */

#include "rig.h"

#include <stdio.h>

#include "base/rand.h"

/* Worker lcores, all of which share two CPUs at most. */
#define STRESS_WORKERS 7u
/* Tasks and jobs of a round, at most. */
#define STRESS_TASKS 65536u

struct stress {
	uint64_t seed;		/* of this round */
	struct rand_state rand; /* of the main thread */
	struct weir_runtime *rt;
	struct atomic_u32 over; /* for the round's threads */
	/* The ledger: each task and job has an entry, to be dropped once. */
	struct atomic_u32 born;
	struct atomic_u32 dropped;
	struct atomic_u32 drops[STRESS_TASKS];
};
extern struct stress stress;

/* As assert_true(), but for any thread: the program ends. */
#define stress_check(condition)                                      \
	do {                                                         \
		if (!(condition))                                    \
			stress_fail(#condition, __FILE__, __LINE__); \
	} while (0)
void
stress_fail(const char *condition, const char *file, int line);

/* Repeats a round. What it takes from DPDK's heap it must give back. */
void
stress_rounds(void (*round)(void));

/* Options picked at random, with so many workers at least, and a spare one. */
void
stress_options(struct weir_options *o, unsigned int min_workers);
/* A runtime of such options, and the round's busy neighbours. */
void
stress_create(unsigned int min_workers);
void
stress_start_neighbours(void);
/* Tells all threads of the round that it is over. */
void
stress_stop_neighbours(void);
static inline bool
stress_is_over(void)
{
	return rig_get(&stress.over) != 0;
}

/* The lcore that a runtime of stress_options() has at a place. */
unsigned int
stress_lcore(unsigned int place);
/* Anything but a runtime's tasks may change: workers, policies. */
void
stress_change(struct weir_runtime *rt, struct rand_state *rand);

/* A new entry of the ledger. */
uint32_t
stress_born(void);
void
stress_drop(uint32_t entry);
bool
stress_all_dropped(void);
/* What was put into the inject queues was taken, once every task has ended. */
void
stress_check_counters(const struct weir_runtime *rt);
/* Ends the runtime, with nothing left of it and all dropped once. */
void
stress_end(void);

/* Sometimes gives the CPU away, at once or for a while. */
void
stress_stumble(struct rand_state *rand);

/* Group setup. */
int
stress_setup(void **state);

#endif
