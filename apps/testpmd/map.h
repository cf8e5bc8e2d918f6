/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_MAP_H
#define TESTPMD_MAP_H

/*
 * The lcore map of --map: read from its file, checked against the machine, and
 * gone over to while packets are forwarded.
 */

#include <weir_runtime.h>

struct options;
struct plan;
struct stream;
struct weir_machine;

/*
 * Reads the machine and, if the map is in a file, the map. Before EAL starts,
 * which binds the calling thread to a CPU. Only for --map; else it does nothing.
 *
 * Returns an enum exit_status; unless it is STATUS_OK a line has been printed.
 */
int
map_open(struct options *options, struct weir_machine **machine);

/*
 * Refuses a map that the machine or the ports do not go with, with a line about
 * the first reason; else prints a line for each warning. Returns as above.
 */
int
map_check(const struct options *options, struct plan *plan,
	  const struct weir_machine *machine);

/* Sets the policies that the map has for workers. */
void
map_park(const struct options *options, struct weir_runtime *rt);

/*
 * Reads the map's file again and goes over to what it has now. Prints a line
 * that says what was done or why nothing was.
 */
void
map_reload(struct options *options, struct plan *plan,
	   const struct weir_machine *machine, struct stream **streams,
	   struct weir_runtime *rt);

#endif
