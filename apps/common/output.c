/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "output.h"

void
output_begin(void)
{
	int fd;

	/* From the lowest: open() gives the lowest number that is free. */
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			break;
}

void
output_end(int error)
{
	bool failed = ferror(stdout) != 0;

	errno = error;
	if (fflush(stdout) == 0 && !failed)
		return;
	fprintf(stderr, "%s: standard output: %s\n", program_name,
		errno != 0 ? strerror(errno) : "cannot write");
	_exit(1);
}

void
output_option(int width, const char *name, const char *value, const char *help)
{
	const char *line, *end;
	char left[40];

	snprintf(left, sizeof(left), "--%s%s%s", name, value != NULL ? " " : "",
		 value != NULL ? value : "");
	for (line = help; *line != '\0'; line = end) {
		end = line + strcspn(line, "\n");
		printf("  %-*s %.*s\n", width, left, (int)(end - line), line);
		left[0] = '\0';
		end += *end == '\n';
	}
}
