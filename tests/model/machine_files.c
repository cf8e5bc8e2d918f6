/* SPDX-License-Identifier: BSD-3-Clause */

/* Files: an eventfd, and the epoll file that it is added to. */

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_epoll.h>

#include "base/atomic.h"
#include "machine.h"
#include "memory.h"
#include "model.h"
#include "thread.h"

/* Those below are the real kernel's. */
#define FIRST_FD 100000
#define FILES_MAX 32

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
bool
machine_end_short_sleeps(void)
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
