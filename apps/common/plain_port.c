/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <net/if.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "drain.h"
#include "error.h"
#include "plain_port.h"

#define DESCRIPTORS 512
#define POOL_CACHE 256u
#define TX_TIMEOUT_US 1000000u
/* In the rings, held back, and in caches. */
#define MBUFS(nb_workers)                    \
	(2u * DESCRIPTORS + WEIR_BURST_MAX + \
	 ((nb_workers) + 1) * 2 * POOL_CACHE)

/* Without interrupts of the queues: workers poll. Told of its removal. */
static int
configure(struct plain_port *port)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	int rc;

	rc = rte_eth_dev_info_get(port->id, &info);
	if (rc < 0)
		return rc;
	port->if_index = info.if_index;
	if (info.dev_flags != NULL)
		conf.intr_conf.rmv =
			(*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
	return rte_eth_dev_configure(port->id, 1, 1, &conf);
}

static int
start(struct plain_port *port, unsigned int mbufs)
{
	unsigned int node = (unsigned int)rte_eth_dev_socket_id(port->id);
	uint16_t txd = DESCRIPTORS;
	char name[RTE_MEMPOOL_NAMESIZE];
	int rc;

	port->rxd = DESCRIPTORS;
	snprintf(name, sizeof(name), "port_%u", port->id);
	port->pool =
		rte_pktmbuf_pool_create(name, mbufs, POOL_CACHE, 0,
					RTE_MBUF_DEFAULT_BUF_SIZE, (int)node);
	if (port->pool == NULL)
		return -rte_errno;
	rc = configure(port);
	if (rc == 0)
		rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &port->rxd,
						      &txd);
	if (rc == 0)
		rc = rte_eth_rx_queue_setup(port->id, 0, port->rxd, node, NULL,
					    port->pool);
	if (rc == 0)
		rc = rte_eth_tx_queue_setup(port->id, 0, txd, node, NULL);
	if (rc == 0)
		rc = rte_eth_macaddr_get(port->id, &port->mac);
	if (rc == 0)
		rc = rte_eth_dev_start(port->id);
	port->started = rc == 0;
	return rc;
}

int
plain_port_open(struct plain_port *port, uint16_t id, unsigned int nb_workers,
		unsigned int more_mbufs)
{
	int rc;

	port->id = id;
	rc = start(port, MBUFS(nb_workers) + more_mbufs);
	if (rc < 0)
		error_line("port %u does not start: %s", id, rte_strerror(-rc));
	return rc;
}

int
plain_port_attach(struct plain_port *port, struct weir_runtime *rt,
		  unsigned int worker, uint16_t burst)
{
	port->rxq = weir_rxq_create(rt, port->id, 0, worker, burst);
	if (port->rxq != NULL)
		port->txq = weir_txq_create(port->id, 0, TX_TIMEOUT_US);
	if (port->txq != NULL)
		return 0;
	error_line("port %u: %s", port->id, rte_strerror(rte_errno));
	return -rte_errno;
}

void
plain_port_watch(const struct plain_port *port)
{
	char name[IF_NAMESIZE];

	if (port->if_index != 0 &&
	    if_indextoname(port->if_index, name) == NULL && errno == ENXIO)
		weir_port_gone(port->id);
}

void
plain_port_stop(struct plain_port *port)
{
	weir_rxq_free(port->rxq);
	weir_txq_free(port->txq);
	if (port->started)
		port_drain(port->id, 1);
}

unsigned int
plain_port_close(struct plain_port *port)
{
	unsigned int left;

	rte_eth_dev_stop(port->id);
	rte_eth_dev_close(port->id);
	if (port->pool == NULL)
		return 0;
	left = rte_mempool_in_use_count(port->pool);
	rte_mempool_free(port->pool);
	return left;
}
