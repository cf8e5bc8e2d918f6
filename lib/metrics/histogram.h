/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef METRICS_HISTOGRAM_H
#define METRICS_HISTOGRAM_H

/*
 * A histogram that one thread writes and any thread reads. See histogram.c.
 */

#include "base/atomic.h"
#include "base/common.h"
#include "metrics/weir_histogram.h"

/* Bounds of what weir_histogram has room for. */
#define HISTOGRAM_PRECISION_MAX 6
#define HISTOGRAM_LARGEST_MAX ((UINT64_C(1) << 37) - 1)

struct histogram {
	unsigned int precision;
	unsigned int nb_buckets;
	uint64_t largest;
	struct atomic_u64 max;
	struct atomic_u64 buckets[];
};

/* The bucket of a value, see H1. */
static inline unsigned int
histogram_bucket(uint64_t value, unsigned int precision)
{
	unsigned int shift;

	if (value >> precision == 0)
		return (unsigned int)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - precision;
	return (shift << precision) + (unsigned int)(value >> shift);
}

/* The greatest value of a bucket. */
uint64_t
weir__histogram_bound(unsigned int bucket, unsigned int precision);

/* Bytes of a histogram. */
size_t
weir__histogram_size(unsigned int precision, uint64_t largest);

/* On memory that is all zero. */
void
weir__histogram_init(struct histogram *h, unsigned int precision,
		     uint64_t largest);

/* The writer. */
static inline void
histogram_record(struct histogram *h, uint64_t value)
{
	if (unlikely(value > atomic_u64_load(&h->max, RELAXED))) {
		atomic_u64_store(&h->max, value, RELAXED);
		/* [metrics:A1] whoever sees the value counted sees it here, too. */
		atomic_fence(RELEASE);
	}
	if (unlikely(value > h->largest))
		value = h->largest;
	atomic_u64_add_owner(&h->buckets[histogram_bucket(value, h->precision)],
			     1);
}

/* A copy. Any thread. */
void
weir__histogram_read(const struct histogram *h, struct weir_histogram *out);

#endif
