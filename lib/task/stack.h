/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_STACK_H
#define TASK_STACK_H

/*
 * Stacks for tasks that have one of their own, from a pool for each node. What
 * happens to a stack while it is in use, its user knows.
 */

#include "base/atomic.h"
#include "base/common.h"
#include "base/lock.h"

/* Sizes are powers of two: 16 KiB to 16 MiB. */
#define STACK_CLASSES 11
#define STACK_MIN_SIZE ((size_t)16 << 10)
#define STACK_MAX_SIZE (STACK_MIN_SIZE << (STACK_CLASSES - 1))

static inline size_t
stack_class_size(unsigned int size_class)
{
	return STACK_MIN_SIZE << size_class;
}

struct stack_pool;

/* Lies at the upper end of its stack, which grows towards `low`. */
struct stack {
	struct stack_pool *pool;
	struct stack *next; /* while it is free */
	uint8_t *low;	    /* below it comes the guard */
	size_t size; /* this struct included; that of its class or more */
	unsigned int size_class;
	unsigned int valgrind_id;
};

struct stack_pool {
	struct lock lock;
	unsigned int socket;
	struct stack *free[STACK_CLASSES]; /* under the lock */
	struct atomic_u64 in_use;
	struct atomic_u64 mapped; /* free ones as well */
};

void
weir__stack_pool_init(struct stack_pool *p, unsigned int socket);

/* Gives the memory of free stacks back. */
void
weir__stack_pool_fini(struct stack_pool *p);

/*
 * A stack of this size or the next that there is. NULL with rte_errno: EINVAL
 * for one that is too large, ENOMEM. Any thread.
 */
struct stack *
weir__stack_get(struct stack_pool *p, size_t size);

/* Any thread. */
void
weir__stack_put(struct stack *s);

/* Is this address what is touched when the stack is too small? */
bool
weir__stack_guards(const struct stack *s, const void *address);

/* Clears it down from `top`, where nothing is in use, for weir__stack_used(). */
void
weir__stack_clear(struct stack *s, uint8_t *top);

/* Bytes down from the upper end that have been written since it was cleared. */
size_t
weir__stack_used(const struct stack *s);

#endif
