/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef COMMON_PLAIN_PORT_H
#define COMMON_PLAIN_PORT_H

/* A port with one queue each way, for programs that want no more. */

#include <stdbool.h>

#include <rte_ether.h>
#include <rte_mempool.h>

#include <weir.h>
#include <weir_ethdev.h>

struct plain_port {
	uint16_t id;
	unsigned int if_index; /* the kernel's; 0: none */
	struct rte_ether_addr mac;
	struct rte_mempool *pool;
	uint16_t rxd; /* descriptors of its receive queue */
	bool started;
	/* From plain_port_attach() on. */
	struct weir_rxq *rxq;
	struct weir_txq *txq;
};

/*
 * Sets a port up and starts it. more_mbufs: how many the program itself may hold at
 * once. 0, or -errno with one line on stderr; plain_port_stop() and plain_port_close()
 * in any case.
 */
int
plain_port_open(struct plain_port *port, uint16_t id, unsigned int nb_workers,
		unsigned int more_mbufs);
/*
 * Gives the runtime its queues; the worker looks after the first, out of which a task
 * gets so many packets at a time. As above.
 */
int
plain_port_attach(struct plain_port *port, struct weir_runtime *rt,
		  unsigned int worker, uint16_t burst);
/*
 * Ends the port's sources if the kernel's interface that it is on has gone, which
 * PMDs such as net_af_packet and net_tap do not tell.
 */
void
plain_port_watch(const struct plain_port *port);
/* Once no task uses its queues: what still lies there is thrown away. */
void
plain_port_stop(struct plain_port *port);
/* Once all ports are stopped. How many mbufs are not where they belong. */
unsigned int
plain_port_close(struct plain_port *port);

#endif
