/* SPDX-License-Identifier: BSD-3-Clause */

/* rxonly: packets are counted and freed. */

#include <rte_mbuf.h>

#include "forward.h"

static int
rxonly_poll(struct weir_context *ctx, void *state)
{
	struct stream *s = *(struct stream **)state;
	struct rte_mbuf *pkts[WEIR_BURST_MAX];
	int n;

	for (;;) {
		n = weir_rxq_recv(ctx, s->forward.rxq, pkts, s->forward.burst);
		if (unlikely(n < 0)) {
			if (n != -ENETDOWN)
				return n;
			s->forward.link_downs++;
			continue;
		}
		s->forward.received += (unsigned int)n;
		s->consumed += (unsigned int)n;
		rte_pktmbuf_free_bulk(pkts, (unsigned int)n);
	}
}

const struct forward_mode forward_mode_rxonly = {
	.name = "rxonly",
	.receives = true,
	.task = FORWARD_TASK("rxonly", rxonly_poll),
};
