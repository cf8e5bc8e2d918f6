/* SPDX-License-Identifier: BSD-3-Clause */

/* A fiber for each port: receives, answers, sends. */

#include <errno.h>

#include "echo.h"

struct echo {
	struct weir_fiber fiber;
	struct echo_port *port;
};

/*
 * Keeps the answers, at the front, and frees the others, into their pool's cache of
 * this lcore: a function that awaits could have kept that of another (weir_fiber.h).
 * That it is not inlined is enough, since a call with effects is neither moved nor
 * left out.
 */
static __rte_noinline uint16_t
answer_burst(struct echo_port *port, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i, kept = 0;

	for (i = 0; i < n; i++) {
		if (answer(pkts[i], &port->me))
			pkts[kept++] = pkts[i];
		else
			rte_pktmbuf_free(pkts[i]);
	}
	port->received += n;
	port->answered += kept;
	return kept;
}

static int
echo_run(struct weir_fiber *f, void *state)
{
	struct echo_port *port = ((struct echo *)state)->port;
	struct rte_mbuf *pkts[ECHO_BURST];
	int n;

	for (;;) {
		n = weir_fiber_await(f, weir_txq_ready(weir_fiber_context(f),
						       port->port.txq));
		if (n < 0)
			return n;
		n = weir_fiber_await(f, weir_rxq_recv(weir_fiber_context(f),
						      port->port.rxq, pkts,
						      ECHO_BURST));
		/* Once the link is up again there will be more. */
		if (n == -ENETDOWN)
			continue;
		if (n < 0)
			return n;
		n = answer_burst(port, pkts, (uint16_t)n);
		weir_txq_send(port->port.txq, pkts, (uint16_t)n);
	}
}

static const struct weir_task_ops echo_ops = {
	.name = "echo",
	.state_size = sizeof(struct echo),
	.poll = weir_fiber_poll,
	.drop = weir_fiber_drop,
};

struct weir_join *
echo_spawn(struct weir_runtime *rt, struct echo_port *port, unsigned int worker)
{
	const struct echo e = { .fiber = { .run = echo_run }, .port = port };
	const struct weir_spawn_attr attr = {
		.node_plus_1 = (unsigned int)weir_worker_node(rt, worker) + 1,
	};

	return weir_task_spawn(rt, &echo_ops, &e, &attr);
}
