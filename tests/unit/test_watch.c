/* SPDX-License-Identifier: BSD-3-Clause */

/* A value that changes, for those who want the newest. */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include "waiter.h"

/* The halves belong together. */
struct value {
	uint64_t number;
	uint64_t inverse;
};

static struct value memory;
static struct weir_watch watch;

/* One that waits. */
struct watcher {
	struct weir_watch_receiver receiver;
	struct value value;
};

static int
send(uint64_t number)
{
	struct value v = { .number = number, .inverse = ~number };

	return weir_watch_send(&watch, &v);
}

static uint64_t
get(struct weir_watch_receiver *receiver, int is_new)
{
	struct value v;

	assert_int_equal(weir_watch_get(&watch, receiver, &v), is_new);
	assert_int_equal(v.inverse, ~v.number);
	return v.number;
}

static int
changed(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct watcher *w = what;

	return weir_watch_changed(ctx, &watch, &w->receiver, wait);
}

static int
setup(void **state)
{
	memory.number = 0;
	memory.inverse = UINT64_MAX;
	assert_int_equal(weir_watch_init(&watch, &memory, sizeof(memory)), 0);
	return rig_setup(state);
}

static int
teardown(void **state)
{
	weir_watch_fini(&watch);
	return rig_teardown(state);
}

static void
each_value_is_new_once(void **state)
{
	struct weir_watch_receiver first = { 0 }, later;

	weir_watch_subscribe(&watch, &later);
	assert_true(weir_watch_has_changed(&watch, &first));
	assert_false(weir_watch_has_changed(&watch, &later));
	assert_int_equal(weir_watch_changed(NULL, &watch, &first, NULL), 0);
	assert_int_equal(get(&first, 1), 0);
	assert_int_equal(get(&first, 0), 0);
	assert_int_equal(get(&later, 0), 0);
	assert_int_equal(send(1), 0);
	assert_true(weir_watch_has_changed(&watch, &later));
	assert_int_equal(get(&later, 1), 1);
	assert_false(weir_watch_has_changed(&watch, &later));
	assert_int_equal(get(&later, 0), 1);
	assert_int_equal(get(&first, 1), 1);
}

static void
newest_value_is_seen_and_those_before_are_missed(void **state)
{
	struct weir_watch_receiver receiver;
	uint64_t i;

	weir_watch_subscribe(&watch, &receiver);
	for (i = 1; i <= 5; i++)
		assert_int_equal(send(i), 0);
	assert_int_equal(weir_watch_changed(NULL, &watch, &receiver, NULL), 0);
	assert_int_equal(get(&receiver, 1), 5);
	assert_false(weir_watch_has_changed(&watch, &receiver));
}

static void
all_that_wait_are_told(void **state)
{
	struct watcher tasks[40], thread;
	struct weir_join *joins[40];
	struct waiter_thread *t;
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++) {
		weir_watch_subscribe(&watch, &tasks[i].receiver);
		joins[i] = waiter_spawn(rig.rt, changed, &tasks[i]);
	}
	weir_watch_subscribe(&watch, &thread.receiver);
	t = waiter_thread_start(changed, &thread);
	waiter_wait_for(&watch, RTE_DIM(joins) + 1);
	assert_int_equal(send(7), 0);
	for (i = 0; i < RTE_DIM(joins); i++) {
		assert_int_equal(waiter_join(joins[i]), 0);
		assert_int_equal(get(&tasks[i].receiver, 1), 7);
	}
	assert_int_equal(waiter_thread_join(t), 0);
	assert_int_equal(get(&thread.receiver, 1), 7);
}

static void
sizes_are_bounded(void **state)
{
	char bytes[WEIR_WATCH_SIZE_MAX + 1] = { 0 }, copy[sizeof(bytes)];
	struct weir_watch_receiver receiver = { 0 };
	struct weir_watch other;

	assert_int_equal(weir_watch_init(&other, bytes, 0), -EINVAL);
	assert_int_equal(weir_watch_init(&other, bytes, sizeof(bytes)),
			 -EINVAL);
	assert_int_equal(weir_watch_init(&other, bytes, SIZE_MAX), -EINVAL);
	assert_int_equal(weir_watch_init(&other, bytes, WEIR_WATCH_SIZE_MAX),
			 0);
	memset(copy, 'a', sizeof(copy));
	assert_int_equal(weir_watch_send(&other, copy), 0);
	memset(copy, 'b', sizeof(copy));
	assert_int_equal(weir_watch_get(&other, &receiver, copy), 1);
	assert_int_equal(copy[WEIR_WATCH_SIZE_MAX - 1], 'a');
	assert_int_equal(copy[WEIR_WATCH_SIZE_MAX], 'b');
	assert_int_equal(bytes[WEIR_WATCH_SIZE_MAX], 0);
	weir_watch_fini(&other);
}

static void
who_gives_up_misses_nothing(void **state)
{
	struct watcher first, second;
	struct rig_blockers b;
	struct weir_join *join, *other;

	weir_watch_subscribe(&watch, &first.receiver);
	second = first;
	join = waiter_spawn(rig.rt, changed, &first);
	waiter_wait_for(&watch, 1);
	waiter_abort(join);
	assert_int_equal(waiters(&watch), 0);
	/* Again, told this time and no worker to tell it. */
	join = waiter_spawn(rig.rt, changed, &first);
	waiter_wait_for(&watch, 1);
	other = waiter_spawn(rig.rt, changed, &second);
	waiter_wait_for(&watch, 2);
	rig_block(&b, rig.rt);
	assert_int_equal(send(1), 0);
	assert_int_equal(waiters(&watch), 0);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(waiter_join(other), 0);
	assert_int_equal(
		weir_watch_changed(NULL, &watch, &first.receiver, NULL), 0);
	assert_int_equal(get(&first.receiver, 1), 1);
}

/* Told of a value that the receiver then has got from elsewhere. */
static void
what_was_taken_meanwhile_is_waited_for_no_more(void **state)
{
	struct rig_blockers b;
	struct watcher w;
	struct weir_join *join;

	weir_watch_subscribe(&watch, &w.receiver);
	join = waiter_spawn(rig.rt, changed, &w);
	waiter_wait_for(&watch, 1);
	rig_block(&b, rig.rt);
	assert_int_equal(send(1), 0);
	assert_int_equal(get(&w.receiver, 1), 1);
	rig_unblock(&b);
	waiter_wait_for(&watch, 1);
	assert_int_equal(send(2), 0);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(get(&w.receiver, 1), 2);
}

static void
close_wakes_every_waiter(void **state)
{
	struct watcher task, thread;
	struct waiter_thread *t;
	struct weir_join *join;

	weir_watch_subscribe(&watch, &task.receiver);
	thread = task;
	join = waiter_spawn(rig.rt, changed, &task);
	t = waiter_thread_start(changed, &thread);
	waiter_wait_for(&watch, 2);
	weir_watch_close(&watch);
	assert_int_equal(waiter_join(join), -EPIPE);
	assert_int_equal(waiter_thread_join(t), -EPIPE);
	assert_int_equal(weir_watch_changed(NULL, &watch, &task.receiver, NULL),
			 -EPIPE);
	assert_int_equal(send(1), -EPIPE);
	assert_int_equal(get(&task.receiver, 0), 0);
}

static void
last_value_is_new_also_when_closed(void **state)
{
	struct watcher w;

	weir_watch_subscribe(&watch, &w.receiver);
	assert_int_equal(send(1), 0);
	weir_watch_close(&watch);
	weir_watch_close(&watch);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, changed, &w)), 0);
	assert_int_equal(get(&w.receiver, 1), 1);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, changed, &w)),
			 -EPIPE);
}

static void
workers_may_not_block_nor_waits_be_used_twice(void **state)
{
	struct watcher w;

	weir_watch_subscribe(&watch, &w.receiver);
	waiter_check_refusals(rig.rt, changed, &w);
}

#define VALUES 20000

/* Takes what is new, until the end; its result is the last number. */
static int
follow(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct watcher *w = what;
	struct value v;
	int rc;

	while ((rc = weir_watch_changed(ctx, &watch, &w->receiver, wait)) ==
	       0) {
		if (weir_watch_get(&watch, &w->receiver, &v) != 1 ||
		    v.inverse != ~v.number || v.number < w->value.number)
			return -EIO;
		w->value = v;
	}
	return rc == -EPIPE ? (int)w->value.number : rc;
}

static void *
send_often(void *arg)
{
	uint64_t i;

	for (i = 1; i <= VALUES; i++)
		assert_int_equal(send(i), 0);
	return NULL;
}

/* With a wait in line for the first of two, which knows all: to the other it is new. */
static int
changed_for_two(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct watcher *two = what;
	int rc;

	if (changed(ctx, &two[0], wait) != WEIR_PENDING)
		return -EBADE;
	rc = changed(ctx, &two[1], wait);
	weir_wait_cancel(wait);
	return rc == WEIR_PENDING ? -EBADE : rc;
}

static void
wait_is_for_one_receiver_at_a_time(void **state)
{
	struct watcher two[2] = { 0 };

	weir_watch_subscribe(&watch, &two[1].receiver);
	assert_int_equal(send(1), 0);
	weir_watch_subscribe(&watch, &two[0].receiver);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, changed_for_two, two)),
		-EBUSY);
	get(&two[1].receiver, 1);
}

static void
values_are_whole_and_grow_newer(void **state)
{
	struct watcher w[24] = { 0 };
	struct weir_join *joins[RTE_DIM(w) - 2];
	struct waiter_thread *threads[2];
	unsigned int i;
	int rc, out;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, follow, &w[i]);
	for (i = 0; i < RTE_DIM(threads); i++)
		threads[i] =
			waiter_thread_start(follow, &w[RTE_DIM(joins) + i]);
	rig_threads(1, send_often, NULL);
	for (i = 0; i < RTE_DIM(joins); i += 4)
		weir_join_abort(joins[i]);
	weir_watch_close(&watch);
	for (i = 0; i < RTE_DIM(joins); i++) {
		out = rig_join(joins[i], &rc);
		if (i % 4 == 0 && out == -ECANCELED)
			continue;
		assert_int_equal(out, 0);
		assert_int_equal(rc, VALUES);
	}
	for (i = 0; i < RTE_DIM(threads); i++)
		assert_int_equal(waiter_thread_join(threads[i]), VALUES);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_value_is_new_once, 1),
		TEST(newest_value_is_seen_and_those_before_are_missed, 1),
		TEST(all_that_wait_are_told, 1),
		TEST(all_that_wait_are_told, 2),
		TEST(sizes_are_bounded, 1),
		TEST(who_gives_up_misses_nothing, 2),
		TEST(what_was_taken_meanwhile_is_waited_for_no_more, 2),
		TEST(close_wakes_every_waiter, 2),
		TEST(last_value_is_new_also_when_closed, 1),
		TEST(workers_may_not_block_nor_waits_be_used_twice, 1),
		TEST(wait_is_for_one_receiver_at_a_time, 1),
		TEST(values_are_whole_and_grow_newer, 1),
		TEST(values_are_whole_and_grow_newer, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
