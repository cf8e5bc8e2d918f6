/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_DMA_H
#define WEIR_DMA_H

/**
 * @file
 * Channels of DMA devices: tasks give them copies, and wait until these are done.
 *
 * The application configures and starts its devices as with any other DPDK
 * program. From weir_dmaq_create() on, all that is given to the channel, and all
 * that it completes, goes through here. A channel may be used by one thread at a
 * time; the source sees to that, whichever workers its tasks run on.
 *
 * DMA devices have no interrupts in DPDK: their worker polls, and does not sleep,
 * while a task waits.
 *
 * In DPDK 22.11 what configures and starts a DMA device is experimental: who calls it
 * is compiled with ALLOW_EXPERIMENTAL_API.
 */

#include <rte_common.h>
#include <rte_dmadev.h>

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_dmaq;
struct weir_dma_job;

/** Most copies that a channel has, or a job. */
#define WEIR_DMA_COPIES_MAX 4096

/** One copy, and what came of it. */
struct weir_dma_copy {
	rte_iova_t src;
	rte_iova_t dst;
	uint32_t length; /**< bytes */
	/** Written by weir_dma_run(): how it went. */
	enum rte_dma_status_code status;
};

/**
 * Makes a virtual channel a source of a worker.
 *
 * @param dev     A device that was started.
 * @param worker  The home worker: it asks the device for what is done.
 * @param depth   Most copies that the device is given at a time, 1 to
 *                WEIR_DMA_COPIES_MAX.
 * @return NULL with rte_errno: EINVAL (no such channel, worker or depth), EBUSY (channel
 * is a source already, of whichever runtime), ENOMEM, ESHUTDOWN.
 *
 * Any thread.
 */
WEIR_API struct weir_dmaq *
weir_dmaq_create(struct weir_runtime *rt, int16_t dev, uint16_t channel,
		 unsigned int worker, unsigned int depth);

/**
 * Frees it. NULL is legal. Copies of freed jobs that the device still has are
 * waited for, up to a second; jobs whose copies have not come by then are not
 * released, since the device may still write. The channel can be a source again: at once
 * if all have come, else once the device has been stopped.
 *
 * Any thread, once all jobs have been freed; before the device is stopped and
 * before the runtime is freed.
 */
WEIR_API void
weir_dmaq_free(struct weir_dmaq *q);

/** The channel as a source, for weir_source_close() and statistics. Any thread. */
WEIR_API struct weir_source *
weir_dmaq_source(struct weir_dmaq *q);

/**
 * Makes a job: what one task does at a time. A task that does several things at
 * once has several.
 *
 * @param max_copies  Most copies, 1 to WEIR_DMA_COPIES_MAX; more than the
 *                    channel's depth is legal.
 * @param release     Called once after weir_dma_job_free(), when the device
 *                    touches none of the job's memory any more: it releases
 *                    that. On any thread, with the source's lock held, so it
 *                    calls nothing of the channel's, and nothing that makes,
 *                    frees, closes, alerts or moves any source. NULL: nothing to
 *                    release.
 * @param arg         For release.
 * @return NULL with rte_errno: EINVAL, ENOMEM.
 *
 * Any thread.
 */
WEIR_API struct weir_dma_job *
weir_dma_job_create(struct weir_dmaq *q, unsigned int max_copies,
		    void (*release)(void *arg), void *arg);

/**
 * Frees a job, at once or when the device is done with what it has of it; the
 * rest is cancelled. NULL is legal.
 *
 * Any thread, for example in its task's drop function; before its channel is
 * freed.
 */
WEIR_API void
weir_dma_job_free(struct weir_dma_job *job);

/**
 * Has copies made, or arranges a wake-up.
 *
 * The first call takes them; those after WEIR_PENDING go on with these, and n is
 * the same. When the device has no room, they wait behind those that were there
 * before. They begin in order.
 *
 * Spends a unit of budget a copy.
 *
 * @param copies  n copies. When all are done, their status is written here. Their
 *                memory must last until then, or until the job is released.
 * @param n       1 to the job's max_copies.
 * @return How many of them succeeded, 0 to n: all are done, also those that the
 * device refused; WEIR_PENDING; -EINVAL for another n; -errno of a closed source,
 * or of an alert: what was done before is told first, the rest stays with the job,
 * and goes on unless the source is closed.
 *
 * The task that ctx belongs to, one for each job: -EBUSY when another waits.
 */
WEIR_API int
weir_dma_run(struct weir_context *ctx, struct weir_dma_job *job,
	     struct weir_dma_copy *copies, unsigned int n);

#ifdef __cplusplus
}
#endif

#endif
