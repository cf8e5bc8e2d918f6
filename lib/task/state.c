/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Transitions of the state word. See state.h for the bits and the invariants.
 *
 * All are one compare-and-swap loop around a pure function of the word. The
 * successful ones are ACQ_REL where the caller goes on to touch what the last
 * holder of a right wrote, or hands over what it wrote itself.
 */

#include "base/common.h"
#include "task/state.h"

/*
 * [task:A1] Every read-modify-write of the word releases what its thread did
 * to the cell and acquires what others did. Without it the next poller could
 * see the state bytes as they were before the last poll, and whoever takes the last reference could
 * free a cell that another thread still writes.
 */
static bool
swap(struct task_state *s, uint64_t *old, uint64_t new)
{
	/* [task:A1] both directions, see above. */
	return atomic_u64_cas(&s->word, old, new, ACQ_REL, ACQUIRE);
}

enum state_run
state_to_running(struct task_state *s)
{
	uint64_t old = state_load(s), new;

	do {
		WEIR_ASSERT(old & STATE_NOTIFIED, "T2");
		if (unlikely(old & (STATE_RUNNING | STATE_COMPLETE))) {
			new = old - STATE_REF_ONE;
			if (swap(s, &old, new))
				return state_refs(new) == 0 ? STATE_RUN_FREE :
							      STATE_RUN_NOTHING;
			continue;
		}
		new = (old | STATE_RUNNING) & ~STATE_NOTIFIED;
		if (likely(swap(s, &old, new)))
			return new & STATE_CANCELLED ? STATE_RUN_CANCEL :
						       STATE_RUN_POLL;
	} while (true);
}

enum state_idle
state_to_idle(struct task_state *s)
{
	uint64_t old = state_load(s), new;
	enum state_idle next;

	do {
		WEIR_ASSERT(old & STATE_RUNNING, "T1");
		if (unlikely(old & STATE_CANCELLED))
			return STATE_IDLE_CANCEL;
		new = old & ~STATE_RUNNING;
		if (old & STATE_NOTIFIED) {
			next = STATE_IDLE_NOTIFIED;
		} else {
			new -= STATE_REF_ONE;
			next = state_refs(new) == 0 ? STATE_IDLE_FREE :
						      STATE_IDLE_WAIT;
		}
	} while (!swap(s, &old, new));
	return next;
}

enum state_idle
state_to_yielded(struct task_state *s)
{
	uint64_t old = state_load(s);

	do {
		WEIR_ASSERT(old & STATE_RUNNING, "T1");
		if (unlikely(old & STATE_CANCELLED))
			return STATE_IDLE_CANCEL;
	} while (!swap(s, &old, (old & ~STATE_RUNNING) | STATE_NOTIFIED));
	return STATE_IDLE_NOTIFIED;
}

uint64_t
state_to_complete(struct task_state *s)
{
	uint64_t old = state_load(s), new;

	do {
		WEIR_ASSERT((old & STATE_RUNNING) && !(old & STATE_COMPLETE),
			    "T1");
		new = (old & ~STATE_RUNNING) | STATE_COMPLETE;
	} while (!swap(s, &old, new));
	return new;
}

uint64_t
state_join_waker_done(struct task_state *s)
{
	/* [task:A1] the waiter field goes back to the join handle. */
	return atomic_u64_fetch_and(&s->word, ~STATE_JOIN_WAKER, ACQ_REL) &
	       ~STATE_JOIN_WAKER;
}

enum state_wake
state_wake_by_value(struct task_state *s)
{
	uint64_t old = state_load(s), new;
	enum state_wake next;

	do {
		if (old & STATE_RUNNING) {
			/* The thread that runs it queues it afterwards. */
			new = (old | STATE_NOTIFIED) - STATE_REF_ONE;
			WEIR_ASSERT(state_refs(new) > 0, "T5");
			next = STATE_WAKE_NOTHING;
		} else if (old & (STATE_COMPLETE | STATE_NOTIFIED)) {
			new = old - STATE_REF_ONE;
			next = state_refs(new) == 0 ? STATE_WAKE_FREE :
						      STATE_WAKE_NOTHING;
		} else {
			new = old | STATE_NOTIFIED;
			next = STATE_WAKE_SCHEDULE;
		}
	} while (!swap(s, &old, new));
	return next;
}

enum state_wake
state_wake_by_ref(struct task_state *s)
{
	uint64_t old = state_load(s), new;
	enum state_wake next;

	do {
		if (old & STATE_COMPLETE)
			return STATE_WAKE_NOTHING;
		/*
		 * When it is notified already the word stays, but is swapped all
		 * the same: what the waker wrote must be seen by the poll to come.
		 */
		new = old | STATE_NOTIFIED;
		next = STATE_WAKE_NOTHING;
		if (!(old & (STATE_RUNNING | STATE_NOTIFIED))) {
			new += STATE_REF_ONE;
			next = STATE_WAKE_SCHEDULE;
		}
	} while (!swap(s, &old, new));
	return next;
}

bool
state_to_cancelled(struct task_state *s)
{
	uint64_t old = state_load(s), new;
	bool schedule;

	do {
		if (old & (STATE_COMPLETE | STATE_CANCELLED))
			return false;
		new = old | STATE_CANCELLED;
		schedule = !(old & (STATE_RUNNING | STATE_NOTIFIED));
		if (schedule)
			new = (new | STATE_NOTIFIED) + STATE_REF_ONE;
	} while (!swap(s, &old, new));
	return schedule;
}

bool
state_to_shutdown(struct task_state *s)
{
	uint64_t old = state_load(s), new;
	bool ours;

	do {
		ours = !(old & (STATE_RUNNING | STATE_COMPLETE));
		new = old | STATE_CANCELLED;
		if (ours)
			new |= STATE_RUNNING;
	} while (!swap(s, &old, new));
	return ours;
}

bool
state_join_waker_set(struct task_state *s)
{
	uint64_t old = state_load(s);

	do {
		WEIR_ASSERT(!(old & STATE_JOIN_WAKER), "T4");
		if (old & STATE_COMPLETE)
			return false;
	} while (!swap(s, &old, old | STATE_JOIN_WAKER));
	return true;
}

bool
state_join_waker_unset(struct task_state *s)
{
	uint64_t old = state_load(s);

	do {
		if (old & STATE_COMPLETE)
			return false;
		WEIR_ASSERT(old & STATE_JOIN_WAKER, "T4");
	} while (!swap(s, &old, old & ~STATE_JOIN_WAKER));
	return true;
}

uint64_t
state_join_drop(struct task_state *s)
{
	uint64_t old = state_load(s), new;

	do {
		WEIR_ASSERT(old & STATE_JOIN_INTEREST, "T3");
		new = old & ~STATE_JOIN_INTEREST;
		if (!(old & STATE_COMPLETE))
			new &= ~STATE_JOIN_WAKER;
	} while (!swap(s, &old, new));
	return old;
}

void
state_ref_inc(struct task_state *s)
{
	/* The caller holds a reference already, so nothing is learnt here. */
	atomic_u64_fetch_add(&s->word, STATE_REF_ONE, RELAXED);
}

bool
state_ref_dec(struct task_state *s, unsigned int n)
{
	/* [task:A1] the last one frees what all others wrote. */
	uint64_t old = atomic_u64_fetch_sub(&s->word, n * STATE_REF_ONE,
					    ACQ_REL);

	WEIR_ASSERT(state_refs(old) >= n, "T5");
	return state_refs(old) == n;
}
