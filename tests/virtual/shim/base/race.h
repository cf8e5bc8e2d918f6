/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_RACE_H
#define BASE_RACE_H

/*
 * Stands in for lib/base/race.h where the library is built for virtual threads:
 * the order that DPDK gives is told to whoever links virtual_*(). What lies
 * below the library says it in the same way (kernel.h).
 */

/* What a thread did before release(p) is done for who calls acquire(p) later. */
void
virtual_release(const void *p);
void
virtual_acquire(const void *p);

static inline void
race_release(void *p)
{
	virtual_release(p);
}

static inline void
race_acquire(void *p)
{
	virtual_acquire(p);
}

#endif
