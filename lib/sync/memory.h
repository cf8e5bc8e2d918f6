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
#include <rte_malloc.h>
#include <rte_memory.h>

#include "base/common.h"
#include "base/race.h"

/* Zeroed, from the caller's node if it has some. NULL with rte_errno. */
static inline void *
sync_alloc(const char *type, size_t size)
{
	void *p =
		rte_zmalloc_socket(type, size, WEIR_CACHE_LINE, SOCKET_ID_ANY);

	if (unlikely(p == NULL))
		rte_errno = ENOMEM;
	else
		race_acquire(RACE_HEAP);
	return p;
}

static inline void
sync_free(void *p)
{
	race_release(RACE_HEAP);
	rte_free(p);
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
