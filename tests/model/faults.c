/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Models of the checker itself: what is wrong, other than with values, is found,
 * and what is right is let be. See litmus.c for the values.
 */

#include <string.h>

#include "base/atomic.h"
#include "base/common.h"
#include "model.h"

static struct atomic_u32 x, y, z;
static uint32_t plain;
static uint32_t saw[2];
static int order[2]; /* of the store that tells, and of the load that is told */

typedef void (*body)(void *arg);

static void
orders(int first, int second)
{
	order[0] = first;
	order[1] = second;
}

static void
together(body a, body b, body c)
{
	model_thread("first", a, NULL);
	model_thread("second", b, NULL);
	if (c != NULL)
		model_thread("third", c, NULL);
	model_join_all();
}

/* Plain accesses. */

static void
plain_write(void *arg)
{
	(void)arg;
	plain = 1;
	atomic_u32_store(&y, 1, order[0]);
}

static void
plain_read(void *arg)
{
	(void)arg;
	if (atomic_u32_load(&y, order[1]) == 1)
		model_check(plain == 1);
}

MODEL(plain_ordered, "no race where there is order", 3, 3)
{
	orders(RELEASE, ACQUIRE);
	together(plain_write, plain_read, NULL);
}

MODEL_FAILS(plain_relaxed_store, "a read races with a write",
	    "race of a read with a write")
{
	orders(RELAXED, ACQUIRE);
	together(plain_write, plain_read, NULL);
}

MODEL_FAILS(plain_relaxed_load, "a read races with a write",
	    "race of a read with a write")
{
	orders(RELEASE, RELAXED);
	together(plain_write, plain_read, NULL);
}

MODEL_FAILS(plain_two_writes, "two writes race", "race of two writes")
{
	together(plain_write, plain_write, NULL);
}

static void
plain_look(void *arg)
{
	(void)arg;
	model_check(plain <= 1);
	atomic_u32_store(&y, 1, RELAXED);
}

static void
plain_after(void *arg)
{
	(void)arg;
	if (atomic_u32_load(&y, ACQUIRE) == 1)
		plain = 1;
}

MODEL_FAILS(plain_overtakes, "a write races with a read before it",
	    "race of a write with a read")
{
	together(plain_look, plain_after, NULL);
}

static void
plain_clear(void *arg)
{
	size_t size = sizeof(plain);

	(void)arg;
	memset(&plain, 0, size);
}

MODEL_FAILS(plain_memset, "memset() is a write", "race of two writes")
{
	together(plain_clear, plain_clear, NULL);
}

static void
atomic_then_tell(void *arg)
{
	(void)arg;
	atomic_u32_load(&x, RELAXED);
	atomic_u32_store(&y, 1, RELAXED);
}

static void
told_then_clear(void *arg)
{
	(void)arg;
	if (atomic_u32_load(&y, RELAXED) == 1)
		memset(&x, 0, sizeof(x));
}

MODEL_FAILS(plain_after_atomic, "a write races with an atomic access",
	    "race of a write with an atomic access")
{
	together(atomic_then_tell, told_then_clear, NULL);
}

/* In the same place on the stack, twice. */
static __attribute__((noinline)) void
short_lived(uint32_t v)
{
	struct atomic_u32 local = { v };

	model_check(atomic_u32_load(&local, RELAXED) == v);
	atomic_u32_store(&local, v + 1, RELAXED);
	model_check(atomic_u32_load(&local, RELAXED) == v + 1);
}

MODEL(stack_again, "memory that is used again has its new value", 3, 3)
{
	short_lived(1);
	short_lived(5);
}

/* Ranges in one hand at a time: see model_exclusive(). */

static void
hand_over(void *arg)
{
	(void)arg;
	atomic_u32_load(&x, RELAXED);
	atomic_u32_store(&y, 1, order[0]);
}

static void
take_over(void *arg)
{
	(void)arg;
	if (atomic_u32_load(&y, ACQUIRE) == 1)
		atomic_u32_store(&x, 1, RELAXED);
}

MODEL(exclusive_handed, "a variable goes from hand to hand", 3, 3)
{
	order[0] = RELEASE;
	model_exclusive(&x, sizeof(x));
	together(hand_over, take_over, NULL);
}

MODEL_FAILS(exclusive_shared, "a store could overtake the load before it",
	    "race of a write with a read")
{
	model_exclusive(&x, sizeof(x));
	together(hand_over, take_over, NULL);
}

/* Memory. */

static uint32_t *block;

static void
free_told(void *arg)
{
	(void)arg;
	saw[0] = atomic_u32_load(&y, order[1]);
	if (saw[0] == 1)
		model_free(block);
}

static void
use_and_tell(void *arg)
{
	(void)arg;
	*block = 1;
	atomic_u32_store(&y, 1, order[0]);
}

/* One of the two may free the block; else the caller does. */
static void
with_block(body user, body other)
{
	block = model_alloc(sizeof(struct atomic_u32));
	together(user, other, NULL);
	if (saw[0] == 0)
		model_free(block);
}

MODEL_FAILS(memory_leak, "what is not freed leaks", "1 blocks of memory leak")
{
	block = model_alloc(sizeof(*block));
	if (model_choose(2) == 0)
		model_free(block);
}

MODEL(memory_handed, "memory is freed by who knows that it can be", 3, 3)
{
	orders(RELEASE, ACQUIRE);
	with_block(use_and_tell, free_told);
}

MODEL_FAILS(memory_freed_early, "memory is freed while it is written",
	    "race of two writes")
{
	orders(RELAXED, ACQUIRE);
	with_block(use_and_tell, free_told);
}

static void
free_block(void *arg)
{
	(void)arg;
	model_free(block);
}

MODEL_FAILS(memory_used_late, "use after the end",
	    "use of memory after its end")
{
	block = model_alloc(sizeof(*block));
	model_thread("first", free_block, NULL);
	model_join_all();
	*block = 1;
}

static void
use_atomically(void *arg)
{
	(void)arg;
	atomic_u32_fetch_add((struct atomic_u32 *)block, 1, RELAXED);
	atomic_u32_store(&y, 1, order[0]);
}

MODEL_FAILS(memory_in_use, "an atomic access could come after the end",
	    "end of memory that is in use")
{
	orders(RELAXED, ACQUIRE);
	with_block(use_atomically, free_told);
}

MODEL_FAILS(memory_freed_twice, "the end comes once", "is freed twice")
{
	block = model_alloc(sizeof(*block));
	model_free(block);
	model_free(block);
}

/* Waiting. */

static void
wait_for(const struct atomic_u32 *a, uint32_t v, int o)
{
	while (atomic_u32_load(a, o) != v)
		atomic_pause();
}

static void
set_x(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, RELAXED);
}

static void
set_x_then_y(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, RELAXED);
	atomic_u32_store(&y, 1, order[0]);
}

static void
wait_y(void *arg)
{
	(void)arg;
	wait_for(&y, 1, order[1]);
	saw[1] = atomic_u32_load(&x, RELAXED);
}

MODEL_OUTCOMES(wait_release_acquire, "what was waited for comes with the rest",
	       1u << 1)
{
	orders(RELEASE, ACQUIRE);
	together(set_x_then_y, wait_y, NULL);
	model_outcome(saw[1]);
}

MODEL_OUTCOMES(wait_relaxed, "or alone", 3)
{
	together(set_x_then_y, wait_y, NULL);
	model_outcome(saw[1]);
}

MODEL_FAILS(wait_for_ever, "what nobody does is waited for in vain",
	    "nobody can go on")
{
	together(wait_y, set_x, NULL);
}

static void
wait_x_and_y(void *arg)
{
	(void)arg;
	wait_for(&x, 1, RELAXED);
	atomic_u32_store(&z, 1, RELAXED);
	wait_for(&y, 1, RELAXED);
	atomic_u32_store(&x, 2, RELAXED);
}

static void
wait_either(void *arg)
{
	uint32_t a, b;

	(void)arg;
	for (;;) {
		a = atomic_u32_load(&x, RELAXED);
		b = atomic_u32_load(&y, RELAXED);
		if (a == 1 || b == 1)
			break;
		atomic_pause();
	}
}

MODEL(wait_two, "what came behind the first of two looks is not missed", 3, 3)
{
	together(wait_either, set_x, NULL);
}

static void
wait_z(void *arg)
{
	(void)arg;
	wait_for(&z, 1, RELAXED);
	atomic_u32_store(&y, 1, RELAXED);
	wait_for(&x, 2, RELAXED);
}

MODEL(wait_in_turn, "threads that wait for each other in turn come to an end",
      3, 3)
{
	together(wait_x_and_y, wait_z, set_x);
}

static void
turn_for_ever(void *arg)
{
	(void)arg;
	while (atomic_u32_load(&y, RELAXED) == 0) {
		atomic_u32_fetch_add(&x, 1, RELAXED);
		atomic_pause();
	}
}

MODEL_FAILS(livelock, "threads that keep each other going", "a livelock")
{
	together(turn_for_ever, turn_for_ever, NULL);
}

MODEL_FAILS(broken_rule, "an assertion of the library's", "broken rule")
{
	WEIR_ASSERT(atomic_u32_load(&x, RELAXED) == 1, "C1");
}

MODEL_OUTCOMES(choices, "each choice is made", 7)
{
	model_outcome(model_choose(3));
}

/* With no atomic step it ends in the step in which it begins. */
MODEL(plain_thread, "a thread without atomic steps is waited for", 3, 3)
{
	together(plain_clear, set_x_then_y, NULL);
	plain++;
	model_check(plain == 1);
}

MODEL_FAILS(crash, "a wild pointer", "a crash in thread main")
{
	block = model_choose(1) == 0 ? NULL : model_alloc(1);
	plain = *(volatile uint32_t *)block;
}
