/* SPDX-License-Identifier: BSD-3-Clause */

/* How workers wait, and who wakes them: lib/sched/park.c. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_errno.h>

#include "base/race.h"
#include "base/rand.h"
#include "kernel.h"
#include "sched/scheduler.h"
#include "weir_event.h"

static int
begin(void **state)
{
	kernel_reset();
	memset(&rig, 0, sizeof(rig));
	rig.told.log = &rig.log;
	rig.told.go = &rig.go;
	rig.told.waker = &rig.waker;
	return 0;
}

/* On a machine whose CPUs have the instruction. */
static int
begin_with_power_pause(void **state)
{
	begin(state);
	kernel.power_pause = true;
	return 0;
}

/* Workers sleep at once and for ever. */
static int
setup(void **state)
{
	begin(state);
	rig.rt = kernel_runtime((unsigned int)(uintptr_t)*state,
				WEIR_PARK_INTERRUPT);
	return 0;
}

static int
setup_without_membarrier(void **state)
{
	begin(state);
	kernel.no_membarrier = true;
	rig.rt = kernel_runtime((unsigned int)(uintptr_t)*state,
				WEIR_PARK_INTERRUPT);
	return 0;
}

/* As under a filter for system calls that came when the runtime was there. */
static int
setup_refused_barriers(void **state)
{
	begin(state);
	kernel.no_barriers = true;
	rig.rt = kernel_runtime((unsigned int)(uintptr_t)*state,
				WEIR_PARK_INTERRUPT);
	return 0;
}

static int
teardown(void **state)
{
	/* Those that sleep are woken by the shutdown. */
	return rig_teardown(state);
}

static void
await_all_asleep(void)
{
	rig_wait_until(kernel_all_asleep(rig.rt));
}

#define ROUNDS 100

static void
spawn_from_a_plain_thread_wakes(void **state)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		await_all_asleep();
		assert_int_equal(
			rig_join(rig_spawn(rig.rt, &rig_done_ops, &rig.told),
				 NULL),
			0);
	}
}

static void
task_for_one_worker_wakes_that_worker(void **state)
{
	unsigned int i, worker;
	struct weir_join *join;

	for (i = 0; i < ROUNDS; i++) {
		await_all_asleep();
		worker = i % weir_runtime_nb_workers(rig.rt);
		join = rig_spawn_on(rig.rt, worker, &rig_done_ops, &rig.told);
		assert_int_equal(rig_join(join, NULL), 0);
	}
}

static void *
use_waker(void *waker)
{
	weir_waker_wake(waker);
	return NULL;
}

/* use(waker), in a thread of its own. */
static void
expect_woken(void *(*use)(void *waker))
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *waker = rig_take_waker(&rig.waker);

	await_all_asleep();
	rig_set(&rig.go, 1);
	rig_threads(1, use, waker);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
waker_in_a_plain_thread_wakes(void **state)
{
	expect_woken(use_waker);
}

/* It ends where it next can, and not before the worker knows. */
static void *
use_waker_cancelled(void *waker)
{
	pthread_cancel(pthread_self());
	return use_waker(waker);
}

static void
waker_in_a_thread_that_was_cancelled_wakes(void **state)
{
	expect_woken(use_waker_cancelled);
}

static struct atomic_u32 alarm_done;

static void
alarm_uses_waker(void *waker)
{
	race_acquire(&rig); /* rte_eal_alarm_set() */
	weir_waker_wake(waker);
	rig_set(&alarm_done, 1);
}

static void
waker_in_eals_interrupt_thread_wakes(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *waker = rig_take_waker(&rig.waker);

	await_all_asleep();
	rig_set(&rig.go, 1);
	rig_set(&alarm_done, 0);
	race_release(&rig); /* to the thread of alarms */
	assert_int_equal(rte_eal_alarm_set(1, alarm_uses_waker, waker), 0);
	assert_int_equal(rig_join(join, NULL), 0);
	/* A waker keeps its runtime while it is used. */
	rig_wait_until(rig_get(&alarm_done));
}

/* Only another worker can run what it spawned, and that one sleeps. */
static void
spawn_by_a_task_wakes_another_worker(void **state)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		rig_set(&rig.log.polls, 0);
		await_all_asleep();
		assert_int_equal(
			rig_join(rig_spawn(rig.rt, &rig_spread_ops, &rig.told),
				 NULL),
			0);
		rig_wait_until(rig_get(&rig.log.polls) == 2);
	}
}

static void
thread_that_comes_back_wakes_the_driver(void **state)
{
	struct weir_join *join;
	struct rig_door d;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		join = rig_block_thread(rig.rt, 0, &d);
		await_all_asleep();
		rig_set(&d.open, 1);
		assert_int_equal(rig_join(join, NULL), 0);
	}
}

static void
shutdown_wakes(void **state)
{
	struct weir_runtime *rt = rig.rt;

	await_all_asleep();
	rig.rt = NULL;
	rig_runtime_free(rt);
}

static void
change_of_policy_wakes(void **state)
{
	const struct counters *c = &rig.rt->workers[0]->counters;
	uint64_t before;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		await_all_asleep();
		assert_int_equal(
			weir_worker_park_set(rig.rt, 0, WEIR_PARK_POLL), 0);
		before = counter_get(c, source_polls);
		rig_wait_until(counter_get(c, source_polls) > before + 100);
		assert_false(kernel_asleep(rig.rt, 0));
		assert_int_equal(
			weir_worker_park_set(rig.rt, 0, WEIR_PARK_INTERRUPT),
			0);
	}
}

/* Q7 */
static void
who_is_alone_says_that_it_sleeps_in_the_kernel_only(void **state)
{
	const struct idle *idle = &rig.rt->nodes[0]->idle;
	const struct worker *w = rig.rt->workers[0];
	unsigned int i;

	await_all_asleep();
	assert_int_equal(idle_sleeping(idle), 1);
	assert_int_equal(weir_worker_park_set(rig.rt, 0, WEIR_PARK_POLL), 0);
	for (i = 0; i < ROUNDS; i++) {
		assert_int_equal(
			rig_join(rig_spawn(rig.rt, &rig_done_ops, &rig.told),
				 NULL),
			0);
		rig_wait_until(worker_is_quiet(w));
		assert_true(idle_all_awake(idle));
	}
	assert_int_equal(weir_worker_park_set(rig.rt, 0, WEIR_PARK_INTERRUPT),
			 0);
	await_all_asleep();
	assert_false(worker_is_quiet(w));
	assert_int_equal(idle_sleeping(idle), 1);
}

static void
bad_worker_or_policy_is_refused(void **state)
{
	unsigned int n = weir_runtime_nb_workers(rig.rt);

	assert_int_equal(weir_worker_park_set(rig.rt, n, WEIR_PARK_POLL),
			 -EINVAL);
	assert_int_equal(
		weir_worker_park_set(rig.rt, 0, WEIR_PARK_ADAPTIVE + 1),
		-EINVAL);
	assert_int_equal(weir_worker_park_set(rig.rt, 0, (enum weir_park) - 1),
			 -EINVAL);
}

/*
 * A wake-up that comes when a worker has said that it sleeps and has not looked
 * yet, from someone who still saw it awake: so it calls nobody.
 */
static struct atomic_ptr unnoticed; /* the waker to use then */
/* Whose; not by way of rig.rt, which is cleared while this goes on. */
static struct weir_runtime *unnoticed_in;

static struct task *
take_unnoticed(void)
{
	struct task *t = atomic_ptr_exchange(&unnoticed, NULL, ACQ_REL);

	if (t != NULL)
		assert_int_equal(state_wake_by_value(&t->state),
				 STATE_WAKE_SCHEDULE);
	return t;
}

static void
push_to_node(void)
{
	struct task *t = take_unnoticed();

	if (t != NULL)
		assert_true(weir__inject_push(&unnoticed_in->nodes[0]->inject,
					      &t, 1));
}

static void
send_to_inbox(void)
{
	struct task *t = take_unnoticed();

	if (t != NULL)
		assert_true(
			weir__inbox_send(&unnoticed_in->workers[0]->inbox, t));
}

static void
expect_last_look_to_find(struct kernel_hook *push)
{
	struct weir_waker *waker;
	struct weir_join *join;

	rig_need_membarrier();
	join = rig_spawn_on(rig.rt, 0, &rig_wait_ops, &rig.told);
	waker = rig_take_waker(&rig.waker);
	unnoticed_in = rig.rt;
	rig_set(&rig.go, 1);
	atomic_ptr_store(&unnoticed, waker, RELEASE);
	atomic_ptr_store(&kernel.at_membarrier, push, RELEASE);
	/* Whether it slept by then or not, it comes to the moment now. */
	assert_int_equal(
		rig_join(rig_spawn_on(rig.rt, 0, &rig_done_ops, &rig.told),
			 NULL),
		0);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_null(atomic_ptr_load(&unnoticed, RELAXED));
}

static void
last_look_finds_outside_work(void **state)
{
	static struct kernel_hook push = { push_to_node };

	expect_last_look_to_find(&push);
}

static void
last_look_finds_work_for_this_worker(void **state)
{
	static struct kernel_hook push = { send_to_inbox };

	expect_last_look_to_find(&push);
}

/* The policy of worker 0, as one sets it that sees the worker awake. */
static struct atomic_u32 changed;

static void
change_policy_unnoticed(void)
{
	atomic_u32_store(&unnoticed_in->workers[0]->park, WEIR_PARK_POLL,
			 RELAXED);
	rig_set(&changed, 1);
}

static struct kernel_hook changing = { change_policy_unnoticed };

static void
last_look_finds_another_policy(void **state)
{
	const struct counters *c = &rig.rt->workers[0]->counters;
	uint64_t before;

	rig_need_membarrier();
	unnoticed_in = rig.rt;
	rig_set(&changed, 0);
	atomic_ptr_store(&kernel.at_membarrier, &changing, RELEASE);
	assert_int_equal(
		rig_join(rig_spawn_on(rig.rt, 0, &rig_done_ops, &rig.told),
			 NULL),
		0);
	rig_wait_until(rig_get(&changed));
	before = counter_get(c, source_polls);
	rig_wait_until(counter_get(c, source_polls) > before + 100);
}

/* Threads that give workers something to do, each time just so. */
struct storm {
	struct atomic_u32 next;
	uint64_t seed;
	struct weir_event *event;
	unsigned int rounds;
};

struct echo {
	struct weir_event *event;
	struct atomic_u32 *seen;
	uint32_t wanted;
};

static int
count_events(struct weir_context *ctx, void *state)
{
	struct echo *e = state;
	int n;

	while (rig_get(e->seen) < e->wanted) {
		n = weir_event_wait(ctx, e->event);
		if (n < 0)
			return n;
		rig_add(e->seen, (uint32_t)n);
	}
	return WEIR_DONE;
}

static const struct weir_task_ops echo_ops = {
	.name = "echo",
	.state_size = sizeof(struct echo),
	.poll = count_events,
};

static void
do_something(struct rand_state *r)
{
	uint32_t workers = weir_runtime_nb_workers(rig.rt);
	uint32_t worker = rand_below(r, workers);
	struct weir_join *join;

	switch (rand_below(r, 3)) {
	case 0:
		join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
		break;
	case 1:
		join = rig_spawn_on(rig.rt, worker, &rig_done_ops, &rig.told);
		break;
	default:
		assert_int_equal(
			weir_worker_park_set(rig.rt, worker,
					     rand_below(r, 4) == 0 ?
						     WEIR_PARK_ADAPTIVE :
						     WEIR_PARK_INTERRUPT),
			0);
		return;
	}
	assert_int_equal(rig_join(join, NULL), 0);
}

static void *
storm(void *arg)
{
	struct storm *s = arg;
	struct rand_state r;
	unsigned int i, pause;

	rand_seed(&r, s->seed + atomic_u32_fetch_add(&s->next, 1, RELAXED));
	for (i = 0; i < s->rounds; i++) {
		weir_event_post(s->event);
		do_something(&r);
		/* Long enough, at times, for workers to fall asleep. */
		for (pause = rand_below(&r, 4000); pause > 0; pause--)
			rte_pause();
	}
	return NULL;
}

#define STORMERS 3
#define STORM_ROUNDS 1000u

static void
storm_of_wakes_loses_none(void **state)
{
	unsigned int last = weir_runtime_nb_workers(rig.rt) - 1;
	struct storm s = { .rounds = STORM_ROUNDS };
	struct atomic_u32 seen = { 0 };
	struct weir_join *join;
	struct echo e;

	s.seed = unit_seed();
	s.event = weir_event_create(rig.rt, last);
	assert_non_null(s.event);
	e = (struct echo){ s.event, &seen, STORMERS * STORM_ROUNDS };
	join = weir_task_spawn(rig.rt, &echo_ops, &e, NULL);
	assert_non_null(join);
	rig_threads(STORMERS, storm, &s);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_get(&seen), STORMERS * STORM_ROUNDS);
	weir_event_free(s.event);
	print_message("# %u sleeps\n", rig_get(&kernel.sleeps));
	assert_int_not_equal(rig_get(&kernel.sleeps), 0);
}

static void
without_membarrier_all_sleeps_are_short(void **state)
{
	storm_of_wakes_loses_none(state);
	assert_int_equal(kernel_longest_ns(), 1000000);
}

static void
with_membarrier_they_are_long_and_pay_for_it(void **state)
{
	rig_need_membarrier();
	await_all_asleep();
	rig_wait_until(kernel_longest_ns() > 1000000);
	assert_uint_in_range(rig_get(&kernel.membarriers), 1, UINT32_MAX);
}

struct sleeper_task {
	struct weir_sleep sleep;
	uint64_t ns;
};

static int
sleep_poll(struct weir_context *ctx, void *state)
{
	struct sleeper_task *s = state;

	return weir_sleep(ctx, &s->sleep, s->ns);
}

static void
sleep_drop(void *state)
{
	struct sleeper_task *s = state;

	weir_sleep_cancel(&s->sleep);
}

/* What the wheel has to do first, which may be before its first timer is due. */
static uint64_t
ns_to_timer(void)
{
	const struct worker *w = rig.rt->workers[0];
	const struct clock *clock = &rig.rt->clock;

	return clock_ns(clock, atomic_u64_load(&w->timers.due, RELAXED) -
				       clock_now(clock));
}

/* Q4: with a clock that stands still. What is near is polled for. */
static void
sleep_ends_a_little_before_the_first_timer(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "sleeper",
		.state_size = sizeof(struct sleeper_task),
		.poll = sleep_poll,
		.drop = sleep_drop,
	};
	const uint64_t us[] = { 50, 150, 250, 400, 1000, 10000, 90000 };
	struct weir_join *join;
	uint64_t left, early;
	unsigned int i;

	rig_need_membarrier();
	assert_int_equal(weir_clock_pause(rig.rt), 0);
	for (i = 0; i < RTE_DIM(us); i++) {
		const struct sleeper_task s = { .ns = us[i] * 1000 };

		join = weir_task_spawn(rig.rt, &ops, &s, NULL);
		rig_wait_until(rig_timers(rig.rt) == 1);
		atomic_u64_store(&kernel.longest_ns, 0, RELAXED);
		/* It may be asleep by then, for good. */
		assert_int_equal(
			rig_join(rig_spawn(rig.rt, &rig_done_ops, &rig.told),
				 NULL),
			0);
		left = ns_to_timer();
		early = 100000 + left / 1000;
		print_message("# timer %" PRIu64 " us, %" PRIu64 " ns left\n",
			      us[i], left);
		if (left < 2 * early) {
			rig_await_looks(0, 100);
			assert_int_equal(kernel_longest_ns(), 0);
		} else {
			rig_wait_until(kernel_longest_ns() >= left - early - 1);
			assert_true(kernel_longest_ns() <= left - early);
		}
		weir_join_abort(join);
		assert_int_equal(rig_join(join, NULL), -ECANCELED);
		/* The wheel forgets that one. */
		assert_int_equal(weir_clock_advance(rig.rt, 1000000000), 0);
		rig_wait_until(ns_to_timer() > 1000000000);
	}
}

/* Worker 0 is stuck: the other one looks after its work and its sources. */
static void
sleepers_guard_a_busy_worker(void **state)
{
	struct weir_source_stats stats;
	struct rig_blockers blockers;
	struct atomic_u32 seen = { 0 };
	struct weir_event *event;
	struct weir_join *join;
	struct echo e;

	rig_set(&kernel.patient, 0);
	event = weir_event_create(rig.rt, 0);
	assert_non_null(event);
	e = (struct echo){ event, &seen, 1 };
	join = weir_task_spawn(rig.rt, &echo_ops, &e, NULL);
	rig_wait_until(rig_get(&weir_event_source(event)->armed));
	await_all_asleep();
	rig_block_some(&blockers, rig.rt, 1);
	weir_event_post(event);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_source_stats_get(weir_event_source(event), &stats);
	assert_int_equal(stats.rescues, 1);
	/* Those that began after worker 0 was stuck, but for the one before. */
	kernel_await_sleep();
	atomic_u64_store(&kernel.longest_ns, 0, RELAXED);
	kernel_await_sleep();
	kernel_await_sleep();
	assert_int_equal(kernel_longest_ns(), 1000000);
	rig_unblock(&blockers);
	weir_event_free(event);
}

/*
 * Woken by a claim, a worker runs a task before it polls. It must count as
 * stuck then, though it slept when it was last looked at.
 */
static void
worker_that_wakes_into_a_long_task_is_seen_to_be_stuck(void **state)
{
	struct rig_blockers blockers;
	struct rig_state s = { .log = &blockers.log, .go = &blockers.go };

	memset(&blockers, 0, sizeof(blockers));
	await_all_asleep();
	blockers.joins[blockers.n++] = rig_spawn(rig.rt, &rig_block_ops, &s);
	rig_wait_until(rig_get(&blockers.log.polls) == 1);
	assert_int_not_equal(
		atomic_u64_load(&rig.rt->workers[0]->sources.last_poll,
				RELAXED),
		0);
	rig_unblock(&blockers);
}

static void
without_phases_adaptive_sleeps_at_once(void **state)
{
	rig.rt = kernel_runtime(1, WEIR_PARK_ADAPTIVE);
	rig_wait_until(rig_get(&kernel.sleeps) > 0);
	assert_int_equal(rig_get(&kernel.pauses), 0);
}

/* A task that takes long, behind many that do not, which has the clock read seldom. */
static int
long_poll(struct weir_context *ctx, void *state)
{
	uint64_t *const *ended = state;
	uint64_t begun = rte_rdtsc();

	do
		**ended = rte_rdtsc();
	while (**ended - begun < rte_get_tsc_hz() / 2000);
	return WEIR_DONE;
}

static int
short_poll(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

static int
crowd_poll(struct weir_context *ctx, void *state)
{
	static const struct weir_task_ops short_ops = { .name = "short",
							.poll = short_poll };
	static const struct weir_task_ops long_ops = {
		.name = "long",
		.state_size = sizeof(uint64_t *),
		.poll = long_poll,
	};
	unsigned int i;

	for (i = 0; i < 200; i++)
		weir_task_spawn_detached(rig.rt, &short_ops, NULL, NULL);
	if (*(uint64_t **)state == NULL)
		return WEIR_DONE;
	weir_task_spawn_detached(rig.rt, &long_ops, state, NULL);
	/* Out of the slot, so it comes last. */
	weir_task_spawn_detached(rig.rt, &short_ops, NULL, NULL);
	return WEIR_DONE;
}

static int
idle_poll(struct weir_context *ctx, void *state)
{
	uint64_t **ended = state;

	assert_true(weir__core->idle_since >= **ended);
	return WEIR_DONE;
}

static void
run_crowd(uint64_t *ended)
{
	const struct weir_task_ops ops = {
		.name = "crowd",
		.state_size = sizeof(ended),
		.poll = crowd_poll,
	};

	assert_int_equal(
		rig_join(weir_task_spawn(rig.rt, &ops, &ended, NULL), NULL), 0);
	rig_wait_until(rig_stats(rig.rt).live_tasks == 0);
	await_all_asleep();
}

/* Q3 */
static void
idleness_counts_from_the_last_task(void **state)
{
	const struct weir_task_ops idle_ops = {
		.name = "idle",
		.state_size = sizeof(uint64_t *),
		.poll = idle_poll,
	};
	uint64_t at = 0, *ended = &at;
	unsigned int i;

	for (i = 1; i <= 200; i++) {
		run_crowd(i % 20 == 0 ? ended : NULL);
		if (i % 20 != 0)
			continue;
		assert_int_equal(rig_join(weir_task_spawn(rig.rt, &idle_ops,
							  &ended, NULL),
					  NULL),
				 0);
	}
}

static void
adaptive_pauses_before_it_sleeps(void **state)
{
	struct weir_options o;

	rig_options(&o, 1);
	o.park = WEIR_PARK_ADAPTIVE;
	o.adaptive_poll_us = 0;
	/* The most: it passes by one that is not let run for so long. */
	o.adaptive_pause_us = 1000000;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	rig_wait_until(rig_get(&kernel.sleeps) > 0);
	assert_uint_in_range(rig_get(&kernel.pauses), 1, UINT32_MAX);
}

static void
pause_rests_the_cpu_for_a_bounded_time(void **state)
{
	struct atomic_u32 seen = { 0 };
	struct weir_event *event;
	struct weir_join *join;
	struct echo e;

	rig.rt = kernel_runtime(1, WEIR_PARK_PAUSE);
	event = weir_event_create(rig.rt, 0);
	e = (struct echo){ event, &seen, 1 };
	join = weir_task_spawn(rig.rt, &echo_ops, &e, NULL);
	rig_wait_until(rig_get(&kernel.pauses) > 100);
	weir_event_post(event);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_event_free(event);
	assert_uint_in_range(atomic_u64_load(&kernel.longest_pause, RELAXED), 0,
			     rig.rt->max_poll_gap);
	assert_int_equal(rig_get(&kernel.sleeps), 0);
}

static void
pause_without_the_instruction_polls_on(void **state)
{
	const struct counters *c = &rig.rt->workers[0]->counters;
	uint64_t before;

	assert_int_equal(weir_worker_park_set(rig.rt, 0, WEIR_PARK_PAUSE), 0);
	before = counter_get(c, source_polls);
	rig_wait_until(counter_get(c, source_polls) > before + 100);
	assert_int_equal(rig_get(&kernel.pauses), 0);
}

static void
who_rescues_a_task_runs_it_without_a_pause(void **state)
{
	struct atomic_u32 seen = { 0 };
	struct rig_blockers blockers;
	struct weir_event *event;
	struct weir_join *join;
	struct echo e;

	rig.rt = kernel_runtime(2, WEIR_PARK_PAUSE);
	rig_wait_until(rig_get(&kernel.pauses) > 0);
	event = weir_event_create(rig.rt, 0);
	assert_non_null(event);
	e = (struct echo){ event, &seen, 1 };
	join = weir_task_spawn(rig.rt, &echo_ops, &e, NULL);
	rig_wait_until(rig_get(&weir_event_source(event)->armed));
	rig_block_some(&blockers, rig.rt, 1);
	weir_event_post(event);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_get(&kernel.busy_pauses), 0);
	rig_unblock(&blockers);
	weir_event_free(event);
}

/* Three workers need two each, and there are so many. */
static void
expect_no_runtime(const struct weir_options *o, int fds)
{
	const int error = kernel.table_full ? ENFILE : EMFILE;
	const unsigned int before = rig_open_fds();
	char log[256], line[256];

	kernel.fds = fds;
	rte_errno = 0;
	assert_null(rig_runtime_logged(o, log, sizeof(log)));
	assert_int_equal(rte_errno, error);
	snprintf(line, sizeof(line),
		 "weir: no file descriptors for 3 workers, two each (%s)\n",
		 strerror(error));
	assert_string_equal(log, line);
	assert_int_equal(rig_open_fds(), before);
	assert_false(rig_runtime_exists(o->name));
}

static void
runtime_without_fds_is_refused_and_leaves_none(void **state)
{
	struct weir_runtime *rt;
	struct weir_options o;
	unsigned int before;
	char log[256];
	int fds;

	rig_options(&o, 3);
	before = rig_open_fds();
	for (fds = 0; fds < 6; fds++) {
		kernel.table_full = false;
		expect_no_runtime(&o, fds);
		kernel.table_full = true;
		expect_no_runtime(&o, fds);
	}
	kernel.fds = 6;
	kernel.no_watches = true;
	assert_null(rig_runtime_logged(&o, log, sizeof(log)));
	assert_int_equal(rte_errno, ENOSPC);
	assert_non_null(strstr(log, "or the user no epoll watches"));
	assert_int_equal(rig_open_fds(), before);
	kernel.no_watches = false;
	kernel.fds = 6;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	assert_int_equal(rig_open_fds(), before + 6);
	rig_runtime_free(rt);
	assert_int_equal(rig_open_fds(), before);
}

/* The current-thread runtime: whoever blocks sleeps. */
static int
make_current(void **state, bool histograms)
{
	struct weir_options o;

	begin(state);
	rig_options(&o, 0);
	o.current_thread = true;
	o.histograms = histograms;
	o.park = WEIR_PARK_INTERRUPT;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	return 0;
}

static int
setup_current(void **state)
{
	return make_current(state, false);
}

static void *
block_on_wait(void *arg)
{
	struct atomic_u32 *rc = arg;

	rig_set(rc, (uint32_t)weir_runtime_block_on(rig.rt, &rig_wait_ops,
						    &rig.told, NULL));
	return NULL;
}

static pthread_t
start_driver_awake(struct atomic_u32 *rc)
{
	pthread_t driver;

	rig_set(rc, 1);
	assert_int_equal(pthread_create(&driver, NULL, block_on_wait, rc), 0);
	rig_wait_until(atomic_ptr_load(&rig.waker, ACQUIRE) != NULL);
	return driver;
}

static pthread_t
start_driver(struct atomic_u32 *rc)
{
	pthread_t driver = start_driver_awake(rc);

	await_all_asleep();
	return driver;
}

static void
driver_that_sleeps_is_woken_by_a_waker(void **state)
{
	struct atomic_u32 rc;
	pthread_t driver = start_driver(&rc);

	rig_set(&rig.go, 1);
	weir_waker_wake(rig_take_waker(&rig.waker));
	rig_wait_until(rig_get(&rc) == 0);
	pthread_join(driver, NULL);
}

/* Its task is run by the one that sleeps. */
static void
driver_that_sleeps_serves_others_that_block(void **state)
{
	struct atomic_u32 rc;
	pthread_t driver = start_driver(&rc);
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		await_all_asleep();
		assert_int_equal(weir_runtime_block_on(rig.rt, &rig_done_ops,
						       &rig.told, NULL),
				 0);
	}
	rig_set(&rig.go, 1);
	weir_waker_wake(rig_take_waker(&rig.waker));
	rig_wait_until(rig_get(&rc) == 0);
	pthread_join(driver, NULL);
}

static void
driver_that_sleeps_is_woken_by_shutdown(void **state)
{
	struct weir_runtime *rt = rig.rt;
	struct atomic_u32 rc;
	pthread_t driver = start_driver(&rc);

	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, NULL), 0);
	rig_wait_until(rig_get(&rc) == (uint32_t)-ECANCELED);
	pthread_join(driver, NULL);
	weir_waker_drop(rig_take_waker(&rig.waker));
}

/* Every wait is short. */
static int
setup_short_waits(void **state)
{
	setup_current(state);
	rig.rt->linger = UINT64_MAX;
	rig.rt->linger_polled = UINT64_MAX;
	return 0;
}

/* And so were all before. */
static void
linger(unsigned int worker)
{
	rig.rt->linger = UINT64_MAX;
	rig.rt->linger_polled = UINT64_MAX;
	rig.rt->workers[worker]->core.short_waits = UINT32_MAX / 2;
}

static int
setup_lingering(void **state)
{
	make_current(state, false);
	linger(0);
	return 0;
}

/* Short are those waits only that a poll ends. */
static int
setup_polled_lingering(void **state)
{
	setup_lingering(state);
	rig.rt->linger = 0;
	return 0;
}

static int
setup_timed_lingering(void **state)
{
	make_current(state, true);
	linger(0);
	return 0;
}

/*
 * Lets the driver's task end: how often its worker has parked, but for when a wake-up came
 * late, for what it had found already.
 */
static uint64_t
parks_at_end(pthread_t driver, struct weir_waker *w, struct atomic_u32 *rc)
{
	struct weir_worker_stats stats;

	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	rig_wait_until(rig_get(rc) == 0);
	pthread_join(driver, NULL);
	assert_int_equal(weir_worker_stats_get(rig.rt, 0, &stats), 0);
	return stats.parks - stats.noop_wakes;
}

/* Each time both somebody's to take and its own. */
static void
driver_that_lingers_finds_what_comes_and_does_not_park(void **state)
{
	struct atomic_u32 rc;
	pthread_t driver = start_driver_awake(&rc);
	struct weir_waker *w;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		weir_waker_wake(rig_take_waker(&rig.waker));
		assert_int_equal(rig_join(rig_spawn_on(rig.rt, 0, &rig_done_ops,
						       &rig.told),
					  NULL),
				 0);
	}
	w = rig_take_waker(&rig.waker);
	assert_int_equal(parks_at_end(driver, w, &rc), 0);
}

static void
driver_lingers_after_two_short_waits(void **state)
{
	struct atomic_u32 rc;
	pthread_t driver = start_driver(&rc);
	struct weir_waker *w;
	unsigned int i;

	weir_waker_wake(rig_take_waker(&rig.waker));
	w = rig_take_waker(&rig.waker);
	await_all_asleep();
	for (i = 0; i < ROUNDS; i++) {
		weir_waker_wake(w);
		w = rig_take_waker(&rig.waker);
	}
	assert_int_equal(parks_at_end(driver, w, &rc), 2);
}

static uint64_t
parks_of_driver(void)
{
	return counter_get(&rig.rt->workers[0]->counters, parks);
}

/* Its task waits, to be woken by *w. */
static pthread_t
start_polling_driver(struct atomic_u32 *rc, struct weir_waker **w)
{
	pthread_t driver;

	assert_int_equal(weir_worker_park_set(rig.rt, 0, WEIR_PARK_POLL), 0);
	driver = start_driver_awake(rc);
	*w = rig_take_waker(&rig.waker);
	return driver;
}

static void
end_wait_by_inbox(void)
{
	struct weir_join *join =
		rig_spawn_on(rig.rt, 0, &rig_done_ops, &rig.told);

	assert_int_equal(rig_join(join, NULL), 0);
}

static void
end_wait_by_inject_queue(void)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);

	assert_int_equal(rig_join(join, NULL), 0);
}

/* How often it has parked behind many such waits. */
static uint64_t
parks_behind_waits(void)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		end_wait_by_inbox();
		end_wait_by_inject_queue();
	}
	return parks_of_driver();
}

static void
driver_that_polls_lingers_longer_for_that(void **state)
{
	struct atomic_u32 rc;
	struct weir_waker *w;
	pthread_t driver = start_polling_driver(&rc, &w);
	uint64_t parks = parks_behind_waits();

	parks_at_end(driver, w, &rc);
	assert_int_equal(parks, 0);
}

static void
driver_that_polls_lingers_after_two_such_waits(void **state)
{
	struct atomic_u32 rc;
	struct weir_waker *w;
	pthread_t driver;
	uint64_t parks;

	rig.rt->workers[0]->core.short_waits = 0;
	driver = start_polling_driver(&rc, &w);
	rig_wait_until(parks_of_driver() == 1);
	end_wait_by_inbox();
	rig_wait_until(parks_of_driver() == 2);
	end_wait_by_inject_queue();
	parks = parks_behind_waits();
	parks_at_end(driver, w, &rc);
	assert_int_equal(parks, 2);
}

static void
driver_that_need_not_poll_lingers_no_longer(void **state)
{
	struct atomic_u32 rc;
	pthread_t driver = start_driver_awake(&rc);
	struct weir_waker *w = rig_take_waker(&rig.waker);

	rig_wait_until(parks_of_driver() > 0);
	parks_at_end(driver, w, &rc);
}

static void
driver_that_lingers_is_stopped_by_shutdown(void **state)
{
	struct atomic_u32 rc;
	pthread_t driver = start_driver_awake(&rc);

	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	rig_wait_until(rig_get(&rc) == (uint32_t)-ECANCELED);
	pthread_join(driver, NULL);
	weir_waker_drop(rig_take_waker(&rig.waker));
}

static bool
is_watched(const struct weir_join *join)
{
	return state_is_watched(&((const struct task *)join)->state);
}

/* Waits until it is watched; wakes it, and lets it wait again. */
static void
wake_watched(struct weir_join *join, struct atomic_ptr *waker, bool by_ref)
{
	struct weir_waker *w = rig_take_waker(waker);

	rig_wait_until(is_watched(join));
	if (by_ref)
		weir_waker_wake_by_ref(w);
	else
		weir_waker_wake(w);
	rig_wait_until(atomic_ptr_load(waker, ACQUIRE) != NULL);
	if (by_ref)
		weir_waker_drop(w);
}

/* Nothing is sent for that. */
static void
driver_that_lingers_watches_what_is_bound_to_it(void **state)
{
	struct atomic_ptr waker = { NULL };
	const struct rig_state s = { &rig.log, &rig.go, &waker, 0, 0 };
	struct atomic_u32 rc;
	pthread_t driver = start_driver_awake(&rc);
	struct weir_join *join = rig_spawn_on(rig.rt, 0, &rig_wait_ops, &s);
	struct weir_waker *w = rig_take_waker(&rig.waker);
	uint64_t before;
	unsigned int i;

	rig_wait_until(is_watched(join));
	before = rig_stats(rig.rt).remote_schedules;
	for (i = 0; i < ROUNDS; i++)
		wake_watched(join, &waker, i % 2 == 0);
	rig_wait_until(is_watched(join));
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_waker_drop(rig_take_waker(&waker));
	assert_int_equal(rig_stats(rig.rt).remote_schedules, before);
	assert_int_equal(parks_at_end(driver, w, &rc), 0);
	assert_int_equal(rig_get(&rig.log.polls), ROUNDS + 1 + 2);
}

static void
driver_that_watches_is_stopped_by_shutdown(void **state)
{
	struct atomic_ptr waker = { NULL };
	const struct rig_state s = { &rig.log, &rig.go, &waker, 0, 0 };
	struct atomic_u32 rc;
	pthread_t driver = start_driver_awake(&rc);
	struct weir_join *join = rig_spawn_on(rig.rt, 0, &rig_wait_ops, &s);

	rig_wait_until(is_watched(join));
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	rig_wait_until(rig_get(&rc) == (uint32_t)-ECANCELED);
	pthread_join(driver, NULL);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_waker_drop(rig_take_waker(&waker));
	weir_waker_drop(rig_take_waker(&rig.waker));
}

/* Waits until it waits: from then on to wake it is to send it. */
static void
await_idle(const struct weir_join *join)
{
	const struct task *t = (const struct task *)join;

	rig_wait_until(
		!(state_load(&t->state) & (STATE_RUNNING | STATE_NOTIFIED)));
}

/* Its cell may be gone when it is looked at. */
static void
driver_watches_no_task_of_the_heap(void **state)
{
	struct {
		struct rig_state s;
		uint8_t more[CELL_STATE_MAX];
	} large = { .s = { .log = &rig.log, .go = &rig.go } };
	struct weir_task_ops ops = rig_wait_ops;
	struct atomic_ptr waker = { NULL };
	struct atomic_u32 rc;
	pthread_t driver = start_driver_awake(&rc);
	struct weir_waker *w = rig_take_waker(&rig.waker), *own;
	struct weir_join *join;
	uint64_t before;
	unsigned int i;

	large.s.waker = &waker;
	ops.state_size = sizeof(large);
	join = rig_spawn_on(rig.rt, 0, &ops, &large.s);
	before = rig_stats(rig.rt).remote_schedules;
	for (i = 0; i < ROUNDS; i++) {
		own = rig_take_waker(&waker);
		await_idle(join);
		weir_waker_wake(own);
	}
	rig_wait_until(atomic_ptr_load(&waker, ACQUIRE) != NULL);
	assert_int_equal(rig_stats(rig.rt).remote_schedules, before + ROUNDS);
	rig_set(&rig.go, 1);
	weir_waker_wake(rig_take_waker(&waker));
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(parks_at_end(driver, w, &rc), 0);
}

/* Waits for a source that never has anything, so that it is polled. */
static int
wait_in_vain(struct weir_context *ctx, void *state)
{
	void *source = *(void **)state;
	int rc = weir_source_wait_begin(ctx, source);

	if (rc != 0)
		return rc < 0 ? rc : weir_source_wait_fail(source);
	return weir_source_wait_arm(ctx, source);
}

static struct weir_join *
keep_polled(void *source)
{
	static const struct weir_task_ops ops = {
		.name = "wait_in_vain",
		.state_size = sizeof(source),
		.poll = wait_in_vain,
	};
	struct weir_join *join = weir_task_spawn(rig.rt, &ops, &source, NULL);

	assert_non_null(join);
	rig_wait_until(source_is_armed(source_of(source)));
	return join;
}

static void
let_be(void *source, struct weir_join *polled)
{
	weir_join_abort(polled);
	assert_int_equal(rig_join(polled, NULL), -ECANCELED);
	weir_source_free(source);
}

/* A source whose poll, once it is told so, wakes a task and then takes long. */
struct slow {
	struct weir_waker *waker;
	struct atomic_u32 told;
};

static uint64_t
slow_cycles(void)
{
	return rte_get_tsc_hz() / 100;
}

static uint64_t
ns_of(uint64_t cycles)
{
	return cycles * 1000000 / (rte_get_tsc_hz() / 1000);
}

static int
slow_poll(void *priv)
{
	struct slow *s = priv;
	uint64_t since = rte_rdtsc();

	if (!rig_get(&s->told))
		return 0;
	rig_set(&s->told, 0);
	weir_waker_wake(s->waker);
	while (rte_rdtsc() - since < slow_cycles())
		rte_pause();
	return 0;
}

/* It is found behind the poll in which it was woken: what it waited for is no less. */
static void
watched_task_has_waited_since_it_was_woken(void **state)
{
	static const struct weir_source_ops slow_ops = {
		.name = "slow",
		.poll = slow_poll,
	};
	struct slow *slow =
		weir_source_create(rig.rt, &slow_ops, 0, sizeof(*slow));
	const uint64_t long_ns = ns_of(slow_cycles()) - 10;
	struct weir_worker_stats stats;
	struct weir_join *polled, *join;
	struct atomic_ptr waker = { NULL };
	const struct rig_state s = { &rig.log, &rig.go, &waker, 0, 0 };
	struct weir_histogram wakes;
	struct atomic_u32 rc;
	pthread_t driver;
	uint64_t begin = rte_rdtsc(), took;

	assert_non_null(slow);
	driver = start_driver_awake(&rc);
	polled = keep_polled(slow);
	join = rig_spawn_on(rig.rt, 0, &rig_wait_ops, &s);
	slow->waker = rig_take_waker(&waker);
	rig_wait_until(is_watched(join));
	rig_set(&slow->told, 1);
	rig_wait_until(atomic_ptr_load(&waker, ACQUIRE) != NULL);
	let_be(slow, polled);
	rig_set(&rig.go, 1);
	weir_waker_wake(rig_take_waker(&waker));
	assert_int_equal(rig_join(join, NULL), 0);
	weir_waker_wake(rig_take_waker(&rig.waker));
	pthread_join(driver, NULL);
	took = rte_rdtsc() - begin;
	assert_int_equal(rig_get(&rc), 0);
	assert_int_equal(weir_worker_stats_get(rig.rt, 0, &stats), 0);
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_WAKE, &wakes),
		0);
	assert_true(weir_histogram_percentile(&wakes, 100) >= long_ns);
	/* That poll is counted, and once. */
	assert_uint_in_range(stats.busy_ns, long_ns, ns_of(took) + 10);
}

/* A source with each other poll of which a task is woken: no wait is long. */
struct restless {
	struct atomic_ptr waker; /* the task's, while it waits */
	unsigned int polls;
};

static int
restless_poll(void *priv)
{
	struct restless *r = priv;
	struct weir_waker *w;

	if (++r->polls % 2 == 0)
		return 0;
	w = atomic_ptr_exchange(&r->waker, NULL, ACQ_REL);
	if (w != NULL)
		weir_waker_wake(w);
	return 0;
}

#define QUEUED 20

/* Fills its worker's queue, and keeps the worker until others have run all that. */
static int
spawn_and_block(struct weir_context *ctx, void *state)
{
	struct rig_log *log = *(struct rig_log **)state;
	const struct rig_state done = { .log = log, .go = &rig.go };
	uint64_t since = rte_rdtsc();
	unsigned int i;

	for (i = 0; i < QUEUED; i++)
		weir_join_detach(weir_task_spawn(weir_context_runtime(ctx),
						 &rig_done_ops, &done, NULL));
	while (rig_get(&log->polls) < QUEUED) {
		if (rte_rdtsc() - since > 30 * rte_get_tsc_hz())
			return -ETIMEDOUT;
		sched_yield();
	}
	return WEIR_DONE;
}

static const struct weir_task_ops stuck_ops = {
	.name = "spawn_and_block",
	.state_size = sizeof(struct rig_log *),
	.poll = spawn_and_block,
};

/* It finds something of its own each time, at once, and searches all the same. */
static void
worker_whose_waits_are_short_takes_from_one_that_is_stuck(void **state)
{
	static const struct weir_source_ops restless_ops = {
		.name = "restless",
		.flags = WEIR_SOURCE_NOTIFIES,
		.poll = restless_poll,
	};
	const struct weir_spawn_attr there = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct restless *r =
		weir_source_create(rig.rt, &restless_ops, 1, sizeof(*r));
	struct rig_log queued = { .polls = { 0 } }, *log = &queued;
	struct weir_join *polled, *join, *stuck;
	struct rig_blockers blockers;
	int rc;

	assert_non_null(r);
	/* Nobody looks at these meanwhile. */
	rig_block(&blockers, rig.rt);
	linger(1);
	rig_unblock(&blockers);
	polled = keep_polled(r);
	rig.told.waker = &r->waker;
	join = rig_spawn_on(rig.rt, 1, &rig_wait_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) > 1000);
	stuck = weir_task_spawn(rig.rt, &stuck_ops, &log, &there);
	rc = rig_join(stuck, NULL);
	/* The log is ours. */
	rig_wait_until(rc != 0 || rig_get(&queued.drops) == QUEUED);
	rig_set(&rig.go, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	let_be(r, polled);
	assert_int_equal(rc, 0);
}

static uint64_t
rescues_of(struct weir_event *event)
{
	struct weir_source_stats stats;

	weir_source_stats_get(weir_event_source(event), &stats);
	return stats.rescues;
}

/* Worker 1 lingers without end from its next wait on. */
static void
have_worker_1_linger(void)
{
	struct rig_blockers blockers;

	assert_int_equal(weir_worker_park_set(rig.rt, 1, WEIR_PARK_POLL), 0);
	/* Nobody looks at these meanwhile. */
	rig_block(&blockers, rig.rt);
	linger(1);
	rig.rt->linger = 0;
	rig.rt->workers[1]->core.search_after = UINT64_MAX;
	rig_unblock(&blockers);
}

/* Q8: it has nothing of its own, and takes nothing from that one either. */
static void
worker_that_lingers_guards_one_that_is_stuck(void **state)
{
	const struct weir_spawn_attr there = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct rig_blockers blockers;
	struct atomic_u32 seen = { 0 };
	struct weir_event *event;
	struct weir_join *join;
	struct echo e;

	have_worker_1_linger();
	event = weir_event_create(rig.rt, 0);
	assert_non_null(event);
	e = (struct echo){ event, &seen, 1 };
	join = weir_task_spawn(rig.rt, &echo_ops, &e, &there);
	rig_wait_until(rig_get(&weir_event_source(event)->armed));
	rig_block_some(&blockers, rig.rt, 1);
	weir_event_post(event);
	rig_wait_until(rescues_of(event) == 1);
	rig_unblock(&blockers);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_event_free(event);
}

/* The next time it is to be told. */
static void
worker_that_lingers_parks_behind_what_it_has_stolen(void **state)
{
	const struct counters *c = &rig.rt->workers[1]->counters;
	const struct weir_spawn_attr there = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct rig_log queued = { .polls = { 0 } }, *log = &queued;
	struct weir_join *stuck;
	uint64_t before;

	have_worker_1_linger();
	before = counter_get(c, parks);
	stuck = weir_task_spawn(rig.rt, &stuck_ops, &log, &there);
	assert_int_equal(rig_join(stuck, NULL), 0);
	/* The log is ours. */
	rig_wait_until(rig_get(&queued.drops) == QUEUED);
	rig_wait_until(counter_get(c, parks) > before);
}

/* A source that, from some time on, is ready once for worker 1, which it holds up. */
struct held_up {
	struct atomic_u32 on;
	struct atomic_u32 asked;
	struct atomic_u32 go_on;
};

static int
held_up_poll(void *priv)
{
	struct held_up *h = priv;

	if (!rig_get(&h->on) || weir_worker_current() != 1 ||
	    rig_get(&h->asked))
		return 0;
	rig_set(&h->asked, 1);
	rig_wait_until(rig_get(&h->go_on));
	return 1;
}

static int
look_into_slot(struct weir_context *ctx, void *state)
{
	rig_set(*(struct atomic_u32 **)state,
		slot_peek_owner(&ctx->core->lifo) != NULL);
	return WEIR_DONE;
}

/* Where it is, nobody else would find it while that from outside takes long. */
static void
who_is_woken_for_one_that_is_stuck_comes_before_what_is_sent(void **state)
{
	static const struct weir_source_ops held_up_ops = {
		.name = "held up",
		.flags = WEIR_SOURCE_ANY_THREAD,
		.poll = held_up_poll,
	};
	static const struct weir_task_ops look_ops = {
		.name = "look",
		.state_size = sizeof(struct atomic_u32 *),
		.poll = look_into_slot,
	};
	struct held_up *h =
		weir_source_create(rig.rt, &held_up_ops, 0, sizeof(*h));
	struct atomic_u32 waits = { 2 }, *told = &waits;
	struct rig_blockers blockers;
	struct weir_join *polled, *join;
	int rc;

	assert_non_null(h);
	polled = keep_polled(h);
	have_worker_1_linger();
	rig_block_some(&blockers, rig.rt, 1);
	rig_set(&h->on, 1);
	rig_wait_until(rig_get(&h->asked));
	join = weir_task_spawn(rig.rt, &look_ops, &told, NULL);
	rig_set(&h->go_on, 1);
	rc = rig_join(join, NULL);
	rig_unblock(&blockers);
	let_be(h, polled);
	assert_int_equal(rc, 0);
	assert_int_equal(rig_get(&waits), 0);
}

#define TEST_IN(name, setup, workers) UNIT_TEST(name, setup, teardown, workers)
#define TEST(name, workers) TEST_IN(name, setup, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2), TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(spawn_from_a_plain_thread_wakes),
		TESTS(task_for_one_worker_wakes_that_worker),
		TESTS(waker_in_a_plain_thread_wakes),
		TESTS(waker_in_a_thread_that_was_cancelled_wakes),
		TESTS(waker_in_eals_interrupt_thread_wakes),
		TEST(spawn_by_a_task_wakes_another_worker, 2),
		TEST(spawn_by_a_task_wakes_another_worker, 3),
		TESTS(thread_that_comes_back_wakes_the_driver),
		TESTS(shutdown_wakes),
		TESTS(change_of_policy_wakes),
		TEST(who_is_alone_says_that_it_sleeps_in_the_kernel_only, 1),
		TEST(bad_worker_or_policy_is_refused, 2),
		TEST(last_look_finds_outside_work, 1),
		TEST(last_look_finds_work_for_this_worker, 1),
		TEST(last_look_finds_another_policy, 1),
		TESTS(storm_of_wakes_loses_none),
		TEST_IN(without_membarrier_all_sleeps_are_short,
			setup_without_membarrier, 2),
		TEST_IN(without_membarrier_all_sleeps_are_short,
			setup_refused_barriers, 2),
		TEST(with_membarrier_they_are_long_and_pay_for_it, 2),
		TEST(sleep_ends_a_little_before_the_first_timer, 1),
		TEST(sleepers_guard_a_busy_worker, 2),
		TEST(worker_that_wakes_into_a_long_task_is_seen_to_be_stuck, 1),
		TEST(idleness_counts_from_the_last_task, 1),
		TEST_IN(without_phases_adaptive_sleeps_at_once,
			begin_with_power_pause, 1),
		TEST_IN(adaptive_pauses_before_it_sleeps,
			begin_with_power_pause, 1),
		TEST_IN(pause_rests_the_cpu_for_a_bounded_time,
			begin_with_power_pause, 1),
		TEST(pause_without_the_instruction_polls_on, 1),
		TEST_IN(who_rescues_a_task_runs_it_without_a_pause,
			begin_with_power_pause, 2),
		TEST_IN(runtime_without_fds_is_refused_and_leaves_none, begin,
			3),
		TEST_IN(driver_that_sleeps_is_woken_by_a_waker, setup_current,
			0),
		TEST_IN(driver_that_sleeps_serves_others_that_block,
			setup_current, 0),
		TEST_IN(driver_that_sleeps_is_woken_by_shutdown, setup_current,
			0),
		TEST_IN(driver_that_lingers_finds_what_comes_and_does_not_park,
			setup_lingering, 0),
		TEST_IN(driver_lingers_after_two_short_waits, setup_short_waits,
			0),
		TEST_IN(driver_that_polls_lingers_longer_for_that,
			setup_polled_lingering, 0),
		TEST_IN(driver_that_polls_lingers_after_two_such_waits,
			setup_polled_lingering, 0),
		TEST_IN(driver_that_need_not_poll_lingers_no_longer,
			setup_polled_lingering, 0),
		TEST_IN(driver_that_lingers_is_stopped_by_shutdown,
			setup_lingering, 0),
		TEST_IN(driver_that_lingers_watches_what_is_bound_to_it,
			setup_lingering, 0),
		TEST_IN(driver_that_watches_is_stopped_by_shutdown,
			setup_lingering, 0),
		TEST_IN(driver_watches_no_task_of_the_heap, setup_lingering, 0),
		TEST_IN(watched_task_has_waited_since_it_was_woken,
			setup_timed_lingering, 0),
		TEST(worker_whose_waits_are_short_takes_from_one_that_is_stuck,
		     2),
		TEST(worker_that_lingers_guards_one_that_is_stuck, 2),
		TEST(worker_that_lingers_parks_behind_what_it_has_stolen, 2),
		TEST(who_is_woken_for_one_that_is_stuck_comes_before_what_is_sent,
		     2),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
