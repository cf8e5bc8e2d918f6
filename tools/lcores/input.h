/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_INPUT_H
#define LCORES_INPUT_H

/*
 * The machine and the maps that the command line names. Each function returns
 * an enum exit_status; unless it is STATUS_OK a line has been printed.
 */

#include <weir_lcore_map.h>
#include <weir_machine.h>

#include "options.h"

/* This machine, or that of --from. */
int
input_machine(const struct options *o, struct weir_machine **machine);

/*
 * A map: text, or a file's. Ports without an address in it have those of
 * --ports; a device that is none of these is refused.
 *
 * @param name  The option that it is of, to begin an error with; or "".
 */
int
input_map(const struct options *o, const char *name, const char *map,
	  struct weir_lcore_map **result);

#endif
