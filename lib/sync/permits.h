/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SYNC_PERMITS_H
#define SYNC_PERMITS_H

/* What is inside a semaphore, for who has more lines beside its own. See semaphore.c. */

#include "sync/wait.h"
#include "sync/weir_semaphore.h"

struct semaphore {
	struct sync sync;
	uint32_t permits;
	/* WEIR_SEMAPHORE_MAX less those granted. Goes up without the lock, too. */
	struct atomic_u32 most;
	bool closed;
};

static_assert(sizeof(struct semaphore) <= sizeof(struct weir_semaphore),
	      "a semaphore is inside what the user has of it");

static inline struct semaphore *
semaphore_of(struct weir_semaphore *sem)
{
	return (struct semaphore *)sem;
}

/* What came of a wait: if it was granted its permits, they are taken. */
static inline int
semaphore_take_granted(struct semaphore *s, uint32_t n, int rc)
{
	if (rc == 0)
		atomic_u32_fetch_add(&s->most, n, RELAXED);
	return rc;
}

/*
 * One has given up that waits for a mutex since it was told of a condition, or is still to
 * be told. With the lock of the mutex.
 */
void
weir__cond_give_up(struct wait *w);

#endif
