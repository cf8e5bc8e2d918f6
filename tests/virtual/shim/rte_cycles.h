/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VIRTUAL_RTE_CYCLES_H
#define VIRTUAL_RTE_CYCLES_H

/* DPDK's header, but the TSC is the virtual clock. */

#include_next <rte_cycles.h>

uint64_t
virtual_rdtsc(void);

#define rte_rdtsc virtual_rdtsc
#define rte_rdtsc_precise virtual_rdtsc

#endif
