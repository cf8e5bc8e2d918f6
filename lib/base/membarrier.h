/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_MEMBARRIER_H
#define BASE_MEMBARRIER_H

#include <linux/membarrier.h>

/*
 * The system call of that name, which not every kernel has and not every
 * sandbox allows. Returns 0 or -errno.
 *
 * MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: once, before the next.
 * MEMBARRIER_CMD_PRIVATE_EXPEDITED: every thread of this process that runs has
 * passed a full fence when it returns.
 */
int
weir__membarrier(int command);

#endif
