/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A set of states by their hashes, open addressing. Each has a bit for each pair
 * of bounds that it was met with.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept.h"
#include "seen.h"

#define FIRST_SIZE (1u << 16)

struct state {
	uint64_t key; /* 0: none */
	uint64_t bounds;
};

static struct state *states KEPT;
static uint64_t size KEPT, count KEPT;

static struct state *
allocate(uint64_t n)
{
	struct state *s = calloc(n, sizeof(*s));

	if (s == NULL) {
		fprintf(stderr, "model: no memory for more states\n");
		abort();
	}
	return s;
}

void
seen_reset(void)
{
	free(states);
	size = FIRST_SIZE;
	states = allocate(size);
	count = 0;
}

uint64_t
seen_count(void)
{
	return count;
}

static struct state *
find(uint64_t key)
{
	uint64_t i = key & (size - 1);

	while (states[i].key != 0 && states[i].key != key)
		i = (i + 1) & (size - 1);
	return &states[i];
}

static void
grow(void)
{
	struct state *old = states;
	uint64_t n = size, i;

	size *= 4;
	states = allocate(size);
	for (i = 0; i < n; i++)
		if (old[i].key != 0)
			*find(old[i].key) = old[i];
	free(old);
}

/* The pairs of bounds that this one is as good as. */
static uint64_t
covered(unsigned int preemptions, unsigned int stale)
{
	uint64_t row = (UINT64_C(2) << stale) - 1, bits = 0;
	unsigned int i;

	for (i = 0; i <= preemptions; i++)
		bits |= row << 8 * i;
	return bits;
}

bool
seen_before(uint64_t key, unsigned int preemptions, unsigned int stale)
{
	struct state *s;

	if (key == 0)
		key = 1;
	s = find(key);
	if (s->key == 0) {
		if (2 * ++count > size) {
			grow();
			s = find(key);
		}
		s->key = key;
	} else if (s->bounds >> (8 * preemptions + stale) & 1) {
		return true;
	}
	s->bounds |= covered(preemptions, stale);
	return false;
}
