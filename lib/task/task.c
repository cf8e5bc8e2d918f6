/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The life of a task between two transitions of its state word.
 *
 * K1 ops->drop runs once: in weir__task_end(), which only the holder of RUNNING
 *    enters, or in weir__task_refuse() for a task that nobody else has seen.
 * K2 A result is released once: taken by the join handle, or given to
 *    result_drop by the handle's end or by the completing thread (T3).
 * K3 A task is counted as live no more before COMPLETE: who is told of the end finds
 *    it gone.
 */

#include <errno.h>

#include "base/asan.h"
#include "task/owned.h"
#include "task/run.h"
#include "task/task.h"

/*
 * It may be in another task's poll: which spawned this one where a shutdown has begun, or
 * begins one.
 */
static void
drop_state(struct task *t)
{
	bool before;

	if (task_ops(t)->drop == NULL)
		return;
	before = weir__set_dropping(true);
	task_ops(t)->drop(t->bytes);
	weir__set_dropping(before);
}

/*
 * For the address sanitizer: whoever still has the address of what is in the state, as a
 * line has that of a wait that was not given up, is found when it is used. The result is
 * there until it is taken, and for result_drop() so is what lies around it.
 */
static inline void
close_state(struct task *t)
{
#ifdef WEIR_ASAN
	const struct weir_task_ops *ops = task_ops(t);

	if (cell_is_large(t) || ops->result_drop != NULL)
		return;
	ASAN_POISON_MEMORY_REGION(t->bytes, ops->state_size);
	ASAN_UNPOISON_MEMORY_REGION(t->bytes + ops->result_offset,
				    ops->result_size);
#else
	(void)t;
#endif
}

/*
 * Wakes who waits for the end, and gives the references back. A task's waker is
 * used up, so JOIN_WAKER stays (T4); a parker or watcher is there for as long as
 * it is set (W1).
 */
static void
wake_joiner(struct task *t, unsigned int refs)
{
	struct weir_waker *waiter = t->join_waiter;
	bool last;

	if (likely(waker_is_task(waiter))) {
		last = state_ref_dec(&t->state, refs);
	} else {
		weir_waker_wake_by_ref(waiter);
		waiter = NULL;
		last = state_join_waker_done(&t->state, refs);
	}
	if (last)
		weir__cell_put(t);
	if (waiter != NULL)
		weir_waker_wake(waiter);
}

/* Nobody will ask for the outcome. */
static __rte_noinline void
drop_outcome(struct task *t, unsigned int refs)
{
	weir__join_drop_outcome(t);
	if (state_ref_dec(&t->state, refs))
		weir__cell_put(t);
}

/* The same where the references are the last ones. */
static __rte_noinline void
drop_last_outcome(struct task *t)
{
	weir__join_drop_outcome(t);
	weir__cell_put(t);
}

static __rte_always_inline void
complete(struct task *t, unsigned int refs, struct owned_count *live)
{
	close_state(t);
	/* Jobs are nobody's. */
	if (likely(atomic_u64_load(&t->state.word, RELAXED) & STATE_OWNED)) {
		owned_add(&t->home->owned, live, (uint64_t)-1);
		refs++;
	}
	switch (state_to_complete(&t->state, refs)) {
	case STATE_COMPLETE_DONE:
		break;
	case STATE_COMPLETE_WAKER:
		wake_joiner(t, refs);
		break;
	case STATE_COMPLETE_DROP:
		drop_outcome(t, refs);
		break;
	case STATE_COMPLETE_LAST:
		if (likely(t->outcome == 0 && task_ops(t)->result_drop == NULL))
			weir__cell_put(t);
		else
			drop_last_outcome(t);
		break;
	}
}

/* That of a task whose end others take part in. */
static __rte_noinline void
end_with_others(struct task *t, unsigned int refs, struct owned_count *live)
{
	drop_state(t);
	task_hook(t, task_end);
	complete(t, refs, live);
}

/* All calls are tail calls, so that an end saves no registers. */
void
weir__task_end(struct task *t, int32_t outcome, unsigned int refs,
	       struct owned_count *live)
{
	t->outcome = outcome;
	if (unlikely(task_ops(t)->drop != NULL || t->hooked))
		end_with_others(t, refs, live);
	else
		complete(t, refs, live);
}

int
weir__task_poll_hooked(struct task *t, struct weir_context *ctx)
{
	int rc;

	task_hook(t, task_before_poll);
	rc = task_ops(t)->poll(ctx, t->bytes);
	task_hook(t, task_after_poll);
	return rc;
}

void
weir__task_run_blocking(struct task *t)
{
	int rc;

	/* Nobody else runs or ends what was queued: see blocking.c, P3. */
	if (state_to_running(&t->state) == STATE_RUN_CANCEL) {
		weir__task_end(t, -ECANCELED, 1, NULL);
		return;
	}
	task_hook(t, task_before_poll);
	rc = task_ops(t)->run(t->bytes);
	task_hook(t, task_after_poll);
	weir__task_end(t, task_outcome(rc), 1, NULL);
}

void
weir__task_abort(struct task *t)
{
	if (state_to_cancelled(&t->state))
		weir__schedule(t);
}

void
weir__task_drop_notification(struct task *t)
{
	if (likely(!task_is_kept(t))) {
		weir__task_ref_dec(t);
		return;
	}
	task_take_turn(t);
	weir__task_end(t, -ECANCELED, 1, NULL);
}

void
weir__task_refuse(struct task *t)
{
	drop_state(t);
	task_hook(t, task_end);
	close_state(t);
	t->outcome = -ECANCELED;
	state_refuse(&t->state);
}

void
weir__task_ref_dec(struct task *t)
{
	if (state_ref_dec(&t->state, 1))
		weir__cell_put(t);
}

int
weir_context_yield(struct weir_context *ctx)
{
	context_check(ctx);
	ctx->asked |= ASKED_YIELD;
	return WEIR_PENDING;
}

int
weir_context_spend(struct weir_context *ctx, unsigned int units)
{
	if (unlikely(context_is_spent(ctx))) {
		if (!(ctx->asked & ASKED_OUT_OF_BUDGET))
			atomic_u64_add_owner(ctx->forced_yields, 1);
		ctx->asked |= ASKED_OUT_OF_BUDGET;
		return weir_context_yield(ctx);
	}
	/* However many: what is set aside has no end. */
	if (likely(!(ctx->asked & ASKED_SUSPENDED)))
		context_charge(ctx, units);
	return 0;
}

void
weir_context_budget_suspend(struct weir_context *ctx)
{
	context_check(ctx);
	if (ctx->asked & ASKED_SUSPENDED)
		return;
	ctx->asked |= ASKED_SUSPENDED;
	ctx->kept = ctx->budget;
	ctx->budget = UINT32_MAX;
}

void
weir_context_budget_resume(struct weir_context *ctx)
{
	context_check(ctx);
	context_resume(ctx);
}
