/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_FIBER_H
#define WEIR_FIBER_H

/**
 * @file
 * Fibers: tasks with a stack of their own, so that they wait in the middle of
 * functions and keep their local variables.
 *
 * A fiber is a task whose state begins with a struct weir_fiber and whose ops
 * have weir_fiber_poll() and weir_fiber_drop(). All else is as for any task:
 * how it is spawned, joined, aborted and bound, and what it waits for.
 *
 * @code
 * struct blink {
 *	struct weir_fiber fiber;
 *	unsigned int times;
 * };
 *
 * static int
 * blink_run(struct weir_fiber *f, void *state)
 * {
 *	struct blink *b = state;
 *	int rc = 0;
 *
 *	for (unsigned int i = 0; i < b->times && rc == 0; i++) {
 *		toggle_led();
 *		rc = weir_fiber_sleep(f, 500 * 1000 * 1000);
 *	}
 *	return rc;
 * }
 *
 * static const struct weir_task_ops blink_ops = {
 *	.name = "blink",
 *	.state_size = sizeof(struct blink),
 *	.poll = weir_fiber_poll,
 *	.drop = weir_fiber_drop,
 * };
 *
 * struct blink b = { .fiber = { .run = blink_run }, .times = 10 };
 *
 * join = weir_task_spawn(rt, &blink_ops, &b, NULL);
 * @endcode
 *
 * **The end.** A fiber that is aborted, or that a shutdown ends, while it waits
 * goes on one last time: the await returns -ECANCELED, and so does, at once,
 * every later one. So its functions return as after any error and release what
 * they hold; they end the waits that lie on the stack, as weir_sleep_cancel()
 * does. This happens in the task's drop: weir_fiber_context() is NULL, and
 * weir_block_in_place() refuses. One that goes on without returning keeps its
 * worker; after WEIR_FIBER_LATE_AWAITS awaits the log says so, and a build with asserts
 * ends the program; a shutdown whose deadline passes names it.
 *
 * A fiber that ends before its first turn never runs: what its state was given
 * is released by ops->drop, which calls weir_fiber_drop() first.
 *
 * **Threads.** After each wait a fiber may be on another thread, bound to a
 * worker or not. Compilers keep the address of a thread's variable, such as
 * errno or rte_errno, and what pthread_self() said, across an await. DPDK's
 * inline functions read such variables too: rte_lcore_id(), and all that use a
 * mempool's cache, as rte_pktmbuf_alloc(), rte_pktmbuf_free(), rte_mempool_get()
 * and rte_mempool_put() do, which would then be another lcore's. A function that
 * awaits leaves such things to others, which the compiler cannot look into: those
 * of a library, of another file unless the linker optimises, or with
 * `__attribute__((noipa))`. For one that has effects, such as freeing packets,
 * __rte_noinline is enough: its calls stay where they are. No mutex or spinlock
 * may be held across an await: another thread would release it.
 *
 * **C++.** A fiber may await in a catch block, and in a destructor that an exception has
 * called: each has its own exceptions, on whichever thread it goes on. That costs a turn
 * some nanoseconds, only in programs with C++. The library learns of it when it is
 * loaded: where C++ is loaded after it, with dlopen(3), fibers may not await there.
 */

#include <errno.h>

#include <weir_common.h>
#include <weir_task.h>
#include <weir_time.h>
#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of a stack when none are asked for. */
#define WEIR_FIBER_STACK_DEFAULT (64 << 10)
/** Bytes of the smallest stack. */
#define WEIR_FIBER_STACK_MIN (16 << 10)
/** Bytes of the largest stack. */
#define WEIR_FIBER_STACK_MAX (16 << 20)

/** Awaits of a cancelled fiber after which the log names it. */
#define WEIR_FIBER_LATE_AWAITS 1000

struct weir_fiber;

/** Begins the state of a task that is a fiber. Zero but for what is set. */
struct weir_fiber {
	/**
	 * The fiber's code, with the fiber and the whole state. What it returns
	 * is the task's outcome: 0 or -errno; WEIR_PENDING counts as a failure
	 * with EPROTO.
	 */
	int (*run)(struct weir_fiber *fiber, void *state);

	/**
	 * Bytes of its stack: WEIR_FIBER_STACK_MIN to _MAX, and made a power of
	 * two; some hundred of them are the library's. Less than the least is made
	 * that; 0: the default. The stack is taken at the first turn, in pages as
	 * they are used, from the task's node; without memory for it the task fails
	 * with ENOMEM, and with EINVAL if that is too much, run is NULL, or its ops
	 * have no drop.
	 */
	uint32_t stack_size;

	/**
	 * Clear the stack first, so that weir_fiber_stack_used() can tell how
	 * much was used. It costs memory for all of it, and some microseconds.
	 */
	bool stack_measure;

	void *reserved; /**< not the user's, nor is the next */
	union {
		void *sp;
		size_t used;
	} reserved_stack;
};

/** For weir_task_ops.poll: lets the fiber go on until it waits or ends. */
WEIR_API int
weir_fiber_poll(struct weir_context *ctx, void *state);

/**
 * For weir_task_ops.drop, or to be called first in one's own: if the fiber is
 * in the middle of a wait, has it go on to its end, as this file's begin says.
 */
WEIR_API void
weir_fiber_drop(void *state);

/**
 * Waits inside a fiber: makes a call that may return WEIR_PENDING, such as
 * weir_rxq_recv(), again after each wake-up until it returns something else.
 *
 * @code
 * n = weir_fiber_await(f, weir_rxq_recv(weir_fiber_context(f), rxq, pkts, 32));
 * @endcode
 *
 * The call is an expression that is evaluated anew each time, weir_fiber_context()
 * in it included; a context that was kept from before is another worker's. It
 * must not be one that is always pending, like weir_context_yield().
 *
 * @param fiber  That in which this is, in whatever depth of calls.
 * @param ...    The call; in C++ it may name a template with several arguments.
 * @return What the call returned; -ECANCELED when the fiber is to end: what the
 * call began to wait for is given up as it says. (A call may return -ECANCELED as
 * well, as for a task that was aborted; weir_fiber_may_wait() then is 0.) -EINVAL
 * outside of the fiber, which includes a function of weir_block_in_place() and the
 * drop of another task in the fiber's turn: the call was not made.
 */
#define weir_fiber_await(fiber, ...)                                    \
	__extension__({                                                 \
		struct weir_fiber *weir_fiber_ = (fiber);               \
		/* Where it may not wait, this says why. */             \
		int weir_rc_ = weir_fiber_may_wait(weir_fiber_) == 0 ?  \
				       0 :                              \
				       weir_fiber_suspend(weir_fiber_); \
		while (weir_rc_ == 0 &&                                 \
		       (weir_rc_ = (__VA_ARGS__)) == WEIR_PENDING)      \
			weir_rc_ = weir_fiber_suspend(weir_fiber_);     \
		weir_rc_;                                               \
	})

/**
 * As weir_fiber_await(), for a call with a wait (weir_wait.h) that lies on the fiber's
 * stack: with -ECANCELED and -ETIMEDOUT, which end a wait from outside, it is given up
 * by weir_wait_cancel().
 *
 * @code
 * struct weir_wait wait = { 0 };
 *
 * rc = weir_fiber_await_with(f, &wait,
 *			      weir_mutex_lock(weir_fiber_context(f), mutex, &wait));
 * if (rc < 0)
 *	return rc;
 * @endcode
 *
 * The same wait does for the next call. A struct weir_sleep around it, as of
 * weir_timeout(), is still to be cancelled.
 */
#define weir_fiber_await_with(fiber, wait, ...)                         \
	__extension__({                                                 \
		struct weir_wait *weir_wait_ = (wait);                  \
		int weir_got_ = weir_fiber_await((fiber), __VA_ARGS__); \
		if (weir_got_ == -ECANCELED || weir_got_ == -ETIMEDOUT) \
			weir_wait_cancel(weir_wait_);                   \
		weir_got_;                                              \
	})

/**
 * Waits once, for a wake-up through weir_context_waker() or by a wait that
 * returned WEIR_PENDING. There may be wake-ups for other reasons.
 *
 * @return 0, -ECANCELED or -EINVAL, as weir_fiber_await().
 */
WEIR_API int
weir_fiber_suspend(struct weir_fiber *fiber);

/**
 * Would it wait? 0, -ECANCELED or -EINVAL, as weir_fiber_await(). To ask is no await,
 * also for WEIR_FIBER_LATE_AWAITS.
 */
WEIR_API int
weir_fiber_may_wait(const struct weir_fiber *fiber);

/** As weir_context_yield(), and goes on behind it. As weir_fiber_suspend(). */
WEIR_API int
weir_fiber_yield(struct weir_fiber *fiber);

/**
 * Waits for some time, in nanoseconds of the runtime's clock. As
 * weir_fiber_await(); nothing is left to be cancelled.
 */
WEIR_API int
weir_fiber_sleep(struct weir_fiber *fiber, uint64_t ns);

/**
 * Waits for a task to end and takes its outcome, as weir_join_poll() does. The
 * handle is gone in any case: with -ECANCELED because the fiber is to end it was
 * detached, and the task runs on. As weir_fiber_await(), with -EINVAL of which
 * the handle stays: weir_fiber_may_wait() is -EINVAL then, too, and 0 where -EINVAL
 * is the task's own outcome.
 */
WEIR_API int
weir_fiber_join(struct weir_fiber *fiber, struct weir_join *join, void *result);

/**
 * The context of the poll that the fiber is in. It is for calls until the next
 * wait. NULL when the fiber is to end, and outside of it.
 */
WEIR_API struct weir_context *
weir_fiber_context(const struct weir_fiber *fiber);

/**
 * The fiber that calls, or NULL: elsewhere, and in a function of its
 * weir_block_in_place(), where it must not wait.
 */
WEIR_API struct weir_fiber *
weir_fiber_current(void);

/**
 * How deep the stack was used, in bytes, if stack_measure was set; else 0. What
 * was reserved there and not written does not count.
 *
 * The fiber itself, and ops->drop after weir_fiber_drop().
 */
WEIR_API size_t
weir_fiber_stack_used(const struct weir_fiber *fiber);

/**
 * Has a line written when a fiber's stack overflows, with the task's name and
 * id, before the process dies of it: by a handler for SIGSEGV, on a signal stack
 * that each worker's thread is given unless it has one. The handler then goes on
 * to the one that was there before, as it does for all other faults and when the
 * signal is sent.
 *
 * @param fd  Where the line goes, such as STDERR_FILENO; -1: no more lines.
 * @return 0; -EINVAL for another negative number; -errno of sigaction(2).
 *
 * Any thread, one at a time.
 */
WEIR_API int
weir_fiber_overflow_report(int fd);

#ifdef __cplusplus
}
#endif

#endif
