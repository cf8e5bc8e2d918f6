/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "ports.h"
#include "rig.h"
#include "weir_ethdev.h"

/* Room that port 0 has left before the test sends. */
static void
leave_room(unsigned int room)
{
	unsigned int i;

	for (i = 0; i < PORT_RING - room; i++)
		assert_int_equal(rte_ring_enqueue(rings[0], packet(UINT32_MAX)),
				 0);
}

/* What was there before is taken. */
static void
take_fillers(unsigned int n)
{
	for (; n > 0; n--)
		assert_int_equal(take_sent(0), UINT32_MAX);
}

static void
give(struct weir_txq *txq, uint32_t first, unsigned int n)
{
	struct rte_mbuf *pkts[2 * WEIR_BURST_MAX];

	packets(pkts, first, n);
	weir_txq_send(txq, pkts, (uint16_t)n);
}

static void
expect_stats(const struct weir_txq *txq, uint64_t sent, uint64_t dropped)
{
	struct weir_txq_stats stats;

	weir_txq_stats_get(txq, &stats);
	assert_int_equal(stats.sent, sent);
	assert_int_equal(stats.dropped, dropped);
}

static struct weir_txq *
open_txq(unsigned int timeout_us)
{
	struct weir_txq *txq = weir_txq_create(ports[0], 0, timeout_us);

	assert_non_null(txq);
	return txq;
}

/* As a task would see it. */
static int
is_ready(struct weir_txq *txq)
{
	struct task *task = rig_tasks(1);
	struct weir_context ctx = { .task = { task }, .budget = 128 };
	int rc = weir_txq_ready(&ctx, txq);

	assert_int_equal(ctx.asked & ASKED_TURN ? WEIR_PENDING : 0, rc);
	free(task);
	return rc;
}

static void
bad_transmit_queues_are_refused(void **state)
{
	rte_errno = 0;
	assert_null(weir_txq_create(ports[0], QUEUES, 0));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_txq_create(UNKNOWN_PORT, 0, 0));
	assert_int_equal(rte_errno, EINVAL);
	weir_txq_free(NULL);
}

static void
queue_has_one_handle(void **state)
{
	struct weir_txq *txq = open_txq(0), *other;

	rte_errno = 0;
	assert_null(weir_txq_create(ports[0], 0, 0));
	assert_int_equal(rte_errno, EBUSY);
	other = weir_txq_create(ports[0], 1, 0);
	assert_non_null(other);
	weir_txq_free(txq);
	weir_txq_free(open_txq(0));
	weir_txq_free(other);
}

/* Are the queues of ports such as several threads may use at once? */
static bool shared;

int
__real_rte_eth_dev_conf_get(uint16_t port, struct rte_eth_conf *conf);
int
__wrap_rte_eth_dev_conf_get(uint16_t port, struct rte_eth_conf *conf);

int
__wrap_rte_eth_dev_conf_get(uint16_t port, struct rte_eth_conf *conf)
{
	int rc = __real_rte_eth_dev_conf_get(port, conf);

	if (rc == 0 && shared)
		conf->txmode.offloads |= RTE_ETH_TX_OFFLOAD_MT_LOCKFREE;
	return rc;
}

static void
shared_queue_has_as_many_as_are_made(void **state)
{
	struct weir_txq *txqs[3];
	unsigned int i;

	shared = true;
	for (i = 0; i < RTE_DIM(txqs); i++)
		txqs[i] = open_txq(0);
	shared = false;
	for (i = 0; i < RTE_DIM(txqs); i++) {
		assert_null(weir_txq_create(ports[0], 0, 0));
		weir_txq_free(txqs[i]);
	}
	weir_txq_free(open_txq(0));
}

static void
packets_are_sent_in_order(void **state)
{
	struct weir_txq *txq = open_txq(FOR_EVER);
	struct weir_txq_stats stats;

	assert_int_equal(is_ready(txq), 0);
	give(txq, 0, 32);
	give(txq, 32, 1);
	give(txq, 33, 512);
	assert_int_equal(is_ready(txq), 0);
	expect_sent(0, 0, 545);
	weir_txq_stats_get(txq, &stats);
	assert_int_equal(stats.sent, 545);
	assert_int_equal(stats.dropped, 0);
	assert_int_equal(stats.retries, 0);
	weir_txq_free(txq);
}

/* Y1, Y2 */
static void
full_port_makes_its_task_wait(void **state)
{
	struct weir_txq *txq = open_txq(FOR_EVER);
	struct weir_txq_stats stats;

	leave_room(10);
	give(txq, 0, 32);
	expect_stats(txq, 10, 0);
	assert_int_equal(is_ready(txq), WEIR_PENDING);
	/* A little room, which what is held back takes. */
	take_fillers(5);
	assert_int_equal(is_ready(txq), WEIR_PENDING);
	expect_stats(txq, 15, 0);
	/* Nothing overtakes the rest, room or not. */
	take_fillers(50);
	give(txq, 32, 8);
	expect_stats(txq, 15, 0);
	assert_int_equal(is_ready(txq), 0);
	expect_stats(txq, 40, 0);
	weir_txq_stats_get(txq, &stats);
	assert_int_equal(stats.retries, 3);
	give(txq, 40, 4);
	take_fillers(PORT_RING - 10 - 55);
	expect_sent(0, 0, 44);
	assert_int_equal(rte_ring_count(rings[0]), 0);
	weir_txq_free(txq);
}

static void
what_cannot_be_held_back_is_dropped(void **state)
{
	struct weir_txq *txq = open_txq(FOR_EVER);

	leave_room(0);
	give(txq, 0, WEIR_BURST_MAX);
	expect_stats(txq, 0, 0);
	give(txq, WEIR_BURST_MAX, 7);
	expect_stats(txq, 0, 7);
	take_fillers(PORT_RING);
	assert_int_equal(is_ready(txq), 0);
	expect_stats(txq, WEIR_BURST_MAX, 7);
	expect_sent(0, 0, WEIR_BURST_MAX);
	weir_txq_free(txq);
}

static void
port_without_progress_costs_packets(void **state)
{
	const unsigned int timeouts[] = { 0, 1, 50 };
	struct weir_txq *txq;
	unsigned int i;

	for (i = 0; i < RTE_DIM(timeouts); i++) {
		leave_room(0);
		txq = open_txq(timeouts[i]);
		give(txq, 0, 32);
		rig_wait_until(is_ready(txq) == 0);
		expect_stats(txq, 0, 32);
		/* It goes on afterwards. */
		take_fillers(PORT_RING);
		give(txq, 0, 4);
		expect_stats(txq, 4, 32);
		expect_sent(0, 0, 4);
		weir_txq_free(txq);
	}
}

/* As after a stop of the process: the port had room meanwhile, and nobody asked. */
static void
time_without_a_try_costs_no_packets(void **state)
{
	const unsigned int timeout_us = 2000;
	struct weir_txq *txq = open_txq(timeout_us);
	unsigned int i;

	leave_room(0);
	give(txq, 0, 32);
	for (i = 0; i < 3; i++) {
		rte_delay_us_block(2 * timeout_us);
		assert_int_equal(is_ready(txq), WEIR_PENDING);
	}
	expect_stats(txq, 0, 0);
	take_fillers(32);
	rte_delay_us_block(2 * timeout_us);
	assert_int_equal(is_ready(txq), 0);
	expect_stats(txq, 32, 0);
	take_fillers(PORT_RING - 32);
	expect_sent(0, 0, 32);
	/* What counts is counted anew. */
	leave_room(0);
	give(txq, 0, 1);
	rte_delay_us_block(2 * timeout_us);
	assert_int_equal(is_ready(txq), WEIR_PENDING);
	take_fillers(PORT_RING);
	weir_txq_free(txq);
}

/* A PMD that takes all but two packets, say since they are too long. */
static uint16_t
refuse(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n,
       void *number)
{
	uint32_t first = *(uint32_t *)number;
	uint16_t i;

	for (i = 0; i < n; i++)
		if (*rte_pktmbuf_mtod(pkts[i], uint32_t *) - first < 2)
			break;
	return i;
}

static void
packets_that_the_port_refuses_cost_no_other(void **state)
{
	const unsigned int places[] = { 0, 20, 30 };
	struct weir_txq *txq;
	uint32_t number;
	const void *callback;
	unsigned int i;

	for (i = 0; i < RTE_DIM(places); i++) {
		number = places[i];
		callback =
			rte_eth_add_tx_callback(ports[0], 0, refuse, &number);
		assert_non_null(callback);
		txq = open_txq(50);
		give(txq, 0, 32);
		rig_wait_until(is_ready(txq) == 0);
		expect_stats(txq, 30, 2);
		expect_sent(0, 0, number);
		expect_sent(0, number + 2, 30 - number);
		assert_int_equal(
			rte_eth_remove_tx_callback(ports[0], 0, callback), 0);
		weir_txq_free(txq);
	}
}

static void
slow_port_gets_all_packets(void **state)
{
	struct weir_txq *txq = open_txq(FOR_EVER);
	unsigned int i;

	leave_room(0);
	give(txq, 0, 64);
	for (i = 1; i <= 63; i++) {
		take_fillers(1);
		assert_int_equal(is_ready(txq), WEIR_PENDING);
		expect_stats(txq, i, 0);
	}
	take_fillers(1);
	assert_int_equal(is_ready(txq), 0);
	expect_stats(txq, 64, 0);
	weir_txq_free(txq);
}

static void
free_sends_what_the_port_takes(void **state)
{
	struct weir_txq *txq = open_txq(0);

	leave_room(0);
	give(txq, 0, 30);
	take_fillers(12);
	weir_txq_free(txq);
	take_fillers(PORT_RING - 12);
	expect_sent(0, 0, 12);
	assert_int_equal(rte_ring_count(rings[0]), 0);
	/* ports_teardown() counts the others. */
}

static void
drain_leaves_nothing_behind(void **state)
{
	struct weir_txq *txq = open_txq(10);

	weir_txq_drain(txq);
	expect_stats(txq, 0, 0);
	leave_room(0);
	give(txq, 0, 30);
	take_fillers(12);
	weir_txq_drain(txq);
	expect_stats(txq, 12, 18);
	assert_int_equal(is_ready(txq), 0);
	weir_txq_free(txq);
}

/* Sends a burst of 64 whenever the queue is ready. */
struct sender {
	struct weir_txq *txq;
	uint32_t next;
	uint32_t end;
};

static int
send_all(struct weir_context *ctx, void *state)
{
	struct sender *s = state;
	int rc;

	while (s->next < s->end) {
		rc = weir_txq_ready(ctx, s->txq);
		if (rc < 0)
			return rc;
		give(s->txq, s->next, 64);
		s->next += 64;
		rig_add(&rig.log.polls, 1);
	}
	return weir_txq_ready(ctx, s->txq);
}

static void
task_waits_for_a_slow_port(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "sender",
		.state_size = sizeof(struct sender),
		.poll = send_all,
	};
	struct weir_txq *txq = open_txq(FOR_EVER);
	struct sender s = { txq, 0, 64 * 100 };
	struct weir_join *join;
	uint32_t out = 0, n;

	join = weir_task_spawn(rig.rt, &ops, &s, NULL);
	while (out < s.end) {
		/* It has sent one burst more than the port holds, at most. */
		n = RTE_MIN(s.end - out, (uint32_t)PORT_RING);
		rig_wait_until(rte_ring_count(rings[0]) == n);
		assert_true(rig_get(&rig.log.polls) * 64 <=
			    out + PORT_RING + 64);
		n = RTE_MIN(n, 100u);
		expect_sent(0, out, n);
		out += n;
	}
	assert_int_equal(rig_join(join, NULL), 0);
	expect_stats(txq, s.end, 0);
	weir_txq_free(txq);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PORTS_TEST(bad_transmit_queues_are_refused, 1),
		PORTS_TEST(queue_has_one_handle, 1),
		PORTS_TEST(shared_queue_has_as_many_as_are_made, 1),
		PORTS_TEST(time_without_a_try_costs_no_packets, 1),
		PORTS_TEST(packets_are_sent_in_order, 1),
		PORTS_TEST(full_port_makes_its_task_wait, 1),
		PORTS_TEST(what_cannot_be_held_back_is_dropped, 1),
		PORTS_TEST(port_without_progress_costs_packets, 1),
		PORTS_TEST(packets_that_the_port_refuses_cost_no_other, 1),
		PORTS_TEST(slow_port_gets_all_packets, 1),
		PORTS_TEST(free_sends_what_the_port_takes, 1),
		PORTS_TEST(drain_leaves_nothing_behind, 1),
		PORTS_TESTS(task_waits_for_a_slow_port),
	};

	return cmocka_run_group_tests(tests, ports_start, unit_eal_teardown);
}
