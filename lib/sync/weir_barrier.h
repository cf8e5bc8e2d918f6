/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_BARRIER_H
#define WEIR_BARRIER_H

/**
 * @file
 * A place where a number of parties wait for each other, round after round.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A barrier: weir_barrier_init() before use. */
struct weir_barrier {
	uint64_t reserved[8]; /**< not the user's */
};

/**
 * Makes it ready for use.
 *
 * @param parties  How many make up a round.
 * @return 0, or -EINVAL: no parties.
 *
 * Before it is shared.
 */
WEIR_API int
weir_barrier_init(struct weir_barrier *barrier, uint32_t parties);

/** Nobody uses it any more. */
WEIR_API void
weir_barrier_fini(struct weir_barrier *barrier);

/**
 * Arrives, and waits until all parties have. Then they go on, and the next
 * round begins; who goes on sees what the others did before they arrived. Who
 * gives up in line has not arrived.
 *
 * @return 1 for the last that arrives, which leads the round, 0 for the others;
 * WEIR_PENDING; -EPIPE: closed; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_barrier_wait(struct weir_context *ctx, struct weir_barrier *barrier,
		  struct weir_wait *wait);

/**
 * The round is never complete: whoever waits or comes gets -EPIPE. For a party
 * that will not come again. Any thread.
 */
WEIR_API void
weir_barrier_close(struct weir_barrier *barrier);

#ifdef __cplusplus
}
#endif

#endif
