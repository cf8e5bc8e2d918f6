/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_COMMON_H
#define BASE_COMMON_H

#include <assert.h>
#include <errno.h>
#include <stddef.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include <weir_common.h>

#define WEIR_CACHE_LINE 64

#define weir_cache_aligned __attribute__((aligned(WEIR_CACHE_LINE)))

/*
 * An error that a user hands on. A number that is none would be taken for a count, for
 * "not yet", or for no error at all.
 */
static inline int
errno_or_einval(int error)
{
	return error > 0 && error < -WEIR_PENDING ? error : EINVAL;
}

/*
 * WEIR_ASSERT(condition, rule): in builds with -Dasserts=true a broken rule
 * (an invariant's number, or who may call) ends the program. It is the one
 * place in the library that does.
 */
#ifdef WEIR_ASSERTS
void
weir__assert_failed(const char *rule, const char *file, int line);
#define WEIR_ASSERT(condition, rule)                                   \
	do {                                                           \
		if (unlikely(!(condition)))                            \
			weir__assert_failed(rule, __FILE__, __LINE__); \
	} while (0)
#else
#define WEIR_ASSERT(condition, rule)        \
	do {                                \
		(void)sizeof(!(condition)); \
	} while (0)
#endif

#endif
