/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How long does it take from one task to the next, as tasks with a stack of
 * their own and as poll functions without?
 *
 *	fiber_switch [EAL options] -- FORM PAIRS SECONDS
 *
 * FORM is fiber or stackless. Each of the pairs is two tasks that wake each
 * other by turns, all of them on one worker. Prints one line: nanoseconds for a
 * turn.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>

#include <weir.h>

/* Turns between two looks at the clock. */
#define BATCH 64u
#define MOST_PAIRS 1024u

/* Each side leaves its waker for the other one. All on one worker. */
struct pair {
	struct weir_waker *waiting;
	uint64_t turns;
	bool over;
};

struct side {
	struct weir_fiber fiber;
	struct weir_place place;
	struct pair *pair;
	uint64_t end; /* TSC */
};

/* Wakes the other side and leaves a waker; false: it is over. */
static bool
pass(struct weir_context *ctx, struct side *s)
{
	struct pair *p = s->pair;
	struct weir_waker *other = p->waiting;

	if (++p->turns % BATCH == 0 && rte_rdtsc() > s->end)
		p->over = true;
	p->waiting = p->over ? NULL : weir_context_waker(ctx);
	if (other != NULL)
		weir_waker_wake(other);
	return !p->over;
}

static int
side_poll(struct weir_context *ctx, void *state)
{
	struct side *s = state;

	WEIR_BEGIN(&s->place);
	while (pass(ctx, s))
		WEIR_SUSPEND();
	WEIR_END;
	return WEIR_DONE;
}

static int
side_run(struct weir_fiber *f, void *state)
{
	int rc = 0;

	while (rc == 0 && pass(weir_fiber_context(f), state))
		rc = weir_fiber_suspend(f);
	return rc;
}

static const struct weir_task_ops forms[] = {
	{
		.name = "fiber",
		.state_size = sizeof(struct side),
		.poll = weir_fiber_poll,
		.drop = weir_fiber_drop,
	},
	{
		.name = "stackless",
		.state_size = sizeof(struct side),
		.poll = side_poll,
	},
};

static int
run(struct weir_runtime *rt, const struct weir_task_ops *ops,
    unsigned int pairs, double seconds)
{
	static struct pair all[MOST_PAIRS];
	static struct weir_join *joins[2 * MOST_PAIRS];
	double hz = (double)rte_get_tsc_hz();
	uint64_t begin = rte_rdtsc(), turns = 0;
	struct side s = { .fiber = { .run = side_run } };
	unsigned int i;
	int rc = 0;

	s.end = begin + (uint64_t)(seconds * hz);
	for (i = 0; i < 2 * pairs; i++) {
		s.pair = &all[i / 2];
		joins[i] = weir_task_spawn(rt, ops, &s, NULL);
		if (joins[i] == NULL)
			return -ENOMEM;
	}
	for (i = 0; i < 2 * pairs && rc == 0; i++)
		rc = weir_join_wait(joins[i], NULL);
	for (i = 0; i < pairs; i++)
		turns += all[i].turns;
	printf("turns %.0f, %.2f ns each\n", (double)turns,
	       (double)(rte_rdtsc() - begin) * 1e9 / hz / (double)turns);
	return rc;
}

int
main(int argc, char **argv)
{
	struct weir_options options;
	struct weir_runtime *rt;
	unsigned long pairs;
	unsigned int form;
	double seconds;
	int used, rc;

	used = rte_eal_init(argc, argv);
	if (used < 0 || argc - used != 4)
		return 2;
	for (form = 0; form < RTE_DIM(forms); form++)
		if (strcmp(argv[used + 1], forms[form].name) == 0)
			break;
	pairs = strtoul(argv[used + 2], NULL, 10);
	seconds = strtod(argv[used + 3], NULL);
	if (form == RTE_DIM(forms) || pairs == 0 || pairs > MOST_PAIRS ||
	    !(seconds > 0))
		return 2;
	weir_options_init(&options);
	options.nb_workers = 1;
	rt = weir_runtime_create(&options);
	if (rt == NULL)
		return 1;
	rc = run(rt, &forms[form], (unsigned int)pairs, seconds);
	weir_runtime_free(rt);
	rte_eal_cleanup();
	return rc == 0 ? 0 : 1;
}
