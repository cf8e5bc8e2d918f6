/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_ERROR_H
#define TESTPMD_ERROR_H

/*
 * How the program ends, and how it says why not: every refusal is one line
 * that names the option and the value, and says what would be right.
 */

#include <stdio.h>

enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1, /* the machine did not give what was asked for */
	STATUS_USAGE = 2,  /* an option or a value cannot be read */
};

/* A macro, so that it can be used to return: `return REFUSE(STATUS_USAGE, ...)`. */
#define REFUSE(status, ...) (error_line(__VA_ARGS__), (status))

/* Prints one line, beginning with the program's name, to stderr. */
void
error_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
