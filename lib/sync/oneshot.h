/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SYNC_ONESHOT_H
#define SYNC_ONESHOT_H

/* What both ends of a oneshot point to. See oneshot.c. */

#include "base/atomic.h"
#include "sync/wait.h"

/* What the word says; anything else is the waker of whoever waits. */
enum oneshot_word {
	ONESHOT_EMPTY,	 /* both ends are there, and nobody waits */
	ONESHOT_SENT,	 /* the sender has gone, and the value is there */
	ONESHOT_TX_GONE, /* the sender has gone without one */
	ONESHOT_RX_GONE,
};

struct oneshot {
	struct awaited awaited;
	struct atomic_u64 word;
	void (*drop)(void *value);
	uint32_t size;
	uint8_t value[] __attribute__((aligned(16)));
};

static inline bool
oneshot_is_waker(uint64_t word)
{
	return word > ONESHOT_RX_GONE;
}

#endif
