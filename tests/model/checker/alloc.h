/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_ALLOC_H
#define MODEL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before each execution. */
void
alloc_reset(void);

/* Blocks that have not been freed. */
unsigned int
alloc_live(void);

/*
 * The clock of the thread that allocated the block around this address, and the
 * thread; 0 if there is none, or everybody may look there.
 */
uint32_t
alloc_clock(uintptr_t a, uint16_t *thread);

/* Is the address in a block that was freed, or retired and not shown? By whom? */
bool
alloc_was_freed(uintptr_t a, unsigned int *by);

/* See virtual_show() and virtual_retire(). */
void
alloc_show(void *p, size_t begin, size_t size);
void
alloc_retire(void *p);

#endif
