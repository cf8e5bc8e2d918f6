/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Plain accesses, of which the compiler tells: the library is built with
 * -fsanitize=thread, and the functions that this calls are these instead of
 * ThreadSanitizer's. Whether one happens before another is asked of the vector
 * clocks in memory.c, after Flanagan and Freund, "FastTrack" (PLDI 2009), byte
 * by byte.
 *
 * DPDK's headers use atomic builtins, which come here as well. They are taken
 * as they are, as are its volatile accesses: as atomic ones with the order that
 * DPDK gets from its compiler barriers and control dependencies, ACQUIRE and
 * RELEASE.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "base/atomic.h"
#include "kept.h"
#include "memory.h"
#include "model.h"
#include "race.h"
#include "thread.h"

#define PAGE_BITS 12
#define PAGE_SIZE (1u << PAGE_BITS)
#define BUCKETS 65536

/* Of one byte. */
struct shadow {
	uint32_t generation;
	uint16_t writer;	       /* its thread */
	uint32_t written;	       /* the writer's clock then; 0: never */
	uint32_t read[MEMORY_THREADS]; /* the readers' clocks */
	uint32_t used[MEMORY_THREADS]; /* the same, atomically */
};

struct page {
	uintptr_t number;
	struct shadow bytes[PAGE_SIZE];
};

static struct page *pages[BUCKETS] KEPT;
static unsigned int nb_pages KEPT;
static uint32_t generation KEPT;

/* See model_exclusive(). */
#define EXCLUSIVE_MAX 16
static struct {
	uintptr_t begin;
	size_t size;
} exclusive[EXCLUSIVE_MAX] KEPT;
static unsigned int nb_exclusive KEPT;

void
race_reset(void)
{
	generation++;
	nb_exclusive = 0;
}

void
model_exclusive(const void *p, size_t size)
{
	if (nb_exclusive == EXCLUSIVE_MAX)
		model_give_up("too many exclusive ranges");
	exclusive[nb_exclusive].begin = (uintptr_t)p;
	exclusive[nb_exclusive++].size = size;
}

static bool
is_exclusive(uintptr_t a)
{
	unsigned int i;

	for (i = 0; i < nb_exclusive; i++)
		if (a - exclusive[i].begin < exclusive[i].size)
			return true;
	return false;
}

/* Executions use the same pages again, so they stay. */
static struct page *
page_of(uintptr_t number)
{
	static struct page *last KEPT;
	uint32_t i = (uint32_t)(number * 0x9e3779b1u) % BUCKETS;

	if (last != NULL && last->number == number)
		return last;
	while (pages[i] != NULL && pages[i]->number != number)
		i = (i + 1) % BUCKETS;
	if (pages[i] == NULL) {
		if (++nb_pages > BUCKETS / 2)
			model_give_up("too much memory is touched");
		pages[i] = calloc(1, sizeof(*pages[i]));
		if (pages[i] == NULL)
			abort();
		pages[i]->number = number;
	}
	last = pages[i];
	return last;
}

static void
report(const char *what, uintptr_t a, unsigned int other)
{
	const char *file;
	int line;

	vthread_where_get(vthread_self(), &file, &line);
	model_fail("%s: address %#lx, by thread %s (after its step at %s:%d), "
		   "and before by thread %s",
		   what, a, vthread_name(vthread_self()),
		   file != NULL ? file : "its start", line,
		   vthread_name(other));
}

/* Until its first use in an execution a byte is as it was allocated. */
static void
renew(struct shadow *s, uintptr_t a)
{
	memset(s, 0, sizeof(*s));
	s->generation = generation;
	s->written = alloc_clock(a, &s->writer);
}

enum access {
	READ,
	WRITE,
	ATOMIC_READ,
	ATOMIC_WRITE,
	END, /* of the memory */
};

static void
look(uintptr_t a, size_t size, enum access access)
{
	bool write = access != READ && access != ATOMIC_READ;
	bool plain = access == WRITE || access == END;
	const uint32_t *clock = memory_clock();
	unsigned int self = vthread_self(), i;
	struct shadow *s;

	for (; size > 0; a++, size--) {
		s = &page_of(a >> PAGE_BITS)->bytes[a & (PAGE_SIZE - 1)];
		if (s->generation != generation)
			renew(s, a);
		if (s->written > clock[s->writer])
			report(write ? "race of two writes" :
				       "race of a read with a write",
			       a, s->writer);
		for (i = 0; write && i < MEMORY_THREADS; i++)
			if (s->read[i] > clock[i])
				report("race of a write with a read", a, i);
		for (i = 0; plain && i < MEMORY_THREADS; i++)
			if (s->used[i] > clock[i])
				report(access == END ?
					       "end of memory that is in use" :
					       "race of a write with an "
					       "atomic access",
				       a, i);
		switch (access) {
		case READ:
			s->read[self] = clock[self];
			break;
		case WRITE:
			s->writer = (uint16_t)self;
			s->written = clock[self];
			break;
		case ATOMIC_READ:
		case ATOMIC_WRITE:
			s->used[self] = clock[self];
			break;
		case END:
			break;
		}
	}
}

static void
check_alive(uintptr_t a)
{
	unsigned int by;

	if (alloc_was_freed(a, &by))
		report("use of memory after its end", a, by);
}

static void
plain(const void *p, size_t size, bool write)
{
	/* Thread-local memory has one address for all virtual threads. */
	if (!vthreads_running() || vthread_is_local(p))
		return;
	check_alive((uintptr_t)p);
	look((uintptr_t)p, size, write ? WRITE : READ);
	if (write)
		memory_rewritten(p, size);
}

/*
 * Atomic accesses race with plain ones, not with each other. That of a plain
 * read with an earlier atomic write is not seen: what is atomic is a struct of
 * its own type here, which is not read but as a whole.
 */
void
race_atomic(const void *p, size_t size, bool write)
{
	check_alive((uintptr_t)p);
	if (is_exclusive((uintptr_t)p))
		look((uintptr_t)p, size, write ? WRITE : READ);
	else
		look((uintptr_t)p, size, write ? ATOMIC_WRITE : ATOMIC_READ);
}

void
race_free(const void *p, size_t size)
{
	uintptr_t a = (uintptr_t)p;

	for (; size > 0; a++, size--)
		if (page_of(a >> PAGE_BITS)
			    ->bytes[a & (PAGE_SIZE - 1)]
			    .generation == generation)
			look(a, 1, END);
}

/* What GCC calls. */

#define ACCESS(n)                                        \
	void __tsan_read##n(void *p);                    \
	void __tsan_read##n(void *p)                     \
	{                                                \
		plain(p, n, false);                      \
	}                                                \
	void __tsan_write##n(void *p);                   \
	void __tsan_write##n(void *p)                    \
	{                                                \
		plain(p, n, true);                       \
	}                                                \
	void __tsan_unaligned_read##n(void *p);          \
	void __tsan_unaligned_read##n(void *p)           \
	{                                                \
		plain(p, n, false);                      \
	}                                                \
	void __tsan_unaligned_write##n(void *p);         \
	void __tsan_unaligned_write##n(void *p)          \
	{                                                \
		plain(p, n, true);                       \
	}                                                \
	void __tsan_volatile_read##n(void *p);           \
	void __tsan_volatile_read##n(void *p)            \
	{                                                \
		if (vthreads_running())                  \
			memory_volatile_read(p, n);      \
	}                                                \
	void __tsan_volatile_write##n(void *p);          \
	void __tsan_volatile_write##n(void *p)           \
	{                                                \
		plain(p, n, true);                       \
	}                                                \
	void __tsan_unaligned_volatile_read##n(void *p); \
	void __tsan_unaligned_volatile_read##n(void *p)  \
	{                                                \
		__tsan_volatile_read##n(p);              \
	}

ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void
__tsan_read_range(void *p, size_t size);
void
__tsan_read_range(void *p, size_t size)
{
	plain(p, size, false);
}

void
__tsan_write_range(void *p, size_t size);
void
__tsan_write_range(void *p, size_t size)
{
	plain(p, size, true);
}

/*
 * The library's calls of the C library's functions are these, by meson.build.
 */

void *
model_memcpy(void *to, const void *from, size_t size);
void *
model_memcpy(void *to, const void *from, size_t size)
{
	plain(from, size, false);
	plain(to, size, true);
	return memcpy(to, from, size);
}

void *
model_memmove(void *to, const void *from, size_t size);
void *
model_memmove(void *to, const void *from, size_t size)
{
	plain(from, size, false);
	plain(to, size, true);
	return memmove(to, from, size);
}

void *
model_memset(void *to, int c, size_t size);
void *
model_memset(void *to, int c, size_t size)
{
	plain(to, size, true);
	return memset(to, c, size);
}

void
__tsan_init(void);
void
__tsan_init(void)
{
}

void
__tsan_func_entry(void *pc);
void
__tsan_func_entry(void *pc)
{
	(void)pc;
}

void
__tsan_func_exit(void);
void
__tsan_func_exit(void)
{
}

#define ATOMIC_RMW(bits, name, op)                                           \
	uint##bits##_t __tsan_atomic##bits##_##name(                         \
		volatile void *p, uint##bits##_t v, int order);              \
	uint##bits##_t __tsan_atomic##bits##_##name(                         \
		volatile void *p, uint##bits##_t v, int order)               \
	{                                                                    \
		return (uint##bits##_t)virtual_rmw(                          \
			(void *)(uintptr_t)p, bits / 8, op, v, order, NULL); \
	}

#define ATOMIC(bits)                                                           \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile void *p,      \
						  int order);                  \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile void *p,      \
						  int order)                   \
	{                                                                      \
		return (uint##bits##_t)virtual_load(                           \
			(const void *)(uintptr_t)p, bits / 8, order, NULL);    \
	}                                                                      \
	void __tsan_atomic##bits##_store(volatile void *p, uint##bits##_t v,   \
					 int order);                           \
	void __tsan_atomic##bits##_store(volatile void *p, uint##bits##_t v,   \
					 int order)                            \
	{                                                                      \
		virtual_store((void *)(uintptr_t)p, bits / 8, v, order, NULL); \
	}                                                                      \
	int __tsan_atomic##bits##_compare_exchange_strong(                     \
		volatile void *p, uint##bits##_t *expected, uint##bits##_t v,  \
		int success, int failure);                                     \
	int __tsan_atomic##bits##_compare_exchange_strong(                     \
		volatile void *p, uint##bits##_t *expected, uint##bits##_t v,  \
		int success, int failure)                                      \
	{                                                                      \
		uint64_t e = *expected;                                        \
		bool ok = virtual_cas((void *)(uintptr_t)p, bits / 8, &e, v,   \
				      success, failure, NULL);                 \
                                                                               \
		*expected = (uint##bits##_t)e;                                 \
		return ok;                                                     \
	}                                                                      \
	ATOMIC_RMW(bits, exchange, VIRTUAL_EXCHANGE)                           \
	ATOMIC_RMW(bits, fetch_add, VIRTUAL_ADD)                               \
	ATOMIC_RMW(bits, fetch_sub, VIRTUAL_SUB)                               \
	ATOMIC_RMW(bits, fetch_or, VIRTUAL_OR)                                 \
	ATOMIC_RMW(bits, fetch_and, VIRTUAL_AND)

ATOMIC(32)
ATOMIC(64)

void
__tsan_atomic_thread_fence(int order);
void
__tsan_atomic_thread_fence(int order)
{
	virtual_fence(order, NULL);
}

void
__tsan_atomic_signal_fence(int order);
void
__tsan_atomic_signal_fence(int order)
{
	(void)order;
}
