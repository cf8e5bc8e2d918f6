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
#define O STATE_OWNED
#define T STATE_WATCHED
#define REFS(n) ((uint64_t)(n) << STATE_REF_SHIFT)

/* Of a task that is bound to it. */
#define PLACE UINT64_C(0xc5a3)
#define AT(place) ((uint64_t)(place) << STATE_PLACE_SHIFT)

struct row {
	uint64_t before;
	uint64_t returns;
	uint64_t after;
};

/* Runs one transition on each row, of which the place stays what it is. */
#define check_rows(rows, call)                                             \
	do {                                                               \
		for (unsigned int i = 0; i < 2 * RTE_DIM(rows); i++) {     \
			uint64_t at = AT(i % 2 * PLACE);                   \
			struct task_state s = { { (rows)[i / 2].before |   \
						  at } };                  \
			uint64_t got = (uint64_t)(call);                   \
			uint64_t word = atomic_u64_load(&s.word, RELAXED); \
			check_row(&(rows)[i / 2], at, got, word);          \
		}                                                          \
	} while (0)

static void
check_row(const struct row *row, uint64_t at, uint64_t got, uint64_t word)
{
	if (got != row->returns || word != (row->after | at))
		fail_msg("from 0x%" PRIx64 ": returned 0x%" PRIx64
			 ", not 0x%" PRIx64 "; became 0x%" PRIx64
			 ", not 0x%" PRIx64,
			 row->before | at, got, row->returns, word,
			 row->after | at);
}

static void
new_task_is_notified_and_owned(void **state)
{
	struct task_state s;

	state_begin(&s, PLACE, false, false);
	assert_int_equal(state_load(&s), O | J | N | REFS(2) | AT(PLACE));
	assert_int_equal(state_refs(state_load(&s)), 2);
	assert_int_equal(state_place(state_load(&s)), PLACE);
	state_begin(&s, PLACE, true, false);
	assert_int_equal(state_load(&s), O | N | REFS(1) | AT(PLACE));
	/* With its turn, it needs no notification. */
	state_begin(&s, PLACE, false, true);
	assert_int_equal(state_load(&s), O | J | R | REFS(2) | AT(PLACE));
	assert_int_equal(state_to_next_turn(&s), STATE_RUN_POLL);
	state_begin(&s, PLACE, true, true);
	assert_int_equal(state_load(&s), O | R | REFS(1) | AT(PLACE));
}

/* T7 */
static void
job_and_refused_task_are_not_owned(void **state)
{
	struct task_state s;

	state_begin_job(&s);
	assert_int_equal(state_load(&s), J | N | REFS(2));
	state_refuse(&s);
	assert_int_equal(state_load(&s), C | J | REFS(1));
}

static void
cell_is_kept_by_references_or_an_owner(void **state)
{
	assert_true(state_is_free(0));
	assert_true(state_is_free(C | N | X | AT(PLACE)));
	assert_false(state_is_free(REFS(1)));
	assert_false(state_is_free(O));
	/* As many as fit. */
	assert_false(state_is_free(REFS(UINT64_C(1) << 39)));
	assert_int_equal(state_refs(STATE_REFS | O | AT(PLACE)),
			 (UINT64_C(1) << 40) - 1);
}

static void
running_is_taken_by_one(void **state)
{
	const struct row rows[] = {
		{ N | J | REFS(3), STATE_RUN_POLL, R | J | REFS(3) },
		{ N | REFS(2), STATE_RUN_POLL, R | REFS(2) },
		{ N | REFS(1), STATE_RUN_POLL, R | REFS(1) },
		{ N | O | REFS(1), STATE_RUN_POLL, R | O | REFS(1) },
		{ N | J | W | REFS(3), STATE_RUN_POLL, R | J | W | REFS(3) },
		{ N | X | J | REFS(3), STATE_RUN_CANCEL, R | X | J | REFS(3) },
		{ N | X | REFS(1), STATE_RUN_CANCEL, R | X | REFS(1) },
		/* Shutdown runs it. */
		{ N | R | X | J | REFS(3), STATE_RUN_NOTHING,
		  N | R | X | J | REFS(2) },
		{ N | R | X | O | REFS(1), STATE_RUN_NOTHING,
		  N | R | X | O | REFS(0) },
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
		/* Nobody can wake it, but shutdown ends it. */
		{ R | O | REFS(1), STATE_IDLE_WAIT, O | REFS(0) },
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
		/* Or has been dropped. */
		{ R | O | REFS(0), STATE_IDLE_WAIT, O | REFS(0) },
		{ R | N | O | REFS(0), STATE_IDLE_NOTIFIED, N | O | REFS(1) },
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
		{ R | J | W | N | X | REFS(4), STATE_COMPLETE_WAKER,
		  C | J | W | N | X | REFS(4) },
		/* One of the two is that which OWNED becomes. */
		{ R | O | J | REFS(2), STATE_COMPLETE_DONE, C | J | REFS(1) },
		{ R | O | X | REFS(2), STATE_COMPLETE_DROP, C | X | REFS(3) },
		{ R | O | J | W | REFS(2), STATE_COMPLETE_WAKER,
		  C | J | W | REFS(3) },
	};

	check_rows(rows, state_to_complete(&s, 2));
}

/* There is nobody to be told of more than that. */
static void
completion_takes_the_last_references_at_once(void **state)
{
	const uint64_t rows[] = { R | REFS(2), R | N | X | REFS(2),
				  R | O | REFS(1), R | O | X | REFS(1) };
	struct task_state s;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		atomic_u64_store(&s.word, rows[i] | AT(PLACE), RELAXED);
		assert_int_equal(state_to_complete(&s, 2), STATE_COMPLETE_LAST);
		assert_int_equal(state_load(&s), C);
	}
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
		/* T6: the runner's is not counted yet. */
		{ R | O | REFS(1), STATE_WAKE_NOTHING, R | N | O | REFS(0) },
		/* T8: who watches queues it. */
		{ T | O | REFS(1), STATE_WAKE_NOTHING, N | O | REFS(1) },
		{ T | O | J | W | REFS(2), STATE_WAKE_NOTHING,
		  N | O | J | W | REFS(2) },
		/* Notified already. */
		{ N | J | REFS(4), STATE_WAKE_NOTHING, N | J | REFS(3) },
		{ N | REFS(2), STATE_WAKE_NOTHING, N | REFS(1) },
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
		{ T | O | REFS(1), STATE_WAKE_NOTHING, N | O | REFS(2) },
		{ T | O | J | REFS(2), STATE_WAKE_NOTHING,
		  N | O | J | REFS(3) },
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
		{ T | O | J | REFS(1), false, X | N | O | J | REFS(2) },
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

/* T8 */
static void
worker_watches_what_waits_and_is_bound_to_it(void **state)
{
	const struct row rows[] = {
		{ O | REFS(0), true, T | O | REFS(0) },
		{ O | J | W | REFS(3), true, T | O | J | W | REFS(3) },
		{ O | R | REFS(1), false, O | R | REFS(1) },
		{ O | N | REFS(1), false, O | N | REFS(1) },
		{ O | X | N | REFS(1), false, O | X | N | REFS(1) },
		{ O | R | X | REFS(1), false, O | R | X | REFS(1) },
		/* A job, what has ended, and a cell without a task. */
		{ N | J | REFS(2), false, N | J | REFS(2) },
		{ C | J | REFS(1), false, C | J | REFS(1) },
		{ C, false, C },
		{ 0, false, 0 },
	};
	struct task_state one = { { O | AT(PLACE) } };

	check_rows(rows, state_watch(&s, state_place(state_load(&s))));
	/* Another's. */
	assert_false(state_watch(&one, PLACE + 1));
	assert_false(state_is_watched(&one));
	assert_true(state_watch(&one, PLACE));
	assert_true(state_is_watched(&one));
	assert_true(state_unwatch(&one));
	assert_int_equal(state_load(&one), O | AT(PLACE));
}

/* T8 */
static void
who_watched_is_left_the_notification(void **state)
{
	const struct row rows[] = {
		{ T | O | J | W | REFS(2), true, O | J | W | REFS(2) },
		{ N | O | REFS(1), false, N | O | REFS(1) },
		{ N | X | O | J | REFS(2), false, N | X | O | J | REFS(2) },
	};

	check_rows(rows, state_unwatch(&s));
}

static void
shutdown_claims_what_nobody_runs(void **state)
{
	const struct row rows[] = {
		{ O | REFS(0), true, R | X | O | REFS(0) },
		{ O | J | REFS(1), true, R | X | O | J | REFS(1) },
		{ O | N | J | REFS(2), true, R | X | N | O | J | REFS(2) },
		{ O | X | N | J | REFS(2), true, R | X | N | O | J | REFS(2) },
		{ O | R | J | REFS(2), false, R | X | O | J | REFS(2) },
		{ O | R | N | REFS(1), false, R | X | N | O | REFS(1) },
		/* Who runs it knows. */
		{ O | R | X | REFS(1), false, R | X | O | REFS(1) },
		/* Nobody's, as a job is, or what a cell holds without a task. */
		{ N | J | REFS(2), false, N | J | REFS(2) },
		{ R | J | REFS(2), false, R | J | REFS(2) },
		{ C | J | REFS(1), false, C | J | REFS(1) },
		{ C, false, C },
		{ 0, false, 0 },
	};

	check_rows(rows, state_to_shutdown(&s, state_load(&s)));
}

/* What became of it since it was looked at. */
static void
shutdown_leaves_what_it_has_not_looked_at(void **state)
{
	const uint64_t looked_at = O | J | REFS(1) | AT(PLACE);
	const struct {
		uint64_t now;
		bool ends;
		uint64_t after;
	} rows[] = {
		/* The task, or another of the same place. */
		{ O | N | REFS(1) | AT(PLACE), true,
		  R | X | N | O | REFS(1) | AT(PLACE) },
		{ O | R | REFS(3) | AT(PLACE), false,
		  R | X | O | REFS(3) | AT(PLACE) },
		/* It has ended. */
		{ C | J | REFS(1) | AT(PLACE), false,
		  C | J | REFS(1) | AT(PLACE) },
		{ C, false, C },
		/* Another's, who is bound elsewhere. */
		{ O | J | REFS(1), false, O | J | REFS(1) },
		{ O | J | REFS(1) | AT(PLACE ^ 1), false,
		  O | J | REFS(1) | AT(PLACE ^ 1) },
	};
	struct task_state s;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		atomic_u64_store(&s.word, rows[i].now, RELAXED);
		assert_int_equal(state_to_shutdown(&s, looked_at),
				 rows[i].ends);
		assert_int_equal(state_load(&s), rows[i].after);
	}
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
		{ J | N | REFS(3), true, N | REFS(2) },
		{ R | J | REFS(2), true, R | REFS(1) },
		{ O | J | REFS(1), true, O | REFS(0) },
		/* Its outcome first. */
		{ C | J | REFS(1), false, C | J | REFS(1) },
		{ C | J | N | REFS(2), false, C | J | N | REFS(2) },
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

	/* It has not ended. */
	atomic_u64_store(&s.word, O | REFS(1), RELAXED);
	assert_false(state_ref_dec(&s, 1));
	assert_int_equal(state_load(&s), O);
}

/*
 * Every word that the invariants allow, with every call that may be made on it:
 * T1 and T8 hold afterwards, COMPLETE, CANCELLED, OWNED and the place stay, and
 * references change by at most one.
 */
static void
check_every(uint64_t before, unsigned int call)
{
	struct task_state s = { { before } };
	uint64_t after, refs = state_refs(before);

	/* But for shutdown and a worker that watches, who calls has a reference. */
	if (refs == 0 && (call < 3 || call > 5 || !(before & O)))
		return;
	/* A waker's is its own. */
	if (call < 2 && !state_has_refs(before, 1))
		return;
	switch (call) {
	case 0:
		state_wake_by_ref(&s);
		break;
	case 1:
		/* The waker is a reference besides the runner's (T6). */
		if ((before & R) && !(before & O) && refs < 2)
			return;
		state_wake_by_value(&s);
		break;
	case 2:
		state_to_cancelled(&s);
		break;
	case 3:
		/* T8: its worker has ended that, or sees to it. */
		if (before & T)
			return;
		state_to_shutdown(&s, before);
		break;
	case 4:
		if (before & T)
			return;
		state_watch(&s, state_place(before));
		break;
	case 5:
		state_unwatch(&s);
		break;
	default:
		/* Who has not ended is owned, or has a reference that is none's. */
		if (!(before & J) || (before & (C | W)) == W ||
		    (!(before & (C | O)) && refs < 2))
			return;
		if (!state_join_leave(&s))
			state_join_end(&s);
	}
	after = atomic_u64_load(&s.word, RELAXED);
	assert_int_not_equal(after & (R | C), R | C);
	assert_true(!(after & T) || !(after & (R | C | N | X)));
	assert_int_equal(before & (C | X) & ~after, 0);
	assert_int_equal((before ^ after) & O, 0);
	assert_int_equal(state_place(after), state_place(before));
	assert_uint_in_range(state_refs(after) + 1, refs, refs + 2);
	if (before & C)
		assert_int_equal(after & C, C);
}

static void
every_allowed_word_stays_allowed(void **state)
{
	uint64_t bits, refs;
	unsigned int call;

	for (bits = 0; bits < STATE_REF_ONE; bits++) {
		/* OWNED goes with COMPLETE. */
		if ((bits & (R | C)) == (R | C) || (bits & (O | C)) == (O | C))
			continue;
		/* T8 */
		if ((bits & T) && (bits & (R | C | N | X | O)) != O)
			continue;
		for (refs = 0; refs <= 4; refs++) {
			for (call = 0; call < 7; call++) {
				check_every(bits | REFS(refs), call);
				check_every(bits | REFS(refs) | AT(PLACE),
					    call);
			}
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_task_is_notified_and_owned),
		cmocka_unit_test(job_and_refused_task_are_not_owned),
		cmocka_unit_test(cell_is_kept_by_references_or_an_owner),
		cmocka_unit_test(running_is_taken_by_one),
		cmocka_unit_test(idle_waits_unless_it_was_woken_or_cancelled),
		cmocka_unit_test(next_turn_is_for_what_woke_it),
		cmocka_unit_test(turn_given_back_is_a_notification),
		cmocka_unit_test(a_poll_s_end_counts_what_it_gave_away),
		cmocka_unit_test(completion_says_who_has_the_rest),
		cmocka_unit_test(completion_takes_the_last_references_at_once),
		cmocka_unit_test(waiter_is_given_back_after_completion),
		cmocka_unit_test(wake_by_value_uses_the_reference_up),
		cmocka_unit_test(
			wake_by_ref_takes_a_reference_only_to_schedule),
		cmocka_unit_test(abort_schedules_a_task_that_waits),
		cmocka_unit_test(worker_watches_what_waits_and_is_bound_to_it),
		cmocka_unit_test(who_watched_is_left_the_notification),
		cmocka_unit_test(shutdown_claims_what_nobody_runs),
		cmocka_unit_test(shutdown_leaves_what_it_has_not_looked_at),
		cmocka_unit_test(waiter_is_handed_over_until_completion),
		cmocka_unit_test(handle_leaves_with_its_reference),
		cmocka_unit_test(handle_of_an_ended_task_ends),
		cmocka_unit_test(last_reference_tells_once),
		cmocka_unit_test(every_allowed_word_stays_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
