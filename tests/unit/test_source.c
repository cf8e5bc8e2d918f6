/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "park/source.h"
#include "rig.h"
#include "weir_null.h"
#include "weir_source_driver.h"

/* A task that receives until it has an error, or enough. */
struct receiver {
	struct weir_null *null;
	struct atomic_u32 *waiting; /* counts PENDING */
	uint32_t wanted;
	uint32_t taken;
	uint32_t alerts; /* errors that do not end it, see `ignore` */
	int ignore;
};

static int
receive(struct weir_context *ctx, void *state)
{
	struct receiver *r = state;
	int n;

	while (r->taken < r->wanted) {
		n = weir_null_recv(ctx, r->null);
		if (n == r->ignore && n != 0) {
			r->alerts++;
			continue;
		}
		if (n == WEIR_PENDING)
			rig_add(r->waiting, 1);
		if (n < 0)
			return n;
		r->taken += n;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops receiver_ops = {
	.name = "receiver",
	.state_size = sizeof(struct receiver),
	.poll = receive,
	.result_size = sizeof(struct receiver),
};

static struct weir_null *null;
static struct atomic_u32 waiting;

static struct weir_join *
spawn_receiver(uint32_t wanted, int ignore)
{
	struct receiver r = {
		.null = null,
		.waiting = &waiting,
		.wanted = wanted,
		.ignore = ignore,
	};

	return weir_task_spawn(rig.rt, &receiver_ops, &r, NULL);
}

static bool
is_armed(void)
{
	return atomic_u32_load(&weir_null_source(null)->armed, ACQUIRE);
}

static bool
is_waiter(const struct weir_join *join)
{
	struct weir_source *src = weir_null_source(null);
	bool is;

	lock_acquire(&src->lock);
	is = src->waiter == (const struct weir_waker *)join;
	lock_release(&src->lock);
	return is;
}

static int
setup(void **state)
{
	rig_setup(state);
	rig_set(&waiting, 0);
	null = weir_null_create(rig.rt, weir_runtime_nb_workers(rig.rt) - 1);
	assert_non_null(null);
	return 0;
}

static int
teardown(void **state)
{
	weir_null_free(null);
	return rig_teardown(state);
}

static void
events_that_are_there_are_taken_at_once(void **state)
{
	struct weir_source_stats stats;
	struct receiver end;

	weir_null_post(null, 3);
	weir_null_post(null, 4);
	assert_int_equal(weir_join_wait(spawn_receiver(7, 0), &end), 0);
	assert_int_equal(end.taken, 7);
	assert_int_equal(rig_get(&waiting), 0);
	weir_source_stats_get(weir_null_source(null), &stats);
	assert_int_equal(stats.polls, 0);
}

static void
events_beyond_a_number_are_taken_later(void **state)
{
	struct receiver end;
	unsigned int i;

	weir_null_post(null, UINT32_MAX);
	weir_null_post(null, INT32_MAX);
	for (i = 0; i < 3; i++) {
		assert_int_equal(
			weir_join_wait(spawn_receiver(INT32_MAX, 0), &end), 0);
		assert_int_equal(end.taken, INT32_MAX);
	}
	assert_int_equal(weir_join_wait(spawn_receiver(1, 0), &end), 0);
	assert_int_equal(end.taken, 1);
}

static void
waiter_is_woken_by_an_event(void **state)
{
	struct weir_join *join = spawn_receiver(1, 0);
	struct weir_source_stats stats;

	rig_wait_until(is_armed());
	weir_null_post(null, 1);
	assert_int_equal(weir_join_wait(join, NULL), 0);
	assert_false(is_armed());
	assert_uint_in_range(rig_get(&waiting), 1, UINT32_MAX);
	weir_source_stats_get(weir_null_source(null), &stats);
	assert_int_equal(stats.events, 1);
	assert_uint_in_range(stats.polls, 1, UINT32_MAX);
}

static void *
post_many(void *arg)
{
	unsigned int i;

	for (i = 0; i < 3000; i++) {
		weir_null_post(null, 1);
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static void
no_event_is_lost(void **state)
{
	struct weir_join *join = spawn_receiver(3 * 3000, 0);
	struct receiver end;

	rig_threads(3, post_many, NULL);
	assert_int_equal(rig_join(join, &end), 0);
	assert_int_equal(end.taken, 9000);
}

static void
close_wakes_the_waiter_with_its_error(void **state)
{
	struct weir_join *join = spawn_receiver(1, 0);

	rig_wait_until(is_armed());
	weir_source_close(weir_null_source(null), ENODEV);
	assert_int_equal(weir_join_wait(join, NULL), -ENODEV);
	/* And so it stays. */
	weir_source_close(weir_null_source(null), EIO);
	weir_source_alert(weir_null_source(null), ENETDOWN);
	assert_int_equal(weir_join_wait(spawn_receiver(1, 0), NULL), -ENODEV);
	assert_int_equal(weir_join_wait(spawn_receiver(1, 0), NULL), -ENODEV);
}

static void
what_came_before_the_end_is_taken_first(void **state)
{
	weir_null_post(null, 2);
	weir_source_close(weir_null_source(null), ENODEV);
	assert_int_equal(weir_join_wait(spawn_receiver(2, 0), NULL), 0);
	assert_int_equal(weir_join_wait(spawn_receiver(1, 0), NULL), -ENODEV);
}

static void
alert_is_told_once(void **state)
{
	struct weir_join *join = spawn_receiver(1, -ENETDOWN);
	struct receiver end;

	rig_wait_until(is_armed());
	weir_source_alert(weir_null_source(null), ENETDOWN);
	rig_wait_until(is_armed());
	weir_null_post(null, 1);
	assert_int_equal(weir_join_wait(join, &end), 0);
	assert_int_equal(end.alerts, 1);
	/* Also when nobody waits at that moment. */
	weir_source_alert(weir_null_source(null), ENETDOWN);
	assert_int_equal(weir_join_wait(spawn_receiver(1, 0), NULL), -ENETDOWN);
}

/* In particular not for a count of events, nor for none. */
static void
what_is_no_errno_counts_as_einval(void **state)
{
	static const int wrong[] = { 0, -ENODEV, -WEIR_PENDING, 1 << 16 };
	unsigned int i;

	for (i = 0; i < RTE_DIM(wrong); i++) {
		weir_source_alert(weir_null_source(null), wrong[i]);
		assert_int_equal(weir_join_wait(spawn_receiver(1, 0), NULL),
				 -EINVAL);
	}
	weir_source_close(weir_null_source(null), wrong[1]);
	weir_source_close(weir_null_source(null), ENODEV);
	assert_int_equal(weir_join_wait(spawn_receiver(1, 0), NULL), -EINVAL);
}

static void
second_waiter_is_refused(void **state)
{
	struct weir_join *join = spawn_receiver(1, 0);

	rig_wait_until(is_armed());
	assert_int_equal(weir_join_wait(spawn_receiver(1, 0), NULL), -EBUSY);
	weir_null_post(null, 1);
	assert_int_equal(weir_join_wait(join, NULL), 0);
}

static void
cancelled_waiter_gives_its_place_up(void **state)
{
	struct weir_join *join = spawn_receiver(1, 0);

	rig_wait_until(is_armed());
	weir_join_abort(join);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	join = spawn_receiver(1, 0);
	rig_wait_until(is_waiter(join));
	weir_null_post(null, 1);
	assert_int_equal(weir_join_wait(join, NULL), 0);
}

static void
shutdown_ends_the_waiter_and_closes_the_source(void **state)
{
	struct weir_join *join = spawn_receiver(1, 0);

	rig_wait_until(is_armed());
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	assert_false(is_armed());
	assert_int_equal(weir_null_source(null)->error, ESHUTDOWN);
	rte_errno = 0;
	assert_null(weir_null_create(rig.rt, 0));
	assert_int_equal(rte_errno, ESHUTDOWN);
	assert_int_equal(weir_source_move(weir_null_source(null), rig.rt, 0),
			 -ESHUTDOWN);
	/* teardown() frees the source after the shutdown. */
}

/* A source whose driver says what the test tells it to. */
struct fake {
	struct atomic_u32 polls;
	struct atomic_u32 rc_plus_1000; /* what poll returns */
	struct atomic_u32 *finis;
};

static int
fake_poll(void *priv)
{
	struct fake *f = priv;

	rig_add(&f->polls, 1);
	return (int)rig_get(&f->rc_plus_1000) - 1000;
}

static void
fake_fini(void *priv)
{
	rig_add(((struct fake *)priv)->finis, 1);
}

static const struct weir_source_ops fake_ops = {
	.name = "fake",
	.poll = fake_poll,
	.fini = fake_fini,
};

static int
wait_on_fake(struct weir_context *ctx, void *state)
{
	struct fake *f = *(struct fake **)state;
	int rc = weir_source_wait_begin(ctx, f);

	if (rc < 0)
		return rc;
	if (rc > 0)
		return weir_source_wait_fail(f);
	if (rig_get(&f->rc_plus_1000) == 1000)
		return weir_source_wait_arm(ctx, f);
	weir_source_wait_ready(ctx, f, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops fake_waiter_ops = {
	.name = "fake waiter",
	.state_size = sizeof(struct fake *),
	.poll = wait_on_fake,
};

static struct fake *
fake_create(struct atomic_u32 *finis)
{
	struct fake *f = weir_source_create(rig.rt, &fake_ops, 0, sizeof(*f));

	assert_non_null(f);
	f->finis = finis;
	rig_set(&f->rc_plus_1000, 1000);
	return f;
}

static void
driver_is_polled_while_a_task_waits_and_its_error_closes(void **state)
{
	struct atomic_u32 finis = { 0 };
	struct fake *f = fake_create(&finis);
	struct weir_join *join;

	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_done_ops, &rig.told, NULL),
		0);
	assert_int_equal(rig_get(&f->polls), 0);
	join = weir_task_spawn(rig.rt, &fake_waiter_ops, &f, NULL);
	rig_wait_until(rig_get(&f->polls) > 3);
	rig_set(&f->rc_plus_1000, 1000 - EIO);
	assert_int_equal(weir_join_wait(join, NULL), -EIO);
	assert_int_equal(
		weir_runtime_block_on(rig.rt, &fake_waiter_ops, &f, NULL),
		-EIO);
	assert_int_equal(rig_get(&finis), 0);
	weir_source_free(f);
	assert_int_equal(rig_get(&finis), 1);
}

/* In particular not for "not yet", upon which nobody would wake the task again. */
static void
what_a_driver_says_that_is_no_errno_counts_as_einval(void **state)
{
	static const int wrong[] = { WEIR_PENDING, -(1 << 16), INT_MIN };
	struct atomic_u32 finis = { 0 };
	unsigned int i;

	for (i = 0; i < RTE_DIM(wrong); i++) {
		struct fake *f = fake_create(&finis);
		struct weir_join *join;

		join = weir_task_spawn(rig.rt, &fake_waiter_ops, &f, NULL);
		rig_wait_until(rig_get(&f->polls) > 3);
		rig_set(&f->rc_plus_1000, (uint32_t)wrong[i] + 1000);
		assert_int_equal(rig_join(join, NULL), -EINVAL);
		weir_source_free(f);
	}
}

static void
let_rounds_pass(uint64_t n)
{
	struct weir_worker_stats stats;
	uint64_t end;

	weir_worker_stats_get(rig.rt, 0, &stats);
	end = stats.source_polls + n;
	rig_wait_until((weir_worker_stats_get(rig.rt, 0, &stats),
			stats.source_polls >= end));
}

static void
poll_after(struct fake *f, uint64_t tsc, uint64_t idle_tsc)
{
	weir_source_lock(f);
	weir_source_poll_after(f, tsc, idle_tsc);
	weir_source_unlock(f);
}

/* From the round on that may have begun before. */
static void
expect_rest(struct fake *f)
{
	uint32_t polls;

	let_rounds_pass(2);
	polls = rig_get(&f->polls);
	let_rounds_pass(1000);
	assert_int_equal(rig_get(&f->polls), polls);
}

static void
expect_polls(struct fake *f)
{
	uint32_t polls = rig_get(&f->polls);

	rig_wait_until(rig_get(&f->polls) > polls + 1);
}

static void
source_is_passed_over_until_its_time(void **state)
{
	struct atomic_u32 finis = { 0 }, go = { 0 };
	struct rig_log log = { 0 };
	const struct rig_state yielder = { .log = &log, .go = &go };
	struct fake *f = fake_create(&finis);
	struct weir_join *join, *busy;

	join = weir_task_spawn(rig.rt, &fake_waiter_ops, &f, NULL);
	expect_polls(f);
	/* An idle worker goes by the one, a busy one by the other. */
	poll_after(f, 0, UINT64_MAX);
	expect_rest(f);
	poll_after(f, UINT64_MAX, 0);
	expect_polls(f);
	busy = rig_spawn_on(rig.rt, 0, &rig_yield_ops, &yielder);
	rig_wait_until(rig_get(&log.polls) > 0);
	expect_rest(f);
	poll_after(f, 0, UINT64_MAX);
	expect_polls(f);
	rig_set(&go, 1);
	weir_join_wait(busy, NULL);
	/* A time that has come. */
	poll_after(f, rte_rdtsc(), rte_rdtsc());
	rig_set(&f->rc_plus_1000, 1001);
	assert_int_equal(weir_join_wait(join, NULL), 0);
	weir_source_free(f);
}

static int
find_nothing(void *priv)
{
	return 0;
}

static void
bad_arguments_are_refused(void **state)
{
	const struct weir_source_ops no_poll = { .name = "no poll" };
	const struct weir_source_ops polled = { .name = "large",
						.poll = find_nothing };
	const size_t too_large[] = { SIZE_MAX, SIZE_MAX - 100, SIZE_MAX / 2 };
	unsigned int n = weir_runtime_nb_workers(rig.rt);

	rte_errno = 0;
	assert_null(weir_null_create(rig.rt, n));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_source_create(rig.rt, &no_poll, 0, 8));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_source_create(rig.rt, NULL, 0, 8));
	assert_int_equal(rte_errno, EINVAL);
	for (n = 0; n < RTE_DIM(too_large); n++) {
		rte_errno = 0;
		assert_null(
			weir_source_create(rig.rt, &polled, 0, too_large[n]));
		assert_int_equal(rte_errno, ENOMEM);
	}
	weir_null_free(NULL);
}

#define ROUNDS 40

static void
source_comes_and_goes_beside_others(void **state)
{
	struct weir_join *join = spawn_receiver(ROUNDS, 0);
	struct weir_null *other;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		other = weir_null_create(rig.rt,
					 i % weir_runtime_nb_workers(rig.rt));
		assert_non_null(other);
		weir_null_post(null, 1);
		weir_null_free(other);
	}
	assert_int_equal(rig_join(join, NULL), 0);
}

/* Creates and frees sources of all workers; a task's state counts rounds. */
static int
come_and_go(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	unsigned int *rounds = state;
	struct weir_null *other;

	if (++*rounds > ROUNDS)
		return WEIR_DONE;
	other = weir_null_create(rt, *rounds % weir_runtime_nb_workers(rt));
	if (other == NULL)
		return -rte_errno;
	weir_null_free(other);
	return weir_context_yield(ctx);
}

/* A worker that waits for another must not keep that one waiting. */
static void
sources_come_and_go_on_all_workers_at_once(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "come and go",
		.state_size = sizeof(unsigned int),
		.poll = come_and_go,
	};
	struct weir_join *joins[4];
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = weir_task_spawn(rig.rt, &ops, NULL, NULL);
	source_comes_and_goes_beside_others(state);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
}

struct keeper {
	struct weir_null *null;
	struct atomic_u32 *drops;
	struct atomic_u32 *waiting;
};

static int
keep(struct weir_context *ctx, void *state)
{
	struct keeper *k = state;
	int n = weir_null_recv(ctx, k->null);

	rig_add(k->waiting, 1);
	return n;
}

static void
free_null(void *state)
{
	struct keeper *k = state;

	weir_null_free(k->null);
	rig_add(k->drops, 1);
}

static void
task_frees_its_source_when_it_is_dropped(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "keeper",
		.state_size = sizeof(struct keeper),
		.poll = keep,
		.drop = free_null,
	};
	struct atomic_u32 drops = { 0 };
	unsigned int i;

	for (i = 0; i < 6; i++) {
		struct keeper k = {
			weir_null_create(rig.rt,
					 i % weir_runtime_nb_workers(rig.rt)),
			&drops,
			&waiting,
		};
		struct weir_join *join =
			weir_task_spawn(rig.rt, &ops, &k, NULL);

		if (i == 0) {
			rig_wait_until(rig_get(&waiting) > 0);
			weir_join_abort(join);
			rig_wait_until(rig_get(&drops) == 1);
		}
		weir_join_detach(join);
	}
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_get(&drops), 6);
}

/* What the drop of another runtime's task finds. */
struct refusal {
	struct weir_runtime *closed;
	uint64_t task;
	int block;
	unsigned int drops;
};

static void
do_nothing(void *arg)
{
	(void)arg;
}

static void
give_up_in_drop(void *state)
{
	struct refusal *r = *(struct refusal **)state;

	r->task = weir_task_current();
	r->block = weir_block_in_place(do_nothing, NULL);
	weir_source_cancel(weir_null_source(null));
	r->drops++;
}

static int
never(struct weir_context *ctx, void *state)
{
	(void)ctx;
	(void)state;
	return WEIR_DONE;
}

static int
wait_and_be_refused(struct weir_context *ctx, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "refused",
		.state_size = sizeof(struct refusal *),
		.poll = never,
		.drop = give_up_in_drop,
	};
	struct refusal *r = *(struct refusal **)state;
	int n = weir_null_recv(ctx, null);

	if (n != WEIR_PENDING)
		return n < 0 ? n : WEIR_DONE;
	weir_join_detach(weir_task_spawn(r->closed, &ops, &r, NULL));
	rig_add(&waiting, 1);
	return WEIR_PENDING;
}

static void
drop_inside_a_poll_is_no_part_of_it(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "spawner",
		.state_size = sizeof(struct refusal *),
		.poll = wait_and_be_refused,
	};
	struct refusal refusal = { .task = 0 }, *r = &refusal;
	struct weir_join *join;
	int rc;

	r->closed = rig_closed_runtime();
	join = weir_task_spawn(rig.rt, &ops, &r, NULL);
	rig_wait_until(rig_get(&waiting) > 0);
	weir_null_post(null, 1);
	rc = rig_join(join, NULL);
	weir_runtime_free(r->closed);
	assert_int_equal(rc, 0);
	assert_uint_in_range(r->drops, 1, UINT32_MAX);
	assert_int_equal(r->task, WEIR_TASK_NONE);
	assert_int_equal(r->block, -EPERM);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2), TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(events_that_are_there_are_taken_at_once),
		TESTS(events_beyond_a_number_are_taken_later),
		TESTS(waiter_is_woken_by_an_event),
		TESTS(no_event_is_lost),
		TESTS(close_wakes_the_waiter_with_its_error),
		TESTS(what_came_before_the_end_is_taken_first),
		TESTS(alert_is_told_once),
		TESTS(what_is_no_errno_counts_as_einval),
		TESTS(second_waiter_is_refused),
		TESTS(cancelled_waiter_gives_its_place_up),
		TESTS(shutdown_ends_the_waiter_and_closes_the_source),
		TESTS(driver_is_polled_while_a_task_waits_and_its_error_closes),
		TESTS(what_a_driver_says_that_is_no_errno_counts_as_einval),
		TEST(source_is_passed_over_until_its_time, 1),
		TEST(bad_arguments_are_refused, 2),
		TESTS(source_comes_and_goes_beside_others),
		TESTS(sources_come_and_go_on_all_workers_at_once),
		TESTS(task_frees_its_source_when_it_is_dropped),
		TESTS(drop_inside_a_poll_is_no_part_of_it),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
