/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/membarrier.h"

int
weir__membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) < 0 ? -errno : 0;
}
