/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>

#include <rte_lcore.h>

#include "base/rand.h"
#include "topology/topology.h"

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
	unsigned int ids[RTE_MAX_LCORE], n = 0, lcore, i;
	struct topology t;

	RTE_LCORE_FOREACH(lcore)
		ids[n++] = rte_lcore_to_socket_id(lcore);
	assert_int_equal(weir__topology_read(&t, ids, n), 0);
	assert_in_range(t.nb_nodes, 1, n);
	for (i = 0; i < n; i++)
		assert_in_range(weir__topology_node_index(&t, ids[i]), 0,
				t.nb_nodes - 1);
	for (i = 0; i < t.nb_nodes; i++) {
		assert_int_not_equal(t.distance[i][i], 0);
		check_rules(&t, i);
	}
}

static void
reading_takes_each_node_once(void **state)
{
	unsigned int id = rte_lcore_to_socket_id(rte_get_main_lcore());
	const unsigned int ids[] = { id, id, id };
	struct topology t;

	assert_int_equal(weir__topology_read(&t, ids, RTE_DIM(ids)), 0);
	assert_int_equal(t.nb_nodes, 1);
	assert_int_equal(t.id[0], id);
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
		cmocka_unit_test(node_index_finds_ids_with_holes),
		cmocka_unit_test(real_machine_has_every_lcore_on_a_node),
		cmocka_unit_test(reading_takes_each_node_once),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
