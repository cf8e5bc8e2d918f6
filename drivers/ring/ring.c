/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A ring's two ends as sources.
 *
 * Messages go between the ring and the task that asks for them. The polls look
 * at the count, so whichever worker polls takes nothing from anyone.
 *
 * R1 An end touches the ring's head under its source's lock only: it is one
 *    producer, or one consumer, whichever worker its task runs on.
 * R2 What the ring did not give to a task is still in it.
 */

#include <rte_errno.h>
#include <rte_ring.h>

#include "base/race.h"
#include "weir_ring.h"
#include "weir_source_driver.h"

struct weir_ring_rx {
	struct rte_ring *ring;
};

struct weir_ring_tx {
	struct rte_ring *ring;
};

static int
rx_poll(void *priv)
{
	const struct weir_ring_rx *rx = priv;

	return !rte_ring_empty(rx->ring);
}

static int
tx_poll(void *priv)
{
	const struct weir_ring_tx *tx = priv;

	return !rte_ring_full(tx->ring);
}

static const struct weir_source_ops rx_ops = {
	.name = "ring rx",
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = rx_poll,
};

static const struct weir_source_ops rx_notified_ops = {
	.name = "ring rx",
	.flags = WEIR_SOURCE_ANY_THREAD | WEIR_SOURCE_NOTIFIES,
	.poll = rx_poll,
};

static const struct weir_source_ops tx_ops = {
	.name = "ring tx",
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = tx_poll,
};

struct weir_ring_rx *
weir_ring_rx_create(struct weir_runtime *rt, struct rte_ring *ring,
		    unsigned int worker, unsigned int flags)
{
	struct weir_ring_rx *rx;

	if (ring == NULL || (flags & ~WEIR_RING_NOTIFIES) != 0) {
		rte_errno = EINVAL;
		return NULL;
	}
	rx = weir_source_create(
		rt, flags & WEIR_RING_NOTIFIES ? &rx_notified_ops : &rx_ops,
		worker, sizeof(*rx));
	if (rx != NULL)
		rx->ring = ring;
	return rx;
}

void
weir_ring_rx_free(struct weir_ring_rx *rx)
{
	weir_source_free(rx);
}

struct weir_source *
weir_ring_rx_source(struct weir_ring_rx *rx)
{
	return weir_source_of(rx);
}

int
weir_ring_recv(struct weir_context *ctx, struct weir_ring_rx *rx, void **objs,
	       unsigned int n)
{
	int rc;

	if (n == 0)
		return -EINVAL;
	rc = weir_source_wait_begin(ctx, rx);
	if (rc < 0)
		return rc;
	n = rte_ring_dequeue_burst(rx->ring, objs, n, NULL);
	if (n == 0)
		return rc > 0 ? weir_source_wait_fail(rx) :
				weir_source_wait_arm(ctx, rx);
	race_acquire(rx->ring); /* the ring's tail */
	weir_source_wait_ready(ctx, rx, n);
	return (int)n;
}

void
weir_ring_notify(struct weir_ring_rx *rx)
{
	weir_source_notify(rx);
}

unsigned int
weir_ring_post_burst(struct weir_ring_rx *rx, void *const *objs, unsigned int n)
{
	race_release(rx->ring); /* the ring's tail */
	n = rte_ring_enqueue_burst(rx->ring, objs, n, NULL);
	if (n > 0)
		weir_source_notify(rx);
	return n;
}

struct weir_ring_tx *
weir_ring_tx_create(struct weir_runtime *rt, struct rte_ring *ring,
		    unsigned int worker)
{
	struct weir_ring_tx *tx;

	if (ring == NULL) {
		rte_errno = EINVAL;
		return NULL;
	}
	tx = weir_source_create(rt, &tx_ops, worker, sizeof(*tx));
	if (tx != NULL)
		tx->ring = ring;
	return tx;
}

void
weir_ring_tx_free(struct weir_ring_tx *tx)
{
	weir_source_free(tx);
}

struct weir_source *
weir_ring_tx_source(struct weir_ring_tx *tx)
{
	return weir_source_of(tx);
}

int
weir_ring_send(struct weir_context *ctx, struct weir_ring_tx *tx,
	       void *const *objs, unsigned int n)
{
	int rc;

	if (n == 0)
		return -EINVAL;
	rc = weir_source_wait_begin(ctx, tx);
	if (rc < 0)
		return rc;
	if (rc > 0)
		return weir_source_wait_fail(tx);
	race_release(tx->ring); /* the ring's tail */
	n = rte_ring_enqueue_burst(tx->ring, objs, n, NULL);
	if (n == 0)
		return weir_source_wait_arm(ctx, tx);
	weir_source_wait_ready(ctx, tx, n);
	return (int)n;
}
