/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fd that ends a sleep for a source.
 *
 * EAL looks at the rte_epoll_event when the worker has the event from the kernel.
 * By then the source may have moved away, and its user may have freed it.
 *
 * A1 The memory of an rte_epoll_event is never given back, only passed on to the
 *    next source. A worker that is late sees then the address of another source,
 *    which is an address and no more (sleeper.c, K4).
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "park/source.h"

struct source_watch {
	struct rte_epoll_event event;
	int fd;
	struct source_watch *next;
};

static struct lock spare_lock;
static struct source_watch *spare;

static struct source_watch *
get_watch(void)
{
	struct source_watch *w;

	lock_acquire(&spare_lock);
	w = spare;
	if (w != NULL)
		spare = w->next;
	lock_release(&spare_lock);
	return w != NULL ? w : calloc(1, sizeof(*w));
}

void
weir__source_watch_put(struct source_watch *w)
{
	lock_acquire(&spare_lock);
	w->next = spare;
	spare = w;
	lock_release(&spare_lock);
}

int
weir_source_watch(void *priv, int epfd, int fd)
{
	struct weir_source *src = weir_source_of(priv);
	struct source_watch *w = src->watch;

	if (w == NULL)
		w = get_watch();
	if (w == NULL)
		return -ENOMEM;
	src->watch = w;
	w->fd = fd;
	w->event.epdata.event = EPOLLIN;
	w->event.epdata.data = src;
	if (rte_epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &w->event) < 0)
		return -errno;
	return 0;
}

void
weir_source_unwatch(void *priv)
{
	struct source_watch *w = weir_source_of(priv)->watch;

	rte_epoll_ctl(w->event.epfd, EPOLL_CTL_DEL, w->fd, &w->event);
}
