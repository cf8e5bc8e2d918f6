/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_RING_H
#define WEIR_RING_H

/**
 * @file
 * Rings: messages that tasks receive from, and send to, other threads, other
 * processes and lcores that do not run Weir.
 *
 * A message is a pointer, or what fits in one, in an rte_ring of the
 * application's. The ring keeps the rules that it was made with: who may enqueue
 * and dequeue at a time. What is here counts as one producer, or one consumer,
 * whichever task calls. Rings of other element sizes do not fit.
 *
 * On a ring for several producers or consumers in DPDK's default mode, one that
 * the kernel interrupts keeps the others waiting, and one that is killed in the
 * middle, for ever. Where threads share CPUs, make the ring with RING_F_MP_RTS_ENQ
 * or RING_F_MC_RTS_DEQ.
 */

#include <rte_ring.h>

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_ring_rx;
struct weir_ring_tx;

/**
 * Whoever enqueues calls weir_ring_notify() behind it, or enqueues with
 * weir_ring_post_burst(). So it is a thread of this process. The worker can then
 * sleep while a task waits; without this flag it polls.
 *
 * Both notify one source. Where several share a ring, each with this flag has to be
 * notified: the others' workers sleep on, even if no task waits for the first.
 */
#define WEIR_RING_NOTIFIES (1u << 0)

/**
 * Makes the receiving end of a ring a source of a worker.
 *
 * @param ring    Stays the caller's, and must outlive the source.
 * @param worker  The home worker: it looks whether something is in the ring.
 * @param flags   WEIR_RING_NOTIFIES or 0.
 * @return NULL with rte_errno: EINVAL (no ring, no such flag or worker, or
 * that does not run), ENOMEM, ESHUTDOWN.
 *
 * Any thread.
 */
WEIR_API struct weir_ring_rx *
weir_ring_rx_create(struct weir_runtime *rt, struct rte_ring *ring,
		    unsigned int worker, unsigned int flags);

/**
 * Frees it, and not the ring nor what is in it. NULL is legal.
 *
 * Any thread, once nobody posts and no task uses it; before the runtime is
 * freed.
 */
WEIR_API void
weir_ring_rx_free(struct weir_ring_rx *rx);

/**
 * The receiving end as a source, for weir_source_close() and statistics. Any thread.
 */
WEIR_API struct weir_source *
weir_ring_rx_source(struct weir_ring_rx *rx);

/**
 * Takes messages from the ring, or arranges a wake-up.
 *
 * Nothing is taken but here, so others may dequeue too if the ring allows that:
 * who was woken then waits again. What was written before a message was enqueued
 * is seen by the task.
 *
 * Spends a unit of budget a message.
 *
 * @param objs  Room for n messages.
 * @return Their number, 1 to n, in the order of the ring; WEIR_PENDING; -EINVAL
 * if n is 0; -errno of a closed source, after all that is in the ring; -EBUSY
 * when another task waits.
 *
 * The task that ctx belongs to. One task at a time for each source; several
 * tasks share a ring for several consumers with a source each.
 */
WEIR_API int
weir_ring_recv(struct weir_context *ctx, struct weir_ring_rx *rx, void **objs,
	       unsigned int n);

/**
 * Enqueues messages and notifies this source.
 *
 * @return How many the ring took, the first ones, 0 if it is full.
 *
 * Any thread that may enqueue to the ring, tasks too. A closed source changes
 * nothing: the ring is the caller's.
 */
WEIR_API unsigned int
weir_ring_post_burst(struct weir_ring_rx *rx, void *const *objs,
		     unsigned int n);

/**
 * Wakes the worker if it sleeps. For those who enqueue in their own way, behind
 * that.
 *
 * Any thread, signal handlers included.
 */
WEIR_API void
weir_ring_notify(struct weir_ring_rx *rx);

/**
 * Makes the sending end of a ring a source of a worker: what a task waits for is
 * room. Whoever takes from the ring need not be of Weir and tells nobody, so the
 * worker polls, and does not sleep, while a task waits.
 *
 * Arguments, errors and threads as for weir_ring_rx_create().
 */
WEIR_API struct weir_ring_tx *
weir_ring_tx_create(struct weir_runtime *rt, struct rte_ring *ring,
		    unsigned int worker);

/** Frees it, and not the ring. NULL is legal. Threads as above. */
WEIR_API void
weir_ring_tx_free(struct weir_ring_tx *tx);

/** The sending end as a source. Any thread. */
WEIR_API struct weir_source *
weir_ring_tx_source(struct weir_ring_tx *tx);

/**
 * Enqueues messages, or arranges a wake-up when there is room for one.
 *
 * Spends a unit of budget a message.
 *
 * @param objs  n messages. The first ones, as many as this returns, belong to
 *              whoever dequeues them; the others are still the caller's.
 * @return Their number, 1 to n; WEIR_PENDING; -EINVAL if n is 0; -errno of a
 * closed source; -EBUSY when another task waits.
 *
 * The task that ctx belongs to. One task at a time for each source; on a ring for
 * several producers, each task can have one.
 */
WEIR_API int
weir_ring_send(struct weir_context *ctx, struct weir_ring_tx *tx,
	       void *const *objs, unsigned int n);

#ifdef __cplusplus
}
#endif

#endif
