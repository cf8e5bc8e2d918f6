/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where memory is: what belongs to a node or worker, and what tasks have, is on
 * their node. The kernel is asked.
 */

#include "nodes.h"

#include <alloca.h>
#include <string.h>

#include <rte_ring.h>

#include "metrics/histogram.h"
#include "sched/scheduler.h"
#include "weir_ring.h"

#define TASKS 300u
#define FIBERS 20u
#define DEEP (200u << 10)

static struct weir_runtime *rt;

static int
create(void **state)
{
	struct weir_options o;

	nodes_options(&o);
	o.histograms = true;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	return 0;
}

static int
destroy(void **state)
{
	rig_runtime_free(rt);
	return 0;
}

static void
expect_ring(const char *what, const struct rte_ring *r, unsigned int node)
{
	nodes_expect(what, r, (size_t)rte_ring_get_memsize(r->size), node);
}

static void
workers_are_on_their_node(void **state)
{
	unsigned int i, j, n = weir_runtime_nb_workers(rt), node;
	struct weir_worker_stats stats;

	nodes_need_kernel();
	nodes_need_placement();
	assert_int_equal(n, nodes_nb_workers());
	for (i = 0; i < n; i++) {
		const struct worker *w = rt->workers[i];

		node = nodes_of_worker(i);
		assert_int_equal(weir_worker_stats_get(rt, i, &stats), 0);
		assert_int_equal(stats.node, node);
		nodes_expect("run queue", &w->queue, sizeof(w->queue), node);
		nodes_expect("timers", &w->timers, sizeof(w->timers), node);
		nodes_expect("worker", w, sizeof(*w), node);
		nodes_expect("victims", w->victims, n * sizeof(*w->victims),
			     node);
		nodes_expect("tiers", w->tier_end,
			     w->nb_tiers * sizeof(*w->tier_end), node);
		nodes_expect("steals", w->steals_from,
			     n * sizeof(*w->steals_from), node);
		for (j = 0; j < RTE_DIM(w->timing.histograms); j++) {
			const struct histogram *h = w->timing.histograms[j];

			nodes_expect("histogram", h,
				     sizeof(*h) + h->nb_buckets *
							  sizeof(h->buckets[0]),
				     node);
		}
	}
}

static void
nodes_are_on_themselves(void **state)
{
	unsigned int i;

	nodes_need_kernel();
	nodes_need_placement();
	assert_int_equal(rt->nb_nodes, nodes_count());
	for (i = 0; i < rt->nb_nodes; i++) {
		const struct node *n = rt->nodes[i];

		nodes_expect("live tasks", &n->home.owned,
			     sizeof(n->home.owned), n->id);
		nodes_expect("node", n, sizeof(*n), n->id);
		expect_ring("inject queue", n->inject.ring, n->id);
		nodes_expect("workers", n->workers,
			     n->nb_places * sizeof(*n->workers), n->id);
		nodes_expect("nodes by distance", n->near,
			     rt->nb_nodes * sizeof(*n->near), n->id);
	}
}

/* What a task sees; the largest state of cells of several sizes. */
struct look {
	unsigned int node;
	struct atomic_u32 *wrong; /* pages on another node */
	struct atomic_u32 *go;
	uint8_t bytes[4096];
};

static int
look_at_state(struct weir_context *ctx, void *state)
{
	struct look *l = state;

	if (nodes_of_page(l) != (int)l->node)
		rig_add(l->wrong, 1);
	/* All live at once, so that there are more than caches hold. */
	return rig_get(l->go) ? WEIR_DONE : weir_context_yield(ctx);
}

#define LOOK(size)                                                          \
	{                                                                   \
		.name = "look", .state_size = (size), .poll = look_at_state \
	}
static const struct weir_task_ops look_ops[] = {
	LOOK(offsetof(struct look, bytes)),
	LOOK(150),
	LOOK(400),
	LOOK(sizeof(struct look)),
};

/* Each a task for each node, whatever thread or worker this is. */
static void
spawn_looks(struct atomic_u32 *wrong, struct atomic_u32 *go,
	    struct weir_join **joins, unsigned int n)
{
	struct look l = { .wrong = wrong, .go = go };
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_NODE };
	unsigned int i;

	for (i = 0; i < n; i++) {
		l.node = nodes_id(i % nodes_count());
		attr.node_plus_1 = 1 + l.node;
		joins[i] = weir_task_spawn(
			rt, &look_ops[i / nodes_count() % RTE_DIM(look_ops)],
			&l, &attr);
	}
}

static void
join_all(struct weir_join **joins, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		assert_non_null(joins[i]);
		assert_int_equal(rig_join(joins[i], NULL), 0);
	}
}

static void
tasks_are_on_the_node_they_are_spawned_for(void **state)
{
	unsigned int n = TASKS * nodes_count();
	struct weir_join *joins[n];
	struct atomic_u32 wrong = { 0 }, go = { 0 };

	nodes_need_kernel();
	nodes_need_placement();
	spawn_looks(&wrong, &go, joins, n);
	rig_set(&go, 1);
	join_all(joins, n);
	assert_int_equal(rig_get(&wrong), 0);
}

/* Spawns such tasks on a worker, and leaves their handles. */
struct spawner {
	struct atomic_u32 *wrong;
	struct atomic_u32 *go;
	struct weir_join **joins;
};

static int
spawn_from_worker(struct weir_context *ctx, void *state)
{
	const struct spawner *s = state;

	spawn_looks(s->wrong, s->go, s->joins, TASKS);
	return WEIR_DONE;
}

static void
so_are_those_that_a_task_of_another_node_spawns(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "spawner",
		.state_size = sizeof(struct spawner),
		.poll = spawn_from_worker,
	};
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER };
	struct atomic_u32 wrong = { 0 }, go = { 0 };
	struct weir_join *joins[TASKS];
	struct spawner s = { &wrong, &go, joins };

	nodes_need_kernel();
	nodes_need_placement();
	for (; attr.worker < nodes_nb_workers(); attr.worker++) {
		rig_set(&go, 0);
		assert_int_equal(
			rig_join(weir_task_spawn(rt, &ops, &s, &attr), NULL),
			0);
		rig_set(&go, 1);
		join_all(joins, TASKS);
	}
	assert_int_equal(rig_get(&wrong), 0);
}

struct stack_look {
	struct weir_fiber fiber;
	unsigned int node;
	bool stray; /* it has been on a worker of another node, too */
};

/* Uses a good part of the stack, and returns its lower end. */
static __attribute__((noinline)) int
look_at_stack(unsigned int node)
{
	uint8_t *deep = alloca(DEEP);
	unsigned int i;

	memset(deep, 1, DEEP);
	for (i = 0; i < DEEP; i += 4096)
		if (nodes_of_page(deep + i) != (int)node)
			return -EXDEV;
	return 0;
}

static int
run_fiber(struct weir_fiber *f, void *state)
{
	const struct stack_look *l = state;
	int rc;

	rc = look_at_stack(l->node);
	if (rc == 0)
		rc = weir_fiber_sleep(f, 1000000);
	return rc == 0 ? look_at_stack(l->node) : rc;
}

static const struct weir_task_ops fiber_ops = {
	.name = "look at stack",
	.state_size = sizeof(struct stack_look),
	.poll = weir_fiber_poll,
	.drop = weir_fiber_drop,
};

static void
stacks_of_fibers_are_on_their_home(void **state)
{
	struct stack_look l = {
		.fiber = { .run = run_fiber, .stack_size = 2 * DEEP },
	};
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_ANY };
	unsigned int i, n = FIBERS * nodes_count();
	struct weir_join *joins[n];

	nodes_need_kernel();
	for (i = 0; i < n; i++) {
		l.node = nodes_id(i % nodes_count());
		attr.node_plus_1 = 1 + l.node;
		joins[i] = weir_task_spawn(rt, &fiber_ops, &l, &attr);
	}
	join_all(joins, n);
}

static void
sources_are_on_the_node_of_their_worker(void **state)
{
	struct rte_ring *ring;
	struct weir_ring_rx *rx;
	unsigned int i;

	nodes_need_kernel();
	nodes_need_placement();
	ring = rte_ring_create("placement", 64, SOCKET_ID_ANY, 0);
	assert_non_null(ring);
	for (i = 0; i < nodes_nb_workers(); i++) {
		rx = weir_ring_rx_create(rt, ring, i, 0);
		assert_non_null(rx);
		nodes_expect("source", rx, 1, nodes_of_worker(i));
		nodes_expect("sources of a worker",
			     weir__source_set_array(&rt->workers[i]->sources),
			     1, nodes_of_worker(i));
		weir_ring_rx_free(rx);
	}
	rte_ring_free(ring);
}

struct maker {
	struct weir_sender *sender;
	struct weir_receiver *receiver;
};

static int
make_channel(struct weir_context *ctx, void *state)
{
	struct maker **m = state;

	return weir_channel_create(64, sizeof(uint64_t), NULL, &(*m)->sender,
				   &(*m)->receiver);
}

static void
channels_are_on_the_node_of_the_task_that_makes_them(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "maker",
		.state_size = sizeof(struct maker *),
		.poll = make_channel,
	};
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER };
	struct maker m, *where = &m;

	nodes_need_kernel();
	nodes_need_placement();
	for (; attr.worker < nodes_nb_workers(); attr.worker++) {
		assert_int_equal(
			rig_join(weir_task_spawn(rt, &ops, &where, &attr),
				 NULL),
			0);
		nodes_expect("sender", m.sender, 1,
			     nodes_of_worker(attr.worker));
		nodes_expect("receiver", m.receiver, 1,
			     nodes_of_worker(attr.worker));
		weir_sender_drop(m.sender);
		weir_receiver_drop(m.receiver);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(workers_are_on_their_node,
						create, destroy),
		cmocka_unit_test_setup_teardown(nodes_are_on_themselves, create,
						destroy),
		cmocka_unit_test_setup_teardown(
			tasks_are_on_the_node_they_are_spawned_for, create,
			destroy),
		cmocka_unit_test_setup_teardown(
			so_are_those_that_a_task_of_another_node_spawns, create,
			destroy),
		cmocka_unit_test_setup_teardown(
			stacks_of_fibers_are_on_their_home, create, destroy),
		cmocka_unit_test_setup_teardown(
			sources_are_on_the_node_of_their_worker, create,
			destroy),
		cmocka_unit_test_setup_teardown(
			channels_are_on_the_node_of_the_task_that_makes_them,
			create, destroy),
	};

	return cmocka_run_group_tests(tests, nodes_setup, unit_eal_teardown);
}
