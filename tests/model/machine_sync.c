/* SPDX-License-Identifier: BSD-3-Clause */

/* Threads, mutexes and conditions. */

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_thread.h>

#include "base/atomic.h"
#include "machine.h"
#include "model.h"
#include "thread.h"

/* A deadline behind it is for ever. */
#define FAR_SECONDS 1000000

/* What is thread-local of the program lies in one piece. */
static int
find_locals(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned int i;

	(void)size;
	(void)arg;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			vthread_local(info->dlpi_tls_data,
				      info->dlpi_phdr[i].p_memsz);
	return 1; /* the program comes first */
}

/* Before any thread of a model. */
__attribute__((constructor)) static void
declare_locals(void)
{
	dl_iterate_phdr(find_locals, NULL);
	vthread_local(&errno, sizeof(errno));
	vthread_local(&RTE_PER_LCORE(_lcore_id),
		      sizeof(RTE_PER_LCORE(_lcore_id)));
	vthread_local(&RTE_PER_LCORE(_rte_errno),
		      sizeof(RTE_PER_LCORE(_rte_errno)));
}

pthread_t
__wrap_pthread_self(void);
pthread_t
__wrap_pthread_self(void)
{
	return (pthread_t)vthread_self() + 1;
}

/* Control threads that nobody has joined yet. */
static unsigned int nb_unjoined;

unsigned int
machine_unjoined(void)
{
	return nb_unjoined;
}

int
__wrap_pthread_join(pthread_t thread, void **result);
int
__wrap_pthread_join(pthread_t thread, void **result)
{
	(void)result;
	vthread_where("pthread_join", 0);
	nb_unjoined--;
	model_join((unsigned int)thread - 1);
	return 0;
}

struct start {
	void *(*main)(void *arg);
	void *arg;
};

static struct start starts[VTHREADS_MAX];

static void
thread_main(void *start)
{
	const struct start *s = start;

	s->main(s->arg);
}

int
__wrap_rte_ctrl_thread_create(pthread_t *id, const char *name,
			      const pthread_attr_t *attr,
			      void *(*main)(void *arg), void *arg);
int
__wrap_rte_ctrl_thread_create(pthread_t *id, const char *name,
			      const pthread_attr_t *attr,
			      void *(*main)(void *arg), void *arg)
{
	struct start *s = &starts[vthread_count()];

	(void)attr;
	if (machine_options.threads_fail && model_choose(2) == 1)
		return EAGAIN;
	s->main = main;
	s->arg = arg;
	nb_unjoined++;
	*id = (pthread_t)model_thread(name, thread_main, s) + 1;
	return 0;
}

#ifdef WEIR_HAVE_THREAD_CREATE_CONTROL
/* The kind of function that DPDK starts, as one that is started here. */
static rte_thread_func control_main[VTHREADS_MAX];

static void *
run_control(void *arg)
{
	control_main[vthread_self()](arg);
	return NULL;
}

int
__wrap_rte_thread_create_control(rte_thread_t *id, const char *name,
				 rte_thread_func main, void *arg);
int
__wrap_rte_thread_create_control(rte_thread_t *id, const char *name,
				 rte_thread_func main, void *arg)
{
	pthread_t thread;
	int rc;

	control_main[vthread_count()] = main;
	rc = __wrap_rte_ctrl_thread_create(&thread, name, NULL, run_control,
					   arg);
	id->opaque_id = (uintptr_t)thread;
	return rc;
}
#endif

int
__wrap_pthread_setaffinity_np(pthread_t thread, size_t size,
			      const cpu_set_t *cpus);
int
__wrap_pthread_setaffinity_np(pthread_t thread, size_t size,
			      const cpu_set_t *cpus)
{
	(void)size;
	(void)cpus;
	if (vthread_ended((unsigned int)thread - 1))
		model_fail("a thread is moved that has ended");
	return 0;
}

int
__wrap_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *cpus);
int
__wrap_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *cpus)
{
	(void)thread;
	memset(cpus, 0, size);
	return 0;
}

int
__wrap_rte_thread_set_affinity(rte_cpuset_t *cpus);
int
__wrap_rte_thread_set_affinity(rte_cpuset_t *cpus)
{
	(void)cpus;
	return 0;
}

int
__wrap_sched_yield(void);
int
__wrap_sched_yield(void)
{
	virtual_pause(NULL);
	return 0;
}

/* Mutexes and conditions. What they know lies where the real ones would be. */

#define ALIVE UINT32_C(0x6d757478)

struct mutex {
	uint32_t alive;
	uint32_t owner; /* thread + 1; 0: free */
};

struct waiter {
	struct waiter *next;
	const struct mutex *mutex;
	bool called;
};

struct cond {
	uint32_t alive;
	struct waiter *first;
};

static void
check_alive(const uint32_t *alive)
{
	machine_touch(alive);
	if (*alive != ALIVE)
		model_fail("a mutex or condition is used that is not there");
}

static bool
mutex_free(const void *mutex)
{
	return ((const struct mutex *)mutex)->owner == 0;
}

static void
mutex_take(struct mutex *m)
{
	m->owner = vthread_self() + 1;
	virtual_acquire(m);
}

static void
mutex_give(struct mutex *m)
{
	if (m->owner != vthread_self() + 1)
		model_fail("a mutex is unlocked by who does not hold it");
	virtual_release(m);
	m->owner = 0;
}

int
__wrap_pthread_mutex_init(pthread_mutex_t *mutex,
			  const pthread_mutexattr_t *attr);
int
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
int
__wrap_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;

	check_alive(&m->alive);
	if (m->owner != 0)
		model_fail("a mutex is destroyed that is held");
	m->alive = 0;
	return 0;
}

int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;

	vthread_where("pthread_mutex_lock", 0);
	if (m->owner == vthread_self() + 1)
		model_fail("a mutex is locked by who holds it");
	do
		vthread_wait(mutex_free, m);
	while (!mutex_free(m));
	check_alive(&m->alive);
	mutex_take(m);
	return 0;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct mutex *m = (struct mutex *)mutex;

	check_alive(&m->alive);
	mutex_give(m);
	return 0;
}

int
__wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int
__wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	struct cond *c = (struct cond *)cond;

	(void)attr;
	c->alive = ALIVE;
	c->first = NULL;
	return 0;
}

int
__wrap_pthread_cond_destroy(pthread_cond_t *cond);
int
__wrap_pthread_cond_destroy(pthread_cond_t *cond)
{
	struct cond *c = (struct cond *)cond;

	check_alive(&c->alive);
	if (c->first != NULL)
		model_fail("a condition is destroyed that is waited for");
	c->alive = 0;
	return 0;
}

static bool
is_called(const void *waiter)
{
	const struct waiter *w = waiter;

	return w->called && mutex_free(w->mutex);
}

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

/* ends: it comes to its end, whether it is called meanwhile or not. */
static int
cond_wait(struct cond *c, struct mutex *m, bool ends)
{
	struct waiter me = { .mutex = m };
	bool (*ready)(const void *arg) = ends ? mutex_free : is_called;
	const void *arg = ends ? (const void *)m : (const void *)&me;

	check_alive(&c->alive);
	add_waiter(c, &me);
	mutex_give(m);
	do
		vthread_wait(ready, arg);
	while (!ready(arg));
	if (!me.called)
		remove_waiter(c, &me);
	mutex_take(m);
	return ends ? ETIMEDOUT : 0;
}

int
__wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int
__wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	vthread_where("pthread_cond_wait", 0);
	return cond_wait((struct cond *)cond, (struct mutex *)mutex, false);
}

int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *end);
int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *end)
{
	bool ends = machine_options.waits_end && end->tv_sec < FAR_SECONDS &&
		    model_choose(2) == 1;

	vthread_where("pthread_cond_timedwait", 0);
	return cond_wait((struct cond *)cond, (struct mutex *)mutex, ends);
}

static void
call_first(struct cond *c)
{
	struct waiter *w = c->first;

	c->first = w->next;
	w->called = true;
}

int
__wrap_pthread_cond_signal(pthread_cond_t *cond);
int
__wrap_pthread_cond_signal(pthread_cond_t *cond)
{
	struct cond *c = (struct cond *)cond;

	check_alive(&c->alive);
	if (c->first != NULL)
		call_first(c);
	return 0;
}

int
__wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int
__wrap_pthread_cond_broadcast(pthread_cond_t *cond)
{
	struct cond *c = (struct cond *)cond;

	check_alive(&c->alive);
	while (c->first != NULL)
		call_first(c);
	return 0;
}
