/* SPDX-License-Identifier: BSD-3-Clause */

/* Notes to one waiter or to all. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>

#include "before_wake.h"
#include "waiter.h"

static struct weir_notify notify;

static int
wait_for_note(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_notify_wait(ctx, what, wait);
}

static int
setup(void **state)
{
	weir_notify_init(&notify);
	return rig_setup(state);
}

static int
teardown(void **state)
{
	weir_notify_fini(&notify);
	return rig_teardown(state);
}

static void
first_that_waits_is_told(void **state)
{
	struct weir_join *first, *second;

	first = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, 1);
	second = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, 2);
	weir_notify_one(&notify);
	assert_int_equal(waiter_join(first), 0);
	assert_int_equal(waiters(&notify), 1);
	weir_notify_one(&notify);
	assert_int_equal(waiter_join(second), 0);
}

static void
one_note_is_kept(void **state)
{
	struct weir_join *join;

	weir_notify_one(&notify);
	weir_notify_one(&notify);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, wait_for_note, &notify)), 0);
	join = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, 1);
	waiter_abort(join);
}

static void
all_that_wait_are_told_and_nobody_later(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *joins[40], *later;
	unsigned int i;

	weir_notify_all(&notify);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, wait_for_note, &notify);
	thread = waiter_thread_start(wait_for_note, &notify);
	waiter_wait_for(&notify, RTE_DIM(joins) + 1);
	weir_notify_all(&notify);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
	assert_int_equal(waiter_thread_join(thread), 0);
	later = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, 1);
	waiter_abort(later);
}

/* Told while no worker can run them, and aborted then. */
static void
give_up_after_note(void (*tell)(struct weir_notify *notify))
{
	struct rig_blockers b;
	struct weir_join *join;

	join = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, 1);
	rig_block(&b, rig.rt);
	tell(&notify);
	assert_int_equal(waiters(&notify), 0);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
}

static void
note_to_one_that_gave_up_goes_to_the_next(void **state)
{
	give_up_after_note(weir_notify_one);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, wait_for_note, &notify)), 0);
}

static void
note_to_all_is_nobody_elses(void **state)
{
	struct weir_join *join;

	give_up_after_note(weir_notify_all);
	join = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, 1);
	waiter_abort(join);
}

static void
close_wakes_every_waiter(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;

	join = waiter_spawn(rig.rt, wait_for_note, &notify);
	thread = waiter_thread_start(wait_for_note, &notify);
	waiter_wait_for(&notify, 2);
	weir_notify_close(&notify);
	assert_int_equal(waiter_join(join), -EPIPE);
	assert_int_equal(waiter_thread_join(thread), -EPIPE);
	weir_notify_one(&notify);
	assert_int_equal(weir_notify_wait(NULL, &notify, NULL), -EPIPE);
}

static void
workers_may_not_block_nor_waits_be_used_twice(void **state)
{
	waiter_check_refusals(rig.rt, wait_for_note, &notify);
	assert_int_equal(waiters(&notify), 0);
	/* Nor do they where a note is kept, which stays for others. */
	weir_notify_one(&notify);
	waiter_check_refusals(rig.rt, wait_for_note, &notify);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, wait_for_note, &notify)), 0);
}

static struct weir_join *earlier, *newcomer;
/* 1: it waited when it came; 2: it did not. */
static struct atomic_u32 came;

static int
come(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	int rc = weir_notify_wait(ctx, what, wait);

	if (rig_get(&came) == 0)
		rig_set(&came, rc == WEIR_PENDING ? 1 : 2);
	return rc;
}

/* The note waits for those in front to have been told theirs. */
static void
come_between(void)
{
	newcomer = waiter_spawn(rig.rt, come, &notify);
	rig_wait_until(rig_get(&came) != 0);
}

/* When one batch of those who are told has left the line, and others are in it. */
static void
wait_and_tell(void)
{
	unsigned int n = waiters(&notify);

	assert_true(n > 0);
	earlier = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, n + 1);
	before_wake(come_between);
	weir_notify_one(&notify);
}

/* A crowd is told; what is called when its first batch has left the line. */
static void
tell_crowd(void (*call)(void))
{
	struct weir_join *joins[BEFORE_WAKE_CROWD];
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, RTE_DIM(joins));
	before_wake(call);
	weir_notify_all(&notify);
	assert_true(before_wake_called());
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
}

static void
newcomer_takes_no_note_of_who_came_before(void **state)
{
	rig_set(&came, 0);
	tell_crowd(wait_and_tell);
	assert_int_equal(rig_get(&came), 1);
	assert_int_equal(waiter_join(earlier), 0);
	assert_int_equal(waiters(&notify), 1);
	weir_notify_one(&notify);
	assert_int_equal(waiter_join(newcomer), 0);
}

static struct weir_join *two[2];

static void
tell_another(void)
{
	weir_notify_one(&notify);
}

/* When one batch has left the line: two join it behind the others, and are told. */
static void
two_come_and_are_told(void)
{
	unsigned int n = waiters(&notify), i;

	/* More than a batch: the lock is free between the two notes, too. */
	assert_true(n > 0);
	for (i = 0; i < RTE_DIM(two); i++)
		two[i] = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, n + RTE_DIM(two));
	before_wake(tell_another);
	weir_notify_one(&notify);
	assert_true(before_wake_called());
}

static void
notes_given_while_others_are_told_are_not_one(void **state)
{
	unsigned int i;

	tell_crowd(two_come_and_are_told);
	for (i = 0; i < RTE_DIM(two); i++)
		assert_int_equal(waiter_join(two[i]), 0);
	/* None is left. */
	two[0] = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, 1);
	waiter_abort(two[0]);
}

#define NOTES 2000

static void *
tell_often(void *arg)
{
	unsigned int i;

	for (i = 0; i < NOTES; i++)
		weir_notify_one(arg);
	return NULL;
}

/* Each waiter needs a note of its own; the tellers give enough of them. */
static void
no_note_is_lost(void **state)
{
	struct weir_join *joins[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, wait_for_note, &notify);
	waiter_wait_for(&notify, RTE_DIM(joins));
	for (i = 0; i < RTE_DIM(joins); i += 3)
		weir_join_abort(joins[i]);
	rig_threads(2, tell_often, &notify);
	for (i = 0; i < RTE_DIM(joins); i++) {
		int rc = rig_join(joins[i], NULL);

		assert_true(rc == 0 || (i % 3 == 0 && rc == -ECANCELED));
	}
	assert_int_equal(weir_notify_wait(NULL, &notify, NULL), 0);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

static struct atomic_u32 went_on;

static void *
wait_and_go_on(void *arg)
{
	if (weir_notify_wait(NULL, arg, NULL) == 0)
		rig_set(&went_on, 1);
	pthread_testcancel();
	return NULL;
}

/* Its place in line is on its stack: it goes when that is its own again. */
static void
cancelled_thread_waits_on(void **state)
{
	pthread_t thread;
	void *result;

	rig_set(&went_on, 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_and_go_on, &notify),
			 0);
	waiter_wait_for(&notify, 1);
	assert_int_equal(pthread_cancel(thread), 0);
	weir_notify_one(&notify);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(rig_get(&went_on), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_that_waits_is_told, 1),
		TEST(first_that_waits_is_told, 2),
		TEST(one_note_is_kept, 1),
		TEST(all_that_wait_are_told_and_nobody_later, 2),
		TEST(note_to_one_that_gave_up_goes_to_the_next, 2),
		TEST(note_to_all_is_nobody_elses, 2),
		TEST(newcomer_takes_no_note_of_who_came_before, 2),
		TEST(notes_given_while_others_are_told_are_not_one, 2),
		TEST(close_wakes_every_waiter, 2),
		TEST(workers_may_not_block_nor_waits_be_used_twice, 1),
		TEST(cancelled_thread_waits_on, 1),
		TEST(no_note_is_lost, 1),
		TEST(no_note_is_lost, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
