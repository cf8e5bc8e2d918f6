/* SPDX-License-Identifier: BSD-3-Clause */

/* Locks: one holder at a time, and each sees what the last one wrote. */

#include "base/lock.h"
#include "model.h"

static struct lock lock;
static unsigned int guarded;
static unsigned int refused; /* the one that tries */

static void
use(void)
{
	guarded++;
	model_check(atomic_u32_load(&lock.held, RELAXED) == 1);
}

static void
acquire(void *arg)
{
	(void)arg;
	lock_acquire(&lock);
	use();
	lock_release(&lock);
}

/* arg: NULL, or it takes no look before. */
static void
try(void *arg)
{
	if (arg == NULL ? lock_try(&lock) : lock_try_blind(&lock)) {
		use();
		lock_release(&lock);
	} else {
		refused++;
	}
}

static void
end(unsigned int n)
{
	model_join_all();
	model_check(guarded + refused == n);
	model_check(atomic_u32_load(&lock.held, RELAXED) == 0);
	model_check(atomic_u32_load(&lock.waiting, RELAXED) == 0);
}

MODEL(lock_two, "two that wait for a lock", 3, 3)
{
	lock_init(&lock);
	model_thread("first", acquire, NULL);
	model_thread("second", acquire, NULL);
	end(2);
}

MODEL(lock_three, "two that wait, and one that tries", 2, 2)
{
	lock_init(&lock);
	model_thread("waits", acquire, NULL);
	model_thread("tries", try, NULL);
	model_thread("waits, too", acquire, NULL);
	end(3);
}

MODEL(lock_blind, "the same, with one that takes no look before", 2, 2)
{
	lock_init(&lock);
	model_thread("waits", acquire, NULL);
	model_thread("tries", try, &lock);
	model_thread("waits, too", acquire, NULL);
	end(3);
}

MODEL(lock_refused, "a lock that is held, or waited for, is not given", 3, 3)
{
	lock_init(&lock);
	model_check(lock_try(&lock));
	model_check(!lock_try(&lock));
	model_check(!lock_try_blind(&lock));
	model_thread("waits", acquire, NULL);
	model_thread("tries", try, &lock);
	guarded++;
	lock_release(&lock);
	end(3);
}

MODEL(lock_gives_way, "who tries comes behind those that wait", 3, 3)
{
	lock_init(&lock);
	lock_acquire(&lock);
	model_thread("waits", acquire, NULL);
	while (atomic_u32_load(&lock.waiting, RELAXED) == 0)
		atomic_pause();
	lock_release(&lock);
	if (lock_try_blind(&lock)) {
		model_check(guarded == 1);
		lock_release(&lock);
	}
	end(1);
}
