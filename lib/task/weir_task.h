/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_TASK_H
#define WEIR_TASK_H

/**
 * @file
 * Tasks, join handles and wakers.
 *
 * A task is a state machine: a struct of the caller's and a poll function that
 * advances it. The runtime copies the struct into a cell of its own, calls poll
 * on one worker at a time, and calls it again after each wake-up.
 *
 * The library is C: a function that it calls is left by its return only, and not by a
 * C++ exception, longjmp(3) or pthread_exit(3), also where somebody farther out would
 * catch that.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a task is. Declare one `static const` per kind of task. */
struct weir_task_ops {
	/** For dumps, traces and reports; not NULL. Must outlive the tasks, as ops must. */
	const char *name;

	/**
	 * Bytes of the caller's state struct; 0 is legal. Of up to 2,240 a task takes
	 * one of the node's cells (weir_options.task_cells); more are got from
	 * EAL's heap for each task, which costs more.
	 */
	size_t state_size;

	/**
	 * Advances the task.
	 *
	 * Returns WEIR_DONE when the task has ended and its result, if it has
	 * one, is in the state; WEIR_PENDING only after a wait primitive said
	 * so, weir_context_yield() was called, or a waker was handed to someone
	 * who will use it; -errno (-1 to -4095) when the task has failed. Any
	 * other value counts as a failure with EPROTO.
	 *
	 * Runs on a worker. Never on two workers at once. ctx is for this call
	 * and this thread only. Optional if there is run.
	 */
	int (*poll)(struct weir_context *ctx, void *state);

	/**
	 * For weir_blocking_spawn(): runs once, on a thread of the blocking
	 * pool, and may block. Optional if there is poll.
	 *
	 * Returns as poll does, but for WEIR_PENDING, which counts as a failure
	 * with EPROTO here.
	 */
	int (*run)(void *state);

	/**
	 * Releases what the state holds, except the result. Optional.
	 *
	 * Runs exactly once, on the thread that ends the task, whether the task
	 * is done, failed, cancelled, or was refused because the runtime was
	 * shutting down. It cannot wait. Whoever begins a shutdown drops the
	 * blocking jobs that are queued.
	 */
	void (*drop)(void *state);

	/**
	 * Where in the state the result lies, and its bytes; size 0: no result.
	 */
	size_t result_offset;
	size_t result_size;

	/**
	 * Releases a result that nobody took, since the join handle was
	 * detached. Optional. Gets the address of the result in the state.
	 */
	void (*result_drop)(void *result);
};

/** Which workers may run a task. */
enum weir_affinity {
	/** Workers of the home node first, others when those have a backlog. */
	WEIR_AFFINITY_ANY,
	/** Workers of the home node only, as long as it has any. */
	WEIR_AFFINITY_NODE,
	/**
	 * One worker only, or its successor when it has retired. That one also
	 * drops it, unless it is refused.
	 */
	WEIR_AFFINITY_WORKER,
};

/** How to spawn; zero-initialised is the default. */
struct weir_spawn_attr {
	enum weir_affinity affinity;
	/**
	 * The worker's index in its runtime, for WEIR_AFFINITY_WORKER. The
	 * task's memory then comes from that worker's node. A place that has
	 * never had a worker (spare_lcores) is refused with EINVAL.
	 */
	unsigned int worker;
	/**
	 * The home node, as a NUMA node id, plus one; 0 means the spawning
	 * worker's node, or node of the runtime's first worker for a thread
	 * that is not a worker. Not used with WEIR_AFFINITY_WORKER. A node on
	 * which the runtime has no place for a worker is refused with EINVAL.
	 */
	unsigned int node_plus_1;
};

/**
 * Starts a task.
 *
 * @param rt     The runtime to run on.
 * @param ops    What to run; must outlive the task and its handle, and each list of
 *               tasks and report of a shutdown that was begun before its end.
 * @param state  Copied into the task (ops->state_size bytes, to the start of a cache
 *               line), where it stays; NULL: all zero. It must not have pointers into
 *               itself, as an initialised lock or list has. From here on the task owns
 *               what the state points to.
 * @param attr   NULL for the default.
 * @return
 *   A join handle that the caller owns and must end with weir_join_detach(),
 *   or by taking the outcome. A task spawned on a runtime that is shutting
 *   down is dropped at once and its outcome is -ECANCELED.
 *   NULL with rte_errno when nothing was started and the state still is the
 *   caller's: EINVAL (bad ops or attr), ENOMEM (no memory for the cell).
 *
 * Any thread.
 */
WEIR_API struct weir_join *
weir_task_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
		const void *state, const struct weir_spawn_attr *attr);

/**
 * As weir_task_spawn() and weir_join_detach(), for less: starts a task of which
 * nobody will ask how it ended.
 *
 * @return
 *   0; also when the runtime is shutting down, and the task was dropped at once.
 *   -EINVAL or -ENOMEM when nothing was started and the state still is the
 *   caller's.
 *
 * Any thread.
 */
WEIR_API int
weir_task_spawn_detached(struct weir_runtime *rt,
			 const struct weir_task_ops *ops, const void *state,
			 const struct weir_spawn_attr *attr);

/**
 * Starts n tasks of one kind at less cost than one by one. They are queued in order, behind
 * what is there; those that are bound to a worker run in it, unless that one retires or
 * comes back meanwhile. Others do as long as they are in one queue: a full one passes a
 * part on, and workers take from each other, and from what came from outside, in parts.
 *
 * @param states  n states of ops->state_size bytes each, one behind the other, which
 *                are copied; NULL: all zero.
 * @param joins   Where the n handles go, as from weir_task_spawn(); NULL: there are
 *                none, as with weir_task_spawn_detached().
 * @return
 *   How many were started, the first ones. If fewer than n, rte_errno is EINVAL
 *   (bad ops or attr: none) or ENOMEM; the states of the others are still the
 *   caller's.
 *
 * Any thread.
 */
WEIR_API unsigned int
weir_task_spawn_burst(struct weir_runtime *rt, const struct weir_task_ops *ops,
		      const void *states, unsigned int n,
		      const struct weir_spawn_attr *attr,
		      struct weir_join **joins);

/**
 * Has ops->run called on a thread of the runtime's blocking pool: for system
 * calls, files, long computations, whatever would keep a worker from its
 * queues. Jobs start in the order in which they were spawned.
 *
 * May start a thread, which takes some ten microseconds; see
 * weir_options.blocking_threads.
 *
 * @param ops    What to run, with a run function; must outlive the job, as those of a
 *               task.
 * @param state  As for weir_task_spawn().
 * @return
 *   A join handle, as of a task. weir_join_abort() cancels a job that is
 *   queued: it is dropped when its turn comes. One that runs, or has run, is
 *   past that. A job spawned on a runtime that is shutting down is dropped at
 *   once, and its outcome is -ECANCELED.
 *   NULL with rte_errno when nothing was started and the state still is the
 *   caller's: EINVAL (bad ops), ENOMEM (no memory for the cell), EAGAIN (no
 *   thread could be started, and there is none that would come to it).
 *
 * Any thread, tasks and jobs included.
 */
WEIR_API struct weir_join *
weir_blocking_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
		    const void *state);

/**
 * Takes the outcome of a task from another task, for a unit of budget, or arranges a
 * wake-up.
 *
 * @param result  Where the result goes (result_size bytes), may be NULL: the
 *                result then goes to result_drop.
 * @return
 *   WEIR_PENDING: not ended yet, the calling task will be woken. Otherwise the
 *   handle is gone: 0 with the result, -ECANCELED when the task was aborted or
 *   shut down, or the -errno that it failed with.
 *
 * The task that ctx belongs to; one waiter at a time: a later one replaces it.
 */
WEIR_API int
weir_join_poll(struct weir_context *ctx, struct weir_join *join, void *result);

/**
 * Takes the outcomes of many tasks from another one, in the order of their handles,
 * or arranges a wake-up: as weir_join_poll() of one after the other, and cheaper
 * where they have ended on other CPUs.
 *
 * @param joins     n handles.
 * @param n         How many there are.
 * @param outcomes  n places: of those that are taken, what weir_join_poll() gives.
 * @param results   Where results go, one behind the other, if the tasks are of one
 *                  kind: n of result_size bytes, of which those of tasks that did
 *                  not end well stay as they are. May be NULL: the results then go to
 *                  result_drop.
 * @return
 *   How many have been taken, the first ones, whose handles are gone: those up to
 *   the first task that has not ended, or as many as the budget has units. 0 if n is.
 *   WEIR_PENDING: not even the first has ended, the calling task will be woken.
 *
 * The task that ctx belongs to; one waiter at a time, as for weir_join_poll().
 */
WEIR_API int
weir_join_poll_burst(struct weir_context *ctx, struct weir_join *const *joins,
		     unsigned int n, int *outcomes, void *results);

/**
 * As weir_join_poll(), but blocks the calling thread, which pthread_cancel(3) ends
 * behind it only.
 *
 * Any thread but a worker: -EDEADLK there, and the handle stays.
 */
WEIR_API int
weir_join_wait(struct weir_join *join, void *result);

/** Has the task ended, so that its outcome is there? Any thread. */
WEIR_API bool
weir_join_ended(const struct weir_join *join);

/** As weir_join_poll(), but WEIR_PENDING arranges nothing. Any thread. */
WEIR_API int
weir_join_try(struct weir_join *join, void *result);

/**
 * Asks the task to end: it is dropped at its next wait, or now if it waits.
 * The handle stays. A task that has ended keeps its outcome. Any thread.
 */
WEIR_API void
weir_join_abort(struct weir_join *join);

/** Gives the handle up; the task runs on. NULL is legal. Any thread. */
WEIR_API void
weir_join_detach(struct weir_join *join);

/**
 * A handle that can end the task and has no part in its outcome, for whoever
 * supervises tasks that others await. The caller owns it; the join handle
 * stays.
 *
 * Abort handles may be used from any thread and after the join handle, the task
 * and even the runtime have ended. Any thread.
 */
WEIR_API struct weir_abort *
weir_join_abort_handle(struct weir_join *join);

/** One more handle of the same task. Any thread. */
WEIR_API struct weir_abort *
weir_abort_clone(struct weir_abort *abort);

/**
 * Asks the task to end, as weir_join_abort(). The handle stays; for a task that
 * has ended nothing happens. Any thread.
 */
WEIR_API void
weir_abort_task(struct weir_abort *abort);

/** Has the task ended, in whichever way? Any thread. */
WEIR_API bool
weir_abort_ended(const struct weir_abort *abort);

/** Gives the handle up; the task runs on. NULL is legal. Any thread. */
WEIR_API void
weir_abort_drop(struct weir_abort *abort);

/**
 * The task's id: unique in its runtime, until one worker has spawned 2^48 tasks, which
 * takes months; and never WEIR_TASK_NONE. Any thread.
 */
WEIR_API uint64_t
weir_join_id(const struct weir_join *join);

/**
 * A reference that wakes the running task. The caller owns it.
 *
 * Wakers may be used from any thread and after the task, and even the runtime,
 * has ended. Waking a task that has ended does nothing.
 */
WEIR_API struct weir_waker *
weir_context_waker(struct weir_context *ctx);

/** One more reference to the same task. Any thread. */
WEIR_API struct weir_waker *
weir_waker_clone(struct weir_waker *waker);

/** Wakes, and gives the reference up. Any thread. */
WEIR_API void
weir_waker_wake(struct weir_waker *waker);

/** Wakes, and keeps the reference. Any thread. */
WEIR_API void
weir_waker_wake_by_ref(struct weir_waker *waker);

/** Gives the reference up without waking. NULL is legal. Any thread. */
WEIR_API void
weir_waker_drop(struct weir_waker *waker);

/**
 * Lets others run: the task goes to the back of the queue once the sources
 * have been polled.
 *
 * @return WEIR_PENDING, for the poll function to return. The next poll then
 * goes on behind it.
 *
 * The task that ctx belongs to, as for all that takes a context.
 */
WEIR_API int
weir_context_yield(struct weir_context *ctx);

/**
 * Spends units of the budget that a task has for one poll.
 *
 * Each wait that succeeds spends some, and makes the task yield if there is none, so
 * that a task whose waits are always ready still lets others run. Exceptions say so.
 *
 * @param units  Of more than is left, what is left. 0 asks whether there is any.
 * @return 0, or WEIR_PENDING when the budget was empty: the task has been told
 * to yield and must return.
 */
WEIR_API int
weir_context_spend(struct weir_context *ctx, unsigned int units);

/**
 * Sets the budget aside: until weir_context_budget_resume(), or the end of the
 * poll, waits do not make the task yield. For a section that must be done in
 * one go; others wait meanwhile.
 */
WEIR_API void
weir_context_budget_suspend(struct weir_context *ctx);

/** Goes on with the budget that was left. */
WEIR_API void
weir_context_budget_resume(struct weir_context *ctx);

/** The runtime that the task runs on. */
WEIR_API struct weir_runtime *
weir_context_runtime(const struct weir_context *ctx);

/** The index of the worker that polls the task now. */
WEIR_API unsigned int
weir_context_worker(const struct weir_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
