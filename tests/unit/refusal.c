/* SPDX-License-Identifier: BSD-3-Clause */

#include "refusal.h"

#include <errno.h>

#include "base/membarrier.h"

bool membarrier_refused;

int
__real_weir__membarrier(int command);
int
__wrap_weir__membarrier(int command);

int
__wrap_weir__membarrier(int command)
{
	return membarrier_refused &&
			       command == MEMBARRIER_CMD_PRIVATE_EXPEDITED ?
		       -EPERM :
		       __real_weir__membarrier(command);
}
