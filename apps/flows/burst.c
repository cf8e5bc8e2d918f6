/* SPDX-License-Identifier: BSD-3-Clause */

#include "flows.h"
#include "work.h"

struct burst {
	struct flows_burst result; /* also before it is one */
	unsigned int work;
	bool done;
};

static int
burst_poll(struct weir_context *ctx, void *state)
{
	struct burst *b = state;

	work_on(b->result.n * b->work);
	b->done = true;
	return WEIR_DONE;
}

static void
free_packets(void *result)
{
	struct flows_burst *b = result;

	rte_pktmbuf_free_bulk(b->pkts, b->n);
}

static void
burst_drop(void *state)
{
	struct burst *b = state;

	if (!b->done)
		free_packets(&b->result);
}

static const struct weir_task_ops burst_ops = {
	.name = "burst",
	.state_size = sizeof(struct burst),
	.poll = burst_poll,
	.drop = burst_drop,
	.result_offset = offsetof(struct burst, result),
	.result_size = sizeof(struct flows_burst),
	.result_drop = free_packets,
};

struct weir_join *
burst_spawn(struct weir_runtime *rt, const struct flows_burst *pkts,
	    unsigned int work)
{
	const struct burst b = { .result = *pkts, .work = work };

	return weir_task_spawn(rt, &burst_ops, &b, NULL);
}
