/* SPDX-License-Identifier: BSD-3-Clause */

/* Several waits of one task. */

#include "unit.h"

#include <errno.h>
#include <limits.h>

#include "waiter.h"

#define MS UINT64_C(1000000)
#define N 3

/* Each branch waits for a permit of its own, and counts its ends. */
static struct weir_semaphore sems[N];
static struct atomic_u32 ends[N];

static int
setup(void **state)
{
	unsigned int i;

	for (i = 0; i < N; i++) {
		assert_int_equal(weir_semaphore_init(&sems[i], 0), 0);
		rig_set(&ends[i], 0);
	}
	return rig_setup(state);
}

static int
teardown(void **state)
{
	unsigned int i;

	rig_teardown(state);
	for (i = 0; i < N; i++)
		weir_semaphore_fini(&sems[i]);
	return 0;
}

/* How a task waits for them, and what came of it, which is its result. */
enum way {
	FIRST,
	ALL,
	ALL_OR_ERROR,
	TIMEOUT,
	TOKEN
};

struct end {
	int rc;
	int branch_rc;
	int rcs[N];
};

struct selecting {
	enum way way;
	const struct weir_branch *branches;
	struct weir_token *token;
	struct weir_select select;
	struct weir_wait waits[N];
	struct weir_wait cancel;
	struct weir_sleep sleep;
	struct end end;
};

static int
poll_branch(struct weir_context *ctx, struct selecting *s, unsigned int i)
{
	int rc = weir_semaphore_acquire(ctx, &sems[i], 1, &s->waits[i]);

	if (rc != WEIR_PENDING)
		rig_add(&ends[i], 1);
	return rc;
}

#define BRANCH(i)                                                         \
	static int poll_##i(struct weir_context *ctx, void *state)        \
	{                                                                 \
		return poll_branch(ctx, state, i);                        \
	}                                                                 \
	static void cancel_##i(void *state)                               \
	{                                                                 \
		weir_wait_cancel(&((struct selecting *)state)->waits[i]); \
	}

BRANCH(0)
BRANCH(1)
BRANCH(2)

static const struct weir_branch branches[N] = {
	{ poll_0, cancel_0 },
	{ poll_1, cancel_1 },
	{ poll_2, cancel_2 },
};
/* How often cancel was called for a branch. */
static struct atomic_u32 given_up[N];

#define COUNTED(i)                                  \
	static void cancel_counted_##i(void *state) \
	{                                           \
		rig_add(&given_up[i], 1);           \
		cancel_##i(state);                  \
	}

COUNTED(0)
COUNTED(1)
COUNTED(2)

static const struct weir_branch counted[N] = {
	{ poll_0, cancel_counted_0 },
	{ poll_1, cancel_counted_1 },
	{ poll_2, cancel_counted_2 },
};
/* The second keeps its place in line. */
static const struct weir_branch keeping[N] = {
	{ poll_0, cancel_0 },
	{ poll_1, NULL },
	{ poll_2, cancel_2 },
};

static int
call(struct weir_context *ctx, struct selecting *s)
{
	struct end *e = &s->end;
	int first;

	switch (s->way) {
	case ALL:
		return weir_select_all(ctx, &s->select, s->branches, N, s,
				       WEIR_SELECT_UNTIL_ENDED, e->rcs);
	case ALL_OR_ERROR:
		return weir_select_all(ctx, &s->select, s->branches, N, s,
				       WEIR_SELECT_UNTIL_ERROR, e->rcs);
	case FIRST:
	case TIMEOUT:
	case TOKEN:
		break;
	}
	first = weir_select_first(ctx, &s->select, s->branches, N, s,
				  &e->branch_rc);
	if (s->way == TIMEOUT)
		return weir_timeout(ctx, &s->sleep, MS, first);
	if (s->way == TOKEN)
		return weir_token_bound(ctx, s->token, &s->cancel, first);
	return first;
}

static int
selecting_poll(struct weir_context *ctx, void *state)
{
	struct selecting *s = state;

	s->end.rc = call(ctx, s);
	return s->end.rc == WEIR_PENDING ? WEIR_PENDING : WEIR_DONE;
}

static void
selecting_drop(void *state)
{
	struct selecting *s = state;

	weir_select_cancel(&s->select, branches, N, s);
	weir_sleep_cancel(&s->sleep);
	weir_wait_cancel(&s->cancel);
}

static const struct weir_task_ops selecting_ops = {
	.name = "selecting",
	.state_size = sizeof(struct selecting),
	.poll = selecting_poll,
	.drop = selecting_drop,
	.result_offset = offsetof(struct selecting, end),
	.result_size = sizeof(struct end),
};

static struct weir_join *
spawn_with(enum way way, struct weir_token *token)
{
	struct selecting s = {
		.way = way,
		.branches = branches,
		.token = token,
	};
	struct weir_join *join =
		weir_task_spawn(rig.rt, &selecting_ops, &s, NULL);

	assert_non_null(join);
	return join;
}

static struct weir_join *
spawn(enum way way)
{
	return spawn_with(way, NULL);
}

static struct end
end_of(struct weir_join *join)
{
	struct end end;

	assert_int_equal(rig_join(join, &end), 0);
	return end;
}

static void
wait_for_all_in_line(void)
{
	unsigned int i;

	for (i = 0; i < N; i++)
		waiter_wait_for(&sems[i], 1);
}

static void
give(unsigned int i)
{
	assert_int_equal(weir_semaphore_release(&sems[i], 1), 0);
}

static void
expect_left(uint32_t first, uint32_t second, uint32_t third)
{
	const uint32_t left[N] = { first, second, third };
	unsigned int i;

	for (i = 0; i < N; i++) {
		assert_int_equal(waiters(&sems[i]), 0);
		assert_int_equal(weir_semaphore_available(&sems[i]), left[i]);
	}
}

static void
first_to_end_is_told_and_others_are_cancelled(void **state)
{
	struct weir_join *join = spawn(FIRST);
	struct end end;

	wait_for_all_in_line();
	give(1);
	end = end_of(join);
	assert_int_equal(end.rc, 1);
	assert_int_equal(end.branch_rc, 0);
	expect_left(0, 0, 0);
	/* An error ends a branch, too. */
	join = spawn(FIRST);
	wait_for_all_in_line();
	weir_semaphore_close(&sems[2]);
	end = end_of(join);
	assert_int_equal(end.rc, 2);
	assert_int_equal(end.branch_rc, -EPIPE);
	expect_left(0, 0, 0);
}

static void
losers_give_back_what_they_were_given(void **state)
{
	struct rig_blockers b;
	struct weir_join *join = spawn(FIRST);
	struct end end;

	wait_for_all_in_line();
	rig_block(&b, rig.rt);
	give(0);
	give(2);
	assert_int_equal(waiters(&sems[0]) + waiters(&sems[2]), 0);
	rig_unblock(&b);
	end = end_of(join);
	assert_int_equal(end.rc, 0);
	expect_left(0, 0, 1);
}

static void
expect_given_up(enum way way, int rc, unsigned int times)
{
	const struct selecting s = { .way = way, .branches = counted };
	struct weir_join *join =
		weir_task_spawn(rig.rt, &selecting_ops, &s, NULL);
	unsigned int i;

	assert_non_null(join);
	assert_int_equal(end_of(join).rc, rc);
	for (i = 0; i < N; i++)
		assert_int_equal(rig_get(&given_up[i]), times);
}

/* What they have got stays theirs, such as a lock; with an error nobody may know of it. */
static void
those_that_all_end_well_are_not_cancelled(void **state)
{
	unsigned int i;

	for (i = 0; i < N; i++) {
		rig_set(&given_up[i], 0);
		give(i);
	}
	expect_given_up(ALL, 0, 0);
	weir_semaphore_close(&sems[2]);
	for (i = 0; i < 2; i++)
		give(i);
	expect_given_up(ALL, -EPIPE, 1);
}

static void
dropped_task_gives_all_back(void **state)
{
	struct rig_blockers b;
	struct weir_join *join = spawn(ALL);

	wait_for_all_in_line();
	give(1);
	rig_wait_until(rig_get(&ends[1]) == 1);
	rig_block(&b, rig.rt);
	give(0);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	/* But for what a branch has taken. */
	expect_left(1, 0, 0);
}

/* Who is first, round by round, while all are ready. */
static int
select_often(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct selecting *s = what;
	unsigned int i, turns[N] = { 0 };
	int rc;

	for (i = 0; i < 3 * N; i++) {
		rc = weir_select_first(ctx, &s->select, s->branches, N, s,
				       &s->end.branch_rc);
		if (rc < 0)
			return rc;
		turns[rc]++;
		give((unsigned int)rc);
	}
	for (i = 0; i < N; i++)
		if (turns[i] != 3)
			return 0;
	return 1;
}

static void
branches_that_are_ready_take_turns(void **state)
{
	struct selecting s = { .branches = branches };
	unsigned int i;

	for (i = 0; i < N; i++)
		give(i);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, select_often, &s)),
			 1);
	expect_left(1, 1, 1);
}

/* A branch that waits for nothing. */
static int
ready_poll(struct weir_context *ctx, void *state)
{
	return 0;
}

static int
select_ready(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	static const struct weir_branch ready = { ready_poll, NULL };
	struct weir_select *select = what;
	unsigned int i;
	int rc, branch_rc;

	for (i = 0; i < 500; i++) {
		rc = weir_select_first(ctx, select, &ready, 1, NULL,
				       &branch_rc);
		if (rc < 0)
			return i < 130 ? 1 : 2;
		rc = weir_select_all(ctx, select, &ready, 1, NULL,
				     WEIR_SELECT_UNTIL_ENDED, NULL);
		if (rc < 0)
			return i < 130 ? 1 : 2;
	}
	return 3;
}

static void
branches_that_are_ready_spend_budget(void **state)
{
	struct weir_select select = { 0 };

	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, select_ready, &select)), 1);
}

/* Twice: the first branch is first, and the second was in line before. */
static int
select_twice(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct selecting *s = what;
	int rc;

	while (s->end.rcs[0] < 2) {
		rc = weir_select_first(ctx, &s->select, s->branches, N, s,
				       &s->end.branch_rc);
		if (rc < 0)
			return rc;
		s->end.rcs[++s->end.rcs[0]] = rc;
	}
	return 0;
}

static int
acquire_one(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_semaphore_acquire(ctx, what, 1, wait);
}

static void
branch_without_cancel_keeps_its_place(void **state)
{
	struct selecting s = { .branches = keeping };
	struct weir_join *join, *later;

	join = waiter_spawn(rig.rt, select_twice, &s);
	wait_for_all_in_line();
	later = waiter_spawn(rig.rt, acquire_one, &sems[1]);
	waiter_wait_for(&sems[1], 2);
	give(0);
	/* It has taken that, and waits for the next. */
	waiter_wait_for(&sems[0], 1);
	give(1);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(s.end.rcs[1], 0);
	assert_int_equal(s.end.rcs[2], 1);
	assert_int_equal(waiters(&sems[1]), 1);
	give(1);
	assert_int_equal(waiter_join(later), 0);
}

static void
all_are_asked_until_each_has_ended(void **state)
{
	struct weir_join *join = spawn(ALL);
	struct end end;

	wait_for_all_in_line();
	give(2);
	rig_wait_until(rig_get(&ends[2]) == 1);
	assert_int_equal(waiters(&sems[0]) + waiters(&sems[1]), 2);
	/* Nobody asks for this. */
	give(2);
	give(0);
	rig_wait_until(rig_get(&ends[0]) == 1);
	give(1);
	end = end_of(join);
	assert_int_equal(end.rc, 0);
	expect_left(0, 0, 1);
}

static void
error_of_one_is_told_when_all_have_ended(void **state)
{
	struct weir_join *join = spawn(ALL);
	struct end end;

	wait_for_all_in_line();
	weir_semaphore_close(&sems[1]);
	give(0);
	assert_int_equal(waiters(&sems[2]), 1);
	give(2);
	end = end_of(join);
	assert_int_equal(end.rc, -EPIPE);
	assert_int_equal(end.rcs[0], 0);
	assert_int_equal(end.rcs[1], -EPIPE);
	assert_int_equal(end.rcs[2], 0);
	expect_left(0, 0, 0);
}

static void
error_ends_all_if_so_asked(void **state)
{
	struct weir_join *join = spawn(ALL_OR_ERROR);
	struct end end;

	wait_for_all_in_line();
	give(0);
	weir_semaphore_close(&sems[1]);
	end = end_of(join);
	assert_int_equal(end.rc, -EPIPE);
	assert_int_equal(end.rcs[0], 0);
	assert_int_equal(end.rcs[1], -EPIPE);
	expect_left(0, 0, 0);
}

static void
time_bounds_a_select(void **state)
{
	struct weir_join *join;
	struct end end;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	join = spawn(TIMEOUT);
	/* Which begins when all are in line. */
	rig_wait_until(rig_timers(rig.rt) == 1);
	assert_int_equal(weir_clock_advance(rig.rt, 2 * MS), 0);
	end = end_of(join);
	assert_int_equal(end.rc, -ETIMEDOUT);
	expect_left(0, 0, 0);
	join = spawn(TIMEOUT);
	wait_for_all_in_line();
	give(2);
	end = end_of(join);
	assert_int_equal(end.rc, 2);
	assert_int_equal(weir_clock_resume(rig.rt), 0);
}

static void
token_bounds_a_select(void **state)
{
	struct weir_token *token = weir_token_create();
	struct weir_join *join;
	struct end end;

	assert_non_null(token);
	join = spawn_with(TOKEN, token);
	wait_for_all_in_line();
	waiter_wait_for(token, 1);
	give(1);
	end = end_of(join);
	assert_int_equal(end.rc, 1);
	join = spawn_with(TOKEN, token);
	wait_for_all_in_line();
	waiter_wait_for(token, 1);
	weir_token_cancel(token);
	end = end_of(join);
	assert_int_equal(end.rc, -ECANCELED);
	expect_left(0, 0, 0);
	weir_token_drop(token);
}

static int
select_nonsense(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct weir_select select = { 0 };
	int rc;

	assert_int_equal(weir_select_first(ctx, &select, NULL, 0, NULL, &rc),
			 -EINVAL);
	assert_int_equal(
		weir_select_first(ctx, &select, NULL, UINT_MAX, NULL, &rc),
		-EINVAL);
	assert_int_equal(weir_select_all(ctx, &select, NULL,
					 WEIR_SELECT_MAX + 1, NULL,
					 WEIR_SELECT_UNTIL_ENDED, NULL),
			 -EINVAL);
	/* All of none have ended. */
	return weir_select_all(ctx, &select, NULL, 0, NULL,
			       WEIR_SELECT_UNTIL_ENDED, NULL);
}

static void
numbers_that_make_no_sense_are_refused(void **state)
{
	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, select_nonsense, NULL)), 0);
}

#define CROWD 16

static struct atomic_u32 nobody_aborts;

/* One of the threads aborts every fourth task, the others give. */
static void *
give_or_abort(void *arg)
{
	struct weir_join **joins = arg;
	unsigned int i;

	if (atomic_u32_exchange(&nobody_aborts, 0, RELAXED) != 0) {
		for (i = 0; i < CROWD; i += 4)
			weir_join_abort(joins[i]);
		return NULL;
	}
	for (i = 0; i < N * CROWD; i++)
		give(i % N);
	return NULL;
}

static void
no_permit_is_lost_in_a_crowd(void **state)
{
	struct weir_join *joins[CROWD];
	uint32_t taken[N] = { 0 }, left;
	unsigned int i;
	struct end end;
	int rc;

	for (i = 0; i < CROWD; i++)
		joins[i] = spawn(FIRST);
	rig_set(&nobody_aborts, 1);
	rig_threads(3, give_or_abort, joins);
	for (i = 0; i < CROWD; i++) {
		rc = rig_join(joins[i], &end);
		if (rc == 0)
			taken[end.rc]++;
		else
			assert_true(i % 4 == 0 && rc == -ECANCELED);
	}
	for (i = 0; i < N; i++) {
		left = weir_semaphore_available(&sems[i]);
		assert_int_equal(waiters(&sems[i]), 0);
		assert_int_equal(left + taken[i], 2 * CROWD);
	}
}

/*
 * A branch that uses up each budget it gets, as one that drains a queue does, and one
 * that has ended before.
 */
struct unfair {
	struct weir_select select;
	bool all;
	unsigned int polls;
};

static int
greedy_poll(struct weir_context *ctx, void *state)
{
	while (weir_context_spend(ctx, 1) == 0)
		;
	return WEIR_PENDING;
}

static int
take_permit(struct weir_context *ctx, void *state)
{
	struct weir_wait wait = { 0 };

	return weir_semaphore_acquire(ctx, &sems[0], 1, &wait);
}

static int
unfair_poll(struct weir_context *ctx, void *state)
{
	static const struct weir_branch unfair[] = { { greedy_poll, NULL },
						     { take_permit, NULL } };
	struct unfair *u = state;
	int rc, rcs[2] = { 1, 1 };

	if (++u->polls > 2)
		return -ETIME;
	if (!u->all) {
		rc = weir_select_first(ctx, &u->select, unfair, 2, u, &rcs[1]);
		return rc != 1 ? rc : rcs[1];
	}
	weir_select_all(ctx, &u->select, unfair, 2, u, WEIR_SELECT_UNTIL_ENDED,
			rcs);
	/* The greedy one never ends. */
	return rcs[1] == 0 ? WEIR_DONE : WEIR_PENDING;
}

static const struct weir_task_ops unfair_ops = {
	.name = "unfair",
	.state_size = sizeof(struct unfair),
	.poll = unfair_poll,
};

static void
branch_that_uses_up_the_budget_is_not_in_the_way(void **state)
{
	struct unfair u = { .all = false };

	give(0);
	give(0);
	assert_int_equal(weir_runtime_block_on(rig.rt, &unfair_ops, &u, NULL),
			 0);
	u.all = true;
	assert_int_equal(weir_runtime_block_on(rig.rt, &unfair_ops, &u, NULL),
			 0);
}

/* More branches than units of budget, each a wait for a task; the last has ended. */
#define MANY 20
#define LITTLE 16

struct crowd {
	struct weir_select select;
	struct weir_join **joins;
	unsigned int next;
	unsigned int polls;
};

static int
join_next(struct weir_context *ctx, void *state)
{
	struct crowd *c = state;

	return weir_join_poll(ctx, c->joins[c->next++ % MANY], NULL);
}

static int
crowd_poll(struct weir_context *ctx, void *state)
{
	struct weir_branch each[MANY];
	struct crowd *c = state;
	unsigned int i;
	int rc;

	for (i = 0; i < MANY; i++)
		each[i] = (struct weir_branch){ join_next, NULL };
	c->next = c->select.begin;
	if (++c->polls > 10)
		return -ETIME;
	i = (unsigned int)weir_select_first(ctx, &c->select, each, MANY, c,
					    &rc);
	if (i == (unsigned int)WEIR_PENDING)
		return WEIR_PENDING;
	c->joins[i] = NULL;
	return i == MANY - 1 ? rc : -EBADE;
}

static const struct weir_task_ops crowd_ops = {
	.name = "crowd",
	.state_size = sizeof(struct crowd),
	.poll = crowd_poll,
};

static void
branches_may_be_more_than_units_of_budget(void **state)
{
	struct weir_join *joins[MANY];
	struct crowd c = { .joins = joins };
	struct weir_runtime *rt;
	struct weir_options o;
	unsigned int i;

	rig_options(&o, 0);
	o.current_thread = true;
	o.budget = LITTLE;
	o.name = "little";
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	for (i = 0; i < MANY; i++)
		joins[i] = waiter_spawn(rt, acquire_one, &sems[1]);
	weir_join_abort(joins[MANY - 1]);
	assert_int_equal(weir_runtime_block_on(rt, &crowd_ops, &c, NULL),
			 -ECANCELED);
	for (i = 0; i < MANY - 1; i++) {
		weir_join_abort(joins[i]);
		weir_join_detach(joins[i]);
	}
	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, NULL), 0);
	weir_runtime_free(rt);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_to_end_is_told_and_others_are_cancelled, 1),
		TEST(first_to_end_is_told_and_others_are_cancelled, 2),
		TEST(those_that_all_end_well_are_not_cancelled, 2),
		TEST(losers_give_back_what_they_were_given, 2),
		TEST(dropped_task_gives_all_back, 2),
		TEST(branches_that_are_ready_take_turns, 1),
		TEST(branches_that_are_ready_spend_budget, 1),
		TEST(branch_that_uses_up_the_budget_is_not_in_the_way, 1),
		TEST(branches_may_be_more_than_units_of_budget, 1),
		TEST(branch_without_cancel_keeps_its_place, 1),
		TEST(all_are_asked_until_each_has_ended, 1),
		TEST(error_of_one_is_told_when_all_have_ended, 2),
		TEST(error_ends_all_if_so_asked, 2),
		TEST(time_bounds_a_select, 2),
		TEST(token_bounds_a_select, 2),
		TEST(numbers_that_make_no_sense_are_refused, 1),
		TEST(no_permit_is_lost_in_a_crowd, 1),
		TEST(no_permit_is_lost_in_a_crowd, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
