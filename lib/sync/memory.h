/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SYNC_MEMORY_H
#define SYNC_MEMORY_H

/*
 * Memory of what is made by a call and not in a struct of the user's, and of the
 * values in there.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "base/common.h"
#include "sched/scheduler.h"

/* Zeroed. NULL with rte_errno. */
static inline void *
sync_alloc(const char *type, size_t size)
{
	void *p = weir__object_zalloc(type, size);

	if (unlikely(p == NULL))
		rte_errno = ENOMEM;
	return p;
}

/* NULL is legal. */
static inline void
sync_free(void *p)
{
	if (p != NULL)
		weir__object_free(p);
}

/* The usual value is a pointer. One of no bytes may be nowhere. */
static inline void
sync_copy(void *to, const void *from, uint32_t size)
{
	if (likely(size == sizeof(uint64_t)))
		memcpy(to, from, sizeof(uint64_t));
	else if (size > 0)
		memcpy(to, from, size);
}

#endif
