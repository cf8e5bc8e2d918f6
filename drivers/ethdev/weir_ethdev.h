/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_ETHDEV_H
#define WEIR_ETHDEV_H

/**
 * @file
 * Ethernet ports: receive queues that tasks wait on, transmit queues with
 * backpressure.
 *
 * The application configures and starts its ports as with any other DPDK
 * program; these functions take over at the queue.
 */

#include <rte_mbuf.h>

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_rxq;
struct weir_txq;

/** Most packets that one call receives or sends. */
#define WEIR_BURST_MAX 512

/**
 * Makes a port's receive queue a source of a worker.
 *
 * @param worker  The home worker: it polls the queue.
 * @param burst   Most packets that a task receives at a time, 1 to WEIR_BURST_MAX.
 *                Polls ask for the next multiple of 8, since there are PMDs that
 *                give none to who asks for fewer.
 * @return NULL with rte_errno: EINVAL (no such port, queue, worker or burst),
 * EBUSY (queue is a source already), ENOMEM, ESHUTDOWN.
 *
 * Its worker can sleep while a task waits for packets (enum weir_park) if the
 * port was configured with intr_conf.rxq and its PMD has RX interrupts; the
 * queue's interrupt is Weir's then. Of queues that share an interrupt, as all of
 * a port do with UIO, the first has it, and the others are polled.
 *
 * Any thread. The port must have been started, which is not looked at: a queue of
 * one that has not is asked for packets all the same, and gives none.
 */
WEIR_API struct weir_rxq *
weir_rxq_create(struct weir_runtime *rt, uint16_t port, uint16_t queue,
		unsigned int worker, uint16_t burst);

/**
 * Frees the queue and packets that it still holds. NULL is legal.
 *
 * Any thread, once no task uses it; before the port is closed, and before the
 * runtime is freed.
 */
WEIR_API void
weir_rxq_free(struct weir_rxq *rxq);

/** The queue as a source, for weir_source_close() and statistics. Any thread. */
WEIR_API struct weir_source *
weir_rxq_source(struct weir_rxq *rxq);

/**
 * Ends a queue behind the packets that lie in it: its task goes on to receive, and
 * once a look finds none has the error, as if the source had been closed with it.
 *
 * @param error  Positive errno; EINVAL stands in for any other number. ECANCELED makes
 *               the end of a task that returns it none that the log tells of.
 * @param most   After so many packets, beside those that the source holds already, it
 *               ends too, though more come; there may be seven more, since polls ask
 *               for a multiple of 8. With the number of the queue's descriptors those
 *               that lie in a NIC's queue now are among them; a ring of software may
 *               hold more. UINT32_MAX: when a look finds none, which for a port that
 *               always has some is never. 0: without another look.
 *
 * Takes nobody's time: who wants to know when it has ended waits for its task. A
 * second call changes nothing; weir_source_close() ends it without more ado.
 *
 * Any thread, but not from inside a receive function, as ethdev's callbacks for
 * received packets are, nor from inside the transmit function of weir_forward().
 */
WEIR_API void
weir_rxq_finish(struct weir_rxq *rxq, int error, uint32_t most);

/**
 * Receives packets, or arranges a wake-up.
 *
 * Spends a unit of budget a packet, at least one.
 *
 * @param pkts  Room for n packets; the caller owns what it gets.
 * @param n     1 to WEIR_BURST_MAX. Multiples of 8 are best: there are PMDs that
 *              give none to who asks for fewer, and a task that does waits for a
 *              poll each time, which finds as many as the burst given at creation.
 * @return
 *   Number of packets, 1 to n, in the order of the queue; WEIR_PENDING;
 *   -ENETDOWN once after the link went down (call again to wait for packets
 *   to come back); -ENODEV when the port is gone; -ESHUTDOWN when the source
 *   was closed by the shutdown, or what it was closed or alerted with, but for
 *   ENETDOWN, which is not for good: who was closed with it gives -ENODEV;
 *   -EBUSY when another task waits for this queue; -EINVAL (n).
 *
 * The task that ctx belongs to. One task at a time for each queue.
 */
WEIR_API int
weir_rxq_recv(struct weir_context *ctx, struct weir_rxq *rxq,
	      struct rte_mbuf **pkts, uint16_t n);

/** Counts of a transmit queue, in packets but for retries. */
struct weir_txq_stats {
	uint64_t sent;	  /**< taken by the port */
	uint64_t dropped; /**< freed: the port took nothing for too long */
	uint64_t retries; /**< calls to the port with what was held back */
};

/**
 * Makes a handle for a port's transmit queue.
 *
 * @param timeout_us  Microseconds without progress after which held-back
 *                    packets are dropped and counted, up to one that the
 *                    port takes; 0: at once; UINT_MAX: more than an hour. Time
 *                    between two tries, as while the process is stopped, counts
 *                    as a quarter of it at most.
 * @return NULL with rte_errno: EINVAL, no such port or queue, ENOMEM; EBUSY: there is a
 * handle for the queue, and the port has not been configured with
 * RTE_ETH_TX_OFFLOAD_MT_LOCKFREE. The port need not have been started yet.
 *
 * Any thread. Afterwards the handle belongs to one task at a time, and so does
 * the port's queue; tasks that are bound to one worker may share them, each in its poll.
 */
WEIR_API struct weir_txq *
weir_txq_create(uint16_t port, uint16_t queue, unsigned int timeout_us);

/**
 * Sends what is held back as long as there is progress; drops and counts what
 * the port has not taken for the timeout. Afterwards nothing is held back, and
 * the counts are final.
 *
 * The owning task, for example in its drop function; or any thread, once no
 * task uses it. Blocks for at most the timeout after the last progress.
 */
WEIR_API void
weir_txq_drain(struct weir_txq *txq);

/** Drains the queue and frees the handle. NULL is legal. Threads as above. */
WEIR_API void
weir_txq_free(struct weir_txq *txq);

/**
 * Is the queue ready to take packets? Sends what was held back first.
 *
 * @return 0: yes; WEIR_PENDING: the port is full, the task has been told to
 * yield. A task that returns then receives nothing, so packets wait in the RX
 * ring.
 *
 * The owning task.
 */
WEIR_API int
weir_txq_ready(struct weir_context *ctx, struct weir_txq *txq);

/**
 * Sends packets in order. Takes them all: what the port does not take now is
 * held back, up to WEIR_BURST_MAX packets; beyond that it is dropped and
 * counted, which does not happen to the first WEIR_BURST_MAX after weir_txq_ready()
 * gave 0.
 *
 * The owning task.
 */
WEIR_API void
weir_txq_send(struct weir_txq *txq, struct rte_mbuf **pkts, uint16_t n);

/** What is forwarded from where to where; see weir_forward(). */
struct weir_forward {
	struct weir_rxq *rxq;
	struct weir_txq *txq;
	uint16_t burst; /**< most packets at a time, 1 to WEIR_BURST_MAX */
	/**
	 * Is given each burst before it is sent, in the task's poll: changes packets,
	 * and their places. NULL: packets go on as they are.
	 *
	 * @return How many are to be sent, those at the front; the callee owns the
	 * others.
	 */
	uint16_t (*change)(void *arg, struct rte_mbuf **pkts, uint16_t n);
	void *arg;

	/* Counted by weir_forward(), to be read by the task. */
	uint64_t received;   /**< packets */
	uint64_t link_downs; /**< times that the link was lost */
};

/* To g++ it hides the struct's constructor. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
/**
 * Forwards from a receive queue to a transmit queue: a loop of weir_txq_ready(),
 * weir_rxq_recv(), f->change() and weir_txq_send(), for less than the calls would take.
 * It goes on until one of the first two ends the turn or the receive queue. It takes
 * some 4 KiB of stack.
 *
 * Without f->change, the source of the receive queue is locked while packets are sent: what
 * must not be done inside a receive function (see weir_port_gone()) must not be done
 * inside this transmit function either, as ethdev's callbacks for sent packets are.
 *
 * @return WEIR_PENDING; -errno as weir_rxq_recv(), but for -ENETDOWN, which is counted;
 * -EINVAL (f->burst). Never 0.
 *
 * The task that ctx belongs to, which owns both queues, and f.
 */
WEIR_API int
weir_forward(struct weir_context *ctx, struct weir_forward *f);
#pragma GCC diagnostic pop

/** Snapshot of the counts. Any thread. */
WEIR_API void
weir_txq_stats_get(const struct weir_txq *txq, struct weir_txq_stats *stats);

/**
 * Ends the receive queues of a port with -ENODEV, since it goes away.
 *
 * Called on its own when the PMD reports a removal (RTE_ETH_EVENT_INTR_RMV), which it
 * does if the port was configured with intr_conf.rmv; applications that remove a
 * port themselves call it before they stop the port. When it returns, no worker
 * is inside the PMD's receive function for that port.
 *
 * Any thread, but not from inside a receive function, as ethdev's callbacks for
 * received packets are, nor from inside the transmit function of weir_forward().
 */
WEIR_API void
weir_port_gone(uint16_t port);

/**
 * Reports the link state of a port to the tasks that wait on it.
 *
 * Called on its own when the PMD reports a change (RTE_ETH_EVENT_INTR_LSC), which it
 * does if it has link interrupts and the port was configured with intr_conf.lsc; the
 * links of others are for the application to watch, with rte_eth_link_get_nowait().
 *
 * Threads as above.
 */
WEIR_API void
weir_port_link(uint16_t port, bool up);

#ifdef __cplusplus
}
#endif

#endif
