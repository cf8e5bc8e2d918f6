/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Log-linear histograms, after HdrHistogram (G. Tene) and H2Histogram
 * (iop.systems).
 *
 * H1 Values below 2^precision have a bucket each. Above, each power of two has
 *    2^precision buckets of one width: the highest bit and the `precision`
 *    bits below it are the bucket's number, the others are dropped.
 * H2 One writer. A reader may miss the latest values, but counts none that is above
 *    the maximum it sees; once the writer has stopped it sees all of them.
 */

#include <errno.h>
#include <float.h>
#include <string.h>

#include "metrics/histogram.h"

/* A bucket each below 2^6, then 2^6 for each power of two up to 2^36. */
static_assert((37 - HISTOGRAM_PRECISION_MAX + 1) << HISTOGRAM_PRECISION_MAX ==
		      WEIR_HISTOGRAM_BUCKETS,
	      "a copy has room for every bucket");

uint64_t
weir__histogram_bound(unsigned int bucket, unsigned int precision)
{
	unsigned int shift = bucket >> precision;
	uint64_t in_power = bucket & ((1u << precision) - 1);

	if (shift == 0)
		return bucket;
	shift--;
	return (((UINT64_C(1) << precision) + in_power + 1) << shift) - 1;
}

size_t
weir__histogram_size(unsigned int precision, uint64_t largest)
{
	return sizeof(struct histogram) +
	       (histogram_bucket(largest, precision) + 1) *
		       sizeof(struct atomic_u64);
}

void
weir__histogram_init(struct histogram *h, unsigned int precision,
		     uint64_t largest)
{
	WEIR_ASSERT(precision <= HISTOGRAM_PRECISION_MAX &&
			    largest <= HISTOGRAM_LARGEST_MAX,
		    "room in weir_histogram");
	h->precision = precision;
	h->largest = largest;
	h->nb_buckets = histogram_bucket(largest, precision) + 1;
}

void
weir__histogram_read(const struct histogram *h, struct weir_histogram *out)
{
	unsigned int i;

	memset(out, 0, sizeof(*out));
	out->precision = h->precision;
	out->nb_buckets = h->nb_buckets;
	out->largest = h->largest;
	for (i = 0; i < h->nb_buckets; i++) {
		out->buckets[i] = atomic_u64_load(&h->buckets[i], RELAXED);
		out->count += out->buckets[i];
	}
	/* [metrics:A1] it is no less than what is counted. */
	atomic_fence(ACQUIRE);
	out->max = atomic_u64_load(&h->max, RELAXED);
}

uint64_t
weir_histogram_percentile(const struct weir_histogram *h, double percent)
{
	uint64_t rank, seen = 0;
	unsigned int i;
	double exact;

	if (!(percent > 0))
		percent = 0;
	if (percent > 100)
		percent = 100;
	exact = (double)h->count * percent / 100;
	/*
	 * So many values are not greater; one at least. What rounding has added, of
	 * 99.9 for one, makes it no more.
	 */
	rank = (uint64_t)exact;
	if (rank == 0 || (double)rank < exact * (1 - 4 * DBL_EPSILON))
		rank++;
	for (i = 0; i + 1 < h->nb_buckets; i++) {
		seen += h->buckets[i];
		/* `max` may be of a value that was not counted yet. */
		if (seen >= rank || (seen > 0 && seen >= h->count))
			return RTE_MIN(h->max,
				       weir__histogram_bound(i, h->precision));
	}
	/* Whatever is larger than all buckets is in the last. */
	return h->count > 0 ? h->max : 0;
}

int
weir_histogram_merge(struct weir_histogram *to,
		     const struct weir_histogram *from)
{
	unsigned int i;

	if (from->nb_buckets == 0)
		return 0;
	if (to->nb_buckets == 0) {
		*to = *from;
		return 0;
	}
	if (to->precision != from->precision || to->largest != from->largest)
		return -EINVAL;
	for (i = 0; i < to->nb_buckets; i++)
		to->buckets[i] += from->buckets[i];
	to->count += from->count;
	if (from->max > to->max)
		to->max = from->max;
	return 0;
}
