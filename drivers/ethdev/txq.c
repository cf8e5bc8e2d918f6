/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A transmit queue that waits for its port instead of dropping.
 *
 * What the port does not take is held back, in order, and sent before anything
 * else. While something is held back weir_txq_ready() makes its task yield, so
 * the task receives nothing more and packets wait in the RX ring, where the NIC
 * counts what does not fit. Only a port that makes no progress for the whole
 * timeout costs packets, and those are counted. Of the time in which nobody tried, as
 * when the process was stopped, a part counts only: the port may have made room long ago,
 * and then takes the packets at the next try. A PMD may also refuse one packet
 * for good, too long a one for example, which looks just the same: so they go
 * one by one, from the front, until the port takes the next.
 *
 * Y1 Packets go to the port in the order in which they were given to
 *    weir_txq_send().
 * Y2 sent + dropped + what is held back is what was given.
 */

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "base/cycles.h"
#include "base/heap.h"
#include "txq.h"
#include "weir_task.h"

/* The timeout is over after so many tries in vain, at least. */
#define TRIES 4u

struct weir_txq *
weir_txq_create(uint16_t port, uint16_t queue, unsigned int timeout_us)
{
	struct rte_eth_dev_info info;
	struct weir_txq *txq;
	int rc;

	if (!rte_eth_dev_is_valid_port(port) ||
	    rte_eth_dev_info_get(port, &info) != 0 ||
	    queue >= info.nb_tx_queues) {
		rte_errno = EINVAL;
		return NULL;
	}
	txq = heap_taken(rte_zmalloc_socket("txq", sizeof(*txq),
					    RTE_CACHE_LINE_SIZE,
					    rte_eth_dev_socket_id(port)));
	if (txq == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	rc = weir__port_add_tx(&txq->entry, port, queue);
	if (rc < 0) {
		heap_free(txq);
		rte_errno = -rc;
		return NULL;
	}
	txq->port = port;
	txq->queue = queue;
	txq->timeout = cycles_of_us(timeout_us);
	return txq;
}

static void
drop(struct weir_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	rte_pktmbuf_free_bulk(pkts, n);
	atomic_u64_add_owner(&txq->dropped, n);
}

/* The port is waited for anew. */
static void
wait_anew(struct weir_txq *txq)
{
	txq->waited = 0;
	txq->tried_at = rte_rdtsc();
}

static void
count_wait(struct weir_txq *txq)
{
	uint64_t now = rte_rdtsc();

	txq->waited += RTE_MIN(now - txq->tried_at, txq->timeout / TRIES + 1);
	txq->tried_at = now;
}

/* Sends what is held back; true when nothing is left. */
static bool
retry(struct weir_txq *txq)
{
	uint16_t n;

	txq_enter(txq);
	n = tx_burst(txq->port, txq->queue, &txq->pkts[txq->first],
		     (uint16_t)(txq->end - txq->first));
	atomic_u64_add_owner(&txq->retries, 1);
	atomic_u64_add_owner(&txq->sent, n);
	txq->first += n;
	if (n > 0)
		wait_anew(txq);
	else
		count_wait(txq);
	txq_leave(txq);
	return txq->first == txq->end;
}

/* As retry(), but after the timeout gives up what the port does not take. */
static bool
retry_or_drop(struct weir_txq *txq)
{
	uint16_t next;

	if (retry(txq))
		return true;
	if (txq->waited < txq->timeout)
		return false;
	do {
		drop(txq, &txq->pkts[txq->first++], 1);
		next = txq->first;
	} while (next != txq->end && !retry(txq) && txq->first == next);
	return txq->first == txq->end;
}

void
weir_txq_drain(struct weir_txq *txq)
{
	wait_anew(txq);
	while (txq->first != txq->end && !retry_or_drop(txq))
		rte_pause();
}

void
weir_txq_free(struct weir_txq *txq)
{
	if (txq == NULL)
		return;
	weir_txq_drain(txq);
	weir__port_remove_tx(&txq->entry);
	heap_free(txq);
}

int
weir__txq_ready_rare(struct weir_context *ctx, struct weir_txq *txq)
{
	return retry_or_drop(txq) ? 0 : weir_context_yield(ctx);
}

int
weir_txq_ready(struct weir_context *ctx, struct weir_txq *txq)
{
	return txq_ready(ctx, txq);
}

void
weir__txq_hold_back(struct weir_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t held = txq->end - txq->first, i, room;

	txq_enter(txq);
	if (held == 0)
		wait_anew(txq);
	for (i = 0; i < held; i++)
		txq->pkts[i] = txq->pkts[txq->first + i];
	room = RTE_MIN(n, (uint16_t)(WEIR_BURST_MAX - held));
	for (i = 0; i < room; i++)
		txq->pkts[held + i] = pkts[i];
	txq->first = 0;
	txq->end = held + room;
	if (room < n)
		drop(txq, pkts + room, n - room);
	txq_leave(txq);
}

void
weir_txq_send(struct weir_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	txq_send(txq, pkts, n);
}

void
weir_txq_stats_get(const struct weir_txq *txq, struct weir_txq_stats *stats)
{
	stats->sent = atomic_u64_load(&txq->sent, RELAXED);
	stats->dropped = atomic_u64_load(&txq->dropped, RELAXED);
	stats->retries = atomic_u64_load(&txq->retries, RELAXED);
}
