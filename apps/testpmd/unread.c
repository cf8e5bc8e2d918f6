/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * poll() tells that a pipe has room for a page, or a terminal for a byte, but not for
 * how much, and a write of more blocks. So the pipe or terminal is opened once more, not
 * to block: the first one may be others' too, whose writes are to wait. stdout becomes a
 * stream of ours (fopencookie(3)), for printf() to stay what it is.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "unread.h"

static struct {
	int fd;
	bool waits;
	sigset_t signals; /* to unblock when it waits */
	size_t held;	  /* bytes of text that were not taken yet */
	char text[64 << 10];
} unread = { .fd = -1 };

/* As much as is taken now. False: it cannot be written. */
static bool
write_held(void)
{
	ssize_t n;

	if (unread.held == 0)
		return true;
	do {
		n = write(unread.fd, unread.text, unread.held);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN;
	unread.held -= (size_t)n;
	memmove(unread.text, unread.text + n, unread.held);
	return true;
}

/* All of it. */
static bool
wait_held(void)
{
	struct pollfd out = { .fd = unread.fd, .events = POLLOUT };

	while (write_held()) {
		if (unread.held == 0)
			return true;
		pthread_sigmask(SIG_UNBLOCK, &unread.signals, NULL);
		poll(&out, 1, -1);
	}
	return false;
}

static void
hold(const char *text, size_t n)
{
	memcpy(unread.text + unread.held, text, n);
	unread.held += n;
}

/* For fopencookie(): gives n, or 0 with errno. */
static ssize_t
write_line(void *cookie, const char *text, size_t n)
{
	size_t part, done;

	(void)cookie;
	if (!unread.waits) {
		if (!write_held())
			return 0;
		/* Else it is lost as a whole. */
		if (n <= sizeof(unread.text) - unread.held)
			hold(text, n);
		return write_held() ? (ssize_t)n : 0;
	}
	for (done = 0; done < n; done += part) {
		part = RTE_MIN(n - done, sizeof(unread.text));
		if (!wait_held())
			return 0;
		hold(text + done, part);
	}
	return wait_held() ? (ssize_t)n : 0;
}

void
unread_begin(void)
{
	const cookie_io_functions_t functions = { .write = write_line };
	struct stat is;
	FILE *stream = NULL;

	/* Files always take what is written, and sockets cannot be opened again. */
	if (fstat(STDOUT_FILENO, &is) == 0 &&
	    (S_ISFIFO(is.st_mode) || isatty(STDOUT_FILENO)))
		unread.fd = open("/proc/self/fd/1",
				 O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (unread.fd >= 0)
		stream = fopencookie(NULL, "w", functions);
	if (stream != NULL) {
		fflush(stdout);
		stdout = stream;
	} else if (unread.fd >= 0) {
		close(unread.fd);
		unread.fd = -1;
	}
	/* Whoever reads our lines through a pipe waits for them. */
	setvbuf(stdout, NULL, _IOLBF, 0);
}

bool
unread_has_room(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	/* An error is for the next write to find. */
	return !write_held() || (unread.held == 0 && poll(&out, 1, 0) != 0);
}

void
unread_wait(const sigset_t *signals)
{
	unread.waits = true;
	unread.signals = *signals;
	/* A write tells that its reader has gone. */
	sigdelset(&unread.signals, SIGPIPE);
	/* Where it was not opened again the write itself waits. */
	if (unread.fd < 0 && !unread_has_room())
		pthread_sigmask(SIG_UNBLOCK, &unread.signals, NULL);
}
