/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * C1 A cell goes back to where it came from: size_class tells which.
 * C2 A cache belongs to one worker's core and serves the pools of that
 *    worker's node only.
 * C3 The pools' rings run in RTS mode: a thread that is preempted inside one
 *    does not stop the others (rte_ring's programmer's guide).
 */

#include <errno.h>
#include <stdio.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "base/race.h"
#include "task/cell.h"
#include "task/task.h"

static_assert(offsetof(struct task, bytes) + 48 == CELL_MIN_SIZE,
	      "room for state");
static_assert(CELL_CLASS_MALLOC < 4, "task.size_class has two bits");

static struct rte_mempool *
create_pool(const char *name, unsigned int size, unsigned int n,
	    unsigned int socket)
{
	char pool_name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *mp;
	int rc;

	snprintf(pool_name, sizeof(pool_name), "%s_n%u_c%u", name, socket,
		 size);
	mp = rte_mempool_create_empty(pool_name, n, size, 0, 0, (int)socket,
				      RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	if (mp == NULL)
		return NULL;
	/* C3 */
	rc = rte_mempool_set_ops_byname(mp, "ring_mt_rts", NULL);
	if (rc == 0)
		rc = rte_mempool_populate_default(mp);
	if (rc < 0) {
		rte_mempool_free(mp);
		rte_errno = -rc;
		return NULL;
	}
	return mp;
}

int
weir__cell_pools_init(struct cell_pools *p, const char *name,
		      unsigned int socket, unsigned int cells,
		      unsigned int nb_workers)
{
	unsigned int i, n;
	int rc;

	/* A cache keeps up to one and a half times its size. */
	n = cells + nb_workers * (CELL_CACHE_SIZE + CELL_CACHE_SIZE / 2);
	p->socket = socket;
	for (i = 0; i < CELL_CLASSES; i++)
		p->pool[i] = NULL;
	for (i = 0; i < CELL_CLASSES; i++) {
		p->pool[i] = create_pool(name, CELL_MIN_SIZE << i, n, socket);
		if (p->pool[i] == NULL) {
			rc = -rte_errno;
			weir__cell_pools_fini(p);
			return rc;
		}
	}
	return 0;
}

void
weir__cell_pools_fini(struct cell_pools *p)
{
	unsigned int i;

	for (i = 0; i < CELL_CLASSES; i++) {
		rte_mempool_free(p->pool[i]);
		p->pool[i] = NULL;
	}
}

int
weir__cell_cache_init(struct cell_cache *c, struct cell_pools *p)
{
	unsigned int i;

	c->pools = p;
	for (i = 0; i < CELL_CLASSES; i++)
		c->cache[i] = NULL;
	for (i = 0; i < CELL_CLASSES; i++) {
		c->cache[i] = rte_mempool_cache_create(CELL_CACHE_SIZE,
						       (int)p->socket);
		if (c->cache[i] == NULL) {
			weir__cell_cache_fini(c);
			return -ENOMEM;
		}
	}
	return 0;
}

void
weir__cell_cache_fini(struct cell_cache *c)
{
	unsigned int i;

	for (i = 0; i < CELL_CLASSES; i++) {
		if (c->cache[i] == NULL)
			continue;
		rte_mempool_cache_flush(c->cache[i], c->pools->pool[i]);
		rte_mempool_cache_free(c->cache[i]);
		c->cache[i] = NULL;
	}
}

static unsigned int
class_of(size_t size)
{
	unsigned int i;

	for (i = 0; i < CELL_CLASSES; i++)
		if (size <= (size_t)CELL_MIN_SIZE << i)
			break;
	return i;
}

struct task *
weir__cell_alloc(struct cell_pools *p, struct cell_cache *c, size_t state_size)
{
	size_t size = offsetof(struct task, bytes) + state_size;
	unsigned int cls = class_of(size);
	struct rte_mempool_cache *cache = NULL;
	void *cell = NULL;
	struct task *t;

	if (unlikely(size < state_size))
		return NULL;
	if (cls < CELL_CLASSES) {
		if (c != NULL && c->pools == p)
			cache = c->cache[cls];
		if (rte_mempool_generic_get(p->pool[cls], &cell, 1, cache) < 0)
			cell = NULL;
	}
	t = cell;
	if (likely(t != NULL)) {
		race_acquire(&t->next); /* the pool */
	} else {
		t = rte_malloc_socket(NULL, size, WEIR_CACHE_LINE,
				      (int)p->socket);
		if (t == NULL)
			return NULL;
		race_acquire(RACE_HEAP);
		cls = CELL_CLASS_MALLOC;
	}
	t->size_class = cls & 3;
	return t;
}

void
weir__cell_free(struct cell_pools *p, struct cell_cache *c, struct task *t)
{
	unsigned int cls = t->size_class;
	struct rte_mempool_cache *cache = NULL;
	void *cell = t;

	if (cls == CELL_CLASS_MALLOC) {
		race_release(RACE_HEAP);
		rte_free(cell);
		return;
	}
	race_release(&t->next); /* the pool */
	if (c != NULL && c->pools == p)
		cache = c->cache[cls];
	rte_mempool_generic_put(p->pool[cls], &cell, 1, cache);
}
