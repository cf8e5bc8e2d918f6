/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * 1,000 pairs of tasks send a number back and forth through two channels of one
 * place each, 100 times: ns a round trip.
 */

#include "scenario.h"

#define PAIRS 1000u
#define TRIPS 100u

/* Sends and receives by turns. */
struct side {
	struct weir_sender *tx;
	struct weir_receiver *rx;
	uint64_t value;
	unsigned int left;
	bool sends; /* it is its turn to */
	struct weir_wait wait;
};

static int
side_poll(struct weir_context *ctx, void *state)
{
	struct side *s = state;
	int rc;

	while (s->left > 0) {
		rc = s->sends ? weir_send(ctx, s->tx, &s->value, &s->wait) :
				weir_recv(ctx, s->rx, &s->value, &s->wait);
		if (rc == WEIR_PENDING)
			return rc;
		must(rc == 0, "a lost end");
		s->sends = !s->sends;
		s->left--;
	}
	return WEIR_DONE;
}

static void
side_drop(void *state)
{
	struct side *s = state;

	weir_sender_drop(s->tx);
	weir_receiver_drop(s->rx);
}

static const struct weir_task_ops side_ops = {
	.name = "side",
	.state_size = sizeof(struct side),
	.poll = side_poll,
	.drop = side_drop,
};

struct driver {
	uint64_t took;
	uint64_t begin;
	unsigned int next;
	struct weir_join *joins[2 * PAIRS];
};

static struct weir_join *
spawn_side(struct weir_context *ctx, struct weir_sender *tx,
	   struct weir_receiver *rx, bool sends)
{
	struct side side = {
		.tx = tx, .rx = rx, .left = 2 * TRIPS, .sends = sends
	};
	struct weir_join *join = weir_task_spawn(weir_context_runtime(ctx),
						 &side_ops, &side, NULL);

	must(join != NULL, "no task");
	return join;
}

static void
begin(struct weir_context *ctx, struct driver *d)
{
	struct weir_receiver *rx[2];
	struct weir_sender *tx[2];
	unsigned int i, k;

	d->begin = rte_rdtsc();
	for (i = 0; i < PAIRS; i++) {
		for (k = 0; k < 2; k++)
			must(weir_channel_create(1, sizeof(uint64_t), NULL,
						 &tx[k], &rx[k]) == 0,
			     "no channel");
		d->joins[2 * i] = spawn_side(ctx, tx[0], rx[1], true);
		d->joins[2 * i + 1] = spawn_side(ctx, tx[1], rx[0], false);
	}
}

static int
poll(struct weir_context *ctx, void *state)
{
	struct driver *d = state;
	int rc;

	if (d->begin == 0)
		begin(ctx, d);
	rc = await_all(ctx, d->joins, 2 * PAIRS, &d->next);
	if (rc == WEIR_PENDING)
		return rc;
	d->took = rte_rdtsc() - d->begin;
	return WEIR_DONE;
}

static const struct weir_task_ops driver_ops = {
	.name = "driver",
	.state_size = sizeof(struct driver),
	.poll = poll,
	.result_size = sizeof(uint64_t),
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	figures[0] = drive(rt, &driver_ops) / PAIRS / TRIPS;
}

const struct scenario ping_pong_chan = {
	.name = "ping_pong_chan",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
