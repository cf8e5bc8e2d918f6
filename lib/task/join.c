/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Join handles: one for each task, which is the task's address and a
 * reference. Whoever holds it may take the outcome, once.
 *
 * J1 The handle owns the waiter field while JOIN_WAKER is unset (T4), so at
 *    most one waiter is registered and none is lost when it is replaced.
 * J2 The handle's end takes the result or drops it, if there is one (K2).
 */

#include <errno.h>
#include <sched.h>
#include <string.h>

#include <rte_prefetch.h>

#include "base/cancel.h"
#include "task/owned.h"
#include "task/parker.h"
#include "task/task.h"

/*
 * Handles that a burst looks ahead. Smaller: what ended on another CPU comes late.
 * Larger: lines are taken from tasks that are at work.
 */
#define AHEAD 4u

static struct task *
task_of(struct weir_join *join)
{
	return (struct task *)join;
}

static void
drop_result(struct task *t)
{
	const struct weir_task_ops *ops = task_ops(t);

	if (t->outcome == 0 && ops->result_drop != NULL)
		ops->result_drop(t->bytes + ops->result_offset);
}

void
weir__join_drop_outcome(struct task *t)
{
	drop_result(t);
	if (t->outcome != 0 && t->outcome != -ECANCELED)
		weir__task_failed(t);
}

/* The waiter is the handle's again: nobody wants it any more (J1). */
static void
drop_waiter(struct task *t)
{
	weir_waker_drop(t->join_waiter);
	t->join_waiter = NULL;
}

/* Ends the handle of a task that has ended; its result has been dealt with. */
static inline void
end_handle(struct task *t)
{
	if (unlikely(t->join_waiter != NULL) &&
	    !(state_load(&t->state) & STATE_JOIN_WAKER))
		drop_waiter(t);
	if (state_join_end(&t->state)) {
		state_join_forget(&t->state);
		weir__cell_put(t);
	}
}

/* The task is complete: hands its outcome out and ends the handle. */
static inline int
take_here(struct task *t, void *result)
{
	const struct weir_task_ops *ops = task_ops(t);
	int rc = t->outcome;

	WEIR_ASSERT(state_load(&t->state) & STATE_JOIN_INTEREST, JOIN_RULE);
	if (rc == 0 && result != NULL)
		memcpy(result, t->bytes + ops->result_offset, ops->result_size);
	else
		drop_result(t);
	end_handle(t);
	return rc;
}

static __rte_noinline int
take(struct task *t, void *result)
{
	return take_here(t, result);
}

/* Registers a waiter in place of any other; false if the task is complete. */
static bool
set_waiter(struct task *t, struct weir_waker *waiter)
{
	if ((state_load(&t->state) & STATE_JOIN_WAKER) &&
	    !state_join_waker_unset(&t->state)) {
		weir_waker_drop(waiter);
		return false;
	}
	weir_waker_drop(t->join_waiter);
	t->join_waiter = waiter;
	/* When this fails the waiter goes with the handle. */
	return state_join_waker_set(&t->state);
}

/* The task has not ended when its state was read. */
static __rte_noinline int
await_end(struct weir_context *ctx, struct task *t, void *result)
{
	if ((state_load(&t->state) & STATE_JOIN_WAKER) &&
	    weir__waker_same(t->join_waiter, context_task(ctx)))
		return WEIR_PENDING;
	if (set_waiter(t, context_waker(ctx)))
		return WEIR_PENDING;
	return take(t, result);
}

/* The task had not ended when its state was `word`. */
static int
await_next(struct weir_context *ctx, struct task *t, uint64_t word,
	   void *result)
{
	/* What is awaited is what comes next: no need to be woken. */
	if (context_next(ctx) == t && !(word & STATE_JOIN_WAKER)) {
		/* So that a turn of such looks ends. */
		context_charge(ctx, 1);
		return context_look_behind_next(ctx);
	}
	return await_end(ctx, t, result);
}

/* All calls come last, so that it saves no registers. */
int
weir_join_poll(struct weir_context *ctx, struct weir_join *join, void *result)
{
	struct task *t = task_of(join);
	uint64_t word;

	if (unlikely(context_is_spent(ctx)))
		return weir_context_spend(ctx, 1);
	word = state_load(&t->state);
	if (likely(word & STATE_COMPLETE)) {
		context_charge(ctx, 1);
		return take(t, result);
	}
	return await_next(ctx, t, word, result);
}

int
weir_join_poll_burst(struct weir_context *ctx, struct weir_join *const *joins,
		     unsigned int n, int *outcomes, void *results)
{
	const unsigned int most = RTE_MIN(n, ctx->budget);
	char *at = results;
	unsigned int done;
	size_t size;
	struct task *t;

	if (n == 0)
		return 0;
	if (unlikely(context_is_spent(ctx)))
		return weir_context_spend(ctx, 1);
	for (done = 0; done < most; done++) {
		t = task_of(joins[done]);
		if (likely(done + AHEAD < n))
			rte_prefetch0(joins[done + AHEAD]);
		if (!(state_load(&t->state) & STATE_COMPLETE))
			break;
		size = task_ops(t)->result_size;
		outcomes[done] = take_here(t, at);
		if (at != NULL)
			at += size;
	}
	if (likely(done > 0)) {
		context_charge(ctx, done);
		return (int)done;
	}
	t = task_of(joins[0]);
	outcomes[0] = await_next(ctx, t, state_load(&t->state), results);
	return outcomes[0] == WEIR_PENDING ? WEIR_PENDING : 1;
}

bool
weir_join_ended(const struct weir_join *join)
{
	return join_ended(join);
}

bool
weir__join_watch(struct weir_join *join, struct weir_waker *waker)
{
	return set_waiter(task_of(join), waker);
}

void
weir__join_unwatch(struct weir_join *join)
{
	struct task *t = task_of(join);

	if (!(state_load(&t->state) & STATE_JOIN_WAKER) ||
	    state_join_waker_unset(&t->state))
		return;
	/* It has ended, and the completing thread may be in the parker yet. */
	while (state_load(&t->state) & STATE_JOIN_WAKER)
		sched_yield();
}

int
weir_join_try(struct weir_join *join, void *result)
{
	struct task *t = task_of(join);

	if (!weir_join_ended(join))
		return WEIR_PENDING;
	return take(t, result);
}

int
weir_join_wait(struct weir_join *join, void *result)
{
	struct task *t = task_of(join);
	struct thread_parker parker;
	int cancel, rc;

	if (weir__on_worker())
		return -EDEADLK;
	/* Its handle would be nobody's. */
	cancel = cancel_defer();
	if (!(state_load(&t->state) & STATE_COMPLETE)) {
		parker_init(&parker);
		if (set_waiter(t, weir__waker_of_parker(&parker)))
			parker_park(&parker);
		parker_fini(&parker);
	}
	WEIR_ASSERT(state_load(&t->state) & STATE_COMPLETE, "J1");
	rc = take(t, result);
	cancel_allow(cancel);
	return rc;
}

void
weir_join_abort(struct weir_join *join)
{
	weir__task_abort(task_of(join));
}

void
weir_join_detach(struct weir_join *join)
{
	struct task *t = task_of(join);

	if (t == NULL)
		return;
	if (!(state_load(&t->state) & STATE_JOIN_WAKER) ||
	    state_join_waker_unset(&t->state))
		drop_waiter(t);
	if (state_join_leave(&t->state))
		return;
	weir__join_drop_outcome(t);
	end_handle(t);
}

uint64_t
weir_join_id(const struct weir_join *join)
{
	return task_id((const struct task *)join);
}
