/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TOPOLOGY_LCORE_MAP_H
#define TOPOLOGY_LCORE_MAP_H

/* What the library's own files know of lcore maps beyond weir_lcore_map.h. */

#include <weir_lcore_map.h>

/* enum weir_park, which this component cannot see. */
#define LCORE_MAP_PARK_POLL 0
#define LCORE_MAP_PARK_POLICIES 4

/* The words for them. */
extern const char *const weir__lcore_map_park[LCORE_MAP_PARK_POLICIES];

#endif
