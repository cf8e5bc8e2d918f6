/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_ONESHOT_H
#define WEIR_ONESHOT_H

/**
 * @file
 * One value from one sender to one receiver, such as the answer to a request.
 *
 * Each end is used up by what it is for, or dropped; tasks of any runtime and
 * plain threads use them alike: see weir_wait.h.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most bytes of a value. */
#define WEIR_ONESHOT_SIZE_MAX 1024

struct weir_oneshot_tx;
struct weir_oneshot_rx;

/**
 * Makes both ends, which the caller owns.
 *
 * @param rt    The runtime whose memory it takes: fastest where a worker of it
 *              makes one. The ends may outlive it.
 * @param size  Bytes of the value; 0 is legal, and the value may be NULL then.
 * @param drop  Releases a value that was sent and will not be received; may be
 *              NULL. Gets the value's address, aligned to 16 bytes. Runs on the
 *              thread that drops the receiver.
 * @return 0, -EINVAL: size is too large, -ENOMEM.
 *
 * Any thread.
 */
WEIR_API int
weir_oneshot_create(struct weir_runtime *rt, size_t size,
		    void (*drop)(void *value), struct weir_oneshot_tx **tx,
		    struct weir_oneshot_rx **rx);

/**
 * Sends the value, and gives the end up.
 *
 * @return 0; -EPIPE: there is no receiver any more, and the value stays the
 * caller's.
 *
 * Any thread.
 */
WEIR_API int
weir_oneshot_send(struct weir_oneshot_tx *tx, const void *value);

/**
 * Has the receiver gone? Then nobody waits for what the sender is about to make. Any
 * thread.
 */
WEIR_API bool
weir_oneshot_is_closed(const struct weir_oneshot_tx *tx);

/**
 * Gives the end up without a value: the receiver gets -EPIPE. NULL is legal.
 * Any thread.
 */
WEIR_API void
weir_oneshot_tx_drop(struct weir_oneshot_tx *tx);

/**
 * Receives the value, or waits for it.
 *
 * With one wait at a time, which is the caller's to see to: another is refused only
 * until the value is there or the sender has gone. From then on it takes what there
 * is, and the end is gone for the first as well, which may not even be cancelled.
 *
 * @param value  Where it goes.
 * @return WEIR_PENDING; -EBUSY, -EDEADLK: see weir_wait.h; -EBUSY also while another
 * wait is for it and nothing has come. Otherwise the end is gone: 0 with the value, or
 * -EPIPE: there will be none.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_oneshot_recv(struct weir_context *ctx, struct weir_oneshot_rx *rx,
		  void *value, struct weir_wait *wait);

/**
 * Receives the value if it is there.
 *
 * @return -EAGAIN; otherwise the end is gone, as by weir_oneshot_recv().
 *
 * Any thread, while it waits for nothing.
 */
WEIR_API int
weir_oneshot_try_recv(struct weir_oneshot_rx *rx, void *value);

/**
 * Gives the end up: who sends then gets -EPIPE. NULL is legal. Any thread, once
 * a wait for it has been cancelled.
 */
WEIR_API void
weir_oneshot_rx_drop(struct weir_oneshot_rx *rx);

#ifdef __cplusplus
}
#endif

#endif
