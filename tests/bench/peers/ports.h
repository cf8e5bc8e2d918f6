/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PEERS_PORTS_H
#define PEERS_PORTS_H

/* Ports of programs that forward, and the rates that they print until SIGINT. */

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define BURST 32
#define DESCRIPTORS 1024
#define CACHE 256
#define PORT_MBUFS (2 * DESCRIPTORS + 1024) /* what a port needs */

static atomic_bool interrupted;

static inline void
interrupt(int signal_number)
{
	(void)signal_number;
	atomic_store(&interrupted, true);
}

static inline bool
goes_on(void)
{
	return !atomic_load_explicit(&interrupted, memory_order_relaxed);
}

static inline void
must(int rc, const char *what)
{
	if (rc < 0)
		rte_exit(EXIT_FAILURE, "%s: %s\n", what, rte_strerror(-rc));
}

static inline struct rte_mempool *
make_pool(unsigned int mbufs)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(
		"ports", mbufs, CACHE, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
		SOCKET_ID_ANY);

	if (pool == NULL)
		rte_exit(EXIT_FAILURE, "no memory for mbufs\n");
	return pool;
}

/* Ports go in pairs; one that is alone is its own. */
static inline uint16_t
partner(uint16_t port, uint16_t ports)
{
	return (port ^ 1) < ports ? port ^ 1 : port;
}

/* What the port does not take is dropped. */
static inline void
send_all(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent = rte_eth_tx_burst(port, queue, pkts, n);

	rte_pktmbuf_free_bulk(pkts + sent, n - sent);
}

/* With one queue to receive from, and as many to send as it can have. */
static inline void
start_port(uint16_t port, struct rte_mempool *pool, uint16_t tx_queues)
{
	const struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	uint16_t i;

	must(rte_eth_dev_info_get(port, &info), "info");
	tx_queues = RTE_MIN(tx_queues, info.max_tx_queues);
	must(rte_eth_dev_configure(port, 1, tx_queues, &conf), "configure");
	must(rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL,
				    pool),
	     "rx queue");
	for (i = 0; i < tx_queues; i++)
		must(rte_eth_tx_queue_setup(port, i, DESCRIPTORS, SOCKET_ID_ANY,
					    NULL),
		     "tx queue");
	must(rte_eth_dev_start(port), "start");
}

/* What a port has received, and when that was so. */
struct reading {
	uint64_t packets;
	uint64_t tsc;
};

static inline struct reading
read_port(uint16_t port)
{
	struct rte_eth_stats stats;

	must(rte_eth_stats_get(port, &stats), "stats");
	return (struct reading){ stats.ipackets, rte_rdtsc() };
}

/* By the time that passed: a sleep takes longer than it is asked to. */
static inline void
print_rate(uint16_t port, struct reading *before)
{
	struct reading now = read_port(port);

	printf("port %u Rx-pps: %.0f\n", port,
	       (double)(now.packets - before->packets) *
		       (double)rte_get_tsc_hz() /
		       (double)(now.tsc - before->tsc));
	*before = now;
}

static inline void
print_rates(uint16_t ports)
{
	struct reading before[RTE_MAX_ETHPORTS];
	uint16_t port;

	for (port = 0; port < ports; port++)
		before[port] = read_port(port);
	while (goes_on()) {
		rte_delay_us_sleep(1000000);
		for (port = 0; port < ports; port++)
			print_rate(port, &before[port]);
		fflush(stdout);
	}
}

#endif
