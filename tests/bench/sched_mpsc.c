/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Two producers on one worker send numbers one by one through a channel of
 * 1,024 to a consumer on another, which takes what there is: ns a number.
 */

#include "scenario.h"

#define CAPACITY 1024u
#define NUMBERS 500000u
#define BURST 64u

struct producer {
	struct weir_sender *tx;
	uint64_t next;
	struct weir_wait wait;
};

static int
producer_poll(struct weir_context *ctx, void *state)
{
	struct producer *p = state;
	int rc;

	while (p->next < NUMBERS) {
		rc = weir_send(ctx, p->tx, &p->next, &p->wait);
		if (rc == WEIR_PENDING)
			return rc;
		must(rc == 0, "a lost end");
		p->next++;
	}
	return WEIR_DONE;
}

static void
producer_drop(void *state)
{
	struct producer *p = state;

	weir_sender_drop(p->tx);
}

static const struct weir_task_ops producer_ops = {
	.name = "producer",
	.state_size = sizeof(struct producer),
	.poll = producer_poll,
	.drop = producer_drop,
};

struct consumer {
	uint64_t took;
	struct weir_receiver *rx;
	uint64_t begin, got;
	uint64_t values[BURST];
	struct weir_wait wait;
};

static int
consumer_poll(struct weir_context *ctx, void *state)
{
	struct consumer *c = state;
	int n;

	if (c->begin == 0)
		c->begin = rte_rdtsc();
	while (c->got < 2 * NUMBERS) {
		n = weir_recv_burst(ctx, c->rx, c->values, BURST, &c->wait);
		if (n == WEIR_PENDING)
			return n;
		must(n > 0, "a lost end");
		c->got += (uint64_t)n;
	}
	c->took = rte_rdtsc() - c->begin;
	return WEIR_DONE;
}

static void
consumer_drop(void *state)
{
	struct consumer *c = state;

	weir_receiver_drop(c->rx);
}

static const struct weir_task_ops consumer_ops = {
	.name = "consumer",
	.state_size = sizeof(struct consumer),
	.poll = consumer_poll,
	.drop = consumer_drop,
	.result_size = sizeof(uint64_t),
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	struct weir_spawn_attr first = { .affinity = WEIR_AFFINITY_WORKER };
	struct weir_spawn_attr second = { .affinity = WEIR_AFFINITY_WORKER,
					  .worker = 1 };
	struct weir_join *joins[3];
	struct producer p = { 0 };
	struct consumer c = { 0 };
	uint64_t took;
	unsigned int i;

	must(weir_channel_create(CAPACITY, sizeof(uint64_t), NULL, &p.tx,
				 &c.rx) == 0,
	     "no channel");
	joins[0] = weir_task_spawn(rt, &consumer_ops, &c, &second);
	joins[1] = weir_task_spawn(rt, &producer_ops, &p, &first);
	p.tx = weir_sender_clone(p.tx);
	joins[2] = weir_task_spawn(rt, &producer_ops, &p, &first);
	for (i = 0; i < 3; i++)
		must(joins[i] != NULL &&
			     weir_join_wait(joins[i], i == 0 ? &took : NULL) ==
				     0,
		     "a task failed");
	figures[0] = ns_of(took) / (2 * NUMBERS);
}

const struct scenario mpsc = {
	.name = "mpsc",
	.workers = 2,
	.figures = 1,
	.round = round_of,
};
