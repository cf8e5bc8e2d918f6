/* SPDX-License-Identifier: BSD-3-Clause */

/* DPDK's heap, and the runtime's cells, as memory that is watched. */

#include <rte_malloc.h>

#include "model.h"
#include "sched/scheduler.h"

void *
__wrap_rte_malloc_socket(const char *type, size_t size, unsigned int align,
			 int socket);
void *
__wrap_rte_malloc_socket(const char *type, size_t size, unsigned int align,
			 int socket)
{
	(void)type;
	(void)align;
	(void)socket;
	return model_alloc(size);
}

void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket);
void *
__wrap_rte_zmalloc_socket(const char *type, size_t size, unsigned int align,
			  int socket)
{
	return __wrap_rte_malloc_socket(type, size, align, socket);
}

void
__wrap_rte_free(void *p);
void
__wrap_rte_free(void *p)
{
	model_free(p);
}

void *
__wrap_weir__object_alloc(struct weir_runtime *rt, size_t size);
void *
__wrap_weir__object_alloc(struct weir_runtime *rt, size_t size)
{
	(void)rt;
	return model_alloc(size);
}

void
__wrap_weir__object_free(void *object);
void
__wrap_weir__object_free(void *object)
{
	model_free(object);
}
