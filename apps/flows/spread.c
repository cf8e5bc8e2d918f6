/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>

#include "flows.h"

struct spread {
	struct weir_place place;
	struct weir_wait wait;
	struct flows_port *port;
	/* Received and in no batch yet, and where they go. */
	struct rte_mbuf *pkts[FLOWS_BURST];
	uint8_t buckets[FLOWS_BURST];
	unsigned int n;
	/* All of one bucket's, the first `sent` of which are on their way. */
	struct rte_mbuf *batch[FLOWS_BURST];
	unsigned int nb_batch;
	uint32_t sent;
	struct weir_sender *to;
};

static_assert(FLOWS_BUCKETS_MAX - 1 <= UINT8_MAX, "a bucket is one byte");

static void
find_buckets(struct spread *s)
{
	unsigned int i;

	s->port->received += s->n;
	for (i = 0; i < s->n; i++)
		s->buckets[i] =
			(uint8_t)(flow_hash(s->pkts[i]) % s->port->nb_buckets);
}

/* Takes the packets out that go where the first one does, in their order. */
static void
take_batch(struct spread *s)
{
	const uint8_t bucket = s->buckets[0];
	unsigned int i, left = 0;

	s->to = s->port->buckets[bucket];
	s->nb_batch = 0;
	s->sent = 0;
	for (i = 0; i < s->n; i++) {
		if (s->buckets[i] == bucket) {
			s->batch[s->nb_batch++] = s->pkts[i];
		} else {
			s->pkts[left] = s->pkts[i];
			s->buckets[left++] = s->buckets[i];
		}
	}
	s->n = left;
}

static int
spread_poll(struct weir_context *ctx, void *state)
{
	struct spread *s = state;
	int rc;

	WEIR_BEGIN(&s->place);
	for (;;) {
		WEIR_AWAIT(rc, weir_rxq_recv(ctx, s->port->port.rxq, s->pkts,
					     FLOWS_BURST));
		/* Once the link is up again there will be more. */
		if (rc == -ENETDOWN)
			continue;
		if (rc < 0)
			return rc;
		s->n = (unsigned int)rc;
		find_buckets(s);
		while (s->n > 0) {
			take_batch(s);
			WEIR_AWAIT(rc, weir_send_all(ctx, s->to, s->batch,
						     s->nb_batch, &s->sent,
						     &s->wait));
			if (rc < 0)
				return rc;
		}
	}
	WEIR_END;
}

static void
spread_drop(void *state)
{
	struct spread *s = state;
	unsigned int i;

	weir_wait_cancel(&s->wait);
	rte_pktmbuf_free_bulk(s->batch + s->sent, s->nb_batch - s->sent);
	rte_pktmbuf_free_bulk(s->pkts, s->n);
	for (i = 0; i < s->port->nb_buckets; i++)
		weir_sender_drop(s->port->buckets[i]);
}

static const struct weir_task_ops spread_ops = {
	.name = "spread",
	.state_size = sizeof(struct spread),
	.poll = spread_poll,
	.drop = spread_drop,
};

struct weir_join *
spread_spawn(struct weir_runtime *rt, struct flows_port *port,
	     const struct weir_spawn_attr *attr)
{
	const struct spread s = { .port = port };

	return weir_task_spawn(rt, &spread_ops, &s, attr);
}
