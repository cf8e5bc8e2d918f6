/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cells without depots and stocks: each is memory of its own, so that there is no
 * state of a stock, and a look at one that was given back is seen. Not by who looks for
 * tasks: to that one cells stay cells until their pools end, though there is nothing
 * left but what is shown to it. All of a pools' are on its list of large ones. Where
 * cells are used again, another task gets what was given back.
 */

#include <errno.h>
#include <string.h>

#include "kernel.h"
#include "thread.h"
#include "wraps.h"

/* What is shown of each cell, behind what stands before it. */
#define SHOWN_BEGIN sizeof(struct large_cell)
#define SHOWN_SIZE offsetof(struct task, next)
#define POISON 0xdd
/* Bytes of state of those that are used again, at most: they are looked through. */
#define AGAIN_MAX 448

static void
cell_list_init(struct cell_pools *p)
{
	list_init(&p->large);
	p->depot[0].batches = NULL;
}

/* One that waits to be used again: what it had is gone. */
static void
poison(struct task *t)
{
	memset(t->bytes, POISON, AGAIN_MAX);
}

static void
check_poison(const struct task *t)
{
	size_t i;

	for (i = 0; i < AGAIN_MAX; i++)
		if (t->bytes[i] != POISON)
			virtual_failed("a cell is written at %zu after it was "
				       "given back",
				       i);
}

static void
cell_list_fini(struct cell_pools *p)
{
	struct list_link *l;
	struct cell *cell;

	for (cell = p->depot[0].batches; cell != NULL; cell = cell->next)
		check_poison((struct task *)cell);
	p->depot[0].batches = NULL;
	/* Of pools that were not made, too. */
	while (p->large.next != NULL && (l = list_pop_front(&p->large)) != NULL)
		virtual_free(container_of(l, struct large_cell, link));
}

static struct task *
new_cell(struct cell_pools *p, unsigned int cls, size_t state_size)
{
	size_t size = offsetof(struct task, bytes) + state_size;
	struct large_cell *cell;

	/* Another task will want all of it. */
	if (virtual_reuses_cells && cls != CELL_CLASS_MALLOC)
		size = offsetof(struct task, bytes) + AGAIN_MAX;
	cell = virtual_alloc(sizeof(*cell) + size);
	virtual_show(cell, SHOWN_BEGIN, SHOWN_SIZE);
	memset(cell, 0, sizeof(*cell) + size);
	cell->task = (struct task *)(cell + 1);
	cell->task->size_class = (uint8_t)cls;
	list_push_back(&p->large, &cell->link);
	return cell->task;
}

static struct task *
cell_list_take(struct cell_pools *p, size_t state_size)
{
	unsigned int cls = state_size <= AGAIN_MAX ? 0 : CELL_CLASS_MALLOC;
	struct cell *old = cls == 0 ? p->depot[0].batches : NULL;

	if (old == NULL)
		return new_cell(p, cls, state_size);
	p->depot[0].batches = old->next;
	check_poison((struct task *)old);
	return (struct task *)old;
}

static void
cell_list_put(struct cell_pools *p, struct task *t)
{
	struct large_cell *cell = (struct large_cell *)t - 1;

	if (cell->task != t)
		virtual_failed("a cell is given back that was none");
	if (t->state.word.v & STATE_OWNED)
		virtual_failed("a cell is given back with a live task");
	virtual_retire(cell);
	if (!virtual_reuses_cells || t->size_class == CELL_CLASS_MALLOC)
		return;
	poison(t);
	((struct cell *)t)->next = p->depot[0].batches;
	p->depot[0].batches = (struct cell *)t;
}

int
__wrap_weir__cell_pools_init(struct cell_pools *p, unsigned int socket,
			     unsigned int cells)
{
	if (kernel_chance(KERNEL_NO_MEMORY))
		return -ENOMEM;
	cell_list_init(p);
	return 0;
}

void
__wrap_weir__cell_pools_fini(struct cell_pools *p)
{
	virtual_touch(p);
	cell_list_fini(p);
}

void
__wrap_weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p)
{
	unsigned int i;

	/* Nothing is at hand, nor is there room: each cell comes through here. */
	*c = (struct cell_cache){ .pools = p };
	for (i = 0; i < RTE_DIM(c->stock); i++)
		c->stock[i].n = CELL_BATCH - 1;
}

void
__wrap_weir__cell_cache_fini(struct cell_cache *c)
{
	virtual_touch(c);
}

uint64_t
__wrap_weir__cell_cache_taken(const struct cell_cache *c)
{
	return c->nb_cells;
}

struct task *
__wrap_weir__cell_alloc(struct cell_pools *p, struct cell_cache *c,
			size_t state_size)
{
	virtual_touch(p);
	if (c != NULL)
		virtual_touch(c);
	if (kernel_chance(KERNEL_NO_MEMORY))
		return NULL;
	kernel_counts.cells++;
	if (c != NULL)
		c->nb_cells++;
	return cell_list_take(p, state_size);
}

unsigned int
__wrap_weir__cell_alloc_burst(struct cell_pools *p, struct cell_cache *c,
			      size_t state_size, struct task **tasks,
			      unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		tasks[i] = __wrap_weir__cell_alloc(p, c, state_size);
		if (tasks[i] == NULL)
			break;
	}
	return i;
}

void
__wrap_weir__cell_free(struct cell_pools *p, struct cell_cache *c,
		       struct task *t)
{
	virtual_touch(p);
	if (c != NULL)
		virtual_touch(c);
	kernel_counts.cells--;
	if (c != NULL)
		c->nb_cells--;
	cell_list_put(p, t);
}

void
__wrap_weir__cell_walk_begin(struct cell_walk *w, struct cell_pools *p)
{
	virtual_touch(p);
	*w = (struct cell_walk){ .pools = p };
}

struct task *
__wrap_weir__cell_walk_next(struct cell_walk *w,
			    bool (*look)(struct task *t, void *arg), void *arg)
{
	struct cell_pools *p = w->pools;
	struct list_link *l;
	struct task *t;

	do {
		vthread_point();
		/* Its place is the cell that it has come to. */
		l = w->place.link.prev == NULL ? &p->large : w->place.link.prev;
		l = l->next;
		virtual_saw(l != &p->large);
		if (l == &p->large)
			return NULL;
		w->place.link.prev = l;
		t = container_of(l, struct large_cell, link)->task;
	} while (!look(t, arg));
	return t;
}

void
__wrap_weir__cell_walk_end(struct cell_walk *w)
{
	virtual_touch(w->pools);
}
