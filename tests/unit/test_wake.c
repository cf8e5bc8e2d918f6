/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_alarm.h>

#include "base/race.h"
#include "rig.h"

static void
thread_wakes_by_value(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker);
	uint32_t polls = 0;

	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(weir_join_wait(join, &polls), 0);
	assert_int_equal(polls, 2);
}

static void
every_clone_wakes(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker), *clone;
	unsigned int i;

	for (i = 2; i <= 20; i++) {
		clone = weir_waker_clone(w);
		assert_ptr_equal(clone, w);
		weir_waker_wake(clone);
		rig_wait_until(rig_get(&rig.log.polls) >= i);
		weir_waker_drop(rig_take_waker(&rig.waker));
	}
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(weir_join_wait(join, NULL), 0);
}

static void
wake_by_ref_keeps_the_waker(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker);
	unsigned int i;

	for (i = 2; i <= 20; i++) {
		weir_waker_wake_by_ref(w);
		rig_wait_until(rig_get(&rig.log.polls) >= i);
		weir_waker_drop(rig_take_waker(&rig.waker));
	}
	rig_set(&rig.go, 1);
	weir_waker_wake_by_ref(w);
	assert_int_equal(weir_join_wait(join, NULL), 0);
	weir_waker_drop(w);
}

static void
dropped_waker_wakes_nobody(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);

	weir_waker_drop(rig_take_waker(&rig.waker));
	weir_waker_drop(NULL);
	/* Whatever that had queued would have come first. */
	assert_int_equal(
		weir_join_wait(rig_spawn(rig.rt, &rig_done_ops, &rig.told),
			       NULL),
		0);
	rig_expect_log(2, 1, 1);
	weir_join_abort(join);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
}

static void
many_wakes_before_a_poll_are_one(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker);
	struct rig_blockers b;
	unsigned int i;

	rig_block(&b, rig.rt);
	for (i = 0; i < 100; i++) {
		weir_waker_wake_by_ref(w);
		weir_waker_wake(weir_waker_clone(w));
	}
	rig_unblock(&b);
	weir_waker_drop(rig_take_waker(&rig.waker));
	/* Queued behind all that the wakes had queued. */
	assert_int_equal(
		weir_join_wait(rig_spawn(rig.rt, &rig_done_ops, &rig.told),
			       NULL),
		0);
	rig_expect_log(3, 1, 1);
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(weir_join_wait(join, NULL), 0);
}

/* Leaves its waker, stays in poll until `go`, and says that it waits. */
static int
leave_waker_and_block(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state;

	rig_add(&s->log->polls, 1);
	if (++s->polls > 1)
		return WEIR_DONE;
	atomic_ptr_store(s->waker, weir_context_waker(ctx), RELEASE);
	rig_wait_until(rig_get(s->go));
	return WEIR_PENDING;
}

static void
woken_while_it_runs_it_is_polled_again(void **state)
{
	struct weir_task_ops ops = rig_wait_ops;
	struct weir_join *join;
	struct weir_waker *w;
	uint32_t polls = 0;

	ops.poll = leave_waker_and_block;
	join = rig_spawn(rig.rt, &ops, &rig.told);
	w = rig_take_waker(&rig.waker);
	weir_waker_wake_by_ref(w);
	weir_waker_wake(w);
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_wait(join, &polls), 0);
	assert_int_equal(polls, 2);
}

static void
waking_an_ended_task_does_nothing(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker);

	weir_join_abort(join);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	weir_waker_wake_by_ref(w);
	weir_waker_wake(weir_waker_clone(w));
	weir_waker_wake(w);
	rig_expect_log(1, 1, 0);
}

static void
wakers_and_handles_outlive_the_runtime(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker), *clone;
	struct weir_join *refused;

	clone = weir_waker_clone(w);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	refused = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	rig_expect_log(1, 2, 0);
	weir_waker_wake_by_ref(w);
	weir_waker_wake(w);
	weir_join_abort(join);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	weir_waker_wake(weir_waker_clone(clone));
	weir_waker_drop(clone);
	/* The last reference takes the rest of the runtime with it. */
	assert_true(rig_runtime_exists("weir"));
	weir_join_detach(refused);
	assert_false(rig_runtime_exists("weir"));
}

/* One use of a waker, on a thread of the test's choice. */
struct use {
	struct weir_waker *waker;
	bool by_ref;
	struct atomic_u32 over;
};

static void
use_waker(void *arg)
{
	struct use *u = arg;

	race_acquire(u); /* rte_eal_alarm_set() */
	if (u->by_ref)
		weir_waker_wake_by_ref(u->waker);
	else
		weir_waker_wake(u->waker);
	rig_set(&u->over, 1);
}

static void *
use_waker_in_thread(void *arg)
{
	use_waker(arg);
	return NULL;
}

/* EAL knows nothing of it. */
static void
on_plain_thread(struct use *u)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, use_waker_in_thread, u),
			 0);
	pthread_join(thread, NULL);
}

static void
on_interrupt_thread(struct use *u)
{
	race_release(u);
	assert_int_equal(rte_eal_alarm_set(1, use_waker, u), 0);
	rig_wait_until(rig_get(&u->over));
}

/* Wakes a task that waits, and again when it has ended. */
static void
expect_wakes(void (*on_thread)(struct use *u), bool by_ref)
{
	struct use u = { .by_ref = by_ref };
	struct weir_waker *kept;
	struct weir_join *join;
	uint32_t polls = 0;

	rig_set(&rig.go, 0);
	join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	u.waker = rig_take_waker(&rig.waker);
	kept = weir_waker_clone(u.waker);
	rig_set(&rig.go, 1);
	on_thread(&u);
	assert_int_equal(weir_join_wait(join, &polls), 0);
	assert_int_equal(polls, 2);
	if (by_ref)
		weir_waker_drop(u.waker);
	u.waker = kept;
	rig_set(&u.over, 0);
	on_thread(&u);
	if (by_ref)
		weir_waker_drop(kept);
}

static void
plain_thread_wakes_also_after_the_end(void **state)
{
	expect_wakes(on_plain_thread, false);
	expect_wakes(on_plain_thread, true);
	rig_expect_log(4, 2, 0);
}

static void
interrupt_thread_wakes_also_after_the_end(void **state)
{
	expect_wakes(on_interrupt_thread, false);
	expect_wakes(on_interrupt_thread, true);
	rig_expect_log(4, 2, 0);
}

#define THREADS 4
#define LISTENERS 6
#define EVENTS 500u

/* Tasks that take events, and threads that make them and wake. */
struct listener {
	struct atomic_u32 events;
	struct weir_waker *waker;
};

static struct listener listeners[LISTENERS];

struct listener_state {
	struct listener *listener;
	struct atomic_u32 *ready;
	uint32_t taken;
};

static int
listen_poll(struct weir_context *ctx, void *state)
{
	struct listener_state *s = state;

	if (s->ready != NULL) {
		s->listener->waker = weir_context_waker(ctx);
		rig_add(s->ready, 1);
		s->ready = NULL;
	}
	s->taken += atomic_u32_exchange(&s->listener->events, 0, RELAXED);
	return s->taken == THREADS * EVENTS ? WEIR_DONE : WEIR_PENDING;
}

static void *
make_events(void *arg)
{
	unsigned int i, k;

	for (i = 0; i < EVENTS; i++) {
		for (k = 0; k < LISTENERS; k++) {
			/* The wake-up alone must make this seen. */
			atomic_u32_fetch_add(&listeners[k].events, 1, RELAXED);
			if (i % 2 == 0)
				weir_waker_wake_by_ref(listeners[k].waker);
			else
				weir_waker_wake(
					weir_waker_clone(listeners[k].waker));
		}
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void
no_wake_up_is_lost(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "listener",
		.state_size = sizeof(struct listener_state),
		.poll = listen_poll,
	};
	struct weir_join *joins[LISTENERS];
	struct atomic_u32 ready = { 0 };
	unsigned int i;

	memset(listeners, 0, sizeof(listeners));
	for (i = 0; i < LISTENERS; i++) {
		struct listener_state s = { &listeners[i], &ready, 0 };

		joins[i] = weir_task_spawn(rig.rt, &ops, &s, NULL);
	}
	rig_wait_until(rig_get(&ready) == LISTENERS);
	rig_threads(THREADS, make_events, NULL);
	for (i = 0; i < LISTENERS; i++) {
		assert_int_equal(rig_join(joins[i], NULL), 0);
		weir_waker_drop(listeners[i].waker);
	}
}

#define BOUND 6
#define BOUND_POLLS 200u

struct bound {
	struct atomic_ptr *waker;
	struct atomic_u32 *strays;
	unsigned int worker;
	unsigned int polls;
};

static int
bound_poll(struct weir_context *ctx, void *state)
{
	struct bound *b = state;

	if (weir_context_worker(ctx) != b->worker)
		rig_add(b->strays, 1);
	if (b->polls++ == 0)
		atomic_ptr_store(b->waker, weir_context_waker(ctx), RELEASE);
	if (b->polls == BOUND_POLLS)
		return WEIR_DONE;
	return b->polls % 5 == 0 ? weir_context_yield(ctx) : WEIR_PENDING;
}

struct bound_wakers {
	struct weir_waker *w[BOUND];
	struct atomic_u32 *stop;
};

static void
wake_all(struct bound_wakers *b)
{
	unsigned int i;

	for (i = 0; i < BOUND; i++)
		weir_waker_wake_by_ref(b->w[i]);
}

static int
wake_all_poll(struct weir_context *ctx, void *state)
{
	struct bound_wakers *b = state;

	wake_all(b);
	return rig_get(b->stop) ? WEIR_DONE : weir_context_yield(ctx);
}

static void *
wake_all_thread(void *arg)
{
	struct bound_wakers *b = arg;

	rig_wait_until((wake_all(b), rig_get(b->stop)));
	return NULL;
}

static void
bound_task_stays_on_its_worker(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "bound",
		.state_size = sizeof(struct bound),
		.poll = bound_poll,
	};
	static const struct weir_task_ops wake_ops = {
		.name = "wake all",
		.state_size = sizeof(struct bound_wakers),
		.poll = wake_all_poll,
	};
	struct atomic_ptr wakers[BOUND] = { 0 };
	struct weir_join *joins[BOUND], *others[3];
	struct atomic_u32 strays = { 0 };
	struct bound_wakers b = { .stop = &rig.go };
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < BOUND; i++) {
		const struct weir_spawn_attr attr = {
			.affinity = WEIR_AFFINITY_WORKER,
			.worker = i % weir_runtime_nb_workers(rig.rt),
		};
		struct bound s = { &wakers[i], &strays, attr.worker, 0 };

		joins[i] = weir_task_spawn(rig.rt, &ops, &s, &attr);
		b.w[i] = rig_take_waker(&wakers[i]);
	}
	for (i = 0; i < RTE_DIM(others); i++)
		others[i] = weir_task_spawn(rig.rt, &wake_ops, &b, NULL);
	assert_int_equal(pthread_create(&thread, NULL, wake_all_thread, &b), 0);
	for (i = 0; i < BOUND; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	rig_set(&rig.go, 1);
	pthread_join(thread, NULL);
	for (i = 0; i < RTE_DIM(others); i++)
		assert_int_equal(rig_join(others[i], NULL), 0);
	for (i = 0; i < BOUND; i++)
		weir_waker_drop(b.w[i]);
	assert_int_equal(rig_get(&strays), 0);
}

static void
thread_is_on_no_worker(void **state)
{
	assert_null(weir_runtime_current());
	assert_false(weir__on_worker());
}

/* What must not be called on a worker, and what may. */
static int
call_blocking(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	struct weir_join *join;

	if (weir_runtime_current() != rt)
		return -ENXIO;
	if (weir_runtime_shutdown(rt, 0, NULL) != -EDEADLK)
		return -EIO;
	if (weir_runtime_block_on(rt, &rig_done_ops, &rig.told, NULL) !=
	    -EDEADLK)
		return -EPERM;
	join = weir_task_spawn(rt, &rig_done_ops, &rig.told, NULL);
	if (join == NULL || weir_join_wait(join, NULL) != -EDEADLK)
		return -EINVAL;
	*(struct weir_join **)state = join;
	return WEIR_DONE;
}

static void
worker_may_not_block(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "blocking",
		.state_size = sizeof(struct weir_join *),
		.poll = call_blocking,
		.result_size = sizeof(struct weir_join *),
	};
	struct weir_join *join = NULL;

	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, &join), 0);
	/* The handle stays. */
	assert_int_equal(weir_join_wait(join, NULL), 0);
	rig_expect_log(1, 1, 1);
}

static int
yield_once(struct weir_context *ctx, void *state)
{
	uint32_t *number = state;

	if ((*number & 1) == 0) {
		*number |= 1;
		return weir_context_yield(ctx);
	}
	return WEIR_DONE;
}

static void *
block_on_many(void *arg)
{
	static const struct weir_task_ops ops = {
		.name = "yield once",
		.state_size = sizeof(uint32_t),
		.poll = yield_once,
		.result_size = sizeof(uint32_t),
	};
	struct atomic_u32 *next = arg;
	uint32_t i, n, result = 0;

	n = atomic_u32_fetch_add(next, 1, RELAXED);
	for (i = 0; i < 50; i++) {
		uint32_t number = (n * 50 + i) * 2;

		if (weir_runtime_block_on(rig.rt, &ops, &number, &result) != 0)
			break;
		if (result != number + 1)
			break;
		rig_add(&rig.log.polls, 1);
	}
	return NULL;
}

static void
several_threads_block_at_once(void **state)
{
	struct atomic_u32 next = { 0 };

	rig_threads(6, block_on_many, &next);
	rig_expect_log(300, 0, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(thread_wakes_by_value),
		RIG_TESTS(every_clone_wakes),
		RIG_TESTS(wake_by_ref_keeps_the_waker),
		RIG_TEST(dropped_waker_wakes_nobody, 1),
		RIG_TEST(many_wakes_before_a_poll_are_one, 1),
		RIG_TESTS(woken_while_it_runs_it_is_polled_again),
		RIG_TESTS(waking_an_ended_task_does_nothing),
		RIG_TESTS(wakers_and_handles_outlive_the_runtime),
		RIG_TESTS(plain_thread_wakes_also_after_the_end),
		RIG_TESTS(interrupt_thread_wakes_also_after_the_end),
		RIG_TESTS(no_wake_up_is_lost),
		RIG_TESTS(bound_task_stays_on_its_worker),
		RIG_TEST(thread_is_on_no_worker, 1),
		RIG_TESTS(worker_may_not_block),
		RIG_TESTS(several_threads_block_at_once),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
