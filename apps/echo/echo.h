/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ECHO_ECHO_H
#define ECHO_ECHO_H

#include <weir.h>
#include <weir_ethdev.h>

#include "answer.h"

/* A port, and what its fiber counts. */
struct echo_port {
	uint16_t id;
	unsigned int if_index; /* the kernel's; 0: none */
	struct identity me;
	struct rte_mempool *pool;
	struct weir_rxq *rxq;
	struct weir_txq *txq;
	uint64_t received, answered;
	struct weir_join *join;
};

/* port.c: 0, or -errno with one line on stderr. */
int
port_open(struct echo_port *port, uint16_t id, unsigned int nb_workers);
/*
 * Ends the port's sources if the kernel's interface that it is on has gone, which
 * PMDs such as net_af_packet and net_tap do not tell.
 */
void
port_watch(const struct echo_port *port);
/* How many mbufs are not where they belong. */
unsigned int
port_close(struct echo_port *port);

/*
 * echo.c: answers what the port receives, from the node of the worker that looks after
 * its receive queue. NULL with rte_errno.
 */
struct weir_join *
echo_spawn(struct weir_runtime *rt, struct echo_port *port,
	   unsigned int worker);

#endif
