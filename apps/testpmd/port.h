/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_PORT_H
#define TESTPMD_PORT_H

/*
 * Ports: set up, started, emptied, closed, each by the main lcore, and the
 * mempools that their packets come from.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

struct options;
struct plan;

struct port {
	uint16_t id;
	char name[RTE_ETH_NAME_MAX_LEN];
	const char *driver; /* its name, or "" */
	int node;	    /* NUMA node id */
	uint16_t max_rxq;
	uint16_t max_txq;
	uint16_t nb_streams;
	uint16_t nb_rxq;
	uint16_t nb_txq;
	uint16_t rxd;
	uint16_t txd;
	struct rte_ether_addr mac;
	struct rte_mempool *pool; /* of its node */
	bool started;

	/* watch.c's */
	unsigned int if_index; /* of the kernel interface beneath, or 0 */
	bool watched;	       /* the PMD does not report the link itself */
	bool link_up;
	bool gone;

	/* stats.c's */
	/* Packets before forwarding began: sent, and not taken. */
	uint64_t tx_first;
	uint64_t tx_first_dropped;
	struct rte_eth_stats base;
	struct rte_eth_stats last;
};

/* Finds out what a port is and can do. Returns 0 or -errno. */
int
port_probe(struct port *port, uint16_t id);

/*
 * Makes a pool on each node that has a port, sets the ports up and starts
 * them. Returns an enum exit_status; unless it is STATUS_OK a line was printed.
 */
int
ports_start(struct plan *plan, const struct options *options);

/* Sends a burst on each transmit queue. Before any stream is started. */
void
ports_tx_first(struct plan *plan, const struct options *options);

/*
 * Stops and closes the ports that were started. What their receive queues hold
 * is freed first: a PMD of software rings does not free it itself.
 */
void
ports_close(struct plan *plan);

/* Frees the pools. Returns the number of mbufs that were not given back. */
unsigned int
pools_free(struct plan *plan);

#endif
