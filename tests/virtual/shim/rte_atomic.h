/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VIRTUAL_RTE_ATOMIC_H
#define VIRTUAL_RTE_ATOMIC_H

/* DPDK's header, but a fence of its is not an instruction that nobody sees. */

#include_next <rte_atomic.h>

#include "base/atomic.h"

#define rte_atomic_thread_fence(order) virtual_fence(order, VIRTUAL_SITE)

#endif
