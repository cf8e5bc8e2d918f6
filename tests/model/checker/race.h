/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_RACE_H
#define MODEL_RACE_H

/* Races between plain accesses, and uses of memory after its end. See race.c. */

#include <stdbool.h>
#include <stddef.h>

/* Before each execution: all memory is as if thread 0 had written it. */
void
race_reset(void);

/* An atomic access, which races with plain ones only. */
void
race_atomic(const void *p, size_t size, bool write);

/* The calling thread gives this memory back: nobody else may use it still. */
void
race_free(const void *p, size_t size);

#endif
