/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_ONCE_H
#define WEIR_ONCE_H

/**
 * @file
 * Something that the first who needs it initialises, while the others wait.
 *
 * @code
 * rc = weir_once_begin(ctx, &shared->once, &s->wait);
 * if (rc < 0)
 *	return rc;
 * if (rc == 1) {
 *	shared->table = make_table();
 *	weir_once_done(&shared->once);
 * }
 * use(shared->table);
 * @endcode
 *
 * Who initialises may wait for other things meanwhile. Its drop calls
 * weir_once_fail() then, if it has got so far and no further.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Whether it has happened: weir_once_init() before use. */
struct weir_once {
	uint64_t reserved[8]; /**< not the user's */
};

/** Before it is shared. */
WEIR_API void
weir_once_init(struct weir_once *once);

/** Nobody uses it any more. */
WEIR_API void
weir_once_fini(struct weir_once *once);

/**
 * Waits until it is initialised, or until it is the caller's to do so. Once it
 * is initialised this costs a load, and no budget.
 *
 * @return 0: it is initialised, and the caller sees it; 1: the caller
 * initialises it, and calls weir_once_done() or weir_once_fail() after that;
 * WEIR_PENDING; -EPIPE: closed; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_once_begin(struct weir_context *ctx, struct weir_once *once,
		struct weir_wait *wait);

/**
 * It is initialised: whoever waits or comes goes on.
 *
 * @return 0, or -EINVAL: nobody was about to initialise it, and nothing has
 * changed.
 *
 * Who initialises it, on any thread.
 */
WEIR_API int
weir_once_done(struct weir_once *once);

/**
 * It is not initialised: the first that waits, else the next that comes, does
 * it. As weir_once_done().
 */
WEIR_API int
weir_once_fail(struct weir_once *once);

/**
 * Nobody is asked to initialise it any more: whoever waits or comes gets
 * -EPIPE, unless it is initialised. Who is at it may still say how that ended.
 * Any thread.
 */
WEIR_API void
weir_once_close(struct weir_once *once);

#ifdef __cplusplus
}
#endif

#endif
