/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The thread of a worker stands still for a while, wherever it is, as when the
 * kernel gives its CPU to another. In a task it keeps only that task: the others
 * take its queue and poll its sources. Anywhere else, in the middle of a steal
 * or with a lock held, it may hold others up; they lose nothing.
 */

#include "crowd.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_cycles.h>

#include <weir_event.h>

#include "base/race.h"
#include "tracer.h"

#define STOPS 12u
#define MEMBERS 60u
#define CHILDREN 20u
#define MAX_US 20000u
#ifdef WEIR_TSAN
/* The thread sanitizer has locks of its own, which the others need. */
#define IN_A_TASK_US MAX_US
#else
#define IN_A_TASK_US (60u * 1000000)
#endif

static int cannot; /* -errno of tracer_start() */
/* Who drives each worker: its lcore's thread, unless that is blocked. */
static struct atomic_u32 lcore_threads[STRESS_WORKERS];
static struct atomic_u32 threads[STRESS_WORKERS];

static void
note_start(void *arg, unsigned int worker)
{
	uint32_t thread = (uint32_t)syscall(SYS_gettid);

	if (rig_get(&lcore_threads[worker]) == 0)
		rig_set(&lcore_threads[worker], thread);
	rig_set(&threads[worker], thread);
}

static void
note_stop(void *arg, unsigned int worker)
{
	rig_set(&threads[worker], rig_get(&lcore_threads[worker]));
}

static const struct weir_hooks hooks = {
	.thread_start = note_start,
	.thread_stop = note_stop,
};

static void
create(void)
{
	struct weir_options o;

	memset(lcore_threads, 0, sizeof(lcore_threads));
	memset(threads, 0, sizeof(threads));
	stress_options(&o, 2);
	o.hooks = &hooks;
	stress.rt = weir_runtime_create(&o);
	stress_check(stress.rt != NULL);
	stress_start_neighbours();
}

/* The worker's thread of the moment, which may have gone when we come. */
static bool
stop_worker(unsigned int worker, unsigned int max_us)
{
	pid_t thread;
	int rc;

	rig_wait_until((thread = (pid_t)rig_get(&threads[worker])) != 0);
	rc = tracer_stop(thread, max_us);
	stress_check(rc == 0 || rc == -ESRCH);
	return rc == 0;
}

/* Anywhere. */
static void
round_anywhere(void)
{
	unsigned int i, n, us, stops = 0, progress = 0;
	uint64_t end;
	uint32_t dropped;

	create();
	n = weir_runtime_nb_workers(stress.rt) - 1;
	crowd_start(MEMBERS);
	for (i = 0; i < STOPS; i++) {
		stress_stumble(&stress.rand);
		us = rand_below(&stress.rand, MAX_US);
		if (!stop_worker(rand_below(&stress.rand, n), us))
			continue;
		stops++;
		dropped = rig_get(&stress.dropped);
		end = rte_rdtsc() + us * (rte_get_tsc_hz() / 1000000);
		while (rte_rdtsc() < end)
			sched_yield();
		progress += rig_get(&stress.dropped) != dropped;
		tracer_go();
	}
	crowd_await();
	rig_wait_until(stress_all_dropped());
	crowd_stop();
	stress_stop_neighbours();
	stress_check_counters(stress.rt);
	stress_end();
	printf("# %u stops, during %u of them tasks ended\n", stops, progress);
}

/*
 * In a task.
 */

struct scene {
	struct weir_event *event;
	struct weir_join *children[CHILDREN];
	struct atomic_u32 in;
	struct atomic_u32 go;
};

static int
child_poll(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

static const struct weir_task_ops child_ops = {
	.name = "child",
	.poll = child_poll,
};

/* Fills the queue of the worker, and stays. */
static int
stuck_poll(struct weir_context *ctx, void *state)
{
	struct scene *s = *(struct scene **)state;
	unsigned int i;

	for (i = 0; i < CHILDREN; i++) {
		s->children[i] = weir_task_spawn(weir_context_runtime(ctx),
						 &child_ops, NULL, NULL);
		stress_check(s->children[i] != NULL);
	}
	rig_set(&s->in, 1);
	while (!rig_get(&s->go))
		;
	return WEIR_DONE;
}

static const struct weir_task_ops stuck_ops = {
	.name = "stuck",
	.state_size = sizeof(struct scene *),
	.poll = stuck_poll,
};

static int
taker_poll(struct weir_context *ctx, void *state)
{
	struct scene *s = *(struct scene **)state;
	int n = weir_event_wait(ctx, s->event);

	return n < 0 ? n : WEIR_DONE;
}

static const struct weir_task_ops taker_ops = {
	.name = "taker",
	.state_size = sizeof(struct scene *),
	.poll = taker_poll,
};

static struct weir_join *
spawn(const struct weir_task_ops *ops, const void *state,
      const struct weir_spawn_attr *attr)
{
	struct weir_join *join = weir_task_spawn(stress.rt, ops, state, attr);

	stress_check(join != NULL);
	return join;
}

/* What the others do while one worker stands still. */
static void
expect_progress(struct scene *s, struct weir_join *taker)
{
	unsigned int i;

	for (i = 0; i < CHILDREN; i++)
		stress_check(rig_join(spawn(&child_ops, NULL, NULL), NULL) ==
			     0);
	weir_event_post(s->event);
	stress_check(rig_join(taker, NULL) == 0);
	/* All but the one in the slot. */
	for (i = 0; i + 1 < CHILDREN; i++)
		stress_check(rig_join(s->children[i], NULL) == 0);
}

static void
round_in_a_task(void)
{
	struct scene scene = { NULL }, *told = &scene;
	struct weir_join *taker, *stuck;
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER };

	create();
	attr.worker = rand_below(&stress.rand,
				 weir_runtime_nb_workers(stress.rt) - 1);
	scene.event = weir_event_create(stress.rt, attr.worker);
	stress_check(scene.event != NULL);
	taker = spawn(&taker_ops, &told, NULL);
	stuck = spawn(&stuck_ops, &told, &attr);
	rig_wait_until(rig_get(&scene.in));
	stress_check(stop_worker(attr.worker, IN_A_TASK_US));
	expect_progress(&scene, taker);
	rig_set(&scene.go, 1);
	tracer_go();
	stress_check(rig_join(stuck, NULL) == 0);
	stress_check(rig_join(scene.children[CHILDREN - 1], NULL) == 0);
	stress_stop_neighbours();
	weir_event_free(scene.event);
	stress_check_counters(stress.rt);
	stress_end();
}

static void
round_of_either(void)
{
	if (rand_below(&stress.rand, 2) == 0)
		round_anywhere();
	else
		round_in_a_task();
}

static void
stopped_worker_loses_nothing(void **state)
{
	if (cannot < 0)
		unit_skip("no thread may be traced here");
	stress_rounds(round_of_either);
}

static int
teardown(void **state)
{
	if (cannot == 0)
		tracer_end();
	return unit_eal_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_worker_loses_nothing),
	};

	/* Before EAL starts threads. */
	cannot = tracer_start();
	return cmocka_run_group_tests_name("stops", tests, stress_setup,
					   teardown);
}
