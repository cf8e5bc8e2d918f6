/* SPDX-License-Identifier: BSD-3-Clause */

/* Condition variables: what is told under a mutex reaches those who wait without it. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "sync/wait.h"
#include "waiter.h"

static struct weir_mutex mutex;
static struct weir_cond cond;
/* With the mutex. */
static unsigned int items, taken;

/* What takes an item, and where it has come to. */
struct taker {
	bool waits;	 /* on the condition */
	unsigned int as; /* the first, the second, ... */
};

static int
begin(void **state)
{
	weir_mutex_init(&mutex);
	weir_cond_init(&cond, &mutex);
	items = taken = 0;
	return 0;
}

static int
end(void **state)
{
	/* As many as there can be: each that was granted has been taken, or given back. */
	assert_int_equal(
		weir_semaphore_release(&mutex.sem, WEIR_SEMAPHORE_MAX - 1), 0);
	assert_int_equal(
		weir_semaphore_try_acquire(&mutex.sem, WEIR_SEMAPHORE_MAX - 1),
		0);
	weir_cond_fini(&cond);
	weir_mutex_fini(&mutex);
	return 0;
}

static int
setup(void **state)
{
	return begin(state) + rig_setup(state);
}

static int
teardown(void **state)
{
	return end(state) + rig_teardown(state);
}

static int
take_item(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct taker *t = what;
	int rc;

	if (!t->waits) {
		rc = weir_mutex_lock(ctx, &mutex, wait);
		if (rc < 0)
			return rc;
	}
	while (t->waits || items == 0) {
		t->waits = true;
		rc = weir_cond_wait(ctx, &cond, wait);
		if (rc < 0)
			return rc;
		t->waits = false;
	}
	items--;
	t->as = ++taken;
	weir_mutex_unlock(&mutex);
	return 0;
}

/* How many wait to be told. */
static unsigned int
untold(void)
{
	struct sync *s = (struct sync *)&mutex.sem;
	const struct list_link *line = (const void *)&cond.reserved[1];
	const struct list_link *l;
	unsigned int n = 0;

	lock_acquire(&s->lock);
	for (l = line->next; l != line; l = l->next)
		n++;
	lock_release(&s->lock);
	return n;
}

static void
add_items(unsigned int n)
{
	assert_int_equal(weir_mutex_lock(NULL, &mutex, NULL), 0);
	items += n;
	weir_mutex_unlock(&mutex);
}

static unsigned int
items_taken(void)
{
	unsigned int n;

	assert_int_equal(weir_mutex_lock(NULL, &mutex, NULL), 0);
	n = taken;
	weir_mutex_unlock(&mutex);
	return n;
}

static bool
mutex_is_free(void)
{
	if (weir_mutex_try_lock(&mutex) != 0)
		return false;
	weir_mutex_unlock(&mutex);
	return true;
}

/* Takers that wait, one behind the other. */
static void
spawn_takers(struct taker *takers, struct weir_join **joins, unsigned int n)
{
	unsigned int i, before = untold();

	for (i = 0; i < n; i++) {
		takers[i] = (struct taker){ 0 };
		joins[i] = waiter_spawn(rig.rt, take_item, &takers[i]);
		rig_wait_until(untold() == before + i + 1);
	}
}

static void
first_that_waits_is_told(void **state)
{
	struct weir_join *joins[2];
	struct taker takers[2];

	spawn_takers(takers, joins, 2);
	assert_true(mutex_is_free());
	add_items(1);
	weir_cond_signal(&cond);
	assert_int_equal(waiter_join(joins[0]), 0);
	assert_int_equal(untold(), 1);
	assert_int_equal(items_taken(), 1);
	add_items(1);
	weir_cond_signal(&cond);
	assert_int_equal(waiter_join(joins[1]), 0);
	assert_true(mutex_is_free());
}

static void
signal_is_for_nobody_who_comes_later(void **state)
{
	struct weir_join *join;
	struct taker taker;

	weir_cond_signal(&cond);
	weir_cond_broadcast(&cond);
	spawn_takers(&taker, &join, 1);
	waiter_abort(join);
	assert_true(mutex_is_free());
}

static void
all_that_wait_are_told_and_nobody_later(void **state)
{
	struct weir_join *joins[40], *later;
	struct taker takers[RTE_DIM(joins)], late, of_thread = { 0 };
	struct waiter_thread *thread;
	unsigned int i;

	spawn_takers(takers, joins, RTE_DIM(joins));
	thread = waiter_thread_start(take_item, &of_thread);
	rig_wait_until(untold() == RTE_DIM(joins) + 1);
	add_items(RTE_DIM(joins) + 1);
	weir_cond_broadcast(&cond);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
	assert_int_equal(waiter_thread_join(thread), 0);
	spawn_takers(&late, &later, 1);
	assert_int_equal(items_taken(), RTE_DIM(joins) + 1);
	waiter_abort(later);
}

/* Told while another has the mutex, they wait for that, in the order of their places. */
static void
who_is_told_waits_for_the_mutex(void **state)
{
	struct weir_join *joins[3];
	struct taker takers[3];
	unsigned int i;

	spawn_takers(takers, joins, 3);
	assert_int_equal(weir_mutex_lock(NULL, &mutex, NULL), 0);
	items = 3;
	weir_cond_signal(&cond);
	weir_cond_signal(&cond);
	waiter_wait_for(&mutex, 2);
	weir_cond_broadcast(&cond);
	waiter_wait_for(&mutex, 3);
	assert_int_equal(untold(), 0);
	assert_int_equal(taken, 0);
	weir_mutex_unlock(&mutex);
	for (i = 0; i < 3; i++) {
		assert_int_equal(waiter_join(joins[i]), 0);
		assert_int_equal(takers[i].as, i + 1);
	}
}

/* What it was told goes on, whether it has been given the mutex by then or waits for it. */
static void
give_up_told(bool given)
{
	struct weir_join *joins[2];
	struct taker takers[2];
	struct rig_blockers b;

	spawn_takers(takers, joins, 2);
	assert_int_equal(weir_mutex_lock(NULL, &mutex, NULL), 0);
	items = 1;
	rig_block(&b, rig.rt);
	if (given)
		weir_mutex_unlock(&mutex);
	weir_cond_signal(&cond);
	assert_int_equal(untold(), 1);
	assert_int_equal(waiters(&mutex), given ? 0 : 1);
	weir_join_abort(joins[0]);
	rig_unblock(&b);
	assert_int_equal(rig_join(joins[0], NULL), -ECANCELED);
	if (!given) {
		waiter_wait_for(&mutex, 1);
		weir_mutex_unlock(&mutex);
	}
	assert_int_equal(waiter_join(joins[1]), 0);
	assert_true(mutex_is_free());
}

static void
signal_to_one_that_gave_up_goes_to_the_next(void **state)
{
	give_up_told(false);
	give_up_told(true);
}

static void
signal_to_the_last_that_gave_up_is_nobodys(void **state)
{
	struct weir_join *join;
	struct rig_blockers b;
	struct taker taker;

	spawn_takers(&taker, &join, 1);
	rig_block(&b, rig.rt);
	weir_cond_signal(&cond);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_true(mutex_is_free());
	spawn_takers(&taker, &join, 1);
	waiter_abort(join);
}

static struct atomic_u32 has_told;

/* A thread that tells all, and then waits itself. */
static int
tell_and_wait(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	int rc = weir_mutex_lock(ctx, &mutex, wait);

	if (rc < 0)
		return rc;
	weir_cond_broadcast(&cond);
	rig_set(&has_told, 1);
	rc = weir_cond_wait(ctx, &cond, wait);
	if (rc == 0)
		weir_mutex_unlock(&mutex);
	return rc;
}

static void
broadcast_to_one_that_gave_up_is_nobody_elses(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;
	struct rig_blockers b;
	struct taker taker;

	spawn_takers(&taker, &join, 1);
	rig_block(&b, rig.rt);
	rig_set(&has_told, 0);
	thread = waiter_thread_start(tell_and_wait, NULL);
	rig_wait_until(rig_get(&has_told) && untold() == 1);
	assert_false(mutex_is_free());
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_true(mutex_is_free());
	assert_int_equal(untold(), 1);
	weir_cond_signal(&cond);
	assert_int_equal(waiter_thread_join(thread), 0);
}

static void
who_gives_up_in_line_leaves_it(void **state)
{
	struct weir_join *joins[2];
	struct taker takers[2];

	spawn_takers(takers, joins, 2);
	waiter_abort(joins[0]);
	assert_int_equal(untold(), 1);
	assert_true(mutex_is_free());
	add_items(1);
	weir_cond_signal(&cond);
	assert_int_equal(waiter_join(joins[1]), 0);
}

/* Refused, it has changed nothing: whoever called has the mutex. */
static int
wait_without_taking(struct weir_context *ctx, void *what,
		    struct weir_wait *wait)
{
	return weir_cond_wait(ctx, what, wait);
}

static int outcomes[6];

/* Its caller has the mutex. */
static int
wait_for_two(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct weir_cond *other = what;

	outcomes[0] = weir_cond_wait(ctx, &cond, wait);
	outcomes[1] = weir_cond_wait(ctx, other, wait);
	outcomes[2] = weir_mutex_lock(ctx, &mutex, wait);
	weir_wait_cancel(wait);
	outcomes[3] = weir_mutex_try_lock(&mutex);
	outcomes[4] = weir_mutex_lock(ctx, &mutex, wait);
	outcomes[5] = weir_cond_wait(ctx, &cond, wait);
	weir_wait_cancel(wait);
	return 0;
}

static void
workers_may_not_block_nor_waits_be_used_twice(void **state)
{
	static const int expected[] = {
		WEIR_PENDING, -EBUSY, -EBUSY, 0, WEIR_PENDING, -EBUSY,
	};
	struct weir_cond other;

	assert_int_equal(weir_mutex_lock(NULL, &mutex, NULL), 0);
	waiter_check_refusals(rig.rt, wait_without_taking, &cond);
	assert_int_equal(untold(), 0);
	assert_false(mutex_is_free());
	weir_cond_init(&other, &mutex);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, wait_for_two, &other)), 0);
	assert_memory_equal(outcomes, expected, sizeof(expected));
	assert_false(mutex_is_free());
	weir_cond_fini(&other);
	weir_mutex_unlock(&mutex);
}

static struct atomic_u32 went_on;

static void *
take_and_go_on(void *arg)
{
	if (take_item(NULL, arg, NULL) == 0)
		rig_set(&went_on, 1);
	pthread_testcancel();
	return NULL;
}

static void
cancelled_thread_waits_on(void **state)
{
	struct taker taker = { 0 };
	pthread_t thread;
	void *result;

	rig_set(&went_on, 0);
	assert_int_equal(pthread_create(&thread, NULL, take_and_go_on, &taker),
			 0);
	rig_wait_until(untold() == 1);
	assert_int_equal(pthread_cancel(thread), 0);
	add_items(1);
	weir_cond_signal(&cond);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_int_equal(rig_get(&went_on), 1);
}

/* A barrier of a mutex and a condition: who misses a round waits for ever. */
#define PARTIES 4u
#define ROUNDS 3000u

static unsigned int came, generation;

struct party {
	unsigned int rounds, mine;
	enum {
		LOCK,
		WAIT
	} at;
};

static int
pass_rounds(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct party *p = what;
	int rc;

	while (p->rounds < ROUNDS) {
		if (p->at == LOCK) {
			rc = weir_mutex_lock(ctx, &mutex, wait);
			if (rc < 0)
				return rc;
			p->mine = generation;
			if (++came == PARTIES) {
				came = 0;
				generation++;
				weir_cond_broadcast(&cond);
			}
		}
		while (p->at == WAIT || generation == p->mine) {
			p->at = WAIT;
			rc = weir_cond_wait(ctx, &cond, wait);
			if (rc < 0)
				return rc;
			p->at = LOCK;
		}
		p->rounds++;
		weir_mutex_unlock(&mutex);
	}
	return 0;
}

/* Tasks whose budget is always spent, and a thread. */
static void
nobody_misses_a_round(void **state)
{
	struct party parties[PARTIES] = { 0 };
	struct weir_join *joins[PARTIES - 1];
	struct waiter_thread *thread;
	struct weir_options o;
	struct weir_runtime *rt;
	unsigned int i;

	came = generation = 0;
	rig_options(&o, 2);
	o.budget = 1;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rt, pass_rounds, &parties[i]);
	thread = waiter_thread_start(pass_rounds, &parties[i]);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
	assert_int_equal(waiter_thread_join(thread), 0);
	assert_int_equal(generation, ROUNDS);
	rig_runtime_free(rt);
}

#define ITEMS 4000

static struct taker crowd[2 * ITEMS];
static struct weir_join *crowd_joins[RTE_DIM(crowd)];
static struct atomic_u32 has_aborter;

/* One aborts each third of the crowd, while two give items to half of it. */
static void *
give_or_abort(void *arg)
{
	unsigned int i;

	if (atomic_u32_exchange(&has_aborter, 1, RELAXED) == 0) {
		for (i = 0; i < RTE_DIM(crowd); i += 3)
			weir_join_abort(crowd_joins[i]);
		return NULL;
	}
	for (i = 0; i < ITEMS / 2; i++) {
		weir_mutex_lock(NULL, &mutex, NULL);
		items++;
		weir_mutex_unlock(&mutex);
		weir_cond_signal(&cond);
	}
	return NULL;
}

/* Who is aborted gives on what it was told, so the others take all there is. */
static void
no_signal_is_lost(void **state)
{
	unsigned int i, ended = 0;
	int rc;

	for (i = 0; i < RTE_DIM(crowd); i++) {
		crowd[i] = (struct taker){ 0 };
		crowd_joins[i] = waiter_spawn(rig.rt, take_item, &crowd[i]);
	}
	rig_set(&has_aborter, 0);
	rig_threads(3, give_or_abort, NULL);
	rig_wait_until(items_taken() == ITEMS);
	for (i = 0; i < RTE_DIM(crowd); i++) {
		weir_join_abort(crowd_joins[i]);
		rc = rig_join(crowd_joins[i], NULL);
		assert_true(rc == 0 || rc == -ECANCELED);
		ended += rc == 0;
	}
	assert_int_equal(ended, ITEMS);
	assert_int_equal(items, 0);
	assert_true(mutex_is_free());
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_that_waits_is_told, 1),
		TEST(first_that_waits_is_told, 2),
		TEST(signal_is_for_nobody_who_comes_later, 1),
		TEST(all_that_wait_are_told_and_nobody_later, 2),
		TEST(who_is_told_waits_for_the_mutex, 2),
		TEST(signal_to_one_that_gave_up_goes_to_the_next, 2),
		TEST(signal_to_the_last_that_gave_up_is_nobodys, 1),
		TEST(broadcast_to_one_that_gave_up_is_nobody_elses, 2),
		TEST(who_gives_up_in_line_leaves_it, 1),
		TEST(workers_may_not_block_nor_waits_be_used_twice, 1),
		TEST(cancelled_thread_waits_on, 1),
		TEST(no_signal_is_lost, 1),
		TEST(no_signal_is_lost, 3),
		cmocka_unit_test_setup_teardown(nobody_misses_a_round, begin,
						end),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
