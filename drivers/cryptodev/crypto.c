/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A queue pair of a crypto device as a source.
 *
 * Jobs stand in line. Their operations go to the device from the front, as far as
 * it takes them and no more than the queue's depth. What comes back is counted
 * for its job, which leaves the line when nothing of it is missing. The device may
 * finish operations in another order than it got them: so each is looked for in
 * the line, from the front, and is usually the first.
 *
 * C1 The device's functions are called under the source's lock only. A queue pair has
 *    one source at a time, from its creation to the end of its fini.
 * C2 ops[0] to ops[done - 1] of a job are done, those up to ops[sent - 1] with the
 *    device, the others still to be given to it. All jobs in line together have
 *    `in_flight` with the device.
 * C3 Operations are the job's from the first weir_crypto_run() on, also if that
 *    does not get at the queue. The job is in line from the one that does until it
 *    is done. One that is freed meanwhile stays until the device has none of it. It
 *    keeps its place, so that the queue is polled for it, until the source is
 *    closed.
 */

#include <errno.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "base/atomic.h"
#include "base/claim.h"
#include "base/common.h"
#include "base/heap.h"
#include "base/list.h"
#include "weir_crypto.h"
#include "weir_source_driver.h"

/* What one poll takes. */
#define BURST 32

struct weir_cryptoq {
	struct claim claim; /* of what follows */
	uint8_t dev;
	uint16_t queue_pair;
	unsigned int depth;
	unsigned int in_flight;
	unsigned int nb_done;  /* jobs */
	struct list_link line; /* struct weir_crypto_job.link */
	void (*release)(struct rte_crypto_op *op);
};

struct weir_crypto_job {
	struct weir_cryptoq *q;
	struct list_link link;
	struct weir_waker *waiter; /* a place */
	unsigned int max_ops;
	/*
	 * Whether it has operations. Its task's, without the lock; another's is refused
	 * with the lock, once that one waits.
	 */
	struct atomic_u32 taken;
	unsigned int n;
	unsigned int sent;
	unsigned int done;
	unsigned int good; /* of those done */
	bool freed;	   /* by its user */
	struct rte_crypto_op *ops[];
};

static struct claims claims = CLAIMS_INIT(claims);

static void
destroy(struct weir_crypto_job *job)
{
	heap_free(job);
}

/* ops[i], which was sent or is refused, is done. False: the job goes on. */
static bool
finish(struct weir_crypto_job *job, unsigned int i)
{
	struct weir_cryptoq *q = job->q;
	struct rte_crypto_op *op = job->ops[i];

	/* C2 */
	job->ops[i] = job->ops[job->done];
	job->ops[job->done++] = op;
	job->good += op->status == RTE_CRYPTO_OP_STATUS_SUCCESS;
	if (job->freed)
		q->release(op);
	if (job->done < job->n)
		return false;
	list_remove(&job->link);
	q->nb_done++;
	weir_source_place_wake(q, &job->waiter);
	if (job->freed)
		destroy(job);
	return true;
}

/* An operation that the PMD does not take has an error in it, or the PMD is full.
 */
static bool
is_refused(const struct rte_crypto_op *op)
{
	return op->status != RTE_CRYPTO_OP_STATUS_NOT_PROCESSED &&
	       op->status != RTE_CRYPTO_OP_STATUS_SUCCESS;
}

/* Gives the device what there is of a job. False: it takes no more. */
static bool
send_job(struct weir_cryptoq *q, struct weir_crypto_job *job)
{
	unsigned int n;

	while (job->sent < job->n) {
		n = RTE_MIN(job->n - job->sent, q->depth - q->in_flight);
		if (n == 0)
			return false;
		n = rte_cryptodev_enqueue_burst(q->dev, q->queue_pair,
						&job->ops[job->sent],
						(uint16_t)n);
		q->in_flight += n;
		job->sent += n;
		if (n > 0)
			continue;
		if (!is_refused(job->ops[job->sent]))
			return false;
		if (finish(job, job->sent++))
			return true;
	}
	return true;
}

static void
send_line(struct weir_cryptoq *q)
{
	struct list_link *l, *next;

	for (l = q->line.next; l != &q->line; l = next) {
		next = l->next;
		if (!send_job(q, container_of(l, struct weir_crypto_job, link)))
			return;
	}
}

/* Looks whose it is. */
static void
take_back(struct weir_cryptoq *q, struct rte_crypto_op *op)
{
	struct weir_crypto_job *job;
	struct list_link *l;
	unsigned int i;

	for (l = q->line.next; l != &q->line; l = l->next) {
		job = container_of(l, struct weir_crypto_job, link);
		for (i = job->done; i < job->sent; i++)
			if (job->ops[i] == op) {
				finish(job, i);
				return;
			}
	}
	WEIR_ASSERT(false, "C1: an operation that was not given");
}

/* Takes what the device has done. */
static void
receive(struct weir_cryptoq *q)
{
	struct rte_crypto_op *ops[BURST];
	unsigned int i, n;

	do {
		n = rte_cryptodev_dequeue_burst(q->dev, q->queue_pair, ops,
						BURST);
		q->in_flight -= n;
		for (i = 0; i < n; i++)
			take_back(q, ops[i]);
	} while (n == BURST);
}

static int
cryptoq_poll(void *priv)
{
	struct weir_cryptoq *q = priv;
	unsigned int before = q->nb_done;

	receive(q);
	send_line(q);
	/* Some PMDs are done when they have it. */
	receive(q);
	return (int)(q->nb_done - before);
}

static void
cryptoq_wake_all(void *priv)
{
	struct weir_cryptoq *q = priv;
	struct list_link *l;

	/* A shutdown that comes before weir_cryptoq_create() is done. */
	if (q->line.next == NULL)
		return;
	/* C3 */
	for (l = q->line.next; l != &q->line; l = l->next)
		weir_source_place_tell(
			q,
			&container_of(l, struct weir_crypto_job, link)->waiter);
}

static void
cryptoq_fini(void *priv)
{
	struct weir_cryptoq *q = priv;
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz();
	struct list_link *l;

	while (q->in_flight > 0 && rte_rdtsc() < end) {
		receive(q);
		rte_pause();
	}
	while ((l = list_pop_front(&q->line)) != NULL)
		destroy(container_of(l, struct weir_crypto_job, link));
	claim_leave(&claims, &q->claim);
}

static const struct weir_source_ops cryptoq_ops = {
	.name = "cryptodev",
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = cryptoq_poll,
	.wake_all = cryptoq_wake_all,
	.fini = cryptoq_fini,
};

static bool
queue_pair_exists(uint8_t dev, uint16_t queue_pair)
{
	return rte_cryptodev_is_valid_dev(dev) &&
	       queue_pair < rte_cryptodev_queue_pair_count(dev);
}

struct weir_cryptoq *
weir_cryptoq_create(struct weir_runtime *rt, uint8_t dev, uint16_t queue_pair,
		    unsigned int worker, unsigned int depth,
		    void (*release)(struct rte_crypto_op *op))
{
	struct weir_cryptoq *q;
	bool has_it;

	if (depth == 0 || depth > WEIR_CRYPTO_OPS_MAX || release == NULL ||
	    !queue_pair_exists(dev, queue_pair)) {
		rte_errno = EINVAL;
		return NULL;
	}
	q = weir_source_create(rt, &cryptoq_ops, worker, sizeof(*q));
	if (q == NULL)
		return NULL;
	weir_source_lock(q);
	list_init(&q->line);
	has_it = claim_take(&claims, &q->claim,
			    claim_of_queue(dev, queue_pair)); /* C1 */
	q->dev = dev;
	q->queue_pair = queue_pair;
	q->depth = depth;
	q->release = release;
	weir_source_unlock(q);
	if (has_it)
		return q;
	weir_source_free(q);
	rte_errno = EBUSY;
	return NULL;
}

void
weir_cryptoq_free(struct weir_cryptoq *q)
{
	weir_source_free(q);
}

struct weir_source *
weir_cryptoq_source(struct weir_cryptoq *q)
{
	return weir_source_of(q);
}

struct weir_crypto_job *
weir_crypto_job_create(struct weir_cryptoq *q, unsigned int max_ops)
{
	struct weir_crypto_job *job;

	if (max_ops == 0 || max_ops > WEIR_CRYPTO_OPS_MAX) {
		rte_errno = EINVAL;
		return NULL;
	}
	job = heap_taken(rte_zmalloc(
		"crypto job", sizeof(*job) + max_ops * sizeof(job->ops[0]),
		RTE_CACHE_LINE_SIZE));
	if (job == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	job->q = q;
	job->max_ops = max_ops;
	return job;
}

/* What the device was not given is done with. With the lock. */
static void
cut_short(struct weir_crypto_job *job)
{
	unsigned int i;

	for (i = 0; i < job->done; i++)
		job->q->release(job->ops[i]);
	for (i = job->sent; i < job->n; i++)
		job->q->release(job->ops[i]);
	job->n = job->sent;
}

void
weir_crypto_job_free(struct weir_crypto_job *job)
{
	struct weir_cryptoq *q;
	bool in_flight;

	if (job == NULL)
		return;
	q = job->q;
	weir_source_lock(q);
	cut_short(job);
	/* C3: the place stays taken. */
	job->freed = true;
	in_flight = job->done < job->n;
	if (!in_flight) {
		if (list_linked(&job->link))
			list_remove(&job->link);
		weir_source_place_clear(q, &job->waiter);
	}
	weir_source_unlock(q);
	if (!in_flight)
		destroy(job);
}

/* C3 */
static void
take(struct weir_crypto_job *job, struct rte_crypto_op **ops, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		job->ops[i] = ops[i];
		ops[i]->status = RTE_CRYPTO_OP_STATUS_NOT_PROCESSED;
	}
	job->n = n;
	job->good = 0;
	atomic_u32_store(&job->taken, 1, RELAXED);
}

/* All are done: the caller's again. */
static int
end(struct weir_crypto_job *job)
{
	job->n = job->sent = job->done = 0;
	atomic_u32_store(&job->taken, 0, RELAXED);
	return (int)job->good;
}

int
weir_crypto_run(struct weir_context *ctx, struct weir_crypto_job *job,
		struct rte_crypto_op **ops, unsigned int n)
{
	struct weir_cryptoq *q = job->q;
	int rc;

	if (!atomic_u32_load(&job->taken, RELAXED)) {
		if (n == 0 || n > job->max_ops)
			return -EINVAL;
		take(job, ops, n);
	}
	rc = weir_source_wait_begin(ctx, q);
	if (rc < 0)
		return rc;
	if (!weir_source_place_open(ctx, &job->waiter)) {
		weir_source_wait_ready(ctx, q, 1);
		return -EBUSY;
	}
	/* A closed queue's device is not touched. */
	if (rc == 0 && job->done < job->n) {
		/* Not to be woken by what it finds itself. */
		weir_source_place_clear(q, &job->waiter);
		if (!list_linked(&job->link))
			list_push_back(&q->line, &job->link);
		cryptoq_poll(q);
	}
	if (job->done == job->n) {
		n = job->n;
		rc = end(job);
		weir_source_wait_ready(ctx, q, n);
		return rc;
	}
	/* C3: an alert changes nothing. */
	if (rc > 0)
		return weir_source_wait_fail(q);
	weir_source_place_take(ctx, q, &job->waiter);
	return weir_source_wait_leave(ctx, q);
}
