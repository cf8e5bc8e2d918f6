/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Memory of what tasks share: the ends of a oneshot, a channel, a token.
 *
 * A worker has it from its cells, as it has tasks: without a lock, and on its node. The
 * heap of EAL has one lock for all, and goes through a list of what is free. It serves
 * who is no worker, those that are larger than any cell, and what comes in bursts, whose
 * memory is to go when they are over. An object has a cell's header there too, which says
 * so by a home that is none.
 */

#include <string.h>

#include <rte_malloc.h>

#include "base/heap.h"
#include "sched/scheduler.h"

static __rte_noinline void *
of_node(struct core *c, struct node *home, size_t size)
{
	struct task *t = weir__cell_get(c, home, size);

	if (unlikely(t == NULL))
		return NULL;
	t->home = &home->home;
	return t->bytes;
}

static inline void *
of_worker(struct core *c, size_t size)
{
	struct task *t = cell_take(&c->cells, size);

	if (unlikely(t == NULL))
		return of_node(c, worker_of(c)->node, size);
	t->home = &worker_of(c)->node->home;
	return t->bytes;
}

void *
weir__object_zalloc_heap(const char *type, size_t size)
{
	struct task *t;

	t = heap_taken(rte_zmalloc_socket(type,
					  offsetof(struct task, bytes) + size,
					  WEIR_CACHE_LINE, SOCKET_ID_ANY));
	if (t == NULL)
		return NULL;
	return t->bytes;
}

void *
weir__object_alloc(struct weir_runtime *rt, size_t size)
{
	struct core *c = core_of(rt);

	return likely(c != NULL) ? of_worker(c, size) :
				   of_node(NULL, rt->workers[0]->node, size);
}

void *
weir__object_zalloc(const char *type, size_t size)
{
	struct core *c = weir__core;
	void *object;

	if (c == NULL || size > CELL_STATE_MAX)
		return weir__object_zalloc_heap(type, size);
	object = of_worker(c, size);
	/* Another node may have some. */
	return likely(object != NULL) ? memset(object, 0, size) :
					weir__object_zalloc_heap(type, size);
}

void
weir__object_free(void *object)
{
	struct task *t = container_of(object, struct task, bytes);

	if (likely(t->home != NULL)) {
		weir__cell_put(t);
		return;
	}
	heap_free(t);
}
