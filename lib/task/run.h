/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_RUN_H
#define TASK_RUN_H

/*
 * A task's turn. Inline, for the one loop that does nothing else.
 *
 * N1 A task that yields keeps RUNNING, which saves the swap that would give it back
 *    and the one that would take it again; one that a worker spawns into its own queue
 *    has it from the start. Meanwhile RUNNING belongs to the task's place in the queue,
 *    as the reference does, and whoever takes the task from there has both; TASK_KEPT
 *    says so. That is the same thread, the next one that drives the core, or a thief, to
 *    whom that place passes what the last turn did ([queue:A3], where it is recalled
 *    [queue:A4], [slot:A1] or [recall:A1], and where its queue had no room [inject:A1] or
 *    the ring).
 * N2 Only a worker's own queues have such tasks, what looks again behind another, and
 *    the inject queues, where tasks go for which those have no room: whatever is taken
 *    from there is run. Before one goes anywhere else, or a worker's queues to anyone
 *    else, it gives RUNNING back. So does each when the runtime ends, since shutdown
 *    leaves those that are RUNNING to their turns; those in inject queues end.
 * N3 Who cancels such a task leaves its end to its next turn. Instead of giving RUNNING
 *    back it ends, or stays where its turn will come.
 */

#include <errno.h>

#include "task/task.h"

/* What the scheduler must do with a task after it ran. */
enum task_next {
	TASK_NEXT_NOTHING, /* waits or has ended */
	TASK_NEXT_QUEUE,   /* was woken while it ran */
	/* It keeps RUNNING: */
	TASK_NEXT_DEFER,  /* yielded */
	TASK_NEXT_AGAIN,  /* yielded, to look again for what it waits for */
	TASK_NEXT_RESUME, /* to be resumed behind what is next */
};

/* What poll returned, as an outcome. */
static inline int32_t
task_outcome(int rc)
{
	if (rc == WEIR_DONE || (rc < 0 && rc > WEIR_PENDING))
		return rc;
	return -EPROTO;
}

/* References that end with a poll. */
static inline unsigned int
refs_of_poll(const struct weir_context *ctx)
{
	return ctx->asked & ASKED_OWES ? 0 : 1;
}

/* N1: it goes to a queue. polls: what it has there. */
static inline void
task_keep_turn(struct task *t, uint32_t polls)
{
	atomic_u32_store(&t->polls, polls | TASK_KEPT, RELAXED);
}

/* It has its turn, which may be its end: it is in no queue any more. */
static inline void
task_take_turn(struct task *t)
{
	atomic_u32_store(&t->polls, task_polls(t) & ~TASK_KEPT, RELAXED);
}

/* N2. False: it was cancelled, so its turn, or its end, must come here (N3). */
static inline bool
task_give_turn_back(struct task *t)
{
	uint32_t polls = task_polls(t);

	if (likely(!(polls & TASK_KEPT)))
		return true;
	/* Before the swap: who has RUNNING next counts on. */
	atomic_u32_store(&t->polls, polls & ~TASK_KEPT, RELAXED);
	if (likely(state_to_notified(&t->state)))
		return true;
	atomic_u32_store(&t->polls, polls, RELAXED);
	return false;
}

/* It asked for another turn, whatever else it asked for. */
static inline enum task_next
task_next_turn(struct task *t, uint32_t polls, uint32_t asked)
{
	if (unlikely(asked & ASKED_OWES))
		state_ref_inc(&t->state);
	if (!(asked & (ASKED_YIELD | ASKED_LOOK_AGAIN)))
		return TASK_NEXT_RESUME;
	task_keep_turn(t, polls);
	return asked & ASKED_YIELD ? TASK_NEXT_DEFER : TASK_NEXT_AGAIN;
}

static __rte_always_inline enum task_next
task_after_pending(struct task *t, uint32_t polls, struct weir_context *ctx)
{
	const uint32_t asked = ctx->asked;

	/* Most of those that want another turn want nothing besides. */
	if (asked == ASKED_BEHIND_NEXT)
		return TASK_NEXT_RESUME;
	if (asked == ASKED_YIELD) {
		task_keep_turn(t, polls);
		return TASK_NEXT_DEFER;
	}
	if (asked == ASKED_LOOK_AGAIN) {
		task_keep_turn(t, polls);
		return TASK_NEXT_AGAIN;
	}
	context_resume(ctx);
	if (asked & ASKED_TURN)
		return task_next_turn(t, polls, asked);
	switch (state_to_idle(&t->state, asked & ASKED_OWES ? 1 : 0)) {
	case STATE_IDLE_WAIT:
		return TASK_NEXT_NOTHING;
	case STATE_IDLE_NOTIFIED:
		return TASK_NEXT_QUEUE;
	case STATE_IDLE_CANCEL:
		break;
	}
	weir__task_end(t, -ECANCELED, refs_of_poll(ctx), ctx->live);
	return TASK_NEXT_NOTHING;
}

/* May it be polled? Otherwise that has been dealt with. */
static __rte_always_inline bool
task_begin(struct task *t, const struct weir_context *ctx, bool kept)
{
	switch (kept ? state_to_next_turn(&t->state) :
		       state_to_running(&t->state)) {
	case STATE_RUN_POLL:
		return true;
	case STATE_RUN_CANCEL:
		task_take_turn(t);
		weir__task_end(t, -ECANCELED, 1, ctx->live);
		break;
	case STATE_RUN_FREE:
		weir__cell_put(t);
		break;
	case STATE_RUN_NOTHING:
		break;
	}
	return false;
}

/*
 * Polls a task, or drops it if it was cancelled. resumed: it keeps RUNNING though it has
 * not been queued.
 */
static __rte_always_inline enum task_next
task_run(struct task *t, struct weir_context *ctx, bool resumed)
{
	uint32_t polls = task_polls(t);
	int rc;

	if (unlikely(!task_begin(t, ctx, resumed || (polls & TASK_KEPT)))) {
		/* It asked for nothing; the task before may have. */
		ctx->asked = 0;
		return TASK_NEXT_NOTHING;
	}
	context_begin(ctx, t);
	polls = (polls + 1) & ~TASK_KEPT;
	atomic_u32_store(&t->polls, polls, RELAXED);
	rc = likely(!t->hooked) ? task_ops(t)->poll(ctx, t->bytes) :
				  weir__task_poll_hooked(t, ctx);
	/* [recall:F1] before the look whether others go through what the core has. */
	atomic_ptr_store(&ctx->task, NULL, RELAXED);
	if (likely(rc == WEIR_PENDING))
		return task_after_pending(t, polls, ctx);
	context_resume(ctx);
	weir__task_end(t, task_outcome(rc), refs_of_poll(ctx), ctx->live);
	return TASK_NEXT_NOTHING;
}

#endif
