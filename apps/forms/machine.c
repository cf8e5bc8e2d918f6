/* SPDX-License-Identifier: BSD-3-Clause */

/* A state machine by hand: what is to be done next is in the state. */

#include <errno.h>

#include "forms.h"

struct machine {
	enum {
		PAUSE,
		AWAIT
	} step;
	unsigned int n;
	unsigned int sum;
	struct weir_sleep sleep;
	struct weir_join *square;
};

/* Returns 0 when it is time for the next step. */
static int
step(struct weir_context *ctx, struct machine *m)
{
	unsigned int square;
	int rc;

	switch (m->step) {
	case PAUSE:
		rc = weir_sleep(ctx, &m->sleep, PAUSE_NS);
		if (rc < 0)
			return rc;
		rc = square_spawn(ctx, m->n + 1, &m->square);
		if (rc < 0)
			return rc;
		m->step = AWAIT;
		return 0;
	case AWAIT:
		rc = weir_join_poll(ctx, m->square, &square);
		if (rc == WEIR_PENDING)
			return rc;
		m->square = NULL;
		if (rc < 0)
			return rc;
		m->sum += square;
		m->n++;
		m->step = PAUSE;
		return 0;
	}
	return -EPROTO;
}

static int
machine_poll(struct weir_context *ctx, void *state)
{
	struct machine *m = state;
	int rc = 0;

	while (rc == 0 && m->n < LAST)
		rc = step(ctx, m);
	return rc;
}

static void
machine_drop(void *state)
{
	struct machine *m = state;

	weir_sleep_cancel(&m->sleep);
	weir_join_detach(m->square);
}

static const struct weir_task_ops ops = {
	.name = "machine",
	.state_size = sizeof(struct machine),
	.poll = machine_poll,
	.drop = machine_drop,
	.result_offset = offsetof(struct machine, sum),
	.result_size = sizeof(unsigned int),
};

const struct form machine_form = { .name = "machine", .ops = &ops };
