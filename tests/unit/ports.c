/* SPDX-License-Identifier: BSD-3-Clause */

#include "ports.h"

#include <stdio.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "rig.h"

#define MBUFS 4095

/*
 * What a PMD calls when its device reports something. ethdev has these for
 * drivers, whose headers are not installed.
 */
struct rte_eth_dev;
struct rte_eth_dev *
rte_eth_dev_get_by_name(const char *name);
int
rte_eth_dev_callback_process(struct rte_eth_dev *dev,
			     enum rte_eth_event_type event, void *ret);

struct rte_mempool *pool;
uint16_t ports[PORTS];
struct rte_ring *rings[PORTS];

/* Receive queues, as their PMD knows them, and whether a thread is in there. */
static struct {
	const void *queue;
	struct atomic_u32 inside;
} receiving[PORTS * QUEUES];
static struct atomic_u32 overlaps;
static eth_rx_burst_t rx_of_ring;

/* Has no order, which could be in place of what a lock has to give. */
static uint16_t
rx_alone(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	unsigned int i = 0;

	while (receiving[i].queue != queue)
		i++;
	if (atomic_u32_exchange(&receiving[i].inside, 1, RELAXED) != 0)
		atomic_u32_fetch_add(&overlaps, 1, RELAXED);
	n = rx_of_ring(queue, pkts, n);
	atomic_u32_store(&receiving[i].inside, 0, RELAXED);
	return n;
}

static void
watch_receiving(unsigned int i)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports[i]];
	unsigned int q;

	for (q = 0; q < QUEUES; q++)
		receiving[i * QUEUES + q].queue = ops->rxq.data[q];
	rx_of_ring = ops->rx_pkt_burst;
	ops->rx_pkt_burst = rx_alone;
}

unsigned int
ports_overlaps(void)
{
	return atomic_u32_exchange(&overlaps, 0, RELAXED);
}

static void
start_port(unsigned int i)
{
	const struct rte_eth_conf conf = { 0 };
	char name[16], ring[RTE_RING_NAMESIZE];
	uint16_t q;

	snprintf(name, sizeof(name), "net_ring%u", i);
	assert_int_equal(rte_eal_hotplug_add("vdev", name, ""), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(name, &ports[i]), 0);
	assert_int_equal(rte_eth_dev_configure(ports[i], QUEUES, QUEUES, &conf),
			 0);
	for (q = 0; q < QUEUES; q++) {
		assert_int_equal(
			rte_eth_rx_queue_setup(ports[i], q, 64, 0, NULL, pool),
			0);
		assert_int_equal(
			rte_eth_tx_queue_setup(ports[i], q, 64, 0, NULL), 0);
	}
	assert_int_equal(rte_eth_dev_start(ports[i]), 0);
	snprintf(ring, sizeof(ring), "ETH_RXTX0_%s", name);
	rings[i] = rte_ring_lookup(ring);
	assert_non_null(rings[i]);
	watch_receiving(i);
}

void
ports_open(void)
{
	unsigned int i;

	/*
	 * More threads use it than there are CPUs, some of them at each packet. In
	 * DPDK's usual ring one that is interrupted holds up those behind it, who
	 * then wait for each other by turns, a time slice for each packet.
	 */
	pool = rte_pktmbuf_pool_create_by_ops("mbufs", MBUFS, 32, 0, 256,
					      (int)rte_socket_id(),
					      "ring_mt_hts");
	assert_non_null(pool);
	for (i = 0; i < PORTS; i++)
		start_port(i);
}

int
ports_start(void **state)
{
	unit_eal_setup(state);
	ports_open();
	return 0;
}

struct rte_mbuf *
packet(uint32_t number)
{
	struct rte_mbuf *m;

	m = rte_mbuf_raw_alloc(pool);
	assert_non_null(m);
	/* As in number_of(), by whoever had this mbuf: so not before we have it. */
	race_acquire(&pool);
	rte_pktmbuf_reset(m);
	rte_pktmbuf_append(m, 64);
	*rte_pktmbuf_mtod(m, uint32_t *) = number;
	race_release(&pool);
	return m;
}

void
packets(struct rte_mbuf **pkts, uint32_t first, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		pkts[i] = packet(first + i);
}

void
arrive(unsigned int i, uint32_t first, uint32_t end)
{
	for (; first < end; first++)
		assert_int_equal(rte_ring_enqueue(rings[i], packet(first)), 0);
}

uint32_t
take_sent(unsigned int i)
{
	struct rte_mbuf *m = NULL;
	uint32_t number;

	assert_int_equal(rte_ring_dequeue(rings[i], (void **)&m), 0);
	number = number_of(m);
	rte_pktmbuf_free_bulk(&m, 1);
	return number;
}

void
expect_sent(unsigned int i, uint32_t first, unsigned int n)
{
	for (; n > 0; n--)
		assert_int_equal(take_sent(i), first++);
}

void
ports_report(uint16_t port, enum rte_eth_event_type event)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	assert_int_equal(rte_eth_dev_get_name_by_port(port, name), 0);
	rte_eth_dev_callback_process(rte_eth_dev_get_by_name(name), event,
				     NULL);
}

void
wait_until_polled(struct weir_rxq *rxq)
{
	struct weir_source_stats stats;
	uint64_t before;

	weir_source_stats_get(weir_rxq_source(rxq), &stats);
	before = stats.polls;
	rig_wait_until((weir_source_stats_get(weir_rxq_source(rxq), &stats),
			stats.polls > before));
}

/* Every packet is back. */
int
ports_teardown(void **state)
{
	unsigned int i;

	rig_teardown(state);
	for (i = 0; i < PORTS; i++)
		while (!rte_ring_empty(rings[i]))
			take_sent(i);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	assert_int_equal(ports_overlaps(), 0);
	return 0;
}

static int
receiver_poll(struct weir_context *ctx, void *state)
{
	struct rte_mbuf *pkts[32];
	struct ports_receiver *r = state;
	int n, i;

	while (r->taken < r->wanted) {
		n = weir_rxq_recv(ctx, r->rxq, pkts, RTE_DIM(pkts));
		if (n < 0)
			return n;
		for (i = 0; i < n; i++)
			r->disorder += number_of(pkts[i]) != r->taken++;
		rte_pktmbuf_free_bulk(pkts, (unsigned int)n);
	}
	return WEIR_DONE;
}

const struct weir_task_ops ports_receiver_ops = {
	.name = "receiver",
	.state_size = sizeof(struct ports_receiver),
	.poll = receiver_poll,
	.result_size = sizeof(struct ports_receiver),
};
