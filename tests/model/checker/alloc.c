/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory of the models. Each thread takes its own from an area of its own, so
 * that addresses do not depend on the order of what threads do; none is used
 * twice in an execution, so that whoever looks at what was freed is caught.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "alloc.h"
#include "kept.h"
#include "memory.h"
#include "model.h"
#include "race.h"
#include "thread.h"

#define AREA_SIZE (8ul << 20)
#define ALIGN 64
#define LINES (AREA_SIZE / ALIGN)
#define MAGIC UINT64_C(0x6d6f64656c616c6c)

struct block {
	uint64_t magic;
	size_t size;
	uint32_t clock;	   /* its thread's when it was allocated */
	uint16_t freed_by; /* thread + 1; 0: it was not */
	uint16_t retired_by;
	/* Offsets. */
	uint32_t shown_begin;
	uint32_t shown_end;
	uint8_t bytes[] __attribute__((aligned(ALIGN)));
};

static char *areas KEPT;
static size_t taken[MEMORY_THREADS] KEPT;
static unsigned int live KEPT;
/* Where the block begins that a line of an area belongs to. */
static uint32_t (*begins)[LINES] KEPT;

void
alloc_reset(void)
{
	unsigned int i;

	if (areas == NULL) {
		areas = mmap(NULL, MEMORY_THREADS * AREA_SIZE,
			     PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
		begins = calloc(MEMORY_THREADS, sizeof(*begins));
		if (areas == MAP_FAILED || begins == NULL)
			abort();
	}
	for (i = 0; i < MEMORY_THREADS; i++)
		taken[i] = 0;
	live = 0;
}

unsigned int
alloc_live(void)
{
	return live;
}

/* NULL: outside, or between blocks. */
static struct block *
block_of(uintptr_t a, uint16_t *thread)
{
	uintptr_t at = a - (uintptr_t)areas;

	*thread = (uint16_t)(at / AREA_SIZE);
	if (at >= MEMORY_THREADS * AREA_SIZE ||
	    at % AREA_SIZE >= taken[*thread])
		return NULL;
	return (struct block *)(void *)(areas + *thread * AREA_SIZE +
					(size_t)ALIGN *
						begins[*thread]
						      [at % AREA_SIZE / ALIGN]);
}

static bool
is_shown(const struct block *b, uintptr_t a)
{
	uintptr_t at = a - (uintptr_t)b->bytes;

	return at >= b->shown_begin && at < b->shown_end;
}

uint32_t
alloc_clock(uintptr_t a, uint16_t *thread)
{
	struct block *b = block_of(a, thread);

	if (b != NULL && !is_shown(b, a))
		return b->clock;
	*thread = 0;
	return 0;
}

bool
alloc_was_freed(uintptr_t a, unsigned int *by)
{
	uint16_t thread;
	struct block *b = block_of(a, &thread);

	if (b == NULL || (b->freed_by == 0 && b->retired_by == 0))
		return false;
	*by = (b->freed_by != 0 ? b->freed_by : b->retired_by) - 1u;
	return b->freed_by != 0 || !is_shown(b, a);
}

void *
model_alloc(size_t size)
{
	unsigned int self = vthread_self();
	size_t begin = taken[self], i;
	struct block *b =
		(struct block *)(void *)(areas + self * AREA_SIZE + begin);

	taken[self] += (sizeof(*b) + size + ALIGN - 1) & ~(ALIGN - 1ul);
	if (taken[self] > AREA_SIZE)
		model_give_up("a thread takes too much memory");
	for (i = begin; i < taken[self]; i += ALIGN)
		begins[self][i / ALIGN] = (uint32_t)(begin / ALIGN);
	b->magic = MAGIC;
	b->size = size;
	b->clock = memory_clock()[self];
	b->freed_by = 0;
	b->retired_by = 0;
	b->shown_begin = 0;
	b->shown_end = 0;
	memset(b->bytes, 0, size);
	live++;
	return b->bytes;
}

void
model_free(void *p)
{
	struct block *b;

	if (p == NULL)
		return;
	b = (struct block *)(void *)((char *)p - offsetof(struct block, bytes));
	if (b->magic != MAGIC)
		model_fail("%p was not allocated, and is freed", p);
	if (b->freed_by != 0)
		model_fail("%p is freed twice", p);
	if (b->retired_by == 0)
		race_free(p, b->size);
	else
		race_free((char *)p + b->shown_begin,
			  b->shown_end - b->shown_begin);
	b->freed_by = (uint16_t)(vthread_self() + 1);
	live--;
}

static struct block *
block_at(void *p)
{
	struct block *b =
		(struct block *)(void *)((char *)p -
					 offsetof(struct block, bytes));

	if (b->magic != MAGIC)
		model_fail("%p was not allocated", p);
	return b;
}

void
alloc_show(void *p, size_t begin, size_t size)
{
	struct block *b = block_at(p);

	b->shown_begin = (uint32_t)begin;
	b->shown_end = (uint32_t)(begin + size);
}

void
alloc_retire(void *p)
{
	struct block *b = block_at(p);

	if (b->freed_by != 0 || b->retired_by != 0)
		model_fail("%p is given back twice", p);
	race_free(p, b->shown_begin);
	race_free((char *)p + b->shown_end, b->size - b->shown_end);
	b->retired_by = (uint16_t)(vthread_self() + 1);
}
