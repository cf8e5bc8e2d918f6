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

#include "burst.h"
#include "park/source_wait.h"
#include "rxq.h"
#include "txq.h"

/*
 * Receives a burst that is left for the caller to change, or to send: the turn's last, or
 * whatever has to be changed, since who does that may want the source. Those before it
 * are sent at once, with the source's lock: to take that anew would wait until all that the
 * PMDs have written is there. Who waits for the lock gets it behind a burst.
 */
static __rte_always_inline int
recv_last(struct weir_context *ctx, struct weir_forward *f,
	  struct rte_mbuf **pkts)
{
	const uint16_t rx_port = f->rxq->port, rx_queue = f->rxq->queue;
	const uint16_t tx_port = f->txq->port, tx_queue = f->txq->queue;
	struct weir_source *src = source_of(f->rxq);
	int rc = source_wait_begin(ctx, src);
	uint16_t n;

	if (unlikely(rc < 0))
		return rc;
	if (unlikely(rc > 0))
		return weir__rxq_recv_rare(ctx, f->rxq, pkts, f->burst);
	for (;;) {
		n = rx_burst(rx_port, rx_queue, pkts, f->burst);
		if (unlikely(n == 0))
			return source_wait_arm(ctx, src);
		if (!source_wait_next(ctx, src, n) || f->change != NULL)
			break;
		f->received += n;
		if (likely(txq_send_ready(f->txq, tx_port, tx_queue, pkts, n)))
			continue;
		n = 0;
		break;
	}
	lock_release(&src->lock);
	return n;
}

int
weir_forward(struct weir_context *ctx, struct weir_forward *f)
{
	/* For those that PMDs copy several at a time not to lie in two lines. */
	struct rte_mbuf *pkts[WEIR_BURST_MAX] weir_cache_aligned;
	int n;

	if (unlikely((uint16_t)(f->burst - 1) >= WEIR_BURST_MAX))
		return -EINVAL;
	for (;;) {
		n = txq_ready(ctx, f->txq);
		if (unlikely(n < 0))
			return n;
		n = recv_last(ctx, f, pkts);
		if (unlikely(n < 0)) {
			if (n != -ENETDOWN)
				return n;
			f->link_downs++;
			continue;
		}
		f->received += (unsigned int)n;
		if (f->change != NULL)
			n = f->change(f->arg, pkts, (uint16_t)n);
		if (n > 0)
			txq_send(f->txq, pkts, (uint16_t)n);
	}
}
