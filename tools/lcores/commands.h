/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_COMMANDS_H
#define LCORES_COMMANDS_H

/*
 * What the commands do, with what the command line names. Each prints its
 * answer to `out` and returns an enum exit_status; unless the answer is there,
 * a line has been printed.
 */

#include <stdio.h>

#include "input.h"

/* Against the machine. */
int
check_map(FILE *out, const struct options *o, const struct weir_lcore_map *map,
	  const struct weir_machine *machine);

/* For the machine. */
int
suggest_map(FILE *out, const struct options *o,
	    const struct weir_machine *machine);

/* The machine, if there is one, is asked for the nodes of lcores. */
int
diff_maps(FILE *out, const struct weir_lcore_map *before,
	  const struct weir_lcore_map *after,
	  const struct weir_machine *machine);

#endif
