/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * No peer but a bound, as floor.c: what forwarding between two net_ring ports takes
 * when each port's queue may move to another worker at any time, and its task be
 * cancelled: a lock around each turn, a look at the task's state before it, and a note
 * behind it that it keeps the next one, since it only yields. Nothing else is there: no
 * queues of tasks, no budget, clock or counters but those of the PMD. A turn goes on
 * until a receive is in vain.
 *
 *	floor_ring [EAL options] -- BURSTS
 *
 * with two ports, to each of which so many bursts are sent; prints their rates each
 * second until it is interrupted.
 */

#include <rte_eal.h>
#include <rte_lcore.h>

#include "ports.h"

#define PORTS 2
#define MBUFS 8192

static struct {
	_Alignas(RTE_CACHE_LINE_SIZE) atomic_uint lock;
	_Alignas(RTE_CACHE_LINE_SIZE) atomic_uint_fast64_t state;
	atomic_uint_fast64_t kept; /* its turn, while the other runs */
} streams[PORTS];

static void
take_turn(uint16_t port)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t n;

	(void)atomic_load_explicit(&streams[port].state, memory_order_acquire);
	while (atomic_exchange_explicit(&streams[port].lock, 1,
					memory_order_acquire) != 0)
		;
	while ((n = rte_eth_rx_burst(port, 0, pkts, BURST)) > 0)
		if (rte_eth_tx_burst(!port, 0, pkts, n) < n)
			rte_exit(EXIT_FAILURE, "a ring is full\n");
	atomic_store_explicit(&streams[port].lock, 0, memory_order_release);
	atomic_store_explicit(&streams[port].kept, 1, memory_order_relaxed);
}

static int
forward(void *arg)
{
	(void)arg;
	while (goes_on()) {
		take_turn(0);
		take_turn(1);
	}
	return 0;
}

static void
put_in(uint16_t port, struct rte_mempool *pool, int bursts)
{
	struct rte_mbuf *pkts[BURST];
	int i;

	for (i = 0; i < bursts; i++) {
		must(rte_pktmbuf_alloc_bulk(pool, pkts, BURST), "mbufs");
		if (rte_eth_tx_burst(port, 0, pkts, BURST) < BURST)
			rte_exit(EXIT_FAILURE, "a ring is full\n");
	}
}

int
main(int argc, char **argv)
{
	struct rte_mempool *pool;
	int used, bursts;
	uint16_t port;

	used = rte_eal_init(argc, argv);
	must(used, "EAL");
	bursts = argc - used == 2 ? atoi(argv[used + 1]) : 0;
	if (bursts < 1)
		rte_exit(EXIT_FAILURE, "how many bursts?\n");
	if (rte_eth_dev_count_avail() != PORTS)
		rte_exit(EXIT_FAILURE, "not two ports\n");
	signal(SIGINT, interrupt);
	pool = make_pool(MBUFS);
	for (port = 0; port < PORTS; port++) {
		start_port(port, pool, 1);
		put_in(port, pool, bursts);
	}
	must(rte_eal_remote_launch(forward, NULL, rte_get_next_lcore(-1, 1, 0)),
	     "launch");
	print_rates(PORTS);
	rte_eal_mp_wait_lcore();
	rte_eal_cleanup();
	return 0;
}
