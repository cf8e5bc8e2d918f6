/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef COMMON_EAL_H
#define COMMON_EAL_H

/*
 * Starts EAL, and says in one line what its own many lines mean when it does
 * not start.
 */

/* Returns an enum exit_status; unless it is STATUS_OK a line was printed. */
int
eal_start(int argc, char **argv);

/*
 * How the user chose the lcores, for error lines: "-l 0", for example, or
 * "-l/--lcores" when the choice was EAL's.
 */
const char *
eal_lcores_option(void);

/* Says that they leave none for a worker; returns STATUS_FAILED. */
int
eal_refuse_lcores(void);

#endif
