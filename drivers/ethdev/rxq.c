/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A receive queue as a source.
 *
 * A task that finds packets takes them from the PMD itself. Only when it finds
 * none does the home worker poll the queue for it; what that poll finds is kept
 * in the stash, in order, until the task comes for it.
 *
 * X1 The PMD's receive function runs under the source's lock only (S1).
 * X2 Packets leave in the order of the queue: the stash is emptied before the
 *    PMD is asked again. The source says whether there is any, beside what else a
 *    wait that begins has to be told.
 * X3 A packet that was received is with the task, or in the stash, which fini
 *    frees.
 * X4 A poll asks for as many as any PMD gives some of. A task may ask for fewer; if
 *    it gets none for that, a poll does.
 * X5 Once it is finished only polls ask the PMD, and the first that finds none ends it,
 *    or that would ask for more than it was to give. So it ends, however fast they come,
 *    and no poll behind that, for a place that is still taken, asks again.
 *
 * While the home worker sleeps, the queue's interrupt is enabled and its fd is
 * in the worker's epoll set, and at no other time. Adding the fd each time, and
 * not once, makes an interrupt that nobody has looked into end the next sleep
 * too: net_tap raises it before its receive function gives the packet. An eventfd
 * is not told anew in this way: it has no packets, and is emptied (take_back()).
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "base/lock.h"
#include "burst.h"
#include "park/source_wait.h"
#include "rxq.h"
#include "weir_source_driver.h"

/* Vector PMDs give nothing to who asks for fewer, and multiples of it. */
#define RX_MULTIPLE 8

static_assert(WEIR_BURST_MAX % RX_MULTIPLE == 0, "the largest is one");

/* For a wait that begins. */
static void
note_stash(struct weir_rxq *rxq)
{
	source_of(rxq)->stocked =
		rxq->first != rxq->end || rxq->last_error != 0;
}

static uint16_t
ask(struct weir_rxq *rxq, uint32_t most)
{
	uint16_t n = (uint16_t)RTE_MIN(most, (uint32_t)rxq->room);

	n = RTE_ALIGN_CEIL(n, RX_MULTIPLE);
	return rx_burst(rxq->port, rxq->queue, rxq->pkts, n);
}

/* X5. 0: there are no more. */
static uint16_t
ask_for_the_last(struct weir_rxq *rxq)
{
	uint16_t n = rxq->left > 0 ? ask(rxq, rxq->left) : 0;

	rxq->left -= n > 0 ? RTE_MIN(rxq->left, (uint32_t)n) : rxq->left;
	return n;
}

static int
rxq_poll(void *priv)
{
	struct weir_rxq *rxq = priv;

	if (rxq->first == rxq->end) {
		rxq->first = 0;
		rxq->end = likely(rxq->last_error == 0) ? ask(rxq, rxq->room) :
							  ask_for_the_last(rxq);
		note_stash(rxq);
	}
	if (unlikely(rxq->last_error != 0) && rxq->end == 0)
		return -rxq->last_error;
	return rxq->end - rxq->first;
}

/*
 * PMDs may keep the interrupts of all queues of a port in one register, so one
 * worker at a time changes one.
 */
static int
switch_interrupt(const struct weir_rxq *rxq, bool on)
{
	static struct lock locks[RTE_MAX_ETHPORTS];
	int rc;

	lock_acquire(&locks[rxq->port]);
	rc = on ? rte_eth_dev_rx_intr_enable(rxq->port, rxq->queue) :
		  rte_eth_dev_rx_intr_disable(rxq->port, rxq->queue);
	lock_release(&locks[rxq->port]);
	/* Then it is on for good. */
	return rc == -ENOTSUP ? 0 : rc;
}

static int
rxq_sleep(void *priv, int epfd)
{
	struct weir_rxq *rxq = priv;
	int rc;

	if (rxq->entry.no_interrupt != NULL)
		return -ENOTSUP;
	rc = rte_eth_dev_rx_intr_ctl_q(rxq->port, rxq->queue, epfd,
				       RTE_INTR_EVENT_ADD, weir_source_of(rxq));
	if (rc < 0)
		return rc;
	rc = switch_interrupt(rxq, true);
	if (rc < 0)
		rte_eth_dev_rx_intr_ctl_q(rxq->port, rxq->queue, epfd,
					  RTE_INTR_EVENT_DEL, NULL);
	return rc;
}

/* Can it be read in vain? Not a packet's fd, as net_tap's is. */
static bool
is_counter(int fd)
{
	static const char expected[] = "anon_inode:[eventfd]";
	char path[32], what[sizeof(expected)];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, what, sizeof(what)) == sizeof(expected) - 1 &&
	       memcmp(what, expected, sizeof(expected) - 1) == 0 &&
	       (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

/*
 * Most are read by EAL when they come. That of net_virtio_user is not, which would do
 * for who adds the fd once: an edge is told once.
 */
static void
take_back(struct weir_rxq *rxq)
{
	int fd = rte_eth_dev_rx_intr_ctl_q_get_fd(rxq->port, rxq->queue);
	uint64_t count;
	ssize_t n;

	if (fd < 0)
		return;
	if (fd != rxq->interrupt) {
		rxq->interrupt = fd;
		rxq->counts = is_counter(fd);
	}
	if (!rxq->counts)
		return;
	n = read(fd, &count, sizeof(count));
	RTE_SET_USED(n);
}

static void
rxq_wake(void *priv)
{
	struct weir_rxq *rxq = priv;

	switch_interrupt(rxq, false);
	/* From the epoll fd that it was added to. */
	rte_eth_dev_rx_intr_ctl_q(rxq->port, rxq->queue, 0, RTE_INTR_EVENT_DEL,
				  NULL);
	take_back(rxq);
}

static void
rxq_fini(void *priv)
{
	struct weir_rxq *rxq = priv;

	rte_pktmbuf_free_bulk(&rxq->pkts[rxq->first],
			      (unsigned int)(rxq->end - rxq->first));
}

static void
rxq_describe(const void *priv, char *text, size_t size)
{
	const struct weir_rxq *rxq = priv;
	const char *lacks = rxq->entry.no_interrupt;

	snprintf(text, size, "port %u, queue %u%s%s", rxq->port, rxq->queue,
		 lacks != NULL ? ", " : "", lacks != NULL ? lacks : "");
}

static const struct weir_source_ops rxq_ops = {
	.name = "ethdev",
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = rxq_poll,
	.sleep = rxq_sleep,
	.wake = rxq_wake,
	.fini = rxq_fini,
	.describe = rxq_describe,
};

static bool
queue_exists(uint16_t port, uint16_t queue)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_is_valid_port(port) &&
	       rte_eth_dev_info_get(port, &info) == 0 &&
	       queue < info.nb_rx_queues;
}

struct weir_rxq *
weir_rxq_create(struct weir_runtime *rt, uint16_t port, uint16_t queue,
		unsigned int worker, uint16_t burst)
{
	const uint16_t room = RTE_ALIGN_CEIL(burst, RX_MULTIPLE);
	struct weir_rxq *rxq;
	int rc;

	if (burst == 0 || burst > WEIR_BURST_MAX ||
	    !queue_exists(port, queue)) {
		rte_errno = EINVAL;
		return NULL;
	}
	rxq = weir_source_create(rt, &rxq_ops, worker,
				 sizeof(*rxq) + room * sizeof(rxq->pkts[0]));
	if (rxq == NULL)
		return NULL;
	rxq->port = port;
	rxq->queue = queue;
	rxq->room = room;
	rxq->interrupt = -1;
	rc = weir__port_add(&rxq->entry, weir_source_of(rxq), port, queue);
	if (rc < 0) {
		weir_source_free(rxq);
		rte_errno = -rc;
		return NULL;
	}
	return rxq;
}

void
weir_rxq_free(struct weir_rxq *rxq)
{
	if (rxq == NULL)
		return;
	/* P2 of port.c: its worker is awake before another may have the interrupt. */
	weir_source_close(weir_source_of(rxq), ESHUTDOWN);
	weir__port_remove(&rxq->entry);
	weir_source_free(rxq);
}

struct weir_source *
weir_rxq_source(struct weir_rxq *rxq)
{
	return weir_source_of(rxq);
}

void
weir_rxq_finish(struct weir_rxq *rxq, int error, uint32_t most)
{
	weir_source_lock(rxq);
	if (rxq->last_error == 0) {
		rxq->last_error = (int16_t)errno_or_einval(error);
		rxq->left = most;
	}
	note_stash(rxq);
	weir_source_unlock(rxq);
	/* Who waits is told by the next poll, which a sleep would put off. */
	weir_source_notify(rxq);
}

static uint16_t
take_stash(struct weir_rxq *rxq, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	n = RTE_MIN(n, (uint16_t)(rxq->end - rxq->first));
	for (i = 0; i < n; i++)
		pkts[i] = rxq->pkts[rxq->first + i];
	rxq->first += n;
	note_stash(rxq);
	return n;
}

/*
 * -ENETDOWN is told once, and loops go on behind it: who was closed with it would keep
 * its task busy with being told.
 */
static int
fail(struct weir_rxq *rxq)
{
	bool closed = source_of(rxq)->error != 0;
	int rc = weir_source_wait_fail(rxq);

	return closed && rc == -ENETDOWN ? -ENODEV : rc;
}

int
weir__rxq_recv_rare(struct weir_context *ctx, struct weir_rxq *rxq,
		    struct rte_mbuf **pkts, uint16_t n)
{
	struct weir_source *src = source_of(rxq);
	int rc;

	/* X5. The PMD of one that is closed may be gone. */
	if (rxq->first == rxq->end && rxq->last_error != 0 && src->error == 0) {
		rc = rxq_poll(rxq);
		if (rc < 0)
			src->error = (int16_t)-rc;
	}
	if (rxq->first == rxq->end)
		return fail(rxq);
	n = take_stash(rxq, pkts, n);
	weir_source_wait_ready(ctx, rxq, n);
	return n;
}

int
weir_rxq_recv(struct weir_context *ctx, struct weir_rxq *rxq,
	      struct rte_mbuf **pkts, uint16_t n)
{
	struct weir_source *src = source_of(rxq);
	int rc;

	if (unlikely((uint16_t)(n - 1) >= WEIR_BURST_MAX))
		return -EINVAL;
	rc = source_wait_begin(ctx, src);
	if (unlikely(rc < 0))
		return rc;
	if (unlikely(rc > 0))
		return weir__rxq_recv_rare(ctx, rxq, pkts, n);
	n = rx_burst(rxq->port, rxq->queue, pkts, n);
	if (unlikely(n == 0))
		return source_wait_arm(ctx, src);
	source_wait_ready(ctx, src, n);
	return n;
}
