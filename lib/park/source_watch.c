/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The fd that ends a sleep for a source. EAL looks at the rte_epoll_event when the
 * worker has the event from the kernel: the source is there then (source_sleep.c, N1).
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "park/source.h"

struct source_watch {
	struct rte_epoll_event event;
	int fd;
};

int
weir_source_watch(void *priv, int epfd, int fd)
{
	struct weir_source *src = weir_source_of(priv);
	struct source_watch *w = src->watch;

	if (w == NULL)
		w = calloc(1, sizeof(*w));
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
