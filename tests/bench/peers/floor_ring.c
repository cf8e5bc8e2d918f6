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

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#define PORTS 2
#define BURST 32
#define DESCRIPTORS 1024
#define MBUFS 8192
#define CACHE 256

static struct {
	_Alignas(RTE_CACHE_LINE_SIZE) atomic_uint lock;
	_Alignas(RTE_CACHE_LINE_SIZE) atomic_uint_fast64_t state;
	atomic_uint_fast64_t kept; /* its turn, while the other runs */
} streams[PORTS];

static atomic_bool stop;

static void
interrupted(int signal_number)
{
	(void)signal_number;
	atomic_store(&stop, true);
}

static void
must(int rc, const char *what)
{
	if (rc < 0)
		rte_exit(EXIT_FAILURE, "%s: %s\n", what, rte_strerror(-rc));
}

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
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		take_turn(0);
		take_turn(1);
	}
	return 0;
}

static void
start_port(uint16_t port, struct rte_mempool *pool, int bursts)
{
	const struct rte_eth_conf conf = { 0 };
	struct rte_mbuf *pkts[BURST];
	int i;

	must(rte_eth_dev_configure(port, 1, 1, &conf), "configure");
	must(rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL,
				    pool),
	     "rx queue");
	must(rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL),
	     "tx queue");
	must(rte_eth_dev_start(port), "start");
	for (i = 0; i < bursts; i++) {
		must(rte_pktmbuf_alloc_bulk(pool, pkts, BURST), "mbufs");
		if (rte_eth_tx_burst(port, 0, pkts, BURST) < BURST)
			rte_exit(EXIT_FAILURE, "a ring is full\n");
	}
}

/* What a port has received, and when that was so. */
struct reading {
	uint64_t packets;
	uint64_t tsc;
};

static struct reading
read_port(uint16_t port)
{
	struct rte_eth_stats stats;

	must(rte_eth_stats_get(port, &stats), "stats");
	return (struct reading){ stats.ipackets, rte_rdtsc() };
}

/* By the time that passed: a sleep takes longer than it is asked to. */
static void
print_rate(uint16_t port, struct reading *before)
{
	struct reading now = read_port(port);

	printf("port %u Rx-pps: %.0f\n", port,
	       (double)(now.packets - before->packets) *
		       (double)rte_get_tsc_hz() /
		       (double)(now.tsc - before->tsc));
	*before = now;
}

int
main(int argc, char **argv)
{
	struct reading before[PORTS];
	struct rte_mempool *pool;
	int used, bursts;
	uint16_t port;

	used = rte_eal_init(argc, argv);
	must(used, "EAL");
	bursts = argc - used == 2 ? atoi(argv[used + 1]) : 0;
	if (bursts < 1)
		rte_exit(EXIT_FAILURE, "how many bursts?\n");
	signal(SIGINT, interrupted);
	pool = rte_pktmbuf_pool_create("floor", MBUFS, CACHE, 0,
				       RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (pool == NULL || rte_eth_dev_count_avail() != PORTS)
		rte_exit(EXIT_FAILURE, "no memory, or not two ports\n");
	for (port = 0; port < PORTS; port++)
		start_port(port, pool, bursts);
	must(rte_eal_remote_launch(forward, NULL, rte_get_next_lcore(-1, 1, 0)),
	     "launch");
	for (port = 0; port < PORTS; port++)
		before[port] = read_port(port);
	while (!atomic_load(&stop)) {
		rte_delay_us_sleep(1000000);
		for (port = 0; port < PORTS; port++)
			print_rate(port, &before[port]);
		fflush(stdout);
	}
	rte_eal_mp_wait_lcore();
	rte_eal_cleanup();
	return 0;
}
