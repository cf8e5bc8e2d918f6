/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_FD_H
#define WEIR_FD_H

/**
 * @file
 * File descriptors of the kernel: sockets, pipes, eventfds, timerfds, signalfds,
 * and whatever else epoll(7) takes.
 *
 * They are in sets. A set is a source: one epoll fd, which its worker looks into
 * with one call for all of them while tasks wait. It moves with all that is in
 * it, by weir_source_move() or when its worker retires. Make one set for each
 * worker that is to look after fds.
 *
 * The look costs a system call, so a worker that is busy does it now and then:
 * at its next poll after something was found and after a task began to wait, and
 * then after twice as long each time that it finds nothing, up to the set's
 * longest gap; or a sixteenth of that, while it has nothing to run. A fd that becomes
 * ready is noticed within that gap and the time between two polls of the worker's
 * sources. A worker that sleeps in the kernel
 * is woken by the fd; for that the set is added to what it sleeps on, for which the
 * kernel walks over all fds of the set, so each sleep while a task waits for one of
 * them costs the more, the more there are.
 *
 * A signalfd tells of signals to the process, which all its threads have to
 * block: so the program blocks them before rte_eal_init(), whose threads do then as
 * well. Those to one thread are for that thread alone.
 */

#include <sys/epoll.h>
#include <sys/socket.h>

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_fd;
struct weir_fd_set;

/** The longest gap, in microseconds, where none is given. */
#define WEIR_FD_GAP_US 200
/** The longest that can be given: a second. */
#define WEIR_FD_GAP_MAX_US 1000000

/**
 * Each time that it becomes ready is told once, as with EPOLLET: whoever has been told
 * goes on until EAGAIN, or reads on without being told; so who waits to read and to
 * write at once takes both from others that wait for one of them. That costs no system
 * call a wait. Without this flag a wait ends if the fd is ready.
 */
#define WEIR_FD_EDGE (1u << 0)

/**
 * Makes an empty set on a worker.
 *
 * @param max_gap_us  The longest gap between two looks, in microseconds, up to
 *                    WEIR_FD_GAP_MAX_US; 0: WEIR_FD_GAP_US. A look that finds
 *                    nothing takes some 0.2 us; a shorter gap takes more from
 *                    what else the worker does.
 * @return NULL with rte_errno: EINVAL (no such worker, or it does not run; no
 * such gap), EMFILE, ENFILE, ENOMEM, ESHUTDOWN.
 *
 * Any thread.
 */
WEIR_API struct weir_fd_set *
weir_fd_set_create(struct weir_runtime *rt, unsigned int worker,
		   unsigned int max_gap_us);

/**
 * Frees a set. NULL is legal. Any thread, once all that was in it has been freed;
 * before the runtime is freed.
 */
WEIR_API void
weir_fd_set_free(struct weir_fd_set *set);

/** The set as a source, for weir_source_close(), moves and statistics. Any thread. */
WEIR_API struct weir_source *
weir_fd_set_source(struct weir_fd_set *set);

/**
 * Puts a file descriptor into a set.
 *
 * @param fd     Open, with O_NONBLOCK. Stays the caller's, who closes it after
 *               weir_fd_free(). One that is closed before, and of which there is
 *               no duplicate, is in no set any more, and the kernel tells nobody:
 *               who waits for it waits on. Never close it before while there is a
 *               duplicate, of dup(2) or in a child process: the kernel would go on
 *               to tell of it, and weir_fd_free() frees what that is told to. Nor
 *               while its number may be given to another fd in the set: that one
 *               would be taken out in its place.
 * @param flags  WEIR_FD_EDGE or 0.
 * @return NULL with rte_errno: EINVAL (not O_NONBLOCK, no such flag), EBADF,
 * EEXIST (is in the set), EPERM (a regular file or directory, which is always
 * ready), ENOMEM, ENOSPC (the user has too many in epoll sets), ELOOP (an epoll fd
 * with others too deep in it). In a set that is closed it succeeds, and its waits say
 * so.
 *
 * Any thread.
 */
WEIR_API struct weir_fd *
weir_fd_create(struct weir_fd_set *set, int fd, unsigned int flags);

/**
 * Takes it out of its set: whoever waits is woken, and every wait, now and later,
 * gives the error. A second call changes nothing.
 *
 * @param error  Positive errno, for example ECANCELED; EINVAL stands in for any
 *               other number.
 *
 * Any thread. The fd stays open: a task may be just reading from it.
 */
WEIR_API void
weir_fd_close(struct weir_fd *f, int error);

/**
 * Closes it if need be, and frees it, but leaves the fd open. NULL is legal.
 *
 * Any thread, once no task uses it; before its set is freed.
 */
WEIR_API void
weir_fd_free(struct weir_fd *f);

/**
 * Waits until the fd is ready, or an error or hang-up has come.
 *
 * A wait without WEIR_FD_EDGE can end for something that another has taken
 * meanwhile, so the call that follows may still give EAGAIN.
 *
 * Spends a unit of budget.
 *
 * @param events  Some of EPOLLIN, EPOLLPRI, EPOLLRDHUP and EPOLLOUT.
 * @return What is ready of these, EPOLLERR and EPOLLHUP; WEIR_PENDING; -EINVAL
 * for other events; the error that it, or its set, was closed with; -EBUSY when
 * nothing of these is ready, and another task waits for one of the first three, if it
 * is among the events, or for the last; -EBADF, -ENOENT or -EPERM, without
 * WEIR_FD_EDGE, when the fd has been closed: nothing has its number, or something else.
 *
 * The task that ctx belongs to. One may wait to read, and another to write; one
 * may have several waits at once, as in weir_select_first(), and is woken for each.
 */
WEIR_API int
weir_fd_wait(struct weir_context *ctx, struct weir_fd *f, uint32_t events);

/**
 * Gives up all the calling task's waits for a fd, to read and to write, after a timeout
 * for example, or in the cancel of a branch (weir_select.h). A wait that is not given
 * up keeps other tasks from waiting there until it or the task ends; its task may go
 * on with it at any time. Nothing that has come is lost. One to read and one to write
 * may be two waits, of which one goes on: the task is then polled once more, to make it
 * again; and again and again, if it begins the other and gives it up in each poll. Of
 * several waits on one side, the task has to make those again that go on
 * before its poll returns.
 *
 * Does nothing if the task does not wait there.
 *
 * The task, in its poll. In its drop there is no need, and nothing happens.
 */
WEIR_API void
weir_fd_cancel(struct weir_fd *f);

/**
 * As read(2), write(2), recvmsg(2) and sendmsg(2); where these give EAGAIN, waits
 * as weir_fd_wait() does. They are tried first; a unit of budget is spent by a try
 * that gives anything else, and none is made without one. Where the set is closed they
 * are tried still, and give its error instead of EAGAIN; weir_fd_close() ends them at
 * once.
 *
 * @return What those return, which fits: Linux moves no more than 0x7ffff000 bytes
 * at a time. WEIR_PENDING, to be called again; -errno of those, or of
 * weir_fd_wait().
 *
 * The task that ctx belongs to, one that reads and one that writes. A write to
 * what the other side has closed raises SIGPIPE, unless it is ignored or the
 * flags have MSG_NOSIGNAL.
 */
WEIR_API int
weir_fd_read(struct weir_context *ctx, struct weir_fd *f, void *buf,
	     size_t size);
/** As weir_fd_read(). */
WEIR_API int
weir_fd_write(struct weir_context *ctx, struct weir_fd *f, const void *buf,
	      size_t size);
/**
 * Reads or writes until it has all of `size` bytes, where weir_fd_read() and
 * weir_fd_write() do a part.
 *
 * @param done  How many bytes have been read, or written, so far: in the task's state,
 *              0 before the first call, and left as it is between calls. Behind an
 *              error, too, it says how many there were.
 * @return 0: all; WEIR_PENDING, to be called again; of a read, -ENODATA: the other side
 * sends no more, or a datagram was empty; -errno as weir_fd_read(). Where `done` says that
 * there is nothing to do it is 0, whatever has become of the fd.
 */
WEIR_API int
weir_fd_read_all(struct weir_context *ctx, struct weir_fd *f, void *buf,
		 size_t size, size_t *done);
/** As weir_fd_read_all(). */
WEIR_API int
weir_fd_write_all(struct weir_context *ctx, struct weir_fd *f, const void *buf,
		  size_t size, size_t *done);
/** As weir_fd_read(). */
WEIR_API int
weir_fd_recvmsg(struct weir_context *ctx, struct weir_fd *f, struct msghdr *msg,
		int flags);
/** As weir_fd_read(). */
WEIR_API int
weir_fd_sendmsg(struct weir_context *ctx, struct weir_fd *f,
		const struct msghdr *msg, int flags);

/**
 * Takes a connection from a socket that listens, as accept4(2): waits where there
 * is none.
 *
 * @param flags  SOCK_NONBLOCK for one that goes into a set itself, and SOCK_CLOEXEC.
 * @return Its fd, which is the caller's; otherwise as weir_fd_read(). Behind some errors
 * the socket goes on: -ECONNABORTED, and of the network's those that accept(2) lists,
 * are those of a connection that is gone; behind -EMFILE, -ENFILE, -ENOBUFS and
 * -ENOMEM the connection waits, to be had when there is room. A Unix socket that was
 * shut down by shutdown(2) tells nobody: end who accepts by a token, or weir_fd_close().
 *
 * The task that ctx belongs to, the one that reads.
 */
WEIR_API int
weir_fd_accept(struct weir_context *ctx, struct weir_fd *f,
	       struct sockaddr *addr, socklen_t *len, int flags);

/**
 * Connects a TCP or a Unix socket, as connect(2), and waits for what comes of it.
 *
 * @return 0; WEIR_PENDING, to be called again; -errno of connect(2), of which -EAGAIN is
 * that a Unix socket's listener has no room, of which the kernel tells nobody when it
 * has: sleep between two tries; otherwise as weir_fd_read(). -ETIMEDOUT may be the
 * kernel's, or that of a weir_timeout() around it.
 *
 * The task that ctx belongs to, the one that writes. One given up goes on in the
 * kernel until the fd is closed.
 */
WEIR_API int
weir_fd_connect(struct weir_context *ctx, struct weir_fd *f,
		const struct sockaddr *addr, socklen_t len);

#ifdef __cplusplus
}
#endif

#endif
