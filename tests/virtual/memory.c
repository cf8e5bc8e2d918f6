/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What DPDK makes of memory, which is virtual_alloc()'s. Rings are DPDK's own on
 * it. Who counts on the order that the heap's lock gives says so
 * (lib/base/race.h).
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include "kept.h"
#include "kernel.h"
#include "wraps.h"

#define NAMES_MAX 1024
#define NAME_LEN 32
/* Of a larger block only as much. */
#define FILLED_MAX 16384

static char names[NAMES_MAX][NAME_LEN] KEPT; /* of rings */
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
		virtual_failed("more than %d rings", NAMES_MAX);
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
