/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_SEMAPHORE_H
#define WEIR_SEMAPHORE_H

/**
 * @file
 * Permits, and the two locks that are made of them.
 *
 * Who waits is served in the order of arrival, also when a later one would want
 * fewer permits or could read beside other readers.
 *
 * What has been taken belongs to nobody in particular: a task that ends with permits
 * or a lock, as one that is aborted while it has them, leaves them taken. So its state
 * says that it has them, and its drop gives them back.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most permits that a semaphore can have, with those that waiters may give up. */
#define WEIR_SEMAPHORE_MAX (UINT32_MAX >> 1)

/** A semaphore: weir_semaphore_init() before use. */
struct weir_semaphore {
	uint64_t reserved[8]; /**< not the user's */
};

/**
 * Makes it ready for use.
 *
 * @param permits  How many there are at first.
 * @return 0, or -EINVAL: more than WEIR_SEMAPHORE_MAX permits.
 *
 * Before it is shared.
 */
WEIR_API int
weir_semaphore_init(struct weir_semaphore *sem, uint32_t permits);

/** Nobody uses it any more. */
WEIR_API void
weir_semaphore_fini(struct weir_semaphore *sem);

/**
 * Takes permits, or waits for them.
 *
 * @param n  All of them at once; 0 is legal, and waits only for those in front.
 * @return 0; WEIR_PENDING; -EPIPE: closed; -EINVAL: n is more than
 * WEIR_SEMAPHORE_MAX; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_semaphore_acquire(struct weir_context *ctx, struct weir_semaphore *sem,
		       uint32_t n, struct weir_wait *wait);

/**
 * Takes permits if they are there and nobody waits.
 *
 * @return 0, -EAGAIN, -EPIPE or -EINVAL.
 *
 * Any thread.
 */
WEIR_API int
weir_semaphore_try_acquire(struct weir_semaphore *sem, uint32_t n);

/**
 * Adds n permits, whoever may have taken them; 0 is legal.
 *
 * @return 0, or -EOVERFLOW: there would be more than WEIR_SEMAPHORE_MAX, those
 * included that a waiter was given and has not taken yet, and nothing has changed.
 *
 * Any thread.
 */
WEIR_API int
weir_semaphore_release(struct weir_semaphore *sem, uint32_t n);

/**
 * From here on nobody is given a permit: whoever waits or comes gets -EPIPE, but for a
 * waiter that was given its own before and takes it only now. Any thread.
 */
WEIR_API void
weir_semaphore_close(struct weir_semaphore *sem);

/** How many permits are there just now. Any thread. */
WEIR_API uint32_t
weir_semaphore_available(struct weir_semaphore *sem);

/** A lock that may be held across waits: weir_mutex_init() before use. */
struct weir_mutex {
	struct weir_semaphore sem; /**< not the user's */
};

/** Before it is shared. */
WEIR_API void
weir_mutex_init(struct weir_mutex *mutex);

/** Nobody uses it any more, nor has it locked. */
WEIR_API void
weir_mutex_fini(struct weir_mutex *mutex);

/**
 * Takes the lock, or waits for it. Whoever has it sees what its holders before
 * did. It is not told who holds it: to take it twice is to wait for ever.
 *
 * @return 0; WEIR_PENDING; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_mutex_lock(struct weir_context *ctx, struct weir_mutex *mutex,
		struct weir_wait *wait);

/**
 * Takes the lock if nobody has it or waits for it.
 *
 * @return 0 with the lock, or -EAGAIN.
 *
 * Any thread.
 */
WEIR_API int
weir_mutex_try_lock(struct weir_mutex *mutex);

/** Gives the lock back, or to the first that waits. Whoever holds it. */
WEIR_API void
weir_mutex_unlock(struct weir_mutex *mutex);

/** A lock for one writer or many readers: weir_rwlock_init() before use. */
struct weir_rwlock {
	struct weir_semaphore sem; /**< not the user's */
};

/** Before it is shared. */
WEIR_API void
weir_rwlock_init(struct weir_rwlock *lock);

/** Nobody uses it any more, nor has it locked. */
WEIR_API void
weir_rwlock_fini(struct weir_rwlock *lock);

/**
 * Takes the lock beside other readers, or waits for that. A writer that waits
 * comes before it: who reads already and reads again may wait for ever.
 *
 * @return As weir_mutex_lock().
 */
WEIR_API int
weir_rwlock_read(struct weir_context *ctx, struct weir_rwlock *lock,
		 struct weir_wait *wait);

/** Takes the lock alone, or waits for that. As weir_mutex_lock(). */
WEIR_API int
weir_rwlock_write(struct weir_context *ctx, struct weir_rwlock *lock,
		  struct weir_wait *wait);

/**
 * Takes the lock beside other readers, if no writer has it and nobody waits for it.
 *
 * @return 0 with the lock, or -EAGAIN.
 *
 * Any thread.
 */
WEIR_API int
weir_rwlock_try_read(struct weir_rwlock *lock);

/**
 * Takes the lock alone, if nobody has it or waits for it.
 *
 * @return 0 with the lock, or -EAGAIN.
 *
 * Any thread.
 */
WEIR_API int
weir_rwlock_try_write(struct weir_rwlock *lock);

/** A reader gives the lock back. Any thread. */
WEIR_API void
weir_rwlock_read_unlock(struct weir_rwlock *lock);

/** A writer gives the lock back. Any thread. */
WEIR_API void
weir_rwlock_write_unlock(struct weir_rwlock *lock);

/** A writer becomes a reader, without another writer in between. Any thread. */
WEIR_API void
weir_rwlock_downgrade(struct weir_rwlock *lock);

#ifdef __cplusplus
}
#endif

#endif
