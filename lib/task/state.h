/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_STATE_H
#define TASK_STATE_H

/*
 * The state word of a task: where it is in its life, who still cares, and how
 * many references there are. Each transition is one function that says what its
 * caller must do next; nothing else writes the word of a task. The protocol is that of
 * tokio's runtime::task::state.
 *
 *	bit 0  RUNNING        one thread, or the queue that it yielded to or was
 *	                      spawned into, has the right to poll or drop the state
 *	bit 1  COMPLETE       ended; never unset, and RUNNING is never set again
 *	bit 2  NOTIFIED       a notification exists: in a queue, owed by the thread
 *	                      that runs it, or left to the worker that watched it
 *	bit 3  CANCELLED      to be dropped instead of polled
 *	bit 4  JOIN_INTEREST  the join handle exists
 *	bit 5  JOIN_WAKER     the waiter field belongs to the completing thread
 *	bit 6  WATCHED        its worker looks at the word itself, for a notification
 *	bit 7  OWNED          live, and its node's (owned.c): that keeps the cell as
 *	                      a reference does, and becomes one with COMPLETE
 *	bit 8+ references
 *	top 16 the place that it is bound to; the same for as long as it lives
 *
 * Invariants:
 * T1 RUNNING and COMPLETE are never both set.
 * T2 A task is in at most one queue, and with a reference that belongs to that
 *    place. NOTIFIED is set there; or else RUNNING, which belongs to that place
 *    too, and NOTIFIED if it was woken since (run.h). To be left to who watched it
 *    (T8) is such a place, too.
 * T3 The state bytes are touched by the holder of RUNNING only; the result
 *    bytes, after COMPLETE, by whoever ends JOIN_INTEREST or, if that was gone
 *    before COMPLETE, by the completing thread.
 * T4 The waiter field belongs to the join handle while JOIN_WAKER is unset and
 *    to the completing thread from COMPLETE on while it is set, which it stays
 *    if the waiter is a task's waker: that one is used up.
 * T5 The cell is given back by whoever takes the last of what keeps it, once.
 * T6 A poll may give one reference to its own task away before it is counted: the
 *    swap that ends the poll counts it, or an increment if it keeps RUNNING. Until
 *    then the poll has one itself, so when that is used up the count is 0, not less,
 *    and OWNED keeps the cell.
 * T7 A cell without a task, or with one that is nobody's to end, never has OWNED. Who
 *    looks for tasks (owned.c) reads the words of such cells too.
 * T8 WATCHED is set by the worker that the task is bound to, and only while nobody runs
 *    the task and it is not notified. Either that worker unsets it; or who notifies the
 *    task, of which this worker need not be told otherwise then: the notification and
 *    its reference are the worker's. Nothing else happens to the task meanwhile but
 *    that references, and what is the join handle's, come and go. That worker may ask
 *    for it in the cell of a task that has gone, if that is memory still (owned.c, O3):
 *    either there is such a task of its own, or nothing is changed.
 */

#include "base/atomic.h"
#include "base/common.h"

#define STATE_RUNNING (UINT64_C(1) << 0)
#define STATE_COMPLETE (UINT64_C(1) << 1)
#define STATE_NOTIFIED (UINT64_C(1) << 2)
#define STATE_CANCELLED (UINT64_C(1) << 3)
#define STATE_JOIN_INTEREST (UINT64_C(1) << 4)
#define STATE_JOIN_WAKER (UINT64_C(1) << 5)
#define STATE_WATCHED (UINT64_C(1) << 6)
#define STATE_OWNED (UINT64_C(1) << 7)
#define STATE_REF_SHIFT 8 /* next to OWNED: see state_to_complete() */
#define STATE_REF_ONE (UINT64_C(1) << STATE_REF_SHIFT)
#define STATE_PLACE_SHIFT 48
#define STATE_REFS ((UINT64_C(1) << STATE_PLACE_SHIFT) - STATE_REF_ONE)

/* References of its place in a queue and of the join handle. */
#define STATE_INITIAL (2 * STATE_REF_ONE | STATE_JOIN_INTEREST)

struct task_state {
	struct atomic_u64 word;
};

/*
 * The task is there from here on: everything else of it has been written. detached:
 * it has no join handle. kept: it has RUNNING from the start (run.h, N1).
 */
static inline void
state_begin(struct task_state *s, uint16_t place, bool detached, bool kept)
{
	const uint64_t less = STATE_REF_ONE | STATE_JOIN_INTEREST;
	uint64_t word = STATE_OWNED | STATE_INITIAL;

	word |= kept ? STATE_RUNNING : STATE_NOTIFIED;
	word |= (uint64_t)place << STATE_PLACE_SHIFT;
	/* [owned:A1] who finds OWNED reads what was written before. */
	atomic_u64_store(&s->word, detached ? word - less : word, RELEASE);
}

/* The same for one that is nobody's to end: a job of the blocking pool. */
static inline void
state_begin_job(struct task_state *s)
{
	atomic_u64_store(&s->word, STATE_INITIAL | STATE_NOTIFIED, RELAXED);
}

/* One that was never begun, with its join handle. */
static inline void
state_refuse(struct task_state *s)
{
	atomic_u64_store(&s->word,
			 STATE_REF_ONE | STATE_JOIN_INTEREST | STATE_COMPLETE,
			 RELAXED);
}

static inline uint64_t
state_load(const struct task_state *s)
{
	/* [task:A1] a reader that sees COMPLETE reads the result next. */
	return atomic_u64_load(&s->word, ACQUIRE);
}

static inline uint64_t
state_refs(uint64_t word)
{
	return (word & STATE_REFS) >> STATE_REF_SHIFT;
}

static inline uint16_t
state_place(uint64_t word)
{
	return (uint16_t)(word >> STATE_PLACE_SHIFT);
}

/* Does nothing keep the cell? */
static inline bool
state_is_free(uint64_t word)
{
	return (word & (STATE_OWNED | STATE_REFS)) == 0;
}

/*
 * [task:A1] Every read-modify-write of the word releases what its thread did to
 * the cell and acquires what others did. Without it the next poller could see
 * the state bytes as they were before the last poll, and whoever takes the last
 * reference could free a cell that another thread still writes.
 */
static inline bool
state_swap(struct task_state *s, uint64_t *old, uint64_t to)
{
	/* [task:A1] both directions, see above. */
	return atomic_u64_cas(&s->word, old, to, ACQ_REL, ACQUIRE);
}

/* A notification was taken from its queue: may it be polled? */
enum state_run {
	STATE_RUN_POLL, /* RUNNING is ours, and so is the notification's ref */
	STATE_RUN_CANCEL,  /* as POLL, but drop it */
	STATE_RUN_NOTHING, /* someone else ends it; the ref is gone */
	STATE_RUN_FREE,	   /* as NOTHING, and it was the last ref */
};

static inline enum state_run
state_to_running(struct task_state *s)
{
	uint64_t old = state_load(s), to;

	do {
		WEIR_ASSERT(old & STATE_NOTIFIED, "T2");
		WEIR_ASSERT(!(old & STATE_WATCHED), "T8");
		if (unlikely(old & (STATE_RUNNING | STATE_COMPLETE))) {
			to = old - STATE_REF_ONE;
			if (state_swap(s, &old, to))
				return state_is_free(to) ? STATE_RUN_FREE :
							   STATE_RUN_NOTHING;
			continue;
		}
		to = (old | STATE_RUNNING) & ~STATE_NOTIFIED;
		if (likely(state_swap(s, &old, to)))
			return to & STATE_CANCELLED ? STATE_RUN_CANCEL :
						      STATE_RUN_POLL;
	} while (true);
}

/* Poll gave PENDING. */
enum state_idle {
	STATE_IDLE_WAIT,     /* waits; our ref is gone */
	STATE_IDLE_NOTIFIED, /* woken meanwhile: queue it, with our ref */
	STATE_IDLE_CANCEL,   /* cancelled meanwhile: still RUNNING, drop it */
};

/* owed: 1 if the poll gave a reference away that is not counted yet (T6). */
static inline enum state_idle
state_to_idle(struct task_state *s, unsigned int owed)
{
	uint64_t old = state_load(s), to;
	enum state_idle next;

	do {
		WEIR_ASSERT(old & STATE_RUNNING, "T1");
		if (unlikely(old & STATE_CANCELLED))
			return STATE_IDLE_CANCEL;
		to = (old & ~STATE_RUNNING) + owed * STATE_REF_ONE;
		if (old & STATE_NOTIFIED) {
			next = STATE_IDLE_NOTIFIED;
		} else {
			to -= STATE_REF_ONE;
			WEIR_ASSERT(!state_is_free(to), "T6");
			next = STATE_IDLE_WAIT;
		}
	} while (!state_swap(s, &old, to));
	return next;
}

/*
 * One that kept RUNNING in a queue has its next turn. That is for what woke it
 * since, too. Gives STATE_RUN_POLL or STATE_RUN_CANCEL.
 */
static inline enum state_run
state_to_next_turn(struct task_state *s)
{
	uint64_t old = state_load(s);

	do {
		WEIR_ASSERT(old & STATE_RUNNING, "T2");
		if (likely(!(old & (STATE_CANCELLED | STATE_NOTIFIED))))
			break;
		if (old & STATE_CANCELLED)
			return STATE_RUN_CANCEL;
	} while (!state_swap(s, &old, old & ~STATE_NOTIFIED));
	return STATE_RUN_POLL;
}

/*
 * It gives RUNNING back, and has been notified instead. False, and no change: it
 * was cancelled, and whoever cancelled it counts on its next turn.
 */
static inline bool
state_to_notified(struct task_state *s)
{
	uint64_t old = state_load(s), to;

	do {
		WEIR_ASSERT(old & STATE_RUNNING, "T2");
		if (unlikely(old & STATE_CANCELLED))
			return false;
		to = (old & ~STATE_RUNNING) | STATE_NOTIFIED;
	} while (!state_swap(s, &old, to));
	return true;
}

/* RUNNING to COMPLETE: what is left to do? */
enum state_complete {
	STATE_COMPLETE_DONE, /* the handle has the rest; our refs are gone */
	STATE_COMPLETE_DROP, /* nobody takes the outcome; our refs are here */
	STATE_COMPLETE_LAST, /* as DROP, and nobody else has a ref: they are gone */
	STATE_COMPLETE_WAKER, /* the waiter is ours to wake; so are our refs */
};

/* refs: with the one that OWNED becomes. */
static inline enum state_complete
state_to_complete(struct task_state *s, unsigned int refs)
{
	uint64_t old = state_load(s), to;
	enum state_complete next;

	do {
		WEIR_ASSERT((old & STATE_RUNNING) && !(old & STATE_COMPLETE),
			    "T1");
		to = old +
		     (old & STATE_OWNED); /* it carries into the references */
		to = (to & ~STATE_RUNNING) | STATE_COMPLETE;
		if (!(old & STATE_JOIN_INTEREST)) {
			/*
			 * There is nobody to tell, and nobody who could come, but
			 * for shutdown, which may cancel it: that is late.
			 */
			if (state_refs(to) == refs) {
				atomic_u64_store(&s->word, STATE_COMPLETE,
						 RELAXED);
				return STATE_COMPLETE_LAST;
			}
			next = STATE_COMPLETE_DROP;
		} else if (old & STATE_JOIN_WAKER) {
			next = STATE_COMPLETE_WAKER;
		} else {
			next = STATE_COMPLETE_DONE;
			to -= refs * STATE_REF_ONE;
			WEIR_ASSERT(state_refs(to) > 0, "T5");
		}
	} while (!state_swap(s, &old, to));
	return next;
}

/* Gives the waiter field back, and n references. True: it was the last one. */
static inline bool
state_join_waker_done(struct task_state *s, unsigned int n)
{
	uint64_t less = STATE_JOIN_WAKER + n * STATE_REF_ONE;
	/* [task:A1] the waiter field goes back to the join handle. */
	uint64_t old = atomic_u64_fetch_sub(&s->word, less, ACQ_REL);

	WEIR_ASSERT((old & STATE_JOIN_WAKER) && state_refs(old) >= n, "T4");
	return state_refs(old) == n;
}

/* The word of a task that was watched, which is notified now (T8). */
static inline uint64_t
state_notify_watched(uint64_t word)
{
	return (word | STATE_NOTIFIED) & ~STATE_WATCHED;
}

/* Wake-ups. */
enum state_wake {
	STATE_WAKE_NOTHING,
	STATE_WAKE_SCHEDULE, /* queue it; the ref for that is taken */
	STATE_WAKE_FREE,     /* by value only: it was the last ref */
};

/* T5, as it is broken by who has a waker or the like. */
#define REF_RULE "task: a waker or an abort handle is used up once"

/* Are there so many references beside that of the join handle? */
static inline bool
state_has_refs(uint64_t word, unsigned int n)
{
	return state_refs(word) >= n + !!(word & STATE_JOIN_INTEREST);
}

/* Uses the caller's ref up, or makes it the notification's. */
static inline enum state_wake
state_wake_by_value(struct task_state *s)
{
	uint64_t old = state_load(s), to;
	enum state_wake next;

	do {
		WEIR_ASSERT(state_has_refs(old, 1), REF_RULE);
		if (old & STATE_RUNNING) {
			/* The thread that runs it queues it afterwards. */
			to = (old | STATE_NOTIFIED) - STATE_REF_ONE;
			WEIR_ASSERT(!state_is_free(to), "T6");
			next = STATE_WAKE_NOTHING;
		} else if (old &
			   (STATE_COMPLETE | STATE_NOTIFIED | STATE_WATCHED)) {
			to = old & STATE_WATCHED ? state_notify_watched(old) :
						   old - STATE_REF_ONE;
			next = state_is_free(to) ? STATE_WAKE_FREE :
						   STATE_WAKE_NOTHING;
		} else {
			to = old | STATE_NOTIFIED;
			next = STATE_WAKE_SCHEDULE;
		}
	} while (!state_swap(s, &old, to));
	return next;
}

static inline enum state_wake
state_wake_by_ref(struct task_state *s)
{
	uint64_t old = state_load(s), to;
	enum state_wake next;

	do {
		WEIR_ASSERT(state_has_refs(old, 1), REF_RULE);
		if (old & STATE_COMPLETE)
			return STATE_WAKE_NOTHING;
		/*
		 * When it is notified already the word stays, but is swapped
		 * all the same: what the waker wrote must be seen by the poll
		 * to come.
		 */
		to = old | STATE_NOTIFIED;
		next = STATE_WAKE_NOTHING;
		if (!(old & (STATE_RUNNING | STATE_NOTIFIED | STATE_WATCHED))) {
			to += STATE_REF_ONE;
			next = STATE_WAKE_SCHEDULE;
		} else if (old & STATE_WATCHED) {
			to = state_notify_watched(old) + STATE_REF_ONE;
		}
	} while (!state_swap(s, &old, to));
	return next;
}

/* Abort: true if the caller must schedule it (the ref for that is taken). */
static inline bool
state_to_cancelled(struct task_state *s)
{
	uint64_t old = state_load(s), to;
	bool schedule;

	do {
		if (old & (STATE_COMPLETE | STATE_CANCELLED))
			return false;
		to = old | STATE_CANCELLED;
		schedule = !(old & (STATE_RUNNING | STATE_NOTIFIED));
		if (schedule) {
			to = state_notify_watched(to) + STATE_REF_ONE;
			schedule = !(old & STATE_WATCHED);
		}
	} while (!state_swap(s, &old, to));
	return schedule;
}

/*
 * Its worker waits, and looks at the word from here on. False: the cell holds no task of
 * that worker's which waits, whatever else it holds. place: the worker's.
 */
static inline bool
state_watch(struct task_state *s, uint16_t place)
{
	const uint64_t other = STATE_RUNNING | STATE_COMPLETE | STATE_NOTIFIED |
			       STATE_CANCELLED;
	uint64_t old = state_load(s);

	do {
		WEIR_ASSERT(state_place(old) != place || !(old & STATE_WATCHED),
			    "T8");
		if ((old & (STATE_OWNED | other)) != STATE_OWNED ||
		    state_place(old) != place)
			return false;
	} while (!state_swap(s, &old, old | STATE_WATCHED));
	return true;
}

/* Has nobody notified it? At once old; state_unwatch() is certain. */
static inline bool
state_is_watched(const struct task_state *s)
{
	return (atomic_u64_load(&s->word, RELAXED) & STATE_WATCHED) != 0;
}

/* It stops. False: the task was notified, and that is its to queue (T8). */
static inline bool
state_unwatch(struct task_state *s)
{
	uint64_t old = state_load(s);

	do {
		if (!(old & STATE_WATCHED))
			return false;
	} while (!state_swap(s, &old, old & ~STATE_WATCHED));
	return true;
}

/*
 * Shutdown, of a task that was there and bound to that place in `old`: true if RUNNING
 * is ours and the caller must drop it. Needs no reference. When the task has gone,
 * nothing changes; unless another is there in its place, which is as good.
 */
static inline bool
state_to_shutdown(struct task_state *s, uint64_t old)
{
	const uint16_t place = state_place(old);
	uint64_t to;
	bool ours;

	do {
		if (!(old & STATE_OWNED) || state_place(old) != place)
			return false;
		ours = !(old & STATE_RUNNING);
		to = old | STATE_CANCELLED | STATE_RUNNING;
		if (to == old)
			return false;
	} while (!state_swap(s, &old, to));
	WEIR_ASSERT(!(to & STATE_WATCHED), "T8");
	return ours;
}

/* Sets JOIN_WAKER after the waiter field was written; false if complete. */
static inline bool
state_join_waker_set(struct task_state *s)
{
	uint64_t old = state_load(s);

	do {
		WEIR_ASSERT(!(old & STATE_JOIN_WAKER), "T4");
		if (old & STATE_COMPLETE)
			return false;
	} while (!state_swap(s, &old, old | STATE_JOIN_WAKER));
	return true;
}

/* Takes the waiter field back; false if complete. */
static inline bool
state_join_waker_unset(struct task_state *s)
{
	uint64_t old = state_load(s);

	do {
		if (old & STATE_COMPLETE)
			return false;
		WEIR_ASSERT(old & STATE_JOIN_WAKER, "T4");
	} while (!state_swap(s, &old, old & ~STATE_JOIN_WAKER));
	return true;
}

/* T3, as it is broken by who has the handle. */
#define JOIN_RULE "join: a handle is gone when it has given its outcome"

/*
 * The join handle goes, and its reference. False, and no change, if the task is complete:
 * take or drop the outcome. JOIN_WAKER is not set, see state_join_waker_unset().
 */
static inline bool
state_join_leave(struct task_state *s)
{
	uint64_t old = state_load(s), to;

	do {
		WEIR_ASSERT(old & STATE_JOIN_INTEREST, JOIN_RULE);
		if (old & STATE_COMPLETE)
			return false;
		to = (old & ~STATE_JOIN_INTEREST) - STATE_REF_ONE;
		/* Until then its node owns it, or a queue of jobs does. */
		WEIR_ASSERT(!state_is_free(to), "T5");
	} while (!state_swap(s, &old, to));
	return true;
}

/* After the end. True when the last reference is gone. */
static inline bool
state_join_end(struct task_state *s)
{
	const uint64_t less = STATE_JOIN_INTEREST + STATE_REF_ONE;
	uint64_t old = state_load(s);

	WEIR_ASSERT((old & STATE_COMPLETE) && (old & STATE_JOIN_INTEREST),
		    "T3");
	/* Nobody else can get at it: there is nothing to tell anyone. */
	if (state_refs(old) == 1)
		return true;
	/* [task:A1] as in state_ref_dec(). */
	old = atomic_u64_fetch_sub(&s->word, less, ACQ_REL);
	return state_refs(old) == 1;
}

/* Of one that is free now, so that who uses the handle again is told (T3). */
static inline void
state_join_forget(struct task_state *s)
{
#ifdef WEIR_ASSERTS
	atomic_u64_store(&s->word, state_load(s) & ~STATE_JOIN_INTEREST,
			 RELAXED);
#endif
	(void)s;
}

static inline void
state_ref_inc(struct task_state *s)
{
	/* The caller holds a reference already, so nothing is learnt here. */
	atomic_u64_fetch_add(&s->word, STATE_REF_ONE, RELAXED);
}

/* True when the cell is free. */
static inline bool
state_ref_dec(struct task_state *s, unsigned int n)
{
	/* [task:A1] the last one frees what all others wrote. */
	uint64_t old =
		atomic_u64_fetch_sub(&s->word, n * STATE_REF_ONE, ACQ_REL);

	WEIR_ASSERT(state_has_refs(old, n), REF_RULE);
	return state_is_free(old - n * STATE_REF_ONE);
}

#endif
