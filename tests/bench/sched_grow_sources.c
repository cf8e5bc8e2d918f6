/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * `size` sources on worker 0, for each of which a task waits, and which have
 * nothing: ns for a turn of a task that is alone, so that each of its turns comes
 * with a look at every source; and for a turn of one among many.
 */

#include <errno.h>
#include <stdlib.h>

#include <weir_null.h>

#include "scenario.h"

#define TURNS 1000u
#define MANY 200u

static struct weir_null **sources;
static struct atomic_u64 waiting;

static int
receive(struct weir_context *ctx, void *state)
{
	struct weir_null *null = *(struct weir_null **)state;
	int rc = weir_null_recv(ctx, null);

	/* Only the shutdown ends it, and drops this task. */
	must(rc == WEIR_PENDING, "an idle source has something");
	atomic_u64_fetch_add(&waiting, 1, RELAXED);
	return rc;
}

static const struct weir_task_ops receive_ops = {
	.name = "receive",
	.state_size = sizeof(struct weir_null *),
	.poll = receive,
};

static int
take_turns(struct weir_context *ctx, void *state)
{
	unsigned int *done = state;

	return (*done)++ < TURNS ? weir_context_yield(ctx) : WEIR_DONE;
}

static const struct weir_task_ops turns_ops = {
	.name = "turns",
	.state_size = sizeof(unsigned int),
	.poll = take_turns,
};

static void
begin(struct weir_runtime *rt)
{
	unsigned int i;

	sources = calloc(size, sizeof(sources[0]));
	must(sources != NULL, "no memory for sources");
	for (i = 0; i < size; i++) {
		sources[i] = weir_null_create(rt, 0);
		must(sources[i] != NULL, "no source");
		start(rt, &receive_ops, &sources[i]);
	}
	while (atomic_u64_load(&waiting, RELAXED) < size)
		crowd(rt, &turns_ops, 1, NULL);
}

static void
round_of(struct weir_runtime *rt, double *figures)
{
	if (sources == NULL)
		begin(rt);
	figures[0] = crowd(rt, &turns_ops, 1, NULL) / TURNS;
	figures[1] = crowd(rt, &turns_ops, MANY, NULL) / MANY / TURNS;
}

static void
end(void)
{
	unsigned int i;

	for (i = 0; i < size && sources != NULL; i++)
		weir_null_free(sources[i]);
	free(sources);
}

const struct scenario grow_sources = {
	.name = "grow_sources",
	.workers = 1,
	.figures = 2,
	.sized = true,
	.round = round_of,
	.end = end,
};
