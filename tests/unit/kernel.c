/* SPDX-License-Identifier: BSD-3-Clause */

#include "kernel.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_epoll.h>
#include <rte_errno.h>

#include "sched/scheduler.h"

/* What it sleeps beside an interrupt that was never seen. */
#define UNTRUSTED_NS 10000000

struct kernel kernel;

int
__real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	     const sigset_t *mask);
int
__wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	     const sigset_t *mask);
int
__real_rte_epoll_wait_interruptible(int epfd, struct rte_epoll_event *events,
				    int n, int timeout_ms);
int
__wrap_rte_epoll_wait_interruptible(int epfd, struct rte_epoll_event *events,
				    int n, int timeout_ms);
int
__real_weir__membarrier(int command);
int
__wrap_weir__membarrier(int command);
int
__real_eventfd(unsigned int count, int flags);
int
__wrap_eventfd(unsigned int count, int flags);
int
__real_epoll_create1(int flags);
int
__wrap_epoll_create1(int flags);
int
__real_rte_epoll_ctl(int epfd, int op, int fd, struct rte_epoll_event *event);
int
__wrap_rte_epoll_ctl(int epfd, int op, int fd, struct rte_epoll_event *event);
int
__wrap_rte_power_pause(uint64_t until);
void
__wrap_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *intrinsics);

int
__wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	     const sigset_t *mask)
{
	uint64_t ns = (uint64_t)timeout->tv_sec * NS_PER_S +
		      (uint64_t)timeout->tv_nsec;
	uint64_t longest = atomic_u64_load(&kernel.longest_ns, RELAXED);

	while (ns > longest && !atomic_u64_cas(&kernel.longest_ns, &longest, ns,
					       RELAXED, RELAXED))
		;
	rig_add(&kernel.sleeps, 1);
	if (rig_get(&kernel.patient) && ns > UNTRUSTED_NS)
		timeout = NULL;
	return __real_ppoll(fds, n, timeout, mask);
}

int
__wrap_rte_epoll_wait_interruptible(int epfd, struct rte_epoll_event *events,
				    int n, int timeout_ms)
{
	int i, got;

	got = __real_rte_epoll_wait_interruptible(epfd, events, n, timeout_ms);
	for (i = 0; i < got; i++)
		if (events[i].epdata.data != NULL && rig_get(&kernel.hold)) {
			rig_set(&kernel.held, 1);
			rig_wait_until(!rig_get(&kernel.hold));
		}
	return got;
}

int
__wrap_weir__membarrier(int command)
{
	const struct kernel_hook *hook;

	if (kernel.no_membarrier)
		return -ENOSYS;
	if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
		if (kernel.no_barriers)
			return -EPERM;
		rig_add(&kernel.membarriers, 1);
		hook = atomic_ptr_exchange(&kernel.at_membarrier, NULL,
					   ACQ_REL);
		if (hook != NULL)
			hook->call();
	}
	return __real_weir__membarrier(command);
}

static bool
take_fd(void)
{
	if (kernel.fds == 0) {
		errno = kernel.table_full ? ENFILE : EMFILE;
		return false;
	}
	if (kernel.fds > 0)
		kernel.fds--;
	return true;
}

int
__wrap_eventfd(unsigned int count, int flags)
{
	return take_fd() ? __real_eventfd(count, flags) : -1;
}

int
__wrap_epoll_create1(int flags)
{
	return take_fd() ? __real_epoll_create1(flags) : -1;
}

int
__wrap_rte_epoll_ctl(int epfd, int op, int fd, struct rte_epoll_event *event)
{
	if (!kernel.no_watches)
		return __real_rte_epoll_ctl(epfd, op, fd, event);
	errno = ENOSPC;
	return -1;
}

int
__wrap_rte_power_pause(uint64_t until)
{
	uint64_t now = rte_rdtsc(), longest;
	uint64_t pause = until > now ? until - now : 0;

	longest = atomic_u64_load(&kernel.longest_pause, RELAXED);
	while (pause > longest &&
	       !atomic_u64_cas(&kernel.longest_pause, &longest, pause, RELAXED,
			       RELAXED))
		;
	rig_add(&kernel.pauses, 1);
	if (slot_peek_owner(&weir__core->lifo) != NULL ||
	    run_queue_len_owner(&worker_of(weir__core)->queue) > 0)
		rig_add(&kernel.busy_pauses, 1);
	return 0;
}

void
__wrap_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *intrinsics)
{
	memset(intrinsics, 0, sizeof(*intrinsics));
	intrinsics->power_pause = kernel.power_pause;
}

void
kernel_reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
	rig_set(&kernel.patient, 1);
	kernel.fds = -1;
}

void
kernel_expect_none_without_fds(void *(*make)(void))
{
	const unsigned int before = rig_open_fds();
	unsigned int i;

	for (i = 0; i < 2; i++) {
		kernel.table_full = i;
		kernel.fds = 0;
		rte_errno = 0;
		assert_null(make());
		assert_int_equal(rte_errno, i ? ENFILE : EMFILE);
		assert_int_equal(rig_open_fds(), before);
	}
	kernel.fds = -1;
}

struct weir_runtime *
kernel_runtime(unsigned int nb_workers, enum weir_park park)
{
	struct weir_options o;
	struct weir_runtime *rt;

	rig_options(&o, nb_workers);
	o.park = park;
	o.adaptive_poll_us = 0;
	o.adaptive_pause_us = 0;
	rt = weir_runtime_create(&o);
	if (rt == NULL)
		fail_msg("weir_runtime_create: %s", rte_strerror(rte_errno));
	return rt;
}

bool
kernel_asleep(const struct weir_runtime *rt, unsigned int worker)
{
	return rig_get(&rt->workers[worker]->sleeper.asleep);
}

bool
kernel_all_asleep(const struct weir_runtime *rt)
{
	unsigned int i;

	for (i = 0; i < weir_runtime_nb_workers(rt); i++)
		if (!kernel_asleep(rt, i))
			return false;
	return true;
}

void
kernel_await_awake(const struct weir_runtime *rt, unsigned int worker)
{
	rig_wait_until(!kernel_asleep(rt, worker));
}

void
kernel_await_sleep(void)
{
	uint32_t before = rig_get(&kernel.sleeps);

	rig_wait_until(rig_get(&kernel.sleeps) != before);
}
