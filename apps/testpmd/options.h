/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_OPTIONS_H
#define TESTPMD_OPTIONS_H

/*
 * The program's own options: what follows "--" on the command line. Parsing
 * looks at nothing but the command line; whether the lcores and ports exist is
 * checked in plan.c, once EAL knows.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_config.h>
#include <rte_ether.h>

#include <weir_lcore_map.h>
#include <weir_runtime.h>

/* What is given when nothing is. */
#define DEFAULT_DESCRIPTORS 1024
#define DEFAULT_BURST 32

/* More do not fit into the ring of a mempool. */
#define MBUFS_MAX ((1u << 30) - 1)

struct forward_mode;

struct options {
	const struct forward_mode *mode;
	unsigned int nb_cores; /* 0: all worker lcores */
	uint16_t rxq;	       /* 0: not given */
	uint16_t txq;	       /* 0: not given */
	uint16_t rxd;
	uint16_t txd;
	uint16_t burst;
	enum weir_park park;
	uint16_t tx_first; /* bursts */
	bool help;
	uint64_t portmask;	  /* 0: not given */
	unsigned int nb_mbufs;	  /* 0: as many as the queues need */
	uint64_t stats_period_ns; /* 0: never */
	uint64_t run_for_ns;	  /* 0: until a signal comes */
	struct rte_ether_addr eth_peer[RTE_MAX_ETHPORTS];
	bool has_peer[RTE_MAX_ETHPORTS]; /* it was given */
	/* Both NULL: all is dealt to the workers. The map of a file is read
	 * later, by map.c. */
	const char *map_file;
	struct weir_lcore_map *map;
	const char *map_option; /* that gave it: "config" or "map" */
	const char *map_value;	/* its value */
};

/*
 * Fills options from argv[1] on; argv[0] is the program's name.
 *
 * Returns an enum exit_status; unless it is STATUS_OK a line has been printed.
 * In any case options_free() is due.
 */
int
options_parse(int argc, char **argv, struct options *options);

void
options_free(struct options *options);

/* Prints the options, each with its default. */
void
options_print_help(const char *program);

#endif
