/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Cells without pools and caches: each is memory of its own, so that a look at
 * one that was given back is seen, and there is no state of a cache.
 */

#include "kernel.h"
#include "model.h"
#include "task/cell.h"
#include "task/task.h"

int
__wrap_weir__cell_pools_init(struct cell_pools *p, const char *name,
			     unsigned int socket, unsigned int cells,
			     unsigned int nb_workers);
int
__wrap_weir__cell_pools_init(struct cell_pools *p, const char *name,
			     unsigned int socket, unsigned int cells,
			     unsigned int nb_workers)
{
	return 0;
}

void
__wrap_weir__cell_pools_fini(struct cell_pools *p);
void
__wrap_weir__cell_pools_fini(struct cell_pools *p)
{
	virtual_touch(p);
}

int
__wrap_weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p);
int
__wrap_weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p)
{
	c->pools = p;
	return 0;
}

void
__wrap_weir__cell_cache_fini(struct cell_cache *c);
void
__wrap_weir__cell_cache_fini(struct cell_cache *c)
{
	virtual_touch(c);
}

struct task *
__wrap_weir__cell_alloc(struct cell_pools *p, struct cell_cache *c,
			size_t state_size);
struct task *
__wrap_weir__cell_alloc(struct cell_pools *p, struct cell_cache *c,
			size_t state_size)
{
	virtual_touch(p);
	if (c != NULL)
		virtual_touch(c);
	return model_alloc(sizeof(struct task) + state_size);
}

void
__wrap_weir__cell_free(struct cell_pools *p, struct cell_cache *c,
		       struct task *t);
void
__wrap_weir__cell_free(struct cell_pools *p, struct cell_cache *c,
		       struct task *t)
{
	virtual_touch(p);
	if (c != NULL)
		virtual_touch(c);
	model_free(t);
}
