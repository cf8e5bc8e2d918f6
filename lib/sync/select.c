/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several waits of one task.
 *
 * Each branch is a wait of its own, which the task makes beside the others: all
 * of them wake it, and it asks who did.
 *
 * Invariants:
 * Y46 When the first branch has ended, or all are given up, no other waits any
 *     more, but for those that cannot be cancelled.
 * Y47 Of n branches that are always ready, each is first once in n times: the
 *     next turn begins behind it.
 * Y48 A branch of those that are all waited for is not asked after it has ended; it keeps
 *     what it got when all have ended well.
 * Y55 No branch is asked with an empty budget, with which nothing that is ready says
 *     so: the next turn begins with it. So a branch that uses up every budget it
 *     gets is not in the way of the others.
 */

#include <errno.h>
#include <limits.h>

#include "base/common.h"
#include "sync/weir_select.h"
#include "task/task.h"

/* All but one, or n: all. */
static void
cancel_others(const struct weir_branch *branches, unsigned int n, void *state,
	      unsigned int one)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (i != one && branches[i].cancel != NULL)
			branches[i].cancel(state);
}

void
weir_select_cancel(struct weir_select *select,
		   const struct weir_branch *branches, unsigned int n,
		   void *state)
{
	cancel_others(branches, n, state, n);
	select->ended = 0;
	select->error = 0;
}

/* Y55 */
static bool
may_ask(struct weir_context *ctx, struct weir_select *select, unsigned int at)
{
	if (likely(!context_is_spent(ctx)))
		return true;
	select->begin = at;
	weir_context_spend(ctx, 0);
	return false;
}

int
weir_select_first(struct weir_context *ctx, struct weir_select *select,
		  const struct weir_branch *branches, unsigned int n,
		  void *state, int *rc)
{
	unsigned int i, at;

	if (unlikely(n == 0 || n > INT_MAX))
		return -EINVAL;
	for (i = 0; i < n; i++) {
		at = (select->begin + i) % n;
		if (!may_ask(ctx, select, at))
			break;
		*rc = branches[at].poll(ctx, state);
		if (*rc == WEIR_PENDING)
			continue;
		/* Y47 */
		select->begin = (at + 1) % n;
		cancel_others(branches, n, state, at);
		context_charge(ctx, 1);
		return (int)at;
	}
	return WEIR_PENDING;
}

/* Asks those that have not ended; false if one ends it all. */
static bool
ask_all(struct weir_context *ctx, struct weir_select *select,
	const struct weir_branch *branches, unsigned int n, void *state,
	enum weir_select_until until, int *rcs)
{
	unsigned int i, at;
	int rc;

	for (i = 0; i < n; i++) {
		at = (select->begin + i) % n;
		if ((select->ended >> at & 1) != 0)
			continue;
		if (!may_ask(ctx, select, at))
			break;
		rc = branches[at].poll(ctx, state);
		if (rc == WEIR_PENDING)
			continue;
		select->ended |= UINT64_C(1) << at;
		if (rcs != NULL)
			rcs[at] = rc;
		if (rc < 0 && select->error == 0)
			select->error = rc;
		if (rc < 0 && until == WEIR_SELECT_UNTIL_ERROR)
			return false;
	}
	return true;
}

int
weir_select_all(struct weir_context *ctx, struct weir_select *select,
		const struct weir_branch *branches, unsigned int n, void *state,
		enum weir_select_until until, int *rcs)
{
	const uint64_t all =
		n < WEIR_SELECT_MAX ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
	int rc;

	if (unlikely(n > WEIR_SELECT_MAX))
		return -EINVAL;
	if (ask_all(ctx, select, branches, n, state, until, rcs) &&
	    select->ended != all)
		return WEIR_PENDING;
	context_charge(ctx, 1);
	rc = select->error;
	if (rc < 0)
		weir_select_cancel(select, branches, n, state);
	else
		select->ended = 0;
	return rc;
}
