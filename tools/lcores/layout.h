/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_LAYOUT_H
#define LCORES_LAYOUT_H

/*
 * The machine's CPUs in the order in which they are shown: by node, last-level
 * cache and core; and what a map has each of them do.
 */

#include <weir_lcore_map.h>
#include <weir_machine.h>

/* Graver ones later: a CPU that several lcores are on shows the last. */
enum layout_role {
	LAYOUT_NONE,
	LAYOUT_SPARE,
	LAYOUT_MAIN,
	LAYOUT_WORKER,
};

struct layout_cpu {
	const struct weir_machine_cpu *cpu;
	enum layout_role role;
	/* Who has that role; NULL: nobody. */
	const struct weir_lcore_map_lcore *lcore;
};

struct layout {
	const struct weir_machine *machine;
	const struct weir_lcore_map *map; /* NULL: none */
	unsigned int nb_cpus;
	struct layout_cpu *cpus;
	unsigned int nb_cores;
	unsigned int nb_caches;
	unsigned int nb_packages;
	unsigned int core_cpus; /* the most that a core has */
	bool has_memory;	/* some node has; else that of none is known */
};

/* What a run of CPUs has in common. */
enum layout_level {
	LAYOUT_NODE,
	LAYOUT_CACHE,
	LAYOUT_CORE,
};

/* Machine and map stay the caller's. NULL: no memory. */
struct layout *
layout_create(const struct weir_machine *machine,
	      const struct weir_lcore_map *map);

void
layout_free(struct layout *layout);

/* Where the run ends that begins there. */
unsigned int
layout_end(const struct layout *layout, unsigned int begin,
	   enum layout_level level);

/* The worker, or spare one, that polls the queue; or NULL. */
const struct weir_lcore_map_lcore *
layout_poller(const struct weir_lcore_map *map, unsigned int port,
	      unsigned int queue);

/* The device that a port is; or NULL. */
const struct weir_machine_nic *
layout_nic(const struct weir_lcore_map *map, const struct weir_machine *machine,
	   unsigned int port);

/* The port that a device is, if the map says so or polls one there; or -1. */
int
layout_port(const struct weir_lcore_map *map,
	    const struct weir_machine *machine,
	    const struct weir_machine_nic *nic);

/* The word for the policy of an lcore; NULL: it has none of its own. */
const char *
layout_park(const struct weir_lcore_map_lcore *lcore);

/* The first CPU of an lcore, which the machine may not have. */
unsigned int
layout_lcore_cpu(const struct weir_lcore_map_lcore *lcore);

#endif
