/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Who goes on. Each policy finds other bugs: any thread at each step finds
 * those of many small overlaps, priorities those of few at the wrong moment
 * (PCT: Burckhardt et al., ASPLOS '10), long runs and starvation those of
 * threads that are preempted where they should not be.
 *
 * Under each, now and then a thread is held back where it stands: whoever counts
 * on it to be quick loses. But no thread that can go on is held back for more
 * than plan.starve_max steps, else loops that wait for it would have no end.
 */

#include <string.h>

#include "sim.h"

unsigned int policy_quantum;

static uint64_t passed_over[VTHREADS_MAX]; /* since this step */
static uint64_t ready_at[VTHREADS_MAX];	   /* decision, the last so far */
static uint64_t nb_decisions;
static uint32_t priority[VTHREADS_MAX]; /* 0: none yet */
static uint32_t lowest;
static uint64_t next_change; /* step */
static unsigned int starved; /* thread */
static unsigned int stalled; /* the same, under any policy */
static uint64_t stalled_until;
static uint64_t idle_cycles;

/* Steps between two changes of priorities, and two stalls, on average. */
#define PCT_CHANGE 3000
#define STALL_EACH 4000

void
policy_reset(void)
{
	memset(passed_over, 0, sizeof(passed_over));
	memset(ready_at, 0, sizeof(ready_at));
	nb_decisions = 0;
	memset(priority, 0, sizeof(priority));
	lowest = UINT32_MAX / 2;
	next_change = 0;
	policy_quantum = 0;
	starved = UINT32_MAX;
	stalled = UINT32_MAX;
	stalled_until = 0;
	policy_not_idle();
}

void
policy_not_idle(void)
{
	idle_cycles = sim.plan.idle_cycles;
}

static unsigned int
choice(unsigned int n)
{
	return rand_below(&sim.choices, n);
}

void
policy_step_back(void)
{
	priority[vthread_self()] = --lowest;
	policy_quantum = 0;
}

static unsigned int
choose_first(const unsigned int *ready, unsigned int n, int current)
{
	unsigned int i, best = 0;

	for (i = 0; i < n; i++) {
		if (priority[ready[i]] == 0)
			priority[ready[i]] =
				UINT32_MAX / 2 + choice(UINT32_MAX / 2);
		if (priority[ready[i]] > priority[ready[best]])
			best = i;
	}
	if (steps_count() >= next_change) {
		next_change = steps_count() + 1 + choice(2 * PCT_CHANGE);
		priority[ready[best]] = --lowest;
	}
	policy_quantum = choice(4);
	return best;
}

static unsigned int
choose_other(const unsigned int *ready, unsigned int n, int current)
{
	unsigned int i;

	if (steps_count() >= next_change) {
		next_change =
			steps_count() + 1 + choice(2 * sim.plan.starve_max);
		starved = choice(vthread_count());
	}
	i = choice(n);
	if (ready[i] == starved)
		i = (i + 1) % n;
	policy_quantum = choice(sim.plan.policy_length);
	return i;
}

static unsigned int
choose_by_policy(const unsigned int *ready, unsigned int n, int current)
{
	switch (sim.plan.policy) {
	case POLICY_PCT:
		return choose_first(ready, n, current);
	case POLICY_STARVE:
		return choose_other(ready, n, current);
	case POLICY_RUNS:
		policy_quantum =
			choice(2) ? choice(sim.plan.policy_length) : choice(8);
		return choice(n);
	default:
		policy_quantum = choice(3);
		return choice(n);
	}
}

/* The one that has been passed over for too long, or n. */
static unsigned int
held_back(const unsigned int *ready, unsigned int n)
{
	uint64_t now = steps_count();
	unsigned int i, found = n;

	nb_decisions++;
	for (i = 0; i < n; i++) {
		uint64_t *since = &passed_over[ready[i]];

		if (ready_at[ready[i]] + 1 != nb_decisions)
			*since = now;
		ready_at[ready[i]] = nb_decisions;
		if (now - *since > sim.plan.starve_max &&
		    (found == n || *since < passed_over[ready[found]]))
			found = i;
	}
	return found;
}

/* Its thread is preempted where it stands, and does not come back for long. */
static void
maybe_stall(unsigned int thread)
{
	if (steps_count() < stalled_until || choice(STALL_EACH) != 0)
		return;
	stalled = thread;
	stalled_until = steps_count() + 1 + choice(sim.plan.starve_max);
}

void
policy_stall_maybe(unsigned int odds)
{
	if (steps_count() < stalled_until || choice(odds) != 0)
		return;
	stalled = vthread_self();
	stalled_until = steps_count() + sim.plan.starve_max;
	policy_quantum = 0;
}

/* Whoever it is, it may be the one that the caller cannot see. */
void
policy_stall_one(void)
{
	unsigned int tries;

	/* Nobody waits for those that are no worker's. */
	for (tries = choice(2) ? 0 : 20; tries > 0; tries--) {
		stalled = choice(vthread_count());
		if (strcmp(vthread_name(stalled), "thread") == 0 &&
		    stalled != vthread_self() && !vthread_ended(stalled))
			break;
	}
	if (tries == 0)
		stalled = choice(vthread_count());
	stalled_until = steps_count() + sim.plan.starve_max;
}

static unsigned int
choose(void *arg, const unsigned int *ready, unsigned int n, int current)
{
	unsigned int i = held_back(ready, n);

	if (current >= 0)
		maybe_stall(ready[current]);
	if (i == n) {
		i = choose_by_policy(ready, n, current);
		if (ready[i] == stalled && steps_count() < stalled_until)
			i = (i + 1) % n;
	} else {
		policy_quantum = choice(50);
	}
	passed_over[ready[i]] = steps_count();
	return i;
}

/* The clock goes on to where something happens, if nothing else can. */
static bool
stuck(void *arg)
{
	uint64_t next = RTE_MIN(kernel_next_timeout(), traffic_next());
	uint64_t now = kernel_now();
	bool paused = false;
	unsigned int i;

	for (i = 0; i < vthread_count(); i++)
		paused |= vthread_paused(i);
	check_stuck(!paused && kernel_pausing() == 0, next);
	if (paused) {
		/* The longer nothing has happened, the longer nothing will. */
		next = RTE_MIN(next, now + idle_cycles);
		idle_cycles = RTE_MIN(2 * idle_cycles, KERNEL_HZ / 1000);
	}
	if (next == UINT64_MAX)
		return false;
	if (next > now)
		kernel_advance(next - now);
	traffic_advance();
	vthreads_progress();
	sim_fold(kernel_now());
	return true;
}

const struct vthread_policy sim_policy = {
	.choose = choose,
	.stuck = stuck,
};
