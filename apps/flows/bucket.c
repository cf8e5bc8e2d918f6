/* SPDX-License-Identifier: BSD-3-Clause */

#include "flows.h"
#include "work.h"

struct bucket {
	struct weir_place place;
	struct weir_wait wait;
	struct weir_receiver *from;
	struct weir_sender *to;
	unsigned int work;
	/* Received, the first `sent` of which have gone on. */
	unsigned int n;
	uint32_t sent;
	struct rte_mbuf *pkts[FLOWS_BURST];
};

static int
bucket_poll(struct weir_context *ctx, void *state)
{
	struct bucket *b = state;
	int rc;

	WEIR_BEGIN(&b->place);
	for (;;) {
		WEIR_AWAIT(rc, weir_recv_burst(ctx, b->from, b->pkts,
					       FLOWS_BURST, &b->wait));
		if (rc < 0)
			break;
		b->n = (unsigned int)rc;
		work_on(b->n * b->work);
		b->sent = 0;
		WEIR_AWAIT(rc, weir_send_all(ctx, b->to, b->pkts, b->n,
					     &b->sent, &b->wait));
		if (rc < 0)
			return rc;
	}
	WEIR_END;
	return WEIR_DONE;
}

static void
bucket_drop(void *state)
{
	struct bucket *b = state;

	weir_wait_cancel(&b->wait);
	rte_pktmbuf_free_bulk(b->pkts + b->sent, b->n - b->sent);
	weir_receiver_drop(b->from);
	weir_sender_drop(b->to);
}

static const struct weir_task_ops bucket_ops = {
	.name = "bucket",
	.state_size = sizeof(struct bucket),
	.poll = bucket_poll,
	.drop = bucket_drop,
};

int
bucket_spawn(struct weir_runtime *rt, struct weir_receiver *from,
	     struct weir_sender *to, unsigned int work,
	     const struct weir_spawn_attr *attr)
{
	const struct bucket b = { .from = from, .to = to, .work = work };

	return weir_task_spawn_detached(rt, &bucket_ops, &b, attr);
}
