/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The state word against plain booleans. An input is a program of transitions,
 * each made by someone who may make it: a queue, a poller, a worker that watches,
 * shutdown, wakers, the join handle. Who there is also tells how many references there
 * must be. Shutdown goes by what it read at some time, of this task or of one before it.
 */

#include "fuzz.h"

#include <string.h>

#include "task/state.h"

#define WAKERS_MAX 8

enum runner {
	RUNNER_NONE,
	RUNNER_POLLER,	 /* has the reference of the notification */
	RUNNER_SHUTDOWN, /* leans on OWNED */
};

static struct task_state state;
static uint64_t seen; /* shutdown's */

static struct {
	/* The bits of the word. */
	bool running;
	bool complete;
	bool notified;
	bool cancelled;
	bool join_interest;
	bool join_waker;
	bool watched;
	bool owned;
	uint16_t place;
	/* Who has a reference. */
	bool was_owned; /* what OWNED became, which the runner has */
	bool queued;
	bool kept; /* as queued, with RUNNING; maybe from its start */
	bool left; /* as queued, to who watched */
	bool handle;
	enum runner runner;
	unsigned int wakers;
	bool owed; /* one of those is not counted yet */
	/* How far things are. */
	bool watching; /* the worker has not stopped */
	bool job;
	bool must_end; /* the runner was told that it is cancelled */
	unsigned int drops;
	unsigned int frees;
} m;

static unsigned int
model_refs(void)
{
	return m.was_owned + m.queued + m.kept + m.left + m.handle + m.wakers +
	       (m.runner == RUNNER_POLLER) - m.owed;
}

static uint64_t
model_word(void)
{
	return (m.running ? STATE_RUNNING : 0) |
	       (m.complete ? STATE_COMPLETE : 0) |
	       (m.notified ? STATE_NOTIFIED : 0) |
	       (m.cancelled ? STATE_CANCELLED : 0) |
	       (m.join_interest ? STATE_JOIN_INTEREST : 0) |
	       (m.join_waker ? STATE_JOIN_WAKER : 0) |
	       (m.watched ? STATE_WATCHED : 0) | (m.owned ? STATE_OWNED : 0) |
	       (uint64_t)m.place << STATE_PLACE_SHIFT |
	       model_refs() * STATE_REF_ONE;
}

/* A transition says whether it gave the last reference away. */
static void
check_free(bool told)
{
	fuzz_check(told == (model_refs() == 0 && !m.owned));
	m.frees += told;
}

static void
begin(struct fuzz_input *in)
{
	unsigned int how = fuzz_below(in, 16);

	memset(&m, 0, sizeof(m));
	m.job = how % 4 == 0;
	/* N1 of run.h */
	m.kept = !m.job && how >= 8;
	m.running = m.kept;
	m.notified = !m.kept;
	m.queued = !m.kept;
	m.owned = !m.job;
	m.join_interest = m.job || how % 4 != 3;
	m.handle = m.join_interest;
	if (m.job) {
		state_begin_job(&state);
		return;
	}
	/* Some are of the same place. */
	m.place = how % 8 < 4 ? 0 : (uint16_t)fuzz_u32(in);
	state_begin(&state, m.place, !m.handle, m.kept);
}

/* A notification is taken from its queue. */
static void
run(void)
{
	enum state_run got;

	if (m.kept) {
		got = state_to_next_turn(&state);
		m.kept = false;
		m.notified &= m.cancelled;
		m.runner = RUNNER_POLLER;
		m.must_end = m.cancelled;
		fuzz_check(got ==
			   (m.cancelled ? STATE_RUN_CANCEL : STATE_RUN_POLL));
		return;
	}
	if (!m.queued)
		return;
	got = state_to_running(&state);
	m.queued = false;
	if (m.running || m.complete) {
		fuzz_check(got == STATE_RUN_NOTHING || got == STATE_RUN_FREE);
		check_free(got == STATE_RUN_FREE);
		return;
	}
	m.running = true;
	m.notified = false;
	m.runner = RUNNER_POLLER;
	m.must_end = m.cancelled;
	fuzz_check(got == (m.cancelled ? STATE_RUN_CANCEL : STATE_RUN_POLL));
}

/* What a poll that gave PENDING needs: a job's has no way to. */
static bool
may_pend(void)
{
	return m.runner == RUNNER_POLLER && !m.complete && !m.must_end &&
	       !m.job;
}

/* A poll yielded, and the task keeps RUNNING. */
static void
yield(void)
{
	if (!may_pend())
		return;
	if (m.owed)
		state_ref_inc(&state);
	m.owed = false;
	m.runner = RUNNER_NONE;
	m.kept = true;
}

/* One that did so gives it back, or ends. */
static void
give_turn_back(void)
{
	if (!m.kept)
		return;
	m.kept = false;
	fuzz_check(state_to_notified(&state) == !m.cancelled);
	if (m.cancelled) {
		m.must_end = true;
		m.runner = RUNNER_POLLER;
		return;
	}
	m.running = false;
	m.notified = true;
	m.queued = true;
}

/* A poll gave PENDING. */
static void
pend(void)
{
	enum state_idle got;

	if (!may_pend())
		return;
	got = state_to_idle(&state, m.owed);
	if (m.cancelled) {
		fuzz_check(got == STATE_IDLE_CANCEL);
		m.must_end = true;
		return;
	}
	m.running = false;
	m.owed = false;
	m.runner = RUNNER_NONE;
	if (m.notified) {
		fuzz_check(got == STATE_IDLE_NOTIFIED);
		m.queued = true;
		return;
	}
	fuzz_check(got == STATE_IDLE_WAIT);
	check_free(false);
}

/* The task's worker has nothing else to do; or one of another place looks at it. */
static void
watch(bool elsewhere)
{
	bool waits = m.owned && !m.running && !m.notified && !m.cancelled;
	bool told;

	if (m.watching)
		return;
	told = state_watch(&state, m.place ^ elsewhere);
	fuzz_check(told == (waits && !elsewhere));
	m.watched = told;
	m.watching = told;
}

/* It has something else to do, or has seen that it need not. */
static void
unwatch(void)
{
	if (!m.watching)
		return;
	fuzz_check(state_is_watched(&state) == m.watched);
	fuzz_check(state_unwatch(&state) == m.watched);
	m.watched = false;
	m.watching = false;
	m.queued |= m.left;
	m.left = false;
}

/* What the runner of a task that ends gives back, with what OWNED is by then. */
static unsigned int
runner_refs(void)
{
	return (m.owned || m.was_owned) + (m.runner == RUNNER_POLLER) - m.owed;
}

static void
runner_goes(void)
{
	m.was_owned = false;
	m.owed = false;
	m.runner = RUNNER_NONE;
}

/* The runner drops the task's state, and then it has ended. */
static void
complete(void)
{
	unsigned int refs;
	enum state_complete got;

	if (m.runner == RUNNER_NONE || m.complete)
		return;
	m.drops++;
	refs = runner_refs();
	got = state_to_complete(&state, refs);
	m.running = false;
	m.complete = true;
	m.was_owned = m.owned;
	m.owned = false;
	if (got == STATE_COMPLETE_LAST) {
		fuzz_check(!m.join_interest && refs == model_refs());
		/* Nobody looks at the rest any more. */
		fuzz_check(state_load(&state) == STATE_COMPLETE);
		runner_goes();
		check_free(true);
		atomic_u64_store(&state.word, model_word(), RELAXED);
		return;
	}
	if (!m.join_interest) {
		fuzz_check(got == STATE_COMPLETE_DROP && refs < model_refs());
	} else if (m.join_waker) {
		fuzz_check(got == STATE_COMPLETE_WAKER);
	} else {
		fuzz_check(got == STATE_COMPLETE_DONE);
		runner_goes();
	}
	fuzz_check(state_load(&state) == model_word());
}

/* The runner has woken a waiter that is no task, and goes. */
static void
give_waiter_back(void)
{
	unsigned int refs;

	if (m.runner == RUNNER_NONE || !m.complete || !m.join_waker)
		return;
	refs = runner_refs();
	runner_goes();
	m.join_waker = false;
	check_free(state_join_waker_done(&state, refs));
}

/* The runner has dropped an outcome, or uses a waiter up, and goes. */
static void
release(void)
{
	unsigned int refs;

	if (m.runner == RUNNER_NONE || !m.complete)
		return;
	refs = runner_refs();
	runner_goes();
	check_free(state_ref_dec(&state, refs));
}

static void
schedule(bool told)
{
	bool waits = !m.running && !m.complete && !m.notified;

	fuzz_check(told == (waits && !m.watched));
	m.notified = true;
	m.queued |= told;
	m.left |= waits && m.watched;
	m.watched = false;
}

static void
wake_by_value(void)
{
	enum state_wake got;
	bool ended = m.complete;

	if (m.wakers == 0)
		return;
	got = state_wake_by_value(&state);
	m.wakers--;
	if (!ended)
		schedule(got == STATE_WAKE_SCHEDULE);
	else
		fuzz_check(got != STATE_WAKE_SCHEDULE);
	check_free(got == STATE_WAKE_FREE);
}

static void
wake_by_ref(void)
{
	enum state_wake got;

	if (m.wakers == 0)
		return;
	got = state_wake_by_ref(&state);
	fuzz_check(got != STATE_WAKE_FREE);
	if (!m.complete)
		schedule(got == STATE_WAKE_SCHEDULE);
	else
		fuzz_check(got == STATE_WAKE_NOTHING);
}

static void
make_waker(void)
{
	bool by_poll = m.runner == RUNNER_POLLER && !m.complete;

	if (m.wakers == WAKERS_MAX || (!by_poll && !m.handle && m.wakers == 0))
		return;
	/* T6: a poll has one on credit; a job has no polls. */
	if (by_poll && m.owned && !m.owed)
		m.owed = true;
	else
		state_ref_inc(&state);
	m.wakers++;
}

static void
drop_waker(void)
{
	if (m.wakers == 0)
		return;
	m.wakers--;
	check_free(state_ref_dec(&state, 1));
}

static void
cancel(void)
{
	bool told;

	if (!m.handle && m.wakers == 0)
		return;
	told = state_to_cancelled(&state);
	if (m.complete || m.cancelled) {
		fuzz_check(!told);
		return;
	}
	m.cancelled = true;
	if (!m.running && !m.notified)
		schedule(told);
	else
		fuzz_check(!told);
}

/* It goes by what it saw: another place's task is not its own. */
static void
shut_down(void)
{
	const uint64_t ended = STATE_RUNNING | STATE_CANCELLED;
	bool told, comes;

	/* That worker sees to it itself, or has ended. */
	unwatch();
	comes = (seen & STATE_OWNED) && (seen & ended) != ended && m.owned &&
		state_place(seen) == m.place;
	told = state_to_shutdown(&state, seen);
	fuzz_check(told == (comes && !m.running));
	m.cancelled |= comes;
	if (told) {
		m.running = true;
		m.runner = RUNNER_SHUTDOWN;
	}
}

static void
look(void)
{
	seen = state_load(&state);
}

static void
set_waiter(void)
{
	bool told;

	if (!m.handle || m.join_waker)
		return;
	told = state_join_waker_set(&state);
	fuzz_check(told == !m.complete);
	m.join_waker |= told;
}

static void
take_waiter_back(void)
{
	if (!m.handle || (!m.join_waker && !m.complete))
		return;
	fuzz_check(state_join_waker_unset(&state) == !m.complete);
	if (!m.complete)
		m.join_waker = false;
}

static void
drop_handle(void)
{
	if (!m.handle || (m.join_waker && !m.complete))
		return;
	fuzz_check(state_join_leave(&state) == !m.complete);
	m.join_interest = false;
	m.handle = false;
	if (!m.complete) {
		check_free(false);
		return;
	}
	check_free(state_join_end(&state));
	/* Nobody writes what nobody reads. */
	if (m.frees > 0)
		atomic_u64_store(&state.word, model_word(), RELAXED);
}

static void
step(unsigned int op)
{
	switch (op % 16) {
	case 0:
	case 1:
		run();
		break;
	case 2:
		pend();
		break;
	case 3:
		if (op / 16 % 4 == 0)
			yield();
		else if (op / 16 % 4 == 1)
			give_turn_back();
		else if (op / 16 % 4 == 2)
			unwatch();
		else
			watch(op / 16 % 8 == 7);
		break;
	case 4:
		complete();
		break;
	case 5:
		give_waiter_back();
		break;
	case 6:
		release();
		break;
	case 7:
		wake_by_value();
		break;
	case 8:
		wake_by_ref();
		break;
	case 9:
	case 10:
		make_waker();
		break;
	case 11:
		drop_waker();
		break;
	case 12:
		cancel();
		break;
	case 13:
		if (op / 16 % 4 != 1)
			look();
		if (op / 16 % 4 != 2)
			shut_down();
		break;
	case 14:
		if (op / 16 % 2 == 0)
			set_waiter();
		else
			take_waiter_back();
		break;
	case 15:
		/* Seldom, so that it comes in the middle of something. */
		if (op / 16 == 0)
			drop_handle();
		break;
	}
}

static void
check(void)
{
	fuzz_check(m.frees <= 1 && m.drops <= 1);
	fuzz_check(state_load(&state) == model_word());
	fuzz_check(m.owned == (!m.job && !m.complete));
	/* T6, T7 */
	fuzz_check(m.frees == 1 ? model_refs() == 0 && !m.owned :
				  model_refs() > 0 || m.owned);
	/* No wake-up is lost: whoever runs it, or a queue, knows of it. */
	fuzz_check(!m.notified || m.running || m.complete || m.queued ||
		   m.left);
	/* T8 */
	fuzz_check(!m.watched ||
		   (m.owned && !(m.notified || m.running || m.cancelled)));
	/* RUNNING is somebody's. */
	fuzz_check(!m.running || m.kept || m.runner != RUNNER_NONE);
}

/* Everyone does what is left to do, and goes. */
static void
end(void)
{
	unwatch();
	take_waiter_back();
	drop_handle();
	while (m.wakers > 0)
		drop_waker();
	look();
	shut_down();
	complete();
	give_waiter_back();
	release();
	run();
	complete();
	give_waiter_back();
	release();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	seen = 0;
	begin(&in);
	while (in.left > 0) {
		/* The cell is used again. */
		if (m.frees == 1 && m.drops == 1)
			begin(&in);
		step(fuzz_u8(&in));
		check();
	}
	end();
	check();
	fuzz_check(model_refs() == 0);
	fuzz_check(m.frees == 1 && m.drops == 1);
	return 0;
}
