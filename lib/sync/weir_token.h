/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_TOKEN_H
#define WEIR_TOKEN_H

/**
 * @file
 * Cancellation tokens: a word to many that they should come to an end, each in
 * its own time.
 *
 * A token has children, and these have theirs. Whoever cancels a token cancels
 * all that descend from it, and nothing else. A token is used through handles,
 * which are counted: weir_token_clone() and weir_token_drop(). A child needs no
 * handle of its parent to be there.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_token;

/**
 * A token without parent.
 *
 * @return A handle that the caller owns, and that may outlive the runtime whose worker
 * calls this: see weir_runtime_free(). NULL with rte_errno: ENOMEM.
 *
 * Any thread.
 */
WEIR_API struct weir_token *
weir_token_create(void);

/**
 * A child, which is cancelled with its parent; if that is cancelled already, it
 * is so from the beginning.
 *
 * @return As weir_token_create().
 *
 * Any thread that has a handle of the parent.
 */
WEIR_API struct weir_token *
weir_token_child(struct weir_token *parent);

/** One more handle of the same token. Any thread that has one. */
WEIR_API struct weir_token *
weir_token_clone(struct weir_token *token);

/**
 * Gives a handle up. That cancels nothing: the token's children are then those
 * of its parent. NULL is legal. Any thread.
 */
WEIR_API void
weir_token_drop(struct weir_token *token);

/**
 * Cancels the token and all that descend from it, and wakes whoever waits for
 * one of them. When it returns, all of them say that they are cancelled. Again
 * it does nothing. Any thread that has a handle.
 */
WEIR_API void
weir_token_cancel(struct weir_token *token);

/**
 * Has it been cancelled? One load; who finds that it is sees what the canceller
 * did before. Any thread that has a handle.
 */
WEIR_API bool
weir_token_cancelled(const struct weir_token *token);

/**
 * Waits until the token is cancelled.
 *
 * @return 0 when it is; WEIR_PENDING; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread, which has a handle: it
 * keeps that until the wait has ended or weir_wait_cancel() was called.
 */
WEIR_API int
weir_token_wait(struct weir_context *ctx, struct weir_token *token,
		struct weir_wait *wait);

/**
 * Bounds any wait by a token, as weir_timeout() does by a time.
 *
 * @code
 * n = weir_token_bound(ctx, s->token, &s->cancel,
 *                      weir_ring_recv(ctx, s->rx, objs, 32));
 * if (n < 0)
 *	return n;
 * @endcode
 *
 * @param wait  For the token, and none of the wait that is bounded.
 * @param rc    What that wait returned.
 * @return
 *   rc, unless that is WEIR_PENDING: the wait for the token has then been ended.
 *   Else WEIR_PENDING, or -ECANCELED when the token is cancelled; the bounded
 *   wait itself then goes on and may be called again, or be given up as it says.
 *   -EBUSY: see weir_wait.h.
 *
 * What has come is never lost by a cancellation; so a wait that never says
 * WEIR_PENDING is not ended by one, and its loop asks weir_token_cancelled()
 * too. The task that ctx belongs to.
 */
WEIR_API int
weir_token_bound(struct weir_context *ctx, struct weir_token *token,
		 struct weir_wait *wait, int rc);

#ifdef __cplusplus
}
#endif

#endif
