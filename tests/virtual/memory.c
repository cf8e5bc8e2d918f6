/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What DPDK makes of memory, which is virtual_alloc()'s. Rings are DPDK's own on
 * it; mempools are DPDK's with their caches, before a list of cells. Who counts
 * on the order that the heap's lock gives says so (lib/base/race.h).
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "kept.h"
#include "kernel.h"
#include "wraps.h"

#define NAMES_MAX 1024
#define NAME_LEN 32
/* Of a larger block only as much. */
#define FILLED_MAX 16384

struct pool {
	unsigned int size;
	unsigned int out;
};

static char names[NAMES_MAX][NAME_LEN] KEPT; /* of rings and pools */
static unsigned int nb_names;

void
kernel_memory_reset(void)
{
	nb_names = 0;
}

/* A name is had once. */
static bool
take_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < nb_names; i++)
		if (strcmp(names[i], name) == 0)
			return false;
	for (i = 0; i < nb_names && names[i][0] != '\0'; i++)
		;
	if (i == NAMES_MAX)
		virtual_failed("more than %d rings and pools", NAMES_MAX);
	if (i == nb_names)
		nb_names++;
	snprintf(names[i], NAME_LEN, "%s", name);
	return true;
}

static void
give_name(const char *name)
{
	unsigned int i;

	for (i = 0; i < nb_names; i++)
		if (strcmp(names[i], name) == 0)
			names[i][0] = '\0';
}

static void *
allocate(size_t size)
{
	void *p;

	virtual_call("rte_malloc");
	if (kernel_chance(KERNEL_NO_MEMORY))
		return NULL;
	p = virtual_alloc(size);
	kernel_counts.blocks++;
	/* Nobody may count on what it holds. */
	memset(p, 0xa5, RTE_MIN(size, (size_t)FILLED_MAX));
	return p;
}

static void *
allocate_zeroed(size_t size)
{
	void *p = allocate(size);

	return p != NULL ? memset(p, 0, size) : NULL;
}

void *
__wrap_rte_malloc(const char *type, size_t size, unsigned int align)
{
	return allocate(size);
}

void *
__wrap_rte_malloc_socket(const char *type, size_t size, unsigned int align,
			 int socket)
{
	return allocate(size);
}

void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	return allocate_zeroed(size);
}

void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket)
{
	return allocate_zeroed(size);
}

void
__wrap_rte_free(void *p)
{
	if (p == NULL)
		return;
	virtual_call("rte_free");
	kernel_counts.blocks--;
	virtual_free(p);
}

struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int size, int socket,
		       unsigned int flags)
{
	struct rte_ring *r;

	virtual_call("rte_ring_create");
	if (kernel_options.ring_size != 0)
		size = RTE_MIN(size, kernel_options.ring_size);
	if (kernel_chance(KERNEL_NO_MEMORY)) {
		rte_errno = ENOMEM;
		return NULL;
	}
	if (!take_name(name)) {
		rte_errno = EEXIST;
		return NULL;
	}
	r = virtual_alloc((size_t)rte_ring_get_memsize(size));
	rte_ring_init(r, name, size, flags);
	kernel_counts.rings++;
	return r;
}

void
__wrap_rte_ring_free(struct rte_ring *r)
{
	if (r == NULL)
		return;
	give_name(r->name);
	kernel_counts.rings--;
	virtual_free(r);
}

static int
pool_enqueue(struct rte_mempool *mp, void *const *cells, unsigned int n)
{
	struct pool *pool = mp->pool_data;
	unsigned int i;

	virtual_call("mempool put");
	if (pool->out < n)
		virtual_failed("a pool gets more cells than it gave");
	pool->out -= n;
	kernel_counts.cells -= n;
	virtual_release(pool);
	for (i = 0; i < n; i++)
		virtual_free(cells[i]);
	return 0;
}

static int
pool_dequeue(struct rte_mempool *mp, void **cells, unsigned int n)
{
	struct pool *pool = mp->pool_data;
	unsigned int i;

	virtual_call("mempool get");
	if (pool->size - pool->out < n || kernel_chance(KERNEL_POOL_EMPTY))
		return -ENOBUFS;
	pool->out += n;
	kernel_counts.cells += n;
	virtual_acquire(pool);
	for (i = 0; i < n; i++)
		cells[i] = virtual_alloc(mp->elt_size);
	return 0;
}

static unsigned int
pool_count(const struct rte_mempool *mp)
{
	const struct pool *pool = mp->pool_data;

	return pool->size - pool->out;
}

static int
pool_alloc(struct rte_mempool *mp)
{
	return 0;
}

static const struct rte_mempool_ops pool_ops = {
	.name = "virtual",
	.alloc = pool_alloc,
	.enqueue = pool_enqueue,
	.dequeue = pool_dequeue,
	.get_count = pool_count,
};

RTE_MEMPOOL_REGISTER_OPS(pool_ops);

static int
ops_index(void)
{
	unsigned int i;

	for (i = 0;
	     strcmp(rte_mempool_ops_table.ops[i].name, pool_ops.name) != 0; i++)
		;
	return (int)i;
}

struct rte_mempool *
__wrap_rte_mempool_create_empty(const char *name, unsigned int n,
				unsigned int size, unsigned int cache,
				unsigned int priv, int socket,
				unsigned int flags)
{
	struct rte_mempool *mp;
	struct pool *pool;

	virtual_call("rte_mempool_create_empty");
	if (kernel_chance(KERNEL_NO_MEMORY)) {
		rte_errno = ENOMEM;
		return NULL;
	}
	if (!take_name(name)) {
		rte_errno = EEXIST;
		return NULL;
	}
	mp = memset(virtual_alloc(sizeof(*mp)), 0, sizeof(*mp));
	pool = memset(virtual_alloc(sizeof(*pool)), 0, sizeof(*pool));
	snprintf(mp->name, sizeof(mp->name), "%s", name);
	mp->size = n;
	mp->elt_size = size;
	mp->pool_data = pool;
	mp->ops_index = ops_index();
	pool->size = n;
	kernel_counts.pools++;
	return mp;
}

/* Whichever it is to be, it is ours. */
int
__wrap_rte_mempool_set_ops_byname(struct rte_mempool *mp, const char *name,
				  void *config)
{
	return 0;
}

int
__wrap_rte_mempool_populate_default(struct rte_mempool *mp)
{
	return kernel_chance(KERNEL_NO_MEMORY) ? -ENOMEM : (int)mp->size;
}

void
__wrap_rte_mempool_free(struct rte_mempool *mp)
{
	const struct pool *pool;

	if (mp == NULL)
		return;
	pool = mp->pool_data;
	if (pool->out > 0)
		virtual_failed("a pool is freed with %u cells out", pool->out);
	give_name(mp->name);
	kernel_counts.pools--;
	virtual_free(mp->pool_data);
	virtual_free(mp);
}

struct rte_mempool_cache *
__wrap_rte_mempool_cache_create(uint32_t size, int socket)
{
	struct rte_mempool_cache *cache;

	if (kernel_chance(KERNEL_NO_MEMORY))
		return NULL;
	cache = virtual_alloc(sizeof(*cache));
	kernel_counts.blocks++;
	cache->size = size;
	cache->flushthresh = size + size / 2;
	cache->len = 0;
	return cache;
}

void
__wrap_rte_mempool_cache_free(struct rte_mempool_cache *cache)
{
	kernel_counts.blocks--;
	virtual_free(cache);
}
