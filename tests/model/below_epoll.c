/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An epoll set of the kernel's, for models of workers, and the files in it. Each
 * call is one step, as under the kernel's lock. It is not watched.
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_epoll.h>
#include <rte_malloc.h>

#include "below.h"
#include "memory.h"
#include "model.h"
#include "thread.h"

#define FIRST_FD 200000
#define SET_FD (FIRST_FD + BELOW_FILES)

static struct entry {
	struct epoll_event event;
	bool in;
	bool ready;
} entries[BELOW_FILES];

/* The set is in that epoll file, of a worker, with this. */
static bool nested;
static int outer;
static void *outer_data;

int
below_fd(unsigned int i)
{
	return FIRST_FD + (int)i;
}

static void
step(const char *name)
{
	vthread_where(name, 0);
	vthread_point();
	virtual_acquire(entries);
	virtual_release(entries);
}

static bool
comes_up(const struct entry *e)
{
	return e->in && e->ready && (e->event.events & EPOLLIN);
}

static void
tell_outer(void)
{
	unsigned int i;

	for (i = 0; i < BELOW_FILES && nested; i++)
		if (comes_up(&entries[i])) {
			below_interrupt(outer, outer_data);
			return;
		}
}

void
below_fd_ready(int fd)
{
	step("ready");
	entries[fd - FIRST_FD].ready = true;
	tell_outer();
}

int
__wrap_epoll_create1(int flags);
int
__wrap_epoll_create1(int flags)
{
	(void)flags;
	return SET_FD;
}

int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct entry *e = &entries[fd - FIRST_FD];

	step("epoll_ctl");
	model_check(epfd == SET_FD && e->in == (op != EPOLL_CTL_ADD));
	e->in = op != EPOLL_CTL_DEL;
	e->event = *event;
	tell_outer();
	return 0;
}

int
__wrap_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout);
int
__wrap_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout)
{
	int got = 0;
	unsigned int i;

	step("epoll_wait");
	model_check(epfd == SET_FD && timeout == 0);
	for (i = 0; i < BELOW_FILES && got < n; i++) {
		struct entry *e = &entries[i];

		if (!comes_up(e))
			continue;
		events[got] = e->event;
		events[got++].events = EPOLLIN;
		if (e->event.events & EPOLLONESHOT)
			e->event.events = 0;
	}
	return got;
}

int
__wrap_rte_epoll_ctl(int epfd, int op, int fd, struct rte_epoll_event *event);
int
__wrap_rte_epoll_ctl(int epfd, int op, int fd, struct rte_epoll_event *event)
{
	step("rte_epoll_ctl");
	model_check(fd == SET_FD && nested == (op == EPOLL_CTL_DEL));
	nested = op == EPOLL_CTL_ADD;
	outer = epfd;
	outer_data = event->epdata.data;
	event->epfd = epfd;
	tell_outer();
	return 0;
}

/* The name that fcntl() has with files of any size. */
int
__wrap_fcntl64(int fd, int op, ...);
int
__wrap_fcntl64(int fd, int op, ...)
{
	model_check(fd >= FIRST_FD && op == F_GETFL);
	return O_NONBLOCK;
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

void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align);
void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	(void)type;
	(void)align;
	return model_alloc(size);
}
