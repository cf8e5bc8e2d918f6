/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PARK_SLEEPER_H
#define PARK_SLEEPER_H

/*
 * How a worker waits: by pausing its CPU, or asleep in the kernel until someone
 * calls. See sleeper.c.
 */

#include <rte_epoll.h>

#include "base/atomic.h"
#include "base/common.h"

/* Sources whose interrupts one look takes; others come with the next. */
#define SLEEPER_EVENTS 16

struct sleeper {
	/* 1: in the kernel, or about to be. Written by the worker's driver. */
	struct atomic_u32 asleep;
	int event_fd; /* where callers write */
	int epoll_fd; /* it, and what sources add while the worker sleeps */
	struct rte_epoll_event event;

	/* Whose interrupts ended this sleep (K4). */
	const void *fired[SLEEPER_EVENTS];
	unsigned int nb_fired;
};

/* Returns 0 or -errno; fini is legal in both cases. */
int
weir__sleeper_init(struct sleeper *s);
void
weir__sleeper_fini(struct sleeper *s);

/*
 * From here on callers wake the driver; it then looks at all that it waits for
 * once more (K1). all_threads: also for those that call after a light fence. False:
 * the kernel refuses that now, as when the process has given rights up since it began.
 */
bool
weir__sleeper_begin(struct sleeper *s, bool all_threads);

/*
 * Sleeps for so many nanoseconds at most, and what the kernel adds. False when the time
 * was up.
 */
bool
weir__sleeper_wait(struct sleeper *s, uint64_t timeout_ns);

void
weir__sleeper_end(struct sleeper *s);

/* Did this source's interrupt end the last sleep? The driver. */
bool
weir__sleeper_was_fired(const struct sleeper *s, const void *source);

/* Ends the wait that the driver is in, or its next. Any thread, any signal. */
void
weir__sleeper_signal(const struct sleeper *s);

/*
 * Wakes the driver if it sleeps. It costs a load when it does not.
 *
 * order: RELAXED after a fence, SEQ_CST after a SEQ_CST operation (K1).
 */
static inline void
sleeper_call(const struct sleeper *s, int order)
{
	if (unlikely(atomic_u32_load(&s->asleep, order)))
		weir__sleeper_signal(s);
}

/* Can weir__pause() save power on this machine? */
bool
weir__pause_saves_power(void);

/* Lets the CPU rest for a moment, until that TSC at most. */
void
weir__pause(bool save_power, uint64_t until);

#endif
