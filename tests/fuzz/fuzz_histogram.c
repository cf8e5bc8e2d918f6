/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Histograms against sorted values. An input is the precision, the largest
 * value, a percentage, and the values.
 */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "metrics/histogram.h"

#define VALUES 1024
#define EIGHTHS 800 /* of a percent in a whole: exact as doubles */
#define EIGHTHS_STEP 23

static uint64_t values[VALUES];
static unsigned int nb_values;

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Each value has a length of its own, so that small ones are as frequent. */
static uint64_t
take_value(struct fuzz_input *in)
{
	uint8_t shift = fuzz_u8(in) % 64;

	return fuzz_u64(in) >> shift;
}

static struct histogram *
create(unsigned int precision, uint64_t largest)
{
	struct histogram *h;

	h = calloc(1, weir__histogram_size(precision, largest));
	fuzz_check(h != NULL);
	weir__histogram_init(h, precision, largest);
	return h;
}

/* Never too small; too great by less than one part in 2^precision. */
static void
check_percentile(const struct weir_histogram *h, unsigned int eighths)
{
	uint64_t rank, exact, got;

	got = weir_histogram_percentile(h, eighths / 8.0);
	if (nb_values == 0) {
		fuzz_check(got == 0);
		return;
	}
	rank = ((uint64_t)nb_values * eighths + EIGHTHS - 1) / EIGHTHS;
	exact = values[rank > 0 ? rank - 1 : 0];
	fuzz_check(got >= exact && got <= h->max);
	if (exact > h->largest || rank == nb_values)
		fuzz_check(got == h->max);
	else if (got != h->max)
		fuzz_check(got - exact <= exact >> h->precision);
}

static void
check_contents(const struct weir_histogram *h)
{
	uint64_t sum = 0;
	unsigned int i;

	fuzz_check(h->count == nb_values);
	fuzz_check(h->max == (nb_values > 0 ? values[nb_values - 1] : 0));
	fuzz_check(h->nb_buckets <= WEIR_HISTOGRAM_BUCKETS);
	for (i = 0; i < h->nb_buckets; i++)
		sum += h->buckets[i];
	fuzz_check(sum == nb_values);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	unsigned int precision = 1 + fuzz_below(&in, HISTOGRAM_PRECISION_MAX);
	uint64_t largest = take_value(&in) & HISTOGRAM_LARGEST_MAX;
	uint64_t bits = fuzz_u64(&in);
	struct histogram *all = create(precision, largest);
	struct histogram *halves[2] = { create(precision, largest),
					create(precision, largest) };
	struct weir_histogram copy, sum = { 0 }, half;
	unsigned int i;
	double percent;

	for (nb_values = 0; nb_values < VALUES && in.left > 0; nb_values++) {
		values[nb_values] = take_value(&in);
		histogram_record(all, values[nb_values]);
		histogram_record(halves[nb_values % 2], values[nb_values]);
	}
	qsort(values, nb_values, sizeof(values[0]), compare);
	weir__histogram_read(all, &copy);
	check_contents(&copy);
	/* Some of them, others with each input. */
	for (i = bits % EIGHTHS_STEP; i <= EIGHTHS; i += EIGHTHS_STEP)
		check_percentile(&copy, i);
	check_percentile(&copy, 0);
	check_percentile(&copy, EIGHTHS);
	/* Any other is taken as one of 0 to 100. */
	memcpy(&percent, &bits, sizeof(percent));
	fuzz_check(weir_histogram_percentile(&copy, percent) >=
		   weir_histogram_percentile(&copy, 0));
	for (i = 0; i < 2; i++) {
		weir__histogram_read(halves[i], &half);
		fuzz_check(weir_histogram_merge(&sum, &half) == 0);
		free(halves[i]);
	}
	fuzz_check(memcmp(&sum, &copy, sizeof(sum)) == 0);
	free(all);
	return 0;
}
