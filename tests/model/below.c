/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/types.h>

#include <rte_cycles.h>
#include <rte_epoll.h>
#include <rte_malloc.h>
#include <rte_rcu_qsbr.h>

#include "base/atomic.h"
#include "base/membarrier.h"
#include "below.h"
#include "metrics/trace.h"
#include "model.h"
#include "thread.h"

/* Those below are the real kernel's. */
#define FIRST_FILE 100000

uint64_t
virtual_rdtsc(void)
{
	return 1;
}

int
__wrap_sched_yield(void);
int
__wrap_sched_yield(void)
{
	atomic_pause();
	return 0;
}

/* The system call. */
int
__wrap_weir__membarrier(int command);
int
__wrap_weir__membarrier(int command)
{
	(void)command;
	virtual_membarrier(VIRTUAL_SITE);
	return 0;
}

/* A step less each. */
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

/* Memory. */

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

/* Mutexes. Their first word says whether they are held. */

static struct atomic_u32 *
word_of(pthread_mutex_t *mutex)
{
	return (struct atomic_u32 *)mutex;
}

BELOW_LOOK static bool
mutex_free(const void *mutex)
{
	return *(const uint32_t *)mutex == 0;
}

int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	while (atomic_u32_exchange(word_of(mutex), 1, ACQUIRE) != 0)
		vthread_wait(mutex_free, mutex);
	return 0;
}

int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	atomic_u32_store(word_of(mutex), 0, RELEASE);
	return 0;
}

/* RCU: as the library has it, but that its loop waits for virtual threads. */
void
__wrap_rte_rcu_qsbr_synchronize(struct rte_rcu_qsbr *v, unsigned int thread);
void
__wrap_rte_rcu_qsbr_synchronize(struct rte_rcu_qsbr *v, unsigned int thread)
{
	uint64_t token = rte_rcu_qsbr_start(v);

	if (thread != RTE_QSBR_THRID_INVALID)
		rte_rcu_qsbr_quiescent(v, thread);
	while (!rte_rcu_qsbr_check(v, token, false))
		atomic_pause();
}

/*
 * Files. The kernel's locks order a write before the wait that it ends. They
 * are no fences for anything else.
 */

static struct {
	struct atomic_u32 events;
	struct atomic_ptr interrupt;
} files[BELOW_FILES];

bool below_sleeps_last;

int
below_file(unsigned int i)
{
	return FIRST_FILE + (int)i;
}

void
below_interrupt(int fd, void *data)
{
	atomic_ptr_store(&files[fd - FIRST_FILE].interrupt, data, RELEASE);
}

ssize_t
__real_write(int fd, const void *p, size_t size);
ssize_t
__wrap_write(int fd, const void *p, size_t size);
ssize_t
__wrap_write(int fd, const void *p, size_t size)
{
	if (fd < FIRST_FILE)
		return __real_write(fd, p, size);
	atomic_u32_fetch_add(&files[fd - FIRST_FILE].events, 1, ACQ_REL);
	return (ssize_t)size;
}

BELOW_LOOK static bool
has_event(const void *file)
{
	const unsigned int i = *(const unsigned int *)file;

	return files[i].events.v != 0 || files[i].interrupt.v != NULL;
}

/*
 * A long wait is for ever: who needs its end would have been left alone. A short
 * one is a turn of a loop that polls.
 */
int
__wrap_rte_epoll_wait_interruptible(int epfd, struct rte_epoll_event *events,
				    int n, int timeout_ms);
int
__wrap_rte_epoll_wait_interruptible(int epfd, struct rte_epoll_event *events,
				    int n, int timeout_ms)
{
	unsigned int i = (unsigned int)(epfd - FIRST_FILE);
	int got = 0;
	void *data;

	if (timeout_ms > 1 || below_sleeps_last)
		vthread_wait(has_event, &i);
	else
		atomic_pause();
	if (atomic_u32_exchange(&files[i].events, 0, ACQ_REL) != 0)
		events[got++].epdata.data = NULL;
	data = atomic_ptr_exchange(&files[i].interrupt, NULL, ACQ_REL);
	if (data != NULL)
		events[got++].epdata.data = data;
	return got <= n ? got : n;
}
