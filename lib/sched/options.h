/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SCHED_OPTIONS_H
#define SCHED_OPTIONS_H

#include "sched/weir_runtime.h"
#include "topology/topology.h"

/* Characters of a name; more would not fit into those of rings and pools. */
#define OPTIONS_NAME_LEN 8

/*
 * The lcores of the places that valid options mean, in order of worker. Returns
 * how many; there is room for RTE_MAX_LCORE.
 */
unsigned int
weir__options_places(const struct weir_options *o, struct place *places);

static inline bool
weir__park_valid(enum weir_park park)
{
	return (unsigned int)park <= WEIR_PARK_ADAPTIVE;
}

#endif
