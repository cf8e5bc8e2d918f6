/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

/*
 * How a program says why not: every refusal is one line that names the option and the
 * value, and says what would be right.
 */

/* Each program's own. */
extern const char program_name[];

/* Prints one line, beginning with the program's name, to stderr. */
void
error_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A macro, so that it can be used to return: `return REFUSE(status, ...)`. */
#define REFUSE(status, ...) (error_line(__VA_ARGS__), (status))

#endif
