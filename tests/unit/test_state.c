/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <inttypes.h>

#include <rte_common.h>

#include "task/state.h"

/* Bits of the word as letters, to keep the tables readable. */
#define R STATE_RUNNING
#define C STATE_COMPLETE
#define N STATE_NOTIFIED
#define X STATE_CANCELLED
#define J STATE_JOIN_INTEREST
#define W STATE_JOIN_WAKER
#define REFS(n) ((uint64_t)(n) << STATE_REF_SHIFT)

struct row {
	uint64_t before;
	uint64_t returns;
	uint64_t after;
};

/* Runs one transition on each row. */
#define check_rows(rows, call)                                             \
	do {                                                               \
		for (unsigned int i = 0; i < RTE_DIM(rows); i++) {         \
			struct task_state s = { { (rows)[i].before } };    \
			uint64_t got = (uint64_t)(call);                   \
			uint64_t word = atomic_u64_load(&s.word, RELAXED); \
			check_row(&(rows)[i], got, word);                  \
		}                                                          \
	} while (0)

static void
check_row(const struct row *row, uint64_t got, uint64_t word)
{
	if (got != row->returns || word != row->after)
		fail_msg("from 0x%" PRIx64 ": returned 0x%" PRIx64
			 ", not 0x%" PRIx64 "; became 0x%" PRIx64
			 ", not 0x%" PRIx64,
			 row->before, got, row->returns, word, row->after);
}

static void
new_task_is_notified_and_has_three_references(void **state)
{
	struct task_state s;

	state_init(&s);
	assert_int_equal(state_load(&s), J | N | REFS(3));
	assert_int_equal(state_refs(state_load(&s)), 3);
}

static void
running_is_taken_by_one(void **state)
{
	const struct row rows[] = {
		{ N | J | REFS(3), STATE_RUN_POLL, R | J | REFS(3) },
		{ N | REFS(2), STATE_RUN_POLL, R | REFS(2) },
		{ N | REFS(1), STATE_RUN_POLL, R | REFS(1) },
		{ N | J | W | REFS(3), STATE_RUN_POLL, R | J | W | REFS(3) },
		{ N | X | J | REFS(3), STATE_RUN_CANCEL, R | X | J | REFS(3) },
		{ N | X | REFS(1), STATE_RUN_CANCEL, R | X | REFS(1) },
		/* Shutdown runs it. */
		{ N | R | X | J | REFS(3), STATE_RUN_NOTHING,
		  N | R | X | J | REFS(2) },
		/* Shutdown has ended it. */
		{ N | C | X | J | REFS(2), STATE_RUN_NOTHING,
		  N | C | X | J | REFS(1) },
		{ N | C | X | REFS(1), STATE_RUN_FREE, N | C | X | REFS(0) },
	};

	check_rows(rows, state_to_running(&s));
}

static void
idle_waits_unless_it_was_woken_or_cancelled(void **state)
{
	const struct row rows[] = {
		{ R | J | REFS(3), STATE_IDLE_WAIT, J | REFS(2) },
		{ R | J | W | REFS(4), STATE_IDLE_WAIT, J | W | REFS(3) },
		{ R | REFS(2), STATE_IDLE_WAIT, REFS(1) },
		{ R | REFS(1), STATE_IDLE_FREE, REFS(0) },
		{ R | N | J | REFS(3), STATE_IDLE_NOTIFIED, N | J | REFS(3) },
		{ R | N | REFS(1), STATE_IDLE_NOTIFIED, N | REFS(1) },
		{ R | X | J | REFS(3), STATE_IDLE_CANCEL, R | X | J | REFS(3) },
		{ R | X | N | REFS(2), STATE_IDLE_CANCEL, R | X | N | REFS(2) },
		{ R | X | REFS(1), STATE_IDLE_CANCEL, R | X | REFS(1) },
	};

	check_rows(rows, state_to_idle(&s, 0));
}

static void
next_turn_is_for_what_woke_it(void **state)
{
	const struct row rows[] = {
		{ R | J | REFS(3), STATE_RUN_POLL, R | J | REFS(3) },
		{ R | N | J | W | REFS(3), STATE_RUN_POLL,
		  R | J | W | REFS(3) },
		{ R | X | J | REFS(3), STATE_RUN_CANCEL, R | X | J | REFS(3) },
		{ R | X | N | REFS(1), STATE_RUN_CANCEL, R | X | N | REFS(1) },
	};

	check_rows(rows, state_to_next_turn(&s));
}

static void
turn_given_back_is_a_notification(void **state)
{
	const struct row rows[] = {
		{ R | J | REFS(3), true, N | J | REFS(3) },
		{ R | REFS(1), true, N | REFS(1) },
		/* One notification, however often it was woken. */
		{ R | N | J | W | REFS(3), true, N | J | W | REFS(3) },
		{ R | X | J | REFS(3), false, R | X | J | REFS(3) },
		{ R | X | N | REFS(1), false, R | X | N | REFS(1) },
	};

	check_rows(rows, state_to_notified(&s));
}

/* T6 */
static void
a_poll_s_end_counts_what_it_gave_away(void **state)
{
	const struct row idle[] = {
		{ R | J | REFS(3), STATE_IDLE_WAIT, J | REFS(3) },
		/* It has been used up already, to wake the task. */
		{ R | N | J | REFS(2), STATE_IDLE_NOTIFIED, N | J | REFS(3) },
		{ R | N | REFS(1), STATE_IDLE_NOTIFIED, N | REFS(2) },
		/* Or has been dropped: the list's is left. */
		{ R | REFS(1), STATE_IDLE_WAIT, REFS(1) },
		{ R | X | J | REFS(3), STATE_IDLE_CANCEL, R | X | J | REFS(3) },
	};

	check_rows(idle, state_to_idle(&s, 1));
}

static void
completion_says_who_has_the_rest(void **state)
{
	const struct row rows[] = {
		/* The handle: two references are gone. */
		{ R | J | REFS(3), STATE_COMPLETE_DONE, C | J | REFS(1) },
		{ R | J | N | X | REFS(4), STATE_COMPLETE_DONE,
		  C | J | N | X | REFS(2) },
		/* Nobody, or a waiter: they are kept until that is done. */
		{ R | REFS(3), STATE_COMPLETE_DROP, C | REFS(3) },
		/* And if nobody else is there, it is not said to anyone. */
		{ R | REFS(2), STATE_COMPLETE_LAST, R | REFS(2) },
		{ R | N | X | REFS(2), STATE_COMPLETE_LAST,
		  R | N | X | REFS(2) },
		{ R | J | W | N | X | REFS(4), STATE_COMPLETE_WAKER,
		  C | J | W | N | X | REFS(4) },
	};

	check_rows(rows, state_to_complete(&s, 2));
}

static void
waiter_is_given_back_after_completion(void **state)
{
	const struct row rows[] = {
		{ C | J | W | REFS(3), false, C | J | REFS(1) },
		/* The handle went meanwhile. */
		{ C | W | REFS(2), true, C | REFS(0) },
		{ C | W | N | REFS(3), false, C | N | REFS(1) },
	};

	check_rows(rows, state_join_waker_done(&s, 2));
}

static void
wake_by_value_uses_the_reference_up(void **state)
{
	const struct row rows[] = {
		/* Idle: the reference becomes the notification's. */
		{ J | REFS(3), STATE_WAKE_SCHEDULE, N | J | REFS(3) },
		{ REFS(1), STATE_WAKE_SCHEDULE, N | REFS(1) },
		{ X | REFS(2), STATE_WAKE_SCHEDULE, X | N | REFS(2) },
		/* Running: who runs it queues it, with the runner's own. */
		{ R | J | REFS(4), STATE_WAKE_NOTHING, R | N | J | REFS(3) },
		{ R | N | REFS(3), STATE_WAKE_NOTHING, R | N | REFS(2) },
		{ R | X | REFS(2), STATE_WAKE_NOTHING, R | X | N | REFS(1) },
		/* Notified already. */
		{ N | J | REFS(4), STATE_WAKE_NOTHING, N | J | REFS(3) },
		{ N | REFS(1), STATE_WAKE_FREE, N | REFS(0) },
		/* Ended. */
		{ C | J | REFS(2), STATE_WAKE_NOTHING, C | J | REFS(1) },
		{ C | REFS(1), STATE_WAKE_FREE, C | REFS(0) },
		{ C | N | REFS(2), STATE_WAKE_NOTHING, C | N | REFS(1) },
	};

	check_rows(rows, state_wake_by_value(&s));
}

static void
wake_by_ref_takes_a_reference_only_to_schedule(void **state)
{
	const struct row rows[] = {
		{ J | REFS(3), STATE_WAKE_SCHEDULE, N | J | REFS(4) },
		{ REFS(1), STATE_WAKE_SCHEDULE, N | REFS(2) },
		{ X | REFS(1), STATE_WAKE_SCHEDULE, X | N | REFS(2) },
		{ R | J | REFS(4), STATE_WAKE_NOTHING, R | N | J | REFS(4) },
		{ R | N | REFS(2), STATE_WAKE_NOTHING, R | N | REFS(2) },
		{ N | J | REFS(4), STATE_WAKE_NOTHING, N | J | REFS(4) },
		{ C | J | REFS(2), STATE_WAKE_NOTHING, C | J | REFS(2) },
		{ C | REFS(1), STATE_WAKE_NOTHING, C | REFS(1) },
	};

	check_rows(rows, state_wake_by_ref(&s));
}

static void
abort_schedules_a_task_that_waits(void **state)
{
	const struct row rows[] = {
		{ J | REFS(2), true, X | N | J | REFS(3) },
		{ J | W | REFS(2), true, X | N | J | W | REFS(3) },
		/* It will be dropped when its turn comes. */
		{ N | J | REFS(3), false, X | N | J | REFS(3) },
		{ R | J | REFS(3), false, R | X | J | REFS(3) },
		{ R | N | J | REFS(3), false, R | N | X | J | REFS(3) },
		/* Twice is once. */
		{ X | N | J | REFS(3), false, X | N | J | REFS(3) },
		{ X | R | J | REFS(3), false, X | R | J | REFS(3) },
		/* What has ended keeps its outcome. */
		{ C | J | REFS(1), false, C | J | REFS(1) },
		{ C | X | J | REFS(1), false, C | X | J | REFS(1) },
	};

	check_rows(rows, state_to_cancelled(&s));
}

static void
shutdown_claims_what_nobody_runs(void **state)
{
	const struct row rows[] = {
		{ J | REFS(2), true, R | X | J | REFS(2) },
		{ N | J | REFS(3), true, R | X | N | J | REFS(3) },
		{ X | N | J | REFS(3), true, R | X | N | J | REFS(3) },
		{ R | J | REFS(3), false, R | X | J | REFS(3) },
		{ R | N | REFS(2), false, R | X | N | REFS(2) },
	};

	check_rows(rows, state_to_shutdown(&s));
}

static void
shutdown_leaves_what_has_ended(void **state)
{
	struct task_state s = { { C | J | REFS(2) } };

	assert_false(state_to_shutdown(&s));
	assert_int_equal(state_load(&s) & (C | R), C);
	assert_int_equal(state_refs(state_load(&s)), 2);
}

static void
waiter_is_handed_over_until_completion(void **state)
{
	const struct row set[] = {
		{ J | REFS(2), true, J | W | REFS(2) },
		{ R | N | J | REFS(3), true, R | N | J | W | REFS(3) },
		{ C | J | REFS(2), false, C | J | REFS(2) },
	};
	const struct row unset[] = {
		{ J | W | REFS(2), true, J | REFS(2) },
		{ R | X | J | W | REFS(3), true, R | X | J | REFS(3) },
		{ C | J | W | REFS(2), false, C | J | W | REFS(2) },
		{ C | J | REFS(2), false, C | J | REFS(2) },
	};

	check_rows(set, state_join_waker_set(&s));
	check_rows(unset, state_join_waker_unset(&s));
}

static void
handle_leaves_with_its_reference(void **state)
{
	const struct row rows[] = {
		{ J | N | REFS(3), STATE_LEAVE_DONE, N | REFS(2) },
		{ R | J | REFS(2), STATE_LEAVE_DONE, R | REFS(1) },
		{ J | X | REFS(1), STATE_LEAVE_FREE, X | REFS(0) },
		/* Its outcome first. */
		{ C | J | REFS(1), STATE_LEAVE_COMPLETE, C | J | REFS(1) },
		{ C | J | N | REFS(2), STATE_LEAVE_COMPLETE,
		  C | J | N | REFS(2) },
	};

	check_rows(rows, state_join_leave(&s));
}

static void
handle_of_an_ended_task_ends(void **state)
{
	const struct row rows[] = {
		{ C | J | REFS(2), false, C | REFS(1) },
		{ C | J | N | X | REFS(3), false, C | N | X | REFS(2) },
		{ C | J | W | REFS(2), false, C | W | REFS(1) },
		{ C | J | W | REFS(1), true, C | J | W | REFS(1) },
		/* The last one: nobody reads the word any more. */
		{ C | J | REFS(1), true, C | J | REFS(1) },
	};

	check_rows(rows, state_join_end(&s));
}

static void
last_reference_tells_once(void **state)
{
	struct task_state s = { { C | REFS(2) } };

	state_ref_inc(&s);
	assert_int_equal(state_refs(state_load(&s)), 3);
	assert_false(state_ref_dec(&s, 2));
	assert_true(state_ref_dec(&s, 1));
	assert_int_equal(state_load(&s), C);

	atomic_u64_store(&s.word, C | N | REFS(2), RELAXED);
	assert_true(state_ref_dec(&s, 2));
}

/*
 * Every word that the invariants allow, with every call that may be made on it:
 * T1 holds afterwards, COMPLETE and CANCELLED stay, and references change by at
 * most one.
 */
static void
check_every(uint64_t before, unsigned int call)
{
	struct task_state s = { { before } };
	uint64_t after, refs = state_refs(before);

	switch (call) {
	case 0:
		state_wake_by_ref(&s);
		break;
	case 1:
		/* The waker is a reference besides the runner's. */
		if ((before & R) && refs < 2)
			return;
		state_wake_by_value(&s);
		break;
	case 2:
		state_to_cancelled(&s);
		break;
	case 3:
		state_to_shutdown(&s);
		break;
	default:
		if (!(before & J) || (before & (C | W)) == W)
			return;
		if (state_join_leave(&s) == STATE_LEAVE_COMPLETE)
			state_join_end(&s);
	}
	after = atomic_u64_load(&s.word, RELAXED);
	assert_int_not_equal(after & (R | C), R | C);
	assert_int_equal(before & (C | X) & ~after, 0);
	assert_in_range(state_refs(after) + 1, refs, refs + 2);
	if (before & C)
		assert_int_equal(after & C, C);
}

static void
every_allowed_word_stays_allowed(void **state)
{
	uint64_t bits, refs;
	unsigned int call;

	for (bits = 0; bits < STATE_REF_ONE; bits++) {
		if ((bits & (R | C)) == (R | C))
			continue;
		for (refs = 1; refs <= 4; refs++)
			for (call = 0; call < 5; call++)
				check_every(bits | REFS(refs), call);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_task_is_notified_and_has_three_references),
		cmocka_unit_test(running_is_taken_by_one),
		cmocka_unit_test(idle_waits_unless_it_was_woken_or_cancelled),
		cmocka_unit_test(next_turn_is_for_what_woke_it),
		cmocka_unit_test(turn_given_back_is_a_notification),
		cmocka_unit_test(a_poll_s_end_counts_what_it_gave_away),
		cmocka_unit_test(completion_says_who_has_the_rest),
		cmocka_unit_test(waiter_is_given_back_after_completion),
		cmocka_unit_test(wake_by_value_uses_the_reference_up),
		cmocka_unit_test(
			wake_by_ref_takes_a_reference_only_to_schedule),
		cmocka_unit_test(abort_schedules_a_task_that_waits),
		cmocka_unit_test(shutdown_claims_what_nobody_runs),
		cmocka_unit_test(shutdown_leaves_what_has_ended),
		cmocka_unit_test(waiter_is_handed_over_until_completion),
		cmocka_unit_test(handle_leaves_with_its_reference),
		cmocka_unit_test(handle_of_an_ended_task_ends),
		cmocka_unit_test(last_reference_tells_once),
		cmocka_unit_test(every_allowed_word_stays_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
