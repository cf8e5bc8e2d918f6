/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_STATE_H
#define TASK_STATE_H

/*
 * The state word of a task: where it is in its life, who still cares, and how
 * many references there are. Each transition is one function that says what its
 * caller must do next; nothing else writes the word. The protocol is that of
 * tokio's runtime::task::state.
 *
 *	bit 0  RUNNING        one thread has the right to poll or drop the state
 *	bit 1  COMPLETE       ended; never unset, and RUNNING is never set again
 *	bit 2  NOTIFIED       a notification exists: in a queue, or owed by the
 *	                      thread that runs it
 *	bit 3  CANCELLED      to be dropped instead of polled
 *	bit 4  JOIN_INTEREST  the join handle exists
 *	bit 5  JOIN_WAKER     the waiter field belongs to the completing thread
 *	bit 6+ references
 *
 * Invariants:
 * T1 RUNNING and COMPLETE are never both set.
 * T2 A task is in at most one queue, and only with NOTIFIED set and a
 *    reference that belongs to that place.
 * T3 The state bytes are touched by the holder of RUNNING only; the result
 *    bytes, after COMPLETE, by whoever ends JOIN_INTEREST or, if that was gone
 *    before COMPLETE, by the completing thread.
 * T4 The waiter field belongs to the join handle while JOIN_WAKER is unset and to
 *    the completing thread from COMPLETE on while it is set.
 * T5 The cell is given back by whoever takes the last reference, once.
 */

#include "base/atomic.h"

#define STATE_RUNNING (UINT64_C(1) << 0)
#define STATE_COMPLETE (UINT64_C(1) << 1)
#define STATE_NOTIFIED (UINT64_C(1) << 2)
#define STATE_CANCELLED (UINT64_C(1) << 3)
#define STATE_JOIN_INTEREST (UINT64_C(1) << 4)
#define STATE_JOIN_WAKER (UINT64_C(1) << 5)
#define STATE_REF_SHIFT 6
#define STATE_REF_ONE (UINT64_C(1) << STATE_REF_SHIFT)

/* Owned list, notification, join handle. */
#define STATE_INITIAL (3 * STATE_REF_ONE | STATE_JOIN_INTEREST | STATE_NOTIFIED)

struct task_state {
	struct atomic_u64 word;
};

static inline void
state_init(struct task_state *s)
{
	atomic_u64_store(&s->word, STATE_INITIAL, RELAXED);
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
	return word >> STATE_REF_SHIFT;
}

/* A notification was taken from its queue: may it be polled? */
enum state_run {
	STATE_RUN_POLL,	   /* RUNNING is ours, and so is the notification's ref */
	STATE_RUN_CANCEL,  /* as POLL, but drop it */
	STATE_RUN_NOTHING, /* someone else ends it; the ref is gone */
	STATE_RUN_FREE,	   /* as NOTHING, and it was the last ref */
};
enum state_run state_to_running(struct task_state *s);

/* Poll gave PENDING. */
enum state_idle {
	STATE_IDLE_WAIT,     /* waits; our ref is gone */
	STATE_IDLE_NOTIFIED, /* woken meanwhile: queue it, with our ref */
	STATE_IDLE_FREE,     /* nobody can wake it, and it was the last ref */
	STATE_IDLE_CANCEL,   /* cancelled meanwhile: still RUNNING, drop it */
};
enum state_idle state_to_idle(struct task_state *s);

/*
 * As state_to_idle() for a task that yields: the notification stays.
 * Gives STATE_IDLE_NOTIFIED or STATE_IDLE_CANCEL.
 */
enum state_idle state_to_yielded(struct task_state *s);

/* RUNNING to COMPLETE. Returns the word as it is now. */
uint64_t state_to_complete(struct task_state *s);

/* The waiter was woken: gives the waiter field back. Returns the new word. */
uint64_t state_join_waker_done(struct task_state *s);

/* Wake-ups. */
enum state_wake {
	STATE_WAKE_NOTHING,
	STATE_WAKE_SCHEDULE, /* put it into a queue; the ref for that is taken */
	STATE_WAKE_FREE,     /* by value only: it was the last ref */
};
/* Uses the caller's ref up, or makes it the notification's. */
enum state_wake state_wake_by_value(struct task_state *s);
enum state_wake state_wake_by_ref(struct task_state *s);

/* Abort: true if the caller must schedule it (the ref for that is taken). */
bool state_to_cancelled(struct task_state *s);

/* Shutdown: true if RUNNING is ours and the caller must drop the task. */
bool state_to_shutdown(struct task_state *s);

/* Sets JOIN_WAKER after the waiter field was written; false if complete. */
bool state_join_waker_set(struct task_state *s);

/* Takes the waiter field back; false if complete. */
bool state_join_waker_unset(struct task_state *s);

/*
 * The join handle goes. Returns the word as it was; the caller then drops
 *	the result if COMPLETE was set,
 *	the waiter if JOIN_WAKER is not the completing thread's: see T4,
 * and its reference.
 */
uint64_t state_join_drop(struct task_state *s);

void state_ref_inc(struct task_state *s);

/* True when the last reference is gone. */
bool state_ref_dec(struct task_state *s, unsigned int n);

#endif
