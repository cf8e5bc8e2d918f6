/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ETHDEV_TXQ_H
#define ETHDEV_TXQ_H

/* Sending, for who has a loop around it; see txq.c. */

#include "base/atomic.h"
#include "base/common.h"
#include "burst.h"
#include "weir_ethdev.h"

struct weir_txq {
	uint16_t port;
	uint16_t queue;
	/* Held back: pkts[first] to pkts[end - 1]. */
	uint16_t first;
	uint16_t end;
	uint64_t timeout; /* TSC cycles */
	uint64_t stuck_since;
	/* Written by the owning task, read by all. */
	struct atomic_u64 sent;
	struct atomic_u64 dropped;
	struct atomic_u64 retries;
	struct rte_mbuf *pkts[WEIR_BURST_MAX];
};

/* weir_txq_ready() while something is held back. */
__rte_cold int
weir__txq_ready_rare(struct weir_context *ctx, struct weir_txq *txq);

/* Of what weir_txq_send() is given, the port has not taken this. */
__rte_cold void
weir__txq_hold_back(struct weir_txq *txq, struct rte_mbuf **pkts, uint16_t n);

static __rte_always_inline bool
txq_is_ready(const struct weir_txq *txq)
{
	return txq->first == txq->end;
}

static __rte_always_inline int
txq_ready(struct weir_context *ctx, struct weir_txq *txq)
{
	return likely(txq_is_ready(txq)) ? 0 : weir__txq_ready_rare(ctx, txq);
}

/*
 * Sends by one that is ready; false: it is so no longer. port, queue: the txq's, which a
 * loop has at hand.
 */
static __rte_always_inline bool
txq_send_ready(struct weir_txq *txq, uint16_t port, uint16_t queue,
	       struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t sent = tx_burst(port, queue, pkts, n);

	atomic_u64_add_owner(&txq->sent, sent);
	if (likely(sent == n))
		return true;
	weir__txq_hold_back(txq, pkts + sent, n - sent);
	return false;
}

static __rte_always_inline void
txq_send(struct weir_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	/* Y1: nothing overtakes what is held back. */
	if (likely(txq_is_ready(txq)))
		txq_send_ready(txq, txq->port, txq->queue, pkts, n);
	else
		weir__txq_hold_back(txq, pkts, n);
}

#endif
