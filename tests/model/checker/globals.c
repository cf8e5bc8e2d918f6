/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * All of the program's static variables, between two symbols of the linker's,
 * but for those in the section of the checker's own.
 */

#include <stdlib.h>
#include <string.h>

#include "globals.h"
#include "kept.h"

extern char __data_start[], _end[];
extern char __start_kept[], __stop_kept[];

static KEPT char *before, *behind;

void
globals_save(void)
{
	size_t n = (size_t)(__start_kept - __data_start);
	size_t k = (size_t)(_end - __stop_kept);

	if (before == NULL) {
		before = malloc(n);
		behind = malloc(k);
		if (before == NULL || behind == NULL)
			abort();
		memcpy(before, __data_start, n);
		memcpy(behind, __stop_kept, k);
	}
}

void
globals_restore(void)
{
	memcpy(__data_start, before, (size_t)(__start_kept - __data_start));
	memcpy(__stop_kept, behind, (size_t)(_end - __stop_kept));
}
