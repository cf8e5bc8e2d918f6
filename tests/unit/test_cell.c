/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "base/rand.h"
#include "rig.h"
#include "task/cell.h"
#include "task/task.h"

#define CELLS 256
#define HEADER offsetof(struct task, bytes)
/* As many as one more than the pools have at first. */
#define MANY (CELLS + 1)

static struct cell_pools pools;
static struct cell_cache cache;
static size_t heap_before;

static int
setup(void **state)
{
	heap_before = rig_heap_in_use();
	if (weir__cell_pools_init(&pools, 0, CELLS) < 0)
		return -1;
	weir__cell_cache_init(&cache, &pools);
	return 0;
}

static int
teardown(void **state)
{
	weir__cell_cache_fini(&cache);
	weir__cell_pools_fini(&pools);
	return rig_heap_in_use() == heap_before ? 0 : -1;
}

static void
smallest_class_that_fits_is_taken(void **state)
{
	const struct {
		size_t state_size;
		unsigned int size_class;
	} rows[] = {
		{ 0, 0 },
		{ 64, 0 },
		{ 65, 1 },
		{ 2240, 8 },
		{ 2241, CELL_CLASS_MALLOC },
		{ 128 - HEADER, 0 },
		{ 128 - HEADER + 1, 1 },
		{ 192 - HEADER, 1 },
		{ 192 - HEADER + 1, 2 },
		{ 256 - HEADER, 2 },
		{ 256 - HEADER + 1, 3 },
		{ 384 - HEADER, 3 },
		{ 384 - HEADER + 1, 4 },
		{ 512 - HEADER, 4 },
		{ 512 - HEADER + 1, 5 },
		{ 768 - HEADER, 5 },
		{ 768 - HEADER + 1, 6 },
		{ 1024 - HEADER, 6 },
		{ 1024 - HEADER + 1, 7 },
		{ 1536 - HEADER, 7 },
		{ 1536 - HEADER + 1, 8 },
		{ 2304 - HEADER, 8 },
		{ 2304 - HEADER + 1, CELL_CLASS_MALLOC },
		{ 100000, CELL_CLASS_MALLOC },
	};
	struct task *t, *next;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		t = weir__cell_alloc(&pools, &cache, rows[i].state_size);
		next = weir__cell_alloc(&pools, &cache, rows[i].state_size);
		assert_non_null(t);
		assert_non_null(next);
		assert_int_equal(t->size_class, rows[i].size_class);
		assert_int_equal((uintptr_t)t % WEIR_CACHE_LINE, 0);
		/* Nothing of the next one's. */
		memset(t->bytes, 0xff, rows[i].state_size);
		assert_int_equal(next->size_class, rows[i].size_class);
		weir__cell_free(&pools, &cache, t);
		weir__cell_free(&pools, &cache, next);
	}
}

static void
take_all(struct task **cells, unsigned int n, struct cell_cache *c)
{
	unsigned int i, j;

	for (i = 0; i < n; i++) {
		cells[i] = weir__cell_alloc(&pools, c, 0);
		assert_non_null(cells[i]);
		assert_int_equal(cells[i]->size_class, 0);
		for (j = 0; j < i; j++)
			assert_ptr_not_equal(cells[i], cells[j]);
	}
}

static void
give_all(struct task **cells, unsigned int n, struct cell_cache *c)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		cell_free(&pools, c, cells[i]);
}

static void
pools_grow_and_use_again_what_they_have(void **state)
{
	struct task *cells[MANY];
	size_t grown;

	take_all(cells, CELLS, NULL);
	grown = rig_heap_in_use();
	give_all(cells, CELLS, NULL);
	take_all(cells, CELLS, NULL);
	assert_int_equal(rig_heap_in_use(), grown);
	cells[CELLS] = weir__cell_alloc(&pools, NULL, 0);
	assert_non_null(cells[CELLS]);
	assert_true(rig_heap_in_use() > grown);
	give_all(cells, MANY, NULL);
}

/* The same through a cache, and then what lies in it is had by others. */
static void
ended_cache_leaves_nothing_behind(void **state)
{
	struct task *cells[CELLS];
	size_t before = rig_heap_in_use();

	take_all(cells, CELLS, &cache);
	give_all(cells, CELLS, &cache);
	take_all(cells, CELL_BATCH + 1, &cache);
	give_all(cells, CELL_BATCH + 1, &cache);
	weir__cell_cache_fini(&cache);
	take_all(cells, CELLS, NULL);
	assert_int_equal(rig_heap_in_use(), before);
	give_all(cells, CELLS, NULL);
}

/* C7: one that is in no list, too. */
static void
ended_cache_leaves_no_last_cell_behind(void **state)
{
	struct task *cells[CELLS];
	size_t before = rig_heap_in_use();

	take_all(cells, CELLS, &cache);
	give_all(cells, 1, &cache);
	weir__cell_cache_fini(&cache);
	assert_ptr_equal(weir__cell_alloc(&pools, NULL, 0), cells[0]);
	assert_int_equal(rig_heap_in_use(), before);
	give_all(cells, CELLS, NULL);
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
}

/* C7: a burst takes what was given back last, and what was given back alone is kept. */
static void
burst_takes_in_reverse(void **state)
{
	const unsigned int n = CELL_BATCH - 1;
	struct task *cells[CELL_BATCH], *again[CELL_BATCH];
	unsigned int i;

	take_all(cells, n, &cache);
	for (i = 0; i < n; i++)
		cell_free(&pools, &cache, cells[i]);
	assert_int_equal(weir__cell_cache_taken(&cache), 0);
	assert_int_equal(
		weir__cell_alloc_burst(&pools, &cache, 0, again, n - 1), n - 1);
	for (i = 0; i < n - 1; i++)
		assert_ptr_equal(again[i], cells[n - 1 - i]);
	assert_int_equal(weir__cell_cache_taken(&cache), n - 1);
	assert_ptr_equal(cell_alloc(&pools, &cache, 0), cells[0]);
	assert_int_equal(weir__cell_cache_taken(&cache), n);
	give_all(cells, n, &cache);
}

/* C7 */
static void
one_by_one_it_is_the_same(void **state)
{
	struct task *cells[4], *t;
	unsigned int i;

	take_all(cells, RTE_DIM(cells), &cache);
	for (i = 0; i < RTE_DIM(cells); i++)
		cell_free(&pools, &cache, cells[i]);
	for (i = 0; i < 10; i++) {
		t = cell_alloc(&pools, &cache, 0);
		assert_ptr_equal(t, cells[0]);
		assert_int_equal(weir__cell_cache_taken(&cache), 1);
		cell_free(&pools, &cache, t);
	}
	assert_int_equal(weir__cell_cache_taken(&cache), 0);
}

/* C2 */
static void
cache_serves_its_own_pools_only(void **state)
{
	struct cell_pools other;
	struct task *t;

	assert_int_equal(weir__cell_pools_init(&other, 0, CELLS), 0);
	t = weir__cell_alloc(&other, &cache, 0);
	assert_non_null(t);
	weir__cell_free(&other, &cache, t);
	assert_int_equal(cache.stock[0].n, 0);
	assert_null(cache.stock[0].last);
	/* It is had again from where it came from. */
	assert_ptr_equal(weir__cell_alloc(&other, NULL, 0), t);
	weir__cell_free(&other, NULL, t);
	weir__cell_pools_fini(&other);
}

/* C3 */
static void
cache_flows_over_into_the_pool(void **state)
{
	struct task *cells[CELLS];
	unsigned int i;

	take_all(cells, CELLS, NULL);
	for (i = 0; i < CELLS; i++) {
		weir__cell_free(&pools, &cache, cells[i]);
		assert_uint_in_range(cache.stock[0].n, 0, CELL_BATCH - 1);
	}
	/* All but two batches at most are had without it. */
	take_all(cells, CELLS - 2 * CELL_BATCH, NULL);
	give_all(cells, CELLS - 2 * CELL_BATCH, NULL);
}

/* Those that it has at hand are not counted, and those of others are. */
static void
cache_counts_what_was_taken(void **state)
{
	struct task *cells[MANY];
	struct cell_pools other;

	assert_int_equal(weir__cell_pools_init(&other, 0, CELLS), 0);
	take_all(cells, MANY, &cache);
	assert_int_equal(weir__cell_cache_taken(&cache), MANY);
	give_all(cells, 1, &cache);
	assert_int_equal(weir__cell_cache_taken(&cache), MANY - 1);
	give_all(cells + 1, MANY - 1, &cache);
	assert_int_equal(weir__cell_cache_taken(&cache), 0);
	/* Through other hands. */
	take_all(cells, MANY, NULL);
	give_all(cells, MANY, &cache);
	assert_int_equal(weir__cell_cache_taken(&cache), (uint64_t)-MANY);
	take_all(cells, MANY, &cache);
	give_all(cells, MANY, NULL);
	assert_int_equal(weir__cell_cache_taken(&cache), 0);
	/* In bursts, of its own pools and of others; and of the heap's. */
	assert_int_equal(weir__cell_alloc_burst(&pools, &cache, 0, cells, 100),
			 100);
	assert_int_equal(
		weir__cell_alloc_burst(&other, &cache, 0, cells + 100, 100),
		100);
	cells[200] = weir__cell_alloc(&other, &cache, 300);
	cells[201] = weir__cell_alloc(&pools, &cache, 100000);
	assert_int_equal(weir__cell_cache_taken(&cache), 202);
	weir__cell_free(&pools, &cache, cells[201]);
	weir__cell_free(&other, &cache, cells[200]);
	give_all(cells, 100, &cache);
	assert_int_equal(weir__cell_cache_taken(&cache), 100);
	while (weir__cell_cache_taken(&cache) > 0)
		weir__cell_free(&other, &cache,
				cells[99 + weir__cell_cache_taken(&cache)]);
	weir__cell_pools_fini(&other);
}

static bool
batches_cross(void)
{
	return atomic_u32_load(&pools.depot[0].crosses, RELAXED) != 0;
}

/* C6 */
static void
cells_go_from_one_cache_to_another(void **state)
{
	struct task *cells[2 * CELLS];
	struct cell_cache other;
	size_t grown = 0;
	unsigned int i;

	weir__cell_cache_init(&other, &pools);
	for (i = 1; i < 10; i++) {
		take_all(cells, 2 * CELLS, &cache);
		give_all(cells, 2 * CELLS, &other);
		assert_int_equal(weir__cell_cache_taken(&cache), i * 2 * CELLS);
		assert_int_equal(weir__cell_cache_taken(&other),
				 -(uint64_t)i * 2 * CELLS);
		if (i == 2)
			grown = rig_heap_in_use();
	}
	assert_true(batches_cross());
	/* And to who has none, one by one and in bursts. */
	for (i = 0; i < 5; i++) {
		take_all(cells, CELLS, NULL);
		assert_int_equal(weir__cell_alloc_burst(&pools, NULL, 0,
							cells + CELLS, CELLS),
				 CELLS);
		give_all(cells, 2 * CELLS, &other);
	}
	assert_true(batches_cross());
	for (i = 0; i < 5; i++) {
		take_all(cells, 2 * CELLS, &cache);
		give_all(cells, 2 * CELLS, &cache);
	}
	assert_false(batches_cross());
	assert_int_equal(rig_heap_in_use(), grown);
	weir__cell_cache_fini(&other);
	take_all(cells, 2 * CELLS, NULL);
	give_all(cells, 2 * CELLS, NULL);
	assert_int_equal(rig_heap_in_use(), grown);
}

static uint32_t
deep_batches(void)
{
	return atomic_u32_load(&pools.depot[0].nb_batches, RELAXED);
}

/* C6: what comes to a depot of many has groups, for those who gave it too. */
static void
depot_of_many_has_groups(void **state)
{
	const unsigned int n = (CELL_DEEP + 8) * CELL_BATCH;
	struct task **cells = malloc(n * sizeof(*cells));
	size_t grown = 0;
	const struct cell_stock *s = &cache.stock[0];
	unsigned int round, i, groups;

	assert_non_null(cells);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < n; i++) {
			groups = s->nb_groups;
			cells[i] = weir__cell_alloc(&pools, &cache, 0);
			assert_non_null(cells[i]);
			/* Before the last group is used up. */
			if (groups > 0 && deep_batches() > 0)
				assert_true(s->nb_groups > 0 || s->spare);
			cells[i]->outcome = (int)i;
		}
		/* No two are the same. */
		for (i = 0; i < n; i++)
			assert_int_equal(cells[i]->outcome, i);
		give_all(cells, n, &cache);
		if (round == 0)
			grown = rig_heap_in_use();
		assert_int_equal(rig_heap_in_use(), grown);
		assert_int_equal(pools.depot[0].batches->nb_groups,
				 CELL_BATCH / CELL_GROUP);
		assert_int_equal(weir__cell_cache_taken(&cache), 0);
	}
	assert_false(batches_cross());
	free(cells);
}

static void
failed_init_leaves_nothing(void **state)
{
	struct cell_pools again;
	size_t before = rig_heap_in_use();

	/* More than there is, but not of the smallest. */
	assert_int_equal(weir__cell_pools_init(&again, 0, 1u << 18), -ENOMEM);
	assert_int_equal(rig_heap_in_use(), before);
	weir__cell_pools_fini(&again);
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

/* Takes memory until there is none, and then as much again. */
static void
no_memory_gives_no_cell_and_loses_none(void **state)
{
	struct task *first = NULL, *t;
	unsigned int n = 0, again = 0;

	/* Through the class that is out first. */
	while ((t = weir__cell_alloc(&pools, &cache, 512 - HEADER)) != NULL) {
		t->next = first;
		first = t;
		n++;
	}
	assert_true(n > CELLS);
	while ((t = first) != NULL) {
		first = t->next;
		weir__cell_free(&pools, &cache, t);
	}
	while ((t = weir__cell_alloc(&pools, &cache, 512 - HEADER)) != NULL) {
		t->next = first;
		first = t;
		again++;
	}
	assert_int_equal(again, n);
	while ((t = first) != NULL) {
		first = t->next;
		weir__cell_free(&pools, &cache, t);
	}
}

/* One of each class, and larger ones. */
static const size_t sizes[] = { 64,  128,  192,	 320,  448, 704,
				960, 1472, 2240, 2241, 5000 };
#define NB_SIZES RTE_DIM(sizes)
#define IS_LARGE(n) ((n) % NB_SIZES >= CELL_CLASSES)
#define HELD_MAX (4 * CELLS * NB_SIZES)

/* Cells that have held something, by the id that they show, from 1 on. */
static struct {
	struct task *held[HELD_MAX];
	unsigned int n;
	unsigned int looks[HELD_MAX];
	unsigned int nb_looks; /* at any */
	unsigned int bad;      /* that show what was never in them */
} walked;

static uint64_t
word_of(uint64_t id)
{
	return STATE_COMPLETE | id << STATE_REF_SHIFT;
}

static const struct weir_task_ops *
ops_of(uint64_t id)
{
	return (const struct weir_task_ops *)(uintptr_t)(id << 4);
}

static struct task *
hold(size_t state_size, struct cell_cache *c)
{
	struct task *t = weir__cell_alloc(&pools, c, state_size);
	uint64_t id = ++walked.n;

	assert_non_null(t);
	assert_true(id < HELD_MAX);
	atomic_u64_store(&t->id, id, RELAXED);
	task_set_ops(t, ops_of(id));
	atomic_u32_store(&t->polls, (uint32_t)id, RELAXED);
	atomic_u32_store(&t->woken, (uint32_t)id, RELAXED);
	atomic_u64_store(&t->state.word, word_of(id), RELAXED);
	walked.held[id] = t;
	return t;
}

/* n of each size; those whose number is not 0 modulo `gone` have gone since. */
static void
hold_all(unsigned int n, unsigned int gone)
{
	unsigned int i;

	memset(&walked, 0, sizeof(walked));
	for (i = 0; i < n * NB_SIZES; i++)
		hold(sizes[i % NB_SIZES], i / NB_SIZES % 2 ? &cache : NULL);
	for (i = 1; i <= walked.n; i++) {
		if (i % gone == 0)
			continue;
		weir__cell_free(&pools, i / NB_SIZES % 3 ? &cache : NULL,
				walked.held[i]);
		walked.held[i] = NULL;
	}
}

static void
let_all_go(void)
{
	unsigned int i;

	for (i = 1; i <= walked.n; i++)
		if (walked.held[i] != NULL)
			weir__cell_free(&pools, &cache, walked.held[i]);
}

/* What the last one has left there, whatever lists the cell has been on since. */
static bool
look(struct task *t, void *arg)
{
	uint64_t id = atomic_u64_load(&t->id, RELAXED);
	uint64_t word = atomic_u64_load(&t->state.word, RELAXED);

	walked.nb_looks++;
	if (word == 0)
		return false;
	if (id == 0 || id > walked.n || word != word_of(id) ||
	    task_ops(t) != ops_of(id) ||
	    atomic_u32_load(&t->polls, RELAXED) != id ||
	    atomic_u32_load(&t->woken, RELAXED) != id)
		walked.bad++;
	else
		walked.looks[id]++;
	/* Have the walk stop there? */
	return arg != NULL;
}

static void
walk(void)
{
	struct cell_walk w;

	walked.nb_looks = 0;
	weir__cell_walk_begin(&w, &pools);
	assert_null(weir__cell_walk_next(&w, look, NULL));
	weir__cell_walk_end(&w);
	assert_int_equal(walked.bad, 0);
}

/* Through several chunks, cells in use and those given back. */
static void
walk_comes_once_to_each_cell_that_was_used(void **state)
{
	unsigned int i;

	hold_all(2 * CELLS, 3);
	walk();
	for (i = 1; i <= walked.n; i++)
		assert_int_equal(walked.looks[i],
				 walked.held[i] != NULL || !IS_LARGE(i - 1));
	let_all_go();
}

/* C5 */
static void
cells_that_were_never_used_are_zero(void **state)
{
	memset(&walked, 0, sizeof(walked));
	walk();
	assert_int_equal(walked.nb_looks, 0);
	/* The others of its batch are at hand. */
	hold(0, NULL);
	walk();
	assert_int_equal(walked.looks[1], 1);
	assert_uint_in_range(walked.nb_looks, 1, CELL_BATCH);
	/* What stands in the heap does not count. */
	weir__cell_free(&pools, NULL, hold(5000, NULL));
	walked.held[2] = weir__cell_alloc(&pools, NULL, 5000);
	walk();
	assert_int_equal(walked.looks[2], 0);
	let_all_go();
}

static void
walk_goes_on_while_cells_come_and_go(void **state)
{
	struct cell_walk w;
	unsigned int i, id;
	struct task *t;

	hold_all(CELLS, 1);
	weir__cell_walk_begin(&w, &pools);
	while ((t = weir__cell_walk_next(&w, look, &w)) != NULL) {
		id = (unsigned int)task_id(t);
		/* It goes, or another one, which may come next or have been. */
		if (id % 2 == 0)
			id = id % 4 == 0 ? id + NB_SIZES : id - NB_SIZES;
		if (id % 3 == 0 || id < 1 || id > CELLS * NB_SIZES ||
		    walked.held[id] == NULL)
			continue;
		weir__cell_free(&pools, &cache, walked.held[id]);
		walked.held[id] = NULL;
		if (walked.n < 2 * CELLS * NB_SIZES)
			hold(sizes[(id - 1) % NB_SIZES], NULL);
	}
	weir__cell_walk_end(&w);
	assert_int_equal(walked.bad, 0);
	for (i = 1; i <= walked.n; i++) {
		if (i <= CELLS * NB_SIZES && walked.held[i] != NULL)
			assert_int_equal(walked.looks[i], 1);
		else
			assert_uint_in_range(walked.looks[i], 0, 1);
	}
	let_all_go();
}

/* Those that come are behind it, and it looks at no more than there were. */
static void
walk_comes_to_an_end_while_large_cells_come(void **state)
{
	const unsigned int n = 10;
	unsigned int i, found = 0;
	struct cell_walk w;

	memset(&walked, 0, sizeof(walked));
	for (i = 0; i < n; i++)
		hold(5000, NULL);
	weir__cell_walk_begin(&w, &pools);
	while (weir__cell_walk_next(&w, look, &w) != NULL && found++ < n)
		hold(5000, NULL);
	weir__cell_walk_end(&w);
	assert_int_equal(found, n);
	for (i = 1; i <= walked.n; i++)
		assert_int_equal(walked.looks[i], i <= n);
	let_all_go();
}

/* Each has a place of its own on the list of large ones. */
static void
walks_do_not_meet(void **state)
{
	const unsigned int n = 4;
	struct cell_walk walks[2];
	unsigned int lead, i;

	for (lead = 0; lead <= n; lead++) {
		memset(&walked, 0, sizeof(walked));
		for (i = 0; i < n; i++)
			hold(5000, NULL);
		weir__cell_walk_begin(&walks[0], &pools);
		weir__cell_walk_begin(&walks[1], &pools);
		for (i = 0; i < n + lead; i++) {
			if (i < n)
				assert_ptr_equal(weir__cell_walk_next(&walks[0],
								      look,
								      &walks),
						 walked.held[i + 1]);
			if (i >= lead)
				assert_ptr_equal(weir__cell_walk_next(&walks[1],
								      look,
								      &walks),
						 walked.held[i - lead + 1]);
		}
		/* Not to the end: it leaves its place. */
		weir__cell_walk_end(&walks[0]);
		assert_null(weir__cell_walk_next(&walks[1], look, &walks));
		weir__cell_walk_end(&walks[1]);
		let_all_go();
		assert_true(list_empty(&pools.large));
	}
}

/* Only the large ones may go to the heap meanwhile. */
static bool
look_at_locks(struct task *t, void *arg)
{
	bool *large = arg;
	unsigned int i;

	for (i = 0; i < CELL_CLASSES; i++) {
		assert_true(lock_try(&pools.depot[i].lock));
		lock_release(&pools.depot[i].lock);
	}
	if (t->size_class == CELL_CLASS_MALLOC) {
		assert_false(lock_try(&pools.large_lock));
		*large = true;
	} else {
		assert_true(lock_try(&pools.large_lock));
		lock_release(&pools.large_lock);
	}
	return false;
}

static void
large_cells_are_looked_at_under_their_lock(void **state)
{
	struct cell_walk w;
	bool large = false;

	hold_all(1, 1);
	weir__cell_walk_begin(&w, &pools);
	assert_null(weir__cell_walk_next(&w, look_at_locks, &large));
	weir__cell_walk_end(&w);
	assert_true(large);
	let_all_go();
}

#define THREADS 4
#define HELD 200
#define TURNS 20000

static struct atomic_u32 nb_through;

/* In the word of a cell that somebody has, or has had. */
#define SOMEBODY UINT64_C(0x5eed000000000000)

/* Each writes its number into the cells it has, and finds it there later. */
static void *
take_and_give(void *arg)
{
	unsigned int number = (unsigned int)(uintptr_t)arg, i, turn;
	struct cell_cache own, *c = number % 2 == 0 ? &own : NULL;
	struct task *held[HELD] = { NULL };
	struct rand_state rand;
	uintptr_t bad = 0;

	weir__cell_cache_init(&own, &pools);
	rand_seed(&rand, unit_seed() + number);
	for (turn = 0; turn < TURNS + HELD; turn++) {
		i = turn < TURNS ? rand_below(&rand, HELD) : turn - TURNS;
		if (held[i] != NULL) {
			bad += held[i]->outcome != (int32_t)number;
			weir__cell_free(&pools, c, held[i]);
			held[i] = NULL;
		} else if (turn < TURNS) {
			held[i] = weir__cell_alloc(
				&pools, c, rand_below(&rand, 16) ? 0 : 600);
			held[i]->outcome = (int32_t)number;
			atomic_u64_store(&held[i]->state.word,
					 SOMEBODY | number, RELAXED);
		}
	}
	weir__cell_cache_fini(&own);
	rig_add(&nb_through, 1);
	return (void *)bad;
}

/* Nothing but what they write, or what is there before they do. */
static bool
look_for_strange(struct task *t, void *arg)
{
	uint64_t word = atomic_u64_load(&t->state.word, RELAXED);
	uintptr_t *bad = arg;

	*bad += word != 0 && (word < SOMEBODY || word >= SOMEBODY + THREADS);
	return false;
}

static void *
walk_meanwhile(void *arg)
{
	struct cell_walk w;
	uintptr_t bad = 0;

	do {
		weir__cell_walk_begin(&w, &pools);
		weir__cell_walk_next(&w, look_for_strange, &bad);
		weir__cell_walk_end(&w);
	} while (rig_get(&nb_through) < THREADS);
	return (void *)bad;
}

static void
cell_has_one_user_at_a_time(void **state)
{
	pthread_t threads[THREADS + 1];
	uintptr_t i;
	void *bad;

	rig_set(&nb_through, 0);
	for (i = 0; i <= THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						i < THREADS ? take_and_give :
							      walk_meanwhile,
						(void *)i),
				 0);
	for (i = 0; i <= THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &bad), 0);
		assert_null(bad);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(smallest_class_that_fits_is_taken),
		TEST(pools_grow_and_use_again_what_they_have),
		TEST(ended_cache_leaves_nothing_behind),
		TEST(ended_cache_leaves_no_last_cell_behind),
		TEST(cache_gives_back_what_was_freed_last),
		TEST(burst_takes_in_reverse),
		TEST(one_by_one_it_is_the_same),
		TEST(cache_serves_its_own_pools_only),
		TEST(cache_flows_over_into_the_pool),
		TEST(cache_counts_what_was_taken),
		TEST(cells_go_from_one_cache_to_another),
		TEST(failed_init_leaves_nothing),
		TEST(huge_state_gets_no_cell),
		TEST(size_of_a_cell_does_not_wrap),
		TEST(no_memory_gives_no_cell_and_loses_none),
		TEST(walk_comes_once_to_each_cell_that_was_used),
		TEST(cells_that_were_never_used_are_zero),
		TEST(walk_goes_on_while_cells_come_and_go),
		TEST(walk_comes_to_an_end_while_large_cells_come),
		TEST(walks_do_not_meet),
		TEST(large_cells_are_looked_at_under_their_lock),
		TEST(depot_of_many_has_groups),
		TEST(cell_has_one_user_at_a_time),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
