/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_SOURCE_DRIVER_H
#define WEIR_SOURCE_DRIVER_H

/**
 * @file
 * Sources, as their drivers see them. Applications do not need this header.
 *
 * A driver keeps its own struct behind the source and guards it with the
 * source's lock. Its receive function takes the lock, looks for events and,
 * when there are none, arms the source for the calling task. The home worker
 * polls armed sources; `poll` then looks for events with the lock held and
 * says whether there are any, upon which the waiter is woken.
 *
 * A source has one waiter, unless its driver keeps places for several, the
 * sockets of one epoll set for example: see weir_source_place_take().
 *
 * A worker that sleeps in the kernel (see enum weir_park) does not poll. A
 * source lets it sleep in one of two ways: `sleep` and `wake`, for devices with
 * interrupts, or WEIR_SOURCE_NOTIFIES, for events that software posts. A source
 * with neither keeps its worker from sleeping while a task waits on it.
 */

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Another than the home worker may call poll when that one is stuck. */
#define WEIR_SOURCE_ANY_THREAD (1u << 0)
/** Whoever posts an event calls weir_source_notify() behind it. */
#define WEIR_SOURCE_NOTIFIES (1u << 1)

/** What a kind of source does. */
struct weir_source_ops {
	const char *name;
	unsigned int flags; /**< WEIR_SOURCE_* */

	/**
	 * Looks for events without waiting, and keeps them.
	 *
	 * @return More than 0 when the waiter has something to take, 0 when
	 * not, -errno when the source is broken: it is then closed with that
	 * error; EINVAL stands in for any other number.
	 *
	 * With the lock held, on a worker; only while a task waits. So neither
	 * this nor what it calls may make, free, close, alert or move a source.
	 */
	int (*poll)(void *priv);

	/**
	 * The home worker is about to sleep on an epoll fd: arrange that an
	 * event ends its wait. `poll` is called once more after this, so events
	 * from before need not. For a fd that becomes readable with them there is
	 * weir_source_watch(). Otherwise what is added must carry
	 * weir_source_of(priv) as rte_epoll_event's epdata.data, as with
	 * rte_eth_dev_rx_intr_ctl_q(). EAL looks at the rte_epoll_event after the
	 * wait: it must outlive the source.
	 *
	 * @return 0, or -errno: it cannot, and is polled. With -ENOTSUP that is
	 * for good; else this is called again a second later, and each time that
	 * it fails after twice as long, 1024 s at most.
	 *
	 * With the lock held, on the home worker. Not called with
	 * WEIR_SOURCE_NOTIFIES. NULL: there is no way but to poll.
	 */
	int (*sleep)(void *priv, int epfd);

	/**
	 * The home worker is awake again: undo that. Once for each sleep that
	 * returned 0, also after the source was closed. With the lock held, on
	 * the home worker, which has left the wait. NULL if and only if sleep is.
	 */
	void (*wake)(void *priv);

	/**
	 * The source was closed, or told something by weir_source_alert(): wake
	 * whoever is in a place of the driver's, see weir_source_place_tell().
	 * With the lock held, on any thread. Needed if there are such places,
	 * else NULL.
	 */
	void (*wake_all)(void *priv);

	/**
	 * Releases what the source holds. With the lock held, once, on the
	 * thread that frees the source. NULL: there is nothing to release.
	 */
	void (*fini)(void *priv);

	/**
	 * Writes which one of its kind it is, "port 0, queue 3" for example, for
	 * lines in the log. At most size bytes, the terminating zero among them.
	 *
	 * With the lock held, on the home worker. NULL: its name has to do.
	 */
	void (*describe)(const void *priv, char *text, size_t size);
};

/**
 * Makes a source and gives it to a worker.
 *
 * @param ops        Must outlive the source.
 * @param priv_size  Bytes for the driver, zeroed, cache-line aligned, on the
 *                   worker's node.
 * @return The driver's bytes; NULL with rte_errno: EINVAL (no such worker, or it does
 * not run, no poll, or one of sleep and wake without the other), ENOMEM, ESHUTDOWN.
 *
 * Waits until each worker has passed its loop once, if this one has had a source. Any
 * thread, but not from what a poll calls.
 */
WEIR_API void *
weir_source_create(struct weir_runtime *rt, const struct weir_source_ops *ops,
		   unsigned int worker, size_t priv_size);

/**
 * Closes a source if need be, takes it from its worker and frees it. Waits
 * until no worker can be looking at it; without memory for that, it calls `fini`
 * all the same, and the rest goes with the runtime. NULL is legal.
 *
 * Any thread, but not from what a poll calls; after the runtime's shutdown too, but
 * before its free.
 */
WEIR_API void
weir_source_free(void *priv);

/**
 * Wakes the source's home worker if it sleeps: it then polls. Call after each
 * post to a source with WEIR_SOURCE_NOTIFIES.
 *
 * Any thread, signal handlers included; until the source is freed.
 */
WEIR_API void
weir_source_notify(void *priv);

/**
 * For sleep: while this fd is readable, the worker does not sleep. One for each
 * source at a time; it must stay open until weir_source_unwatch().
 *
 * @return 0 or -errno, for sleep to return.
 *
 * From sleep, with the lock held.
 */
WEIR_API int
weir_source_watch(void *priv, int epfd, int fd);

/** For wake: undoes weir_source_watch(). With the lock held. */
WEIR_API void
weir_source_unwatch(void *priv);

/**
 * For a source whose poll costs much, a system call for example: until then the
 * workers pass it over in their rounds, which costs next to nothing. Around a
 * sleep they poll it all the same.
 *
 * @param tsc       As rte_rdtsc(); 0: the next round polls it.
 * @param idle_tsc  The same for rounds of a home worker that has nothing to run.
 *
 * With the lock held.
 */
WEIR_API void
weir_source_poll_after(void *priv, uint64_t tsc, uint64_t idle_tsc);

/** The source that a driver's bytes belong to. Any thread. */
WEIR_API struct weir_source *
weir_source_of(const void *priv);

/**
 * The source's lock, for what is neither a poll nor a wait: to add something that
 * is waited for, or to take it away. Any thread, and not for long: it is waited
 * for, and a worker's polls pass the source over meanwhile.
 */
WEIR_API void
weir_source_lock(void *priv);
/** Gives the source's lock back. The thread that has it. */
WEIR_API void
weir_source_unlock(void *priv);

/**
 * Begins a wait: looks at the budget and takes the lock.
 *
 * @return 0 or 1 with the lock held; 1 when the source is closed or alerted:
 * the driver then hands out what it has already, or, if that is nothing,
 * ends the wait with weir_source_wait_fail() and does not touch its device.
 * WEIR_PENDING without the lock: the task will be polled again.
 */
WEIR_API int
weir_source_wait_begin(struct weir_context *ctx, void *priv);

/**
 * Ends a wait on a closed or alerted source, and gives the lock back. Returns the
 * -errno to return. The task whose wait it is.
 */
WEIR_API int
weir_source_wait_fail(void *priv);

/**
 * Ends a wait that found something: gives the lock back.
 *
 * @param units  Budget that it costs, at least 1. When more is spent than was
 *               left, the next wait makes the task yield.
 */
WEIR_API void
weir_source_wait_ready(struct weir_context *ctx, void *priv,
		       unsigned int units);

/**
 * Ends a wait that found nothing: the task becomes the waiter, and the lock is
 * given back. If events have been coming one upon the other it yields instead,
 * to look again at once.
 *
 * A source has one waiter. When another task waits already, that one stays.
 *
 * @return WEIR_PENDING, or -EBUSY.
 */
WEIR_API int
weir_source_wait_arm(struct weir_context *ctx, void *priv);

/**
 * Can the calling task take this place: is nobody in it but the task itself, or
 * one that has ended?
 */
WEIR_API bool
weir_source_place_open(struct weir_context *ctx,
		       struct weir_waker *const *place);

/**
 * Puts the calling task into a place that is open: for a source with several waiters.
 *
 * A place is a pointer in the driver's memory, NULL at first, and holds a
 * reference to the task in it. It is looked at and changed with the lock held,
 * and must be empty before its memory goes. While any place is taken, the source
 * is polled. `poll` then wakes those for whom there is something, and returns
 * whether there were any.
 *
 * A wait begins with weir_source_wait_begin(). If there is nothing for the task
 * it takes one place or more, and ends with weir_source_wait_leave().
 *
 * Any thread that has the lock; what has a context, its task: so with all that are
 * called weir_source_place_*().
 */
WEIR_API void
weir_source_place_take(struct weir_context *ctx, void *priv,
		       struct weir_waker **place);

/** Empties a place without waking who is in it, if anybody is. */
WEIR_API void
weir_source_place_clear(void *priv, struct weir_waker **place);

/** Empties a place, and wakes who was in it. False: nobody was. */
WEIR_API bool
weir_source_place_wake(void *priv, struct weir_waker **place);

/**
 * For wake_all, where the source has to be polled on behind an alert, whatever its
 * waiters do: wakes who is in a place, and empties it only if the source is closed.
 */
WEIR_API void
weir_source_place_tell(void *priv, struct weir_waker **place);

/**
 * Ends a wait whose task is in a place: gives the lock back.
 *
 * @return WEIR_PENDING.
 */
WEIR_API int
weir_source_wait_leave(struct weir_context *ctx, void *priv);

#ifdef __cplusplus
}
#endif

#endif
