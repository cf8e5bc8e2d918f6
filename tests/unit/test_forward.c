/* SPDX-License-Identifier: BSD-3-Clause */

/* weir_forward(): from port 0 to port 1. */

#include "unit.h"

#include <errno.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "ports.h"
#include "rig.h"
#include "weir_ethdev.h"
#include "weir_source.h"

/* Told to end it is done, for its counts to be a result. */
static int
forward(struct weir_context *ctx, void *state)
{
	int rc = weir_forward(ctx, state);

	return rc == -ESHUTDOWN ? WEIR_DONE : rc;
}

static const struct weir_task_ops forwarder_ops = {
	.name = "forwarder",
	.state_size = sizeof(struct weir_forward),
	.poll = forward,
	.result_size = sizeof(struct weir_forward),
};

static struct weir_rxq *rxq;
static struct weir_txq *txq;

static void
open_queues(void)
{
	rxq = weir_rxq_create(rig.rt, ports[0], 0, 0, 32);
	txq = weir_txq_create(ports[1], 0, FOR_EVER);
	assert_non_null(rxq);
	assert_non_null(txq);
}

static void
free_queues(void)
{
	weir_txq_free(txq);
	weir_rxq_free(rxq);
}

static struct weir_join *
spawn_forwarder(uint16_t burst,
		uint16_t (*change)(void *arg, struct rte_mbuf **pkts,
				   uint16_t n),
		void *arg)
{
	const struct weir_forward f = {
		.rxq = rxq,
		.txq = txq,
		.burst = burst,
		.change = change,
		.arg = arg,
	};

	return weir_task_spawn(rig.rt, &forwarder_ops, &f, NULL);
}

static struct weir_forward
end_forwarder(struct weir_join *join)
{
	struct weir_forward end = { 0 };

	weir_source_close(weir_rxq_source(rxq), ESHUTDOWN);
	assert_int_equal(rig_join(join, &end), 0);
	return end;
}

static void
packets_are_forwarded_in_order(void **state)
{
	const uint16_t bursts[] = { 1, 7, 32, WEIR_BURST_MAX };
	struct weir_join *join;
	struct weir_forward end;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(bursts); i++) {
		open_queues();
		arrive(0, 0, 100);
		join = spawn_forwarder(bursts[i], NULL, NULL);
		for (k = 100; k < 1200; k += 100) {
			rig_wait_until(rte_ring_count(rings[1]) == 100);
			/* From what was there, and through its worker's polls. */
			if (k % 200 == 0)
				wait_until_polled(rxq);
			expect_sent(1, k - 100, 100);
			arrive(0, k, k + 100);
		}
		rig_wait_until(rte_ring_count(rings[1]) == 100);
		end = end_forwarder(join);
		expect_sent(1, 1100, 100);
		assert_int_equal(end.received, 1200);
		assert_int_equal(end.link_downs, 0);
		free_queues();
	}
}

/* Keeps every third, and sends the others the other way round. */
static uint16_t
turn_round(void *arg, struct rte_mbuf **pkts, uint16_t n)
{
	struct atomic_u32 *seen = arg;
	struct rte_mbuf *kept[WEIR_BURST_MAX];
	uint16_t i, k = 0;

	for (i = n; i > 0; i--) {
		rig_add(seen, 1);
		if (number_of(pkts[i - 1]) % 3 == 0)
			rte_pktmbuf_free(pkts[i - 1]);
		else
			kept[k++] = pkts[i - 1];
	}
	for (i = 0; i < k; i++)
		pkts[i] = kept[i];
	return k;
}

static void
bursts_are_changed_before_they_are_sent(void **state)
{
	/* Of bursts of 6. */
	const uint32_t sent[] = { 5, 4, 2, 1, 11, 10, 8, 7 };
	static struct atomic_u32 seen;
	struct weir_join *join;
	struct weir_forward end;
	unsigned int i;

	rig_set(&seen, 0);
	open_queues();
	arrive(0, 0, 12);
	join = spawn_forwarder(6, turn_round, &seen);
	rig_wait_until(rte_ring_count(rings[1]) == 8);
	/* One of which nothing is to be sent. */
	arrive(0, 12, 13);
	rig_wait_until(rig_get(&seen) == 13);
	end = end_forwarder(join);
	for (i = 0; i < RTE_DIM(sent); i++)
		expect_sent(1, sent[i], 1);
	assert_int_equal(rte_ring_count(rings[1]), 0);
	assert_int_equal(end.received, 13);
	free_queues();
}

static void
bad_bursts_are_refused(void **state)
{
	const uint16_t bursts[] = { 0, WEIR_BURST_MAX + 1, UINT16_MAX };
	unsigned int i;

	open_queues();
	arrive(0, 0, 1);
	for (i = 0; i < RTE_DIM(bursts); i++)
		assert_int_equal(
			rig_join(spawn_forwarder(bursts[i], NULL, NULL), NULL),
			-EINVAL);
	assert_int_equal(rte_ring_count(rings[0]), 1);
	free_queues();
}

static void
lost_links_are_counted(void **state)
{
	struct weir_join *join;
	struct weir_forward end;
	unsigned int i;

	open_queues();
	join = spawn_forwarder(32, NULL, NULL);
	for (i = 0; i < 3; i++) {
		wait_until_polled(rxq);
		weir_port_link(ports[0], false);
		/* It waits again, and forwards. */
		wait_until_polled(rxq);
		arrive(0, i, i + 1);
		rig_wait_until(rte_ring_count(rings[1]) == i + 1);
	}
	end = end_forwarder(join);
	assert_int_equal(end.link_downs, 3);
	assert_int_equal(end.received, 3);
	expect_sent(1, 0, 3);
	free_queues();
}

static void
port_that_goes_ends_it(void **state)
{
	struct weir_join *join;

	open_queues();
	join = spawn_forwarder(32, NULL, NULL);
	wait_until_polled(rxq);
	weir_port_gone(ports[0]);
	assert_int_equal(rig_join(join, NULL), -ENODEV);
	free_queues();
}

/* -ENETDOWN, which it would go on behind, is not for good. */
static void
queue_that_is_closed_ends_it(void **state)
{
	struct weir_join *join;

	open_queues();
	join = spawn_forwarder(32, NULL, NULL);
	wait_until_polled(rxq);
	weir_source_alert(weir_rxq_source(rxq), ENETDOWN);
	wait_until_polled(rxq);
	weir_source_close(weir_rxq_source(rxq), ENETDOWN);
	assert_int_equal(rig_join(join, NULL), -ENODEV);
	free_queues();
}

static void
queue_that_is_finished_ends_it_behind_its_packets(void **state)
{
	struct weir_join *join;

	open_queues();
	arrive(0, 0, 300);
	weir_rxq_finish(rxq, ECANCELED, UINT32_MAX);
	join = spawn_forwarder(32, NULL, NULL);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	expect_sent(1, 0, 300);
	free_queues();
}

static void
second_one_is_refused(void **state)
{
	struct weir_join *join;
	int rc;

	open_queues();
	join = spawn_forwarder(32, NULL, NULL);
	wait_until_polled(rxq);
	rc = rig_join(spawn_forwarder(32, NULL, NULL), NULL);
	end_forwarder(join);
	free_queues();
	assert_int_equal(rc, -EBUSY);
}

/* Nothing is lost or overtaken, and no more is received than was under way. */
static void
full_port_holds_it_up(void **state)
{
	struct weir_join *join;
	struct weir_forward end;
	struct weir_txq_stats stats;
	unsigned int i;

	open_queues();
	for (i = 0; i < PORT_RING - 10; i++)
		assert_int_equal(rte_ring_enqueue(rings[1], packet(UINT32_MAX)),
				 0);
	arrive(0, 0, 200);
	join = spawn_forwarder(32, NULL, NULL);
	rig_wait_until((weir_txq_stats_get(txq, &stats), stats.retries > 100));
	assert_int_equal(rte_ring_count(rings[0]), 200 - 32);
	for (i = 0; i < PORT_RING - 10; i++)
		assert_int_equal(take_sent(1), UINT32_MAX);
	rig_wait_until(rte_ring_count(rings[1]) == 200);
	end = end_forwarder(join);
	expect_sent(1, 0, 200);
	assert_int_equal(end.received, 200);
	free_queues();
}

static void
turns_end_with_their_budget(void **state)
{
	struct weir_worker_stats before, after;
	struct weir_join *join;

	open_queues();
	arrive(0, 0, 1000);
	weir_worker_stats_get(rig.rt, 0, &before);
	join = spawn_forwarder(1, NULL, NULL);
	rig_wait_until(rte_ring_count(rings[1]) == 1000);
	weir_worker_stats_get(rig.rt, 0, &after);
	end_forwarder(join);
	expect_sent(1, 0, 1000);
	free_queues();
	/* Of 128 packets each. */
	assert_true(after.polls - before.polls >= 1000 / 128 + 1);
}

static eth_tx_burst_t tx_any;
static struct atomic_u32 reports; /* that are still to come */
static struct atomic_u32 downs;	  /* that the task was told of */

/* Finds, while it sends, that the link it received from is down. */
static uint16_t
tx_that_reports(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	if (rig_get(&reports) > 0) {
		rig_set(&reports, rig_get(&reports) - 1);
		ports_report(ports[0], RTE_ETH_EVENT_INTR_LSC);
	}
	return tx_any(queue, pkts, n);
}

static int
forward_and_tell(struct weir_context *ctx, void *state)
{
	struct weir_forward *f = state;
	int rc = weir_forward(ctx, f);

	rig_set(&downs, (uint32_t)f->link_downs);
	return rc == -ESHUTDOWN ? WEIR_DONE : rc;
}

static const struct weir_task_ops telling_ops = {
	.name = "telling",
	.state_size = sizeof(struct weir_forward),
	.poll = forward_and_tell,
};

/* port.c, P3: it has the source of the port. */
static void
link_event_may_come_from_inside_the_transmit_function(void **state)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports[1]];
	struct weir_forward f = { .burst = 32 };
	struct weir_join *join;
	int rc;

	assert_int_equal(rte_eth_dev_set_link_down(ports[0]), 0);
	tx_any = ops->tx_pkt_burst;
	ops->tx_pkt_burst = tx_that_reports;
	rig_set(&reports, 1);
	rig_set(&downs, 0);
	open_queues();
	f.rxq = rxq;
	f.txq = txq;
	arrive(0, 0, 10);
	join = weir_task_spawn(rig.rt, &telling_ops, &f, NULL);
	rig_wait_until(rig_get(&downs) == 1);
	weir_source_close(weir_rxq_source(rxq), ESHUTDOWN);
	rc = rig_join(join, NULL);
	ops->tx_pkt_burst = tx_any;
	expect_sent(1, 0, 10);
	free_queues();
	assert_int_equal(rte_eth_dev_set_link_up(ports[0]), 0);
	assert_int_equal(rc, 0);
}

static uint16_t
close_source(void *arg, struct rte_mbuf **pkts, uint16_t n)
{
	weir_source_close(weir_rxq_source(rxq), ESHUTDOWN);
	return n;
}

/* What it is given is sent all the same. */
static void
change_may_close_the_source(void **state)
{
	struct weir_forward end = { 0 };
	struct weir_join *join;
	int rc;

	open_queues();
	arrive(0, 0, 10);
	join = spawn_forwarder(4, close_source, NULL);
	rc = rig_join(join, &end);
	expect_sent(1, 0, 4);
	free_queues();
	assert_int_equal(rc, 0);
	assert_int_equal(end.received, 4);
	expect_sent(0, 4, 6);
}

/* Its turn has no end of its own. */
static int
forward_for_ever(struct weir_context *ctx, void *state)
{
	int rc;

	weir_context_budget_suspend(ctx);
	rc = weir_forward(ctx, state);
	weir_context_budget_resume(ctx);
	return rc == -ESHUTDOWN ? WEIR_DONE : rc;
}

static const struct weir_task_ops endless_ops = {
	.name = "endless",
	.state_size = sizeof(struct weir_forward),
	.poll = forward_for_ever,
	.result_size = sizeof(struct weir_forward),
};

/* Packets go round: the queue that it sends to is the one that it receives from. */
static void
who_closes_the_source_comes_between_bursts(void **state)
{
	struct weir_forward f = { .burst = 4 }, end = { 0 };
	struct weir_txq_stats stats;
	struct weir_join *join;
	unsigned int i;
	int rc;

	rxq = weir_rxq_create(rig.rt, ports[0], 0, 0, 32);
	txq = weir_txq_create(ports[0], 0, FOR_EVER);
	assert_true(rxq != NULL && txq != NULL);
	f.rxq = rxq;
	f.txq = txq;
	arrive(0, 0, 10);
	join = weir_task_spawn(rig.rt, &endless_ops, &f, NULL);
	rig_wait_until((weir_txq_stats_get(txq, &stats), stats.sent > 1000));
	weir_source_close(weir_rxq_source(rxq), ESHUTDOWN);
	rc = rig_join(join, &end);
	weir_txq_stats_get(txq, &stats);
	free_queues();
	assert_int_equal(rc, 0);
	assert_int_equal(end.received, stats.sent);
	assert_int_equal(rte_ring_count(rings[0]), 10);
	for (i = 0; i < 10; i++)
		assert_int_equal(take_sent(0), (end.received + i) % 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PORTS_TESTS(packets_are_forwarded_in_order),
		PORTS_TEST(bursts_are_changed_before_they_are_sent, 1),
		PORTS_TEST(bad_bursts_are_refused, 1),
		PORTS_TESTS(lost_links_are_counted),
		PORTS_TEST(port_that_goes_ends_it, 1),
		PORTS_TEST(queue_that_is_closed_ends_it, 1),
		PORTS_TEST(queue_that_is_finished_ends_it_behind_its_packets,
			   1),
		PORTS_TEST(second_one_is_refused, 1),
		PORTS_TEST(full_port_holds_it_up, 1),
		PORTS_TEST(turns_end_with_their_budget, 1),
		PORTS_TESTS(
			link_event_may_come_from_inside_the_transmit_function),
		PORTS_TEST(change_may_close_the_source, 1),
		PORTS_TESTS(who_closes_the_source_comes_between_bursts),
	};

	return cmocka_run_group_tests(tests, ports_start, unit_eal_teardown);
}
