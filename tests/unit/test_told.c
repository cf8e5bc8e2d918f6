/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whether others are told of what a worker has and does not run: schedule.c, H3, for
 * what comes into its queue between two tasks. This program stands in front of the
 * telling, and each poll looks whether that came behind all that is queued.
 */

#include "unit.h"

#include <errno.h>
#include <pthread.h>

#include <rte_cycles.h>

#include "rig.h"
#include "sched/scheduler.h"
#include "weir_null.h"

#define POLLS 200u
/* So long that time is no reason for a round over the sources. */
#define LONG_GAP_US 1000000

static struct weir_runtime *rt;
/* The worker's. */
static uint32_t told; /* where its queue ended when others were told last */
static unsigned int beside, untold; /* polls with others queued; not told of */
static unsigned int in_vain;	    /* tellings of an empty queue */

void
__real_weir__notify(struct node *node, const struct run_queue *queue);
void
__wrap_weir__notify(struct node *node, const struct run_queue *queue);

void
__wrap_weir__notify(struct node *node, const struct run_queue *queue)
{
	if (weir__core != NULL) {
		told = run_queue_tail_owner(&worker_of(weir__core)->queue);
		if (run_queue_len_owner(&worker_of(weir__core)->queue) == 0)
			in_vain++;
	}
	__real_weir__notify(node, queue);
}

/* Nobody else can have what is in the slot. */
static void
look_at_queue(void)
{
	const struct run_queue *q = &worker_of(weir__core)->queue;
	bool slot = weir__core->lifo != NULL;

	if (run_queue_len_owner(q) == 0 && !slot)
		return;
	beside++;
	if (told != run_queue_tail_owner(q) || slot)
		untold++;
}

static void
start(unsigned int event_interval, unsigned int inject_interval)
{
	struct weir_options o;

	rig_options(&o, 1);
	o.max_poll_gap_us = LONG_GAP_US;
	o.event_interval = event_interval;
	o.inject_interval = inject_interval;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	beside = 0;
	untold = 0;
	in_vain = 0;
}

static void
end(void)
{
	rig_runtime_free(rt);
	assert_true(beside > 0);
	assert_int_equal(untold, 0);
}

/* Of each task: so many polls, and what for. */
struct looker {
	unsigned int polls;
	struct weir_sleep sleep;
	uint64_t until;
};

/* In the order of spawn, from one moment on. */
static void
run(const struct weir_task_ops *const *ops, unsigned int n)
{
	const struct looker state = { .polls = POLLS };
	struct weir_join *joins[4];
	struct rig_blockers b;
	unsigned int i;

	rig_block(&b, rt);
	for (i = 0; i < n; i++) {
		joins[i] = weir_task_spawn(rt, ops[i], &state, NULL);
		assert_non_null(joins[i]);
	}
	rig_unblock(&b);
	for (i = 0; i < n; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
}

static int
look_once(struct weir_context *ctx, void *state)
{
	look_at_queue();
	return WEIR_DONE;
}

static const struct weir_task_ops once_ops = {
	.name = "once",
	.poll = look_once,
};

static int
yield_beside_bound(struct weir_context *ctx, void *state)
{
	const struct weir_spawn_attr attr = { .affinity =
						      WEIR_AFFINITY_WORKER };
	struct looker *l = state;

	look_at_queue();
	if (l->polls-- == 0)
		return WEIR_DONE;
	weir_task_spawn_detached(weir_context_runtime(ctx), &once_ops, NULL,
				 &attr);
	return weir_context_yield(ctx);
}

static void
who_yields_beside_a_bound_task(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "yields",
		.state_size = sizeof(struct looker),
		.poll = yield_beside_bound,
	};
	const struct weir_task_ops *const all[] = { &ops };

	start(1, 0);
	run(all, RTE_DIM(all));
	end();
}

static void *
spawn_from_outside(void *arg)
{
	weir_join_detach(weir_task_spawn(rt, &once_ops, NULL, NULL));
	return NULL;
}

/*
 * A thread that is no worker, so that the task goes through the inject queue; seldom,
 * so that one comes from there at a time.
 */
static int
yield_beside_injected(struct weir_context *ctx, void *state)
{
	struct looker *l = state;
	pthread_t thread;

	look_at_queue();
	if (l->polls-- == 0)
		return WEIR_DONE;
	if (l->polls % 4 != 0)
		return weir_context_yield(ctx);
	if (pthread_create(&thread, NULL, spawn_from_outside, NULL) != 0)
		return -EAGAIN;
	pthread_join(thread, NULL);
	return weir_context_yield(ctx);
}

static void
who_yields_while_an_injected_task_comes_first(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "yields",
		.state_size = sizeof(struct looker),
		.poll = yield_beside_injected,
	};
	const struct weir_task_ops *const all[] = { &ops };

	start(1, 2);
	run(all, RTE_DIM(all));
	end();
}

static int
look_again(struct weir_context *ctx, void *state)
{
	struct looker *l = state;

	look_at_queue();
	return l->polls-- == 0 ? WEIR_DONE : context_look_again(ctx);
}

static void
who_looks_again_behind_another(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "looks again",
		.state_size = sizeof(struct looker),
		.poll = look_again,
	};
	const struct weir_task_ops *const all[] = { &ops, &ops, &ops };

	start(1000, 0);
	run(all, RTE_DIM(all));
	end();
}

static int
take_long(struct weir_context *ctx, void *state)
{
	struct looker *l = state;
	uint64_t since = rte_rdtsc();

	look_at_queue();
	while (rte_rdtsc() - since < rte_get_tsc_hz() / 100000)
		rte_pause();
	if (l->polls-- == 0)
		return WEIR_DONE;
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static int
sleep_often(struct weir_context *ctx, void *state)
{
	struct looker *l = state;
	uint64_t now = weir_clock_now(rt);
	int rc;

	look_at_queue();
	while (l->polls > 0) {
		if (l->until == 0)
			l->until = now + 30000;
		rc = weir_sleep_until(ctx, &l->sleep, l->until);
		if (rc != 0)
			return rc;
		l->until = 0;
		l->polls--;
	}
	return WEIR_DONE;
}

static void
timers_that_fire_beside_a_queued_task(void **state)
{
	static const struct weir_task_ops sleeps = {
		.name = "sleeps",
		.state_size = sizeof(struct looker),
		.poll = sleep_often,
	};
	static const struct weir_task_ops works = {
		.name = "works",
		.state_size = sizeof(struct looker),
		.poll = take_long,
	};
	const struct weir_task_ops *const all[] = { &works, &sleeps, &sleeps };

	start(1000, 0);
	run(all, RTE_DIM(all));
	end();
}

/* The first is run, and the others are queued. */
static void
burst_that_is_taken_from_the_inject_queue(void **state)
{
	const struct weir_task_ops *const all[] = { &once_ops, &once_ops,
						    &once_ops, &once_ops };

	start(1000, 0);
	run(all, RTE_DIM(all));
	end();
}

static struct weir_null *null;
static struct weir_join *receiver;

static int
receive(struct weir_context *ctx, void *state)
{
	int rc;

	look_at_queue();
	do
		rc = weir_null_recv(ctx, null);
	while (rc > 0);
	return rc;
}

static void
start_receiver(void)
{
	static const struct weir_task_ops ops = {
		.name = "receives",
		.poll = receive,
	};

	null = weir_null_create(rt, 0);
	assert_non_null(null);
	receiver = weir_task_spawn(rt, &ops, NULL, NULL);
	assert_non_null(receiver);
}

static void
end_receiver(void)
{
	weir_join_abort(receiver);
	assert_int_equal(rig_join(receiver, NULL), -ECANCELED);
	weir_null_free(null);
}

static int
post_beside_injected(struct weir_context *ctx, void *state);

static const struct weir_task_ops post_ops = {
	.name = "posts",
	.state_size = sizeof(unsigned int),
	.poll = post_beside_injected,
};

static void *
spawn_bound_from_outside(void *polls)
{
	const struct weir_spawn_attr attr = { .affinity =
						      WEIR_AFFINITY_WORKER };

	weir_task_spawn_detached(rt, &post_ops, polls, &attr);
	return NULL;
}

static struct atomic_u32 posted;

/*
 * The next comes through the inject queue too, which is first in every other tick; the
 * packet comes in the one tick or in the other.
 */
static int
post_beside_injected(struct weir_context *ctx, void *state)
{
	unsigned int *polls = state;
	pthread_t thread;

	look_at_queue();
	if (*polls == 0) {
		rig_set(&posted, 1);
		return WEIR_DONE;
	}
	if ((*polls)-- % 3 == 0)
		return weir_context_yield(ctx);
	if (pthread_create(&thread, NULL, spawn_bound_from_outside, polls) != 0)
		return -EAGAIN;
	pthread_join(thread, NULL);
	weir_null_post(null, 1);
	return WEIR_DONE;
}

static void
packet_that_is_found_while_an_injected_task_comes_first(void **state)
{
	unsigned int polls = POLLS;

	start(1, 2);
	rig_set(&posted, 0);
	start_receiver();
	spawn_bound_from_outside(&polls);
	rig_wait_until(rig_get(&posted));
	end_receiver();
	end();
}

static uint64_t
parks(void)
{
	return counter_get(&rt->workers[0]->counters, parks);
}

static void
post_to_parked_worker(void *parks_before)
{
	rig_wait_until(parks() > *(const uint64_t *)parks_before);
	weir_null_post(null, 1);
}

static int
post_and_come_back(struct weir_context *ctx, void *state)
{
	struct looker *l = state;
	uint64_t parks_before = parks();

	if (weir_block_in_place(post_to_parked_worker, &parks_before) < 0)
		return -EAGAIN;
	look_at_queue();
	return l->polls-- == 0 ? WEIR_DONE : weir_context_yield(ctx);
}

/* The one who claims it goes on with its poll, for as long as that takes. */
static void
packet_that_is_found_while_the_core_is_claimed(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "comes back",
		.state_size = sizeof(struct looker),
		.poll = post_and_come_back,
	};
	const struct weir_task_ops *const all[] = { &ops };

	start(1000, 0);
	weir_worker_park_set(rt, 0, WEIR_PARK_PAUSE);
	start_receiver();
	run(all, RTE_DIM(all));
	end_receiver();
	end();
}

static unsigned int vain_turns;

static int
wake_self(struct weir_context *ctx, void *state)
{
	struct looker *l = state;

	if (l->polls == POLLS)
		in_vain = 0;
	vain_turns = in_vain;
	if (l->polls-- == 0)
		return WEIR_DONE;
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

/* Nobody else could have it. */
static void
bound_task_that_wakes_itself(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "wakes itself",
		.state_size = sizeof(struct looker),
		.poll = wake_self,
	};
	const struct weir_spawn_attr attr = { .affinity =
						      WEIR_AFFINITY_WORKER };
	const struct looker looker = { .polls = POLLS };
	struct weir_join *join;

	start(1000, 0);
	join = weir_task_spawn(rt, &ops, &looker, &attr);
	assert_int_equal(rig_join(join, NULL), 0);
	rig_runtime_free(rt);
	assert_int_equal(vain_turns, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_yields_beside_a_bound_task),
		cmocka_unit_test(who_yields_while_an_injected_task_comes_first),
		cmocka_unit_test(who_looks_again_behind_another),
		cmocka_unit_test(timers_that_fire_beside_a_queued_task),
		cmocka_unit_test(burst_that_is_taken_from_the_inject_queue),
		cmocka_unit_test(
			packet_that_is_found_while_an_injected_task_comes_first),
		cmocka_unit_test(
			packet_that_is_found_while_the_core_is_claimed),
		cmocka_unit_test(bound_task_that_wakes_itself),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
