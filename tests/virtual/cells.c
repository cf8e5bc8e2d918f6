/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cells without depots and stocks: each is memory of its own, so that a look at
 * one that was given back is seen, and there is no state of a stock.
 */

#include <errno.h>

#include "kernel.h"
#include "task/task.h"
#include "wraps.h"

int
__wrap_weir__cell_pools_init(struct cell_pools *p, unsigned int socket,
			     unsigned int cells)
{
	return kernel_chance(KERNEL_NO_MEMORY) ? -ENOMEM : 0;
}

void
__wrap_weir__cell_pools_fini(struct cell_pools *p)
{
	virtual_touch(p);
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
	return virtual_alloc(offsetof(struct task, bytes) + state_size);
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
	virtual_free(t);
}
