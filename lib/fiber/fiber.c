/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A fiber is a task whose poll goes on, on the fiber's own stack, from where the
 * last one left off. For the scheduler it is a task like any other, so there is
 * nothing here that two threads touch at the same time: whoever holds RUNNING is
 * on the stack or has just left it (state.h, T3).
 *
 * F1 A stack is in use from the fiber's first poll until its function has
 *    returned, and goes back to its pool in that poll, or in the drop.
 * F2 A fiber is left only by weir_fiber_suspend() in a poll, or for ever. One
 *    that is dropped in between is entered once more: no await suspends it any
 *    more, so that it comes out at its end.
 * F3 It goes on and is left on the same thread: if the thread gave its worker
 *    away meanwhile, it has got it back (handoff.c).
 * F4 On a fiber's stack nothing of a thread's own is looked at by a function
 *    that also switches: its address may have been that of another thread's.
 *    So it is before a switch that a fiber says that the thread leaves it.
 * F5 A thread in a fiber has that fiber's exceptions, and its own again when it
 *    has left: a catch block may wait, though the C++ library keeps them by thread.
 */

#include <errno.h>
#include <inttypes.h>

#include <rte_errno.h>

#include "base/log.h"
#include "fiber/fiber.h"
#include "fiber/switch.h"
#include "sched/scheduler.h"

static_assert(WEIR_FIBER_STACK_MIN == STACK_MIN_SIZE &&
		      WEIR_FIBER_STACK_MAX == STACK_MAX_SIZE,
	      "what the header says about stacks");

__thread struct fiber *weir__fiber __attribute__((tls_model("initial-exec")));

static inline bool
exceptions_are_there(void)
{
	return __cxa_get_globals != NULL;
}

/* F5: the thread enters a fiber or leaves it. Never inlined: F4. */
static __rte_noinline void
swap_exceptions(struct fiber *f)
{
	struct exceptions *thread = __cxa_get_globals();
	struct exceptions kept = *thread;

	*thread = f->exceptions;
	f->exceptions = kept;
}

/*
 * Goes on with a fiber until it waits or ends: WEIR_PENDING, or its outcome. ctx:
 * NULL, and it is cancelled. Who called this gets that from the switch itself
 * (switch.h), so that nothing is left to do here.
 *
 * Where it goes on, the task's own line says: so the stack's lines need not wait for
 * the one with the rest, where many fibers are and all of that is out of the cache.
 */
static __rte_always_inline int
enter(const struct weir_fiber *task, struct weir_context *ctx, int value)
{
	struct fiber *f = task->reserved;
	int rc;

	f->ctx = ctx;
	f->outer = weir__fiber;
	weir__fiber = f;
	sanitizers_enter(&f->sanitizers, f->stack);
	rc = weir__fiber_switch(&f->caller_sp, task->reserved_stack.sp, value);
	if (rc == WEIR_PENDING)
		sanitizers_entered(&f->sanitizers);
	return rc;
}

/* Its function has returned, and the thread is on its caller's stack. F1 */
static int
fiber_end(void *arg)
{
	struct fiber *f = arg;
	struct weir_fiber *task = f->task;
	int rc = f->rc;

	sanitizers_entered(&f->sanitizers);
	task->reserved = NULL;
	task->reserved_stack.used =
		task->stack_measure ? weir__stack_used(f->stack) : 0;
	sanitizers_destroy(&f->sanitizers);
	weir__stack_put(f->stack);
	/* There is nothing left to poll. */
	return rc != WEIR_PENDING ? rc : -EPROTO;
}

/* What overflows in here is still this fiber's stack. F5 */
static __rte_always_inline void
leave(struct fiber *f)
{
	if (unlikely(exceptions_are_there()))
		swap_exceptions(f);
	weir__fiber = f->outer;
}

/* F3, F4 */
static __rte_noinline void
go_out(struct fiber *f)
{
	leave(f);
}

static void
fiber_main(void *arg)
{
	struct fiber *f = arg;

	sanitizers_resumed(&f->sanitizers);
	f->rc = f->task->run(f->task, f->task);
	go_out(f);
	sanitizers_leave(&f->sanitizers, true);
	weir__fiber_finish(f->caller_sp, fiber_end, f);
}

/* Its first poll: takes a stack. */
static int
begin(struct weir_fiber *task, const struct weir_context *ctx)
{
	size_t size = task->stack_size;
	struct stack *s;
	struct fiber *f;

	/* F1: without a drop nobody would end its function, were it aborted. */
	if (task->run == NULL || task_ops(context_task(ctx))->drop == NULL)
		return -EINVAL;
	if (size == 0)
		size = WEIR_FIBER_STACK_DEFAULT;
	s = weir__stack_get(&context_task(ctx)->home->stacks, size);
	if (s == NULL)
		return -rte_errno;
	f = RTE_PTR_ALIGN_FLOOR((struct fiber *)s - 1, WEIR_CACHE_LINE);
	if (task->stack_measure)
		weir__stack_clear(s, (uint8_t *)f);
	*f = (struct fiber){ .task = task, .stack = s };
	task->reserved_stack.sp =
		switch_prepare(f, fiber_main, f, &f->caller_sp);
	sanitizers_create(&f->sanitizers);
	task->reserved = f;
	return 0;
}

/* What else there is to do before a switch to a fiber. F5 */
static void
prepare(struct fiber *f)
{
	weir__overflow_prepare();
	if (exceptions_are_there())
		swap_exceptions(f);
}

/* Kept apart, so that the other polls save no registers. */
static __rte_noinline int
poll_prepared(struct weir_context *ctx, struct weir_fiber *task)
{
	int rc = task->reserved != NULL ? 0 : begin(task, ctx);

	if (rc != 0)
		return rc;
	prepare(task->reserved);
	return enter(task, ctx, 0);
}

int
weir_fiber_poll(struct weir_context *ctx, void *state)
{
	struct weir_fiber *task = state;

	if (unlikely(task->reserved == NULL || overflow_is_reported() ||
		     exceptions_are_there()))
		return poll_prepared(ctx, task);
	return enter(task, ctx, 0);
}

void
weir_fiber_drop(void *state)
{
	struct weir_fiber *task = state;
	int rc;

	if (task->reserved == NULL)
		return;
	prepare(task->reserved);
	rc = enter(task, NULL, -ECANCELED);
	WEIR_ASSERT(rc != WEIR_PENDING,
		    "F2: a fiber that was dropped has ended");
	RTE_SET_USED(rc);
}

/* The calling thread's fiber, if it is this one. Never inlined: F4. */
static __rte_noinline struct fiber *
inside(const struct weir_fiber *task)
{
	struct fiber *f = weir__fiber;

	return f != NULL && f->task == task ? f : NULL;
}

/*
 * And it has its turn, which it has not while a function blocks its thread, or the drop
 * of another task runs there.
 */
static __rte_always_inline struct fiber *
having_its_turn(const struct weir_fiber *task)
{
	struct fiber *f = weir__fiber;
	const struct core *c = weir__core;

	if (f == NULL || f->task != task || c == NULL || f->ctx != &c->ctx ||
	    c->dropping)
		return NULL;
	return f;
}

/*
 * The switch writes to the fiber's stack when the thread is in it no more: should that
 * be too small, it is to be known whose it was (overflow.c). So its place is touched
 * before. A frame is that large, and lies lower.
 */
static __rte_always_inline void
touch_frame(void)
{
	uint8_t frame[sizeof(struct switch_frame)];

	frame[0] = 0;
	/* For all that the compiler knows, this reads it. */
	__asm__("" : : "r"(frame) : "memory");
}

/* F4 */
static __rte_noinline struct fiber *
in_poll(const struct weir_fiber *task)
{
	return having_its_turn(task);
}

static __rte_noinline struct fiber *
out_of_poll(const struct weir_fiber *task)
{
	struct fiber *f = having_its_turn(task);

	touch_frame();
	if (likely(f != NULL))
		leave(f);
	return f;
}

/* A wait that is none. */
static __rte_noinline int
refused(struct fiber *f)
{
	const struct task *t;

	if (f == NULL || f->ctx != NULL)
		return -EINVAL;
	if (++f->late == WEIR_FIBER_LATE_AWAITS) {
		t = fiber_task(f);
		WEIR_LOG(ERR,
			 "fiber %s (%" PRIx64 ") was cancelled and goes on "
			 "waiting\n",
			 task_ops(t)->name, task_id(t));
		WEIR_ASSERT(false, "fiber: returns when it is cancelled");
	}
	return -ECANCELED;
}

int
weir_fiber_may_wait(const struct weir_fiber *fiber)
{
	const struct fiber *f;

	if (likely(in_poll(fiber) != NULL))
		return 0;
	f = inside(fiber);
	return f != NULL && f->ctx == NULL ? -ECANCELED : -EINVAL;
}

int
weir_fiber_suspend(struct weir_fiber *fiber)
{
	struct fiber *f = out_of_poll(fiber);
	int rc;

	if (unlikely(f == NULL))
		return refused(inside(fiber));
	sanitizers_leave(&f->sanitizers, false);
	rc = weir__fiber_switch(&fiber->reserved_stack.sp, f->caller_sp,
				WEIR_PENDING);
	sanitizers_resumed(&f->sanitizers);
	return rc;
}

int
weir_fiber_yield(struct weir_fiber *fiber)
{
	const struct fiber *f = in_poll(fiber);

	if (f == NULL)
		return refused(inside(fiber));
	weir_context_yield(f->ctx);
	return weir_fiber_suspend(fiber);
}

int
weir_fiber_sleep(struct weir_fiber *fiber, uint64_t ns)
{
	struct weir_sleep sleep = { { 0 } };
	int rc;

	rc = weir_fiber_await(
		fiber, weir_sleep(weir_fiber_context(fiber), &sleep, ns));
	weir_sleep_cancel(&sleep);
	return rc;
}

int
weir_fiber_join(struct weir_fiber *fiber, struct weir_join *join, void *result)
{
	int rc;

	rc = weir_fiber_await(
		fiber, weir_join_poll(weir_fiber_context(fiber), join, result));
	/* Else it is the outcome of the task, or nobody is waiting here. */
	if (rc == -ECANCELED && weir_fiber_may_wait(fiber) == -ECANCELED)
		weir_join_detach(join);
	return rc;
}

/* F4, though it were inlined by who links it. */
__rte_noinline struct weir_context *
weir_fiber_context(const struct weir_fiber *fiber)
{
	const struct fiber *f = having_its_turn(fiber);

	return f != NULL ? f->ctx : NULL;
}

struct weir_fiber *
weir_fiber_current(void)
{
	struct fiber *f = weir__fiber;

	if (f == NULL || (f->ctx != NULL && in_poll(f->task) == NULL))
		return NULL;
	return f->task;
}

size_t
weir_fiber_stack_used(const struct weir_fiber *fiber)
{
	const struct fiber *f = inside(fiber);

	if (f != NULL && fiber->stack_measure)
		return weir__stack_used(f->stack);
	return fiber->reserved == NULL ? fiber->reserved_stack.used : 0;
}
