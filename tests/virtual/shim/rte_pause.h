/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VIRTUAL_RTE_PAUSE_H
#define VIRTUAL_RTE_PAUSE_H

/* DPDK's header, but its loops wait for other virtual threads. */

#include_next <rte_pause.h>

#include "base/atomic.h"

#define rte_pause() virtual_pause(VIRTUAL_SITE)

#endif
