/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef CROWD_H
#define CROWD_H

/*
 * Tasks of all kinds for a runtime to be busy with. At random a member yields,
 * blocks its thread, waits for a wake-up, for a job, or for members that it
 * spawns, aborts others, and ends in the end.
 */

#include "stress.h"

/* A member with some steps to go. Any thread, tasks included. */
struct weir_join *
crowd_spawn(struct weir_runtime *rt, struct rand_state *rand,
	    unsigned int steps);

/*
 * Threads that spawn members, and abort, await and detach them, until each has
 * spawned so many or the round is over; and one that wakes members.
 */
#define CROWD_ACTORS 3u
void
crowd_start(unsigned int members);
/* Waits until the threads that spawn have ended. */
void
crowd_await(void);
/* Stops waking. No member may still wait. */
void
crowd_stop(void);

#endif
