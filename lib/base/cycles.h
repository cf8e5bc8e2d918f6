/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_CYCLES_H
#define BASE_CYCLES_H

#include <stdint.h>

#include <rte_cycles.h>

/*
 * TSC cycles, rounded down. The counter may run at less than a cycle a nanosecond, as
 * arm64's often does, and at no whole number of MHz.
 */
static inline uint64_t
cycles_of_us(uint64_t us)
{
	const uint64_t hz = rte_get_tsc_hz();

	return us / 1000000 * hz + us % 1000000 * hz / 1000000;
}

/* The same the other way, up to 2^54 cycles. */
static inline uint64_t
us_of_cycles(uint64_t cycles)
{
	return cycles * 1000 / (rte_get_tsc_hz() / 1000);
}

#endif
