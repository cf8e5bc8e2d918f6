/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PEERS_WORK_H
#define PEERS_WORK_H

#include <stdint.h>

/* As in weir-flows: steps of xorshift64. */
static inline void
work_on(unsigned int steps)
{
	uint64_t x = UINT64_C(88172645463325252);

	for (; steps > 0; steps--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	__asm__ volatile("" : : "r"(x));
}

#endif
