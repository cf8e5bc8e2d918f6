/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "base/rand.h"
#include "metrics/histogram.h"
#include "queue/inject.h"
#include "rig.h"
#include "task/stamp.h"

#define VALUES 1000

static struct histogram *
histogram(unsigned int precision, uint64_t largest)
{
	struct histogram *h =
		calloc(1, weir__histogram_size(precision, largest));

	assert_non_null(h);
	weir__histogram_init(h, precision, largest);
	return h;
}

/* Of any size up to `bits` bits. */
static uint64_t
random_value(struct rand_state *r, unsigned int bits)
{
	uint64_t v = (uint64_t)rand_u32(r) << 32 | rand_u32(r);

	return v >> (64 - bits + rand_below(r, bits));
}

/* H1 */
static void
buckets_follow_each_other(void **state)
{
	unsigned int p, b, last;

	for (p = 1; p <= HISTOGRAM_PRECISION_MAX; p++) {
		last = histogram_bucket(HISTOGRAM_LARGEST_MAX, p);
		assert_true(last < WEIR_HISTOGRAM_BUCKETS);
		assert_int_equal(histogram_bucket(0, p), 0);
		for (b = 0; b <= last; b++) {
			uint64_t bound = weir__histogram_bound(b, p);

			assert_int_equal(histogram_bucket(bound, p), b);
			assert_int_equal(histogram_bucket(bound + 1, p), b + 1);
		}
		assert_int_equal(weir__histogram_bound(last, p),
				 HISTOGRAM_LARGEST_MAX);
	}
}

static int
compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Never too small, and too great by less than one part in 2^precision. */
static void
percentiles_keep_the_promised_error(void **state)
{
	const double percents[] = { 0, 0.1, 1, 25, 50, 90, 99, 99.9, 99.99 };
	uint64_t values[VALUES], exact, got, rank;
	struct weir_histogram copy;
	struct histogram *h;
	struct rand_state r;
	unsigned int p, i;

	rand_seed(&r, unit_seed());
	for (p = 1; p <= HISTOGRAM_PRECISION_MAX; p++) {
		h = histogram(p, HISTOGRAM_LARGEST_MAX);
		for (i = 0; i < VALUES; i++) {
			values[i] = random_value(&r, 37);
			histogram_record(h, values[i]);
		}
		weir__histogram_read(h, &copy);
		assert_int_equal(copy.count, VALUES);
		assert_int_equal(copy.precision, p);
		qsort(values, VALUES, sizeof(values[0]), compare);
		for (i = 0; i < RTE_DIM(percents); i++) {
			rank = (uint64_t)ceil(VALUES * percents[i] / 100);
			exact = values[rank > 0 ? rank - 1 : 0];
			got = weir_histogram_percentile(&copy, percents[i]);
			assert_uint_in_range(got, exact, exact + (exact >> p));
		}
		got = weir_histogram_percentile(&copy, 100);
		assert_int_equal(got, values[VALUES - 1]);
		assert_int_equal(copy.max, values[VALUES - 1]);
		free(h);
	}
}

/* What is a whole number of values in decimals is not one more in binary. */
static void
percentiles_are_exact_for_round_counts(void **state)
{
	static const double percents[] = { 0.1, 1.1, 33.3, 90, 99, 99.5, 99.9 };
	struct weir_histogram copy = { .precision = 1, .nb_buckets = 4 };
	uint64_t count, rank;
	unsigned int i;

	copy.max = 3;
	for (count = 1000; count < 100000000;
	     count += 1000 * (1 + count / 7000)) {
		copy.count = count;
		for (i = 0; i < RTE_DIM(percents); i++) {
			rank = count / 1000 *
			       (uint64_t)(percents[i] * 10 + 0.5);
			copy.buckets[1] = rank;
			copy.buckets[2] = count - rank - 1;
			copy.buckets[3] = 1;
			assert_int_equal(
				weir_histogram_percentile(&copy, percents[i]),
				1);
			/* One value less, and it is the next. */
			copy.buckets[1]--;
			copy.buckets[2]++;
			assert_int_not_equal(
				weir_histogram_percentile(&copy, percents[i]),
				1);
		}
	}
}

static void
values_beyond_the_largest_are_kept_in_the_last_bucket(void **state)
{
	struct histogram *h = histogram(4, 1000);
	struct weir_histogram copy;

	histogram_record(h, 7);
	histogram_record(h, 1001);
	histogram_record(h, UINT64_MAX);
	weir__histogram_read(h, &copy);
	assert_int_equal(copy.count, 3);
	assert_int_equal(copy.buckets[copy.nb_buckets - 1], 2);
	assert_int_equal(weir_histogram_percentile(&copy, 33), 7);
	/* Whatever is asked of that bucket, the greatest is known. */
	assert_true(weir_histogram_percentile(&copy, 60) == UINT64_MAX);
	free(h);
}

/* As whoever reads beside the writer may see it: `max` comes before the count. */
static void
greatest_that_is_not_counted_yet_is_no_percentile(void **state)
{
	struct weir_histogram copy;
	struct histogram *h = histogram(4, 100000);

	weir__histogram_read(h, &copy);
	copy.max = 90000;
	assert_int_equal(weir_histogram_percentile(&copy, 50), 0);
	histogram_record(h, 100);
	histogram_record(h, 101);
	weir__histogram_read(h, &copy);
	assert_int_equal(weir_histogram_percentile(&copy, 50), 101);
	copy.max = 90000;
	assert_uint_in_range(weir_histogram_percentile(&copy, 50), 101, 108);
	assert_uint_in_range(weir_histogram_percentile(&copy, 100), 101, 108);
	free(h);
}

static void
odd_percents_are_the_nearest_there_is(void **state)
{
	struct weir_histogram copy = { 0 };
	struct histogram *h = histogram(4, 1000);

	assert_int_equal(weir_histogram_percentile(&copy, 50), 0);
	weir__histogram_read(h, &copy);
	assert_int_equal(weir_histogram_percentile(&copy, 50), 0);
	histogram_record(h, 3);
	histogram_record(h, 5);
	weir__histogram_read(h, &copy);
	assert_int_equal(weir_histogram_percentile(&copy, 0), 3);
	assert_int_equal(weir_histogram_percentile(&copy, -1), 3);
	assert_int_equal(weir_histogram_percentile(&copy, NAN), 3);
	assert_int_equal(weir_histogram_percentile(&copy, 50), 3);
	assert_int_equal(weir_histogram_percentile(&copy, 50.1), 5);
	assert_int_equal(weir_histogram_percentile(&copy, 101), 5);
	assert_int_equal(weir_histogram_percentile(&copy, INFINITY), 5);
	free(h);
}

static void
merge_adds_what_is_alike(void **state)
{
	struct histogram *a = histogram(4, 1000), *b = histogram(4, 1000);
	struct histogram *finer = histogram(5, 1000);
	struct histogram *longer = histogram(4, 1001);
	struct weir_histogram sum = { 0 }, copy;
	const struct weir_histogram empty = { 0 };

	histogram_record(a, 10);
	histogram_record(b, 10);
	histogram_record(b, 900);
	weir__histogram_read(a, &copy);
	assert_int_equal(weir_histogram_merge(&sum, &copy), 0);
	assert_int_equal(weir_histogram_merge(&sum, &empty), 0);
	weir__histogram_read(b, &copy);
	assert_int_equal(weir_histogram_merge(&sum, &copy), 0);
	weir__histogram_read(finer, &copy);
	assert_int_equal(weir_histogram_merge(&sum, &copy), -EINVAL);
	weir__histogram_read(longer, &copy);
	assert_int_equal(weir_histogram_merge(&sum, &copy), -EINVAL);
	assert_int_equal(sum.count, 3);
	assert_int_equal(sum.max, 900);
	assert_int_equal(sum.buckets[10], 2);
	assert_int_equal(weir_histogram_percentile(&sum, 60), 10);
	assert_int_equal(weir_histogram_percentile(&sum, 70), 900);
	free(a);
	free(b);
	free(finer);
	free(longer);
}

static void
without_the_option_there_are_none(void **state)
{
	struct weir_histogram h;
	unsigned int n = weir_runtime_nb_workers(rig.rt);

	assert_int_equal(
		weir_worker_histogram_get(rig.rt, 0, WEIR_HISTOGRAM_POLL, &h),
		-ENOTSUP);
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_WAKE, &h),
		-ENOTSUP);
	assert_int_equal(
		weir_worker_histogram_get(rig.rt, n, WEIR_HISTOGRAM_POLL, &h),
		-EINVAL);
	assert_int_equal(weir_runtime_histogram_get(
				 rig.rt, (enum weir_histogram_kind)2, &h),
			 -EINVAL);
}

/* The rig's runtime, with histograms. */
static int
timed_setup(void **state)
{
	unsigned int n = (unsigned int)(uintptr_t)*state;
	struct weir_options o;

	rig_setup(state);
	rig_runtime_free(rig.rt);
	rig_options(&o, n);
	o.histograms = true;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	return 0;
}

static uint64_t
ns(uint64_t cycles)
{
	return cycles * 1000000 / (rte_get_tsc_hz() / 1000);
}

static void
spin(uint64_t cycles)
{
	uint64_t since = rte_rdtsc();

	while (rte_rdtsc() - since < cycles)
		rte_pause();
}

#define LONG_POLL 3000000u /* cycles */

static int
poll_for_long(struct weir_context *ctx, void *state)
{
	spin(LONG_POLL);
	return WEIR_DONE;
}

static void
every_poll_is_timed(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "long",
		.poll = poll_for_long,
	};
	struct weir_histogram poll, wake, one, sum = { 0 };
	struct weir_worker_stats stats;
	uint64_t polls = 0, begin, took;
	unsigned int i;

	begin = rte_rdtsc();
	for (i = 0; i < 20; i++)
		weir_join_detach(rig_spawn(rig.rt, &rig_done_ops, &rig.told));
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, NULL), 0);
	rig_wait_until(rig_get(&rig.log.drops) == 20);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	took = ns(rte_rdtsc() - begin);
	for (i = 0; i < weir_runtime_nb_workers(rig.rt); i++) {
		weir_worker_stats_get(rig.rt, i, &stats);
		polls += stats.polls;
		assert_int_equal(weir_worker_histogram_get(
					 rig.rt, i, WEIR_HISTOGRAM_POLL, &one),
				 0);
		assert_int_equal(one.count, stats.polls);
		assert_int_equal(weir_histogram_merge(&sum, &one), 0);
	}
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_POLL, &poll),
		0);
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_WAKE, &wake),
		0);
	assert_memory_equal(&sum, &poll, sizeof(sum));
	assert_int_equal(poll.count, polls);
	assert_int_equal(wake.count, polls);
	assert_uint_in_range(poll.max, ns(LONG_POLL) - 10, took + 10);
	assert_uint_in_range(wake.max, 0, took + 10);
}

static struct atomic_u32 slow; /* the next look at the inject queue */

unsigned int
__real_weir__inject_pop(struct inject *q, struct task **tasks, unsigned int n);
unsigned int
__wrap_weir__inject_pop(struct inject *q, struct task **tasks, unsigned int n);

unsigned int
__wrap_weir__inject_pop(struct inject *q, struct task **tasks, unsigned int n)
{
	n = __real_weir__inject_pop(q, tasks, n);
	if (n > 0 && rig_get(&slow)) {
		rig_set(&slow, 0);
		spin(rte_get_tsc_hz() / 2);
	}
	return n;
}

static struct atomic_u32 begun;
static struct atomic_u32 going;

/* There is always one. */
static int
spawn_the_next(struct weir_context *ctx, void *state)
{
	const struct weir_task_ops *ops = *(const struct weir_task_ops **)state;

	rig_set(&begun, 1);
	if (rig_get(&going))
		weir_task_spawn_detached(weir_context_runtime(ctx), ops, state,
					 NULL);
	return WEIR_DONE;
}

/* What it takes to get a task from outside is no part of the task's turn. */
static void
look_at_the_inject_queue_is_no_poll(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "spawns",
		.state_size = sizeof(&ops),
		.poll = spawn_the_next,
	};
	const struct weir_task_ops *state_of = &ops;
	struct weir_histogram poll;

	/* While it has tasks of its own, the worker looks there between turns. */
	rig_set(&begun, 0);
	rig_set(&going, 1);
	assert_int_equal(
		weir_task_spawn_detached(rig.rt, &ops, &state_of, NULL), 0);
	rig_wait_until(rig_get(&begun));
	rig_set(&slow, 1);
	assert_int_equal(
		rig_join(rig_spawn(rig.rt, &rig_done_ops, &rig.told), NULL), 0);
	rig_set(&going, 0);
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_POLL, &poll),
		0);
	assert_uint_in_range(poll.max, 0, 499999999);
}

static int
wake_after_a_while(struct weir_context *ctx, void *state)
{
	struct weir_waker *w = *(struct weir_waker **)state;

	weir_waker_wake(w);
	spin(LONG_POLL);
	return WEIR_DONE;
}

/* The wait begins with the wake-up, in the middle of another task. */
static void
wait_for_a_turn_is_timed(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "waker",
		.state_size = sizeof(struct weir_waker *),
		.poll = wake_after_a_while,
	};
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	const struct task *t = (const struct task *)join;
	struct weir_histogram wake;
	struct weir_waker *w;

	w = rig_take_waker(&rig.waker);
	rig_set(&rig.go, 1);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &w, NULL), 0);
	rig_wait_until(rig_get(&rig.log.drops) == 1);
	/* A stamp that is looked at later is a coarse one. */
	assert_int_equal(atomic_u32_load(&t->woken, RELAXED) & STAMP_FINE, 0);
	assert_int_equal(weir_join_wait(join, NULL), 0);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_WAKE, &wake),
		0);
	assert_int_equal(wake.count, 3);
	assert_uint_in_range(wake.max, ns(LONG_POLL) - 100, UINT64_MAX);
}

/* A yield asks for another turn, at the end of its poll. */
static void
yield_begins_a_new_wait(void **state)
{
	uint64_t begin = rte_rdtsc(), sum = 0, n;
	struct weir_join *join = rig_spawn(rig.rt, &rig_yield_ops, &rig.told);
	struct weir_histogram wake;
	unsigned int i;

	rig_wait_until(rig_get(&rig.log.polls) > 1000);
	rig_set(&rig.go, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_WAKE, &wake),
		0);
	assert_int_equal(wake.count, rig_get(&rig.log.polls));
	/* Waits do not overlap: all together are no longer than the test. */
	for (i = 1; i < wake.nb_buckets; i++) {
		n = wake.buckets[i];
		sum += n * (weir__histogram_bound(i - 1, wake.precision) + 1);
	}
	assert_uint_in_range(sum, 0, ns(rte_rdtsc() - begin) + 1000);
}

#define TIMED_TEST(name, workers) \
	UNIT_TEST(name, timed_setup, rig_teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_follow_each_other),
		cmocka_unit_test(percentiles_keep_the_promised_error),
		cmocka_unit_test(percentiles_are_exact_for_round_counts),
		cmocka_unit_test(
			values_beyond_the_largest_are_kept_in_the_last_bucket),
		cmocka_unit_test(
			greatest_that_is_not_counted_yet_is_no_percentile),
		cmocka_unit_test(odd_percents_are_the_nearest_there_is),
		cmocka_unit_test(merge_adds_what_is_alike),
		RIG_TEST(without_the_option_there_are_none, 2),
		TIMED_TEST(every_poll_is_timed, 1),
		TIMED_TEST(every_poll_is_timed, 3),
		TIMED_TEST(look_at_the_inject_queue_is_no_poll, 1),
		TIMED_TEST(wait_for_a_turn_is_timed, 1),
		TIMED_TEST(yield_begins_a_new_wait, 1),
		TIMED_TEST(yield_begins_a_new_wait, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
