/* SPDX-License-Identifier: BSD-3-Clause */

/* txonly: each transmit queue sends packets of our own as fast as it can. */

#include <rte_mbuf.h>

#include "forward.h"
#include "packet.h"

static int
txonly_poll(struct weir_context *ctx, void *state)
{
	struct stream *s = *(struct stream **)state;
	struct rte_mbuf *pkts[WEIR_BURST_MAX];
	const uint16_t burst = s->forward.burst;
	struct packet packet;
	int rc;

	packet_init(&packet, &s->src, &s->dst);
	for (;;) {
		rc = weir_txq_ready(ctx, s->forward.txq);
		if (unlikely(rc < 0))
			return rc;
		/* Nothing here ever waits, so the budget is spent by hand. */
		rc = weir_context_spend(ctx, burst);
		if (rc < 0)
			return rc;
		if (unlikely(rte_pktmbuf_alloc_bulk(s->pool, pkts, burst) !=
			     0)) {
			/* The ports hold them all, and will give them back. */
			s->no_mbufs++;
			return weir_context_yield(ctx);
		}
		packet_write_bulk(&packet, pkts, burst);
		s->generated += burst;
		weir_txq_send(s->forward.txq, pkts, burst);
	}
}

const struct forward_mode forward_mode_txonly = {
	.name = "txonly",
	.sends = true,
	.task = FORWARD_TASK("txonly", txonly_poll),
};
