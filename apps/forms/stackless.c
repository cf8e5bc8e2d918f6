/* SPDX-License-Identifier: BSD-3-Clause */

/* The same from top to bottom; what outlives a wait is in the state. */

#include "forms.h"

struct stackless {
	struct weir_place place;
	unsigned int n;
	unsigned int sum;
	struct weir_sleep sleep;
	struct weir_join *square;
};

static int
stackless_poll(struct weir_context *ctx, void *state)
{
	struct stackless *s = state;
	unsigned int square;
	int rc;

	WEIR_BEGIN(&s->place);
	for (s->n = 1; s->n <= LAST; s->n++) {
		WEIR_AWAIT(rc, weir_sleep(ctx, &s->sleep, PAUSE_NS));
		if (rc < 0)
			return rc;
		rc = square_spawn(ctx, s->n, &s->square);
		if (rc < 0)
			return rc;
		WEIR_AWAIT(rc, weir_join_poll(ctx, s->square, &square));
		s->square = NULL;
		if (rc < 0)
			return rc;
		s->sum += square;
	}
	WEIR_END;
	return WEIR_DONE;
}

static void
stackless_drop(void *state)
{
	struct stackless *s = state;

	weir_sleep_cancel(&s->sleep);
	weir_join_detach(s->square);
}

static const struct weir_task_ops ops = {
	.name = "stackless",
	.state_size = sizeof(struct stackless),
	.poll = stackless_poll,
	.drop = stackless_drop,
	.result_offset = offsetof(struct stackless, sum),
	.result_size = sizeof(unsigned int),
};

const struct form stackless_form = { .name = "stackless", .ops = &ops };
