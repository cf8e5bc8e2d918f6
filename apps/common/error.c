/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"

void
error_line(const char *format, ...)
{
	char *line, *c;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	/* What is quoted may be anything; it stays a line. */
	for (c = line; c != NULL && *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", program_name, line != NULL ? line : format);
	free(line);
}
