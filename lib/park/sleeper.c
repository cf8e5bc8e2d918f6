/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker's sleep in the kernel, and who ends it.
 *
 * The driver says that it sleeps, looks at everything once more, and waits on
 * its epoll fd. Whoever has something for it stores that first and then looks
 * whether it sleeps. So both sides store, then load what the other stored, and
 * both need a full fence in between.
 *
 * K1 Callers with a fence of their own, or a SEQ_CST operation, pair with the
 *    driver's fence. Callers on the packet's path have a light fence only; for
 *    them the driver makes all threads pass a full one (membarrier), or its
 *    sleep is so short that it counts as polling.
 * K2 Only the driver writes `asleep`. A caller that reads it too late writes an
 *    eventfd for nothing: the next wait ends at once and finds that out.
 * K3 The eventfd is never read. It is watched edge-triggered, and each write is
 *    an edge.
 * K4 What the wait returns is an address and no more: a source is awake, and may
 *    be freed, when the worker has woken that one, and looks at others yet.
 */

/* For the power intrinsics, which DPDK 22.11 has as experimental. */
#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_power_intrinsics.h>

#include "base/cancel.h"
#include "base/membarrier.h"
#include "park/sleeper.h"

/* Some microseconds on today's CPUs. */
#define PAUSES 64

int
weir__sleeper_init(struct sleeper *s)
{
	atomic_u32_store(&s->asleep, 0, RELAXED);
	s->epoll_fd = -1;
	s->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->event_fd < 0)
		return -errno;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll_fd < 0)
		return -errno;
	s->event.epdata.event = EPOLLIN | EPOLLET;
	s->event.epdata.data = NULL;
	if (rte_epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->event_fd, &s->event) <
	    0)
		return -errno;
	return 0;
}

void
weir__sleeper_fini(struct sleeper *s)
{
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s->event_fd >= 0)
		close(s->event_fd);
}

bool
weir__sleeper_begin(struct sleeper *s, bool all_threads)
{
	s->nb_fired = 0;
	/*
	 * [sleep:F1] between our store and the looks that follow: without it a
	 * caller could miss that we sleep while we miss what it called for, and
	 * we would sleep on.
	 */
	atomic_u32_store(&s->asleep, 1, RELAXED);
	atomic_fence(SEQ_CST);
	/* [sleep:F2] the same for those with a light fence. */
	return !all_threads ||
	       weir__membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

/* EAL's wait takes whole milliseconds, so it is asked for what there is. */
static void
take_events(struct sleeper *s)
{
	struct rte_epoll_event events[SLEEPER_EVENTS];
	int i, n;

	n = rte_epoll_wait_interruptible(s->epoll_fd, events, SLEEPER_EVENTS,
					 0);
	for (i = 0; i < n; i++)
		if (events[i].epdata.data != NULL)
			s->fired[s->nb_fired++] = events[i].epdata.data;
}

bool
weir__sleeper_wait(struct sleeper *s, uint64_t timeout_ns)
{
	const struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / NS_PER_S),
		.tv_nsec = (long)(timeout_ns % NS_PER_S),
	};
	struct pollfd fd = { .fd = s->epoll_fd, .events = POLLIN };
	int n = ppoll(&fd, 1, &timeout, NULL);

	if (n > 0)
		take_events(s);
	return n != 0;
}

void
weir__sleeper_end(struct sleeper *s)
{
	atomic_u32_store(&s->asleep, 0, RELAXED);
}

bool
weir__sleeper_was_fired(const struct sleeper *s, const void *source)
{
	unsigned int i;

	for (i = 0; i < s->nb_fired; i++)
		if (s->fired[i] == source)
			return true;
	return false;
}

void
weir__sleeper_signal(const struct sleeper *s)
{
	const uint64_t one = 1;
	int error = errno; /* a signal handler's caller has its own */
	/* A thread that was cancelled would end here, and call nobody. */
	int cancel = cancel_defer();

	/* It cannot fail: nobody counts to 2^64, and the fd is open. */
	if (write(s->event_fd, &one, sizeof(one)) < 0)
		WEIR_ASSERT(errno == EAGAIN, "K3");
	cancel_allow(cancel);
	errno = error;
}

bool
weir__pause_saves_power(void)
{
	struct rte_cpu_intrinsics intrinsics;

	rte_cpu_get_intrinsics_support(&intrinsics);
	return intrinsics.power_pause;
}

void
weir__pause(bool save_power, uint64_t until)
{
	unsigned int i;

	if (save_power && rte_power_pause(until) == 0)
		return;
	for (i = 0; i < PAUSES; i++)
		atomic_pause();
}
