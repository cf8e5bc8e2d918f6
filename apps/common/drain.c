/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drain.h"

/* Software rings hold less than this; and there are ports that never run dry. */
#define DRAIN_MAX 65536u

static void
drain_queue(uint16_t port, uint16_t queue)
{
	struct rte_mbuf *pkts[64];
	unsigned int total;
	uint16_t n;

	for (total = 0; total < DRAIN_MAX; total += n) {
		n = rte_eth_rx_burst(port, queue, pkts, RTE_DIM(pkts));
		if (n == 0)
			break;
		rte_pktmbuf_free_bulk(pkts, n);
	}
}

void
port_drain(uint16_t port, uint16_t nb_queues)
{
	uint16_t queue;

	for (queue = 0; queue < nb_queues; queue++)
		drain_queue(port, queue);
}
