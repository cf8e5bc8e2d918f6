/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets cross two ports, from threads through forwarding tasks to tasks that
 * look at their order, while workers come and go, sources move, policies change
 * and threads block. Every packet arrives, in the order of its queue.
 */

#include "stress.h"

#include <errno.h>
#include <pthread.h>

#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <weir_ethdev.h>

#include "ports.h"

#define PACKETS 6000u
#define BURST 32u
/* In a ring of port IN, so that the pool has enough for all other places. */
#define WAITING 128u
#define IN 0 /* port that packets come from */
#define OUT 1

/* Of one queue: its number in both ports. */
struct flow {
	struct rte_ring *ring; /* behind the queue of port IN */
	struct weir_rxq *rxqs[PORTS];
	struct weir_txq *txq;
	struct weir_join *forwarder;
	struct weir_join *receiver;
	pthread_t sender;
};

static struct flow flows[QUEUES];

struct mover {
	struct flow *flow;
	struct rand_state rand;
	uint32_t packets;
	uint32_t disorder;
};

static void
pass_by(void *arg)
{
	sched_yield();
}

/* Now and then a task holds its worker up, or gives it away. */
static int
dawdle(struct weir_context *ctx, struct mover *m)
{
	switch (rand_below(&m->rand, 32)) {
	case 0:
		stress_check(weir_block_in_place(pass_by, NULL) != -EPERM);
		return 0;
	case 1:
		stress_stumble(&m->rand);
		return 0;
	case 2:
		return weir_context_yield(ctx);
	default:
		return 0;
	}
}

static int
forwarder_poll(struct weir_context *ctx, void *state)
{
	struct rte_mbuf *pkts[BURST];
	struct mover *m = state;
	int n;

	while (m->packets < PACKETS) {
		n = dawdle(ctx, m);
		if (n == 0)
			n = weir_txq_ready(ctx, m->flow->txq);
		if (n == 0)
			n = weir_rxq_recv(ctx, m->flow->rxqs[IN], pkts, BURST);
		if (n < 0)
			return n;
		m->packets += (unsigned int)n;
		weir_txq_send(m->flow->txq, pkts, (uint16_t)n);
	}
	return weir_txq_ready(ctx, m->flow->txq);
}

static int
receiver_poll(struct weir_context *ctx, void *state)
{
	struct rte_mbuf *pkts[BURST];
	struct mover *m = state;
	int n, i;

	while (m->packets < PACKETS) {
		n = dawdle(ctx, m);
		if (n == 0)
			n = weir_rxq_recv(ctx, m->flow->rxqs[OUT], pkts, BURST);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++)
			m->disorder += number_of(pkts[i]) != m->packets++;
		rte_pktmbuf_free_bulk(pkts, (unsigned int)n);
	}
	return WEIR_DONE;
}

#define MOVER(kind)                                      \
	static const struct weir_task_ops kind##_ops = { \
		.name = #kind,                           \
		.state_size = sizeof(struct mover),      \
		.poll = kind##_poll,                     \
		.result_size = sizeof(struct mover),     \
	}

MOVER(forwarder);
MOVER(receiver);

static void *
send_main(void *arg)
{
	struct flow *f = arg;
	struct rand_state rand;
	uint32_t sent = 0, n;

	rand_seed(&rand, stress.seed + (uint64_t)(f - flows) + 1);
	while (sent < PACKETS) {
		stress_stumble(&rand);
		n = RTE_MIN(1 + rand_below(&rand, BURST), PACKETS - sent);
		rig_wait_until(rte_ring_count(f->ring) + n <= WAITING);
		for (; n > 0; n--)
			stress_check(
				rte_ring_enqueue(f->ring, packet(sent++)) == 0);
	}
	return NULL;
}

static struct weir_join *
spawn(struct flow *f, const struct weir_task_ops *ops)
{
	struct mover m = { .flow = f };
	struct weir_join *join;

	rand_seed(&m.rand, rand_u32(&stress.rand));
	join = weir_task_spawn(stress.rt, ops, &m, NULL);
	stress_check(join != NULL);
	return join;
}

static void
start_flow(unsigned int queue)
{
	unsigned int n = weir_runtime_nb_workers(stress.rt) - 1, i;
	struct flow *f = &flows[queue];
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "ETH_RXTX%u_net_ring%u", queue, IN);
	f->ring = rte_ring_lookup(name);
	stress_check(f->ring != NULL);
	for (i = 0; i < PORTS; i++) {
		f->rxqs[i] = weir_rxq_create(
			stress.rt, ports[i], (uint16_t)queue,
			rand_below(&stress.rand, n),
			(uint16_t)(1 + rand_below(&stress.rand, BURST)));
		stress_check(f->rxqs[i] != NULL);
	}
	f->txq = weir_txq_create(ports[OUT], (uint16_t)queue, FOR_EVER);
	stress_check(f->txq != NULL);
	f->forwarder = spawn(f, &forwarder_ops);
	f->receiver = spawn(f, &receiver_ops);
	pthread_create(&f->sender, NULL, send_main, f);
}

static void
move_something(void)
{
	const struct flow *f = &flows[rand_below(&stress.rand, QUEUES)];
	int rc;

	rc = weir_source_move(
		weir_rxq_source(f->rxqs[rand_below(&stress.rand, PORTS)]),
		stress.rt,
		rand_below(&stress.rand, weir_runtime_nb_workers(stress.rt)));
	/* -EINVAL: there is no worker at the moment. */
	stress_check(rc == 0 || rc == -EINVAL);
}

static void
expect_all(struct weir_join *join)
{
	struct mover m;

	stress_check(rig_join(join, &m) == 0);
	stress_check(m.packets == PACKETS);
	stress_check(m.disorder == 0);
}

static void
end_flow(struct flow *f)
{
	struct weir_txq_stats stats;
	unsigned int i;

	pthread_join(f->sender, NULL);
	expect_all(f->forwarder);
	expect_all(f->receiver);
	weir_txq_stats_get(f->txq, &stats);
	stress_check(stats.sent == PACKETS);
	stress_check(stats.dropped == 0);
	for (i = 0; i < PORTS; i++)
		weir_rxq_free(f->rxqs[i]);
	weir_txq_free(f->txq);
}

static bool
have_all_ended(void)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++)
		if (!weir_join_ended(flows[i].receiver))
			return false;
	return true;
}

static void
round_of_traffic(void)
{
	uint64_t deadline;
	unsigned int i;

	stress_create(1);
	for (i = 0; i < QUEUES; i++)
		start_flow(i);
	deadline = rig_deadline();
	while (!have_all_ended()) {
		if (rand_below(&stress.rand, 2) == 0)
			move_something();
		else
			stress_change(stress.rt, &stress.rand);
		rig_wait(deadline, "all packets arrive", __FILE__, __LINE__);
	}
	for (i = 0; i < QUEUES; i++)
		end_flow(&flows[i]);
	stress_stop_neighbours();
	stress_end();
	stress_check(rte_mempool_in_use_count(pool) == 0);
	stress_check(ports_overlaps() == 0);
}

static void
packets_keep_their_order_while_all_changes(void **state)
{
	stress_rounds(round_of_traffic);
}

static int
setup(void **state)
{
	stress_setup(state);
	ports_open();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_keep_their_order_while_all_changes),
	};

	return cmocka_run_group_tests_name("traffic", tests, setup,
					   unit_eal_teardown);
}
