/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>

#include "base/log.h"
#include "base/rand.h"
#include "machines.h"
#include "topology/topology.h"
#include "topology/weir_machine.h"

/* One row of what weir__topology_order() should say. */
struct expected {
	unsigned int from;
	unsigned int order[4];
	unsigned int tiers;
	unsigned int tier_end[4];
};

static void
check_order(const struct topology *t, const struct expected *e)
{
	unsigned int order[TOPOLOGY_MAX_NODES], tier_end[TOPOLOGY_MAX_NODES], i;

	assert_int_equal(weir__topology_order(t, e->from, order, tier_end),
			 e->tiers);
	for (i = 0; i < t->nb_nodes; i++)
		assert_int_equal(order[i], e->order[i]);
	for (i = 0; i < e->tiers; i++)
		assert_int_equal(tier_end[i], e->tier_end[i]);
}

static void
check_machine(unsigned int nb_nodes, const uint8_t *distances,
	      const struct expected *e, unsigned int n)
{
	struct topology t;
	unsigned int i;

	weir__topology_set(&t, nb_nodes, distances);
	assert_int_equal(t.nb_nodes, nb_nodes);
	for (i = 0; i < n; i++)
		check_order(&t, &e[i]);
}

static void
one_node_is_one_tier(void **state)
{
	const struct expected e[] = { { 0, { 0 }, 1, { 1 } } };

	check_machine(1, (const uint8_t[]){ 10 }, e, RTE_DIM(e));
}

static void
two_nodes_look_at_themselves_first(void **state)
{
	const uint8_t d[] = { 10, 21, 21, 10 };
	const struct expected e[] = {
		{ 0, { 0, 1 }, 2, { 1, 2 } },
		{ 1, { 1, 0 }, 2, { 1, 2 } },
	};

	check_machine(2, d, e, RTE_DIM(e));
}

static void
four_nodes_are_ordered_by_distance(void **state)
{
	/* A square: neighbours at 16, the far corner at 22. */
	const uint8_t d[] = {
		10, 16, 16, 22, /**/
		16, 10, 22, 16, /**/
		16, 22, 10, 16, /**/
		22, 16, 16, 10,
	};
	const struct expected e[] = {
		{ 0, { 0, 1, 2, 3 }, 3, { 1, 3, 4 } },
		{ 1, { 1, 0, 3, 2 }, 3, { 1, 3, 4 } },
		{ 2, { 2, 0, 3, 1 }, 3, { 1, 3, 4 } },
		{ 3, { 3, 1, 2, 0 }, 3, { 1, 3, 4 } },
	};

	check_machine(4, d, e, RTE_DIM(e));
}

static void
asymmetric_distances_are_those_of_the_looker(void **state)
{
	const uint8_t d[] = {
		10, 40, 20, 30, /**/
		20, 10, 20, 20, /**/
		12, 11, 10, 13, /**/
		30, 20, 40, 10,
	};
	const struct expected e[] = {
		{ 0, { 0, 2, 3, 1 }, 4, { 1, 2, 3, 4 } },
		{ 1, { 1, 0, 2, 3 }, 2, { 1, 4 } },
		{ 2, { 2, 1, 0, 3 }, 4, { 1, 2, 3, 4 } },
		{ 3, { 3, 1, 0, 2 }, 4, { 1, 2, 3, 4 } },
	};

	check_machine(4, d, e, RTE_DIM(e));
}

static void
equal_distances_keep_the_own_node_apart(void **state)
{
	const uint8_t d[] = {
		10, 10, 10, /**/
		10, 10, 10, /**/
		10, 10, 10,
	};
	const struct expected e[] = {
		{ 0, { 0, 1, 2 }, 2, { 1, 3 } },
		{ 1, { 1, 0, 2 }, 2, { 1, 3 } },
		{ 2, { 2, 0, 1 }, 2, { 1, 3 } },
	};

	check_machine(3, d, e, RTE_DIM(e));
}

static void
nearer_than_oneself_is_still_second(void **state)
{
	const uint8_t d[] = { 20, 10, 10, 20 };
	const struct expected e[] = {
		{ 0, { 0, 1 }, 2, { 1, 2 } },
		{ 1, { 1, 0 }, 2, { 1, 2 } },
	};

	check_machine(2, d, e, RTE_DIM(e));
}

/* Whatever the distances: a permutation, itself first, rising in tiers. */
static void
check_rules(const struct topology *t, unsigned int from)
{
	unsigned int order[TOPOLOGY_MAX_NODES], ends[TOPOLOGY_MAX_NODES];
	unsigned int i, d, tiers, tier = 0;
	uint64_t seen = 0;
	bool begins;

	tiers = weir__topology_order(t, from, order, ends);
	assert_int_equal(order[0], from);
	assert_int_equal(ends[0], 1);
	assert_int_equal(ends[tiers - 1], t->nb_nodes);
	for (i = 0; i < t->nb_nodes; i++) {
		assert_false(seen & UINT64_C(1) << order[i]);
		seen |= UINT64_C(1) << order[i];
		begins = i == ends[tier];
		tier += begins;
		if (i < 2)
			continue;
		d = t->distance[from][order[i - 1]];
		if (begins)
			assert_true(t->distance[from][order[i]] > d);
		else
			assert_true(t->distance[from][order[i]] == d);
	}
}

static void
any_machine_is_ordered(void **state)
{
	uint8_t d[TOPOLOGY_MAX_NODES * TOPOLOGY_MAX_NODES];
	unsigned int round, i, nodes;
	struct rand_state r;
	struct topology t;

	rand_seed(&r, unit_seed());
	for (round = 0; round < 200; round++) {
		nodes = 1 + rand_below(&r, TOPOLOGY_MAX_NODES);
		for (i = 0; i < nodes * nodes; i++)
			d[i] = (uint8_t)(10 + rand_below(&r, 8));
		weir__topology_set(&t, nodes, d);
		for (i = 0; i < nodes; i++)
			check_rules(&t, i);
	}
}

/* What weir__topology_victims() should say. */
struct expected_victims {
	unsigned int from;
	uint16_t victims[8];
	unsigned int tiers;
	unsigned int tier_end[8];
	unsigned int nb_near;
};

static void
check_victims(unsigned int nb_nodes, const uint8_t *distances,
	      const struct place *places, unsigned int n,
	      const struct expected_victims *e)
{
	unsigned int ends[TOPOLOGY_MAX_TIERS], near, i;
	uint16_t victims[RTE_MAX_LCORE];
	struct topology t;

	weir__topology_set(&t, nb_nodes, distances);
	assert_int_equal(weir__topology_victims(&t, places, n, e->from, victims,
						ends, &near),
			 e->tiers);
	assert_int_equal(near, e->nb_near);
	for (i = 0; i < e->tiers; i++)
		assert_int_equal(ends[i], e->tier_end[i]);
	for (i = 0; i < n - 1; i++)
		assert_int_equal(victims[i], e->victims[i]);
}

static void
core_comes_before_cache_before_node(void **state)
{
	const struct place places[] = {
		{ .core = 4, .cache = 0 }, { .core = 1, .cache = 1 },
		{ .core = 0, .cache = 0 }, { .core = 0, .cache = 0 },
		{ .core = 4, .cache = 0 },
	};
	const struct expected_victims e[] = {
		{ 0, { 4, 2, 3, 1 }, 3, { 1, 3, 4 }, 4 },
		{ 1, { 0, 2, 3, 4 }, 1, { 4 }, 4 },
		{ 3, { 2, 0, 4, 1 }, 3, { 1, 3, 4 }, 4 },
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(e); i++)
		check_victims(1, (const uint8_t[]){ 10 }, places,
			      RTE_DIM(places), &e[i]);
}

static void
nodes_of_victims_are_ordered_by_the_thiefs_distance(void **state)
{
	const uint8_t d[] = {
		10, 20, 30, /**/
		30, 10, 20, /**/
		20, 20, 10,
	};
	const struct place places[] = {
		{ .node = 2, .core = 0, .cache = 0 },
		{ .node = 1, .core = 1, .cache = 1 },
		{ .node = 0, .core = 2, .cache = 2 },
		{ .node = 0, .core = 3, .cache = 2 },
	};
	const struct expected_victims e[] = {
		{ 0, { 1, 2, 3 }, 1, { 3 }, 0 },
		{ 1, { 0, 2, 3 }, 2, { 1, 3 }, 0 },
		{ 2, { 3, 1, 0 }, 3, { 1, 2, 3 }, 1 },
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(e); i++)
		check_victims(3, d, places, RTE_DIM(places), &e[i]);
}

static void
what_is_not_known_is_not_shared(void **state)
{
	const struct place places[] = {
		{ .core = WEIR_MACHINE_UNKNOWN, .cache = WEIR_MACHINE_UNKNOWN },
		{ .core = WEIR_MACHINE_UNKNOWN, .cache = WEIR_MACHINE_UNKNOWN },
		{ .core = WEIR_MACHINE_UNKNOWN, .cache = 0 },
		{ .core = 0, .cache = 0 },
	};
	const struct expected_victims e[] = {
		{ 0, { 1, 2, 3 }, 1, { 3 }, 3 },
		{ 2, { 3, 0, 1 }, 2, { 1, 3 }, 3 },
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(e); i++)
		check_victims(1, (const uint8_t[]){ 10 }, places,
			      RTE_DIM(places), &e[i]);
}

static void
cache_of_several_nodes_does_not_join_them(void **state)
{
	const uint8_t d[] = { 10, 12, 12, 10 };
	const struct place places[] = {
		{ .node = 0, .core = 0, .cache = 0 },
		{ .node = 1, .core = 0, .cache = 0 },
		{ .node = 0, .core = 1, .cache = 1 },
	};
	const struct expected_victims e = { 0, { 2, 1 }, 2, { 1, 2 }, 1 };

	check_victims(2, d, places, RTE_DIM(places), &e);
}

static void
worker_alone_has_no_victims(void **state)
{
	const struct place place = { .core = 0, .cache = 0 };
	const struct expected_victims e = { 0 };

	check_victims(1, (const uint8_t[]){ 10 }, &place, 1, &e);
}

static void
node_index_finds_ids_with_holes(void **state)
{
	struct topology t = { .nb_nodes = 3, .id = { 0, 2, 7 } };

	assert_int_equal(weir__topology_node_index(&t, 0), 0);
	assert_int_equal(weir__topology_node_index(&t, 2), 1);
	assert_int_equal(weir__topology_node_index(&t, 7), 2);
	assert_int_equal(weir__topology_node_index(&t, 1), -ENOENT);
	assert_int_equal(weir__topology_node_index(&t, 3), -ENOENT);
}

static void
real_machine_has_every_lcore_on_a_node(void **state)
{
	struct place places[RTE_MAX_LCORE];
	unsigned int n = 0, lcore, i;
	struct topology t;

	RTE_LCORE_FOREACH(lcore)
		places[n++].lcore = lcore;
	weir__topology_locate(places, n);
	assert_int_equal(weir__topology_read(&t, places, n), 0);
	assert_uint_in_range(t.nb_nodes, 1, n);
	for (i = 0; i < n; i++)
		assert_uint_in_range(
			weir__topology_node_index(&t, places[i].node), 0,
			t.nb_nodes - 1);
	for (i = 0; i < t.nb_nodes; i++) {
		assert_int_not_equal(t.distance[i][i], 0);
		check_rules(&t, i);
	}
}

/*
 * A machine, and where --lcores might have put lcores there. EAL would say node
 * 7 of all of them.
 */
#define EALS_NODE 7u
static struct weir_machine_cpu cpus[] = {
	{ .id = 0, .node = 0, .core = 0, .cache = 0 },
	{ .id = 1, .node = 0, .core = 0, .cache = 0 },
	{ .id = 2, .node = 0, .core = 2, .cache = 0 },
	{ .id = 3, .node = 1, .core = 3, .cache = 3 },
	{ .id = 4, .node = -1, .core = -1, .cache = -1 },
	{ .id = 5, .node = 1, .core = 5, .cache = 3 },
	{ .id = 3000, .node = 1, .core = 9, .cache = 9 },
};
static struct weir_machine machine = {
	.nb_cpus = RTE_DIM(cpus),
	.cpus = cpus,
};
static const unsigned int lcore_cpus[][2] = {
	{ 3, 3 }, { 0, 1 },	{ 0, 2 }, { 2, 3 },
	{ 4, 4 }, { 900, 900 }, { 4, 5 },
};
#define LCORES RTE_DIM(lcore_cpus)

/* What this program stands in front of has answers of its own. */
static bool pretend;
static bool unreadable;
static unsigned int reads, frees;

rte_cpuset_t
__real_rte_lcore_cpuset(unsigned int lcore);
rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore);

rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore)
{
	rte_cpuset_t set;

	if (!pretend)
		return __real_rte_lcore_cpuset(lcore);
	CPU_ZERO(&set);
	CPU_SET(lcore_cpus[lcore][0], &set);
	CPU_SET(lcore_cpus[lcore][1], &set);
	return set;
}

unsigned int
__real_rte_lcore_to_socket_id(unsigned int lcore);
unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore);

unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore)
{
	return pretend ? EALS_NODE : __real_rte_lcore_to_socket_id(lcore);
}

struct weir_machine *
__real_weir_machine_read(void);
struct weir_machine *
__wrap_weir_machine_read(void);

struct weir_machine *
__wrap_weir_machine_read(void)
{
	if (!pretend)
		return __real_weir_machine_read();
	reads++;
	rte_errno = EMFILE;
	return unreadable ? NULL : &machine;
}

void
__real_weir_machine_free(struct weir_machine *m);
void
__wrap_weir_machine_free(struct weir_machine *m);

void
__wrap_weir_machine_free(struct weir_machine *m)
{
	if (!pretend)
		__real_weir_machine_free(m);
	else if (m != NULL)
		frees++;
}

int
__real_numa_available(void);
int
__wrap_numa_available(void);

int
__wrap_numa_available(void)
{
	return pretend ? 0 : __real_numa_available();
}

int
__real_numa_distance(int from, int to);
int
__wrap_numa_distance(int from, int to);

/* From node 0; from others there is no table. */
static const int distances[] = { 10, 254, 255, 256 };

int
__wrap_numa_distance(int from, int to)
{
	if (!pretend)
		return __real_numa_distance(from, to);
	return from == 0 ? distances[to] : 0;
}

static void
locate_all(struct place *places)
{
	unsigned int i;

	for (i = 0; i < LCORES; i++)
		places[i].lcore = i;
	pretend = true;
	reads = 0;
	frees = 0;
	weir__topology_locate(places, LCORES);
	pretend = false;
}

static void
lcore_is_where_all_its_cpus_are(void **state)
{
	const int no = WEIR_MACHINE_UNKNOWN;
	const struct place expected[LCORES] = {
		/* Not where EAL thinks. */
		{ .node = 1, .core = 3, .cache = 3 },
		/* Two CPUs of a core, of a cache, of two nodes. */
		{ .node = 0, .core = 0, .cache = 0 },
		{ .node = 0, .core = no, .cache = 0 },
		{ .node = 0, .core = no, .cache = no },
		/* CPUs of which nothing is known. */
		{ .node = EALS_NODE, .core = no, .cache = no },
		{ .node = EALS_NODE, .core = no, .cache = no },
		{ .node = 1, .core = no, .cache = no },
	};
	struct place places[LCORES];
	unsigned int i;

	locate_all(places);
	for (i = 0; i < LCORES; i++) {
		assert_int_equal(places[i].node, expected[i].node);
		assert_int_equal(places[i].core, expected[i].core);
		assert_int_equal(places[i].cache, expected[i].cache);
	}
	assert_int_equal(reads, 1);
	assert_int_equal(frees, 1);
}

static void
machine_that_cannot_be_read_leaves_eals_word(void **state)
{
	const uint32_t level = (uint32_t)rte_log_get_level(weir__logtype);
	char text[256] = "";
	FILE *stream = fmemopen(text, sizeof(text), "w");
	struct place places[LCORES];
	unsigned int i;

	assert_non_null(stream);
	rte_openlog_stream(stream);
	rte_log_set_level((uint32_t)weir__logtype, RTE_LOG_WARNING);
	unreadable = true;
	locate_all(places);
	unreadable = false;
	rte_log_set_level((uint32_t)weir__logtype, level);
	rte_openlog_stream(NULL);
	fclose(stream);
	assert_non_null(strstr(text, strerror(EMFILE)));
	for (i = 0; i < LCORES; i++) {
		assert_int_equal(places[i].node, EALS_NODE);
		assert_int_equal(places[i].core, WEIR_MACHINE_UNKNOWN);
		assert_int_equal(places[i].cache, WEIR_MACHINE_UNKNOWN);
	}
	assert_int_equal(reads, 1);
}

static void
thread_without_an_lcore_is_on_a_node_only(void **state)
{
	struct place place = { .lcore = LCORE_ID_ANY, .node = 99 };

	pretend = true;
	reads = 0;
	weir__topology_locate(&place, 1);
	pretend = false;
	assert_int_equal(place.node, rte_socket_id_by_idx(0));
	assert_int_equal(place.core, WEIR_MACHINE_UNKNOWN);
	assert_int_equal(place.cache, WEIR_MACHINE_UNKNOWN);
	assert_int_equal(reads, 0);
}

static void
reading_takes_each_node_once(void **state)
{
	const struct place places[] = {
		{ .node = 5 },
		{ .node = 2 },
		{ .node = 5 },
	};
	struct topology t;

	assert_int_equal(weir__topology_read(&t, places, RTE_DIM(places)), 0);
	assert_int_equal(t.nb_nodes, 2);
	assert_int_equal(t.id[0], 5);
	assert_int_equal(t.id[1], 2);
}

static void
distances_are_those_of_the_table_as_far_as_it_goes(void **state)
{
	const uint8_t expected[RTE_DIM(distances)] = {
		10, 254, 255, TOPOLOGY_REMOTE_DISTANCE
	};
	struct place places[RTE_DIM(distances)];
	struct topology t;
	unsigned int i;

	for (i = 0; i < RTE_DIM(places); i++)
		places[i].node = i;
	pretend = true;
	assert_int_equal(weir__topology_read(&t, places, RTE_DIM(places)), 0);
	pretend = false;
	for (i = 0; i < RTE_DIM(expected); i++)
		assert_int_equal(t.distance[0][i], expected[i]);
	assert_int_equal(t.distance[1][1], TOPOLOGY_LOCAL_DISTANCE);
	assert_int_equal(t.distance[1][2], TOPOLOGY_REMOTE_DISTANCE);
}

/* The number of a 65th would be written behind those that there is room for. */
static void
sixty_four_nodes_are_read_and_no_more(void **state)
{
	struct place places[TOPOLOGY_MAX_NODES + 2];
	struct {
		struct topology t;
		uint8_t behind[4 * TOPOLOGY_MAX_NODES];
	} room = { .behind = { 0 } };
	unsigned int i;

	for (i = 0; i < RTE_DIM(places); i++)
		places[i].node = 2 * i + 1;
	assert_int_equal(weir__topology_read(&room.t, places, 64), 0);
	assert_int_equal(room.t.nb_nodes, 64);
	for (i = 0; i < 64; i++) {
		assert_int_equal(room.t.id[i], 2 * i + 1);
		assert_int_equal(weir__topology_node_index(&room.t, 2 * i + 1),
				 i);
		check_rules(&room.t, i);
	}
	assert_int_equal(weir__topology_read(&room.t, places, 65), -E2BIG);
	/* Only another node is one too many. */
	places[64].node = places[63].node;
	assert_int_equal(weir__topology_read(&room.t, places, 65), 0);
	assert_int_equal(weir__topology_read(&room.t, places, 66), -E2BIG);
	for (i = 0; i < sizeof(room.behind); i++)
		assert_int_equal(room.behind[i], 0);
}

/* "": this machine has no sysfs. */
static char allowed_before[256];

static void
read_allowed(char text[256])
{
	struct weir_machine *m = weir_machine_read();

	if (m == NULL && rte_errno == ENOENT)
		return;
	assert_non_null(m);
	snprintf(text, 256, "%s", machine_allowed(m));
	weir_machine_free(m);
}

/* EAL has tied its threads to CPUs, and the process may still use them all. */
static void
cpus_allowed_are_the_same_with_eal(void **state)
{
	char allowed[256] = "";

	if (allowed_before[0] == '\0')
		unit_skip("this machine has no sysfs");
	read_allowed(allowed);
	assert_string_equal(allowed, allowed_before);
}

static int
setup(void **state)
{
	read_allowed(allowed_before);
	return unit_eal_setup(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_node_is_one_tier),
		cmocka_unit_test(two_nodes_look_at_themselves_first),
		cmocka_unit_test(four_nodes_are_ordered_by_distance),
		cmocka_unit_test(asymmetric_distances_are_those_of_the_looker),
		cmocka_unit_test(equal_distances_keep_the_own_node_apart),
		cmocka_unit_test(nearer_than_oneself_is_still_second),
		cmocka_unit_test(any_machine_is_ordered),
		cmocka_unit_test(core_comes_before_cache_before_node),
		cmocka_unit_test(
			nodes_of_victims_are_ordered_by_the_thiefs_distance),
		cmocka_unit_test(what_is_not_known_is_not_shared),
		cmocka_unit_test(cache_of_several_nodes_does_not_join_them),
		cmocka_unit_test(worker_alone_has_no_victims),
		cmocka_unit_test(node_index_finds_ids_with_holes),
		cmocka_unit_test(real_machine_has_every_lcore_on_a_node),
		cmocka_unit_test(cpus_allowed_are_the_same_with_eal),
		cmocka_unit_test(reading_takes_each_node_once),
		cmocka_unit_test(sixty_four_nodes_are_read_and_no_more),
		cmocka_unit_test(
			distances_are_those_of_the_table_as_far_as_it_goes),
		cmocka_unit_test(lcore_is_where_all_its_cpus_are),
		cmocka_unit_test(machine_that_cannot_be_read_leaves_eals_word),
		cmocka_unit_test(thread_without_an_lcore_is_on_a_node_only),
	};

	return cmocka_run_group_tests(tests, setup, unit_eal_teardown);
}
