/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LINE_H
#define LINE_H

/* The line that a program prints to stderr when it refuses something. */

#include <stdio.h>
#include <string.h>

#include "fuzz.h"

#ifndef LINE_BEGIN
#define LINE_BEGIN "weir-testpmd: "
#endif

static FILE *line_stderr;
static char *line_text;
static size_t line_size;

/* From here on to line_end(), stderr is memory. */
static inline void
line_begin(void)
{
	line_stderr = stderr;
	stderr = open_memstream(&line_text, &line_size);
	fuzz_check(stderr != NULL);
}

/* What was printed. The caller frees it. */
static inline char *
line_end(void)
{
	fuzz_check(fclose(stderr) == 0);
	stderr = line_stderr;
	fuzz_check(line_text != NULL);
	return line_text;
}

/* One line, which no terminal would take for more, with something in it. */
static inline void
line_check(const char *line)
{
	size_t length = strlen(line), i;

	fuzz_check(length == line_size);
	fuzz_check(strncmp(line, LINE_BEGIN, strlen(LINE_BEGIN)) == 0);
	fuzz_check(length > strlen(LINE_BEGIN) + 1 && line[length - 1] == '\n');
	for (i = 0; i < length - 1; i++)
		fuzz_check((unsigned char)line[i] >= ' ' && line[i] != 0x7f);
}

#endif
