/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_PREFETCH_H
#define BASE_PREFETCH_H

#include <rte_common.h>

/*
 * Fetches a line to write it, from whoever else has it. On x86-64 the compiler's
 * builtin does so only where all the CPUs that are built for have the instruction;
 * those that have not take it as a no-op.
 */
static __rte_always_inline void
prefetch_to_write(const void *p)
{
#ifdef RTE_ARCH_X86_64
	__asm__("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#endif
