/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_RUN_H
#define TASK_RUN_H

/*
 * A task's turn. Inline, for the one loop that does nothing else.
 */

#include <errno.h>

#include "task/task.h"

/* What the scheduler must do with a task after it ran. */
enum task_next {
	TASK_NEXT_NOTHING, /* waits or has ended */
	TASK_NEXT_QUEUE,   /* was woken while it ran */
	TASK_NEXT_DEFER,   /* yielded */
	TASK_NEXT_AGAIN,   /* yielded, to look again for what it waits for */
	TASK_NEXT_RESUME, /* keeps RUNNING: to be resumed behind what is next */
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
	return ctx->owes ? 0 : 1;
}

static __rte_always_inline enum task_next
task_after_pending(struct task *t, struct weir_context *ctx)
{
	static const uint8_t after_yield[] = {
		[YIELD_NOT] = TASK_NEXT_QUEUE,
		[YIELD_BEHIND] = TASK_NEXT_DEFER,
		[YIELD_AGAIN] = TASK_NEXT_AGAIN,
	};
	enum state_idle idle;

	if (ctx->yield == YIELD_TO_NEXT) {
		if (unlikely(ctx->owes))
			state_ref_inc(&t->state);
		return TASK_NEXT_RESUME;
	}
	idle = ctx->yield != YIELD_NOT ?
		       state_to_yielded(&t->state, ctx->owes) :
		       state_to_idle(&t->state, ctx->owes);
	switch (idle) {
	case STATE_IDLE_WAIT:
		return TASK_NEXT_NOTHING;
	case STATE_IDLE_NOTIFIED:
		return after_yield[ctx->yield];
	case STATE_IDLE_FREE:
		weir__cell_put(t);
		return TASK_NEXT_NOTHING;
	case STATE_IDLE_CANCEL:
		break;
	}
	weir__task_end(t, -ECANCELED, refs_of_poll(ctx));
	return TASK_NEXT_NOTHING;
}

/* May it be polled? Otherwise that has been dealt with. */
static __rte_always_inline bool
task_begin(struct task *t)
{
	switch (state_to_running(&t->state)) {
	case STATE_RUN_POLL:
		return true;
	case STATE_RUN_CANCEL:
		weir__task_end(t, -ECANCELED, 1);
		break;
	case STATE_RUN_FREE:
		weir__cell_put(t);
		break;
	case STATE_RUN_NOTHING:
		break;
	}
	return false;
}

/* The same for one that kept RUNNING. */
static inline bool
task_begin_again(struct task *t)
{
	if (likely(!(state_load(&t->state) & STATE_CANCELLED)))
		return true;
	weir__task_end(t, -ECANCELED, 1);
	return false;
}

/*
 * Polls a task taken from a queue, or one that is resumed; or drops it if it was
 * cancelled.
 */
static __rte_always_inline enum task_next
task_run(struct task *t, struct weir_context *ctx, bool resumed)
{
	int rc;

	if (unlikely(!(resumed ? task_begin_again(t) : task_begin(t))))
		return TASK_NEXT_NOTHING;
	context_begin(ctx, t);
	atomic_u32_add_owner(&t->polls, 1);
	rc = likely(!t->hooked) ? t->ops->poll(ctx, t->bytes) :
				  weir__task_poll_hooked(t, ctx);
	context_resume(ctx);
	ctx->task = NULL;
	if (rc == WEIR_PENDING)
		return task_after_pending(t, ctx);
	weir__task_end(t, task_outcome(rc), refs_of_poll(ctx));
	return TASK_NEXT_NOTHING;
}

/*
 * It was to be resumed and is to be queued instead. False: it was cancelled, and
 * has ended.
 */
static inline bool
task_not_resumed(struct task *t)
{
	if (likely(state_to_yielded(&t->state, 0) == STATE_IDLE_NOTIFIED))
		return true;
	weir__task_end(t, -ECANCELED, 1);
	return false;
}

#endif
