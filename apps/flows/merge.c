/* SPDX-License-Identifier: BSD-3-Clause */

#include "flows.h"

struct merge {
	struct weir_place place;
	struct weir_wait wait;
	struct flows_port *port;
	struct weir_receiver *from;
	struct weir_join *join; /* of the next burst */
};

static int
merge_poll(struct weir_context *ctx, void *state)
{
	struct merge *m = state;
	struct flows_burst burst;
	int rc;

	WEIR_BEGIN(&m->place);
	for (;;) {
		/* As long as the port is full nothing is taken. */
		WEIR_AWAIT(rc, weir_txq_ready(ctx, m->port->port.txq));
		WEIR_AWAIT(rc, weir_recv(ctx, m->from, &m->join, &m->wait));
		if (rc < 0)
			break;
		/* Others may be done before, and wait for it. */
		WEIR_AWAIT(rc, weir_join_poll(ctx, m->join, &burst));
		m->join = NULL;
		/* Else the runtime ends, and has freed them. */
		if (rc == 0)
			weir_txq_send(m->port->port.txq, burst.pkts,
				      (uint16_t)burst.n);
	}
	WEIR_END;
	return WEIR_DONE;
}

static void
merge_drop(void *state)
{
	struct merge *m = state;

	weir_wait_cancel(&m->wait);
	weir_join_detach(m->join);
	weir_receiver_drop(m->from);
	weir_txq_drain(m->port->port.txq);
	weir_txq_stats_get(m->port->port.txq, &m->port->sent);
}

static const struct weir_task_ops merge_ops = {
	.name = "merge",
	.state_size = sizeof(struct merge),
	.poll = merge_poll,
	.drop = merge_drop,
};

struct weir_join *
merge_spawn(struct weir_runtime *rt, struct flows_port *port,
	    struct weir_receiver *from, const struct weir_spawn_attr *attr)
{
	const struct merge m = { .port = port, .from = from };

	return weir_task_spawn(rt, &merge_ops, &m, attr);
}
