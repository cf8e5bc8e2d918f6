/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_RAND_H
#define BASE_RAND_H

/*
 * A small generator for scheduling decisions: xorshift64* (S. Vigna, "An
 * experimental exploration of Marsaglia's xorshift generators, scrambled",
 * 2016). Each user has its own state, so that a seed repeats its choices.
 */

#include <stdint.h>

struct rand_state {
	uint64_t s;
};

/* Neighbouring seeds give unrelated sequences (splitmix64's finaliser). */
static inline void
rand_seed(struct rand_state *r, uint64_t seed)
{
	seed += UINT64_C(0x9e3779b97f4a7c15);
	seed = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	seed = (seed ^ (seed >> 27)) * UINT64_C(0x94d049bb133111eb);
	seed ^= seed >> 31;
	r->s = seed != 0 ? seed : 1;
}

static inline uint32_t
rand_u32(struct rand_state *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return (uint32_t)((r->s * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

/* Uniform enough in 0..n-1, without a division. n > 0. */
static inline uint32_t
rand_below(struct rand_state *r, uint32_t n)
{
	return (uint32_t)(((uint64_t)rand_u32(r) * n) >> 32);
}

#endif
