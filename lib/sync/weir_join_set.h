/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_JOIN_SET_H
#define WEIR_JOIN_SET_H

/**
 * @file
 * Sets of tasks, whose outcomes are taken in the order in which they end.
 *
 * A set is used by one task or thread at a time, drop functions included: what a
 * call on a set drops, a result for example, does not come back to that set. What is
 * not taken out is ended with the set. An end costs the same, however many others are
 * in it.
 */

#include <weir_task.h>
#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_join_set;

/** A task that has ended. */
struct weir_joined {
	uint64_t id; /**< weir_join_id() */
	/** What it was. */
	const struct weir_task_ops *ops;
	/** Its outcome: 0, -ECANCELED or -errno, as of weir_join_poll(). */
	int rc;
};

/**
 * An empty set.
 *
 * @return The caller's, for weir_join_set_free(); NULL with rte_errno: ENOMEM. It may
 * outlive the runtimes whose workers make it, or add to it: see weir_runtime_free().
 *
 * Any thread.
 */
WEIR_API struct weir_join_set *
weir_join_set_create(void);

/**
 * Frees the set: aborts the tasks in it and gives their handles up, as
 * weir_join_detach(), without waiting for their end. Nobody may wait for it any
 * more: see weir_wait_cancel(). NULL is legal. Its user, which may be a drop
 * function.
 */
WEIR_API void
weir_join_set_free(struct weir_join_set *set);

/**
 * Starts a task in the set, as weir_task_spawn(). One that is to be aborted alone is
 * spawned by that instead, and put into the set when weir_join_abort_handle() has
 * given a handle of it.
 *
 * @param id  Where the task's id goes, may be NULL.
 * @return 0. When nothing was started and the state still is the caller's:
 * -EINVAL (bad ops or attr), -ENOMEM.
 *
 * The set's user.
 */
WEIR_API int
weir_join_set_spawn(struct weir_join_set *set, struct weir_runtime *rt,
		    const struct weir_task_ops *ops, const void *state,
		    const struct weir_spawn_attr *attr, uint64_t *id);

/**
 * Puts a task or job into the set that was started elsewhere, on whatever
 * runtime.
 *
 * @param join  The set's from here on, if that is possible. It need not run any
 *              more.
 * @return 0; -EINVAL: join is NULL; -ENOMEM: the handle is still the caller's.
 *
 * The set's user.
 */
WEIR_API int
weir_join_set_add(struct weir_join_set *set, struct weir_join *join);

/**
 * Takes out the task that ended first, or waits until one has.
 *
 * @param joined  Which it is, and its outcome.
 * @param result  Where its result goes if the outcome is 0: room for the largest
 *                of what is in the set. NULL: it goes to result_drop.
 * @return 0, and the task is in the set no more; WEIR_PENDING; -ENOENT: the set
 * is empty; -EBUSY, -EDEADLK: see weir_wait.h, and -EBUSY also when another
 * waits for this set.
 *
 * The set's user: a task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_join_set_next(struct weir_context *ctx, struct weir_join_set *set,
		   struct weir_joined *joined, void *result,
		   struct weir_wait *wait);

/**
 * Asks all tasks in the set to end, as weir_join_abort(). They stay in it until
 * they are taken. The set's user.
 */
WEIR_API void
weir_join_set_abort_all(struct weir_join_set *set);

/**
 * Takes all tasks out and gives their handles up, as weir_join_detach(); they
 * run on. Who waits is told that the set is empty, or waits for what has been put into
 * it by then. The set's user.
 */
WEIR_API void
weir_join_set_detach_all(struct weir_join_set *set);

/** How many are in the set, those that have ended included. Its user. */
WEIR_API size_t
weir_join_set_count(const struct weir_join_set *set);

#ifdef __cplusplus
}
#endif

#endif
