/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_epoll.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_thread.h>

#include "base/atomic.h"
#include "base/membarrier.h"
#include "kept.h"
#include "machine.h"
#include "memory.h"
#include "metrics/trace.h"
#include "model.h"
#include "race.h"
#include "sched/scheduler.h"
#include "task/cell.h"
#include "thread.h"

#define MAIN_LCORE 0
#define LCORES_MAX 8
/* Those below are the real kernel's. */
#define FIRST_FD 100000
#define FILES_MAX 32
#define RING_SIZE 4
/* A deadline behind it is for ever. */
#define FAR_SECONDS 1000000

static struct machine machine;

/* Threads. */

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

/* A look at what lies in memory that may be gone. */
static void
touch(const void *p)
{
	race_atomic(p, 1, false);
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
	if (machine.threads_fail && model_choose(2) == 1)
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
	touch(alive);
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
	bool ends = machine.waits_end && end->tv_sec < FAR_SECONDS &&
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

/* Lcores, all on one node. */

static struct {
	lcore_function_t *main;
	void *arg;
	unsigned int thread; /* 0: nobody has launched, or it was awaited */
} lcores[LCORES_MAX];

static void
lcore_main(void *arg)
{
	unsigned int lcore = (unsigned int)(uintptr_t)arg;

	RTE_PER_LCORE(_lcore_id) = lcore;
	lcores[lcore].main(lcores[lcore].arg);
}

int
__wrap_rte_eal_remote_launch(lcore_function_t *main, void *arg,
			     unsigned int lcore);
int
__wrap_rte_eal_remote_launch(lcore_function_t *main, void *arg,
			     unsigned int lcore)
{
	char name[VTHREAD_NAME_LEN + 1];

	if (lcores[lcore].thread != 0)
		return -EBUSY;
	if (machine.no_launch)
		return 0;
	lcores[lcore].main = main;
	lcores[lcore].arg = arg;
	snprintf(name, sizeof(name), "lcore %u", lcore);
	lcores[lcore].thread =
		model_thread(name, lcore_main, (void *)(uintptr_t)lcore);
	return 0;
}

int
__wrap_rte_eal_wait_lcore(unsigned int lcore);
int
__wrap_rte_eal_wait_lcore(unsigned int lcore)
{
	vthread_where("rte_eal_wait_lcore", 0);
	if (lcores[lcore].thread != 0)
		model_join(lcores[lcore].thread);
	lcores[lcore].thread = 0;
	return 0;
}

/* Of lcores that have been awaited: others' may change. */
enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore);
enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore)
{
	return lcores[lcore].thread != 0 ? RUNNING : WAIT;
}

unsigned int
__wrap_rte_get_main_lcore(void);
unsigned int
__wrap_rte_get_main_lcore(void)
{
	return MAIN_LCORE;
}

unsigned int
__wrap_rte_lcore_count(void);
unsigned int
__wrap_rte_lcore_count(void)
{
	return machine.nb_lcores + 1;
}

int
__wrap_rte_lcore_is_enabled(unsigned int lcore);
int
__wrap_rte_lcore_is_enabled(unsigned int lcore)
{
	return lcore <= machine.nb_lcores;
}

unsigned int
__wrap_rte_get_next_lcore(unsigned int lcore, int skip_main, int wrap);
unsigned int
__wrap_rte_get_next_lcore(unsigned int lcore, int skip_main, int wrap)
{
	(void)skip_main;
	(void)wrap;
	/* From -1, which is before the main one. */
	lcore = lcore == UINT_MAX ? MAIN_LCORE + 1 : lcore + 1;
	return lcore <= machine.nb_lcores ? lcore : RTE_MAX_LCORE;
}

unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore);
unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore)
{
	(void)lcore;
	return 0;
}

rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore);
rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore)
{
	rte_cpuset_t cpus;

	(void)lcore;
	CPU_ZERO(&cpus);
	return cpus;
}

unsigned int
__wrap_rte_socket_id(void);
unsigned int
__wrap_rte_socket_id(void)
{
	return 0;
}

int
__wrap_numa_available(void);
int
__wrap_numa_available(void)
{
	return -1;
}

/* Files: an eventfd, and the epoll file that it is added to. */

static struct file {
	int epoll_fd;
	struct rte_epoll_event *about;
	bool event;
} files[FILES_MAX];
static unsigned int nb_files;

static struct file *
file_of(int fd)
{
	return &files[fd - FIRST_FD];
}

static int
open_file(void)
{
	if (nb_files == FILES_MAX)
		model_give_up("too many files");
	return FIRST_FD + (int)nb_files++;
}

int
__wrap_eventfd(unsigned int count, int flags);
int
__wrap_eventfd(unsigned int count, int flags)
{
	(void)count;
	(void)flags;
	return open_file();
}

int
__wrap_epoll_create1(int flags);
int
__wrap_epoll_create1(int flags)
{
	(void)flags;
	return open_file();
}

int
__wrap_rte_epoll_ctl(int epoll_fd, int op, int fd,
		     struct rte_epoll_event *event);
int
__wrap_rte_epoll_ctl(int epoll_fd, int op, int fd,
		     struct rte_epoll_event *event)
{
	(void)op;
	file_of(fd)->epoll_fd = epoll_fd;
	file_of(fd)->about = event;
	return 0;
}

int
__real_close(int fd);
int
__wrap_close(int fd);
int
__wrap_close(int fd)
{
	return fd < FIRST_FD ? __real_close(fd) : 0;
}

ssize_t
__real_write(int fd, const void *p, size_t size);
ssize_t
__wrap_write(int fd, const void *p, size_t size);
ssize_t
__wrap_write(int fd, const void *p, size_t size)
{
	if (fd < FIRST_FD)
		return __real_write(fd, p, size);
	vthread_where("write", 0);
	vthread_point();
	virtual_release(file_of(fd));
	file_of(fd)->event = true;
	return (ssize_t)size;
}

/* A wait of the thread's. */
struct sleep {
	int epoll_fd;
	bool short_one;
	bool over;
};

static const struct sleep *sleeps[VTHREADS_MAX];

static struct file *
fired(int epoll_fd)
{
	unsigned int i;

	for (i = 0; i < nb_files; i++)
		if (files[i].event && files[i].epoll_fd == epoll_fd)
			return &files[i];
	return NULL;
}

static bool
has_event(const void *sleep)
{
	const struct sleep *s = sleep;

	return s->over || fired(s->epoll_fd) != NULL;
}

/* Y3 */
static bool
end_short_sleeps(void)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < vthread_count(); i++) {
		if (sleeps[i] == NULL || !sleeps[i]->short_one)
			continue;
		((struct sleep *)(uintptr_t)sleeps[i])->over = true;
		any = true;
	}
	return any;
}

int
__wrap_rte_epoll_wait_interruptible(int epoll_fd,
				    struct rte_epoll_event *events, int n,
				    int timeout_ms);
int
__wrap_rte_epoll_wait_interruptible(int epoll_fd,
				    struct rte_epoll_event *events, int n,
				    int timeout_ms)
{
	struct sleep me = { .epoll_fd = epoll_fd,
			    .short_one = timeout_ms <= 1 };
	struct file *f;

	(void)n;
	vthread_where("rte_epoll_wait", 0);
	sleeps[vthread_self()] = &me;
	do
		vthread_wait(has_event, &me);
	while (!has_event(&me));
	sleeps[vthread_self()] = NULL;
	f = fired(epoll_fd);
	memory_saw(f != NULL);
	if (f == NULL)
		return 0;
	virtual_acquire(f);
	f->event = false;
	events[0] = *f->about;
	return 1;
}

/* Memory. */

void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align);
void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	(void)type;
	(void)align;
	return model_alloc(size);
}

void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket);
void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket)
{
	(void)type;
	(void)align;
	(void)socket;
	return model_alloc(size);
}

void
__wrap_rte_free(void *p);
void
__wrap_rte_free(void *p)
{
	model_free(p);
}

struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int size, int socket,
		       unsigned int flags);
struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int size, int socket,
		       unsigned int flags)
{
	struct rte_ring *r;

	(void)size;
	(void)socket;
	r = model_alloc((size_t)rte_ring_get_memsize(RING_SIZE));
	rte_ring_init(r, name, RING_SIZE, flags);
	return r;
}

void
__wrap_rte_ring_free(struct rte_ring *r);
void
__wrap_rte_ring_free(struct rte_ring *r)
{
	model_free(r);
}

/* Cells come without pools and caches, so that each is watched. */

int
__wrap_weir__cell_pools_init(struct cell_pools *p, const char *name,
			     unsigned int socket, unsigned int cells,
			     unsigned int nb_workers);
int
__wrap_weir__cell_pools_init(struct cell_pools *p, const char *name,
			     unsigned int socket, unsigned int cells,
			     unsigned int nb_workers)
{
	(void)p;
	(void)name;
	(void)socket;
	(void)cells;
	(void)nb_workers;
	return 0;
}

void
__wrap_weir__cell_pools_fini(struct cell_pools *p);
void
__wrap_weir__cell_pools_fini(struct cell_pools *p)
{
	touch(p);
}

int
__wrap_weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p);
int
__wrap_weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p)
{
	c->pools = p;
	return 0;
}

void
__wrap_weir__cell_cache_fini(struct cell_cache *c);
void
__wrap_weir__cell_cache_fini(struct cell_cache *c)
{
	touch(c);
}

struct task *
__wrap_weir__cell_alloc(struct cell_pools *p, struct cell_cache *c,
			size_t state_size);
struct task *
__wrap_weir__cell_alloc(struct cell_pools *p, struct cell_cache *c,
			size_t state_size)
{
	touch(p);
	if (c != NULL)
		touch(c);
	return model_alloc(sizeof(struct task) + state_size);
}

void
__wrap_weir__cell_free(struct cell_pools *p, struct cell_cache *c,
		       struct task *t);
void
__wrap_weir__cell_free(struct cell_pools *p, struct cell_cache *c,
		       struct task *t)
{
	touch(p);
	if (c != NULL)
		touch(c);
	model_free(t);
}

/* The rest. */

uint64_t
virtual_rdtsc(void)
{
	return 1;
}

uint64_t
__wrap_rte_get_tsc_hz(void);
uint64_t
__wrap_rte_get_tsc_hz(void)
{
	return UINT64_C(1000000000);
}

int
__real_clock_gettime(clockid_t clock, struct timespec *ts);
int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!vthreads_running())
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = 1;
	ts->tv_nsec = 0;
	return 0;
}

int
__wrap_weir__membarrier(int command);
int
__wrap_weir__membarrier(int command)
{
	if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		virtual_membarrier(VIRTUAL_SITE);
	return 0;
}

/* These are not looked into: a worker's registration is its own. */
int
__wrap_rte_rcu_qsbr_thread_register(struct rte_rcu_qsbr *v,
				    unsigned int thread);
int
__wrap_rte_rcu_qsbr_thread_register(struct rte_rcu_qsbr *v, unsigned int thread)
{
	(void)thread;
	touch(v);
	return 0;
}

int
__wrap_rte_rcu_qsbr_thread_unregister(struct rte_rcu_qsbr *v,
				      unsigned int thread);
int
__wrap_rte_rcu_qsbr_thread_unregister(struct rte_rcu_qsbr *v,
				      unsigned int thread)
{
	(void)thread;
	touch(v);
	return 0;
}

int
__wrap_rte_log(uint32_t level, uint32_t type, const char *format, ...);
int
__wrap_rte_log(uint32_t level, uint32_t type, const char *format, ...)
{
	(void)level;
	(void)type;
	(void)format;
	return 0;
}

/* Steps that nobody looks at. */

void
__wrap_weir__trace_worker_park(uint32_t worker);
void
__wrap_weir__trace_worker_park(uint32_t worker)
{
	(void)worker;
}

void
__wrap_weir__trace_worker_unpark(uint32_t worker);
void
__wrap_weir__trace_worker_unpark(uint32_t worker)
{
	(void)worker;
}

void
__wrap_weir__trace_worker_steal(uint32_t thief, uint32_t victim,
				uint32_t tasks);
void
__wrap_weir__trace_worker_steal(uint32_t thief, uint32_t victim, uint32_t tasks)
{
	(void)thief;
	(void)victim;
	(void)tasks;
}

void
__wrap_weir__telemetry_add(struct weir_runtime *rt);
void
__wrap_weir__telemetry_add(struct weir_runtime *rt)
{
	(void)rt;
}

void
__wrap_weir__telemetry_remove(struct weir_runtime *rt);
void
__wrap_weir__telemetry_remove(struct weir_runtime *rt)
{
	(void)rt;
}

unsigned int
machine_unjoined(void)
{
	return nb_unjoined;
}

void
machine_begin(const struct machine *options)
{
	machine = *options;
	RTE_PER_LCORE(_lcore_id) = MAIN_LCORE;
	model_when_stuck(end_short_sleeps);
}
