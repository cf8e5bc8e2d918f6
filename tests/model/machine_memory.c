/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory, and rings and cells in it. */

#include <rte_malloc.h>
#include <rte_ring.h>

#include "machine.h"
#include "model.h"
#include "task/cell.h"
#include "task/task.h"

#define RING_SIZE 4

void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align);
void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	(void)type;
	(void)align;
	return model_alloc(size);
}

void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket);
void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket)
{
	(void)type;
	(void)align;
	(void)socket;
	return model_alloc(size);
}

void
__wrap_rte_free(void *p);
void
__wrap_rte_free(void *p)
{
	model_free(p);
}

struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int size, int socket,
		       unsigned int flags);
struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int size, int socket,
		       unsigned int flags)
{
	struct rte_ring *r;

	(void)size;
	(void)socket;
	r = model_alloc((size_t)rte_ring_get_memsize(RING_SIZE));
	rte_ring_init(r, name, RING_SIZE, flags);
	return r;
}

void
__wrap_rte_ring_free(struct rte_ring *r);
void
__wrap_rte_ring_free(struct rte_ring *r)
{
	model_free(r);
}

/* Cells come without pools and caches, so that each is watched. */

int
__wrap_weir__cell_pools_init(struct cell_pools *p, const char *name,
			     unsigned int socket, unsigned int cells,
			     unsigned int nb_workers);
int
__wrap_weir__cell_pools_init(struct cell_pools *p, const char *name,
			     unsigned int socket, unsigned int cells,
			     unsigned int nb_workers)
{
	(void)p;
	(void)name;
	(void)socket;
	(void)cells;
	(void)nb_workers;
	return 0;
}

void
__wrap_weir__cell_pools_fini(struct cell_pools *p);
void
__wrap_weir__cell_pools_fini(struct cell_pools *p)
{
	machine_touch(p);
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
	machine_touch(c);
}

struct task *
__wrap_weir__cell_alloc(struct cell_pools *p, struct cell_cache *c,
			size_t state_size);
struct task *
__wrap_weir__cell_alloc(struct cell_pools *p, struct cell_cache *c,
			size_t state_size)
{
	machine_touch(p);
	if (c != NULL)
		machine_touch(c);
	return model_alloc(sizeof(struct task) + state_size);
}

void
__wrap_weir__cell_free(struct cell_pools *p, struct cell_cache *c,
		       struct task *t);
void
__wrap_weir__cell_free(struct cell_pools *p, struct cell_cache *c,
		       struct task *t)
{
	machine_touch(p);
	if (c != NULL)
		machine_touch(c);
	model_free(t);
}
