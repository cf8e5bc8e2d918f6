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
/* All tellings by the worker; until the first turn of what is alone, and since then. */
static unsigned int tellings, before, alone;

void
__real_weir__notify(struct node *node, const struct run_queue *queue);
void
__wrap_weir__notify(struct node *node, const struct run_queue *queue);

void
__wrap_weir__notify(struct node *node, const struct run_queue *queue)
{
	if (weir__core != NULL) {
		told = run_queue_tail_owner(&worker_of(weir__core)->queue);
		tellings++;
	}
	__real_weir__notify(node, queue);
}

/* Others have what is in the slot only when they recall it. */
static void
look_at_queue(void)
{
	const struct run_queue *q = &worker_of(weir__core)->queue;
	bool slot = slot_peek_owner(&weir__core->lifo) != NULL;

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
}

static void
end(void)
{
	rig_runtime_end(&rt);
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
	struct weir_join *join = receiver;

	receiver = NULL;
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_null_free(null);
	null = NULL;
}

/* A test that has failed leaves its runtime. */
static int
teardown(void **state)
{
	weir_join_detach(receiver);
	weir_null_free(null);
	weir_runtime_free(rt);
	receiver = NULL;
	null = NULL;
	rt = NULL;
	return 0;
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

/* Of one that has POLLS turns more when that counts. */
static void
note_turn(const struct looker *l)
{
	if (l->polls == POLLS)
		before = tellings;
	alone = tellings - before;
}

/* A task that has nobody beside it, but for those that it waits for. */
static void
run_alone(const struct weir_task_ops *ops, const void *state,
	  const struct weir_spawn_attr *attr)
{
	struct weir_join *join;

	start(1000, 0);
	alone = UINT_MAX;
	join = weir_task_spawn(rt, ops, state, attr);
	assert_int_equal(rig_join(join, NULL), 0);
	rig_runtime_end(&rt);
	assert_int_equal(alone, 0);
}

static int
wake_self(struct weir_context *ctx, void *state)
{
	struct looker *l = state;

	note_turn(l);
	if (l->polls-- == 0)
		return WEIR_DONE;
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static const struct weir_task_ops wake_self_ops = {
	.name = "wakes itself",
	.state_size = sizeof(struct looker),
	.poll = wake_self,
};

static const struct looker alone_looker = { .polls = POLLS };

static void
task_that_wakes_itself(void **state)
{
	run_alone(&wake_self_ops, &alone_looker, NULL);
}

/* Nobody else could have it. */
static void
bound_task_that_wakes_itself(void **state)
{
	const struct weir_spawn_attr attr = { .affinity =
						      WEIR_AFFINITY_WORKER };

	run_alone(&wake_self_ops, &alone_looker, &attr);
}

/* Its child has a turn, or two, of which the second is from the queue. */
struct caller {
	struct looker looker;
	const struct weir_task_ops *child_ops;
	struct weir_join *child;
};

static int
do_nothing(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

static const struct weir_task_ops nothing_ops = {
	.name = "nothing",
	.poll = do_nothing,
};

static int
call_again(struct weir_context *ctx, void *state)
{
	static const struct looker child = { .polls = 1 };
	struct caller *c = state;
	int rc;

	look_at_queue();
	for (; c->looker.polls > 0; c->looker.polls--) {
		note_turn(&c->looker);
		if (c->child == NULL)
			c->child =
				weir_task_spawn(rt, c->child_ops, &child, NULL);
		rc = weir_join_poll(ctx, c->child, NULL);
		if (rc != 0)
			return rc;
		c->child = NULL;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops call_again_ops = {
	.name = "calls",
	.state_size = sizeof(struct caller),
	.poll = call_again,
};

static void
task_that_calls_one_after_another(void **state)
{
	const struct caller caller = { .looker = alone_looker,
				       .child_ops = &nothing_ops };

	run_alone(&call_again_ops, &caller, NULL);
}

/* The caller's turn comes first then. */
static void
child_that_goes_on_beside_its_caller(void **state)
{
	const struct caller caller = { .looker = alone_looker,
				       .child_ops = &wake_self_ops };
	struct weir_join *join;

	start(1000, 0);
	join = weir_task_spawn(rt, &call_again_ops, &caller, NULL);
	assert_int_equal(rig_join(join, NULL), 0);
	end();
}

struct link {
	struct looker looker;
	struct weir_waker *end; /* of who began */
};

static int
link_poll(struct weir_context *ctx, void *state);

static const struct weir_task_ops link_ops = {
	.name = "link",
	.state_size = sizeof(struct link),
	.poll = link_poll,
};

static int
link_poll(struct weir_context *ctx, void *state)
{
	struct link l = *(struct link *)state;

	note_turn(&l.looker);
	if (l.looker.polls-- == 0)
		weir_waker_wake(l.end);
	else
		assert_int_equal(
			weir_task_spawn_detached(rt, &link_ops, &l, NULL), 0);
	return WEIR_DONE;
}

static int
begin_chain(struct weir_context *ctx, void *state)
{
	struct link *l = state;

	if (l->end != NULL)
		return WEIR_DONE;
	l->end = weir_context_waker(ctx);
	assert_int_equal(weir_task_spawn_detached(rt, &link_ops, l, NULL), 0);
	return WEIR_PENDING;
}

static void
tasks_that_spawn_the_next(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "chain",
		.state_size = sizeof(struct link),
		.poll = begin_chain,
	};
	const struct link first = { .looker = alone_looker };

	run_alone(&ops, &first, NULL);
}

/* Two that send each other a number. */
struct side {
	struct looker looker;
	struct weir_sender *tx;
	struct weir_receiver *rx;
	bool sends; /* it is its turn to */
	struct weir_wait wait;
};

static int
side_poll(struct weir_context *ctx, void *state)
{
	struct side *s = state;
	uint64_t value = 1;
	int rc;

	while (s->looker.polls > 0) {
		note_turn(&s->looker);
		rc = s->sends ? weir_send(ctx, s->tx, &value, &s->wait) :
				weir_recv(ctx, s->rx, &value, &s->wait);
		if (rc != 0)
			return rc;
		s->sends = !s->sends;
		s->looker.polls--;
	}
	return WEIR_DONE;
}

static void
side_drop(void *state)
{
	struct side *s = state;

	weir_sender_drop(s->tx);
	weir_receiver_drop(s->rx);
}

static const struct weir_task_ops side_ops = {
	.name = "side",
	.state_size = sizeof(struct side),
	.poll = side_poll,
	.drop = side_drop,
};

struct pair {
	struct weir_join *sides[2];
	unsigned int joined;
};

static int
pair_poll(struct weir_context *ctx, void *state)
{
	/* Until each has met the other they are two that can run beside each other. */
	struct side sides[2] = {
		{ .looker.polls = POLLS + 8, .sends = true },
		{ .looker.polls = POLLS + 8 },
	};
	struct pair *p = state;
	unsigned int i;
	int rc;

	if (p->sides[0] == NULL) {
		for (i = 0; i < 2; i++)
			assert_int_equal(weir_channel_create(1,
							     sizeof(uint64_t),
							     NULL, &sides[i].tx,
							     &sides[1 - i].rx),
					 0);
		for (i = 0; i < 2; i++)
			p->sides[i] =
				weir_task_spawn(rt, &side_ops, &sides[i], NULL);
	}
	for (; p->joined < 2; p->joined++) {
		rc = weir_join_poll(ctx, p->sides[p->joined], NULL);
		if (rc != 0)
			return rc;
	}
	return WEIR_DONE;
}

static void
tasks_that_answer_each_other(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "pair",
		.state_size = sizeof(struct pair),
		.poll = pair_poll,
	};
	const struct pair pair = { .joined = 0 };

	run_alone(&ops, &pair, NULL);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_yields_beside_a_bound_task),
		TEST(who_yields_while_an_injected_task_comes_first),
		TEST(who_looks_again_behind_another),
		TEST(timers_that_fire_beside_a_queued_task),
		TEST(burst_that_is_taken_from_the_inject_queue),
		TEST(packet_that_is_found_while_an_injected_task_comes_first),
		TEST(packet_that_is_found_while_the_core_is_claimed),
		TEST(task_that_wakes_itself),
		TEST(bound_task_that_wakes_itself),
		TEST(task_that_calls_one_after_another),
		TEST(child_that_goes_on_beside_its_caller),
		TEST(tasks_that_spawn_the_next),
		TEST(tasks_that_answer_each_other),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
