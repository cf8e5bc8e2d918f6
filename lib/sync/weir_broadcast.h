/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_BROADCAST_H
#define WEIR_BROADCAST_H

/**
 * @file
 * Values for any number of receivers, each of which gets all of them in order.
 *
 * A ring holds the last ones. Senders never wait: a receiver that is slower than
 * that is told how many it missed, and goes on with the oldest that is left.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most bytes of a value; it is copied under a lock. */
#define WEIR_BROADCAST_SIZE_MAX 256

/** A broadcast: weir_broadcast_init() before use. */
struct weir_broadcast {
	uint64_t reserved[10]; /**< not the user's */
};

/**
 * Where somebody is. Zero-initialised it is at the first value that was ever
 * sent. For one task or thread at a time, and one broadcast; there is nothing to
 * release.
 */
struct weir_broadcast_receiver {
	uint64_t next;	 /**< not the user's */
	uint64_t missed; /**< how many values, with -EOVERFLOW */
};

/**
 * Makes it ready for use.
 *
 * @param ring   Memory of the caller's for n values. It is the broadcast's until
 *               weir_broadcast_fini().
 * @param n      How many values it holds, a power of two.
 * @param size   Bytes of a value.
 * @return 0, or -EINVAL: n is no power of two, or a size of 0 or of more than
 * WEIR_BROADCAST_SIZE_MAX.
 *
 * Before it is shared.
 */
WEIR_API int
weir_broadcast_init(struct weir_broadcast *broadcast, void *ring, uint32_t n,
		    size_t size);

/** Nobody uses it any more. */
WEIR_API void
weir_broadcast_fini(struct weir_broadcast *broadcast);

/**
 * Sends a value to all receivers, over the oldest. Copies it.
 *
 * @return 0, or -EPIPE: closed.
 *
 * Any thread. Of two senders all receivers see the same first.
 */
WEIR_API int
weir_broadcast_send(struct weir_broadcast *broadcast, const void *value);

/** The receiver gets what is sent from here on. Any thread. */
WEIR_API void
weir_broadcast_subscribe(struct weir_broadcast *broadcast,
			 struct weir_broadcast_receiver *receiver);

/**
 * Takes the next value, or waits for it.
 *
 * @param value  Where its copy goes.
 * @return 0; WEIR_PENDING; -EOVERFLOW: receiver->missed values were overwritten
 * first, and the next call goes on with the oldest there is; -EPIPE: closed, and
 * there are no more; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread. Who gives up a wait
 * misses nothing by that.
 */
WEIR_API int
weir_broadcast_recv(struct weir_context *ctx, struct weir_broadcast *broadcast,
		    struct weir_broadcast_receiver *receiver, void *value,
		    struct weir_wait *wait);

/**
 * Takes the next value if it is there.
 *
 * @return 0, -EAGAIN, -EOVERFLOW or -EPIPE.
 *
 * Any thread.
 */
WEIR_API int
weir_broadcast_try_recv(struct weir_broadcast *broadcast,
			struct weir_broadcast_receiver *receiver, void *value);

/**
 * Nothing is sent any more: receivers get what is left for them, and then
 * -EPIPE. Any thread.
 */
WEIR_API void
weir_broadcast_close(struct weir_broadcast *broadcast);

#ifdef __cplusplus
}
#endif

#endif
