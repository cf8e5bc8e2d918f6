/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_epoll.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "base/log.h"
#include "kernel.h"
#include "park/source.h"
#include "ports.h"
#include "rig.h"
#include "weir_ethdev.h"
#include "weir_source_driver.h"

/* Receives until it has `wanted` packets, in order, or an error. */
struct receiver {
	struct weir_rxq *rxq;
	struct weir_txq *txq; /* NULL: frees what it gets */
	uint16_t n;	      /* most at a time */
	uint32_t wanted;
	uint32_t taken;
	uint32_t disorder;
	uint32_t linkdowns;
	struct atomic_u32 *polls;
};

static void
check_and_pass_on(struct receiver *r, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++)
		r->disorder += number_of(pkts[i]) != r->taken++;
	if (r->txq != NULL)
		weir_txq_send(r->txq, pkts, n);
	else
		rte_pktmbuf_free_bulk(pkts, n);
}

static int
receive(struct weir_context *ctx, void *state)
{
	struct rte_mbuf *pkts[WEIR_BURST_MAX];
	struct receiver *r = state;
	int n;

	rig_add(r->polls, 1);
	while (r->taken < r->wanted) {
		n = r->txq != NULL ? weir_txq_ready(ctx, r->txq) : 0;
		if (n < 0)
			return n;
		n = weir_rxq_recv(ctx, r->rxq, pkts, r->n);
		if (n == -ENETDOWN) {
			r->linkdowns++;
			continue;
		}
		if (n < 0)
			return n;
		if (n == 0 || n > r->n)
			return -EPROTO;
		check_and_pass_on(r, pkts, (uint16_t)n);
	}
	return WEIR_DONE;
}

static const struct weir_task_ops receiver_ops = {
	.name = "receiver",
	.state_size = sizeof(struct receiver),
	.poll = receive,
	.result_size = sizeof(struct receiver),
};

static struct weir_join *
spawn_receiver(struct weir_rxq *rxq, struct weir_txq *txq, uint16_t n,
	       uint32_t wanted)
{
	struct receiver r = {
		.rxq = rxq,
		.txq = txq,
		.n = n,
		.wanted = wanted,
		.polls = &rig.log.polls,
	};

	return weir_task_spawn(rig.rt, &receiver_ops, &r, NULL);
}

static struct weir_join *
spawn_receiver_on(struct weir_rxq *rxq, unsigned int worker, uint32_t wanted)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};
	struct receiver r = {
		.rxq = rxq,
		.n = 32,
		.wanted = wanted,
		.polls = &rig.log.polls,
	};

	return weir_task_spawn(rig.rt, &receiver_ops, &r, &attr);
}

static void
expect_received(struct weir_join *join, uint32_t wanted)
{
	struct receiver end = { 0 };

	assert_int_equal(rig_join(join, &end), 0);
	assert_int_equal(end.taken, wanted);
	assert_int_equal(end.disorder, 0);
}

static struct weir_rxq *
open_rxq(uint16_t burst)
{
	struct weir_rxq *rxq;

	rxq = weir_rxq_create(rig.rt, ports[0], 0, 0, burst);
	if (rxq == NULL)
		fail_msg("weir_rxq_create: %s", rte_strerror(rte_errno));
	return rxq;
}

static void
packets_are_received_in_order(void **state)
{
	const uint16_t bursts[] = { 1, 7, 32, 512 }, ns[] = { 1, 5, 32, 32 };
	struct weir_rxq *rxq;
	struct weir_join *join;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(bursts); i++) {
		rxq = open_rxq(bursts[i]);
		join = spawn_receiver(rxq, NULL, RTE_MIN(ns[i], bursts[i]),
				      1200);
		wait_until_polled(rxq);
		for (k = 0; k < 1200; k += 100) {
			rig_wait_until(rte_ring_free_count(rings[0]) > 100);
			arrive(0, k, k + 100);
		}
		expect_received(join, 1200);
		weir_rxq_free(rxq);
	}
}

static eth_rx_burst_t rx_any;

/* As vector PMDs do. */
static uint16_t
rx_eights(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	return rx_any(queue, pkts, n - n % 8);
}

/* X4 */
static void
few_are_received_from_who_gives_many_at_a_time(void **state)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports[0]];
	const uint16_t bursts[] = { 1, 7, 12 };
	struct weir_rxq *rxq;
	unsigned int i;

	rx_any = ops->rx_pkt_burst;
	ops->rx_pkt_burst = rx_eights;
	for (i = 0; i < RTE_DIM(bursts); i++) {
		rxq = open_rxq(bursts[i]);
		arrive(0, 0, 21);
		expect_received(spawn_receiver(rxq, NULL, bursts[i], 21), 21);
		weir_rxq_free(rxq);
	}
	ops->rx_pkt_burst = rx_any;
}

/* Who is to stay in the receive function, once, until the door is opened. */
enum {
	NOBODY,
	POLL, /* of the queue's worker, not of a neighbour */
	TASK,
};
static struct atomic_u32 who_stays;
static struct atomic_u32 entries;
static struct rig_door door;

static uint16_t
rx_that_keeps(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t who = weir_task_current() != WEIR_TASK_NONE ? TASK : POLL;

	rig_add(&entries, 1);
	if (rig_get(&who_stays) == who &&
	    (who == TASK || weir_worker_current() == 0)) {
		rig_set(&who_stays, NOBODY);
		rig_stay_at(&door);
	}
	return rx_any(queue, pkts, n);
}

/* From now on it is polled, for a task that is no more. */
static void
have_polled(struct weir_rxq *rxq)
{
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 1);

	wait_until_polled(rxq);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
}

/* The queue's worker is in it, or a task on another, and the other one comes. */
static void
expect_one_inside(uint32_t first)
{
	struct weir_rxq *rxq = open_rxq(32);
	struct weir_join *join;
	uint32_t entered, polls;

	have_polled(rxq);
	rig_set(&door.in, 0);
	rig_set(&door.open, 0);
	rig_set(&who_stays, first);
	if (first == POLL)
		rig_wait_until(rig_get(&door.in));
	join = spawn_receiver_on(rxq, 1, 1);
	rig_wait_until(rig_get(&door.in));
	entered = rig_get(&entries);
	polls = rig_get(&rig.log.polls);
	if (first == TASK)
		rig_await_looks(0, 10);
	else
		rig_wait_until(rig_get(&rig.log.polls) > polls + 10 ||
			       rig_get(&entries) > entered);
	entered = rig_get(&entries) - entered;
	/* First, since whoever is in there would keep the end waiting. */
	rig_set(&door.open, 1);
	assert_int_equal(entered, 0);
	arrive(0, 0, 1);
	expect_received(join, 1);
	weir_rxq_free(rxq);
}

/* X1 */
static void
receive_function_has_one_thread_in_it(void **state)
{
	struct rte_eth_fp_ops *ops = &rte_eth_fp_ops[ports[0]];

	rx_any = ops->rx_pkt_burst;
	ops->rx_pkt_burst = rx_that_keeps;
	expect_one_inside(POLL);
	expect_one_inside(TASK);
	ops->rx_pkt_burst = rx_any;
}

static void
bad_receive_queues_are_refused(void **state)
{
	const struct {
		unsigned int port, queue, worker, burst;
	} rows[] = {
		{ ports[0], 0, 0, 0 },
		{ ports[0], 0, 0, WEIR_BURST_MAX + 1 },
		{ ports[0], 0, 0, UINT16_MAX },
		{ ports[0], QUEUES, 0, 32 },
		{ UNKNOWN_PORT, 0, 0, 32 },
		{ UINT16_MAX, 0, 0, 32 },
		{ ports[0], 0, weir_runtime_nb_workers(rig.rt), 32 },
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		rte_errno = 0;
		assert_null(weir_rxq_create(
			rig.rt, (uint16_t)rows[i].port, (uint16_t)rows[i].queue,
			rows[i].worker, (uint16_t)rows[i].burst));
		assert_int_equal(rte_errno, EINVAL);
	}
	weir_rxq_free(NULL);
	weir_rxq_free(open_rxq(WEIR_BURST_MAX));
}

static void
bad_numbers_of_packets_are_refused(void **state)
{
	const uint16_t ns[] = { 0, WEIR_BURST_MAX + 1, UINT16_MAX };
	struct weir_rxq *rxq = open_rxq(32);
	unsigned int i;

	for (i = 0; i < RTE_DIM(ns); i++)
		assert_int_equal(
			rig_join(spawn_receiver(rxq, NULL, ns[i], 1), NULL),
			-EINVAL);
	weir_rxq_free(rxq);
}

static void
queue_is_a_source_once(void **state)
{
	struct weir_rxq *rxq = open_rxq(32), *other;

	rte_errno = 0;
	assert_null(weir_rxq_create(rig.rt, ports[0], 0, 0, 32));
	assert_int_equal(rte_errno, EBUSY);
	other = weir_rxq_create(rig.rt, ports[0], 1, 0, 32);
	assert_non_null(other);
	weir_rxq_free(rxq);
	weir_rxq_free(open_rxq(32));
	weir_rxq_free(other);
}

static void
port_that_goes_ends_its_queues_only(void **state)
{
	struct weir_rxq *gone = open_rxq(32), *stays;
	struct weir_join *ends, *goes_on;

	stays = weir_rxq_create(rig.rt, ports[1], 0, 0, 32);
	assert_non_null(stays);
	ends = spawn_receiver(gone, NULL, 32, 1);
	goes_on = spawn_receiver(stays, NULL, 32, 1);
	wait_until_polled(gone);
	wait_until_polled(stays);
	weir_port_gone(UNKNOWN_PORT);
	weir_port_gone(ports[0]);
	assert_int_equal(rig_join(ends, NULL), -ENODEV);
	/* The PMD is not asked any more. */
	arrive(0, 0, 1);
	assert_int_equal(rig_join(spawn_receiver(gone, NULL, 32, 1), NULL),
			 -ENODEV);
	assert_int_equal(rte_ring_count(rings[0]), 1);
	arrive(1, 0, 1);
	expect_received(goes_on, 1);
	weir_rxq_free(gone);
	weir_rxq_free(stays);
}

static void
link_that_goes_down_is_told_once(void **state)
{
	struct weir_rxq *rxq = open_rxq(32);
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 1);
	struct receiver end;

	wait_until_polled(rxq);
	weir_port_link(ports[0], true);
	weir_port_link(ports[1], false);
	weir_port_link(ports[0], false);
	/* It waits again. */
	wait_until_polled(rxq);
	arrive(0, 0, 1);
	assert_int_equal(rig_join(join, &end), 0);
	assert_int_equal(end.taken, 1);
	assert_int_equal(end.linkdowns, 1);
	weir_rxq_free(rxq);
}

static void
second_waiter_is_refused(void **state)
{
	struct weir_rxq *rxq = open_rxq(32);
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 2);
	int rc;

	wait_until_polled(rxq);
	rc = rig_join(spawn_receiver(rxq, NULL, 32, 1), NULL);
	/* The first waits on, and others may come when it has ended. */
	arrive(0, 0, 2);
	expect_received(join, 2);
	join = spawn_receiver(rxq, NULL, 32, 1);
	arrive(0, 0, 1);
	expect_received(join, 1);
	weir_rxq_free(rxq);
	assert_int_equal(rc, -EBUSY);
}

/* X3 */
static void
packets_that_nobody_took_are_freed(void **state)
{
	struct weir_rxq *rxq = open_rxq(32);
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 1);

	wait_until_polled(rxq);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	/* A poll finds some for a task that is no more. */
	arrive(0, 0, 20);
	rig_wait_until(rte_ring_count(rings[0]) < 20);
	assert_int_not_equal(rte_mempool_in_use_count(pool), 0);
	weir_rxq_free(rxq);
	/* ports_teardown() counts. */
}

/* Of whoever has been told of the end, behind n packets, which it has sent. */
static void
expect_finished(struct weir_join *join, int error, unsigned int n)
{
	assert_int_equal(rig_join(join, NULL), -error);
	expect_sent(1, 0, n);
	assert_int_equal(rte_ring_count(rings[1]), 0);
}

/* X5. Whether the stash has some of them or not. */
static void
queue_that_is_finished_gives_what_lies_in_it(void **state)
{
	struct weir_txq *txq = weir_txq_create(ports[1], 0, FOR_EVER);
	const uint16_t bursts[] = { 1, 12, 32, 512 };
	struct weir_rxq *rxq;
	unsigned int i;

	for (i = 0; i < RTE_DIM(bursts); i++) {
		rxq = open_rxq(bursts[i]);
		if (i % 2 == 1)
			have_polled(rxq);
		arrive(0, 0, 500);
		weir_rxq_finish(rxq, ECANCELED, UINT32_MAX);
		/* A second one changes nothing. */
		weir_rxq_finish(rxq, EIO, 0);
		expect_finished(spawn_receiver(rxq, txq, bursts[i], 501),
				ECANCELED, 500);
		/* The PMD is not asked any more. */
		arrive(0, 0, 1);
		expect_finished(spawn_receiver(rxq, txq, 1, 1), ECANCELED, 0);
		assert_int_equal(rte_ring_count(rings[0]), 1);
		take_sent(0);
		weir_rxq_free(rxq);
	}
	weir_txq_free(txq);
}

/* X5: for one that never runs dry. */
static void
queue_that_is_finished_gives_no_more_than_asked_for(void **state)
{
	struct weir_txq *txq = weir_txq_create(ports[1], 0, FOR_EVER);
	const struct {
		uint32_t most, given;
	} rows[] = { { 0, 0 }, { 1, 8 }, { 8, 8 }, { 64, 64 }, { 67, 72 } };
	struct weir_rxq *rxq;
	unsigned int i, k;

	for (i = 0; i < RTE_DIM(rows); i++) {
		rxq = open_rxq(32);
		arrive(0, 0, 100);
		weir_rxq_finish(rxq, ESHUTDOWN, rows[i].most);
		expect_finished(spawn_receiver(rxq, txq, 5, 100), ESHUTDOWN,
				rows[i].given);
		for (k = rows[i].given; k < 100; k++)
			assert_int_equal(take_sent(0), k);
		weir_rxq_free(rxq);
	}
	weir_txq_free(txq);
}

/* Its worker polls, or sleeps. Numbers that are no errors are none here either. */
static void
who_waits_for_a_queue_that_is_finished_is_told(void **state)
{
	const int errors[] = { ECANCELED, 0, -1, INT_MAX, ENETDOWN };
	const int told[] = { ECANCELED, EINVAL, EINVAL, EINVAL, ENODEV };
	struct weir_join *join;
	struct weir_rxq *rxq;
	unsigned int i;

	for (i = 0; i < RTE_DIM(errors); i++) {
		rxq = open_rxq(32);
		join = spawn_receiver(rxq, NULL, 32, 1);
		wait_until_polled(rxq);
		weir_rxq_finish(rxq, errors[i], UINT32_MAX);
		assert_int_equal(rig_join(join, NULL), -told[i]);
		weir_rxq_free(rxq);
	}
}

struct finisher {
	struct weir_rxq *rxq;
	struct rig_door *door;
};

/* Ends the queue, and is told of it, before its worker's next poll. */
static int
finisher_poll(struct weir_context *ctx, void *state)
{
	struct finisher *f = state;
	struct rte_mbuf *pkts[32];
	int rc;

	weir_rxq_finish(f->rxq, ECANCELED, UINT32_MAX);
	rc = weir_rxq_recv(ctx, f->rxq, pkts, RTE_DIM(pkts));
	rig_stay_at(f->door);
	return rc;
}

/* X5, while the place of one that waited is taken. */
static void
poll_behind_the_end_takes_no_packets(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "finisher",
		.state_size = sizeof(struct finisher),
		.poll = finisher_poll,
	};
	struct rig_door end = { 0 };
	struct finisher f = { .rxq = open_rxq(32), .door = &end };
	struct weir_source *source = weir_rxq_source(f.rxq);
	struct weir_source_stats before, stats;
	struct weir_join *join;

	have_polled(f.rxq);
	join = weir_task_spawn(rig.rt, &ops, &f, NULL);
	assert_non_null(join);
	rig_wait_until(rig_get(&end.in));
	arrive(0, 0, 20);
	weir_source_stats_get(source, &before);
	rig_set(&end.open, 1);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	rig_wait_until((weir_source_stats_get(source, &stats),
			stats.polls > before.polls));
	weir_rxq_free(f.rxq);
	assert_int_equal(rte_ring_count(rings[0]), 20);
}

static void
port_that_goes_ends_a_queue_that_is_finished(void **state)
{
	struct weir_rxq *rxq = open_rxq(32);

	arrive(0, 0, 1);
	weir_rxq_finish(rxq, ECANCELED, UINT32_MAX);
	weir_port_gone(ports[0]);
	assert_int_equal(rig_join(spawn_receiver(rxq, NULL, 32, 1), NULL),
			 -ENODEV);
	/* Nor does one that is finished afterwards ask. */
	weir_rxq_finish(rxq, ECANCELED, UINT32_MAX);
	assert_int_equal(rig_join(spawn_receiver(rxq, NULL, 32, 1), NULL),
			 -ENODEV);
	assert_int_equal(take_sent(0), 0);
	weir_rxq_free(rxq);
}

static void
shutdown_ends_a_receiver(void **state)
{
	struct weir_rxq *rxq = open_rxq(32);
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 1);

	wait_until_polled(rxq);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	assert_null(weir_rxq_create(rig.rt, ports[1], 0, 0, 32));
	assert_int_equal(rte_errno, ESHUTDOWN);
	weir_rxq_free(rxq);
}

static void
wait_for_retry(const struct weir_txq *txq, uint64_t *retries)
{
	struct weir_txq_stats stats;

	rig_wait_until(
		(weir_txq_stats_get(txq, &stats), stats.retries > *retries));
	*retries = stats.retries;
}

static void
forwarding_keeps_order_and_loses_nothing(void **state)
{
	const unsigned int n = 6000;
	struct weir_rxq *rxq = open_rxq(32);
	struct weir_txq *txq = weir_txq_create(ports[1], 0, FOR_EVER);
	unsigned int in = 0, out = 0, count;
	struct weir_txq_stats stats;
	struct weir_join *join;
	struct receiver end = { 0 };
	uint64_t retries = 0;

	join = spawn_receiver(rxq, txq, 32, n);
	while (weir_join_try(join, &end) == WEIR_PENDING) {
		/* More than the other ring holds, so that it fills up. */
		for (; in < n && in < out + PORT_RING + 400; in++)
			if (rte_ring_full(rings[0]))
				break;
			else
				arrive(0, in, in + 1);
		count = rte_ring_count(rings[1]);
		if (count < PORT_RING && in < n) {
			sched_yield();
			continue;
		}
		/* Full, and there is more: the port has to refuse some. */
		if (in > out + PORT_RING)
			wait_for_retry(txq, &retries);
		count = rte_ring_count(rings[1]);
		expect_sent(1, out, count);
		out += count;
	}
	assert_int_equal(end.taken, n);
	assert_int_equal(end.disorder, 0);
	count = rte_ring_count(rings[1]);
	expect_sent(1, out, count);
	weir_txq_drain(txq);
	expect_sent(1, out + count, n - out - count);
	weir_txq_stats_get(txq, &stats);
	assert_int_equal(stats.sent, n);
	assert_int_equal(stats.dropped, 0);
	assert_int_not_equal(stats.retries, 0);
	weir_txq_free(txq);
	weir_rxq_free(rxq);
}

/*
 * RX interrupts of port 0, which net_ring has not: what ethdev would do with
 * them. `interrupts.fd` stands for the interrupt.
 */
static struct {
	bool configured;
	bool shared; /* by all queues */
	bool left;   /* by EAL, which has not been told to read it */
	int fd;
	int enable_rc;
	struct rte_epoll_event event;
	struct atomic_u32 adds;
	struct atomic_u32 dels;
	struct atomic_u32 on; /* 1: enabled */
} interrupts;

int
__wrap_rte_eth_dev_conf_get(uint16_t port, struct rte_eth_conf *conf);
int
__wrap_rte_eth_dev_rx_intr_ctl_q(uint16_t port, uint16_t queue, int epfd,
				 int op, void *data);
int
__wrap_rte_eth_dev_rx_intr_ctl_q_get_fd(uint16_t port, uint16_t queue);
int
__wrap_rte_eth_dev_rx_intr_enable(uint16_t port, uint16_t queue);
int
__wrap_rte_eth_dev_rx_intr_disable(uint16_t port, uint16_t queue);

int
__wrap_rte_eth_dev_conf_get(uint16_t port, struct rte_eth_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->intr_conf.rxq = interrupts.configured;
	return 0;
}

int
__wrap_rte_eth_dev_rx_intr_ctl_q(uint16_t port, uint16_t queue, int epfd,
				 int op, void *data)
{
	struct rte_epoll_event *e = &interrupts.event;
	uint64_t n;

	if (op == RTE_INTR_EVENT_DEL) {
		rig_add(&interrupts.dels, 1);
		return rte_epoll_ctl(e->epfd, EPOLL_CTL_DEL, e->fd, e);
	}
	/* EAL does so when it has the event. */
	if (!interrupts.left && read(interrupts.fd, &n, sizeof(n)) < 0 &&
	    errno != EAGAIN)
		return -errno;
	rig_add(&interrupts.adds, 1);
	e->epdata.event = EPOLLIN | EPOLLET;
	e->epdata.data = data;
	return rte_epoll_ctl(epfd, EPOLL_CTL_ADD, interrupts.fd, e);
}

int
__wrap_rte_eth_dev_rx_intr_ctl_q_get_fd(uint16_t port, uint16_t queue)
{
	if (interrupts.left)
		return interrupts.fd;
	return interrupts.shared ? 0 : queue;
}

int
__wrap_rte_eth_dev_rx_intr_enable(uint16_t port, uint16_t queue)
{
	if (interrupts.enable_rc == 0)
		rig_set(&interrupts.on, 1);
	return interrupts.enable_rc;
}

int
__wrap_rte_eth_dev_rx_intr_disable(uint16_t port, uint16_t queue)
{
	rig_set(&interrupts.on, 0);
	return 0;
}

static struct weir_rxq *
open_sleeping(bool configured, int enable_rc)
{
	unsigned int i;

	memset(&interrupts, 0, sizeof(interrupts));
	interrupts.configured = configured;
	interrupts.enable_rc = enable_rc;
	interrupts.fd = eventfd(0, EFD_NONBLOCK);
	assert_return_code(interrupts.fd, errno);
	for (i = 0; i < weir_runtime_nb_workers(rig.rt); i++)
		assert_int_equal(
			weir_worker_park_set(rig.rt, i, WEIR_PARK_INTERRUPT),
			0);
	return open_rxq(32);
}

static void
close_sleeping(struct weir_rxq *rxq)
{
	weir_rxq_free(rxq);
	assert_int_equal(rig_get(&interrupts.adds), rig_get(&interrupts.dels));
	assert_int_equal(rig_get(&interrupts.on), 0);
	close(interrupts.fd);
}

/*
 * Whether its op is there or not: some PMDs have the interrupt always on. Once it has
 * been seen, long sleeps have no end here but the interrupt.
 */
static void
packets_wake_a_worker_by_interrupt(void **state)
{
	const int rcs[] = { 0, -ENOTSUP };
	const uint64_t one = 1;
	struct weir_rxq *rxq;
	struct weir_join *join;
	unsigned int i, k;
	uint32_t adds;

	for (i = 0; i < RTE_DIM(rcs); i++) {
		adds = 0;
		rxq = open_sleeping(true, rcs[i]);
		join = spawn_receiver(rxq, NULL, 32, 20);
		for (k = 0; k < 20; k++) {
			rig_wait_until(rig_get(&interrupts.adds) > adds);
			adds = rig_get(&interrupts.adds);
			/* One that is off does not come. */
			rig_wait_until(rcs[i] != 0 || rig_get(&interrupts.on));
			arrive(0, k, k + 1);
			assert_int_equal(write(interrupts.fd, &one, 8), 8);
		}
		expect_received(join, 20);
		close_sleeping(rxq);
	}
}

/* It would sleep until the interrupt, which does not come. */
static void
worker_that_sleeps_finishes_its_queue(void **state)
{
	struct weir_rxq *rxq = open_sleeping(true, 0);
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 1);
	const uint64_t one = 1;

	/* From its first interrupt on sleeps are long. */
	rig_wait_until(rig_get(&interrupts.adds) > 0);
	assert_int_equal(write(interrupts.fd, &one, sizeof(one)), sizeof(one));
	rig_wait_until(rig_get(&interrupts.adds) > 1);
	weir_rxq_finish(rxq, ECANCELED, UINT32_MAX);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	close_sleeping(rxq);
}

static bool
is_raised(int interrupt)
{
	struct pollfd in = { .fd = interrupt, .events = POLLIN };

	return poll(&in, 1, 0) != 0;
}

/* Else each sleep would end at once. */
static void
interrupt_that_nobody_reads_is_taken_back(void **state)
{
	struct weir_rxq *rxq = open_sleeping(true, 0);
	const uint64_t one = 1;
	struct weir_join *join;

	interrupts.left = true;
	join = spawn_receiver(rxq, NULL, 32, 1);
	rig_wait_until(rig_get(&interrupts.adds) > 0);
	assert_int_equal(write(interrupts.fd, &one, sizeof(one)), sizeof(one));
	/* Whether it has ended a sleep or came behind one that was too short for it. */
	rig_wait_until(!is_raised(interrupts.fd));
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	close_sleeping(rxq);
}

static void
queue_without_interrupts_is_polled(void **state)
{
	struct weir_rxq *rxq = open_sleeping(false, 0);
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 100);

	wait_until_polled(rxq);
	arrive(0, 0, 100);
	expect_received(join, 100);
	assert_int_equal(rig_get(&interrupts.adds), 0);
	close_sleeping(rxq);
}

static bool
is_polled(struct weir_rxq *rxq)
{
	return atomic_u64_load(&weir_rxq_source(rxq)->polled_until, RELAXED) !=
	       0;
}

/* What becomes of the worker's first sleep beside a queue that is waited for. */
static void
expect_polled(struct weir_rxq *rxq, bool polled)
{
	uint32_t adds = rig_get(&interrupts.adds);
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 1);

	rig_wait_until(is_polled(rxq) || rig_get(&interrupts.adds) > adds);
	assert_int_equal(is_polled(rxq), polled);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
}

static void
lines_about_queues_that_are_polled_name_them(void **state)
{
	const int level = rte_log_get_level(weir__logtype);
	struct weir_rxq *queues[2];
	struct weir_join *joins[2];
	char lines[400] = "", line[200];
	struct rig_blockers b;
	unsigned int i;
	FILE *log;

	log = fmemopen(lines, sizeof(lines), "w");
	assert_non_null(log);
	setvbuf(log, NULL, _IONBF, 0);
	queues[0] = open_sleeping(false, 0);
	queues[1] = weir_rxq_create(rig.rt, ports[0], 1, 0, 32);
	assert_non_null(queues[1]);
	rte_log_set_level(weir__logtype, RTE_LOG_NOTICE);
	rte_openlog_stream(log);
	/* Both are waited for when their worker comes to sleep. */
	rig_block_some(&b, rig.rt, 1);
	for (i = 0; i < 2; i++)
		joins[i] = spawn_receiver(queues[i], NULL, 32, 1);
	if (weir_runtime_nb_workers(rig.rt) > 1)
		for (i = 0; i < 2; i++)
			rig_wait_until(
				rig_get(&weir_rxq_source(queues[i])->armed));
	rig_unblock(&b);
	rig_wait_until(is_polled(queues[0]) && is_polled(queues[1]));
	for (i = 0; i < 2; i++) {
		weir_join_abort(joins[i]);
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
		/* A line is there when its queue's lock can be had. */
		weir_source_lock(queues[i]);
		weir_source_unlock(queues[i]);
	}
	rte_openlog_stream(NULL);
	rte_log_set_level(weir__logtype, (uint32_t)level);
	fclose(log);
	for (i = 0; i < 2; i++) {
		snprintf(line, sizeof(line),
			 "weir: source ethdev (port %u, queue %u, without "
			 "intr_conf.rxq) of worker 0: Operation not supported; "
			 "polling it\n",
			 ports[0], i);
		if (strstr(lines, line) == NULL)
			fail_msg("\"%s\" is not in \"%s\"", line, lines);
	}
	weir_rxq_free(queues[1]);
	close_sleeping(queues[0]);
}

/* port.c, P2 */
static void
queues_that_share_an_interrupt_do_not_sleep_by_it_together(void **state)
{
	const bool shared[] = { false, true };
	struct weir_rxq *first, *second;
	char text[64], line[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(shared); i++) {
		first = open_sleeping(true, 0);
		interrupts.shared = shared[i];
		second = weir_rxq_create(rig.rt, ports[0], 1, 0, 32);
		assert_non_null(second);
		expect_polled(second, shared[i]);
		weir_rxq_source(second)->ops->describe(second, text,
						       sizeof(text));
		snprintf(line, sizeof(line), "port %u, queue 1%s", ports[0],
			 shared[i] ? ", with another's interrupt" : "");
		assert_string_equal(text, line);
		/* Who has it goes, and another comes. */
		weir_rxq_free(first);
		first = open_rxq(32);
		weir_rxq_free(second);
		expect_polled(first, false);
		close_sleeping(first);
	}
}

static void
interrupt_that_is_refused_is_undone(void **state)
{
	struct weir_rxq *rxq = open_sleeping(true, -EIO);
	struct weir_join *join = spawn_receiver(rxq, NULL, 32, 100);

	rig_wait_until(rig_get(&interrupts.dels) > 0);
	wait_until_polled(rxq);
	arrive(0, 0, 100);
	expect_received(join, 100);
	close_sleeping(rxq);
}

/* Calls until ethdev refuses to tell of events; 0: it does not. */
static unsigned int refused_call;

int
__real_rte_eth_dev_callback_register(uint16_t port,
				     enum rte_eth_event_type event,
				     rte_eth_dev_cb_fn call, void *arg);
int
__wrap_rte_eth_dev_callback_register(uint16_t port,
				     enum rte_eth_event_type event,
				     rte_eth_dev_cb_fn call, void *arg);

int
__wrap_rte_eth_dev_callback_register(uint16_t port,
				     enum rte_eth_event_type event,
				     rte_eth_dev_cb_fn call, void *arg)
{
	if (refused_call != 0 && --refused_call == 0)
		return -ENOMEM;
	return __real_rte_eth_dev_callback_register(port, event, call, arg);
}

static void
port_that_cannot_be_watched_is_refused(void **state)
{
	unsigned int i;

	for (i = 1; i <= 2; i++) {
		refused_call = i;
		rte_errno = 0;
		assert_null(weir_rxq_create(rig.rt, ports[0], 0, 0, 32));
		assert_int_equal(rte_errno, ENOMEM);
	}
	weir_rxq_free(open_rxq(32));
}

static int
start(void **state)
{
	kernel_reset();
	return ports_start(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PORTS_TESTS(packets_are_received_in_order),
		PORTS_TESTS(few_are_received_from_who_gives_many_at_a_time),
		PORTS_TEST(receive_function_has_one_thread_in_it, 2),
		PORTS_TEST(receive_function_has_one_thread_in_it, 3),
		PORTS_TEST(bad_receive_queues_are_refused, 2),
		PORTS_TESTS(bad_numbers_of_packets_are_refused),
		PORTS_TESTS(queue_is_a_source_once),
		PORTS_TESTS(port_that_goes_ends_its_queues_only),
		PORTS_TESTS(link_that_goes_down_is_told_once),
		PORTS_TESTS(second_waiter_is_refused),
		PORTS_TESTS(packets_that_nobody_took_are_freed),
		PORTS_TESTS(queue_that_is_finished_gives_what_lies_in_it),
		PORTS_TESTS(
			queue_that_is_finished_gives_no_more_than_asked_for),
		PORTS_TESTS(who_waits_for_a_queue_that_is_finished_is_told),
		/* Others would see to the queue of a worker that stays. */
		PORTS_TEST(poll_behind_the_end_takes_no_packets, 1),
		PORTS_TESTS(port_that_goes_ends_a_queue_that_is_finished),
		PORTS_TESTS(shutdown_ends_a_receiver),
		PORTS_TESTS(forwarding_keeps_order_and_loses_nothing),
		PORTS_TESTS(packets_wake_a_worker_by_interrupt),
		PORTS_TESTS(worker_that_sleeps_finishes_its_queue),
		PORTS_TESTS(interrupt_that_nobody_reads_is_taken_back),
		PORTS_TESTS(queue_without_interrupts_is_polled),
		PORTS_TESTS(lines_about_queues_that_are_polled_name_them),
		PORTS_TESTS(
			queues_that_share_an_interrupt_do_not_sleep_by_it_together),
		PORTS_TESTS(interrupt_that_is_refused_is_undone),
		PORTS_TEST(port_that_cannot_be_watched_is_refused, 1),
	};

	return cmocka_run_group_tests(tests, start, unit_eal_teardown);
}
