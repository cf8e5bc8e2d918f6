/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mechanisms to count instructions of, under callgrind.
 *
 *	instructions [EAL options] -- MECHANISM N
 *
 * performs N operations, a multiple of BATCH. What counts is what runs inside
 * measured(), less what runs inside aside(): costs.py has callgrind
 * collect just that. A runtime of the calling thread alone runs the same
 * instructions each time if the clock has no say.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>

#include <weir.h>
#include <weir_null.h>

#include "queue/inject.h"
#include "queue/run_queue.h"
#include "sched/scheduler.h"
#include "task/task.h"

/* Tasks at a time: they fit into the run queue. */
#define BATCH 128u
/* Entries of the inject queue; it does not spill. */
#define RING 256u
/* Tasks in a queue that a thief finds; it takes half. */
#define STOLEN_FROM 64u
/* Polls of each idle source. */
#define SOURCE_TURNS 128u
#define MOST_SOURCES 1024u
/* Popped at once. */
#define POPPED 32u
#define TASK_CELLS 4096u

static void
must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "instructions: %s\n", what);
	exit(1);
}

typedef void
step_fn(struct weir_runtime *rt);

/*
 * By these names callgrind knows what counts. The comments for the assembler keep
 * the two from becoming one function, and the calls in them from becoming jumps.
 */
static __rte_noinline void
measured(step_fn *step, struct weir_runtime *rt)
{
	step(rt);
	__asm__ volatile("# measured");
}

static __rte_noinline void
aside(step_fn *step, struct weir_runtime *rt)
{
	step(rt);
	__asm__ volatile("# aside");
}

static int
nothing(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

static const struct weir_task_ops nothing_ops = {
	.name = "nothing",
	.poll = nothing,
};

/* Tasks that wait to be woken again and again, and their wakers. */
static struct weir_waker *wakers[BATCH];
static unsigned int nb_wakers;

static int
wait_poll(struct weir_context *ctx, void *state)
{
	bool *known = state;

	if (!*known)
		wakers[nb_wakers++] = weir_context_waker(ctx);
	*known = true;
	return WEIR_PENDING;
}

static const struct weir_task_ops wait_ops = {
	.name = "wait",
	.state_size = sizeof(bool),
	.poll = wait_poll,
};

static int
yield_poll(struct weir_context *ctx, void *state)
{
	unsigned int *left = state;

	return (*left)-- > 0 ? weir_context_yield(ctx) : WEIR_DONE;
}

static const struct weir_task_ops yield_ops = {
	.name = "yield",
	.state_size = sizeof(unsigned int),
	.poll = yield_poll,
};

static int
receive_poll(struct weir_context *ctx, void *state)
{
	struct weir_null *null = *(struct weir_null **)state;

	return weir_null_recv(ctx, null) == WEIR_PENDING ? WEIR_PENDING :
							   WEIR_DONE;
}

static const struct weir_task_ops receive_ops = {
	.name = "receive",
	.state_size = sizeof(struct weir_null *),
	.poll = receive_poll,
};

/* A stepper: a step, then what it has spawned is awaited, then the next step. */
struct stepper {
	step_fn *step;
	unsigned int steps;
	unsigned int joined;
};

static struct weir_join *joins[BATCH];
static unsigned int nb_joins;

static int
stepper_poll(struct weir_context *ctx, void *state)
{
	struct stepper *s = state;

	for (; s->joined < nb_joins; s->joined++)
		if (weir_join_poll(ctx, joins[s->joined], NULL) == WEIR_PENDING)
			return WEIR_PENDING;
	s->joined = 0;
	nb_joins = 0;
	if (s->steps-- == 0)
		return WEIR_DONE;
	s->step(weir_context_runtime(ctx));
	return weir_context_yield(ctx);
}

static const struct weir_task_ops stepper_ops = {
	.name = "stepper",
	.state_size = sizeof(struct stepper),
	.poll = stepper_poll,
};

static void
drive(struct weir_runtime *rt, step_fn *step, unsigned int steps)
{
	struct stepper s = { .step = step, .steps = steps };

	must(weir_runtime_block_on(rt, &stepper_ops, &s, NULL) == 0,
	     "the stepper failed");
}

static unsigned int operations;

static void
spawn_batch(struct weir_runtime *rt)
{
	while (nb_joins < BATCH)
		joins[nb_joins++] =
			weir_task_spawn(rt, &nothing_ops, NULL, NULL);
}

static void
spawn_measured(struct weir_runtime *rt)
{
	measured(spawn_batch, rt);
}

static void
spawn_aside(struct weir_runtime *rt)
{
	aside(spawn_batch, rt);
}

static void
spawn(struct weir_runtime *rt)
{
	drive(rt, spawn_measured, operations / BATCH);
}

static void
spawn_together(struct weir_runtime *rt)
{
	nb_joins = weir_task_spawn_burst(rt, &nothing_ops, NULL, BATCH, NULL,
					 joins);
}

static void
burst_measured(struct weir_runtime *rt)
{
	measured(spawn_together, rt);
}

static void
spawn_burst(struct weir_runtime *rt)
{
	drive(rt, burst_measured, operations / BATCH);
}

static void
run_spawned(struct weir_runtime *rt)
{
	drive(rt, spawn_aside, operations / BATCH);
}

static void
complete(struct weir_runtime *rt)
{
	measured(run_spawned, rt);
}

static void
spawn_waiters(struct weir_runtime *rt)
{
	const bool known = false;
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		weir_join_detach(weir_task_spawn(rt, &wait_ops, &known, NULL));
}

static void
wake_batch(struct weir_runtime *rt)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		weir_waker_wake_by_ref(wakers[i]);
}

static void
wake_measured(struct weir_runtime *rt)
{
	measured(wake_batch, rt);
}

static void
wake_aside(struct weir_runtime *rt)
{
	aside(wake_batch, rt);
}

/* Their tasks are ended by the shutdown. */
static void
drop_wakers(void)
{
	while (nb_wakers > 0)
		weir_waker_drop(wakers[--nb_wakers]);
}

static void
wake(struct weir_runtime *rt)
{
	drive(rt, spawn_waiters, 1);
	must(nb_wakers == BATCH, "a task has not begun to wait");
	drive(rt, wake_measured, operations / BATCH);
	drop_wakers();
}

static void
run_woken(struct weir_runtime *rt)
{
	drive(rt, wake_aside, operations / BATCH);
}

static void
poll(struct weir_runtime *rt)
{
	drive(rt, spawn_waiters, 1);
	must(nb_wakers == BATCH, "a task has not begun to wait");
	measured(run_woken, rt);
	drop_wakers();
}

static void
spawn_yielders(struct weir_runtime *rt)
{
	const unsigned int yields = operations / BATCH;

	while (nb_joins < BATCH)
		joins[nb_joins++] =
			weir_task_spawn(rt, &yield_ops, &yields, NULL);
}

static void
run_yielders(struct weir_runtime *rt)
{
	drive(rt, spawn_yielders, 1);
}

static void
yield(struct weir_runtime *rt)
{
	measured(run_yielders, rt);
}

static void
do_nothing(struct weir_runtime *rt)
{
}

/* A stepper that is alone has the sources polled each time that it yields. */
static void
poll_sources(struct weir_runtime *rt)
{
	drive(rt, do_nothing, SOURCE_TURNS);
}

static void
source_poll(struct weir_runtime *rt)
{
	struct weir_null *sources[MOST_SOURCES];
	unsigned int n = operations / SOURCE_TURNS, i;

	must(n <= MOST_SOURCES, "too many sources");
	for (i = 0; i < n; i++) {
		sources[i] = weir_null_create(rt, 0);
		must(sources[i] != NULL, "no source");
		weir_join_detach(
			weir_task_spawn(rt, &receive_ops, &sources[i], NULL));
	}
	/* Until all of them wait. */
	poll_sources(rt);
	measured(poll_sources, rt);
	must(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0, "no end");
	for (i = 0; i < n; i++)
		weir_null_free(sources[i]);
}

/* For queues alone, which only link them. */
static struct task tasks[BATCH];
static struct inject inject;
static struct run_queue victim, thief;

static void
push_batch(struct weir_runtime *rt)
{
	struct task *t;
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		t = &tasks[i];
		weir__inject_push(&inject, &t, 1);
	}
}

static void
pop_batch(struct weir_runtime *rt)
{
	struct task *popped[POPPED];
	unsigned int i;

	for (i = 0; i < BATCH; i += POPPED)
		weir__inject_pop(&inject, popped, POPPED);
}

static void
push_and_pop(struct weir_runtime *rt, step_fn *push, step_fn *pop)
{
	unsigned int i;

	must(weir__inject_init(&inject, "counted", RING, 0) == 0, "no queue");
	for (i = 0; i < operations; i += BATCH) {
		push(rt);
		pop(rt);
	}
	weir__inject_fini(&inject);
}

static void
push_measured(struct weir_runtime *rt)
{
	measured(push_batch, rt);
}

static void
pop_measured(struct weir_runtime *rt)
{
	measured(pop_batch, rt);
}

static void
inject_push(struct weir_runtime *rt)
{
	push_and_pop(rt, push_measured, pop_batch);
}

static void
inject_pop(struct weir_runtime *rt)
{
	push_and_pop(rt, push_batch, pop_measured);
}

static void
steal_once(struct weir_runtime *rt)
{
	unsigned int n;

	must(weir__run_queue_steal(&victim, &thief, &n) != NULL,
	     "nothing to steal");
}

static void
steal(struct weir_runtime *rt)
{
	unsigned int i, k;

	weir__run_queue_init(&victim, false, false);
	weir__run_queue_init(&thief, false, false);
	for (i = 0; i < operations; i++) {
		for (k = 0; k < STOLEN_FROM; k++)
			/* There is room. */
			weir__run_queue_push_owner(&victim, &tasks[k], NULL);
		measured(steal_once, rt);
		while (run_queue_pop_owner(&victim) != NULL)
			;
		while (run_queue_pop_owner(&thief) != NULL)
			;
	}
}

static const struct mechanism {
	const char *name;
	step_fn *run;
} mechanisms[] = {
	{ "spawn", spawn },
	{ "spawn_burst", spawn_burst },
	{ "complete", complete },
	{ "wake", wake },
	{ "poll", poll },
	{ "yield", yield },
	{ "inject_push", inject_push },
	{ "inject_pop", inject_pop },
	{ "steal", steal },
	{ "source_poll", source_poll },
};

static struct weir_runtime *
runtime(void)
{
	struct weir_options options;
	struct weir_runtime *rt;

	weir_options_init(&options);
	options.current_thread = true;
	options.inject_interval = 61;
	options.task_cells = TASK_CELLS;
	options.seed = 1;
	rt = weir_runtime_create(&options);
	must(rt != NULL, "no runtime");
	/* No turn is long: the ticks alone decide. */
	rt->max_poll_gap = UINT64_MAX / 4;
	rt->clock_target = UINT64_MAX;
	rt->take_target = UINT64_MAX;
	/* Nor is any gap longer than all before, which would be noted. */
	atomic_u64_store(&rt->workers[0]->counters.max_poll_gap, UINT64_MAX,
			 RELAXED);
	return rt;
}

int
main(int argc, char **argv)
{
	const struct mechanism *m = NULL;
	struct weir_runtime *rt;
	unsigned int i;
	int used;

	used = rte_eal_init(argc, argv);
	if (used < 0 || argc - used != 3)
		return 2;
	for (i = 0; i < RTE_DIM(mechanisms); i++)
		if (strcmp(argv[used + 1], mechanisms[i].name) == 0)
			m = &mechanisms[i];
	operations = (unsigned int)strtoul(argv[used + 2], NULL, 10);
	if (m == NULL || operations == 0 || operations % BATCH != 0)
		return 2;
	rt = runtime();
	m->run(rt);
	weir_runtime_free(rt);
	rte_eal_cleanup();
	return 0;
}
