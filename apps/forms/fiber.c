/* SPDX-License-Identifier: BSD-3-Clause */

/* With a stack of its own: functions that wait, and plain variables. */

#include "forms.h"

struct fiber {
	struct weir_fiber fiber;
	unsigned int sum;
};

static int
add_square(struct weir_fiber *f, unsigned int n, unsigned int *sum)
{
	struct weir_join *join;
	unsigned int square;
	int rc;

	rc = weir_fiber_sleep(f, PAUSE_NS);
	if (rc < 0)
		return rc;
	rc = square_spawn(weir_fiber_context(f), n, &join);
	if (rc < 0)
		return rc;
	rc = weir_fiber_join(f, join, &square);
	if (rc < 0)
		return rc;
	*sum += square;
	return 0;
}

static int
fiber_run(struct weir_fiber *f, void *state)
{
	struct fiber *own = state;
	unsigned int n;
	int rc = 0;

	for (n = 1; n <= LAST && rc == 0; n++)
		rc = add_square(f, n, &own->sum);
	return rc;
}

static const struct weir_task_ops ops = {
	.name = "fiber",
	.state_size = sizeof(struct fiber),
	.poll = weir_fiber_poll,
	.drop = weir_fiber_drop,
	.result_offset = offsetof(struct fiber, sum),
	.result_size = sizeof(unsigned int),
};

static const struct fiber state = { .fiber = { .run = fiber_run } };

const struct form fiber_form = {
	.name = "fiber",
	.ops = &ops,
	.state = &state,
};
