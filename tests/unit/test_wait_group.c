/* SPDX-License-Identifier: BSD-3-Clause */

/* Waits until nothing is under way. */

#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "before_wake.h"
#include "waiter.h"

static struct weir_wait_group group;

static int
wait_for_all(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_wait_group_wait(ctx, what, wait);
}

static int
wait_now(void)
{
	return weir_wait_group_wait(NULL, &group, NULL);
}

static int
setup(void **state)
{
	weir_wait_group_init(&group);
	return rig_setup(state);
}

static int
teardown(void **state)
{
	weir_wait_group_fini(&group);
	return rig_teardown(state);
}

static void
waiters_go_on_when_the_last_is_done(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;

	assert_int_equal(wait_now(), 0);
	assert_int_equal(weir_wait_group_add(&group, 2), 0);
	join = waiter_spawn(rig.rt, wait_for_all, &group);
	thread = waiter_thread_start(wait_for_all, &group);
	waiter_wait_for(&group, 2);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_int_equal(waiters(&group), 2);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(waiter_thread_join(thread), 0);
	assert_int_equal(wait_now(), 0);
}

static void
what_is_added_while_others_wait_is_waited_for(void **state)
{
	struct weir_join *join;

	assert_int_equal(weir_wait_group_add(&group, 1), 0);
	join = waiter_spawn(rig.rt, wait_for_all, &group);
	waiter_wait_for(&group, 1);
	assert_int_equal(weir_wait_group_add(&group, 1), 0);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_int_equal(waiters(&group), 1);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_int_equal(waiter_join(join), 0);
}

static void
add_another(void)
{
	assert_true(waiters(&group) > 0);
	assert_int_equal(weir_wait_group_add(&group, 1), 0);
}

/* More of them than are let go at a time. */
static void
what_is_added_after_the_last_was_done_is_not(void **state)
{
	struct weir_join *joins[BEFORE_WAKE_CROWD], *later;
	unsigned int i;

	assert_int_equal(weir_wait_group_add(&group, 1), 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, wait_for_all, &group);
	waiter_wait_for(&group, RTE_DIM(joins));
	before_wake(add_another);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_true(before_wake_called());
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
	later = waiter_spawn(rig.rt, wait_for_all, &group);
	waiter_wait_for(&group, 1);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_int_equal(waiter_join(later), 0);
}

static void
numbers_that_make_no_sense_are_refused(void **state)
{
	assert_int_equal(weir_wait_group_done(&group), -EINVAL);
	assert_int_equal(weir_wait_group_add(&group, 0), 0);
	assert_int_equal(wait_now(), 0);
	assert_int_equal(weir_wait_group_add(&group, 1), 0);
	assert_int_equal(weir_wait_group_add(&group, UINT32_MAX), -EOVERFLOW);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_int_equal(weir_wait_group_done(&group), -EINVAL);
	assert_int_equal(weir_wait_group_add(&group, UINT32_MAX), 0);
	assert_int_equal(weir_wait_group_add(&group, 1), -EOVERFLOW);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_int_equal(weir_wait_group_add(&group, 1), 0);
}

static void
who_gives_up_changes_nothing(void **state)
{
	struct rig_blockers b;
	struct weir_join *waiting, *let_go, *other;

	assert_int_equal(weir_wait_group_add(&group, 1), 0);
	waiting = waiter_spawn(rig.rt, wait_for_all, &group);
	waiter_wait_for(&group, 1);
	let_go = waiter_spawn(rig.rt, wait_for_all, &group);
	waiter_wait_for(&group, 2);
	other = waiter_spawn(rig.rt, wait_for_all, &group);
	waiter_wait_for(&group, 3);
	waiter_abort(waiting);
	assert_int_equal(waiters(&group), 2);
	rig_block(&b, rig.rt);
	assert_int_equal(weir_wait_group_done(&group), 0);
	weir_join_abort(let_go);
	rig_unblock(&b);
	assert_int_equal(rig_join(let_go, NULL), -ECANCELED);
	assert_int_equal(waiter_join(other), 0);
	assert_int_equal(weir_wait_group_done(&group), -EINVAL);
}

static void
close_wakes_every_waiter(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;

	assert_int_equal(weir_wait_group_add(&group, 1), 0);
	join = waiter_spawn(rig.rt, wait_for_all, &group);
	thread = waiter_thread_start(wait_for_all, &group);
	waiter_wait_for(&group, 2);
	weir_wait_group_close(&group);
	assert_int_equal(waiter_join(join), -EPIPE);
	assert_int_equal(waiter_thread_join(thread), -EPIPE);
	assert_int_equal(weir_wait_group_add(&group, 1), -EPIPE);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_int_equal(weir_wait_group_done(&group), -EINVAL);
	assert_int_equal(wait_now(), -EPIPE);
}

static void
workers_may_not_block_nor_waits_be_used_twice(void **state)
{
	assert_int_equal(weir_wait_group_add(&group, 1), 0);
	waiter_check_refusals(rig.rt, wait_for_all, &group);
}

/* A tree of tasks, each of which does its part of plain memory. */
#define PARTS 1024

static unsigned int parts[PARTS];

struct part {
	unsigned int begin;
	unsigned int end;
};

static int
part_poll(struct weir_context *ctx, void *state);

static const struct weir_task_ops part_ops = {
	.name = "part",
	.state_size = sizeof(struct part),
	.poll = part_poll,
};

static bool
begin_part(struct weir_runtime *rt, unsigned int begin, unsigned int end)
{
	struct part p = { .begin = begin, .end = end };
	struct weir_join *join;

	if (weir_wait_group_add(&group, 1) != 0)
		return false;
	join = weir_task_spawn(rt, &part_ops, &p, NULL);
	weir_join_detach(join);
	return join != NULL;
}

static int
part_poll(struct weir_context *ctx, void *state)
{
	struct part *p = state;
	unsigned int middle;

	while (p->end - p->begin > 1) {
		middle = (p->begin + p->end) / 2;
		if (!begin_part(rig.rt, middle, p->end))
			return -EIO;
		p->end = middle;
	}
	parts[p->begin]++;
	return weir_wait_group_done(&group);
}

static void *
wait_in_thread(void *arg)
{
	unsigned int i;

	assert_int_equal(wait_now(), 0);
	for (i = 0; i < PARTS; i++)
		if (parts[i] != *(unsigned int *)arg)
			rig_add(&rig.log.drops, 1);
	return NULL;
}

static void
who_waited_sees_what_was_done(void **state)
{
	struct weir_join *join;
	unsigned int i, round;

	for (i = 0; i < PARTS; i++)
		parts[i] = 0;
	for (round = 1; round <= 10; round++) {
		assert_true(begin_part(rig.rt, 0, PARTS));
		join = waiter_spawn(rig.rt, wait_for_all, &group);
		rig_threads(2, wait_in_thread, &round);
		assert_int_equal(waiter_join(join), 0);
		assert_int_equal(rig_get(&rig.log.drops), 0);
	}
}

/* Everybody was let go: that nobody looks at it any more shows in a crash. */
static void
end_when_nobody_waits(void)
{
	if (waiters(&group) > 0) {
		before_wake(end_when_nobody_waits);
		return;
	}
	weir_wait_group_fini(&group);
	memset(&group, 0, sizeof(group));
}

static void
crowd_that_waited_may_end_the_group_at_once(void **state)
{
	struct weir_join *joins[BEFORE_WAKE_CROWD];
	unsigned int i, n;

	for (n = 1; n <= RTE_DIM(joins); n++) {
		assert_int_equal(weir_wait_group_add(&group, 1), 0);
		for (i = 0; i < n; i++)
			joins[i] = waiter_spawn(rig.rt, wait_for_all, &group);
		waiter_wait_for(&group, n);
		before_wake(end_when_nobody_waits);
		assert_int_equal(weir_wait_group_done(&group), 0);
		assert_true(before_wake_called());
		for (i = 0; i < n; i++)
			assert_int_equal(waiter_join(joins[i]), 0);
		weir_wait_group_init(&group);
	}
}

/* Whoever ends the group, and has to wait for somebody. */
static struct atomic_u32 end_waits, ended;
static __thread bool is_ender;

int
__real_sched_yield(void);
int
__wrap_sched_yield(void);

int
__wrap_sched_yield(void)
{
	if (is_ender)
		rig_set(&end_waits, 1);
	return __real_sched_yield();
}

static int
end_in_thread(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	is_ender = true;
	weir_wait_group_fini(what);
	rig_set(&ended, 1);
	return 0;
}

static struct waiter_thread *ender;
static bool ended_early;

/* Those who are left go by another way, and the group is to go with them. */
static void
close_and_end(void)
{
	assert_true(waiters(&group) > 0);
	weir_wait_group_close(&group);
	assert_int_equal(waiters(&group), 0);
	ender = waiter_thread_start(end_in_thread, &group);
	rig_wait_until(rig_get(&end_waits) || rig_get(&ended));
	ended_early = rig_get(&ended);
}

static void
end_waits_for_who_lets_others_go(void **state)
{
	struct weir_join *joins[BEFORE_WAKE_CROWD];
	unsigned int i;

	rig_set(&end_waits, 0);
	rig_set(&ended, 0);
	assert_int_equal(weir_wait_group_add(&group, 1), 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, wait_for_all, &group);
	waiter_wait_for(&group, RTE_DIM(joins));
	before_wake(close_and_end);
	assert_int_equal(weir_wait_group_done(&group), 0);
	assert_true(before_wake_called());
	assert_int_equal(waiter_thread_join(ender), 0);
	assert_false(ended_early);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
	weir_wait_group_init(&group);
}

struct doer {
	struct weir_wait_group *group;
};

static int
doer_poll(struct weir_context *ctx, void *state)
{
	struct doer *d = state;

	return weir_wait_group_done(d->group);
}

static const struct weir_task_ops doer_ops = {
	.name = "doer",
	.state_size = sizeof(struct doer),
	.poll = doer_poll,
};

/* Each time in memory of its own, which goes while the last one returns. */
static void
who_waited_may_end_the_group_at_once(void **state)
{
	unsigned int i, round;
	struct doer d;

	for (round = 0; round < 500; round++) {
		d.group = malloc(sizeof(*d.group));
		assert_non_null(d.group);
		weir_wait_group_init(d.group);
		assert_int_equal(weir_wait_group_add(d.group, 3), 0);
		for (i = 0; i < 3; i++)
			weir_join_detach(
				weir_task_spawn(rig.rt, &doer_ops, &d, NULL));
		assert_int_equal(weir_wait_group_wait(NULL, d.group, NULL), 0);
		weir_wait_group_fini(d.group);
		free(d.group);
	}
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(waiters_go_on_when_the_last_is_done, 1),
		TEST(waiters_go_on_when_the_last_is_done, 2),
		TEST(what_is_added_while_others_wait_is_waited_for, 2),
		TEST(what_is_added_after_the_last_was_done_is_not, 2),
		TEST(numbers_that_make_no_sense_are_refused, 1),
		TEST(who_gives_up_changes_nothing, 2),
		TEST(close_wakes_every_waiter, 2),
		TEST(workers_may_not_block_nor_waits_be_used_twice, 1),
		TEST(who_waited_sees_what_was_done, 1),
		TEST(who_waited_sees_what_was_done, 3),
		TEST(crowd_that_waited_may_end_the_group_at_once, 2),
		TEST(end_waits_for_who_lets_others_go, 2),
		TEST(who_waited_may_end_the_group_at_once, 2),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
