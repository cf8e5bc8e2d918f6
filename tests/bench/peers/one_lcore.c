/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What `one_queue_*` do where each queue is one lcore's, as in testpmd and l3fwd: the
 * first worker lcore receives from all ports, does the work, and sends to their partners.
 *
 *	one_lcore [EAL options] -- STEPS
 *
 * Prints the ports' rates each second until it is interrupted.
 */

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "lcores.h"
#include "ports.h"
/* The same work. */
#include "../../../apps/flows/work.h"

static uint16_t nb_ports;

static int
forward(void *arg)
{
	const unsigned int steps = *(const unsigned int *)arg;
	uint16_t port;

	while (goes_on())
		for (port = 0; port < nb_ports; port++) {
			struct rte_mbuf *pkts[BURST];
			uint16_t n = rte_eth_rx_burst(port, 0, pkts, BURST);

			work_on(n * steps);
			send_all(partner(port, nb_ports), 0, pkts, n);
		}
	return 0;
}

int
main(int argc, char **argv)
{
	struct rte_mempool *pool;
	unsigned int steps;
	uint16_t port;
	int used;

	used = rte_eal_init(argc, argv);
	must(used, "EAL");
	if (argc - used != 2 || rte_lcore_count() < 2)
		rte_exit(EXIT_FAILURE, "no worker lcore, or how many steps?\n");
	steps = (unsigned int)atoi(argv[used + 1]);
	nb_ports = rte_eth_dev_count_avail();
	signal(SIGINT, interrupt);
	pool = make_pool(nb_ports * PORT_MBUFS);
	for (port = 0; port < nb_ports; port++)
		start_port(port, pool, 1);
	must(rte_eal_remote_launch(forward, &steps,
				   rte_get_next_lcore(-1, 1, 0)),
	     "launch");
	print_rates(nb_ports);
	wait_lcores();
	rte_eal_cleanup();
	return 0;
}
