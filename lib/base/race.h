/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_RACE_H
#define BASE_RACE_H

/*
 * What DPDK synchronises, told to ThreadSanitizer, which cannot look into
 * libraries that were not built for it. What a thread did before its
 * race_release(p) is done for whoever calls race_acquire(p) after it. In any
 * other build both are nothing.
 *
 * They stand only where a function of DPDK gives that order, and the comment at
 * each says which. Nothing else may lean on them, so p is an address without an
 * atomic of ours: this order would stand in for one that is missing there.
 */

#include "base/tsan.h"

#ifdef WEIR_TSAN
#include <sanitizer/tsan_interface.h>
#endif

static inline void
race_release(void *p)
{
#ifdef WEIR_TSAN
	__tsan_release(p);
#else
	(void)p;
#endif
}

static inline void
race_acquire(void *p)
{
#ifdef WEIR_TSAN
	__tsan_acquire(p);
#else
	(void)p;
#endif
}

#endif
