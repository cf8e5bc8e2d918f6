/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Stacks are mapped one by one, and kept for the next user until their pool
 * ends: to map one and take its first page faults costs as much as some hundred
 * switches to it.
 *
 * S1 Below each stack is a guard which faults when it is touched, wider than a
 *    page, since a function with large variables may step over one. A kernel
 *    that can (6.13) marks the guard in the page table; with others it is a
 *    mapping of its own, of which a process has some 65,000 by default.
 * S2 Memory comes from the pool's node, if that has some, in small pages. Guard
 *    pages and stacks of less than 2 MB leave no room for hugepages, and larger
 *    stacks would take 2 MB each for the few pages that they use.
 * S3 A stack that is free is untouched but for its upper end, and its pages
 *    stay with it: the last one given back is the first to be taken.
 * S4 Stacks begin in different lines of their highest page, by turns. What a switch
 *    touches lies at the upper end; were that the same place in each page, the
 *    stacks of many would share a few sets of the cache and leave the others idle.
 */

#include <errno.h>
#include <numaif.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_errno.h>

#include "base/asan.h"
#include "task/stack.h"

#ifdef WEIR_HAVE_VALGRIND
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_STACK_REGISTER(low, high) 0
#define VALGRIND_STACK_DEREGISTER(id) ((void)(id))
#endif

/* Linux 6.13; older headers do not have it. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* Pages may be of 64 KiB. */
#define GUARD_SIZE ((size_t)64 << 10)
#define MAX_NUMA_NODES 1024
/* S4: lines, and the room for them. What is left of the page is for the stack. */
#define COLOURS 40u
#define COLOUR_ROOM ((size_t)4096)

static_assert(COLOURS * WEIR_CACHE_LINE < COLOUR_ROOM, "all are in the page");

void
weir__stack_pool_init(struct stack_pool *p, unsigned int socket)
{
	memset(p, 0, sizeof(*p));
	lock_init(&p->lock);
	p->socket = socket;
}

/* S2; what the kernel does not do costs speed only. */
static void
place(const struct stack_pool *p, void *memory, size_t size)
{
	unsigned long nodes[MAX_NUMA_NODES / (8 * sizeof(long))] = { 0 };
	const unsigned int bits = 8 * sizeof(nodes[0]);

	madvise(memory, size, MADV_NOHUGEPAGE);
	if (p->socket >= MAX_NUMA_NODES)
		return;
	nodes[p->socket / bits] = 1ul << p->socket % bits;
	mbind(memory, size, MPOL_PREFERRED, nodes, MAX_NUMA_NODES, 0);
}

static size_t
mapped_size(unsigned int size_class)
{
	return GUARD_SIZE + stack_class_size(size_class) + COLOUR_ROOM;
}

/* S1; Valgrind 3.27 ends where there are more than 500 of the first kind. */
static bool
guard(void *memory)
{
	return (RUNNING_ON_VALGRIND == 0 &&
		madvise(memory, GUARD_SIZE, MADV_GUARD_INSTALL) == 0) ||
	       mprotect(memory, GUARD_SIZE, PROT_NONE) == 0;
}

static struct stack *
map(struct stack_pool *p, unsigned int size_class)
{
	size_t size = mapped_size(size_class), colour;
	struct stack *s;
	uint8_t *memory;

	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
		      -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	place(p, memory, size);
	if (!guard(memory)) {
		munmap(memory, size);
		return NULL;
	}
	/* S4 */
	colour = atomic_u64_fetch_add(&p->mapped, 1, RELAXED) % COLOURS;
	size -= colour * WEIR_CACHE_LINE;
	s = (struct stack *)(memory + size) - 1;
	s->pool = p;
	s->low = memory + GUARD_SIZE;
	s->size = size - GUARD_SIZE;
	s->size_class = size_class;
	s->valgrind_id = VALGRIND_STACK_REGISTER(s->low, s->low + s->size - 1);
	return s;
}

static void
unmap(struct stack *s)
{
	atomic_u64_fetch_sub(&s->pool->mapped, 1, RELAXED);
	VALGRIND_STACK_DEREGISTER(s->valgrind_id);
	munmap(s->low - GUARD_SIZE, mapped_size(s->size_class));
}

void
weir__stack_pool_fini(struct stack_pool *p)
{
	struct stack *s;
	unsigned int i;

	WEIR_ASSERT(atomic_u64_load(&p->in_use, RELAXED) == 0,
		    "stack pool: ends with no stack in use");
	for (i = 0; i < STACK_CLASSES; i++) {
		while ((s = p->free[i]) != NULL) {
			p->free[i] = s->next;
			unmap(s);
		}
	}
}

struct stack *
weir__stack_get(struct stack_pool *p, size_t size)
{
	unsigned int i = 0;
	struct stack *s;

	while (i < STACK_CLASSES && stack_class_size(i) < size)
		i++;
	if (i == STACK_CLASSES) {
		rte_errno = EINVAL;
		return NULL;
	}
	lock_acquire(&p->lock);
	s = p->free[i];
	if (s != NULL)
		p->free[i] = s->next;
	lock_release(&p->lock);
	if (s == NULL)
		s = map(p, i);
	if (s == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	atomic_u64_fetch_add(&p->in_use, 1, RELAXED);
	return s;
}

void
weir__stack_put(struct stack *s)
{
	struct stack_pool *p = s->pool;

	/* Frames that have not returned, such as the first one's. */
	ASAN_UNPOISON_MEMORY_REGION(s->low, s->size);
	atomic_u64_fetch_sub(&p->in_use, 1, RELAXED);
	lock_acquire(&p->lock);
	s->next = p->free[s->size_class];
	p->free[s->size_class] = s;
	lock_release(&p->lock);
}

bool
weir__stack_guards(const struct stack *s, const void *address)
{
	const uint8_t *a = address;

	return a < s->low && a >= s->low - GUARD_SIZE;
}

void
weir__stack_clear(struct stack *s, uint8_t *top)
{
	memset(s->low, 0, (size_t)(top - s->low));
}

/* What frames keep clear of each other is read as well. */
__attribute__((no_sanitize_address)) size_t
weir__stack_used(const struct stack *s)
{
	const uint64_t *word = (const uint64_t *)s->low;
	const uint64_t *end = (const uint64_t *)s;

	while (word < end && *word == 0)
		word++;
	return (size_t)((s->low + s->size) - (const uint8_t *)word);
}
