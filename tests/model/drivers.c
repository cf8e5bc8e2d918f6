/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Drivers beside a worker that polls or sleeps: what comes wakes the task that
 * waits for it, and what was done before is seen.
 */

#include <errno.h>

#include "weir_ring.h"
#include "workers.h"

#define RING_SIZE 4

static struct rte_ring *ring;
static struct weir_ring_rx *rx;
static unsigned int written[2];
static unsigned int taken;
static unsigned int wanted;
static int got;

static void
end(unsigned int n)
{
	workers_await(n);
	workers_stop();
	weir_ring_rx_free(rx);
	model_free(ring);
	workers_end();
	rig_check_seen(n);
}

static int
ring_task(struct weir_context *ctx, void *state)
{
	void *objs[2];
	int rc, i;

	(void)state;
	while (taken < wanted) {
		rc = weir_ring_recv(ctx, rx, objs, 2);
		if (rc == WEIR_PENDING)
			return rc;
		if (rc < 0) {
			got = rc;
			return WEIR_DONE;
		}
		for (i = 0; i < rc; i++)
			model_check(*(unsigned int *)objs[i] == 1);
		taken += (unsigned int)rc;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops ring_ops = {
	.name = "ring",
	.poll = ring_task,
};

static void
begin(unsigned int n)
{
	workers_begin(1, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	ring = model_alloc((size_t)rte_ring_get_memsize(RING_SIZE));
	/* Of the modes the one whose orders are not those of x86 alone. */
	rte_ring_init(ring, "ring", RING_SIZE,
		      RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ);
	rte_ring_set_prod_htd_max(ring, RING_SIZE - 1);
	rte_ring_set_cons_htd_max(ring, RING_SIZE - 1);
	rx = weir_ring_rx_create(workers_rt, ring, 0, WEIR_RING_NOTIFIES);
	wanted = n;
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &ring_ops));
	weir__core = NULL;
	workers_drive(0);
}

static void
post(void *arg)
{
	void *obj = &written[(uintptr_t)arg];

	written[(uintptr_t)arg] = 1;
	weir_ring_post_burst(rx, &obj, 1);
}

MODEL(ring_post, "a message wakes the worker, and what it points to is there",
      2, 2)
{
	begin(1);
	post(NULL);
	end(1);
	model_check(taken == 1);
}

/* In its own way, and then the call. */
MODEL(ring_notify, "a call behind a message wakes the worker", 2, 2)
{
	begin(1);
	written[0] = 1;
	rte_ring_enqueue(ring, &written[0]);
	weir_ring_notify(rx);
	end(1);
	model_check(taken == 1);
}

MODEL(ring_post_two, "two post beside each other", 2, 1)
{
	begin(2);
	model_thread("poster", post, (void *)1);
	post(NULL);
	end(1);
	model_check(taken == 2);
}

MODEL(ring_close, "a message, then a close, beside the worker", 2, 1)
{
	begin(2);
	post(NULL);
	weir_source_close(weir_ring_rx_source(rx), ESHUTDOWN);
	end(1);
	model_check(taken == 1 && got == -ESHUTDOWN);
}
