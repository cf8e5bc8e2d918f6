/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_CRYPTO_H
#define WEIR_CRYPTO_H

/**
 * @file
 * Queue pairs of crypto devices: tasks give them operations, and wait until these
 * are done.
 *
 * The application configures and starts its devices, and makes sessions and
 * operations, as with any other DPDK program. From weir_cryptoq_create() on, all
 * that is enqueued to the queue pair, and dequeued from it, goes through here. A
 * queue pair may be used by one thread at a time; the source sees to that,
 * whichever workers its tasks run on. Each operation has to come back by the queue
 * pair that it went into: crypto_scheduler in its multi-core mode may have one only,
 * as its queue pairs share what they are taken from.
 *
 * Crypto devices have no interrupts in DPDK: their worker polls, and does not
 * sleep, while a task waits.
 */

#include <rte_cryptodev.h>

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_cryptoq;
struct weir_crypto_job;

/** Most operations that a queue pair has, or a job. */
#define WEIR_CRYPTO_OPS_MAX 4096

/**
 * Makes a queue pair a source of a worker.
 *
 * @param dev      A device that was started.
 * @param worker   The home worker: it asks the device for what is done.
 * @param depth    Most operations that the device is given at a time, 1 to
 *                 WEIR_CRYPTO_OPS_MAX. Less than the queue pair's nb_descriptors:
 *                 some PMDs spoil an operation that finds their ring full.
 * @param release  For operations of jobs that are freed before they are done:
 *                 called for each when it is no longer the device's, with the
 *                 source's lock held, on any thread. It frees the operation, and
 *                 calls nothing of the queue pair's, nor anything that makes,
 *                 frees, closes, alerts or moves a source.
 * @return NULL with rte_errno: EINVAL (no such queue pair, worker or depth; no
 * release), EBUSY (queue pair is a source already, of whichever runtime), ENOMEM,
 * ESHUTDOWN.
 *
 * Any thread.
 */
WEIR_API struct weir_cryptoq *
weir_cryptoq_create(struct weir_runtime *rt, uint8_t dev, uint16_t queue_pair,
		    unsigned int worker, unsigned int depth,
		    void (*release)(struct rte_crypto_op *op));

/**
 * Frees it. NULL is legal. Operations of freed jobs that the device still has are
 * waited for, up to a second, and released; what has not come by then stays the
 * device's. The queue pair can be a source again: at once if all have come, else
 * once the device has been stopped.
 *
 * Any thread, once all jobs have been freed; before the device is stopped and
 * before the runtime is freed.
 */
WEIR_API void
weir_cryptoq_free(struct weir_cryptoq *q);

/** The queue pair as a source, for weir_source_close() and statistics. Any thread. */
WEIR_API struct weir_source *
weir_cryptoq_source(struct weir_cryptoq *q);

/**
 * Makes a job: what one task does at a time. A task that does several things at
 * once has several.
 *
 * @param max_ops  Most operations, 1 to WEIR_CRYPTO_OPS_MAX; more than the
 *                 queue's depth is legal.
 * @return NULL with rte_errno: EINVAL, ENOMEM.
 *
 * Any thread.
 */
WEIR_API struct weir_crypto_job *
weir_crypto_job_create(struct weir_cryptoq *q, unsigned int max_ops);

/**
 * Frees a job. NULL is legal. What it has not done is cancelled: operations that
 * the device was not given are released at once, others when they are done.
 *
 * Any thread, for example in its task's drop function; before its queue is freed.
 */
WEIR_API void
weir_crypto_job_free(struct weir_crypto_job *job);

/**
 * Has operations done, or arranges a wake-up.
 *
 * The first call takes the operations; those after WEIR_PENDING go on with them,
 * and do not look at ops and n. When the device has no room, they wait behind
 * those that were there before.
 *
 * Spends a unit of budget an operation.
 *
 * @param ops  n operations. They are the queue's until this returns a number, or
 *             releases them (weir_crypto_job_free()).
 * @param n    1 to the job's max_ops.
 * @return How many of them succeeded, 0 to n: all are done, each with its status,
 * also those that the device refused, and are the caller's again; WEIR_PENDING;
 * -EINVAL for another n, and nothing was taken; -errno of a closed source, or of an
 * alert: what was done before is told first, the others stay with the job, those of a
 * first call too, and go on unless the source is closed.
 *
 * The task that ctx belongs to, one for each job: -EBUSY when another waits.
 */
WEIR_API int
weir_crypto_run(struct weir_context *ctx, struct weir_crypto_job *job,
		struct rte_crypto_op **ops, unsigned int n);

#ifdef __cplusplus
}
#endif

#endif
