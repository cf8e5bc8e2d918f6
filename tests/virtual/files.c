/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a thread can wait for with epoll: a file has had an event, or not. Who
 * is told about it has looked into it, as edge-triggered epoll and EAL, which
 * reads what it waited for, have it.
 */

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_epoll.h>

#include "base/atomic.h"
#include "kept.h"
#include "kernel.h"
#include "wraps.h"

/* Those below are the real kernel's. */
#define FIRST_FD 100000
#define MAX_FILES 4096
/* As long as a poller's pause may be. */
#define SHORT_WAIT_NS 1000000

struct file {
	bool open;
	bool event;
	unsigned int events;  /* how many of those that it watches have one */
	struct file *watcher; /* an epoll file, or NULL */
	struct rte_epoll_event *about;
};

static struct file files[MAX_FILES] KEPT;
static unsigned int used KEPT; /* all behind them are as new */

void
kernel_files_reset(void)
{
	memset(files, 0, used * sizeof(files[0]));
	used = 0;
}

static struct file *
file_of(int fd)
{
	unsigned int i = (unsigned int)(fd - FIRST_FD);

	if (i >= used || !files[i].open)
		virtual_failed("a file is used that is not open");
	return &files[i];
}

/*
 * Threads that wait are asked before each step, so an epoll file counts what it
 * would be told of.
 */
static void
set_event(struct file *f, bool event)
{
	if (f->watcher != NULL)
		f->watcher->events += (unsigned int)event - f->event;
	f->event = event;
}

static void
set_watcher(struct file *f, struct file *watcher)
{
	if (f->watcher != NULL)
		f->watcher->events -= f->event;
	f->watcher = watcher;
	if (f->watcher != NULL)
		f->watcher->events += f->event;
}

int
kernel_file_open(void)
{
	unsigned int i;

	for (i = 0; i < used && files[i].open; i++)
		;
	if (i == MAX_FILES)
		virtual_failed("more than %d files", MAX_FILES);
	if (i == used)
		used++;
	memset(&files[i], 0, sizeof(files[i]));
	files[i].open = true;
	kernel_counts.files++;
	return FIRST_FD + (int)i;
}

void
kernel_file_signal(int fd)
{
	struct file *f = file_of(fd);

	virtual_release(f);
	set_event(f, true);
	vthread_progress();
}

int
__wrap_eventfd(unsigned int count, int flags)
{
	return kernel_file_open();
}

int
__wrap_epoll_create1(int flags)
{
	return kernel_file_open();
}

ssize_t
__wrap_write(int fd, const void *p, size_t size)
{
	if (fd < FIRST_FD)
		return __real_write(fd, p, size);
	virtual_call("write");
	kernel_file_signal(fd);
	return (ssize_t)size;
}

int
__wrap_close(int fd)
{
	struct file *f;
	unsigned int i;

	if (fd < FIRST_FD)
		return __real_close(fd);
	f = file_of(fd);
	set_watcher(f, NULL);
	f->open = false;
	kernel_counts.files--;
	for (i = 0; i < used; i++)
		if (files[i].watcher == f)
			set_watcher(&files[i], NULL);
	return 0;
}

int
__wrap_rte_epoll_ctl(int epfd, int op, int fd, struct rte_epoll_event *event)
{
	struct file *watcher = file_of(epfd), *f = file_of(fd);

	virtual_call("rte_epoll_ctl");
	if (op == EPOLL_CTL_ADD && f->watcher != NULL)
		return -EEXIST;
	if (op == EPOLL_CTL_DEL && f->watcher != watcher)
		return -ENOENT;
	set_watcher(f, op == EPOLL_CTL_ADD ? watcher : NULL);
	f->about = event;
	event->epfd = epfd;
	event->fd = fd;
	return 0;
}

static bool
has_event(const void *watcher)
{
	return ((const struct file *)watcher)->events > 0;
}

int
__wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	     const sigset_t *mask)
{
	const struct file *watcher;
	uint64_t ns;

	if (fds[0].fd < FIRST_FD)
		return __real_ppoll(fds, n, timeout, mask);
	watcher = file_of(fds[0].fd);
	virtual_call("ppoll");
	/* A signal. */
	if (kernel_chance(KERNEL_SPURIOUS))
		return -1;
	ns = (uint64_t)timeout->tv_sec * KERNEL_HZ + (uint64_t)timeout->tv_nsec;
	if (kernel_options.short_waits_poll && ns <= SHORT_WAIT_NS)
		virtual_pause(VIRTUAL_SITE);
	else
		kernel_await_until(has_event, watcher, kernel_now() + ns);
	return has_event(watcher);
}

int
__wrap_rte_epoll_wait_interruptible(int epfd, struct rte_epoll_event *events,
				    int n, int timeout_ms)
{
	const struct file *watcher = file_of(epfd);
	int got = 0;
	unsigned int i;

	virtual_call("rte_epoll_wait");
	for (i = 0; i < used && got < n; i++) {
		if (!files[i].event || files[i].watcher != watcher)
			continue;
		set_event(&files[i], false);
		virtual_acquire(&files[i]);
		events[got++] = *files[i].about;
	}
	virtual_saw((uint64_t)got);
	return got;
}
