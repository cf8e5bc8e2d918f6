/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mutexes, condition variables and threads of virtual ones. What they know lies
 * where the real ones would be; all zero is one that is free, and what has been
 * destroyed is marked.
 */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kept.h"
#include "kernel.h"
#include "wraps.h"

#define GONE UINT32_C(0x676f6e65)
/* A wait for so long, as for ever. */
#define FAR (UINT64_C(1000000) * KERNEL_HZ)

struct mutex {
	uint32_t gone;
	uint32_t owner; /* thread + 1; 0: free */
};

struct waiter {
	struct waiter *next;
	bool called;
};

struct cond {
	uint32_t gone;
	struct waiter *first;
};

struct thread {
	void *(*main)(void *arg);
	void *arg;
	void *result;
	rte_cpuset_t cpus;
};

static_assert(sizeof(struct mutex) <= sizeof(pthread_mutex_t) &&
		      sizeof(struct cond) <= sizeof(pthread_cond_t),
	      "room in their place");

static struct thread threads[VTHREADS_MAX] KEPT;

static void
check_there(const uint32_t *gone)
{
	virtual_touch(gone);
	if (*gone == GONE)
		virtual_failed("a mutex or condition is used that is not "
			       "there");
}

static bool
mutex_free(const void *m)
{
	return ((const struct mutex *)m)->owner == 0;
}

static void
mutex_take(struct mutex *m)
{
	kernel_await(mutex_free, m);
	check_there(&m->gone);
	m->owner = vthread_self() + 1;
	virtual_acquire(m);
}

static void
mutex_give(struct mutex *m)
{
	check_there(&m->gone);
	if (m->owner != vthread_self() + 1)
		virtual_failed("a mutex is unlocked by who does not hold it");
	virtual_release(m);
	m->owner = 0;
	vthread_progress();
}

int
__wrap_pthread_mutex_init(pthread_mutex_t *mutex,
			  const pthread_mutexattr_t *attr)
{
	memset(mutex, 0, sizeof(*mutex));
	kernel_counts.mutexes++;
	return 0;
}

int
__wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;

	check_there(&m->gone);
	if (!mutex_free(m))
		virtual_failed("a mutex is destroyed that is held");
	m->gone = GONE;
	kernel_counts.mutexes--;
	return 0;
}

int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;

	virtual_call("pthread_mutex_lock");
	if (m->owner == vthread_self() + 1)
		virtual_failed("a mutex is locked by who holds it");
	mutex_take(m);
	return 0;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	virtual_call("pthread_mutex_unlock");
	mutex_give((struct mutex *)mutex);
	return 0;
}

int
__wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	memset(cond, 0, sizeof(*cond));
	kernel_counts.conds++;
	return 0;
}

int
__wrap_pthread_cond_destroy(pthread_cond_t *cond)
{
	struct cond *c = (struct cond *)cond;

	check_there(&c->gone);
	if (c->first != NULL)
		virtual_failed("a condition is destroyed that is waited for");
	c->gone = GONE;
	kernel_counts.conds--;
	return 0;
}

static bool
is_called(const void *waiter)
{
	return ((const struct waiter *)waiter)->called;
}

/* First come, first called. */
static void
add_waiter(struct cond *c, struct waiter *w)
{
	struct waiter **end = &c->first;

	while (*end != NULL)
		end = &(*end)->next;
	*end = w;
}

static void
remove_waiter(struct cond *c, const struct waiter *w)
{
	struct waiter **at = &c->first;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

/* Ends with the mutex, whatever happens. */
static int
wait_until(struct cond *c, struct mutex *m, uint64_t end)
{
	struct waiter me = { .called = false };
	int rc = 0;

	check_there(&c->gone);
	add_waiter(c, &me);
	mutex_give(m);
	if (!kernel_chance(KERNEL_SPURIOUS)) {
		kernel_await_until(is_called, &me, end);
		rc = me.called ? 0 : ETIMEDOUT;
	}
	/* Others may have the mutex, and call, before it. */
	if (!me.called)
		virtual_call("pthread_cond_wait ends");
	if (!me.called)
		remove_waiter(c, &me);
	virtual_saw(me.called);
	mutex_take(m);
	return rc;
}

int
__wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	virtual_call("pthread_cond_wait");
	return wait_until((struct cond *)cond, (struct mutex *)mutex,
			  UINT64_MAX);
}

int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *end)
{
	uint64_t until =
		(uint64_t)end->tv_sec * KERNEL_HZ + (uint64_t)end->tv_nsec;

	virtual_call("pthread_cond_timedwait");
	if (until < kernel_now() + FAR && kernel_chance(KERNEL_LATE))
		until = 0;
	return wait_until((struct cond *)cond, (struct mutex *)mutex, until);
}

static bool
call_first(struct cond *c)
{
	struct waiter *w = c->first;

	virtual_saw(w != NULL);
	if (w == NULL)
		return false;
	c->first = w->next;
	w->called = true;
	return true;
}

int
__wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	struct cond *c = (struct cond *)cond;

	virtual_call("pthread_cond_signal");
	check_there(&c->gone);
	call_first(c);
	vthread_progress();
	return 0;
}

int
__wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	struct cond *c = (struct cond *)cond;

	virtual_call("pthread_cond_broadcast");
	check_there(&c->gone);
	while (call_first(c))
		;
	vthread_progress();
	return 0;
}

static void
thread_main(void *arg)
{
	struct thread *t = &threads[vthread_self()];

	virtual_acquire(t);
	t->result = t->main(t->arg);
	virtual_release(t);
}

unsigned int
kernel_thread_start(const char *name, void *(*main)(void *arg), void *arg,
		    unsigned int cpu)
{
	unsigned int n = virtual_thread_start(name, thread_main, NULL);
	struct thread *t = &threads[n];

	t->main = main;
	t->arg = arg;
	CPU_ZERO(&t->cpus);
	CPU_SET(cpu, &t->cpus);
	virtual_release(t);
	vthread_progress();
	return n;
}

/* Such as is joined. */
static int
create(const char *name, void *(*main)(void *arg), void *arg, pthread_t *id)
{
	if (kernel_chance(KERNEL_NO_THREAD))
		return EAGAIN;
	*id = (pthread_t)kernel_thread_start(name, main, arg,
					     KERNEL_OTHER_CPU) +
	      1;
	kernel_counts.threads++;
	return 0;
}

int
__wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
		      void *(*main)(void *arg), void *arg)
{
	virtual_call("pthread_create");
	return create("thread", main, arg, id);
}

static bool
has_ended(const void *thread)
{
	return vthread_ended((unsigned int)(uintptr_t)thread);
}

int
__wrap_pthread_join(pthread_t id, void **result)
{
	uintptr_t n = (uintptr_t)id - 1;

	virtual_call("pthread_join");
	/* A number as an address: only has_ended() looks at it. */
	kernel_await(has_ended, (const void *)n);
	virtual_acquire(&threads[n]);
	if (result != NULL)
		*result = threads[n].result;
	virtual_thread_reap((unsigned int)n);
	kernel_counts.threads--;
	return 0;
}

pthread_t
__wrap_pthread_self(void)
{
	return (pthread_t)vthread_self() + 1;
}

int
__wrap_pthread_setaffinity_np(pthread_t id, size_t size, const cpu_set_t *cpus)
{
	if (vthread_ended((unsigned int)id - 1))
		virtual_failed("a thread is moved that has ended");
	threads[id - 1].cpus = *cpus;
	return 0;
}

int
__wrap_pthread_getaffinity_np(pthread_t id, size_t size, cpu_set_t *cpus)
{
	*cpus = threads[id - 1].cpus;
	return 0;
}

int
__wrap_rte_thread_set_affinity(rte_cpuset_t *cpus)
{
	threads[vthread_self()].cpus = *cpus;
	return 0;
}

#ifdef WEIR_HAVE_THREAD_CREATE_CONTROL
/* The kind of function that DPDK starts, as one that is started here. */
static rte_thread_func control_main[VTHREADS_MAX];

static void *
run_control(void *arg)
{
	return (void *)(uintptr_t)control_main[vthread_self()](arg);
}

int
__wrap_rte_thread_create_control(rte_thread_t *id, const char *name,
				 rte_thread_func main, void *arg)
{
	pthread_t thread;
	int rc;

	virtual_call("rte_thread_create_control");
	rc = create(name, run_control, arg, &thread);
	if (rc != 0)
		return rc;
	control_main[thread - 1] = main;
	id->opaque_id = (uintptr_t)thread;
	return 0;
}
#else
int
__wrap_rte_ctrl_thread_create(pthread_t *id, const char *name,
			      const pthread_attr_t *attr,
			      void *(*main)(void *arg), void *arg)
{
	virtual_call("rte_ctrl_thread_create");
	return -create(name, main, arg, id);
}
#endif
