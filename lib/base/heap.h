/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/*
 * Memory of DPDK's heap, which one thread may free and another be given next: all that
 * the library has from there goes through these two.
 */

#include <stdint.h>

#include <rte_malloc.h>

#include "base/race.h"

/* The heap's lock orders an rte_free() before what gives that memory next. */
#define RACE_HEAP ((void *)(uintptr_t)rte_free)

/* What rte_malloc() and its like have just given; may be NULL. */
static inline void *
heap_taken(void *p)
{
	race_acquire(RACE_HEAP);
	return p;
}

static inline void
heap_free(void *p)
{
	race_release(RACE_HEAP);
	rte_free(p);
}

#endif
