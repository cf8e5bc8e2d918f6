/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A virtual channel of a DMA device as a source.
 *
 * Jobs stand in line. Their copies go to the device from the front, as far as it
 * takes them and no more than the channel's depth. It completes them in that
 * order, so what is completed next is the first in line that it was given.
 *
 * A1 The device's functions are called under the source's lock only. A channel has one
 *    source at a time, from its creation to the end of its fini.
 * A2 copies[0] to copies[sent - 1] of a job were given to the device, and it
 *    refused some; those before `next` have their status, and so have the refused
 *    ones. `done` counts both. All jobs in line together have `in_flight` with
 *    the device.
 * A3 Copies are the job's from the first weir_dma_run() on, also if that does not get
 *    at the channel. The job is in line from the one that does until it is done. One
 *    that is freed meanwhile stays until the device has none of it. It keeps its place,
 *    so that the channel is polled for it, until the source is closed.
 */

/* DPDK 22.11 has all of dmadev as experimental. */
#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "base/atomic.h"
#include "base/claim.h"
#include "base/common.h"
#include "base/heap.h"
#include "base/list.h"
#include "weir_dma.h"
#include "weir_source_driver.h"

/* What one poll takes. */
#define BURST 32
/* The status of a copy that has none yet. */
#define UNTOLD ((enum rte_dma_status_code)UINT8_MAX)

struct weir_dmaq {
	struct claim claim; /* of what follows */
	int16_t dev;
	uint16_t channel;
	unsigned int depth;
	unsigned int in_flight;
	bool unsubmitted;      /* some of those */
	unsigned int nb_done;  /* jobs */
	struct list_link line; /* struct weir_dma_job.link */
};

struct weir_dma_job {
	struct weir_dmaq *q;
	struct list_link link;
	struct weir_waker *waiter; /* a place */
	void (*release)(void *arg);
	void *arg;
	unsigned int max_copies;
	/*
	 * Whether it has copies. Its task's, without the lock; another's is refused
	 * with the lock, once that one waits.
	 */
	struct atomic_u32 taken;
	unsigned int n;
	unsigned int sent;
	unsigned int next;
	unsigned int done;
	unsigned int good; /* of those done */
	bool freed;	   /* by its user */
	struct weir_dma_copy copies[];
};

static struct claims claims = CLAIMS_INIT(claims);

static void
destroy(struct weir_dma_job *job)
{
	heap_free(job);
}

/* True if that was the last. */
static bool
finish(struct weir_dma_job *job, unsigned int i,
       enum rte_dma_status_code status)
{
	job->copies[i].status = status;
	job->good += status == RTE_DMA_STATUS_SUCCESSFUL;
	if (++job->done < job->n)
		return false;
	list_remove(&job->link);
	job->q->nb_done++;
	weir_source_place_wake(job->q, &job->waiter);
	if (job->freed) {
		if (job->release != NULL)
			job->release(job->arg);
		destroy(job);
	}
	return true;
}

/* Gives the device what there is of a job. False: it takes no more. */
static bool
send_job(struct weir_dmaq *q, struct weir_dma_job *job)
{
	int rc;

	while (job->sent < job->n) {
		const struct weir_dma_copy *c = &job->copies[job->sent];

		if (q->in_flight == q->depth)
			return false;
		rc = rte_dma_copy(q->dev, q->channel, c->src, c->dst, c->length,
				  0);
		if (rc == -ENOSPC)
			return false;
		job->sent++;
		if (rc >= 0)
			q->in_flight++;
		else if (finish(job, job->sent - 1,
				RTE_DMA_STATUS_ERROR_UNKNOWN))
			return true;
	}
	return true;
}

/* A doorbell that fails is rung again by the next poll. */
static void
submit(struct weir_dmaq *q)
{
	q->unsubmitted = rte_dma_submit(q->dev, q->channel) < 0;
}

static void
send_line(struct weir_dmaq *q)
{
	unsigned int before = q->in_flight;
	struct list_link *l, *next;

	for (l = q->line.next; l != &q->line; l = next) {
		next = l->next;
		if (!send_job(q, container_of(l, struct weir_dma_job, link)))
			break;
	}
	if (q->in_flight > before || q->unsubmitted)
		submit(q);
}

/* The next that the device has completed. */
static void
take_back(struct weir_dmaq *q, enum rte_dma_status_code status)
{
	struct weir_dma_job *job;
	struct list_link *l;

	for (l = q->line.next; l != &q->line; l = l->next) {
		job = container_of(l, struct weir_dma_job, link);
		/* Those that were refused have one. */
		while (job->next < job->sent &&
		       job->copies[job->next].status != UNTOLD)
			job->next++;
		if (job->next < job->sent) {
			finish(job, job->next++, status);
			return;
		}
	}
	WEIR_ASSERT(false, "A1: a copy that was not given");
}

/* Takes what the device has done. */
static void
receive(struct weir_dmaq *q)
{
	enum rte_dma_status_code status[BURST];
	unsigned int i, n;
	uint16_t last;

	do {
		n = rte_dma_completed_status(q->dev, q->channel, BURST, &last,
					     status);
		q->in_flight -= n;
		for (i = 0; i < n; i++)
			take_back(q, status[i]);
	} while (n == BURST);
}

static int
dmaq_poll(void *priv)
{
	struct weir_dmaq *q = priv;
	unsigned int before = q->nb_done;

	receive(q);
	send_line(q);
	return (int)(q->nb_done - before);
}

static void
dmaq_wake_all(void *priv)
{
	struct weir_dmaq *q = priv;
	struct list_link *l;

	/* A shutdown that comes before weir_dmaq_create() is done. */
	if (q->line.next == NULL)
		return;
	/* A3 */
	for (l = q->line.next; l != &q->line; l = l->next)
		weir_source_place_tell(
			q, &container_of(l, struct weir_dma_job, link)->waiter);
}

static void
dmaq_fini(void *priv)
{
	struct weir_dmaq *q = priv;
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz();
	struct list_link *l;

	while (q->in_flight > 0 && rte_rdtsc() < end) {
		if (q->unsubmitted)
			submit(q);
		receive(q);
		rte_pause();
	}
	while ((l = list_pop_front(&q->line)) != NULL)
		destroy(container_of(l, struct weir_dma_job, link));
	claim_leave(&claims, &q->claim);
}

static const struct weir_source_ops dmaq_ops = {
	.name = "dmadev",
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = dmaq_poll,
	.wake_all = dmaq_wake_all,
	.fini = dmaq_fini,
};

static bool
channel_exists(int16_t dev, uint16_t channel)
{
	struct rte_dma_info info;

	return rte_dma_is_valid(dev) && rte_dma_info_get(dev, &info) == 0 &&
	       channel < info.nb_vchans;
}

struct weir_dmaq *
weir_dmaq_create(struct weir_runtime *rt, int16_t dev, uint16_t channel,
		 unsigned int worker, unsigned int depth)
{
	struct weir_dmaq *q;
	bool has_it;

	if (depth == 0 || depth > WEIR_DMA_COPIES_MAX ||
	    !channel_exists(dev, channel)) {
		rte_errno = EINVAL;
		return NULL;
	}
	q = weir_source_create(rt, &dmaq_ops, worker, sizeof(*q));
	if (q == NULL)
		return NULL;
	weir_source_lock(q);
	list_init(&q->line);
	has_it = claim_take(&claims, &q->claim,
			    claim_of_queue((uint16_t)dev, channel)); /* A1 */
	q->dev = dev;
	q->channel = channel;
	q->depth = depth;
	weir_source_unlock(q);
	if (has_it)
		return q;
	weir_source_free(q);
	rte_errno = EBUSY;
	return NULL;
}

void
weir_dmaq_free(struct weir_dmaq *q)
{
	weir_source_free(q);
}

struct weir_source *
weir_dmaq_source(struct weir_dmaq *q)
{
	return weir_source_of(q);
}

struct weir_dma_job *
weir_dma_job_create(struct weir_dmaq *q, unsigned int max_copies,
		    void (*release)(void *arg), void *arg)
{
	struct weir_dma_job *job;

	if (max_copies == 0 || max_copies > WEIR_DMA_COPIES_MAX) {
		rte_errno = EINVAL;
		return NULL;
	}
	job = heap_taken(rte_zmalloc(
		"dma job", sizeof(*job) + max_copies * sizeof(job->copies[0]),
		RTE_CACHE_LINE_SIZE));
	if (job == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	job->q = q;
	job->max_copies = max_copies;
	job->release = release;
	job->arg = arg;
	return job;
}

void
weir_dma_job_free(struct weir_dma_job *job)
{
	struct weir_dmaq *q;
	bool in_flight;

	if (job == NULL)
		return;
	q = job->q;
	weir_source_lock(q);
	/* What the device was not given is cancelled. */
	job->n = job->sent;
	in_flight = job->done < job->n;
	/* A3: the place stays taken. */
	job->freed = true;
	if (!in_flight) {
		if (list_linked(&job->link))
			list_remove(&job->link);
		weir_source_place_clear(q, &job->waiter);
		if (job->release != NULL)
			job->release(job->arg);
	}
	weir_source_unlock(q);
	if (!in_flight)
		destroy(job);
}

/* A3 */
static void
take(struct weir_dma_job *job, const struct weir_dma_copy *copies,
     unsigned int n)
{
	unsigned int i;

	memcpy(job->copies, copies, n * sizeof(copies[0]));
	for (i = 0; i < n; i++)
		job->copies[i].status = UNTOLD;
	job->n = n;
	job->good = 0;
	atomic_u32_store(&job->taken, 1, RELAXED);
}

/* All are done: the caller's again. */
static int
end(struct weir_dma_job *job, struct weir_dma_copy *copies)
{
	memcpy(copies, job->copies, job->n * sizeof(copies[0]));
	job->n = job->sent = job->next = job->done = 0;
	atomic_u32_store(&job->taken, 0, RELAXED);
	return (int)job->good;
}

int
weir_dma_run(struct weir_context *ctx, struct weir_dma_job *job,
	     struct weir_dma_copy *copies, unsigned int n)
{
	struct weir_dmaq *q = job->q;
	int rc;

	if (!atomic_u32_load(&job->taken, RELAXED)) {
		if (n == 0 || n > job->max_copies)
			return -EINVAL;
		take(job, copies, n);
	}
	rc = weir_source_wait_begin(ctx, q);
	if (rc < 0)
		return rc;
	if (!weir_source_place_open(ctx, &job->waiter)) {
		weir_source_wait_ready(ctx, q, 1);
		return -EBUSY;
	}
	if (n != job->n) {
		weir_source_wait_ready(ctx, q, 1);
		return -EINVAL;
	}
	/* A closed channel's device is not touched. */
	if (rc == 0 && job->done < job->n) {
		/* Not to be woken by what it finds itself. */
		weir_source_place_clear(q, &job->waiter);
		if (!list_linked(&job->link))
			list_push_back(&q->line, &job->link);
		dmaq_poll(q);
	}
	if (job->done == job->n) {
		rc = end(job, copies);
		weir_source_wait_ready(ctx, q, n);
		return rc;
	}
	/* A3: an alert changes nothing. */
	if (rc > 0)
		return weir_source_wait_fail(q);
	weir_source_place_take(ctx, q, &job->waiter);
	return weir_source_wait_leave(ctx, q);
}
