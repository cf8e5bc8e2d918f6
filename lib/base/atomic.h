/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

/*
 * The only spelling of an atomic operation.
 *
 * Atomic variables are structs, so that a plain access does not compile, and
 * every operation names its order. A test build can put another file in this
 * one's place and see every atomic step that the library takes.
 *
 * An order stronger than RELAXED carries a label such as [idle:F1] in a
 * comment. The same label stands at the operation it pairs with, and one of the
 * two says what breaks without it.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_pause.h>

#include "base/tsan.h"

#define RELAXED __ATOMIC_RELAXED
#define ACQUIRE __ATOMIC_ACQUIRE
#define RELEASE __ATOMIC_RELEASE
#define ACQ_REL __ATOMIC_ACQ_REL
#define SEQ_CST __ATOMIC_SEQ_CST

#define ATOMIC_INLINE static inline __attribute__((always_inline, unused))

#define ATOMIC_DEFINE_BASE(name, type)                                         \
	struct atomic_##name {                                                 \
		type v;                                                        \
	};                                                                     \
	ATOMIC_INLINE type atomic_##name##_load(const struct atomic_##name *a, \
						int order)                     \
	{                                                                      \
		return __atomic_load_n(&a->v, order);                          \
	}                                                                      \
	ATOMIC_INLINE void atomic_##name##_store(struct atomic_##name *a,      \
						 type v, int order)            \
	{                                                                      \
		__atomic_store_n(&a->v, v, order);                             \
	}                                                                      \
	ATOMIC_INLINE type atomic_##name##_exchange(struct atomic_##name *a,   \
						    type v, int order)         \
	{                                                                      \
		return __atomic_exchange_n(&a->v, v, order);                   \
	}                                                                      \
	/* Strong. On failure *expected is what was found. */                  \
	ATOMIC_INLINE bool atomic_##name##_cas(struct atomic_##name *a,        \
					       type *expected, type v,         \
					       int success, int failure)       \
	{                                                                      \
		return __atomic_compare_exchange_n(&a->v, expected, v, false,  \
						   success, failure);          \
	}

/*
 * What the only writer of a variable adds to it. In C that is a load and a store;
 * x86 has one instruction for both, which compilers do not make of an atomic load
 * and store.
 */
#if defined(__x86_64__) && !defined(WEIR_TSAN)
#define ATOMIC_ADD_OWNER(a, n, suffix) \
	__asm__("add" suffix " %1, %0" : "+m"((a)->v) : "er"(n))
#else
#define ATOMIC_ADD_OWNER(a, n, suffix)                                     \
	__atomic_store_n(&(a)->v, __atomic_load_n(&(a)->v, RELAXED) + (n), \
			 RELAXED)
#endif

#define ATOMIC_DEFINE_INT(name, type, suffix)                                 \
	ATOMIC_DEFINE_BASE(name, type)                                        \
	ATOMIC_INLINE type atomic_##name##_fetch_add(struct atomic_##name *a, \
						     type v, int order)       \
	{                                                                     \
		return __atomic_fetch_add(&a->v, v, order);                   \
	}                                                                     \
	ATOMIC_INLINE type atomic_##name##_fetch_sub(struct atomic_##name *a, \
						     type v, int order)       \
	{                                                                     \
		return __atomic_fetch_sub(&a->v, v, order);                   \
	}                                                                     \
	ATOMIC_INLINE type atomic_##name##_fetch_or(struct atomic_##name *a,  \
						    type v, int order)        \
	{                                                                     \
		return __atomic_fetch_or(&a->v, v, order);                    \
	}                                                                     \
	ATOMIC_INLINE type atomic_##name##_fetch_and(struct atomic_##name *a, \
						     type v, int order)       \
	{                                                                     \
		return __atomic_fetch_and(&a->v, v, order);                   \
	}                                                                     \
	/* For the only writer of a variable that others read. */             \
	ATOMIC_INLINE void atomic_##name##_add_owner(struct atomic_##name *a, \
						     type v)                  \
	{                                                                     \
		ATOMIC_ADD_OWNER(a, v, suffix);                               \
	}

ATOMIC_DEFINE_INT(u32, uint32_t, "l")
ATOMIC_DEFINE_INT(u64, uint64_t, "q")
ATOMIC_DEFINE_BASE(ptr, void *)

ATOMIC_INLINE void
atomic_fence(int order)
{
	__atomic_thread_fence(order);
}

/*
 * The same right behind a change in one step, an exchange or fetch_add() or a
 * compare-and-swap that succeeded, with no store in between: x86's are fences by
 * themselves. As Linux's smp_mb__after_atomic().
 */
ATOMIC_INLINE void
atomic_fence_after_rmw(int order)
{
#if defined(__x86_64__) && !defined(WEIR_TSAN)
	__atomic_signal_fence(order);
#else
	__atomic_thread_fence(order);
#endif
}

/*
 * The half of a fence that costs nothing: it keeps the compiler from moving
 * accesses across. The CPU is kept from it by the other half, which runs
 * elsewhere and orders all threads: weir__membarrier().
 */
ATOMIC_INLINE void
atomic_light_fence(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* One turn of a loop that waits for another thread. */
ATOMIC_INLINE void
atomic_pause(void)
{
	rte_pause();
}

/*
 * The same where what is waited for mostly comes sooner than a CPU's pause is over,
 * which takes up to 50 ns: no pause, but models give others their turn.
 */
ATOMIC_INLINE void
atomic_spin(void)
{
}

#endif
