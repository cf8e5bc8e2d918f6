/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VIRTUAL_WRAPS_H
#define VIRTUAL_WRAPS_H

/* What the linker calls instead of the functions in virtual_wraps. */

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>

#include <rte_cpuflags.h>
#include <rte_epoll.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_thread.h>

#include <weir_common.h>

#include "task/cell.h"

/* kernel.c */
uint64_t
__wrap_rte_get_tsc_hz(void);
int
__real_clock_gettime(clockid_t clock, struct timespec *ts);
int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int
__wrap_sched_yield(void);
int
__wrap_rte_power_pause(uint64_t until);
void
__wrap_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *intrinsics);
int
__wrap_weir__membarrier(int command);
int
__wrap_rte_log(uint32_t level, uint32_t type, const char *format, ...);
void
__wrap_weir__assert_failed(const char *rule, const char *file, int line);
int
__wrap_weir__name_reserve(struct weir_runtime *rt);
void
__wrap_weir__name_release(struct weir_runtime *rt);
void
__wrap_weir__telemetry_add(struct weir_runtime *rt);
void
__wrap_weir__telemetry_remove(struct weir_runtime *rt);

/* qsbr.c */
void
__wrap_weir__grace_period(struct rte_rcu_qsbr *qsbr);

/* sync.c */
int
__wrap_pthread_mutex_init(pthread_mutex_t *mutex,
			  const pthread_mutexattr_t *attr);
int
__wrap_pthread_mutex_destroy(pthread_mutex_t *mutex);
int
__wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int
__wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int
__wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int
__wrap_pthread_cond_destroy(pthread_cond_t *cond);
int
__wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *end);
int
__wrap_pthread_cond_signal(pthread_cond_t *cond);
int
__wrap_pthread_cond_broadcast(pthread_cond_t *cond);
int
__wrap_pthread_create(pthread_t *id, const pthread_attr_t *attr,
		      void *(*main)(void *arg), void *arg);
int
__wrap_pthread_join(pthread_t id, void **result);
pthread_t
__wrap_pthread_self(void);
int
__wrap_pthread_setaffinity_np(pthread_t id, size_t size, const cpu_set_t *cpus);
int
__wrap_pthread_getaffinity_np(pthread_t id, size_t size, cpu_set_t *cpus);
int
__wrap_rte_thread_set_affinity(rte_cpuset_t *cpus);
#ifdef WEIR_HAVE_THREAD_CREATE_CONTROL
int
__wrap_rte_thread_create_control(rte_thread_t *id, const char *name,
				 rte_thread_func main, void *arg);
#else
int
__wrap_rte_ctrl_thread_create(pthread_t *id, const char *name,
			      const pthread_attr_t *attr,
			      void *(*main)(void *arg), void *arg);
#endif

/* lcores.c */
int
__wrap_rte_eal_remote_launch(lcore_function_t *main, void *arg,
			     unsigned int lcore);
int
__wrap_rte_eal_wait_lcore(unsigned int lcore);
enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore);
unsigned int
__wrap_rte_get_main_lcore(void);
unsigned int
__wrap_rte_lcore_count(void);
int
__wrap_rte_lcore_is_enabled(unsigned int lcore);
unsigned int
__wrap_rte_get_next_lcore(unsigned int lcore, int skip_main, int wrap);
unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore);
unsigned int
__wrap_rte_socket_id(void);
int
__wrap_rte_socket_id_by_idx(unsigned int i);
rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore);
struct weir_machine *
__wrap_weir_machine_read(void);
void
__wrap_weir_machine_free(struct weir_machine *machine);
int
__wrap_numa_available(void);
int
__wrap_numa_distance(int a, int b);

/* memory.c */
void *
__wrap_rte_malloc(const char *type, size_t size, unsigned int align);
void *
__wrap_rte_malloc_socket(const char *type, size_t size, unsigned int align,
			 int socket);
void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align);
void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket);
void
__wrap_rte_free(void *p);
struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int size, int socket,
		       unsigned int flags);
void
__wrap_rte_ring_free(struct rte_ring *r);

/* cells.c */
int
__wrap_weir__cell_pools_init(struct cell_pools *p, unsigned int socket,
			     unsigned int cells);
void
__wrap_weir__cell_pools_fini(struct cell_pools *p);
void
__wrap_weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p);
void
__wrap_weir__cell_cache_fini(struct cell_cache *c);
uint64_t
__wrap_weir__cell_cache_taken(const struct cell_cache *c);
struct task *
__wrap_weir__cell_alloc(struct cell_pools *p, struct cell_cache *c,
			size_t state_size);
unsigned int
__wrap_weir__cell_alloc_burst(struct cell_pools *p, struct cell_cache *c,
			      size_t state_size, struct task **tasks,
			      unsigned int n);
void
__wrap_weir__cell_free(struct cell_pools *p, struct cell_cache *c,
		       struct task *t);
void
__wrap_weir__cell_walk_begin(struct cell_walk *w, struct cell_pools *p);
struct task *
__wrap_weir__cell_walk_next(struct cell_walk *w,
			    bool (*look)(struct task *t, void *arg), void *arg);
void
__wrap_weir__cell_walk_end(struct cell_walk *w);

/* files.c */
int
__wrap_eventfd(unsigned int count, int flags);
int
__wrap_epoll_create1(int flags);
ssize_t
__real_write(int fd, const void *p, size_t size);
ssize_t
__wrap_write(int fd, const void *p, size_t size);
int
__real_close(int fd);
int
__wrap_close(int fd);
int
__real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	     const sigset_t *mask);
int
__wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	     const sigset_t *mask);
int
__wrap_rte_epoll_ctl(int epfd, int op, int fd, struct rte_epoll_event *event);
int
__wrap_rte_epoll_wait_interruptible(int epfd, struct rte_epoll_event *events,
				    int n, int timeout_ms);

#endif
