/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

/*
 * Stands in for lib/base/atomic.h where the library is built for virtual
 * threads: the same operations, each of which says where it stands and what
 * order it asks for. What it then does is up to who links virtual_*().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAXED __ATOMIC_RELAXED
#define ACQUIRE __ATOMIC_ACQUIRE
#define RELEASE __ATOMIC_RELEASE
#define ACQ_REL __ATOMIC_ACQ_REL
#define SEQ_CST __ATOMIC_SEQ_CST

#define ATOMIC_INLINE static inline __attribute__((always_inline, unused))

/* A place in the source. */
struct virtual_site {
	const char *file;
	int line;
	int weakened; /* for whoever implements the operations */
};

enum virtual_rmw {
	VIRTUAL_EXCHANGE,
	VIRTUAL_ADD,
	VIRTUAL_SUB,
	VIRTUAL_OR,
	VIRTUAL_AND,
};

uint64_t
virtual_load(const void *p, size_t size, int order, struct virtual_site *site);
void
virtual_store(void *p, size_t size, uint64_t v, int order,
	      struct virtual_site *site);
uint64_t
virtual_rmw(void *p, size_t size, enum virtual_rmw op, uint64_t v, int order,
	    struct virtual_site *site);
bool
virtual_cas(void *p, size_t size, uint64_t *expected, uint64_t v, int success,
	    int failure, struct virtual_site *site);
/* By the only writer: not a step that others wait for. */
void
virtual_add_owner(void *p, size_t size, uint64_t v, struct virtual_site *site);
void
virtual_fence(int order, struct virtual_site *site);
void
virtual_light_fence(struct virtual_site *site);
void
virtual_pause(struct virtual_site *site);

/*
 * What a function below the library orders: what a thread did before its
 * release of p is done for whoever acquires p after it.
 */
void
virtual_release(const void *p);
void
virtual_acquire(const void *p);
/* All threads pass a full fence. */
void
virtual_membarrier(struct virtual_site *site);

#define VIRTUAL_SITE                                                           \
	({                                                                     \
		static struct virtual_site site_ = { __FILE__, __LINE__, -1 }; \
		&site_;                                                        \
	})

#define SITE_ struct virtual_site *site
#define VALUE_(v) ((uint64_t)(uintptr_t)(v))

#define ATOMIC_DEFINE_BASE(name, type)                                         \
	struct atomic_##name {                                                 \
		type v;                                                        \
	};                                                                     \
	ATOMIC_INLINE type virtual_##name##_load(                              \
		const struct atomic_##name *a, int order, SITE_)               \
	{                                                                      \
		return (type)(uintptr_t)virtual_load(&a->v, sizeof(type),      \
						     order, site);             \
	}                                                                      \
	ATOMIC_INLINE void virtual_##name##_store(struct atomic_##name *a,     \
						  type v, int order, SITE_)    \
	{                                                                      \
		virtual_store(&a->v, sizeof(type), VALUE_(v), order, site);    \
	}                                                                      \
	ATOMIC_INLINE type virtual_##name##_exchange(struct atomic_##name *a,  \
						     type v, int order, SITE_) \
	{                                                                      \
		return (type)(uintptr_t)virtual_rmw(&a->v, sizeof(type),       \
						    VIRTUAL_EXCHANGE,          \
						    VALUE_(v), order, site);   \
	}                                                                      \
	ATOMIC_INLINE bool virtual_##name##_cas(                               \
		struct atomic_##name *a, type *expected, type v, int success,  \
		int failure, SITE_)                                            \
	{                                                                      \
		uint64_t e = VALUE_(*expected);                                \
		bool ok = virtual_cas(&a->v, sizeof(type), &e, VALUE_(v),      \
				      success, failure, site);                 \
                                                                               \
		*expected = (type)(uintptr_t)e;                                \
		return ok;                                                     \
	}

#define ATOMIC_DEFINE_RMW(name, type, verb, op)                              \
	ATOMIC_INLINE type virtual_##name##_##verb(struct atomic_##name *a,  \
						   type v, int order, SITE_) \
	{                                                                    \
		return (type)virtual_rmw(&a->v, sizeof(type), op, v, order,  \
					 site);                              \
	}

#define ATOMIC_DEFINE_INT(name, type)                                          \
	ATOMIC_DEFINE_BASE(name, type)                                         \
	ATOMIC_DEFINE_RMW(name, type, fetch_add, VIRTUAL_ADD)                  \
	ATOMIC_DEFINE_RMW(name, type, fetch_sub, VIRTUAL_SUB)                  \
	ATOMIC_DEFINE_RMW(name, type, fetch_or, VIRTUAL_OR)                    \
	ATOMIC_DEFINE_RMW(name, type, fetch_and, VIRTUAL_AND)                  \
	ATOMIC_INLINE void virtual_##name##_add_owner(struct atomic_##name *a, \
						      type v, SITE_)           \
	{                                                                      \
		virtual_add_owner(&a->v, sizeof(type), v, site);               \
	}

ATOMIC_DEFINE_INT(u32, uint32_t)
ATOMIC_DEFINE_INT(u64, uint64_t)
ATOMIC_DEFINE_BASE(ptr, void *)

#define atomic_u32_load(a, order) virtual_u32_load(a, order, VIRTUAL_SITE)
#define atomic_u64_load(a, order) virtual_u64_load(a, order, VIRTUAL_SITE)
#define atomic_ptr_load(a, order) virtual_ptr_load(a, order, VIRTUAL_SITE)
#define atomic_u32_store(a, v, order) \
	virtual_u32_store(a, v, order, VIRTUAL_SITE)
#define atomic_u64_store(a, v, order) \
	virtual_u64_store(a, v, order, VIRTUAL_SITE)
#define atomic_ptr_store(a, v, order) \
	virtual_ptr_store(a, v, order, VIRTUAL_SITE)
#define atomic_u32_exchange(a, v, order) \
	virtual_u32_exchange(a, v, order, VIRTUAL_SITE)
#define atomic_u64_exchange(a, v, order) \
	virtual_u64_exchange(a, v, order, VIRTUAL_SITE)
#define atomic_ptr_exchange(a, v, order) \
	virtual_ptr_exchange(a, v, order, VIRTUAL_SITE)
#define atomic_u32_cas(a, expected, v, success, failure) \
	virtual_u32_cas(a, expected, v, success, failure, VIRTUAL_SITE)
#define atomic_u64_cas(a, expected, v, success, failure) \
	virtual_u64_cas(a, expected, v, success, failure, VIRTUAL_SITE)
#define atomic_ptr_cas(a, expected, v, success, failure) \
	virtual_ptr_cas(a, expected, v, success, failure, VIRTUAL_SITE)
#define atomic_u32_fetch_add(a, v, order) \
	virtual_u32_fetch_add(a, v, order, VIRTUAL_SITE)
#define atomic_u64_fetch_add(a, v, order) \
	virtual_u64_fetch_add(a, v, order, VIRTUAL_SITE)
#define atomic_u32_fetch_sub(a, v, order) \
	virtual_u32_fetch_sub(a, v, order, VIRTUAL_SITE)
#define atomic_u64_fetch_sub(a, v, order) \
	virtual_u64_fetch_sub(a, v, order, VIRTUAL_SITE)
#define atomic_u32_fetch_or(a, v, order) \
	virtual_u32_fetch_or(a, v, order, VIRTUAL_SITE)
#define atomic_u64_fetch_or(a, v, order) \
	virtual_u64_fetch_or(a, v, order, VIRTUAL_SITE)
#define atomic_u32_fetch_and(a, v, order) \
	virtual_u32_fetch_and(a, v, order, VIRTUAL_SITE)
#define atomic_u64_fetch_and(a, v, order) \
	virtual_u64_fetch_and(a, v, order, VIRTUAL_SITE)
#define atomic_u32_add_owner(a, v) virtual_u32_add_owner(a, v, VIRTUAL_SITE)
#define atomic_u64_add_owner(a, v) virtual_u64_add_owner(a, v, VIRTUAL_SITE)
#define atomic_fence(order) virtual_fence(order, VIRTUAL_SITE)
#define atomic_fence_after_rmw(order) virtual_fence(order, VIRTUAL_SITE)
#define atomic_light_fence() virtual_light_fence(VIRTUAL_SITE)
#define atomic_pause() virtual_pause(VIRTUAL_SITE)
#define atomic_spin() virtual_pause(VIRTUAL_SITE)

#endif
