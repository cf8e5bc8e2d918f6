/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "output.h"

void
output_end(int error)
{
	bool failed = ferror(stdout) != 0;

	errno = error;
	if (fflush(stdout) == 0 && !failed)
		return;
	fprintf(stderr, "%s: standard output: %s\n", program_name,
		errno != 0 ? strerror(errno) : "cannot write");
	_exit(1);
}
