/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

/*
 * First of all: a standard stream that is closed is put where every write fails. Else
 * its number would be that of the next file opened, such as the one with EAL's locks.
 */
void
output_begin(void);

/*
 * For atexit(): has standard output taken all that was written to it? Else a line says
 * why not, and the process ends with 1, whoever brought its end about: EAL does so after
 * its --help. error: the errno of a write that failed before; 0: not known.
 */
void
output_end(int error);

/*
 * What --help says of an option, which may be several lines, behind the option itself.
 * width: characters of that. value: what stands for its value, or NULL.
 */
void
output_option(int width, const char *name, const char *value, const char *help);

#endif
