/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A fd in a set: who waits for it, and what of it nobody was told yet.
 *
 * With WEIR_FD_EDGE, epoll is told of the fd once. Otherwise each wait arms it
 * for one event (EPOLLONESHOT), so that a fd that is ready and that nobody waits
 * for does not come up again and again.
 *
 * E1 What has come for a side is in its `ready` until a task of that side takes
 *    it: one that is cancelled in between takes nothing along. Without
 *    WEIR_FD_EDGE that is so if one waited; else the next wait asks epoll anew,
 *    since by then it may be so no more. What has come together with an error or
 *    hang-up is told if it still is so.
 * E2 Without WEIR_FD_EDGE, epoll waits for what the waiters want, and for
 *    nothing if there are none. A task that is in a place and waits there once
 *    more wants what either wait does, until it is woken or gives them up.
 * E3 Who is woken from one side of a wait for both is in no place of the other.
 * E4 After the close there is no waiter, and none comes.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "base/common.h"
#include "base/heap.h"
#include "fd.h"
#include "weir_runtime.h"
#include "weir_task.h"

#define IN_EVENTS (EPOLLIN | EPOLLPRI | EPOLLRDHUP)
#define OUT_EVENTS EPOLLOUT
#define ALL_EVENTS (IN_EVENTS | OUT_EVENTS)
#define ERRORS (EPOLLERR | EPOLLHUP)

static const uint32_t side_events[SIDES] = {
	[SIDE_IN] = IN_EVENTS,
	[SIDE_OUT] = OUT_EVENTS,
};

static bool
is_edge(const struct weir_fd *f)
{
	return f->flags & WEIR_FD_EDGE;
}

static int
control(struct weir_fd *f, int op, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = f };

	return epoll_ctl(f->set->epfd, op, f->fd, &event) < 0 ? -errno : 0;
}

/* E2 */
static int
arm(struct weir_fd *f)
{
	uint32_t events = EPOLLONESHOT;
	unsigned int i;

	if (is_edge(f))
		return 0;
	for (i = 0; i < SIDES; i++)
		if (f->sides[i].waiter != NULL)
			events |= f->sides[i].wants;
	return control(f, EPOLL_CTL_MOD, events);
}

/* E3 */
static bool
wake(struct weir_fd *f, unsigned int i)
{
	if (f->joint)
		weir_source_place_clear(f->set, &f->sides[!i].waiter);
	f->joint = false;
	return weir_source_place_wake(f->set, &f->sides[i].waiter);
}

void
weir__fd_wake_all(struct weir_fd *f)
{
	wake(f, SIDE_IN);
	wake(f, SIDE_OUT);
}

bool
weir__fd_tell(struct weir_fd *f, uint32_t events)
{
	bool woken = false, waits = false;
	unsigned int i;

	for (i = 0; i < SIDES; i++) {
		struct fd_side *side = &f->sides[i];

		if (is_edge(f) || side->waiter != NULL)
			side->ready |= events & (side_events[i] | ERRORS);
	}
	for (i = 0; i < SIDES; i++)
		if (f->sides[i].ready & (f->sides[i].wants | ERRORS))
			woken |= wake(f, i);
	for (i = 0; i < SIDES; i++)
		waits |= f->sides[i].waiter != NULL;
	/* One of two: what is wrong with the fd, its next wait is told. */
	if (waits)
		arm(f);
	return woken;
}

/*
 * What of this is so now: a socket is hung up until it connects. What is dropped
 * and comes again, epoll says again.
 */
static uint32_t
still_so(const struct weir_fd *f, uint32_t events)
{
	struct pollfd now = { .fd = f->fd, .events = (short)events };

	if (poll(&now, 1, 0) < 0)
		return events;
	return events & (uint16_t)now.revents;
}

/* E1 */
static uint32_t
take(struct weir_fd *f, uint32_t events)
{
	uint32_t taken = 0;
	unsigned int i;

	for (i = 0; i < SIDES; i++)
		if (events & side_events[i]) {
			taken |= f->sides[i].ready & (events | ERRORS);
			f->sides[i].ready &= ~taken;
		}
	if (unlikely(taken & ERRORS))
		return still_so(f, taken);
	return taken;
}

static bool
is_caller(const struct fd_side *side)
{
	return side->task == weir_task_current() &&
	       side->rt == weir_runtime_current();
}

/* Is the calling task in this place, by another of its waits? */
static bool
is_held(const struct fd_side *side)
{
	return side->waiter != NULL && is_caller(side);
}

static void
leave(struct weir_fd *f, uint32_t events)
{
	unsigned int i;

	f->joint = false;
	for (i = 0; i < SIDES; i++)
		if (events & side_events[i])
			weir_source_place_clear(f->set, &f->sides[i].waiter);
}

/* Puts the task into the places of these events, or into none. */
static int
enter(struct weir_context *ctx, struct weir_fd *f, uint32_t events)
{
	unsigned int i, n = 0;
	int rc;

	for (i = 0; i < SIDES; i++)
		if ((events & side_events[i]) &&
		    !weir_source_place_open(ctx, &f->sides[i].waiter))
			return -EBUSY;
	/* Who waited for both has ended: it is in neither place any more. */
	if (f->joint && !is_held(&f->sides[SIDE_IN]))
		leave(f, ALL_EVENTS);
	for (i = 0; i < SIDES; i++) {
		struct fd_side *side = &f->sides[i];

		if (!(events & side_events[i]))
			continue;
		if (!is_held(side)) {
			side->wants = 0;
			side->apart = false;
		}
		/* What was wanted in vain costs a wake-up that is none, once. */
		side->wants |= events & side_events[i];
		side->rt = weir_runtime_current();
		side->task = weir_task_current();
		weir_source_place_take(ctx, f->set, &side->waiter);
		n++;
	}
	f->joint |= n == SIDES;
	if (n < SIDES && is_held(&f->sides[SIDE_IN]) &&
	    is_held(&f->sides[SIDE_OUT]))
		f->sides[SIDE_IN].apart = f->sides[SIDE_OUT].apart = true;
	rc = arm(f);
	if (rc < 0)
		leave(f, events);
	return rc;
}

int
weir__fd_wait(struct weir_context *ctx, struct weir_fd *f, uint32_t events,
	      bool drained)
{
	uint32_t ready;
	int rc, error;

	if (events == 0 || (events & ~ALL_EVENTS) != 0)
		return -EINVAL;
	rc = weir_source_wait_begin(ctx, f->set);
	if (rc < 0)
		return rc;
	error = (int)atomic_u32_load(&f->closed, RELAXED);
	ready = take(f, events);
	/* Otherwise epoll would not say it again. */
	if (drained && !is_edge(f))
		ready = 0;
	if (error == 0 && ready == 0) {
		if (rc > 0)
			return weir_source_wait_fail(f->set);
		error = -enter(ctx, f, events);
		if (error == 0) {
			fd_set_look_soon(f->set);
			return weir_source_wait_leave(ctx, f->set);
		}
	}
	weir_source_wait_ready(ctx, f->set, 1);
	return error != 0 ? -error : (int)ready;
}

int
weir_fd_wait(struct weir_context *ctx, struct weir_fd *f, uint32_t events)
{
	return weir__fd_wait(ctx, f, events, false);
}

void
weir_fd_cancel(struct weir_fd *f)
{
	bool gone = false;
	unsigned int i;

	weir_source_lock(f->set);
	for (i = 0; i < SIDES; i++) {
		struct fd_side *side = &f->sides[i];

		/* It may have been woken meanwhile, and another be there. */
		if (!is_held(side))
			continue;
		/* It may be of a wait that goes on: then that is made again. */
		if (side->apart)
			weir_source_place_wake(f->set, &side->waiter);
		else
			weir_source_place_clear(f->set, &side->waiter);
		gone = true;
	}
	if (gone) {
		f->joint = false;
		/* Fails if the fd was closed: nothing is armed then. */
		arm(f);
	}
	weir_source_unlock(f->set);
}

static int
check_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	return flags & O_NONBLOCK ? 0 : -EINVAL;
}

/* Into the set's epoll fd and its list. */
static int
add(struct weir_fd *f)
{
	const uint32_t events =
		is_edge(f) ? ALL_EVENTS | EPOLLET : EPOLLONESHOT;
	int rc;

	weir_source_lock(f->set);
	rc = control(f, EPOLL_CTL_ADD, events);
	if (rc == 0) {
		rc = check_nonblocking(f->fd);
		if (rc < 0)
			control(f, EPOLL_CTL_DEL, 0);
		else
			list_push_back(&f->set->fds, &f->link);
	}
	weir_source_unlock(f->set);
	return rc;
}

struct weir_fd *
weir_fd_create(struct weir_fd_set *set, int fd, unsigned int flags)
{
	struct weir_fd *f;
	int rc;

	if ((flags & ~WEIR_FD_EDGE) != 0) {
		rte_errno = EINVAL;
		return NULL;
	}
	f = heap_taken(rte_zmalloc("fd", sizeof(*f), RTE_CACHE_LINE_SIZE));
	if (f == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	f->set = set;
	f->fd = fd;
	f->flags = flags;
	rc = add(f);
	if (rc < 0) {
		heap_free(f);
		rte_errno = -rc;
		return NULL;
	}
	return f;
}

void
weir_fd_close(struct weir_fd *f, int error)
{
	error = errno_or_einval(error);
	weir_source_lock(f->set);
	if (atomic_u32_load(&f->closed, RELAXED) == 0) {
		atomic_u32_store(&f->closed, (uint32_t)error, RELAXED);
		/* Fails if the fd was closed: it is out then, with no duplicate. */
		control(f, EPOLL_CTL_DEL, 0);
		list_remove(&f->link);
		weir__fd_wake_all(f);
	}
	weir_source_unlock(f->set);
}

void
weir_fd_free(struct weir_fd *f)
{
	if (f == NULL)
		return;
	weir_fd_close(f, ECANCELED);
	heap_free(f);
}
