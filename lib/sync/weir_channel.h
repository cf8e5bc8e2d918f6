/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_CHANNEL_H
#define WEIR_CHANNEL_H

/**
 * @file
 * Channels: values of a fixed size, such as pointers to mbufs, from any number
 * of senders to any number of receivers. Each value comes to one receiver, in
 * the order in which the values were sent.
 *
 * Tasks of any runtime and plain threads use them alike: see weir_wait.h. A
 * sender or receiver is a counted end of the channel: each part of a program
 * has its own, or shares one that outlives it.
 */

#include <weir_wait.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The capacity of a channel whose senders never wait for room. */
#define WEIR_CHANNEL_UNBOUNDED SIZE_MAX
/** Most values that a bounded channel holds. */
#define WEIR_CHANNEL_CAPACITY_MAX (UINT32_C(1) << 30)
/** Most bytes of a value. */
#define WEIR_CHANNEL_SIZE_MAX 1024

struct weir_sender;
struct weir_receiver;

/**
 * Makes a channel, with memory of the caller's NUMA node: a worker's is its runtime's,
 * unless it takes more than some 2,000 bytes. The values in one without a capacity are in
 * EAL's heap, and their memory is given back to it.
 *
 * @param capacity  How many values it holds before senders wait, or
 *                  WEIR_CHANNEL_UNBOUNDED. There is memory for the next power of
 *                  two.
 * @param size      Bytes of a value.
 * @param drop      Releases a value that nobody will receive; may be NULL. Gets the
 *                  address of a copy (of a pointer, where values are pointers),
 *                  aligned to 16 bytes. Runs on the thread that gives up the last
 *                  receiver.
 * @param sender,receiver  The first of each; the caller owns them. The channel's
 *                  memory goes with the last of both; they may outlive the
 *                  runtime: see weir_runtime_free().
 * @return 0, -EINVAL (a capacity or size of 0, or too large), -ENOMEM.
 *
 * Any thread.
 */
WEIR_API int
weir_channel_create(size_t capacity, size_t size, void (*drop)(void *value),
		    struct weir_sender **sender,
		    struct weir_receiver **receiver);

/** One more, which the caller owns. Any thread. */
WEIR_API struct weir_sender *
weir_sender_clone(struct weir_sender *sender);

/** One more, which the caller owns. Any thread. */
WEIR_API struct weir_receiver *
weir_receiver_clone(struct weir_receiver *receiver);

/**
 * Gives one up. With the last one, receivers get what is in the channel, and
 * -EPIPE then. NULL is legal. Any thread, while it waits for nothing.
 */
WEIR_API void
weir_sender_drop(struct weir_sender *sender);

/**
 * Gives one up. With the last one, senders get -EPIPE, and what is in the
 * channel is dropped. NULL is legal. Any thread, while it waits for nothing.
 */
WEIR_API void
weir_receiver_drop(struct weir_receiver *receiver);

/**
 * Ends the sending: senders get -EPIPE, receivers what is in the channel, and
 * -EPIPE then. Any thread.
 */
WEIR_API void
weir_receiver_close(struct weir_receiver *receiver);

/**
 * Sends up to n values, at least one, or waits until there is room for that.
 *
 * The values are sent when it says so and are the caller's until then, so a
 * task that gives up while it waits knows that they were not.
 *
 * @param values  n values, one behind the other.
 * @return How many were sent, from the first on; WEIR_PENDING; -EPIPE;
 * -ENOMEM (an unbounded channel); -EINVAL: n is 0; -EBUSY, -EDEADLK: see
 * weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_send_burst(struct weir_context *ctx, struct weir_sender *sender,
		const void *values, uint32_t n, struct weir_wait *wait);

/**
 * Sends n values, where weir_send_burst() sends a part. Values of others may come
 * between them.
 *
 * @param sent  How many have been sent so far: in the task's state, 0 before the first
 *              call, and left as it is between calls. Behind an error, and where the
 *              task gives up, too, it says how many there were: the others are the
 *              caller's.
 * @return 0: all; WEIR_PENDING; -errno as weir_send_burst(). Where `sent` says that there
 * is nothing to do it is 0, whatever has become of the channel.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_send_all(struct weir_context *ctx, struct weir_sender *sender,
	      const void *values, uint32_t n, uint32_t *sent,
	      struct weir_wait *wait);

/** Sends one value. 0, or as weir_send_burst(). */
WEIR_API int
weir_send(struct weir_context *ctx, struct weir_sender *sender,
	  const void *value, struct weir_wait *wait);

/**
 * Sends up to n values, as many as there is room for that nobody waits for.
 *
 * @return How many were sent, at least one, from the first on; -EAGAIN, -EPIPE, -ENOMEM
 * (an unbounded channel, without memory for one); -EINVAL: n is 0.
 *
 * Any thread.
 */
WEIR_API int
weir_try_send_burst(struct weir_sender *sender, const void *values, uint32_t n);

/**
 * Sends one value if there is room and nobody waits for it.
 *
 * @return 0, -EAGAIN, -EPIPE or -ENOMEM.
 *
 * Any thread.
 */
WEIR_API int
weir_try_send(struct weir_sender *sender, const void *value);

/**
 * Receives up to n values, at least one, or waits for that.
 *
 * A task that gives up while it waits takes nothing with it. One that was woken to
 * four values or more, in a channel with room for more, yields when it has them
 * all and looks again 2 us later, once, before it waits to be woken.
 *
 * @param values  Room for n values.
 * @return How many there are; WEIR_PENDING; -EPIPE: there will be none;
 * -EINVAL: n is 0; -EBUSY, -EDEADLK: see weir_wait.h.
 *
 * A task, or with NULL for ctx and wait a plain thread.
 */
WEIR_API int
weir_recv_burst(struct weir_context *ctx, struct weir_receiver *receiver,
		void *values, uint32_t n, struct weir_wait *wait);

/** Receives one value. 0, or as weir_recv_burst(). */
WEIR_API int
weir_recv(struct weir_context *ctx, struct weir_receiver *receiver, void *value,
	  struct weir_wait *wait);

/**
 * Receives up to n values, as many as are there that nobody waits for.
 *
 * @return How many there are, at least one; -EAGAIN or -EPIPE; -EINVAL: n is 0.
 *
 * Any thread.
 */
WEIR_API int
weir_try_recv_burst(struct weir_receiver *receiver, void *values, uint32_t n);

/**
 * Receives one value if there is one and nobody waits for it.
 *
 * @return 0, -EAGAIN or -EPIPE.
 *
 * Any thread.
 */
WEIR_API int
weir_try_recv(struct weir_receiver *receiver, void *value);

/** How many values are in the channel just now. Any thread. */
WEIR_API size_t
weir_receiver_len(struct weir_receiver *receiver);

#ifdef __cplusplus
}
#endif

#endif
