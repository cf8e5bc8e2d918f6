/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include <rte_errno.h>

#include "flows.h"

struct split {
	struct weir_place place;
	struct weir_wait wait;
	struct flows_port *port;
	struct weir_sender *to;
	unsigned int work;
	struct weir_join *join; /* not sent yet */
};

/* Has a task work on what was received. 0, or -errno: it has been freed. */
static int
give(struct weir_context *ctx, struct split *s, struct flows_burst *burst)
{
	int rc;

	s->port->received += burst->n;
	s->join = burst_spawn(weir_context_runtime(ctx), burst, s->work);
	if (s->join != NULL)
		return 0;
	rc = -rte_errno;
	rte_pktmbuf_free_bulk(burst->pkts, burst->n);
	return rc;
}

static int
split_poll(struct weir_context *ctx, void *state)
{
	struct split *s = state;
	struct flows_burst burst;
	int rc;

	WEIR_BEGIN(&s->place);
	for (;;) {
		WEIR_AWAIT(rc, weir_rxq_recv(ctx, s->port->port.rxq, burst.pkts,
					     FLOWS_ORDERED_BURST));
		/* Once the link is up again there will be more. */
		if (rc == -ENETDOWN)
			continue;
		if (rc < 0)
			return rc;
		burst.n = (unsigned int)rc;
		rc = give(ctx, s, &burst);
		if (rc < 0)
			return rc;
		WEIR_AWAIT(rc, weir_send(ctx, s->to, &s->join, &s->wait));
		if (rc < 0)
			return rc;
		s->join = NULL;
	}
	WEIR_END;
}

static void
split_drop(void *state)
{
	struct split *s = state;

	weir_wait_cancel(&s->wait);
	weir_join_detach(s->join);
	weir_sender_drop(s->to);
}

static const struct weir_task_ops split_ops = {
	.name = "split",
	.state_size = sizeof(struct split),
	.poll = split_poll,
	.drop = split_drop,
};

struct weir_join *
split_spawn(struct weir_runtime *rt, struct flows_port *port,
	    struct weir_sender *to, unsigned int work,
	    const struct weir_spawn_attr *attr)
{
	const struct split s = { .port = port, .to = to, .work = work };

	return weir_task_spawn(rt, &split_ops, &s, attr);
}
