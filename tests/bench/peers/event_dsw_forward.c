/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets between ports through DPDK's distributed software event device, which moves
 * flows from a busy lcore to one that is less so: what `forward_even`, `forward_uneven`
 * and `one_queue_*` do, on the same lcores and ports.
 *
 *	event_dsw_forward [EAL options] -- [STEPS]
 *
 * Ports go in pairs. Each worker lcore receives from its share of them, as it does in
 * testpmd, and gives what it received to the device; of what the device gives it, it
 * swaps the addresses and sends it. A port's packets are one flow, so they stay in order.
 * With STEPS a packet takes so many instead, and flows are those of UDP in IPv4. Prints
 * the ports' rates each second until it is interrupted.
 */

#include <string.h>

#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_jhash.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "event_device.h"
#include "lcores.h"
#include "ports.h"
/* The same work. */
#include "../../../apps/flows/work.h"

#define MOST_PORTS 32
#define MOST_BURST 64 /* 32 and 128 are as fast */

static uint8_t device;
static uint16_t nb_ports;
static unsigned int steps;
static bool works;

/* What the device did not take yet: nothing is received before it has. */
struct pending {
	struct rte_event events[BURST];
	uint16_t n;
	uint16_t given;
};

struct batch {
	struct rte_mbuf *pkts[MOST_BURST];
	uint16_t n;
};

struct lcore {
	uint8_t port; /* of the device; its queue of each port it sends to */
	uint16_t first, end; /* the ports that it receives from */
	struct pending pending[MOST_PORTS];
	struct batch batches[MOST_PORTS]; /* by the port to send to */
};

static struct lcore lcores[RTE_MAX_LCORE];

/* Addresses and ports, which lie side by side. */
static uint32_t
flow_of(const struct rte_mbuf *pkt)
{
	uint32_t words[3];

	memcpy(words, rte_pktmbuf_mtod_offset(pkt, const void *, 26),
	       sizeof(words));
	return rte_jhash_32b(words, RTE_DIM(words), 0);
}

static void
receive(struct pending *p, uint16_t port)
{
	struct rte_mbuf *pkts[BURST];
	uint16_t i;

	p->given = 0;
	p->n = rte_eth_rx_burst(port, 0, pkts, BURST);
	for (i = 0; i < p->n; i++) {
		p->events[i].event = 0;
		p->events[i].op = RTE_EVENT_OP_NEW;
		p->events[i].sched_type = RTE_SCHED_TYPE_ATOMIC;
		p->events[i].flow_id = works ? flow_of(pkts[i]) : port;
		p->events[i].mbuf = pkts[i];
	}
}

static void
give(struct lcore *l, uint16_t port)
{
	struct pending *p = &l->pending[port];

	if (p->given == p->n)
		receive(p, port);
	if (p->n > 0)
		p->given += rte_event_enqueue_new_burst(
			device, l->port, p->events + p->given, p->n - p->given);
}

/* As testpmd does. */
static void
swap_addresses(struct rte_mbuf *pkt)
{
	struct rte_ether_hdr *ether =
		rte_pktmbuf_mtod(pkt, struct rte_ether_hdr *);
	struct rte_ether_addr dst = ether->dst_addr;

	ether->dst_addr = ether->src_addr;
	ether->src_addr = dst;
	pkt->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	pkt->l2_len = sizeof(struct rte_ether_hdr);
	pkt->l3_len = 20;
}

static void
take(struct lcore *l)
{
	struct rte_event events[MOST_BURST];
	struct batch *batch;
	uint16_t n, i;

	/* Behind it the device gives what this lcore had last time to others. */
	n = rte_event_dequeue_burst(device, l->port, events, MOST_BURST, 0);
	for (i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(
				rte_pktmbuf_mtod(events[i + 1].mbuf, void *));
		if (works)
			work_on(steps);
		else
			swap_addresses(events[i].mbuf);
		batch = &l->batches[partner(events[i].mbuf->port, nb_ports)];
		batch->pkts[batch->n++] = events[i].mbuf;
	}
	for (i = 0; n > 0 && i < nb_ports; i++) {
		batch = &l->batches[i];
		if (batch->n > 0)
			send_all(i, l->port, batch->pkts, batch->n);
		batch->n = 0;
	}
}

static int
forward(void *arg)
{
	struct lcore *l = arg;
	uint16_t port;

	while (goes_on()) {
		for (port = l->first; port < l->end; port++)
			give(l, port);
		take(l);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned int id, workers;
	struct rte_mempool *pool;
	uint8_t n = 0;
	uint16_t port;
	int used;

	used = rte_eal_init(argc, argv);
	must(used, "EAL");
	works = argc - used == 2;
	if (works)
		steps = (unsigned int)atoi(argv[used + 1]);
	workers = rte_lcore_count() - 1;
	nb_ports = rte_eth_dev_count_avail();
	if (workers == 0 || nb_ports == 0 || nb_ports > MOST_PORTS)
		rte_exit(EXIT_FAILURE, "no worker lcore, or no port\n");
	signal(SIGINT, interrupt);
	pool = make_pool(nb_ports * PORT_MBUFS + MOST_EVENTS);
	for (port = 0; port < nb_ports; port++)
		start_port(port, pool, (uint16_t)workers);
	device = event_device_start((uint8_t)workers, MOST_BURST);
	RTE_LCORE_FOREACH_WORKER(id) {
		lcores[n].port = n;
		lcores[n].first = (uint16_t)(nb_ports * n / workers);
		lcores[n].end = (uint16_t)(nb_ports * (n + 1) / workers);
		rte_eal_remote_launch(forward, &lcores[n], id);
		n++;
	}
	print_rates(nb_ports);
	wait_lcores();
	event_device_stop(device);
	rte_eal_cleanup();
	return 0;
}
