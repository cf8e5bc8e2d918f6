/* SPDX-License-Identifier: BSD-3-Clause */

/* Semaphores, and the locks that are made of them. */

#include "unit.h"

#include <errno.h>

#include "base/rand.h"
#include "waiter.h"

static struct weir_semaphore sem;

static int
acquire_one(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, what, 1, wait);
}

static int
acquire_two(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, what, 2, wait);
}

static int
setup(void **state)
{
	assert_int_equal(weir_semaphore_init(&sem, 0), 0);
	return rig_setup(state);
}

static int
teardown(void **state)
{
	weir_semaphore_fini(&sem);
	return rig_teardown(state);
}

static void
permits_are_taken_and_given_back(void **state)
{
	assert_int_equal(weir_semaphore_release(&sem, 3), 0);
	assert_int_equal(weir_semaphore_available(&sem), 3);
	assert_int_equal(weir_semaphore_try_acquire(&sem, 2), 0);
	assert_int_equal(weir_semaphore_try_acquire(&sem, 2), -EAGAIN);
	assert_int_equal(weir_semaphore_try_acquire(&sem, 1), 0);
	assert_int_equal(weir_semaphore_try_acquire(&sem, 0), 0);
	assert_int_equal(weir_semaphore_available(&sem), 0);
}

static void
numbers_that_make_no_sense_are_refused(void **state)
{
	struct weir_semaphore other;

	assert_int_equal(weir_semaphore_init(&other, WEIR_SEMAPHORE_MAX + 1),
			 -EINVAL);
	assert_int_equal(
		weir_semaphore_try_acquire(&sem, WEIR_SEMAPHORE_MAX + 1),
		-EINVAL);
	assert_int_equal(weir_semaphore_acquire(NULL, &sem, UINT32_MAX, NULL),
			 -EINVAL);
	assert_int_equal(weir_semaphore_release(&sem, 1), 0);
	assert_int_equal(weir_semaphore_release(&sem, WEIR_SEMAPHORE_MAX),
			 -EOVERFLOW);
	assert_int_equal(weir_semaphore_release(&sem, UINT32_MAX), -EOVERFLOW);
	assert_int_equal(weir_semaphore_available(&sem), 1);
}

static void
waiters_are_served_in_the_order_they_came(void **state)
{
	struct weir_join *two, *one;

	two = waiter_spawn(rig.rt, acquire_two, &sem);
	waiter_wait_for(&sem, 1);
	one = waiter_spawn(rig.rt, acquire_one, &sem);
	waiter_wait_for(&sem, 2);
	/* Enough for the second, who is not first; nor is a newcomer. */
	assert_int_equal(weir_semaphore_release(&sem, 1), 0);
	assert_int_equal(waiters(&sem), 2);
	assert_int_equal(weir_semaphore_try_acquire(&sem, 1), -EAGAIN);
	assert_int_equal(weir_semaphore_release(&sem, 1), 0);
	assert_int_equal(waiter_join(two), 0);
	assert_int_equal(waiters(&sem), 1);
	assert_int_equal(weir_semaphore_release(&sem, 1), 0);
	assert_int_equal(waiter_join(one), 0);
	assert_int_equal(weir_semaphore_available(&sem), 0);
}

static void
who_gives_up_lets_the_next_go(void **state)
{
	struct weir_join *two, *one;

	assert_int_equal(weir_semaphore_release(&sem, 1), 0);
	two = waiter_spawn(rig.rt, acquire_two, &sem);
	waiter_wait_for(&sem, 1);
	one = waiter_spawn(rig.rt, acquire_one, &sem);
	waiter_wait_for(&sem, 2);
	waiter_abort(two);
	assert_int_equal(waiter_join(one), 0);
}

/* Polled once, then never again until it is dropped. */
static void
what_was_granted_and_not_taken_goes_to_the_next(void **state)
{
	struct rig_blockers b;
	struct weir_join *first, *second;

	first = waiter_spawn(rig.rt, acquire_one, &sem);
	waiter_wait_for(&sem, 1);
	second = waiter_spawn(rig.rt, acquire_one, &sem);
	waiter_wait_for(&sem, 2);
	rig_block(&b, rig.rt);
	assert_int_equal(weir_semaphore_release(&sem, 1), 0);
	/* It has the permit, and no worker to tell it. */
	assert_int_equal(waiters(&sem), 1);
	weir_join_abort(first);
	rig_unblock(&b);
	assert_int_equal(rig_join(first, NULL), -ECANCELED);
	assert_int_equal(waiter_join(second), 0);
	assert_int_equal(weir_semaphore_available(&sem), 0);
}

static int
acquire_most(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, what, WEIR_SEMAPHORE_MAX, wait);
}

static void
what_was_granted_and_not_taken_counts_as_there(void **state)
{
	struct rig_blockers b;
	struct weir_join *join;

	join = waiter_spawn(rig.rt, acquire_most, &sem);
	waiter_wait_for(&sem, 1);
	rig_block(&b, rig.rt);
	assert_int_equal(weir_semaphore_release(&sem, WEIR_SEMAPHORE_MAX), 0);
	assert_int_equal(weir_semaphore_available(&sem), 0);
	assert_int_equal(weir_semaphore_release(&sem, 1), -EOVERFLOW);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(weir_semaphore_available(&sem), WEIR_SEMAPHORE_MAX);
	assert_int_equal(weir_semaphore_release(&sem, 1), -EOVERFLOW);
	/* When it is taken others may be added. */
	assert_int_equal(weir_semaphore_try_acquire(&sem, 1), 0);
	join = waiter_spawn(rig.rt, acquire_most, &sem);
	waiter_wait_for(&sem, 1);
	assert_int_equal(weir_semaphore_release(&sem, 1), 0);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(weir_semaphore_release(&sem, WEIR_SEMAPHORE_MAX), 0);
}

static void
close_wakes_every_waiter(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *joins[40];
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, acquire_one, &sem);
	thread = waiter_thread_start(acquire_one, &sem);
	waiter_wait_for(&sem, RTE_DIM(joins) + 1);
	weir_semaphore_close(&sem);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), -EPIPE);
	assert_int_equal(waiter_thread_join(thread), -EPIPE);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, acquire_one, &sem)),
			 -EPIPE);
	assert_int_equal(weir_semaphore_try_acquire(&sem, 0), -EPIPE);
	assert_int_equal(weir_semaphore_acquire(NULL, &sem, 1, NULL), -EPIPE);
}

static void
plain_threads_wait_beside_tasks(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;

	thread = waiter_thread_start(acquire_two, &sem);
	waiter_wait_for(&sem, 1);
	join = waiter_spawn(rig.rt, acquire_one, &sem);
	waiter_wait_for(&sem, 2);
	assert_int_equal(weir_semaphore_release(&sem, 3), 0);
	assert_int_equal(waiter_thread_join(thread), 0);
	assert_int_equal(waiter_join(join), 0);
}

/* A plain thread's call, made on a worker. */
static int
block_on_worker(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_semaphore_acquire(NULL, what, 1, NULL);
}

static void
workers_may_not_block(void **state)
{
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, block_on_worker, &sem)),
		-EDEADLK);
}

/* A wait that is in one line, and is used for another. */
static int
wait_twice(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct weir_semaphore *two = what;
	int rc;

	rc = weir_semaphore_acquire(ctx, &two[0], 1, wait);
	assert_int_equal(rc, WEIR_PENDING);
	rc = weir_semaphore_acquire(ctx, &two[1], 1, wait);
	weir_wait_cancel(wait);
	return rc;
}

/* The same one, and it has been given what it waits for. */
static int
ask_for_more(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct weir_semaphore *one = what;

	assert_int_equal(weir_semaphore_acquire(ctx, one, 1, wait),
			 WEIR_PENDING);
	assert_int_equal(weir_semaphore_acquire(ctx, one, 5, wait), -EBUSY);
	assert_int_equal(weir_semaphore_release(one, 1), 0);
	assert_int_equal(weir_semaphore_acquire(ctx, one, 5, wait), -EBUSY);
	return weir_semaphore_acquire(ctx, one, 1, wait);
}

static int
read_and_write(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct weir_rwlock *lock = what;

	assert_int_equal(weir_rwlock_read(ctx, lock, wait), WEIR_PENDING);
	assert_int_equal(weir_rwlock_write(ctx, lock, wait), -EBUSY);
	weir_rwlock_write_unlock(lock);
	assert_int_equal(weir_rwlock_write(ctx, lock, wait), -EBUSY);
	return weir_rwlock_read(ctx, lock, wait);
}

static void
wait_is_for_one_amount_at_a_time(void **state)
{
	struct weir_rwlock lock;

	assert_int_equal(waiter_join(waiter_spawn(rig.rt, ask_for_more, &sem)),
			 0);
	assert_int_equal(weir_semaphore_available(&sem), 0);
	weir_rwlock_init(&lock);
	assert_int_equal(weir_rwlock_try_write(&lock), 0);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, read_and_write, &lock)), 0);
	/* It reads, and does not write. */
	assert_int_equal(weir_rwlock_try_read(&lock), 0);
	assert_int_equal(weir_rwlock_try_write(&lock), -EAGAIN);
	weir_rwlock_read_unlock(&lock);
	weir_rwlock_read_unlock(&lock);
	assert_int_equal(weir_rwlock_try_write(&lock), 0);
	weir_rwlock_write_unlock(&lock);
	weir_rwlock_fini(&lock);
}

static void
wait_is_for_one_thing_at_a_time(void **state)
{
	struct weir_semaphore two[2];

	assert_int_equal(weir_semaphore_init(&two[0], 0), 0);
	assert_int_equal(weir_semaphore_init(&two[1], 1), 0);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, wait_twice, two)),
			 -EBUSY);
	assert_int_equal(weir_semaphore_available(&two[1]), 1);
	weir_semaphore_fini(&two[0]);
	weir_semaphore_fini(&two[1]);
}

static struct weir_wait shared_wait;

static int
acquire_by_shared_wait(struct weir_context *ctx, void *what,
		       struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, what, 1, &shared_wait);
}

/* While another task waits by it, and when that has been given its permit. */
static int
acquire_by_wait_of_another(struct weir_context *ctx, void *what,
			   struct weir_wait *wait)
{
	int before, after;

	before = acquire_by_shared_wait(ctx, what, wait);
	weir_semaphore_release(what, 1);
	after = acquire_by_shared_wait(ctx, what, wait);
	return before == -EBUSY && after == -EBUSY ? -EBUSY : -EPROTO;
}

static void
wait_is_of_one_task_at_a_time(void **state)
{
	struct weir_join *first;
	int rc, other_rc;

	first = waiter_spawn(rig.rt, acquire_by_shared_wait, &sem);
	waiter_wait_for(&sem, 1);
	other_rc = waiter_join(
		waiter_spawn(rig.rt, acquire_by_wait_of_another, &sem));
	/* Whoever has lost the permit waits no longer. */
	weir_semaphore_close(&sem);
	rc = waiter_join(first);
	assert_int_equal(other_rc, -EBUSY);
	assert_int_equal(rc, 0);
}

/* One that always gets what it wants. */
static int
take_and_give(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	unsigned int i;
	int rc;

	for (i = 0; i < 1000; i++) {
		rc = weir_semaphore_acquire(ctx, what, 1, wait);
		if (rc < 0)
			return rc == WEIR_PENDING ? 0 : rc;
		weir_semaphore_release(what, 1);
	}
	return 1;
}

static void
waits_that_are_ready_spend_budget(void **state)
{
	assert_int_equal(weir_semaphore_release(&sem, 1), 0);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, take_and_give, &sem)),
			 0);
	assert_true(rig_stats(rig.rt).forced_yields > 0);
}

#define CROWD 24
#define TURNS 200

static uint32_t inside, most_inside;

/* Takes the mutex over and over; what it guards is plain memory. */
struct locker {
	struct weir_mutex *mutex;
	struct weir_wait wait;
	unsigned int turns;
	bool held;
};

static int
locker_poll(struct weir_context *ctx, void *state)
{
	struct locker *l = state;
	int rc;

	while (l->turns < TURNS) {
		if (!l->held) {
			rc = weir_mutex_lock(ctx, l->mutex, &l->wait);
			if (rc < 0)
				return rc;
			l->held = true;
			inside++;
			most_inside = RTE_MAX(most_inside, inside);
			/* It keeps the lock across a wait. */
			if (l->turns % 8 == 0)
				return weir_context_yield(ctx);
		}
		inside--;
		l->held = false;
		l->turns++;
		weir_mutex_unlock(l->mutex);
	}
	return WEIR_DONE;
}

static void
locker_drop(void *state)
{
	struct locker *l = state;

	weir_wait_cancel(&l->wait);
	if (l->held) {
		inside--;
		weir_mutex_unlock(l->mutex);
	}
}

static const struct weir_task_ops locker_ops = {
	.name = "locker",
	.state_size = sizeof(struct locker),
	.poll = locker_poll,
	.drop = locker_drop,
};

static void *
lock_in_thread(void *arg)
{
	unsigned int i;

	for (i = 0; i < TURNS; i++) {
		assert_int_equal(weir_mutex_lock(NULL, arg, NULL), 0);
		inside++;
		most_inside = RTE_MAX(most_inside, inside);
		inside--;
		weir_mutex_unlock(arg);
	}
	return NULL;
}

static void
one_at_a_time_holds_the_mutex(void **state)
{
	struct weir_mutex mutex;
	struct locker l = { .mutex = &mutex };
	struct weir_join *joins[CROWD];
	struct rand_state rand;
	unsigned int i;
	int rc;

	rand_seed(&rand, unit_seed());
	weir_mutex_init(&mutex);
	inside = 0;
	most_inside = 0;
	for (i = 0; i < CROWD; i++) {
		joins[i] = weir_task_spawn(rig.rt, &locker_ops, &l, NULL);
		assert_non_null(joins[i]);
	}
	rig_threads(2, lock_in_thread, &mutex);
	for (i = 0; i < CROWD; i++)
		if (rand_below(&rand, 3) == 0)
			weir_join_abort(joins[i]);
	for (i = 0; i < CROWD; i++) {
		rc = rig_join(joins[i], NULL);
		assert_true(rc == 0 || rc == -ECANCELED);
	}
	assert_int_equal(inside, 0);
	assert_int_equal(most_inside, 1);
	assert_int_equal(weir_mutex_try_lock(&mutex), 0);
	assert_int_equal(weir_mutex_try_lock(&mutex), -EAGAIN);
	weir_mutex_unlock(&mutex);
	weir_mutex_fini(&mutex);
}

static int
read_lock(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_rwlock_read(ctx, what, wait);
}

static int
write_lock(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_rwlock_write(ctx, what, wait);
}

static void
readers_share_and_writers_do_not(void **state)
{
	struct weir_join *writer, *reader, *second;
	struct weir_rwlock lock;

	weir_rwlock_init(&lock);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, read_lock, &lock)),
			 0);
	assert_int_equal(weir_rwlock_try_read(&lock), 0);
	assert_int_equal(weir_rwlock_try_write(&lock), -EAGAIN);
	writer = waiter_spawn(rig.rt, write_lock, &lock);
	waiter_wait_for(&lock, 1);
	/* Behind the writer, though others read. */
	reader = waiter_spawn(rig.rt, read_lock, &lock);
	waiter_wait_for(&lock, 2);
	assert_int_equal(weir_rwlock_try_read(&lock), -EAGAIN);
	weir_rwlock_read_unlock(&lock);
	assert_int_equal(waiters(&lock), 2);
	weir_rwlock_read_unlock(&lock);
	assert_int_equal(waiter_join(writer), 0);
	second = waiter_spawn(rig.rt, write_lock, &lock);
	waiter_wait_for(&lock, 2);
	/* The writer becomes a reader, beside the one that waited. */
	weir_rwlock_downgrade(&lock);
	assert_int_equal(waiter_join(reader), 0);
	assert_int_equal(waiters(&lock), 1);
	weir_rwlock_read_unlock(&lock);
	weir_rwlock_read_unlock(&lock);
	assert_int_equal(waiter_join(second), 0);
	weir_rwlock_write_unlock(&lock);
	assert_int_equal(weir_rwlock_try_write(&lock), 0);
	weir_rwlock_write_unlock(&lock);
	weir_rwlock_fini(&lock);
}

static int
lock_mutex(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_mutex_lock(ctx, what, wait);
}

static void
workers_may_not_block_at_locks_nor_waits_be_used_twice(void **state)
{
	struct weir_rwlock lock;
	struct weir_mutex mutex;
	unsigned int i;

	weir_mutex_init(&mutex);
	weir_rwlock_init(&lock);
	/* Whether the lock could be had or not, it is as it was then. */
	for (i = 0; i < 2; i++) {
		waiter_check_refusals(rig.rt, lock_mutex, &mutex);
		assert_int_equal(waiters(&mutex), 0);
		assert_int_equal(weir_mutex_try_lock(&mutex),
				 i == 0 ? 0 : -EAGAIN);
		waiter_check_refusals(rig.rt, read_lock, &lock);
		waiter_check_refusals(rig.rt, write_lock, &lock);
		assert_int_equal(waiters(&lock), 0);
		assert_int_equal(weir_rwlock_try_write(&lock),
				 i == 0 ? 0 : -EAGAIN);
	}
	weir_mutex_unlock(&mutex);
	weir_rwlock_write_unlock(&lock);
	weir_mutex_fini(&mutex);
	weir_rwlock_fini(&lock);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(permits_are_taken_and_given_back, 1),
		TEST(numbers_that_make_no_sense_are_refused, 1),
		TEST(waiters_are_served_in_the_order_they_came, 1),
		TEST(waiters_are_served_in_the_order_they_came, 2),
		TEST(who_gives_up_lets_the_next_go, 2),
		TEST(what_was_granted_and_not_taken_goes_to_the_next, 2),
		TEST(what_was_granted_and_not_taken_counts_as_there, 2),
		TEST(close_wakes_every_waiter, 2),
		TEST(plain_threads_wait_beside_tasks, 2),
		TEST(workers_may_not_block, 1),
		TEST(wait_is_for_one_thing_at_a_time, 1),
		TEST(wait_is_for_one_amount_at_a_time, 1),
		TEST(wait_is_of_one_task_at_a_time, 1),
		TEST(waits_that_are_ready_spend_budget, 1),
		TEST(one_at_a_time_holds_the_mutex, 1),
		TEST(one_at_a_time_holds_the_mutex, 3),
		TEST(readers_share_and_writers_do_not, 2),
		TEST(workers_may_not_block_at_locks_nor_waits_be_used_twice, 1),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
