/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_SEEN_H
#define MODEL_SEEN_H

/* The states that an exploration has been in. See seen.c. */

#include <stdbool.h>
#include <stdint.h>

/* Of each of the two bounds of struct model. */
#define SEEN_BOUND_MAX 7

void
seen_reset(void);

/*
 * Was this state met before, with at least that much left of the bounds? It
 * counts as met from now on.
 */
bool
seen_before(uint64_t key, unsigned int preemptions, unsigned int stale);

/* How many states there are. */
uint64_t
seen_count(void);

#endif
