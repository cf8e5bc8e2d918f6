/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The loop of a task that forwards. It is the library's, and not only that of each
 * application, for what it calls to be inlined: of a burst of 32 packets that go from
 * memory to memory, calls and the registers that they save took a tenth of the time.
 *
 * Whether the transmit queue is ready comes first: where the peer is full, packets then
 * wait in the receive ring, whose overflow the NIC counts, and not in our memory.
 */

#include <errno.h>

#include "rxq.h"
#include "txq.h"

int
weir_forward(struct weir_context *ctx, struct weir_forward *f)
{
	/* For those that PMDs copy several at a time not to lie in two lines. */
	struct rte_mbuf *pkts[WEIR_BURST_MAX] weir_cache_aligned;
	struct weir_rxq *rxq = f->rxq;
	struct weir_txq *txq = f->txq;
	const uint16_t rx_port = rxq->port, rx_queue = rxq->queue;
	const uint16_t tx_port = txq->port, tx_queue = txq->queue;
	const uint16_t burst = f->burst;
	int n;

	if (unlikely((uint16_t)(burst - 1) >= WEIR_BURST_MAX))
		return -EINVAL;
	for (;;) {
		n = txq_ready(ctx, txq);
		if (unlikely(n < 0))
			return n;
		n = rxq_recv(ctx, rxq, rx_port, rx_queue, pkts, burst);
		if (unlikely(n < 0)) {
			if (n != -ENETDOWN)
				return n;
			f->link_downs++;
			continue;
		}
		f->received += (unsigned int)n;
		if (f->change != NULL)
			n = f->change(f->arg, pkts, (uint16_t)n);
		if (likely(n > 0))
			txq_send(txq, tx_port, tx_queue, pkts, (uint16_t)n);
	}
}
