/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Locks as semaphores: of one permit, and of as many as there can be readers,
 * all of which a writer takes. tokio's rwlock does the same.
 */

#include "base/common.h"
#include "sync/weir_semaphore.h"

/* More readers than that at once wait. */
#define ALL WEIR_SEMAPHORE_MAX

static void
init(struct weir_semaphore *sem, uint32_t permits)
{
	int rc = weir_semaphore_init(sem, permits);

	WEIR_ASSERT(rc == 0, "a legal number of permits");
	(void)rc;
}

static void
fini(struct weir_semaphore *sem, uint32_t permits)
{
	weir_semaphore_fini(sem);
	WEIR_ASSERT(weir_semaphore_available(sem) == permits,
		    "fini: nobody may hold the lock any more");
}

/* Who unlocks too often would go beyond the most. */
static void
release(struct weir_semaphore *sem, uint32_t n)
{
	int rc = weir_semaphore_release(sem, n);

	WEIR_ASSERT(rc == 0, "unlock: only by who holds the lock");
	(void)rc;
}

void
weir_mutex_init(struct weir_mutex *mutex)
{
	init(&mutex->sem, 1);
}

void
weir_mutex_fini(struct weir_mutex *mutex)
{
	fini(&mutex->sem, 1);
}

int
weir_mutex_lock(struct weir_context *ctx, struct weir_mutex *mutex,
		struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, &mutex->sem, 1, wait);
}

int
weir_mutex_try_lock(struct weir_mutex *mutex)
{
	return weir_semaphore_try_acquire(&mutex->sem, 1);
}

void
weir_mutex_unlock(struct weir_mutex *mutex)
{
	WEIR_ASSERT(weir_semaphore_available(&mutex->sem) == 0,
		    "unlock: only by who holds the lock");
	release(&mutex->sem, 1);
}

void
weir_rwlock_init(struct weir_rwlock *lock)
{
	init(&lock->sem, ALL);
}

void
weir_rwlock_fini(struct weir_rwlock *lock)
{
	fini(&lock->sem, ALL);
}

int
weir_rwlock_read(struct weir_context *ctx, struct weir_rwlock *lock,
		 struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, &lock->sem, 1, wait);
}

int
weir_rwlock_write(struct weir_context *ctx, struct weir_rwlock *lock,
		  struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, &lock->sem, ALL, wait);
}

int
weir_rwlock_try_read(struct weir_rwlock *lock)
{
	return weir_semaphore_try_acquire(&lock->sem, 1);
}

int
weir_rwlock_try_write(struct weir_rwlock *lock)
{
	return weir_semaphore_try_acquire(&lock->sem, ALL);
}

void
weir_rwlock_read_unlock(struct weir_rwlock *lock)
{
	release(&lock->sem, 1);
}

void
weir_rwlock_write_unlock(struct weir_rwlock *lock)
{
	release(&lock->sem, ALL);
}

void
weir_rwlock_downgrade(struct weir_rwlock *lock)
{
	release(&lock->sem, ALL - 1);
}
