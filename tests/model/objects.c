/* SPDX-License-Identifier: BSD-3-Clause */

/* What tasks share, as memory of its own: see cells.c. */

#include <string.h>

#include "model.h"
#include "sched/scheduler.h"

void *
__wrap_weir__object_alloc(struct weir_runtime *rt, size_t size);
void *
__wrap_weir__object_alloc(struct weir_runtime *rt, size_t size)
{
	(void)rt;
	return model_alloc(size);
}

void *
__wrap_weir__object_zalloc(const char *type, size_t size);
void *
__wrap_weir__object_zalloc(const char *type, size_t size)
{
	(void)type;
	return memset(model_alloc(size), 0, size);
}

void *
__wrap_weir__object_zalloc_heap(const char *type, size_t size);
void *
__wrap_weir__object_zalloc_heap(const char *type, size_t size)
{
	return __wrap_weir__object_zalloc(type, size);
}

void
__wrap_weir__object_free(void *object);
void
__wrap_weir__object_free(void *object)
{
	model_free(object);
}
