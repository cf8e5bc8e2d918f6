/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Everything at once: tasks that block, wait for jobs, for wakers and for
 * events, while plain threads spawn and abort, workers come and go, sources
 * move, policies change, and others look on. It ends by itself, or by a
 * shutdown at a moment picked at random. Everything is there in numbers that are
 * known, which test_ends.c and test_spawns.c leave to chance.
 */

#include "stress.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>

#include <weir_dump.h>
#include <weir_event.h>
#include <weir_histogram.h>

#define WORKERS 2u
#define PLACES 3u
#define MEMBERS 4u /* tasks bound to each of the workers */
#define ROVERS 8u  /* tasks of nobody */
#define TASKS (WORKERS * MEMBERS + ROVERS)
#define STEPS 60u
#define EVENTS 2u
#define POSTS 400u
#define MANY 50u  /* tasks that a plain thread spawns between two looks */
#define LIVE 500u /* then it waits for those to end */

/* What the tasks of one worker share, and nobody guards (workers.c, G6). */
struct group {
	uint64_t steps;
	unsigned int overlaps;
	bool inside;
};

struct walker {
	struct group *group; /* NULL: of nobody */
	struct atomic_ptr *mailbox;
	struct weir_join *job;
	struct rand_state rand;
	unsigned int left;
};

static struct {
	struct atomic_u32 stop;
	struct atomic_u32 spawned;
	struct atomic_u32 steps;
	struct atomic_u32 drops;
	struct group groups[WORKERS];
	struct atomic_ptr mailboxes[TASKS];
	struct weir_join *walkers[TASKS];
	struct weir_event *events[EVENTS];
	struct weir_join *takers[EVENTS];
} storm;

static void
enter(struct group *g)
{
	if (g == NULL)
		return;
	g->overlaps += g->inside;
	g->inside = true;
}

static void
leave(struct group *g)
{
	if (g != NULL)
		g->inside = false;
}

static void
pass_by(void *arg)
{
	unsigned int i, n = *(unsigned int *)arg;

	for (i = 0; i < n; i++)
		sched_yield();
}

static int
job_run(void *state)
{
	unsigned int n = 3;

	pass_by(&n);
	return 0;
}

static void
count_drop(void *state)
{
	rig_add(&storm.drops, 1);
}

static const struct weir_task_ops job_ops = {
	.name = "job",
	.state_size = 8,
	.run = job_run,
	.drop = count_drop,
};

/* A blocking job, which it awaits. */
static int
await_job(struct weir_context *ctx, struct walker *w)
{
	int rc;

	if (w->job == NULL) {
		w->job = weir_blocking_spawn(weir_context_runtime(ctx),
					     &job_ops, NULL);
		if (w->job == NULL)
			return -rte_errno;
		rig_add(&storm.spawned, 1);
	}
	rc = weir_join_poll(ctx, w->job, NULL);
	if (rc != WEIR_PENDING)
		w->job = NULL;
	return rc;
}

/* 0: go on; else what poll returns. */
static int
step(struct weir_context *ctx, struct walker *w)
{
	unsigned int n = rand_below(&w->rand, 6);

	switch (n) {
	case 0:
	case 1:
		leave(w->group);
		if (weir_block_in_place(pass_by, &n) < 0)
			return -EPROTO;
		enter(w->group);
		return 0;
	case 2:
		return weir_context_yield(ctx);
	case 3:
		weir_waker_drop(atomic_ptr_exchange(
			w->mailbox, weir_context_waker(ctx), ACQ_REL));
		return WEIR_PENDING;
	case 4:
		return await_job(ctx, w);
	default:
		return 0;
	}
}

static int
walk(struct weir_context *ctx, struct walker *w)
{
	int rc = w->job != NULL ? await_job(ctx, w) : 0;

	while (rc == 0 && w->left > 0) {
		w->left--;
		if (w->group != NULL)
			w->group->steps++;
		rig_add(&storm.steps, 1);
		rc = step(ctx, w);
	}
	return rc;
}

static int
walker_poll(struct weir_context *ctx, void *state)
{
	struct walker *w = state;
	int rc;

	enter(w->group);
	rc = walk(ctx, w);
	leave(w->group);
	return rc;
}

static void
walker_drop(void *state)
{
	struct walker *w = state;

	enter(w->group);
	if (w->job != NULL)
		weir_join_detach(w->job);
	leave(w->group);
	count_drop(state);
}

static const struct weir_task_ops walker_ops = {
	.name = "walker",
	.state_size = sizeof(struct walker),
	.poll = walker_poll,
	.drop = walker_drop,
};

/* Takes all that is posted to an event. */
struct taker {
	struct weir_event *event;
	uint64_t taken;
};

static int
taker_poll(struct weir_context *ctx, void *state)
{
	struct taker *t = state;
	int n;

	while (t->taken < POSTS) {
		n = weir_event_wait(ctx, t->event);
		if (n < 0)
			return n;
		t->taken += (unsigned int)n;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops taker_ops = {
	.name = "taker",
	.state_size = sizeof(struct taker),
	.poll = taker_poll,
	.drop = count_drop,
	.result_offset = offsetof(struct taker, taken),
	.result_size = sizeof(uint64_t),
};

static struct weir_join *
spawn(const struct weir_task_ops *ops, const void *state,
      const struct weir_spawn_attr *attr)
{
	struct weir_join *join = weir_task_spawn(rig.rt, ops, state, attr);

	if (join == NULL)
		fail_msg("weir_task_spawn: %s", rte_strerror(rte_errno));
	rig_add(&storm.spawned, 1);
	return join;
}

/*
 * The plain threads, until it is over.
 */

static bool
is_over(void)
{
	return rig_get(&storm.stop) != 0;
}

static void *
wake_walkers(void *arg)
{
	struct weir_waker *w;
	unsigned int i;

	while (!is_over()) {
		for (i = 0; i < TASKS; i++) {
			w = atomic_ptr_exchange(&storm.mailboxes[i], NULL,
						ACQ_REL);
			if (w != NULL)
				weir_waker_wake(w);
		}
		sched_yield();
	}
	return NULL;
}

static void *
post_events(void *arg)
{
	unsigned int i, k;

	for (i = 0; i < POSTS; i++) {
		for (k = 0; k < EVENTS; k++)
			weir_event_post(storm.events[k]);
		sched_yield();
	}
	return NULL;
}

static int
done_poll(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

static const struct weir_task_ops done_ops = {
	.name = "done",
	.state_size = 8,
	.poll = done_poll,
	.drop = count_drop,
};

static void *
spawn_and_abort(void *arg)
{
	struct weir_spawn_attr attr = { 0 };
	struct weir_join *join;
	struct rand_state rand;
	unsigned int i;

	rand_seed(&rand, stress.seed + 1);
	while (!is_over()) {
		sched_yield();
		if (rig_get(&storm.spawned) - rig_get(&storm.drops) > LIVE)
			continue;
		for (i = 0; i < MANY; i++) {
			attr.affinity = rand_below(&rand, 2) == 0 ?
						WEIR_AFFINITY_ANY :
						WEIR_AFFINITY_WORKER;
			attr.worker = rand_below(&rand, WORKERS);
			join = spawn(&done_ops, NULL, &attr);
			if (rand_below(&rand, 2) == 0)
				weir_join_abort(join);
			weir_join_detach(join);
		}
	}
	return NULL;
}

static void *
look_on(void *arg)
{
	struct weir_task_entry entries[32];
	struct weir_runtime_stats stats;
	struct weir_histogram histogram;

	while (!is_over()) {
		weir_task_list(rig.rt, entries, RTE_DIM(entries));
		weir_runtime_stats_get(rig.rt, &stats);
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_WAKE,
					   &histogram);
		sched_yield();
	}
	return NULL;
}

/* One of the ways in which the runtime changes. */
static int
change(struct rand_state *rand)
{
	static const enum weir_park parks[] = {
		WEIR_PARK_POLL,
		WEIR_PARK_PAUSE,
		WEIR_PARK_INTERRUPT,
		WEIR_PARK_ADAPTIVE,
	};
	unsigned int k = rand_below(rand, PLACES);
	unsigned int other = (k + 1 + rand_below(rand, PLACES - 1)) % PLACES;
	int rc;

	switch (rand_below(rand, 4)) {
	case 0:
		return weir_worker_park_set(
			rig.rt, k, parks[rand_below(rand, RTE_DIM(parks))]);
	case 1:
		rc = weir_source_move(
			weir_event_source(
				storm.events[rand_below(rand, EVENTS)]),
			rig.rt, k);
		/* Nobody is there. */
		return rc == -EINVAL ? 0 : rc;
	default:
		if (!weir_worker_is_active(rig.rt, k))
			return weir_worker_add(rig.rt, stress_lcore(k));
		if (!weir_worker_is_active(rig.rt, other))
			return 0;
		return weir_worker_retire(rig.rt, k, other);
	}
}

static void *
change_things(void *arg)
{
	struct rand_state rand;
	int rc;

	rand_seed(&rand, stress.seed + 2);
	while (!is_over()) {
		rc = change(&rand);
		if (rc < 0)
			assert_int_equal(rc, -ESHUTDOWN);
		sched_yield();
	}
	return NULL;
}

static void *(*const threads_of_storm[])(void *) = {
	wake_walkers, post_events, spawn_and_abort, look_on, change_things,
};
static pthread_t threads[RTE_DIM(threads_of_storm)];

static void
create_runtime(void)
{
	static unsigned int lcores[PLACES];
	struct weir_options o;
	unsigned int i;

	memset(&storm, 0, sizeof(storm));
	for (i = 0; i < PLACES; i++)
		lcores[i] = stress_lcore(i);
	rig_options(&o, WORKERS);
	o.lcores = lcores;
	o.spare_lcores = &lcores[WORKERS];
	o.nb_spare_lcores = PLACES - WORKERS;
	o.histograms = true;
	o.adaptive_poll_us = 1;
	o.adaptive_pause_us = 1;
	o.blocking_threads = 2;
	rig.rt = weir_runtime_create(&o);
	stress_check(rig.rt != NULL);
	stress_start_neighbours();
}

static void
start_tasks(void)
{
	struct weir_spawn_attr attr = { 0 };
	unsigned int i;

	for (i = 0; i < TASKS; i++) {
		bool bound = i < WORKERS * MEMBERS;
		struct walker w = {
			.group = bound ? &storm.groups[i % WORKERS] : NULL,
			.mailbox = &storm.mailboxes[i],
			.left = STEPS,
		};

		rand_seed(&w.rand, stress.seed + 10 + i);
		attr.affinity =
			bound ? WEIR_AFFINITY_WORKER : WEIR_AFFINITY_ANY;
		attr.worker = i % WORKERS;
		storm.walkers[i] = spawn(&walker_ops, &w, &attr);
	}
	for (i = 0; i < EVENTS; i++) {
		struct taker t = {
			.event = weir_event_create(rig.rt, i % WORKERS),
		};

		assert_non_null(t.event);
		storm.events[i] = t.event;
		storm.takers[i] = spawn(&taker_ops, &t, NULL);
	}
}

static void
begin_storm(void)
{
	unsigned int i;

	start_tasks();
	for (i = 0; i < RTE_DIM(threads); i++)
		pthread_create(&threads[i], NULL, threads_of_storm[i], NULL);
}

/* Everything has come to its end, once. */
static void
end_tasks(void)
{
	struct weir_shutdown_report left;
	unsigned int i;

	rig_set(&storm.stop, 1);
	for (i = 0; i < RTE_DIM(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, &left), 0);
	assert_int_equal(left.live_tasks, 0);
	assert_int_equal(left.ring_entries, 0);
	assert_int_equal(left.blocking, 0);
	assert_int_equal(rig_get(&storm.drops), rig_get(&storm.spawned));
	for (i = 0; i < TASKS; i++)
		weir_waker_drop(atomic_ptr_exchange(&storm.mailboxes[i], NULL,
						    ACQ_REL));
	for (i = 0; i < WORKERS; i++)
		assert_int_equal(storm.groups[i].overlaps, 0);
	for (i = 0; i < EVENTS; i++)
		weir_event_free(storm.events[i]);
}

static void
end_runtime(void)
{
	struct weir_runtime *rt = rig.rt;

	rig.rt = NULL;
	rig_runtime_free(rt);
}

static void
let_it_blow_over(void)
{
	uint64_t taken;
	unsigned int i;

	begin_storm();
	for (i = 0; i < TASKS; i++)
		assert_int_equal(rig_join(storm.walkers[i], NULL), 0);
	for (i = 0; i < EVENTS; i++) {
		assert_int_equal(rig_join(storm.takers[i], &taken), 0);
		assert_int_equal(taken, POSTS);
	}
	end_tasks();
	for (i = 0; i < WORKERS; i++)
		assert_int_equal(storm.groups[i].steps, MEMBERS * STEPS);
	end_runtime();
}

static void
end_it_at_any_moment(void)
{
	uint32_t steps = rand_below(&stress.rand, TASKS * STEPS);
	unsigned int i;

	begin_storm();
	rig_wait_until(rig_get(&storm.steps) >= steps);
	for (i = 0; i < 3; i++)
		weir_runtime_shutdown(rig.rt, 0, NULL);
	end_tasks();
	/* They have ended, since nothing is left. */
	for (i = 0; i < TASKS; i++)
		weir_join_detach(storm.walkers[i]);
	for (i = 0; i < EVENTS; i++)
		weir_join_detach(storm.takers[i]);
	end_runtime();
}

static void
round_of_storm(void)
{
	create_runtime();
	if (rand_below(&stress.rand, 2) == 0)
		let_it_blow_over();
	else
		end_it_at_any_moment();
	stress_stop_neighbours();
}

static void
storm_loses_nothing(void **state)
{
	stress_rounds(round_of_storm);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(storm_loses_nothing),
	};

	return cmocka_run_group_tests_name("storm", tests, stress_setup,
					   unit_eal_teardown);
}
