/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * 1,000 tasks each spawn a partner, and send it a value and get one back through
 * two oneshots: ns a task.
 */

#include "scenario.h"

#define PAIRS 1000u

struct ping {
	struct weir_oneshot_rx *back;
	struct weir_wait wait;
};

struct pong {
	struct weir_oneshot_rx *there;
	struct weir_oneshot_tx *back;
	struct weir_wait wait;
};

static int
pong_poll(struct weir_context *ctx, void *state)
{
	struct pong *p = state;
	uint64_t value;
	int rc;

	rc = weir_oneshot_recv(ctx, p->there, &value, &p->wait);
	if (rc == WEIR_PENDING)
		return rc;
	must(rc == 0 && weir_oneshot_send(p->back, &value) == 0, "a lost end");
	return WEIR_DONE;
}

static const struct weir_task_ops pong_ops = {
	.name = "pong",
	.state_size = sizeof(struct pong),
	.poll = pong_poll,
};

static void
begin(struct weir_runtime *rt, struct ping *p)
{
	struct weir_oneshot_tx *there;
	struct pong pong = { 0 };
	uint64_t value = 1;

	must(weir_oneshot_create(rt, sizeof(value), NULL, &there,
				 &pong.there) == 0 &&
		     weir_oneshot_create(rt, sizeof(value), NULL, &pong.back,
					 &p->back) == 0,
	     "no oneshot");
	start(rt, &pong_ops, &pong);
	must(weir_oneshot_send(there, &value) == 0, "a lost end");
}

static int
ping_poll(struct weir_context *ctx, void *state)
{
	struct ping *p = state;
	uint64_t value;
	int rc;

	if (p->back == NULL)
		begin(weir_context_runtime(ctx), p);
	rc = weir_oneshot_recv(ctx, p->back, &value, &p->wait);
	if (rc == WEIR_PENDING)
		return rc;
	must(rc == 0, "a lost end");
	return WEIR_DONE;
}

static const struct weir_task_ops ping_ops = {
	.name = "ping",
	.state_size = sizeof(struct ping),
	.poll = ping_poll,
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	figures[0] = crowd(rt, &ping_ops, PAIRS, NULL) / PAIRS;
}

const struct scenario ping_pong_oneshot = {
	.name = "ping_pong_oneshot",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
