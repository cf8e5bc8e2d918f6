/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SCRATCH_H
#define SCRATCH_H

/* Where tests put their files. */

#include <stdio.h>
#include <stdlib.h>

#define SCRATCH_NAME_MAX 128

/* A template for mkstemp() and mkdtemp(). */
static inline void
scratch_name(char name[SCRATCH_NAME_MAX], const char *what)
{
	const char *folder = getenv("TMPDIR");

	snprintf(name, SCRATCH_NAME_MAX, "%s/weir-%s-XXXXXX",
		 folder != NULL ? folder : "/tmp", what);
}

#endif
