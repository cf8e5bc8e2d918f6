/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * System calls on fds: tried first, and waited for where they would block.
 */

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fd.h"
#include "weir_task.h"

static int
try_begin(struct weir_context *ctx, const struct weir_fd *f)
{
	int error = (int)atomic_u32_load(&f->closed, RELAXED);

	return error != 0 ? -error : weir_context_spend(ctx, 0);
}

/* 0: try once more. */
static int
try_again(struct weir_context *ctx, struct weir_fd *f, uint32_t events)
{
	int rc;

	if (errno == EINTR)
		return 0;
	if (errno != EAGAIN) {
		rc = -errno;
		weir_context_spend(ctx, 1);
		return rc;
	}
	rc = weir__fd_wait(ctx, f, events, true);
	return rc < 0 ? rc : 0;
}

/*
 * Makes a system call until it has done something, or there is an error. What the
 * call gives fits an int: the kernel's MAX_RW_COUNT sees to it.
 */
#define try_call(ctx, f, events, call)                           \
	__extension__({                                          \
		ssize_t done_;                                   \
		do {                                             \
			done_ = try_begin((ctx), (f));           \
			if (done_ < 0)                           \
				break;                           \
			done_ = (call);                          \
			if (done_ >= 0) {                        \
				weir_context_spend((ctx), 1);    \
				break;                           \
			}                                        \
			done_ = try_again((ctx), (f), (events)); \
		} while (done_ == 0);                            \
		(int)done_;                                      \
	})

int
weir_fd_read(struct weir_context *ctx, struct weir_fd *f, void *buf,
	     size_t size)
{
	return try_call(ctx, f, EPOLLIN, read(f->fd, buf, size));
}

int
weir_fd_write(struct weir_context *ctx, struct weir_fd *f, const void *buf,
	      size_t size)
{
	return try_call(ctx, f, EPOLLOUT, write(f->fd, buf, size));
}

int
weir_fd_read_all(struct weir_context *ctx, struct weir_fd *f, void *buf,
		 size_t size, size_t *done)
{
	int n;

	while (*done < size) {
		n = weir_fd_read(ctx, f, (char *)buf + *done, size - *done);
		if (n <= 0)
			return n < 0 ? n : -ENODATA;
		*done += (size_t)n;
	}
	return 0;
}

int
weir_fd_write_all(struct weir_context *ctx, struct weir_fd *f, const void *buf,
		  size_t size, size_t *done)
{
	int n;

	while (*done < size) {
		n = weir_fd_write(ctx, f, (const char *)buf + *done,
				  size - *done);
		if (n < 0)
			return n;
		*done += (size_t)n;
	}
	return 0;
}

int
weir_fd_recvmsg(struct weir_context *ctx, struct weir_fd *f, struct msghdr *msg,
		int flags)
{
	return try_call(ctx, f, EPOLLIN, recvmsg(f->fd, msg, flags));
}

int
weir_fd_sendmsg(struct weir_context *ctx, struct weir_fd *f,
		const struct msghdr *msg, int flags)
{
	return try_call(ctx, f, EPOLLOUT, sendmsg(f->fd, msg, flags));
}

int
weir_fd_accept(struct weir_context *ctx, struct weir_fd *f,
	       struct sockaddr *addr, socklen_t *len, int flags)
{
	return try_call(ctx, f, EPOLLIN, accept4(f->fd, addr, len, flags));
}

int
weir_fd_connect(struct weir_context *ctx, struct weir_fd *f,
		const struct sockaddr *addr, socklen_t len)
{
	int rc;

	for (;;) {
		rc = try_begin(ctx, f);
		if (rc < 0)
			return rc;
		/* Linux: made again, it tells once what came of the one before. */
		rc = connect(f->fd, addr, len) < 0 ? -errno : 0;
		if (rc == -EINPROGRESS || rc == -EALREADY) {
			rc = weir__fd_wait(ctx, f, EPOLLOUT, true);
			if (rc < 0)
				return rc;
		} else if (rc != -EINTR) {
			weir_context_spend(ctx, 1);
			return rc;
		}
	}
}
