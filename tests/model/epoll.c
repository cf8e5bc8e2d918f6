/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A set of the kernel's epoll, beside what tests/virtual has of EAL's, and a
 * file in it: it is ready or not, and the set, which workers can wait for, has
 * an event when that comes up. Each call is one step, as under the kernel's
 * lock. It is not watched.
 */

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include "epoll.h"
#include "kernel.h"
#include "memory.h"
#include "model.h"
#include "thread.h"

/* Not a file of tests/virtual. */
#define FILE_FD 99999

static struct {
	int set;
	struct epoll_event event;
	bool in;
	bool ready;
} file;

int
epoll_file(void)
{
	return FILE_FD;
}

static void
step(const char *name)
{
	vthread_where(name, 0);
	vthread_point();
	virtual_acquire(&file);
	virtual_release(&file);
}

static bool
comes_up(void)
{
	return file.in && file.ready && (file.event.events & EPOLLIN);
}

static void
tell_set(void)
{
	if (comes_up())
		kernel_file_signal(file.set);
}

void
epoll_file_ready(void)
{
	step("ready");
	file.ready = true;
	tell_set();
}

int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int
__wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	step("epoll_ctl");
	model_check(fd == FILE_FD && file.in == (op != EPOLL_CTL_ADD));
	file.set = epfd;
	file.in = op != EPOLL_CTL_DEL;
	file.event = *event;
	tell_set();
	return 0;
}

int
__wrap_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout);
int
__wrap_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout)
{
	step("epoll_wait");
	model_check(timeout == 0 && n > 0);
	if (!comes_up())
		return 0;
	model_check(epfd == file.set);
	events[0] = file.event;
	events[0].events = EPOLLIN;
	if (file.event.events & EPOLLONESHOT)
		file.event.events = 0;
	return 1;
}

int
__wrap_poll(struct pollfd *fds, nfds_t n, int timeout);
int
__wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	step("poll");
	model_check(fds->fd == FILE_FD && n == 1 && timeout == 0);
	fds->revents = file.ready ? fds->events & POLLIN : 0;
	return fds->revents != 0;
}

/* The name that fcntl() has with files of any size. */
int
__wrap_fcntl64(int fd, int op, ...);
int
__wrap_fcntl64(int fd, int op, ...)
{
	model_check(fd == FILE_FD && op == F_GETFL);
	return O_NONBLOCK;
}
