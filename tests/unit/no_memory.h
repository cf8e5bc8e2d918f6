/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef UNIT_NO_MEMORY_H
#define UNIT_NO_MEMORY_H

/*
 * The C library's memory, of which there may be too little. A program that includes this
 * wraps calloc, malloc and realloc (meson.build), and whatever else it wraps by WRAP().
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* How many more requests succeed; negative: all. */
static int memory_left = -1;

static bool
no_memory(void)
{
	if (memory_left == 0) {
		errno = ENOMEM;
		return true;
	}
	memory_left -= memory_left > 0;
	return false;
}

/* A function that asks for memory, and what it gives when there is none. */
#define WRAP(type, fails, name, parameters, arguments)                \
	type __real_##name parameters;                                \
	type __wrap_##name parameters;                                \
	type __wrap_##name parameters                                 \
	{                                                             \
		return no_memory() ? fails : __real_##name arguments; \
	}

WRAP(void *, NULL, malloc, (size_t size), (size))
WRAP(void *, NULL, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, NULL, realloc, (void *old, size_t size), (old, size))

#endif
