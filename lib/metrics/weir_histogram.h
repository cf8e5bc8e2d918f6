/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_HISTOGRAM_H
#define WEIR_HISTOGRAM_H

/**
 * @file
 * Histograms, as a runtime hands them out: plain memory of the caller's.
 *
 * The buckets are log-linear, as in HdrHistogram (G. Tene) and H2Histogram
 * (iop.systems, used by tokio): every power of two is divided into
 * 2^precision buckets of the same width. A bucket's upper bound is greater than
 * any value in it by less than 2^-precision of that value.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Buckets of the largest histogram that options can ask for. */
#define WEIR_HISTOGRAM_BUCKETS 2048

/** How values are distributed; all zero is an empty one. Times are in ns. */
struct weir_histogram {
	unsigned int precision;	 /**< see weir_options.histogram_precision */
	unsigned int nb_buckets; /**< those in use */
	uint64_t largest;	 /**< what is greater is in the last bucket */
	uint64_t count;		 /**< values in all buckets */
	uint64_t max;		 /**< the greatest value, exactly */
	uint64_t buckets[WEIR_HISTOGRAM_BUCKETS]; /**< values in each */
};

/**
 * The value that `percent` of all values are not greater than.
 *
 * @param percent  0 to 100; others are taken as the nearest of these.
 * @return The upper bound of the bucket that this value is in, so at most
 * 2^-precision too great and never too small, or `max` if that is less; for the last
 * bucket of all, `max`. 0 for an empty histogram.
 *
 * Any thread.
 */
WEIR_API uint64_t
weir_histogram_percentile(const struct weir_histogram *histogram,
			  double percent);

/**
 * Adds the values of one histogram to another.
 *
 * One of both may be all zero, which is empty; else they have the same precision and
 * largest value.
 *
 * @return 0, or -EINVAL: they differ, and nothing was added.
 *
 * Any thread.
 */
WEIR_API int
weir_histogram_merge(struct weir_histogram *to,
		     const struct weir_histogram *from);

#ifdef __cplusplus
}
#endif

#endif
