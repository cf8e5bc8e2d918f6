/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The tracer is forked while there is one thread only, and calls nothing but
 * the kernel. It is told which thread to stop, or to let it go, and answers 0 or
 * -errno. It ends with its parent, and then the kernel lets the thread go.
 */

#include "tracer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct order {
	pid_t thread; /* 0: let it go */
	unsigned int max_us;
};

static int wire = -1; /* to the tracer */
static pid_t tracer;

static int
stop(pid_t thread)
{
	int status;

	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) < 0 ||
	    waitpid(thread, &status, __WALL) < 0)
		return -errno;
	return WIFSTOPPED(status) ? 0 : -ESRCH;
}

static void
let_go(pid_t *stopped)
{
	if (*stopped != 0)
		ptrace(PTRACE_DETACH, *stopped, NULL, NULL);
	*stopped = 0;
}

/* Until there is another order, or the time is over. */
static void
hold(int fd, pid_t *stopped, unsigned int max_us)
{
	const struct timespec most = {
		.tv_sec = max_us / 1000000,
		.tv_nsec = max_us % 1000000 * 1000,
	};
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (ppoll(&pfd, 1, &most, NULL) == 0)
		let_go(stopped);
}

static void
trace(int fd)
{
	struct order order;
	pid_t stopped = 0;
	int answer;

	while (read(fd, &order, sizeof(order)) == sizeof(order)) {
		let_go(&stopped);
		answer = order.thread != 0 ? stop(order.thread) : 0;
		if (answer == 0)
			stopped = order.thread;
		if (write(fd, &answer, sizeof(answer)) != sizeof(answer))
			break;
		if (stopped != 0)
			hold(fd, &stopped, order.max_us);
	}
	_exit(0);
}

static int
tell(pid_t thread, unsigned int max_us)
{
	const struct order order = { thread, max_us };
	int answer;

	if (write(wire, &order, sizeof(order)) != sizeof(order) ||
	    read(wire, &answer, sizeof(answer)) != sizeof(answer))
		return -EPIPE;
	return answer;
}

/* Can it be done? A child of ours is what it may be tried on. */
static int
try_out(void)
{
	pid_t child = fork();
	int rc;

	if (child < 0)
		return -errno;
	if (child == 0) {
		/* Yama lets a process be traced by whom it names. */
		prctl(PR_SET_PTRACER, tracer);
		for (;;)
			pause();
	}
	rc = tell(child, 0);
	if (rc == 0)
		tracer_go();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return rc;
}

int
tracer_start(void)
{
	int fds[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	tracer = fork();
	if (tracer < 0)
		return -errno;
	if (tracer == 0) {
		close(fds[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		trace(fds[1]);
	}
	close(fds[1]);
	wire = fds[0];
	prctl(PR_SET_PTRACER, tracer);
	rc = try_out();
	if (rc < 0)
		tracer_end();
	return rc;
}

void
tracer_end(void)
{
	close(wire);
	waitpid(tracer, NULL, 0);
}

int
tracer_stop(pid_t thread, unsigned int max_us)
{
	int rc = tell(thread, max_us);

	/* A thread that is ending: that it may be done is known (tracer_start()). */
	return rc == -EPERM ? -ESRCH : rc;
}

void
tracer_go(void)
{
	tell(0, 0);
}
