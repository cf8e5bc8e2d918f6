/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef COMMON_ARGUMENTS_H
#define COMMON_ARGUMENTS_H

/* The arguments of a program on DPDK: EAL's, "--", and its own. */

#include <stdbool.h>
#include <stddef.h>

/* How many are EAL's, with the program's name: those before the "--". */
int
arguments_of_eal(int argc, char **argv);

/*
 * The value of argv[i] when that is the named option, with "=", joined or in
 * the next argument; NULL when it is another.
 */
const char *
argument_value(int argc, char **argv, int i, const char *name);

/*
 * strtoull() without its leniency: digits only, and all of the text. Of base 16, "0x" may
 * come before them. False: it is no such number, or too large a one.
 */
bool
argument_number(const char *text, int base, unsigned long long *number);

/*
 * How EAL is told its lcores, last: the option with its value. Before EAL starts, since
 * it moves the arguments about.
 */
void
argument_of_lcores(int argc, char **argv, char *text, size_t size);

#endif
