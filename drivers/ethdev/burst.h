/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ETHDEV_BURST_H
#define ETHDEV_BURST_H

/*
 * Sending and receiving. What the sender did to a packet is done for whoever
 * receives it, also from a PMD that hands it over in memory.
 */

#include <rte_ethdev.h>

#include "base/race.h"

static inline uint16_t
tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++)
		race_release(pkts[i]); /* the PMD */
	return rte_eth_tx_burst(port, queue, pkts, n);
}

static inline uint16_t
rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	n = rte_eth_rx_burst(port, queue, pkts, n);
	for (i = 0; i < n; i++)
		race_acquire(pkts[i]); /* the PMD */
	return n;
}

#endif
