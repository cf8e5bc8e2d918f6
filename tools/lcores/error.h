/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_ERROR_H
#define LCORES_ERROR_H

/*
 * How the program ends, and how it says why not: every refusal is one line
 * that names the option and the value, and says what would be right.
 */

enum exit_status {
	STATUS_OK = 0,
	STATUS_NO = 1,	    /* it was done, and the answer is no */
	STATUS_TROUBLE = 2, /* it could not be done */
};

/* A macro, so that it can be used to return: `return REFUSE(status, ...)`. */
#define REFUSE(status, ...) (error_line(__VA_ARGS__), (status))

/* Prints one line, beginning with the program's name, to stderr. */
void
error_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
