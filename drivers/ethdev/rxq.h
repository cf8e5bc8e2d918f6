/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ETHDEV_RXQ_H
#define ETHDEV_RXQ_H

/* Receiving, for who has a loop around it; see rxq.c. */

#include "burst.h"
#include "park/source_wait.h"
#include "port.h"
#include "weir_ethdev.h"

struct weir_rxq {
	uint16_t port;
	uint16_t queue;
	uint16_t room; /* of the stash */
	/* The stash: pkts[first] to pkts[end - 1]. */
	uint16_t first;
	uint16_t end;
	struct rxq_entry entry; /* port.c */
	struct rte_mbuf *pkts[];
};

/*
 * Ends a wait that has begun, without asking the PMD: there is something in the stash,
 * or the source is closed or alerted.
 */
__rte_cold int
weir__rxq_recv_rare(struct weir_context *ctx, struct weir_rxq *rxq,
		    struct rte_mbuf **pkts, uint16_t n);

/*
 * weir_rxq_recv(), for an n that is one. port, queue: the rxq's, which a loop has at
 * hand.
 */
static __rte_always_inline int
rxq_recv(struct weir_context *ctx, struct weir_rxq *rxq, uint16_t port,
	 uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	struct weir_source *src = source_of(rxq);
	int rc = source_wait_begin(ctx, src);

	if (unlikely(rc < 0))
		return rc;
	if (unlikely(rc > 0))
		return weir__rxq_recv_rare(ctx, rxq, pkts, n);
	n = rx_burst(port, queue, pkts, n);
	if (unlikely(n == 0))
		return source_wait_arm(ctx, src);
	source_wait_ready(ctx, src, n);
	return n;
}

#endif
