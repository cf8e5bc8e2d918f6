/* SPDX-License-Identifier: BSD-3-Clause */

/* Cancellation tokens. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>

#include "base/rand.h"
#include "waiter.h"

/* A root, and a child of a child of it. */
static struct weir_token *root, *child, *grandchild;

static int
wait_for_token(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_token_wait(ctx, what, wait);
}

static size_t heap_before;

static int
setup(void **state)
{
	int rc = rig_setup(state);

	heap_before = rig_heap_in_use();
	root = weir_token_create();
	child = weir_token_child(root);
	grandchild = weir_token_child(child);
	return rc;
}

/* What a test has dropped it has set to NULL; nothing may be left then. */
static int
teardown(void **state)
{
	weir_token_drop(root);
	weir_token_drop(child);
	weir_token_drop(grandchild);
	assert_int_equal(rig_heap_in_use(), heap_before);
	return rig_teardown(state);
}

static void
drop(struct weir_token **token)
{
	weir_token_drop(*token);
	*token = NULL;
}

static void
descendants_are_cancelled_and_nobody_else(void **state)
{
	struct weir_token *sibling = weir_token_child(root);

	weir_token_cancel(child);
	assert_true(weir_token_cancelled(child));
	assert_true(weir_token_cancelled(grandchild));
	assert_false(weir_token_cancelled(root));
	assert_false(weir_token_cancelled(sibling));
	weir_token_cancel(root);
	assert_true(weir_token_cancelled(root));
	assert_true(weir_token_cancelled(sibling));
	weir_token_drop(sibling);
}

static void
child_of_a_cancelled_token_is_cancelled(void **state)
{
	struct weir_token *late, *later;

	weir_token_cancel(root);
	late = weir_token_child(grandchild);
	later = weir_token_child(late);
	assert_true(weir_token_cancelled(later));
	weir_token_drop(late);
	/* Again it changes nothing, whatever has become of the others. */
	weir_token_cancel(root);
	weir_token_cancel(later);
	weir_token_drop(later);
}

static void
children_outlive_their_parents_handles(void **state)
{
	struct weir_token *other = weir_token_child(child);

	drop(&child);
	weir_token_cancel(grandchild);
	assert_false(weir_token_cancelled(other));
	assert_false(weir_token_cancelled(root));
	weir_token_cancel(root);
	assert_true(weir_token_cancelled(other));
	weir_token_drop(other);
}

static void
tokens_outlive_the_root_and_each_other(void **state)
{
	drop(&root);
	assert_false(weir_token_cancelled(child));
	weir_token_cancel(child);
	assert_true(weir_token_cancelled(grandchild));
	drop(&child);
	weir_token_drop(NULL);
}

static void
clone_is_the_same_token(void **state)
{
	struct weir_token *clone = weir_token_clone(child);

	drop(&child);
	assert_false(weir_token_cancelled(clone));
	weir_token_cancel(clone);
	assert_true(weir_token_cancelled(grandchild));
	weir_token_drop(clone);
}

static void
all_that_wait_are_told(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *joins[40], *other;
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = waiter_spawn(rig.rt, wait_for_token, grandchild);
	thread = waiter_thread_start(wait_for_token, child);
	other = waiter_spawn(rig.rt, wait_for_token, root);
	waiter_wait_for(grandchild, RTE_DIM(joins));
	waiter_wait_for(child, 1);
	waiter_wait_for(root, 1);
	weir_token_cancel(child);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(waiter_join(joins[i]), 0);
	assert_int_equal(waiter_thread_join(thread), 0);
	assert_int_equal(waiters(root), 1);
	waiter_abort(other);
	assert_int_equal(waiters(root), 0);
}

static void
who_comes_later_does_not_wait(void **state)
{
	weir_token_cancel(root);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, wait_for_token, grandchild)),
		0);
	assert_int_equal(weir_token_wait(NULL, child, NULL), 0);
}

static void
who_was_told_may_be_aborted(void **state)
{
	struct rig_blockers b;
	struct weir_join *join;

	join = waiter_spawn(rig.rt, wait_for_token, child);
	waiter_wait_for(child, 1);
	rig_block(&b, rig.rt);
	weir_token_cancel(root);
	assert_int_equal(waiters(child), 0);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
}

/* A plain thread's call, made on a worker. */
static int
block_on_worker(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_token_wait(NULL, what, NULL);
}

/* A wait that is in one line, and is used for another. */
static int
wait_twice(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	int rc = weir_token_wait(ctx, root, wait);

	assert_int_equal(rc, WEIR_PENDING);
	rc = weir_token_wait(ctx, child, wait);
	weir_wait_cancel(wait);
	return rc;
}

static void
bad_waits_are_refused(void **state)
{
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, block_on_worker, root)),
		-EDEADLK);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, wait_twice, NULL)),
			 -EBUSY);
}

/* Asks a token that is cancelled, again and again. */
static int
wait_often(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	unsigned int i;
	int rc;

	for (i = 0; i < 1000; i++) {
		rc = weir_token_wait(ctx, what, wait);
		if (rc < 0)
			return rc == WEIR_PENDING ? 0 : rc;
	}
	return 1;
}

static void
waits_that_are_ready_spend_budget(void **state)
{
	weir_token_cancel(root);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, wait_often, root)),
			 0);
	assert_true(rig_stats(rig.rt).forced_yields > 0);
}

/* A wait for a note that a token bounds. */
static struct weir_notify notify;

struct bounded {
	struct weir_wait wait;
	struct weir_wait cancel;
	int rc; /* the result */
};

static int
bounded_poll(struct weir_context *ctx, void *state)
{
	struct bounded *b = state;

	b->rc = weir_token_bound(ctx, child, &b->cancel,
				 weir_notify_wait(ctx, &notify, &b->wait));
	return b->rc == WEIR_PENDING ? WEIR_PENDING : WEIR_DONE;
}

static void
bounded_drop(void *state)
{
	struct bounded *b = state;

	weir_wait_cancel(&b->wait);
	weir_wait_cancel(&b->cancel);
}

static const struct weir_task_ops bounded_ops = {
	.name = "bounded",
	.state_size = sizeof(struct bounded),
	.poll = bounded_poll,
	.drop = bounded_drop,
	.result_offset = offsetof(struct bounded, rc),
	.result_size = sizeof(int),
};

static struct weir_join *
spawn_bounded(void)
{
	struct weir_join *join =
		weir_task_spawn(rig.rt, &bounded_ops, NULL, NULL);

	assert_non_null(join);
	waiter_wait_for(&notify, 1);
	waiter_wait_for(child, 1);
	return join;
}

static void
token_bounds_a_wait(void **state)
{
	struct weir_join *join;
	int rc;

	weir_notify_init(&notify);
	join = spawn_bounded();
	weir_notify_one(&notify);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(waiters(child), 0);
	join = spawn_bounded();
	weir_join_abort(join);
	assert_int_equal(rig_join(join, &rc), -ECANCELED);
	assert_int_equal(waiters(child), 0);
	join = spawn_bounded();
	weir_token_cancel(root);
	assert_int_equal(waiter_join(join), -ECANCELED);
	assert_int_equal(waiters(&notify), 0);
	/* What has come is taken all the same. */
	weir_notify_one(&notify);
	join = weir_task_spawn(rig.rt, &bounded_ops, NULL, NULL);
	assert_int_equal(waiter_join(join), 0);
	weir_notify_fini(&notify);
}

#define DEEP 20000

/* Far too little stack for a call of each. */
static void *
cancel_and_drop(void *arg)
{
	weir_token_cancel(arg);
	weir_token_drop(arg);
	return NULL;
}

/* Leaves no budget each time, as what drains a queue does. */
static int
drain_bounded(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	unsigned int *polls = what;
	int rc;

	while ((rc = weir_context_spend(ctx, 1)) == 0)
		;
	if (++*polls > 1000)
		return -ETIME;
	return weir_token_bound(ctx, root, wait, rc);
}

static void
token_bounds_what_leaves_no_budget(void **state)
{
	unsigned int polls = 0;

	weir_token_cancel(root);
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, drain_bounded, &polls)),
		-ECANCELED);
	assert_int_equal(polls, 1);
}

static void
deep_trees_need_no_stack(void **state)
{
	static struct weir_token *chain[DEEP];
	pthread_attr_t attr;
	pthread_t thread;
	unsigned int i;

	chain[0] = weir_token_create();
	for (i = 1; i < DEEP; i++) {
		chain[i] = weir_token_child(chain[i - 1]);
		assert_non_null(chain[i]);
	}
	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, 128 * 1024), 0);
	assert_int_equal(
		pthread_create(&thread, &attr, cancel_and_drop, chain[0]), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attr);
	for (i = 1; i < DEEP; i++) {
		assert_true(weir_token_cancelled(chain[i]));
		weir_token_drop(chain[i]);
	}
}

/* Each the only child of one that is gone. */
static void
chain_is_as_long_as_its_handles_are_many(void **state)
{
	struct weir_token *next;
	size_t before = 0;
	unsigned int i;

	for (i = 0; i < DEEP; i++) {
		next = weir_token_child(grandchild);
		weir_token_drop(grandchild);
		grandchild = next;
		if (i == 0)
			before = rig_heap_in_use();
	}
	assert_int_equal(rig_heap_in_use(), before);
	weir_token_cancel(root);
	assert_true(weir_token_cancelled(grandchild));
}

#define TURNS 2000
#define HANDLES 8

static uint64_t seed;

/* Handles of subtrees of its own, below a token that all threads have. */
static void *
change_tree(void *arg)
{
	struct weir_token *own[HANDLES] = { NULL };
	struct rand_state rand;
	unsigned int i, at, of;

	rand_seed(&rand, *(uint64_t *)arg + (uintptr_t)pthread_self());
	for (i = 0; i < TURNS; i++) {
		at = rand_below(&rand, HANDLES);
		of = rand_below(&rand, HANDLES);
		if (rand_below(&rand, 4) == 0 && own[at] != NULL)
			weir_token_cancel(own[at]);
		weir_token_drop(own[at]);
		own[at] = NULL;
		own[at] = own[of] == NULL ? weir_token_child(child) :
			  i % 16 == 0	  ? weir_token_clone(own[of]) :
					    weir_token_child(own[of]);
	}
	for (i = 0; i < HANDLES; i++)
		if (own[i] != NULL)
			weir_token_wait(NULL, own[i], NULL);
	for (i = 0; i < HANDLES; i++)
		weir_token_drop(own[i]);
	return NULL;
}

static struct weir_join *waiting[8];

/* Three change the tree, and one ends it all. */
static void *
change_or_cancel(void *arg)
{
	struct atomic_u32 *turn = arg;
	unsigned int i;

	if (atomic_u32_fetch_add(turn, 1, RELAXED) != 0)
		return change_tree(&seed);
	for (i = 0; i < RTE_DIM(waiting); i += 2)
		weir_join_abort(waiting[i]);
	weir_token_cancel(root);
	return NULL;
}

static void
storm_ends_with_the_root(void **state)
{
	struct atomic_u32 turn = { 0 };
	unsigned int i;
	int rc;

	seed = unit_seed();
	for (i = 0; i < RTE_DIM(waiting); i++)
		waiting[i] = waiter_spawn(rig.rt, wait_for_token, grandchild);
	rig_threads(4, change_or_cancel, &turn);
	for (i = 0; i < RTE_DIM(waiting); i++) {
		rc = rig_join(waiting[i], NULL);
		assert_true(rc == 0 || (i % 2 == 0 && rc == -ECANCELED));
	}
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(descendants_are_cancelled_and_nobody_else, 1),
		TEST(child_of_a_cancelled_token_is_cancelled, 1),
		TEST(children_outlive_their_parents_handles, 1),
		TEST(tokens_outlive_the_root_and_each_other, 1),
		TEST(clone_is_the_same_token, 1),
		TEST(all_that_wait_are_told, 1),
		TEST(all_that_wait_are_told, 2),
		TEST(who_comes_later_does_not_wait, 1),
		TEST(who_was_told_may_be_aborted, 2),
		TEST(bad_waits_are_refused, 1),
		TEST(waits_that_are_ready_spend_budget, 1),
		TEST(token_bounds_a_wait, 1),
		TEST(token_bounds_a_wait, 2),
		TEST(token_bounds_what_leaves_no_budget, 1),
		TEST(deep_trees_need_no_stack, 1),
		TEST(chain_is_as_long_as_its_handles_are_many, 1),
		TEST(storm_ends_with_the_root, 1),
		TEST(storm_ends_with_the_root, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
