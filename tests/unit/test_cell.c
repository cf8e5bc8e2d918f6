/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "rig.h"
#include "task/cell.h"
#include "task/task.h"

#define CELLS 64
#define HEADER offsetof(struct task, bytes)

static struct cell_pools pools;
static struct cell_cache cache;

static int
setup(void **state)
{
	if (weir__cell_pools_init(&pools, "cells", 0, CELLS, 1) < 0)
		return -1;
	return weir__cell_cache_init(&cache, &pools);
}

/* Every cell is back, or the test has leaked one. */
static int
teardown(void **state)
{
	unsigned int i;
	int rc = 0;

	weir__cell_cache_fini(&cache);
	for (i = 0; i < CELL_CLASSES; i++)
		if (!rte_mempool_full(pools.pool[i]))
			rc = -1;
	weir__cell_pools_fini(&pools);
	return rc;
}

static unsigned int
in_use(unsigned int size_class)
{
	return rte_mempool_in_use_count(pools.pool[size_class]);
}

static void
smallest_class_that_fits_is_taken(void **state)
{
	const struct {
		size_t state_size;
		unsigned int size_class;
	} rows[] = {
		{ 0, 0 },
		{ 128 - HEADER, 0 },
		{ 128 - HEADER + 1, 1 },
		{ 256 - HEADER, 1 },
		{ 256 - HEADER + 1, 2 },
		{ 512 - HEADER, 2 },
		{ 512 - HEADER + 1, CELL_CLASS_MALLOC },
		{ 100000, CELL_CLASS_MALLOC },
	};
	struct task *t;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		t = weir__cell_alloc(&pools, NULL, rows[i].state_size);
		assert_non_null(t);
		assert_int_equal(t->size_class, rows[i].size_class);
		assert_int_equal((uintptr_t)t % WEIR_CACHE_LINE, 0);
		memset(t->bytes, 0xff, rows[i].state_size);
		if (rows[i].size_class < CELL_CLASSES)
			assert_int_equal(in_use(rows[i].size_class), 1);
		weir__cell_free(&pools, NULL, t);
		if (rows[i].size_class < CELL_CLASSES)
			assert_int_equal(in_use(rows[i].size_class), 0);
	}
}

/* C1 */
static void
empty_pool_falls_back_to_malloc(void **state)
{
	struct task *from_pool[CELLS + CELL_CACHE_SIZE * 3 / 2], *more[3];
	unsigned int i;

	for (i = 0; i < RTE_DIM(from_pool); i++) {
		from_pool[i] = weir__cell_alloc(&pools, NULL, 0);
		assert_int_equal(from_pool[i]->size_class, 0);
	}
	assert_true(rte_mempool_empty(pools.pool[0]));
	for (i = 0; i < RTE_DIM(more); i++) {
		more[i] = weir__cell_alloc(&pools, NULL, 0);
		assert_non_null(more[i]);
		assert_int_equal(more[i]->size_class, CELL_CLASS_MALLOC);
	}
	/* They do not end in the pool, although there is room now. */
	weir__cell_free(&pools, NULL, from_pool[0]);
	for (i = 0; i < RTE_DIM(more); i++)
		weir__cell_free(&pools, &cache, more[i]);
	assert_int_equal(in_use(0), RTE_DIM(from_pool) - 1);
	for (i = 1; i < RTE_DIM(from_pool); i++)
		weir__cell_free(&pools, NULL, from_pool[i]);
	assert_int_equal(in_use(0), 0);
}

static void
cache_gives_back_what_was_freed_last(void **state)
{
	struct task *a, *b;

	a = weir__cell_alloc(&pools, &cache, 0);
	b = weir__cell_alloc(&pools, &cache, 0);
	assert_ptr_not_equal(a, b);
	weir__cell_free(&pools, &cache, a);
	assert_ptr_equal(weir__cell_alloc(&pools, &cache, 0), a);
	weir__cell_free(&pools, &cache, a);
	weir__cell_free(&pools, &cache, b);
	/* They are in the cache, so taken as far as the pool can tell. */
	assert_int_not_equal(in_use(0), 0);
	rte_mempool_cache_flush(cache.cache[0], pools.pool[0]);
	assert_int_equal(in_use(0), 0);
}

/* C2 */
static void
cache_serves_its_own_pools_only(void **state)
{
	struct cell_pools other;
	struct task *t;

	assert_int_equal(weir__cell_pools_init(&other, "other", 0, CELLS, 1),
			 0);
	t = weir__cell_alloc(&other, &cache, 0);
	assert_non_null(t);
	assert_ptr_equal(rte_mempool_from_obj(t), other.pool[0]);
	assert_int_equal(cache.cache[0]->len, 0);
	weir__cell_free(&other, &cache, t);
	assert_int_equal(cache.cache[0]->len, 0);
	assert_true(rte_mempool_full(other.pool[0]));
	weir__cell_pools_fini(&other);
}

static void
cache_flows_over_into_the_pool(void **state)
{
	struct task *cells[CELL_CACHE_SIZE * 3 / 2];
	unsigned int i;

	for (i = 0; i < RTE_DIM(cells); i++) {
		cells[i] = weir__cell_alloc(&pools, NULL, 0);
		assert_non_null(cells[i]);
	}
	for (i = 0; i < RTE_DIM(cells); i++)
		weir__cell_free(&pools, &cache, cells[i]);
	assert_in_range(cache.cache[0]->len, 1, CELL_CACHE_SIZE * 3 / 2);
}

static void
failed_init_leaves_nothing(void **state)
{
	struct cell_pools again;
	unsigned int i;

	/* The names are taken. */
	assert_true(weir__cell_pools_init(&again, "cells", 0, CELLS, 1) < 0);
	for (i = 0; i < CELL_CLASSES; i++)
		assert_null(again.pool[i]);
	/* More than there is; the first pools must go again. */
	assert_true(weir__cell_pools_init(&again, "huge", 0, 1u << 20, 1) < 0);
	assert_null(rte_mempool_lookup("huge_n0_c128"));
	assert_null(rte_mempool_lookup("huge_n0_c256"));
}

static void
huge_state_gets_no_cell(void **state)
{
	assert_null(weir__cell_alloc(&pools, &cache, (size_t)1 << 40));
	assert_null(weir__cell_alloc(&pools, &cache, SIZE_MAX / 2));
}

/* The size of the whole cell must not wrap to a small one. */
static void
size_of_a_cell_does_not_wrap(void **state)
{
	struct task *t = weir__cell_alloc(&pools, NULL, SIZE_MAX - 8);

	if (t != NULL) {
		weir__cell_free(&pools, NULL, t);
		fail_msg("a cell for SIZE_MAX - 8 bytes");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(smallest_class_that_fits_is_taken),
		TEST(empty_pool_falls_back_to_malloc),
		TEST(cache_gives_back_what_was_freed_last),
		TEST(cache_serves_its_own_pools_only),
		TEST(cache_flows_over_into_the_pool),
		TEST(failed_init_leaves_nothing),
		TEST(huge_state_gets_no_cell),
		TEST(size_of_a_cell_does_not_wrap),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
