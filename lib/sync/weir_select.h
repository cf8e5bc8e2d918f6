/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_SELECT_H
#define WEIR_SELECT_H

/**
 * @file
 * Several waits at once, in one task: for the first of them, or for all.
 *
 * @code
 * static const struct weir_branch branches[] = {
 *	{ recv_poll, NULL },
 *	{ stop_poll, stop_cancel },
 * };
 *
 * // In a task's poll:
 * n = weir_select_first(ctx, &s->select, branches, 2, s, &rc);
 * if (n < 0)
 *	return n;
 * @endcode
 *
 * The same call is made again, as often as the task is polled, until it returns
 * something else than WEIR_PENDING; it may then be made anew. A time bounds it by
 * weir_timeout(), a token by weir_token_bound(). Who gives it up meanwhile, as
 * when one of these has ended it or in a drop function, calls
 * weir_select_cancel().
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most branches of weir_select_all(). */
#define WEIR_SELECT_MAX 64

/** One of several waits. */
struct weir_branch {
	/**
	 * Makes a call that waits, and returns what it did: WEIR_PENDING, or
	 * anything else when the branch has ended.
	 */
	int (*poll)(struct weir_context *ctx, void *state);

	/**
	 * Gives the wait up, as weir_wait_cancel(), weir_sleep_cancel() or
	 * weir_source_cancel() do: what it was given goes to the next. Is called
	 * as well when nothing is waited for, or the branch has ended. Optional:
	 * the wait then goes on, and keeps its place in line for the next time.
	 */
	void (*cancel)(void *state);
};

/**
 * How far it has come, in the state of the task. Zero-initialised it is ready for
 * use.
 */
struct weir_select {
	uint64_t ended; /**< not the user's, nor the rest */
	uint32_t begin;
	int32_t error;
};

/**
 * Waits for the first of several branches to end, and cancels the others. It
 * asks them in turn, from the one behind the last that was first: so none
 * starves beside others that are always ready.
 *
 * @param branches  The same in each call.
 * @param n         How many, from 1.
 * @param state     For their functions.
 * @param rc        What the branch's poll returned.
 * @return The index of the branch that ended; WEIR_PENDING; -EINVAL: n is 0, or
 * more than INT_MAX.
 *
 * The task that ctx belongs to. Spends a unit of budget when it ends, besides what
 * the branches spend. When one of them leaves no budget, the next turn begins
 * with the branch behind it.
 */
WEIR_API int
weir_select_first(struct weir_context *ctx, struct weir_select *select,
		  const struct weir_branch *branches, unsigned int n,
		  void *state, int *rc);

/** When weir_select_all() ends. */
enum weir_select_until {
	WEIR_SELECT_UNTIL_ENDED, /**< when all branches have */
	/** When one ends with an error, too: the others are cancelled then. */
	WEIR_SELECT_UNTIL_ERROR,
};

/**
 * Waits for all of several branches. Each is asked until it has ended, and not
 * after that. With an error at the end, cancel is called for all, also for those that
 * ended well; else for none.
 *
 * @param n    How many, up to WEIR_SELECT_MAX; of 0, all have ended.
 * @param rcs  Where what each returned goes, n places that stay where they are
 *             between the calls; those of branches that have not ended stay as they
 *             were. May be NULL.
 * @return 0: all have ended, each with 0 or more; the first error that came;
 * WEIR_PENDING; -EINVAL: n is too large.
 *
 * As weir_select_first().
 */
WEIR_API int
weir_select_all(struct weir_context *ctx, struct weir_select *select,
		const struct weir_branch *branches, unsigned int n, void *state,
		enum weir_select_until until, int *rcs);

/**
 * Gives up what weir_select_first() or weir_select_all() wait for: cancels all
 * branches, and is ready for the next use. The task, its drop included.
 */
WEIR_API void
weir_select_cancel(struct weir_select *select,
		   const struct weir_branch *branches, unsigned int n,
		   void *state);

#ifdef __cplusplus
}
#endif

#endif
