/* SPDX-License-Identifier: BSD-3-Clause */

#include "flows.h"

struct out {
	struct weir_place place;
	struct weir_wait wait;
	struct flows_port *port;
	struct weir_receiver *from;
	struct rte_mbuf *pkts[FLOWS_BURST];
};

static int
out_poll(struct weir_context *ctx, void *state)
{
	struct out *o = state;
	int rc;

	WEIR_BEGIN(&o->place);
	for (;;) {
		/* As long as the port is full nothing is taken out of the channel. */
		WEIR_AWAIT(rc, weir_txq_ready(ctx, o->port->port.txq));
		WEIR_AWAIT(rc, weir_recv_burst(ctx, o->from, o->pkts,
					       FLOWS_BURST, &o->wait));
		if (rc < 0)
			break;
		weir_txq_send(o->port->port.txq, o->pkts, (uint16_t)rc);
	}
	WEIR_END;
	return WEIR_DONE;
}

static void
out_drop(void *state)
{
	struct out *o = state;

	weir_wait_cancel(&o->wait);
	weir_receiver_drop(o->from);
	weir_txq_drain(o->port->port.txq);
	weir_txq_stats_get(o->port->port.txq, &o->port->sent);
}

static const struct weir_task_ops out_ops = {
	.name = "out",
	.state_size = sizeof(struct out),
	.poll = out_poll,
	.drop = out_drop,
};

struct weir_join *
out_spawn(struct weir_runtime *rt, struct flows_port *port,
	  struct weir_receiver *from, const struct weir_spawn_attr *attr)
{
	const struct out o = { .port = port, .from = from };

	return weir_task_spawn(rt, &out_ops, &o, attr);
}
