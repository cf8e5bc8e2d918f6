/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SYNC_MEMORY_H
#define SYNC_MEMORY_H

/* Memory of what is made by a call and not in a struct of the user's. */

#include <errno.h>

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

#endif
