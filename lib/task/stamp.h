/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_STAMP_H
#define TASK_STAMP_H

/*
 * The moment of a task's last wake-up, in 32 bits.
 *
 * Coarse, bit 31 clear: TSC >> 16. Its age is known up to 2^47 cycles, 13 hours
 * at 3 GHz, and begins again at 0 after them.
 *
 * Fine, bit 31 set: TSC >> 4, up to 2^35 cycles, 11 seconds at 3 GHz. For a
 * task that is queued while wake-ups are timed; coarse again once it runs.
 */

#include <stdbool.h>
#include <stdint.h>

#define STAMP_FINE (UINT32_C(1) << 31)
#define STAMP_MASK (STAMP_FINE - 1)
/* Ahead of now by no more than this is now: TSCs differ by a little. */
#define STAMP_SLACK 1024u

static inline uint32_t
stamp_coarse(uint64_t tsc)
{
	return (uint32_t)(tsc >> 16) & STAMP_MASK;
}

static inline uint32_t
stamp_fine(uint64_t tsc)
{
	return (uint32_t)(tsc >> 4) | STAMP_FINE;
}

static inline unsigned int
stamp_shift(uint32_t stamp)
{
	return stamp & STAMP_FINE ? 4 : 16;
}

/* From the stamp to now, in its own unit. */
static inline uint32_t
stamp_units(uint32_t stamp, uint64_t now)
{
	return ((uint32_t)(now >> stamp_shift(stamp)) - stamp) & STAMP_MASK;
}

/* Is it ahead of now, or older than half of what its age is known up to? */
static inline bool
stamp_seems_later(uint32_t stamp, uint64_t now)
{
	return stamp_units(stamp, now) > STAMP_MASK / 2;
}

/* Cycles from the stamp to now. */
static inline uint64_t
stamp_age(uint32_t stamp, uint64_t now)
{
	unsigned int shift = stamp_shift(stamp);
	uint32_t age = stamp_units(stamp, now);

	return age > STAMP_MASK - STAMP_SLACK ? 0 : (uint64_t)age << shift;
}

#endif
