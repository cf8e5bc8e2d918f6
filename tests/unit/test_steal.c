/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Whom a worker asks for work, and in which order. This program stands in front
 * of the search and of the look at a victim's queue, and notes who was asked; and
 * it says where workers are.
 */

#include "unit.h"

#include <string.h>

#include <numa.h>

#include <rte_malloc.h>

#include "rig.h"
#include "sched/scheduler.h"
#include "topology/weir_machine.h"

#define WORKERS 7u
#define SEARCHES 24u

struct asked {
	unsigned int n[SEARCHES]; /* victims that this search asked */
	unsigned int victim[SEARCHES][WORKERS];
	struct atomic_u32 searches;
};

static struct asked asked[WORKERS];
static struct weir_runtime *rt;
static unsigned int nb_workers;
/* Where they are; NULL: as the machine has them. */
static const struct place *places;
/* The search that this thread is in, or NULL. */
static __thread struct asked *in_search;

unsigned int
__real_weir__run_queue_len_any(const struct run_queue *q);
unsigned int
__wrap_weir__run_queue_len_any(const struct run_queue *q);

unsigned int
__wrap_weir__run_queue_len_any(const struct run_queue *q)
{
	const struct worker *victim = container_of(q, struct worker, queue);
	struct asked *a = in_search;
	uint32_t i;

	if (a != NULL) {
		i = rig_get(&a->searches);
		a->victim[i][a->n[i]++] = victim->index;
	}
	return __real_weir__run_queue_len_any(q);
}

struct task *
__real_weir__search(struct core *c);
struct task *
__wrap_weir__search(struct core *c);

struct task *
__wrap_weir__search(struct core *c)
{
	struct asked *a = &asked[worker_of(c)->index];
	struct task *t;

	if (rig_get(&a->searches) < SEARCHES)
		in_search = a;
	t = __real_weir__search(c);
	in_search = NULL;
	/* It is no search if the worker may not, or need not ask others. */
	if (rig_get(&a->searches) < SEARCHES && a->n[rig_get(&a->searches)] > 0)
		rig_add(&a->searches, 1);
	return t;
}

void
__real_weir__topology_locate(struct place *p, unsigned int n);
void
__wrap_weir__topology_locate(struct place *p, unsigned int n);

void
__wrap_weir__topology_locate(struct place *p, unsigned int n)
{
	unsigned int i;

	if (places == NULL) {
		__real_weir__topology_locate(p, n);
		return;
	}
	for (i = 0; i < n; i++) {
		p[i].node = places[i].node;
		p[i].core = places[i].core;
		p[i].cache = places[i].cache;
	}
}

/* Calls of whoever made a task runnable, and those that are not as they should. */
static struct atomic_u32 notifies, wrong_notifies;

bool
__real_weir__idle_notify(struct idle *idle, const uint64_t *preferred,
			 unsigned int *bit);
bool
__wrap_weir__idle_notify(struct idle *idle, const uint64_t *preferred,
			 unsigned int *bit);

bool
__wrap_weir__idle_notify(struct idle *idle, const uint64_t *preferred,
			 unsigned int *bit)
{
	const struct worker *w =
		weir__core != NULL ? worker_of(weir__core) : NULL;
	bool at_home = w != NULL && idle == &w->node->idle;

	rig_add(&notifies, 1);
	if (preferred != (at_home ? w->beside : NULL))
		rig_add(&wrong_notifies, 1);
	return __real_weir__idle_notify(idle, preferred, bit);
}

/* EAL has no heap for a node that is not there; without hugepages any will do. */
int
rte_malloc_heap_socket_is_external(int socket)
{
	return 0;
}

int
numa_available(void)
{
	return 0;
}

/* It is farther from 0 to 2 than back, and so on. */
int
numa_distance(int from, int to)
{
	static const int distances[3][3] = {
		{ 10, 20, 30 },
		{ 30, 10, 20 },
		{ 20, 15, 10 },
	};

	return distances[from][to];
}

static bool
all_have_searched(void)
{
	unsigned int i;

	for (i = 0; i < nb_workers; i++)
		if (rig_get(&asked[i].searches) < SEARCHES)
			return false;
	return true;
}

/* A worker that has run what it had looks for more. */
static void
run_one_each(void)
{
	struct rig_log log = { 0 };
	const struct rig_state s = { .log = &log };
	struct weir_join *joins[WORKERS];
	unsigned int i;

	for (i = 0; i < nb_workers; i++)
		joins[i] = rig_spawn_on(rt, i, &rig_done_ops, &s);
	for (i = 0; i < nb_workers; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
}

/* A test that has failed leaves its runtime. */
static int
teardown(void **state)
{
	places = NULL;
	weir_runtime_free(rt);
	rt = NULL;
	return 0;
}

/* Lets all of n workers search so often. */
static void
search_with(unsigned int n, uint64_t seed)
{
	struct weir_options o;

	memset(asked, 0, sizeof(asked));
	nb_workers = n;
	rig_options(&o, n);
	o.seed = seed;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	rig_wait_until((run_one_each(), all_have_searched()));
	rig_runtime_end(&rt);
}

/* Victims of a search, in order, begin anywhere and go round. */
static void
every_search_asks_each_other_worker_once(void **state)
{
	unsigned int w, i, others[2];

	search_with(3, unit_seed());
	for (w = 0; w < nb_workers; w++) {
		others[0] = w == 0 ? 1 : 0;
		others[1] = w == 2 ? 1 : 2;
		for (i = 0; i < SEARCHES; i++) {
			unsigned int *v = asked[w].victim[i];

			assert_true(v[0] == others[0] || v[0] == others[1]);
			/* It stops where it finds something. */
			if (asked[w].n[i] == 1)
				continue;
			assert_int_equal(asked[w].n[i], 2);
			assert_int_equal(v[0] + v[1], others[0] + others[1]);
		}
	}
}

static bool
first_victims_agree(const struct asked *a, const struct asked *b)
{
	unsigned int i;

	for (i = 0; i < SEARCHES; i++)
		if (a->victim[i][0] != b->victim[i][0])
			return false;
	return true;
}

static void
seed_repeats_whom_each_worker_asks_first(void **state)
{
	static struct asked before[WORKERS];
	uint64_t seed = unit_seed();
	unsigned int w;

	search_with(3, seed);
	memcpy(before, asked, sizeof(asked));
	search_with(3, seed);
	for (w = 0; w < nb_workers; w++)
		assert_true(first_victims_agree(&before[w], &asked[w]));
	search_with(3, seed + 3);
	for (w = 0; w < nb_workers; w++)
		assert_false(first_victims_agree(&before[w], &asked[w]));
	/* Workers with the same seed would both begin at their first victim. */
	for (w = 0; w < SEARCHES; w++)
		if ((before[0].victim[w][0] == 1) !=
		    (before[2].victim[w][0] == 0))
			return;
	fail_msg("workers 0 and 2 make the same choices");
}

/* On a core, with a cache, on a node, then other nodes: how far to each. */
static const unsigned int ranks[WORKERS][WORKERS] = {
	{ 9, 0, 1, 2, 3, 4, 4 }, /**/
	{ 0, 9, 1, 2, 3, 4, 4 }, /**/
	{ 1, 1, 9, 2, 3, 4, 4 }, /**/
	{ 2, 2, 2, 9, 3, 4, 4 }, /**/
	{ 4, 4, 4, 4, 9, 3, 3 }, /**/
	{ 4, 4, 4, 4, 3, 9, 2 }, /**/
	{ 4, 4, 4, 4, 3, 2, 9 },
};

/* Each that is nearer than a victim was asked before it. */
static void
check_order(unsigned int thief, const unsigned int *victims, unsigned int n)
{
	unsigned int i, v, nearer, seen = 0;

	for (i = 0; i < n; i++) {
		assert_int_not_equal(victims[i], thief);
		assert_false(seen & 1u << victims[i]);
		nearer = 0;
		for (v = 0; v < WORKERS; v++)
			if (ranks[thief][v] < ranks[thief][victims[i]])
				nearer |= 1u << v;
		assert_int_equal(nearer & ~seen, 0);
		seen |= 1u << victims[i];
	}
}

/* The same as a machine. */
static const struct place machine[WORKERS] = {
	{ .node = 0, .core = 0, .cache = 0 },
	{ .node = 0, .core = 0, .cache = 0 },
	{ .node = 0, .core = 1, .cache = 0 },
	{ .node = 0, .core = 2, .cache = 1 },
	{ .node = 1, .core = 3, .cache = 2 },
	{ .node = 2, .core = -1, .cache = -1 },
	{ .node = 2, .core = -1, .cache = -1 },
};

static void
nearer_workers_are_asked_first(void **state)
{
	unsigned int w, i;

	places = machine;
	search_with(WORKERS, unit_seed());
	places = NULL;
	for (w = 0; w < WORKERS; w++)
		for (i = 0; i < SEARCHES; i++)
			check_order(w, asked[w].victim[i], asked[w].n[i]);
}

/* Workers that share a core or cache; only those of a node have idle bits. */
static uint64_t
expected_beside(unsigned int worker)
{
	uint64_t bits = 0;
	unsigned int v;

	for (v = 0; v < WORKERS; v++)
		if (ranks[worker][v] < 2)
			bits |= UINT64_C(1) << rt->workers[v]->idle_bit;
	return bits;
}

static int
spawn_one(struct weir_context *ctx, void *state)
{
	weir_join_detach(rig_spawn(rt, &rig_done_ops, state));
	return WEIR_DONE;
}

/* Has each worker make a task runnable that others may take. */
static void
spawn_one_on_each(void)
{
	static const struct weir_task_ops ops = {
		.name = "spawner",
		.state_size = sizeof(struct rig_state),
		.poll = spawn_one,
	};
	/* Tasks that nobody awaits end after us. */
	static struct rig_log log;
	const struct rig_state s = { .log = &log };
	uint32_t before = rig_get(&log.polls);
	unsigned int i;

	for (i = 0; i < nb_workers; i++)
		assert_int_equal(rig_join(rig_spawn_on(rt, i, &ops, &s), NULL),
				 0);
	rig_wait_until(rig_get(&log.polls) == before + nb_workers);
}

static void
sleeper_with_the_same_cache_is_woken_first(void **state)
{
	struct weir_options o;
	unsigned int w, i;

	places = machine;
	rig_options(&o, WORKERS);
	o.lifo_slot = false;
	nb_workers = WORKERS;
	memset(asked, 0, sizeof(asked));
	rig_set(&notifies, 0);
	rig_set(&wrong_notifies, 0);
	rt = weir_runtime_create(&o);
	places = NULL;
	assert_non_null(rt);
	for (w = 0; w < WORKERS; w++) {
		assert_int_equal(rt->workers[w]->beside[0], expected_beside(w));
		for (i = 1; i < IDLE_WORDS; i++)
			assert_int_equal(rt->workers[w]->beside[i], 0);
	}
	rig_wait_until((spawn_one_on_each(), rig_get(&notifies) > SEARCHES));
	rig_runtime_end(&rt);
	assert_int_equal(rig_get(&wrong_notifies), 0);
}

static int
setup(void **state)
{
	unit_eal_init_workers(WORKERS);
	return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_search_asks_each_other_worker_once),
		TEST(nearer_workers_are_asked_first),
		TEST(sleeper_with_the_same_cache_is_woken_first),
		TEST(seed_repeats_whom_each_worker_asks_first),
	};

	return cmocka_run_group_tests(tests, setup, unit_eal_teardown);
}
