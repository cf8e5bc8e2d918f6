/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "base/common.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/rand.h"
#include "rig.h"
#include "weir_version.h"

#define HOLDERS 4
#define ROUNDS 20000

static void
atomic_int_operations_return_old_value(void **state)
{
	struct atomic_u32 a;

	atomic_u32_store(&a, 5, RELAXED);
	assert_int_equal(atomic_u32_fetch_add(&a, 2, RELAXED), 5);
	assert_int_equal(atomic_u32_fetch_sub(&a, 1, RELAXED), 7);
	assert_int_equal(atomic_u32_fetch_or(&a, 8, RELAXED), 6);
	assert_int_equal(atomic_u32_fetch_and(&a, 12, RELAXED), 14);
	assert_int_equal(atomic_u32_exchange(&a, 1, RELAXED), 12);
	atomic_u32_add_owner(&a, 3);
	assert_int_equal(atomic_u32_load(&a, RELAXED), 4);
}

static void
version_is_that_of_the_headers(void **state)
{
	char text[16];

	snprintf(text, sizeof(text), "%d.%d.%d", WEIR_VERSION >> 16,
		 WEIR_VERSION >> 8 & 0xff, WEIR_VERSION & 0xff);
	assert_string_equal(weir_version(), text);
}

static void
atomic_cas_tells_what_it_found(void **state)
{
	struct atomic_u64 a;
	uint64_t expected = 1;

	atomic_u64_store(&a, UINT64_MAX, RELAXED);
	assert_false(atomic_u64_cas(&a, &expected, 2, RELAXED, RELAXED));
	assert_true(expected == UINT64_MAX);
	assert_true(atomic_u64_cas(&a, &expected, 2, RELAXED, RELAXED));
	assert_true(expected == UINT64_MAX);
	assert_int_equal(atomic_u64_load(&a, RELAXED), 2);
}

static void
atomic_ptr_holds_pointers(void **state)
{
	struct atomic_ptr p;
	void *expected = NULL;
	int x, y;

	atomic_ptr_store(&p, &x, RELAXED);
	assert_false(atomic_ptr_cas(&p, &expected, &y, RELAXED, RELAXED));
	assert_ptr_equal(expected, &x);
	assert_ptr_equal(atomic_ptr_exchange(&p, &y, RELAXED), &x);
	assert_ptr_equal(atomic_ptr_load(&p, RELAXED), &y);
}

struct element {
	unsigned int number;
	struct list_link link;
};

static unsigned int
number_of(const struct list_link *link)
{
	return container_of(link, const struct element, link)->number;
}

static void
list_is_first_in_first_out(void **state)
{
	struct element elements[3];
	struct list_link head;
	unsigned int i;

	list_init(&head);
	assert_true(list_empty(&head));
	assert_null(list_pop_front(&head));
	for (i = 0; i < RTE_DIM(elements); i++) {
		elements[i].number = i;
		list_push_back(&head, &elements[i].link);
	}
	for (i = 0; i < RTE_DIM(elements); i++)
		assert_int_equal(number_of(list_pop_front(&head)), i);
	assert_true(list_empty(&head));
}

/* Random pushes, removals and pops, beside a plain array that does the same. */
static void
list_agrees_with_an_array(void **state)
{
	struct element elements[16];
	struct element *array[RTE_DIM(elements)], *e;
	unsigned int i, j, n = 0;
	struct rand_state r;
	struct list_link head;

	rand_seed(&r, unit_seed());
	list_init(&head);
	memset(elements, 0, sizeof(elements));
	for (i = 0; i < ROUNDS; i++) {
		e = &elements[rand_below(&r, RTE_DIM(elements))];
		if (!list_linked(&e->link)) {
			list_push_back(&head, &e->link);
			array[n++] = e;
			continue;
		}
		if (rand_below(&r, 2) == 0) {
			e = array[0];
			assert_ptr_equal(list_pop_front(&head), &e->link);
		} else {
			list_remove(&e->link);
		}
		for (j = 0; array[j] != e; j++)
			;
		memmove(&array[j], &array[j + 1], (--n - j) * sizeof(array[0]));
		assert_false(list_linked(&e->link));
		assert_int_equal(list_empty(&head), n == 0);
	}
	for (j = 0; j < n; j++)
		assert_ptr_equal(list_pop_front(&head), &array[j]->link);
	assert_true(list_empty(&head));
}

static void
rand_repeats_with_its_seed(void **state)
{
	uint64_t seed = unit_seed();
	struct rand_state a, b, other;
	unsigned int i, same = 0;
	uint32_t v;

	rand_seed(&a, seed);
	rand_seed(&b, seed);
	rand_seed(&other, seed + 1);
	for (i = 0; i < ROUNDS; i++) {
		v = rand_u32(&a);
		assert_int_equal(v, rand_u32(&b));
		same += v == rand_u32(&other);
	}
	/* By chance alone, about 1 in 200,000 runs has a single one. */
	assert_true(same < 4);
}

/* Workers get consecutive seeds, so their first choices must not agree. */
static void
rand_neighbour_seeds_are_unrelated(void **state)
{
	uint64_t seed = unit_seed();
	unsigned int i, bits = 0;
	struct rand_state a, b;

	for (i = 0; i < ROUNDS; i++) {
		rand_seed(&a, seed + i);
		rand_seed(&b, seed + i + 1);
		bits += __builtin_popcount(rand_u32(&a) ^ rand_u32(&b));
	}
	/* 16 of 32 bits on average; the bounds are 10 standard deviations. */
	assert_uint_in_range(bits, ROUNDS * 15.8, ROUNDS * 16.2);
}

static void
rand_below_is_uniform(void **state)
{
	unsigned int counts[7] = { 0 };
	struct rand_state r;
	unsigned int i;

	rand_seed(&r, unit_seed());
	for (i = 0; i < RTE_DIM(counts) * 10000; i++)
		counts[rand_below(&r, RTE_DIM(counts))]++;
	/* The bounds are 6.5 standard deviations. */
	for (i = 0; i < RTE_DIM(counts); i++)
		assert_uint_in_range(counts[i], 9400, 10600);
	for (i = 0; i < 100; i++)
		assert_int_equal(rand_below(&r, 1), 0);
}

static void
lock_try_fails_while_it_is_held(void **state)
{
	struct lock l;

	lock_init(&l);
	assert_true(lock_try(&l));
	assert_false(lock_try(&l));
	lock_release(&l);
	lock_acquire(&l);
	assert_false(lock_try(&l));
	lock_release(&l);
	assert_true(lock_try(&l));
}

struct guarded {
	struct lock lock;
	struct atomic_u32 waiting; /* threads that have yet to come */
	struct atomic_u32 inside;  /* holders of the lock now */
	unsigned int overlaps;	   /* times there was more than one */
	uint64_t count;		   /* not atomic: the lock guards it */
};

static void *
count_up(void *arg)
{
	struct guarded *g = arg;
	unsigned int i;

	/* Together, or the first is done before the last has come. */
	atomic_u32_fetch_sub(&g->waiting, 1, RELAXED);
	rig_wait_until(atomic_u32_load(&g->waiting, RELAXED) == 0);
	for (i = 0; i < ROUNDS; i++) {
		lock_acquire(&g->lock);
		if (atomic_u32_fetch_add(&g->inside, 1, RELAXED) != 0)
			g->overlaps++;
		g->count++;
		atomic_u32_fetch_sub(&g->inside, 1, RELAXED);
		lock_release(&g->lock);
	}
	return NULL;
}

static void *
acquire_and_release(void *arg)
{
	struct lock *l = arg;

	lock_acquire(l);
	lock_release(l);
	return NULL;
}

/* Who only tries, again and again, leaves the lock to who waits. */
static void
lock_try_gives_way_to_a_waiter(void **state)
{
	pthread_t waiter;
	struct lock l;

	lock_init(&l);
	assert_true(lock_try(&l));
	assert_int_equal(pthread_create(&waiter, NULL, acquire_and_release, &l),
			 0);
	rig_wait_until(atomic_u32_load(&l.waiting, RELAXED) != 0);
	lock_release(&l);
	/* Fails as long as the other has not had it. */
	rig_wait_until(lock_try(&l));
	assert_int_equal(atomic_u32_load(&l.waiting, RELAXED), 0);
	lock_release(&l);
	pthread_join(waiter, NULL);
}

static void
lock_lets_one_in_at_a_time(void **state)
{
	struct guarded g = { .count = 0 };

	lock_init(&g.lock);
	atomic_u32_store(&g.waiting, HOLDERS, RELAXED);
	rig_threads(HOLDERS, count_up, &g);
	assert_int_equal(g.overlaps, 0);
	assert_int_equal(g.count, HOLDERS * ROUNDS);
}

static void
log_goes_through_dpdk(void **state)
{
	char text[128] = "";
	FILE *stream = fmemopen(text, sizeof(text), "w");

	assert_non_null(stream);
	assert_int_equal(rte_log_get_level(weir__logtype), RTE_LOG_ERR);
	rte_openlog_stream(stream);
	WEIR_LOG(ERR, "%d of %s\n", 3, "them");
	WEIR_LOG(DEBUG, "not shown\n");
	rte_openlog_stream(NULL);
	fclose(stream);
	assert_string_equal(text, "weir: 3 of them\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_is_that_of_the_headers),
		cmocka_unit_test(atomic_int_operations_return_old_value),
		cmocka_unit_test(atomic_cas_tells_what_it_found),
		cmocka_unit_test(atomic_ptr_holds_pointers),
		cmocka_unit_test(list_is_first_in_first_out),
		cmocka_unit_test(list_agrees_with_an_array),
		cmocka_unit_test(rand_repeats_with_its_seed),
		cmocka_unit_test(rand_neighbour_seeds_are_unrelated),
		cmocka_unit_test(rand_below_is_uniform),
		cmocka_unit_test(lock_try_fails_while_it_is_held),
		cmocka_unit_test(lock_try_gives_way_to_a_waiter),
		cmocka_unit_test(lock_lets_one_in_at_a_time),
		cmocka_unit_test(log_goes_through_dpdk),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
