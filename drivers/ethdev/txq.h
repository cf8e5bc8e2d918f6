/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ETHDEV_TXQ_H
#define ETHDEV_TXQ_H

/* Sending, for who has a loop around it; see txq.c. */

#include "base/atomic.h"
#include "base/common.h"
#include "burst.h"
#include "port.h"
#include "weir_ethdev.h"

struct weir_txq {
	uint16_t port;
	uint16_t queue;
	/* Held back: pkts[first] to pkts[end - 1]. */
	uint16_t first;
	uint16_t end;
	/* TSC cycles. */
	uint64_t timeout;
	uint64_t waited; /* without progress, as far as it counts */
	uint64_t tried_at;
	/* Written by the owning task, read by all. */
	struct atomic_u64 sent;
	struct atomic_u64 dropped;
	struct atomic_u64 retries;
	struct rte_mbuf *pkts[WEIR_BURST_MAX];
	struct txq_entry entry;
#ifdef WEIR_ASSERTS
	struct atomic_u32 in_use;
#endif
};

/* The queue is one task's at a time: what two did at once would be both of theirs. */
static __rte_always_inline void
txq_enter(struct weir_txq *txq)
{
#ifdef WEIR_ASSERTS
	WEIR_ASSERT(atomic_u32_exchange(&txq->in_use, 1, RELAXED) == 0,
		    "txq: of one task at a time");
#endif
	(void)txq;
}

static __rte_always_inline void
txq_leave(struct weir_txq *txq)
{
#ifdef WEIR_ASSERTS
	atomic_u32_store(&txq->in_use, 0, RELAXED);
#endif
	(void)txq;
}

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
	uint16_t sent;

	txq_enter(txq);
	sent = tx_burst(port, queue, pkts, n);
	atomic_u64_add_owner(&txq->sent, sent);
	txq_leave(txq);
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
