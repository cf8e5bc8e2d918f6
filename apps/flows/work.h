/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FLOWS_WORK_H
#define FLOWS_WORK_H

#include <stdint.h>

/*
 * Stands for what a program does with a packet: xorshift steps (Marsaglia, 2003), each of
 * which waits for the one before.
 */
static inline void
work_on(unsigned int steps)
{
	uint64_t x = UINT64_C(88172645463325252);

	for (; steps > 0; steps--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	/* Used, for all that compilers know. */
	__asm__ volatile("" : : "r"(x));
}

#endif
