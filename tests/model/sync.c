/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mutexes and condition variables of the models' threads, in the place of the
 * C library's (--wrap). What they know lies where those would be, so that one
 * that is used after its end is noticed.
 */

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/atomic.h"
#include "checker/memory.h"
#include "model.h"
#include "thread.h"

#define UNWATCHED __attribute__((no_sanitize("thread")))

#define ALIVE UINT32_C(0x6d757478)

struct mutex {
	uint32_t alive;
	uint32_t owner; /* thread + 1; 0: free */
};

struct cond {
	uint32_t alive;
	uint32_t waiting;
	uint32_t called;
	uint32_t spurious; /* a wait has ended for nothing, once */
};

static UNWATCHED void
check_alive(uint32_t alive)
{
	if (alive != ALIVE)
		model_fail("a mutex or condition is used that is not there");
}

static UNWATCHED bool
is_free(const void *mutex)
{
	const struct mutex *m = mutex;

	return m->owner == 0 || m->alive != ALIVE;
}

static UNWATCHED void
take(struct mutex *m)
{
	do
		vthread_wait(is_free, m);
	while (!is_free(m));
	check_alive(m->alive);
	m->owner = vthread_self() + 1;
	virtual_acquire(m);
}

static UNWATCHED void
give(struct mutex *m)
{
	vthread_point();
	check_alive(m->alive);
	if (m->owner != vthread_self() + 1)
		model_fail("a mutex is unlocked by who does not hold it");
	virtual_release(m);
	m->owner = 0;
}

int
__wrap_pthread_mutex_init(pthread_mutex_t *mutex,
			  const pthread_mutexattr_t *attr);
UNWATCHED int
__wrap_pthread_mutex_init(pthread_mutex_t *mutex,
			  const pthread_mutexattr_t *attr)
{
	struct mutex *m = (struct mutex *)mutex;

	(void)attr;
	m->alive = ALIVE;
	m->owner = 0;
	return 0;
}

int
__wrap_pthread_mutex_destroy(pthread_mutex_t *mutex);
UNWATCHED int
__wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;

	vthread_point();
	check_alive(m->alive);
	if (m->owner != 0)
		model_fail("a mutex is destroyed that is held");
	memory_saw(0);
	m->alive = 0;
	return 0;
}

int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
UNWATCHED int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	take((struct mutex *)mutex);
	return 0;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
UNWATCHED int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	give((struct mutex *)mutex);
	return 0;
}

int
__wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
UNWATCHED int
__wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	struct cond *c = (struct cond *)cond;

	(void)attr;
	memset(c, 0, sizeof(*c));
	c->alive = ALIVE;
	return 0;
}

int
__wrap_pthread_cond_destroy(pthread_cond_t *cond);
UNWATCHED int
__wrap_pthread_cond_destroy(pthread_cond_t *cond)
{
	struct cond *c = (struct cond *)cond;

	check_alive(c->alive);
	if (c->waiting > 0)
		model_fail("a condition is destroyed that is waited for");
	c->alive = 0;
	return 0;
}

static UNWATCHED bool
is_called(const void *cond)
{
	return ((const struct cond *)cond)->called > 0;
}

int
__wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
UNWATCHED int
__wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	struct cond *c = (struct cond *)cond;

	check_alive(c->alive);
	c->waiting++;
	give((struct mutex *)mutex);
	if (!c->spurious && model_choose(2) == 1) {
		c->spurious = 1;
	} else {
		while (!is_called(c))
			vthread_wait(is_called, c);
		c->called--;
		memory_saw(c->called);
	}
	c->waiting--;
	take((struct mutex *)mutex);
	return 0;
}

int
__wrap_pthread_cond_signal(pthread_cond_t *cond);
UNWATCHED int
__wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	struct cond *c = (struct cond *)cond;

	vthread_point();
	check_alive(c->alive);
	if (c->called < c->waiting)
		c->called++;
	memory_saw(c->called);
	return 0;
}

int
__wrap_sched_yield(void);
UNWATCHED int
__wrap_sched_yield(void)
{
	virtual_pause(NULL);
	return 0;
}
