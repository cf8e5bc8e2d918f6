/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A set of fds as a source: an epoll fd, and who looks into it when.
 *
 * A look is a system call, after which the CPU has to learn again what it had
 * foreseen of the worker's code, and the worker polls every microsecond or so. So
 * after a look that found nothing comes a gap, which doubles from one such look
 * to the next. Where the worker has nothing to run, it ends sooner.
 *
 * While the home worker sleeps, the set's epoll fd is in the worker's.
 *
 * D1 The epoll fd is waited for under the set's lock, and a fd leaves it under
 *    the lock: what a look gives is still there.
 * D2 A gap is no longer than the set's longest, and none follows the look that
 *    found something, nor begins before a task that began to wait was looked
 *    after once.
 */

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_errno.h>

#include "base/common.h"
#include "base/cycles.h"
#include "fd.h"

/* What one look takes; there is no gap before the next when it is full. */
#define LOOK_EVENTS 64
#define MIN_GAP_US 1
/* Of a worker that has nothing else to do, in the longest gap. */
#define IDLE_LOOKS 16

static int
set_poll(void *priv)
{
	struct epoll_event events[LOOK_EVENTS];
	struct weir_fd_set *set = priv;
	uint64_t now = rte_rdtsc();
	int i, n, woken = 0;

	n = epoll_wait(set->epfd, events, LOOK_EVENTS, 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (i = 0; i < n; i++)
		woken += weir__fd_tell(events[i].data.ptr, events[i].events);
	set->gap = n > 0 ? 0 : RTE_MIN(2 * set->gap, set->max_gap);
	if (n == 0 && set->gap == 0)
		set->gap = RTE_MIN(set->min_gap, set->max_gap);
	weir_source_poll_after(
		set, now + set->gap,
		now + RTE_MIN(set->gap, set->max_gap / IDLE_LOOKS));
	return woken;
}

static int
set_sleep(void *priv, int epfd)
{
	struct weir_fd_set *set = priv;

	return weir_source_watch(set, epfd, set->epfd);
}

static void
set_wake(void *priv)
{
	struct weir_fd_set *set = priv;

	weir_source_unwatch(set);
	fd_set_look_soon(set);
}

static void
set_wake_all(void *priv)
{
	struct weir_fd_set *set = priv;
	struct list_link *l;

	/* A shutdown that comes before weir_fd_set_create() is done. */
	if (set->fds.next == NULL)
		return;
	for (l = set->fds.next; l != &set->fds; l = l->next)
		weir__fd_wake_all(container_of(l, struct weir_fd, link));
}

static void
set_fini(void *priv)
{
	struct weir_fd_set *set = priv;

	close(set->epfd);
}

static const struct weir_source_ops set_ops = {
	.name = "fd set",
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = set_poll,
	.sleep = set_sleep,
	.wake = set_wake,
	.wake_all = set_wake_all,
	.fini = set_fini,
};

static void
init(struct weir_fd_set *set, int epfd, uint64_t max_gap_us)
{
	weir_source_lock(set);
	set->epfd = epfd;
	set->min_gap = cycles_of_us(MIN_GAP_US);
	set->max_gap = cycles_of_us(max_gap_us);
	list_init(&set->fds);
	weir_source_unlock(set);
}

struct weir_fd_set *
weir_fd_set_create(struct weir_runtime *rt, unsigned int worker,
		   unsigned int max_gap_us)
{
	struct weir_fd_set *set;
	int epfd;

	if (max_gap_us > WEIR_FD_GAP_MAX_US) {
		rte_errno = EINVAL;
		return NULL;
	}
	epfd = epoll_create1(EPOLL_CLOEXEC);
	if (epfd < 0) {
		rte_errno = errno;
		return NULL;
	}
	set = weir_source_create(rt, &set_ops, worker, sizeof(*set));
	if (set == NULL) {
		close(epfd);
		return NULL;
	}
	init(set, epfd, max_gap_us > 0 ? max_gap_us : WEIR_FD_GAP_US);
	return set;
}

static __rte_unused bool
is_empty(struct weir_fd_set *set)
{
	bool empty;

	weir_source_lock(set);
	empty = list_empty(&set->fds);
	weir_source_unlock(set);
	return empty;
}

void
weir_fd_set_free(struct weir_fd_set *set)
{
	WEIR_ASSERT(set == NULL || is_empty(set),
		    "weir_fd_set_free(): what was in it has been freed");
	weir_source_free(set);
}

struct weir_source *
weir_fd_set_source(struct weir_fd_set *set)
{
	return weir_source_of(set);
}
