/* SPDX-License-Identifier: BSD-3-Clause */

/* What happens to whole ports: events, removal under traffic, empty pools. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "ports.h"
#include "rig.h"
#include "weir_ethdev.h"

#define BURST 32u
#define REMOVALS 5u
#define EVENTS 20u
#define FEW 64u /* mbufs of a pool that runs empty */

static struct atomic_u32 downs; /* that tasks were told of */

/* Frees what it receives until it has enough, or there is an error. */
struct drain {
	struct weir_rxq *rxq;
	struct atomic_u32 *taken;
	uint32_t wanted;
};

static int
drain_poll(struct weir_context *ctx, void *state)
{
	struct rte_mbuf *pkts[BURST];
	struct drain *d = state;
	int n;

	while (rig_get(d->taken) < d->wanted) {
		n = weir_rxq_recv(ctx, d->rxq, pkts, BURST);
		if (n == -ENETDOWN) {
			rig_add(&downs, 1);
			continue;
		}
		if (n < 0)
			return n;
		rte_pktmbuf_free_bulk(pkts, (unsigned int)n);
		rig_add(d->taken, (uint32_t)n);
	}
	return WEIR_DONE;
}

static const struct weir_task_ops drain_ops = {
	.name = "drain",
	.state_size = sizeof(struct drain),
	.poll = drain_poll,
};

static struct weir_join *
spawn_drain(struct weir_rxq *rxq, struct atomic_u32 *taken, uint32_t wanted)
{
	struct drain d = { .rxq = rxq, .taken = taken, .wanted = wanted };
	struct weir_join *join = weir_task_spawn(rig.rt, &drain_ops, &d, NULL);

	assert_non_null(join);
	return join;
}

static struct weir_rxq *
open_rxq(uint16_t port)
{
	struct weir_rxq *rxq = weir_rxq_create(rig.rt, port, 0, 0, BURST);

	assert_non_null(rxq);
	return rxq;
}

static void
removal_event_ends_the_queues_of_the_port(void **state)
{
	struct weir_rxq *gone = open_rxq(ports[0]), *stays = open_rxq(ports[1]);
	struct atomic_u32 taken[PORTS] = { { 0 } };
	struct weir_join *ends = spawn_drain(gone, &taken[0], 1);
	struct weir_join *goes_on = spawn_drain(stays, &taken[1], 1);

	ports_report(ports[0], RTE_ETH_EVENT_INTR_RMV);
	assert_int_equal(rig_join(ends, NULL), -ENODEV);
	arrive(1, 0, 1);
	assert_int_equal(rig_join(goes_on, NULL), 0);
	weir_rxq_free(gone);
	weir_rxq_free(stays);
	/* Nobody is told any more. */
	ports_report(ports[0], RTE_ETH_EVENT_INTR_RMV);
}

static void
link_event_tells_the_queues_of_the_port(void **state)
{
	struct atomic_u32 taken = { 0 };
	struct weir_rxq *rxq = open_rxq(ports[0]);
	struct weir_join *join = spawn_drain(rxq, &taken, 1);

	rig_set(&downs, 0);
	/* Down twice, of which the task may see one, and up. */
	assert_int_equal(rte_eth_dev_set_link_down(ports[0]), 0);
	ports_report(ports[0], RTE_ETH_EVENT_INTR_LSC);
	ports_report(ports[0], RTE_ETH_EVENT_INTR_LSC);
	assert_int_equal(rte_eth_dev_set_link_up(ports[0]), 0);
	ports_report(ports[0], RTE_ETH_EVENT_INTR_LSC);
	arrive(0, 0, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_uint_in_range(rig_get(&downs), 1, 2);
	weir_rxq_free(rxq);
}

static eth_rx_burst_t rx_any;
static struct atomic_u32 reports;

/* Finds that the link is down: when the task looks, and then when a worker polls. */
static uint16_t
rx_that_reports(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	const bool in_task = weir_task_current() != WEIR_TASK_NONE;
	const uint32_t told = rig_get(&downs);

	if (told < 2 && rig_get(&reports) == told && in_task == (told == 0)) {
		rig_add(&reports, 1);
		ports_report(ports[0], RTE_ETH_EVENT_INTR_LSC);
	}
	return rx_any(queue, pkts, n);
}

/* port.c, P3 */
static void
link_event_may_come_from_inside_the_receive_function(void **state)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports[0]];
	struct atomic_u32 taken = { 0 };
	struct weir_rxq *rxq;
	struct weir_join *join;

	rig_set(&downs, 0);
	rig_set(&reports, 0);
	assert_int_equal(rte_eth_dev_set_link_down(ports[0]), 0);
	rx_any = ops->rx_pkt_burst;
	ops->rx_pkt_burst = rx_that_reports;
	rxq = open_rxq(ports[0]);
	join = spawn_drain(rxq, &taken, 1);
	rig_wait_until(rig_get(&downs) == 2);
	arrive(0, 0, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_rxq_free(rxq);
	ops->rx_pkt_burst = rx_any;
	assert_int_equal(rte_eth_dev_set_link_up(ports[0]), 0);
}

static struct atomic_u32
	goes; /* the next that receives finds that the port is gone */

static uint16_t
rx_that_goes(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	if (rig_get(&goes)) {
		rig_set(&goes, 0);
		ports_report(ports[0], RTE_ETH_EVENT_INTR_RMV);
	}
	return rx_any(queue, pkts, n);
}

/* The same of a removal, found by the task and by its worker. */
static void
removal_event_may_come_from_inside_the_receive_function(void **state)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports[0]];
	struct atomic_u32 taken = { 0 };
	struct weir_join *join;
	struct weir_rxq *rxq;
	unsigned int i;
	int rc;

	rx_any = ops->rx_pkt_burst;
	ops->rx_pkt_burst = rx_that_goes;
	for (i = 0; i < 2; i++) {
		rig_set(&goes, i == 0);
		rxq = open_rxq(ports[0]);
		join = spawn_drain(rxq, &taken, 1);
		if (i == 1) {
			wait_until_polled(rxq);
			rig_set(&goes, 1);
		}
		rc = rig_join(join, NULL);
		weir_rxq_free(rxq);
		assert_int_equal(rc, -ENODEV);
	}
	ops->rx_pkt_burst = rx_any;
}

static void *
report_removals(void *over)
{
	while (!rig_get(over)) {
		ports_report(ports[0], RTE_ETH_EVENT_INTR_RMV);
		sched_yield();
	}
	return NULL;
}

/* port.c, P1 */
static void
removal_event_never_meets_a_freed_queue(void **state)
{
	struct atomic_u32 over = { 0 }, taken = { 0 };
	struct weir_rxq *rxq;
	pthread_t thread;
	unsigned int i;

	pthread_create(&thread, NULL, report_removals, &over);
	for (i = 0; i < EVENTS; i++) {
		rxq = open_rxq(ports[0]);
		assert_int_equal(rig_join(spawn_drain(rxq, &taken, 1), NULL),
				 -ENODEV);
		weir_rxq_free(rxq);
	}
	rig_set(&over, 1);
	pthread_join(thread, NULL);
}

/*
 * A port that always has packets, in mbufs of its pool.
 */

static uint16_t
plug_in(struct rte_mempool *mbufs)
{
	const struct rte_eth_conf conf = { 0 };
	uint16_t port;

	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null0", ""), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_null0", &port), 0);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port, 0, 64, 0, NULL, mbufs),
			 0);
	assert_int_equal(rte_eth_tx_queue_setup(port, 0, 64, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port), 0);
	return port;
}

static void
pull_out(uint16_t port)
{
	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null0"), 0);
}

static void
port_is_removed_under_traffic(void **state)
{
	struct atomic_u32 taken, others = { 0 };
	struct rte_eth_stats stats;
	struct weir_rxq *rxq, *other = open_rxq(ports[1]);
	struct weir_join *join, *other_join;
	unsigned int i;
	uint16_t port;

	other_join = spawn_drain(other, &others, REMOVALS);
	for (i = 0; i < REMOVALS; i++) {
		atomic_u32_store(&taken, 0, RELAXED);
		port = plug_in(pool);
		rxq = open_rxq(port);
		join = spawn_drain(rxq, &taken, UINT32_MAX);
		rig_wait_until(rig_get(&taken) > 10 * BURST);
		ports_report(port, RTE_ETH_EVENT_INTR_RMV);
		assert_int_equal(rig_join(join, NULL), -ENODEV);
		/* What had been received was given out before the end. */
		assert_int_equal(rte_eth_stats_get(port, &stats), 0);
		assert_int_equal((uint32_t)stats.ipackets, rig_get(&taken));
		weir_rxq_free(rxq);
		pull_out(port);
		arrive(1, i, i + 1);
		rig_wait_until(rig_get(&others) == i + 1);
	}
	assert_int_equal(rig_join(other_join, NULL), 0);
	weir_rxq_free(other);
}

static void
queue_whose_pool_ran_empty_comes_back(void **state)
{
	struct rte_mbuf *held[FEW];
	struct atomic_u32 taken = { 0 };
	struct weir_source_stats stats;
	struct rte_mempool *few;
	struct weir_join *join;
	struct weir_rxq *rxq;
	uint16_t port;

	few = rte_pktmbuf_pool_create("few", FEW, 0, 0, 256,
				      (int)rte_socket_id());
	assert_non_null(few);
	assert_int_equal(rte_pktmbuf_alloc_bulk(few, held, FEW), 0);
	port = plug_in(few);
	rxq = open_rxq(port);
	join = spawn_drain(rxq, &taken, 10 * FEW);
	rig_wait_until((weir_source_stats_get(weir_rxq_source(rxq), &stats),
			stats.polls > 10));
	assert_int_equal(rig_get(&taken), 0);
	rte_pktmbuf_free_bulk(held, FEW);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_rxq_free(rxq);
	pull_out(port);
	assert_int_equal(rte_mempool_in_use_count(few), 0);
	rte_mempool_free(few);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PORTS_TESTS(removal_event_ends_the_queues_of_the_port),
		PORTS_TESTS(link_event_tells_the_queues_of_the_port),
		PORTS_TESTS(
			link_event_may_come_from_inside_the_receive_function),
		PORTS_TESTS(
			removal_event_may_come_from_inside_the_receive_function),
		PORTS_TEST(removal_event_never_meets_a_freed_queue, 2),
		PORTS_TEST(port_is_removed_under_traffic, 2),
		PORTS_TEST(queue_whose_pool_ran_empty_comes_back, 2),
	};

	return cmocka_run_group_tests(tests, ports_start, unit_eal_teardown);
}
