/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

/*
 * Memory as C11 promises it, not as this machine has it. See memory.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_THREADS 8

/* Before each execution. stale: how many loads may see an old value. */
void
memory_reset(unsigned int stale);

/* How many of these are left. */
unsigned int
memory_stale_left(void);

/*
 * What has happened so far, up to the order of what does not depend on each
 * other: equal numbers, equal futures.
 */
uint64_t
memory_key(void);

/* Thread `child` goes on from here; the calling thread has seen it end. */
void
memory_fork(unsigned int child);
void
memory_join(unsigned int child);

/* Adds to what the thread has seen: a choice that is not memory's. */
void
memory_saw(uint64_t v);

/* The vector clock of the calling thread, by thread. */
const uint32_t *
memory_clock(void);

/*
 * A plain write, which does not race: another variable may begin its life where
 * an atomic one was.
 */
void
memory_rewritten(const void *p, size_t size);

/* A volatile read of DPDK's. */
void
memory_volatile_read(const void *p, size_t size);

/* Print each step? */
void
memory_trace(bool on);

/* As an order: that of a failing compare-and-swap to relaxed, not the other. */
#define MEMORY_FAILURE -1

/*
 * Weakens the orders that stand at some lines. file: the end of a path. to:
 * RELAXED, MEMORY_FAILURE, or for operations with both sides the one that stays.
 */
void
memory_weaken(const char *file, int first, int last, int to);
/* Has an operation been come to that stands there? */
bool
memory_weaken_met(void);

/*
 * Notes the places that are passed from here on, or prints them, and forgets
 * them.
 */
void
memory_places_note(void);
void
memory_places_print(void);

#endif
