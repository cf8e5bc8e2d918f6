/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_CELL_H
#define TASK_CELL_H

/*
 * Memory of cells, of tasks and of what they share: for each size class on each node a
 * depot of cells, and socket-local memory for cells that are larger than any. Whoever
 * looks for tasks can go through all of them.
 *
 * A worker has stocks of its own in front of its node's depots, so that it
 * comes to their locks once for many cells. They are indexed by worker and not
 * by lcore id, since a worker's core can move to another thread. Everybody else,
 * and who ends a cell of another node, shares a stock under the lock.
 */

#include <stddef.h>

#include <rte_prefetch.h>

#include "base/asan.h"
#include "base/common.h"
#include "base/list.h"
#include "base/lock.h"
#include "task/task.h"

/*
 * Cells of 128, 192, 256, 384, 512, 768, 1,024, 1,536 and 2,304 bytes: in the last one
 * there is room for 256 pointers and what goes with them.
 */
#define CELL_CLASSES 9
/* Of these there are some from the start. */
#define CELL_CLASSES_READY 5
#define CELL_CLASS_MALLOC CELL_CLASSES
#define CELL_MIN_SIZE 128
#define CELL_MAX_SIZE 2304
#define CELL_STATE_MAX (CELL_MAX_SIZE - offsetof(struct task, bytes))

/*
 * Cells that a stock and its depot exchange. Smaller: more of them meet at the
 * lock. Larger: more memory lies idle with workers, up to three batches a class, which is
 * 432 KB of the largest.
 */
#define CELL_BATCH 64
/*
 * In a depot one cell of so many names the others (C6). Smaller: fewer are fetched at
 * once. Larger: more than a CPU fetches at once.
 */
#define CELL_GROUP 8

/*
 * A batch that is given to a depot of so many is made of groups (C6). Smaller: more are
 * that will be taken while they are in a core's caches yet. Larger: fewer of those that
 * will not; these are a megabyte of the smallest cells.
 */
#define CELL_DEEP 128u

/*
 * Lists of a stock (C7). Smaller: a burst waits for each cell's lines. Larger: cells that
 * are fetched are pushed out again before their turn.
 */
#define CELL_LISTS 4

struct cell_stock;

/* A cell that holds nothing. What is to be read of it stays as the last task left it. */
struct cell {
	uint8_t task[offsetof(struct task, next)];
	struct cell *next; /* or next group */
	/* In the first one of a batch. */
	struct cell *next_batch;
	const struct cell_stock *giver;
	uint32_t nb_groups; /* 0: it is lists */
	/* In the first one of a group, or the heads of the others in that of lists. */
	struct cell *others[CELL_GROUP - 1] weir_cache_aligned;
	struct cell *after_next; /* group, or NULL */
};

static_assert(CELL_BATCH % CELL_LISTS == 0 && CELL_LISTS <= CELL_GROUP,
	      "the first cell of a batch names all lists");
static_assert(sizeof(struct cell) <= CELL_MIN_SIZE &&
		      offsetof(struct cell, nb_groups) + sizeof(uint32_t) <=
			      offsetof(struct task, size_class),
	      "a cell names others, and keeps its class");

/*
 * For the address sanitizer: what a task had in its state is nobody's any more. It is
 * again when the cell is taken.
 */
#ifdef WEIR_ASAN
void
weir__cell_close(struct cell *c);
void
weir__cell_open(struct cell *c);
#else
static inline void
weir__cell_close(struct cell *c)
{
	(void)c;
}
static inline void
weir__cell_open(struct cell *c)
{
	(void)c;
}
#endif

struct cell_chunk;

/* Cells at hand. One user at a time. */
struct cell_stock {
	/* Given back; C7. */
	struct cell *last; /* or NULL */
	struct cell *heads[CELL_LISTS];
	unsigned int n; /* in these lists; less than CELL_BATCH */
	unsigned int nb_groups;
	struct cell *groups; /* from the depot */
	struct cell *spare;  /* a whole batch that is lists, or NULL */
	/* Never used yet. */
	char *fresh;
	char *fresh_end;
};

struct cell_depot {
	struct lock lock weir_cache_aligned;
	/* A batch was taken last by another than had given it. */
	struct atomic_u32 crosses;
	/* Changed under the lock; who gives one looks before. */
	struct atomic_u32 nb_batches;
	/* Under the lock. */
	struct cell *batches;
	struct cell_chunk *chunks; /* all, the newest first */
	struct cell_chunk *open;   /* the one with cells never used, or NULL */
	struct cell_stock shared;
};

/* Stands before a cell that is larger than any class. */
struct large_cell {
	struct list_link link;
	struct task *task; /* NULL: somebody's place in the list */
} weir_cache_aligned;

struct cell_pools {
	unsigned int socket;
	struct lock large_lock;
	struct list_link large;
	unsigned int nb_large;
	struct cell_depot depot[CELL_CLASSES];
};

/* Somebody's way through all cells. */
struct cell_walk {
	struct cell_pools *pools;
	unsigned int cls;	  /* that is next */
	struct cell_chunk *chunk; /* that is next of the class before */
	/* Of the chunk before that. */
	char *at;
	char *end;
	/* Among the large ones, behind the last that was looked at. */
	struct large_cell place;
	bool placed;
	unsigned int left; /* at most; who comes later is behind these */
};

struct cell_cache {
	struct cell_pools *pools;
	/* What came into its hands from elsewhere, less what went there. */
	uint64_t nb_cells;
	/* One for each class; the last is always full: those are not kept. */
	struct cell_stock stock[CELL_CLASSES + 1];
};

/*
 * `cells` of each of the first classes are there from the start; more memory is
 * taken when they are out, and kept until the end. Returns 0 or -ENOMEM; pools is
 * then empty.
 */
int
weir__cell_pools_init(struct cell_pools *p, unsigned int socket,
		      unsigned int cells);
/* All cells have come back, or will not be used. */
void
weir__cell_pools_fini(struct cell_pools *p);

void
weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p);
/*
 * Cells that its worker took, less those that it gave back: of other pools and in
 * bursts too. They may be fewer than none.
 */
uint64_t
weir__cell_cache_taken(const struct cell_cache *c);
/* Gives what it has to the pools, which are there still. */
void
weir__cell_cache_fini(struct cell_cache *c);

/*
 * A cell with room for state_size bytes, of which only size_class is set. NULL:
 * no memory. The cache may be NULL, and else belongs to the calling worker.
 */
struct task *
weir__cell_alloc(struct cell_pools *p, struct cell_cache *c, size_t state_size);

/* Puts one to the lists, which have room for it. */
static inline void
stock_push(struct cell_stock *s, struct cell *c)
{
	struct cell **head = &s->heads[s->n++ % CELL_LISTS];

	c->next = *head;
	*head = c;
}

/* Takes the last one that was put to the lists; there is one. */
static inline struct cell *
stock_unlink(struct cell_stock *s)
{
	struct cell **head = &s->heads[--s->n % CELL_LISTS], *c = *head;

	*head = c->next;
	return c;
}

/* The same, where more will be wanted. */
static inline struct cell *
stock_pop(struct cell_stock *s)
{
	struct cell *c = stock_unlink(s);

	/* It comes soon, and has been given back some time ago. */
	rte_prefetch0(c->next);
	rte_prefetch0((void *)((uintptr_t)c->next + WEIR_CACHE_LINE));
	return c;
}

/* Takes one that was given back, for use, or NULL. */
static inline struct cell *
stock_take_given(struct cell_stock *s)
{
	struct cell *c = s->last;

	if (c != NULL)
		s->last = NULL;
	/* C7: without any, this list is empty, too. */
	else if (likely(s->heads[(s->n - 1) % CELL_LISTS] != NULL))
		c = stock_pop(s);
	else
		return NULL;
	weir__cell_open(c);
	return c;
}

/* Is it one that is returned to the heap (cell.c, C5)? */
static inline bool
cell_is_large(const struct task *t)
{
	return t->size_class == CELL_CLASS_MALLOC;
}

/* The size class of a state that is not too large for any. */
static inline size_t
cell_class(size_t state_size)
{
	static const uint8_t by_lines[CELL_MAX_SIZE / WEIR_CACHE_LINE + 1] = {
		0, 0, 0, 1, 2, 3, 3, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7,
		7, 7, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
	};
	size_t size = offsetof(struct task, bytes) + state_size;

	return by_lines[(size + WEIR_CACHE_LINE - 1) / WEIR_CACHE_LINE];
}

/* As weir__cell_alloc(), of the cache's pools, if there is one at hand. */
static inline struct task *
cell_take(struct cell_cache *c, size_t state_size)
{
	if (unlikely(state_size > CELL_STATE_MAX))
		return NULL;
	/* Its class has stayed. */
	return (struct task *)stock_take_given(
		&c->stock[cell_class(state_size)]);
}

/* As weir__cell_alloc(), without a call when there is one at hand. */
static inline struct task *
cell_alloc(struct cell_pools *p, struct cell_cache *c, size_t state_size)
{
	struct task *t = NULL;

	if (likely(c != NULL && c->pools == p))
		t = cell_take(c, state_size);
	return likely(t != NULL) ? t : weir__cell_alloc(p, c, state_size);
}

/* n of them, or as many as there is memory for: how many. */
unsigned int
weir__cell_alloc_burst(struct cell_pools *p, struct cell_cache *c,
		       size_t state_size, struct task **tasks, unsigned int n);

void
weir__cell_free(struct cell_pools *p, struct cell_cache *c, struct task *t);

void
weir__cell_walk_begin(struct cell_walk *w, struct cell_pools *p);
/*
 * The next cell for which look() is true, or NULL. It is asked once about each cell that
 * may hold a task or have held one; some of those that are new may be missed. While it
 * looks, the cell is there, whatever becomes of the task; it must not touch other cells.
 */
struct task *
weir__cell_walk_next(struct cell_walk *w,
		     bool (*look)(struct task *t, void *arg), void *arg);
void
weir__cell_walk_end(struct cell_walk *w);

/* As weir__cell_free(), without a call when it goes to others at hand. */
static inline void
cell_free(struct cell_pools *p, struct cell_cache *c, struct task *t)
{
	struct cell *cell = (struct cell *)t;
	struct cell_stock *s;

	weir__cell_close(cell);
	if (likely(c != NULL && c->pools == p)) {
		s = &c->stock[(size_t)t->size_class];
		if (likely(s->n < CELL_BATCH - 1)) {
			if (s->last == NULL)
				s->last = cell;
			else
				stock_push(s, cell);
			return;
		}
	}
	weir__cell_free(p, c, t);
}

#endif
