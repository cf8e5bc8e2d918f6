/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The machine's memory, which each run finds empty. The same calls give the same
 * places.
 *
 * Y1 What has been freed holds POISON until it is given out again. It is looked
 *    at whether it still does then, and when a run is over.
 * Y2 What is retired keeps what is shown of it, and is not given out again: its user
 *    does that.
 */

#include <string.h>
#include <sys/mman.h>

#include "sim.h"

#define ARENA_SIZE (UINT64_C(1) << 32)
#define ALIGNMENT 64
#define CLASSES 33
#define LIVE 0x4c495645u
#define POISON 0xdd
/* Of a larger one only as much is looked at. */
#define POISONED_MAX 16384

struct block {
	uint32_t state; /* LIVE, or not */
	uint32_t class;
	struct block *next; /* while it is free */
	uint8_t bytes[] __attribute__((aligned(ALIGNMENT)));
};

/* The linker's. */
extern const char __executable_start, _end;

static uint8_t *arena;
static uint64_t used;
static struct block *free_blocks[CLASSES];

void
arena_reset(void)
{
	if (arena == NULL)
		arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	if (arena == MAP_FAILED)
		virtual_failed("no memory for the machine");
	used = 0;
	memset(free_blocks, 0, sizeof(free_blocks));
}

uint64_t
arena_value(uint64_t value)
{
	uint64_t offset = value - (uintptr_t)arena;
	const uintptr_t program = (uintptr_t)&__executable_start;

	if (offset < ARENA_SIZE)
		return offset;
	/* What is static, such as what tasks run. */
	return value - program < (uintptr_t)&_end - program ? value - program :
							      value;
}

static size_t
class_size(unsigned int class)
{
	return (size_t)1 << class;
}

static unsigned int
class_of(size_t size)
{
	unsigned int class = 6;

	while (class_size(class) < size)
		class ++;
	return class;
}

static size_t
poisoned(unsigned int class)
{
	return RTE_MIN(class_size(class), (size_t)POISONED_MAX);
}

/* Y1 */
static void
check_poison(const struct block *b)
{
	size_t i, n = poisoned(b->class);
	uint64_t word;

	for (i = 0; i < n; i += sizeof(word)) {
		memcpy(&word, b->bytes + i, sizeof(word));
		if (word != POISON * (UINT64_MAX / UINT8_MAX))
			virtual_failed("memory of %zu bytes at most is written "
				       "at %zu after it was freed",
				       class_size(b->class), i);
	}
}

void
arena_check(void)
{
	const struct block *b;
	unsigned int i;

	for (i = 0; i < CLASSES; i++)
		for (b = free_blocks[i]; b != NULL; b = b->next)
			check_poison(b);
}

void *
virtual_alloc(size_t size)
{
	unsigned int class = class_of(size);
	struct block *b = free_blocks[class];

	if (b != NULL) {
		free_blocks[class] = b->next;
		check_poison(b);
	} else {
		b = (struct block *)(arena + used);
		used += sizeof(*b) + class_size(class);
		if (used > ARENA_SIZE)
			virtual_failed("the machine's memory is used up");
		b->class = class;
	}
	b->state = LIVE;
	return b->bytes;
}

void
virtual_free(void *p)
{
	struct block *b = container_of(p, struct block, bytes);

	if ((uint8_t *)p - arena >= (ptrdiff_t)used || b->state != LIVE)
		virtual_failed("memory is freed twice, or was none");
	memset(b->bytes, POISON, poisoned(b->class));
	b->state = 0;
	b->next = free_blocks[b->class];
	free_blocks[b->class] = b;
}

void
virtual_show(void *p, size_t begin, size_t size)
{
}

/* Y2 */
void
virtual_retire(void *p)
{
	struct block *b = container_of(p, struct block, bytes);

	if ((uint8_t *)p - arena >= (ptrdiff_t)used || b->state != LIVE)
		virtual_failed("memory is retired that was none");
}

const bool virtual_reuses_cells = true;
