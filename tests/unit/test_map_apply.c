/* SPDX-License-Identifier: BSD-3-Clause */

/* Runtimes that change over to another lcore map: lib/sched/lcore_apply.c. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include <weir_ethdev.h>
#include <weir_null.h>

#include "base/rand.h"
#include "ports.h"
#include "rig.h"
#include "sched/scheduler.h"

/* Lcores 1 and 2 are workers, 3 is spare, 4 is none of the runtime's. */
#define PLACES 3u
#define SPARE 2u
#define PACKETS 20000u
#define ROUNDS 40u

int
__real_weir_worker_add(struct weir_runtime *rt, unsigned int lcore);
int
__wrap_weir_worker_add(struct weir_runtime *rt, unsigned int lcore);
int
__real_weir_worker_retire(struct weir_runtime *rt, unsigned int worker,
			  unsigned int successor);
int
__wrap_weir_worker_retire(struct weir_runtime *rt, unsigned int worker,
			  unsigned int successor);
int
__real_weir_source_move(struct weir_source *source, struct weir_runtime *rt,
			unsigned int worker);
int
__wrap_weir_source_move(struct weir_source *source, struct weir_runtime *rt,
			unsigned int worker);

/* Steps before one that fails, and how many do then. */
static unsigned int good_steps = UINT32_MAX, bad_steps;

static bool
step_fails(void)
{
	if (good_steps != 0) {
		good_steps--;
		return false;
	}
	if (bad_steps == 0)
		return false;
	bad_steps--;
	return true;
}

int
__wrap_weir_worker_add(struct weir_runtime *rt, unsigned int lcore)
{
	return step_fails() ? -ENOMEM : __real_weir_worker_add(rt, lcore);
}

int
__wrap_weir_worker_retire(struct weir_runtime *rt, unsigned int worker,
			  unsigned int successor)
{
	return step_fails() ? -ENOMEM :
			      __real_weir_worker_retire(rt, worker, successor);
}

int
__wrap_weir_source_move(struct weir_source *source, struct weir_runtime *rt,
			unsigned int worker)
{
	return step_fails() ? -ENOMEM :
			      __real_weir_source_move(source, rt, worker);
}

void
__real_weir__topology_locate(struct place *places, unsigned int n);
void
__wrap_weir__topology_locate(struct place *places, unsigned int n);

/* Times that the machine was read. */
static unsigned int reads;

void
__wrap_weir__topology_locate(struct place *places, unsigned int n)
{
	reads++;
	__real_weir__topology_locate(places, n);
}

static bool no_memory;

void *
__real_rte_zmalloc(const char *type, size_t size, unsigned int align);
void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align);

void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	return no_memory ? NULL : __real_rte_zmalloc(type, size, align);
}

static struct weir_rxq *rxqs[PORTS];
static struct weir_lcore_map_source sources[PORTS];
static char error[256];

static int
group_setup(void **state)
{
	unit_eal_init_workers(4);
	ports_open();
	return 0;
}

static int
setup(void **state)
{
	static const unsigned int lcores[] = { 1, 2, 3 };
	struct weir_options o;
	unsigned int i;

	good_steps = UINT32_MAX;
	bad_steps = 0;
	memset(&rig, 0, sizeof(rig));
	rig.told.log = &rig.log;
	rig.told.go = &rig.go;
	rig.told.waker = &rig.waker;
	rig_options(&o, 2);
	o.lcores = lcores;
	o.spare_lcores = &lcores[SPARE];
	o.nb_spare_lcores = 1;
	o.park = WEIR_PARK_PAUSE;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	for (i = 0; i < PORTS; i++) {
		rxqs[i] = weir_rxq_create(rig.rt, ports[i], 0, i, 32);
		assert_non_null(rxqs[i]);
		sources[i] = (struct weir_lcore_map_source){
			.queue = { .port = ports[i], .queue = 0 },
			.source = weir_rxq_source(rxqs[i]),
		};
	}
	return 0;
}

static int
teardown(void **state)
{
	unsigned int i;

	for (i = 0; i < PORTS; i++)
		weir_rxq_free(rxqs[i]);
	return ports_teardown(state);
}

static int
apply_map(const struct weir_lcore_map *map,
	  struct weir_lcore_map_change *change)
{
	int rc;

	error[0] = '\0';
	rc = weir_lcore_map_apply(map, rig.rt, sources, PORTS, change, error,
				  sizeof(error));
	assert_int_equal(rc == 0, error[0] == '\0');
	assert_null(strchr(error, '\n'));
	return rc;
}

static int
apply(const char *text, struct weir_lcore_map_change *change)
{
	struct weir_lcore_map *map;
	int rc;

	error[0] = '\0';
	map = weir_lcore_map_parse(text, error, sizeof(error));
	assert_string_equal(error, "");
	rc = apply_map(map, change);
	weir_lcore_map_free(map);
	return rc;
}

/* "place: policy, and the ports it polls" for each worker. */
static const char *
describe(void)
{
	static char text[128];
	unsigned int i, j;
	size_t used = 0;

	text[0] = '\0';
	for (i = 0; i < PLACES; i++) {
		if (!weir_worker_is_active(rig.rt, i))
			continue;
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%u:%u",
			used != 0 ? " " : "", i,
			atomic_u32_load(&rig.rt->workers[i]->park, RELAXED));
		for (j = 0; j < PORTS; j++)
			if (weir_source_worker(sources[j].source) == i)
				used += (size_t)snprintf(text + used,
							 sizeof(text) - used,
							 ",%u", j);
	}
	return text;
}

static void
expect_change(const char *text, unsigned int added, unsigned int moved,
	      unsigned int retired, const char *then)
{
	struct weir_lcore_map_change change = { 9, 9, 9 };

	assert_int_equal(apply(text, &change), 0);
	assert_int_equal(change.added, added);
	assert_int_equal(change.moved, moved);
	assert_int_equal(change.retired, retired);
	assert_string_equal(describe(), then);
}

static void
runtime_becomes_what_the_map_says(void **state)
{
	expect_change("(0,0,1),(1,0,2)", 0, 0, 0, "0:1,0 1:1,1");
	expect_change("(0,0,2),(1,0,1)", 0, 2, 0, "0:1,1 1:1,0");
	expect_change("main 0; lcore 3 rx=0.0,1.0", 1, 2, 2, "2:1,0,1");
	assert_int_equal(rte_eal_get_lcore_state(1), WAIT);
	expect_change("lcore 1 rx=0.0; lcore 2 rx=1.0; lcore 3 spare", 2, 2, 1,
		      "0:1,0 1:1,1");
	/* A worker may have no queue. */
	expect_change("(0,0,1),(1,0,1);lcore 3;lcore 2", 1, 1, 0,
		      "0:1,0,1 1:1 2:1");
}

static void
policies_are_those_of_the_map_or_the_options(void **state)
{
	expect_change("lcore 1 rx=0.0 park=interrupt; (1,0,2)", 0, 0, 0,
		      "0:2,0 1:1,1");
	expect_change("lcore 2 rx=1.0 park=adaptive; lcore 3 rx=0.0 park=poll",
		      1, 1, 1, "1:3,1 2:0,0");
	expect_change("lcore 1 rx=0.0; (1,0,2)", 1, 1, 1, "0:1,0 1:1,1");
}

static void
queues_that_nobody_names_stay(void **state)
{
	expect_change("lcore 1; lcore 2", 0, 0, 0, "0:1,0 1:1,1");
	expect_change("lcore 2; lcore 3", 1, 1, 1, "1:1,0,1 2:1");
	expect_change("lcore 3 park=poll", 0, 2, 1, "2:0,0,1");
	expect_change("lcore 1; lcore 3; lcore 2", 2, 0, 0, "0:1 1:1 2:1,0,1");
}

/* The text of a map, and how the line that refuses it begins. */
static const struct refusal {
	const char *text;
	const char *line;
} refusals[] = {
	{ "", "no worker is left" },
	{ "lcore 1 spare; main 0", "no worker is left" },
	{ "(0,0,0),(1,0,1)", "lcore 0: is the main lcore" },
	{ "main 1; (0,0,2),(1,0,2)", "main 1: EAL has another main lcore" },
	{ "(0,0,1),(1,0,9)", "lcore 9: is not among EAL's lcores" },
	{ "(0,0,1),(1,0,4)", "lcore 4: the runtime has no place for it" },
	{ "(0,0,1),(1,0,2); lcore 4 spare", "lcore 4: the runtime has no pl" },
	{ "(0,0,1); lcore 3 cpus=1023 rx=1.0", "lcore 3: EAL has it on other" },
	{ "(0,0,1); lcore 3 node=999 rx=1.0", "lcore 3: is on node " },
	{ "(0,0,3)", "queue 0 of port 1 is missing" },
	{ "(0,0,3),(1,0,1),(1,1,1)", "lcore 1: queue 1 of port 1 is none" },
	{ "(0,0,3),(1,0,1),(2,0,1)", "lcore 1: queue 0 of port 2 is none" },
};

/* C1 */
static void
map_that_cannot_be_had_changes_nothing(void **state)
{
	struct weir_lcore_map_change change = { 9, 9, 9 };
	unsigned int i;

	for (i = 0; i < RTE_DIM(refusals); i++) {
		assert_int_equal(apply(refusals[i].text, &change), -EINVAL);
		if (strncmp(error, refusals[i].line,
			    strlen(refusals[i].line)) != 0)
			fail_msg("'%s', not '%s'", error, refusals[i].line);
		assert_string_equal(describe(), "0:1,0 1:1,1");
		assert_int_equal(change.added, 9);
	}
}

/* C1, of what no text says. */
static void
map_by_hand_that_cannot_be_had_changes_nothing(void **state)
{
	struct weir_lcore_map_queue queues[] = { { ports[0], 0 },
						 { ports[1], 0 } };
	struct weir_lcore_map_lcore lcores[] = {
		{ .lcore = 0, .main = true, .node = -1, .park = -1 },
		{ .lcore = 1, .node = -1, .park = -1 },
		{ .lcore = 3, .spare = true, .node = -1, .park = -1 },
	};
	const struct weir_lcore_map map = { .nb_lcores = RTE_DIM(lcores),
					    .lcores = lcores };
	unsigned int i;

	lcores[1].queues = queues;
	lcores[1].nb_queues = 1;
	for (i = 0; i < RTE_DIM(lcores); i += 2) {
		lcores[i].queues = &queues[1];
		lcores[i].nb_queues = 1;
		assert_int_equal(apply_map(&map, NULL), -EINVAL);
		assert_string_equal(
			error, i == 0 ? "lcore 0: is the main lcore, it has no "
					"queues; give them to a worker" :
					"lcore 3: is spare, it has no queues; "
					"give them to a worker");
		assert_string_equal(describe(), "0:1,0 1:1,1");
		lcores[i].nb_queues = 0;
	}
	lcores[1].nb_queues = RTE_DIM(queues);
	lcores[1].park = WEIR_PARK_ADAPTIVE + 1;
	assert_int_equal(apply_map(&map, NULL), -EINVAL);
	assert_string_equal(error, "lcore 1: park 4: must be one of enum "
				   "weir_park, or -1");
	assert_string_equal(describe(), "0:1,0 1:1,1");
	lcores[1].park = -2;
	assert_int_equal(apply_map(&map, NULL), -EINVAL);
	assert_string_equal(error, "lcore 1: park -2: must be one of enum "
				   "weir_park, or -1");
	assert_string_equal(describe(), "0:1,0 1:1,1");
	lcores[1].park = WEIR_PARK_ADAPTIVE;
	assert_int_equal(apply_map(&map, NULL), 0);
	assert_string_equal(describe(), "0:3,0,1");
}

static int
wait_for_go(void *arg)
{
	rig_wait_until(rig_get(&rig.go));
	return 0;
}

static void
lcore_that_is_busy_is_not_taken(void **state)
{
	assert_int_equal(rte_eal_remote_launch(wait_for_go, NULL, 3), 0);
	assert_int_equal(apply("(0,0,1),(1,0,3)", NULL), -EBUSY);
	assert_string_equal(error, "lcore 3: runs something else");
	assert_string_equal(describe(), "0:1,0 1:1,1");
	rig_set(&rig.go, 1);
	rte_eal_wait_lcore(3);
	expect_change("(0,0,1),(1,0,3)", 1, 1, 1, "0:1,0 2:1,1");
}

static void
queue_without_a_source_is_only_counted_on(void **state)
{
	sources[1].source = NULL;
	assert_int_equal(apply("(0,0,2)", NULL), -EINVAL);
	assert_int_equal(apply("(0,0,2),(1,0,2)", NULL), 0);
	sources[1].source = weir_rxq_source(rxqs[1]);
	assert_string_equal(describe(), "1:1,0,1");
}

/* C1: no step is taken. */
static void
source_of_another_runtime_is_refused(void **state)
{
	static const char *const maps[] = {
		"(0,0,3),(1,0,3)",
		"(0,0,1),(1,0,2)",
		"lcore 3",
		"lcore 1 park=poll; lcore 2",
	};
	const unsigned int lcore = 4;
	struct weir_runtime *other;
	struct weir_null *null;
	struct weir_options o;
	unsigned int i;

	rig_options(&o, 1);
	o.name = "other";
	o.lcores = &lcore;
	other = weir_runtime_create(&o);
	assert_non_null(other);
	null = weir_null_create(other, 0);
	assert_non_null(null);
	good_steps = 0;
	bad_steps = 1;
	for (i = 0; i < RTE_DIM(maps); i++) {
		sources[1].source = weir_null_source(null);
		assert_int_equal(apply(maps[i], NULL), -EINVAL);
		assert_string_equal(error, "queue 0 of port 1: its source is "
					   "another runtime's");
		sources[1].source = weir_rxq_source(rxqs[1]);
		assert_string_equal(describe(), "0:1,0 1:1,1");
	}
	assert_int_equal(bad_steps, 1);
	weir_null_free(null);
	weir_runtime_free(other);
}

/*
 * C3. Over to lcore 3 and one that stays: a worker is added, two sources move,
 * and a worker retires.
 */
#define FAR_MAP "lcore 3 rx=0.0 park=poll; lcore 2; (1,0,3)"

static void
step_that_fails_is_undone(void **state)
{
	static const char *const lines[] = {
		"lcore 3: is not added (Cannot allocate memory)",
		"queue 0 of port 0: does not move (Cannot allocate memory)",
		"queue 0 of port 1: does not move (Cannot allocate memory)",
		"lcore 1: does not retire (Cannot allocate memory)",
	};
	char expected[sizeof(error)];
	unsigned int i;

	for (i = 0; i < RTE_DIM(lines); i++) {
		good_steps = i;
		bad_steps = 1;
		snprintf(expected, sizeof(expected), "%s; all is as it was",
			 lines[i]);
		assert_int_equal(apply(FAR_MAP, NULL), -ENOMEM);
		assert_string_equal(error, expected);
		assert_string_equal(describe(), "0:1,0 1:1,1");
	}
	expect_change(FAR_MAP, 1, 2, 1, "1:1 2:0,0,1");
}

static void
change_without_memory_is_refused(void **state)
{
	struct weir_lcore_map_change change = { 9, 9, 9 };

	no_memory = true;
	assert_int_equal(apply(FAR_MAP, &change), -ENOMEM);
	no_memory = false;
	assert_string_equal(error, "no memory for the change");
	assert_int_equal(change.added, 9);
	assert_string_equal(describe(), "0:1,0 1:1,1");
	expect_change(FAR_MAP, 1, 2, 1, "1:1 2:0,0,1");
}

static void
what_cannot_be_undone_is_told(void **state)
{
	good_steps = 2;
	bad_steps = 2;
	assert_int_equal(apply(FAR_MAP, NULL), -ENOMEM);
	assert_non_null(
		strstr(error, "; the change stays as far as it has come"));
	/* Each source has a worker: the one moved, the other did not. */
	assert_string_equal(describe(), "0:1 1:1,1 2:1,0");
	expect_change("(0,0,1),(1,0,2)", 0, 1, 1, "0:1,0 1:1,1");
}

/* On a worker, where no assertion may fail. */
static int
try_poll(struct weir_context *ctx, void *state)
{
	const struct weir_lcore_map map = { .nb_lcores = 0 };

	return weir_lcore_map_apply(&map, rig.rt, NULL, 0, NULL, NULL, 0);
}

static const struct weir_task_ops try_ops = { .name = "try", .poll = try_poll };

static void
change_is_refused_where_it_could_not_end(void **state)
{
	struct weir_runtime *rt = rig.rt;
	struct weir_options o;

	assert_int_equal(weir_runtime_block_on(rt, &try_ops, NULL, NULL),
			 -EDEADLK);
	rig_options(&o, 1);
	o.name = "current";
	o.current_thread = true;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	assert_int_equal(apply("(0,0,1),(1,0,1)", NULL), -ENOTSUP);
	weir_runtime_free(rig.rt);
	rig.rt = rt;
	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, NULL), 0);
	assert_int_equal(apply("(0,0,2),(1,0,2)", NULL), -ESHUTDOWN);
}

/* In a function that a task blocks in. */
struct attempt {
	struct weir_lcore_map *map;
	int rc;
	char error[sizeof(error)];
	char then[128]; /* describe(), later */
};

static void
try_in_place(void *arg)
{
	struct attempt *a = arg;

	a->rc = weir_lcore_map_apply(a->map, rig.rt, sources, PORTS, NULL,
				     a->error, sizeof(a->error));
}

static int
try_in_place_poll(struct weir_context *ctx, void *state)
{
	return weir_block_in_place(try_in_place, *(struct attempt **)state);
}

static const struct weir_task_ops try_in_place_ops = {
	.name = "try in place",
	.state_size = sizeof(struct attempt *),
	.poll = try_in_place_poll,
};

/* Two queues change their workers. */
static struct attempt
apply_in_place(struct weir_runtime *rt)
{
	struct attempt attempt = { .rc = 1 }, *a = &attempt;
	struct weir_join *join;

	a->map = weir_lcore_map_parse("(0,0,2),(1,0,1)", NULL, 0);
	assert_non_null(a->map);
	join = weir_task_spawn(rt, &try_in_place_ops, &a, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_lcore_map_free(a->map);
	snprintf(a->then, sizeof(a->then), "%s", describe());
	return attempt;
}

/* One of another runtime may: it keeps no worker of this one. */
static void
change_is_refused_where_a_task_of_the_runtime_blocks(void **state)
{
	const unsigned int lcore = 4;
	struct attempt ours, others;
	struct weir_runtime *other;
	struct weir_options o;

	rig_options(&o, 1);
	o.name = "other";
	o.lcores = &lcore;
	other = weir_runtime_create(&o);
	assert_non_null(other);
	ours = apply_in_place(rig.rt);
	others = apply_in_place(other);
	weir_runtime_free(other);
	assert_int_equal(ours.rc, -EDEADLK);
	assert_string_equal(ours.error, "a task cannot change the workers");
	assert_string_equal(ours.then, "0:1,0 1:1,1");
	assert_int_equal(others.rc, 0);
	assert_string_equal(others.then, "0:1,1 1:1,0");
}

/* Whether or not it would take a step. */
static void
runtime_that_has_been_shut_down_stays_as_it_is(void **state)
{
	static const char *const maps[] = {
		"(0,0,1),(1,0,2)",
		"lcore 1; lcore 2",
		"lcore 1 park=poll; lcore 2",
		FAR_MAP,
	};
	struct weir_lcore_map_change change = { 9, 9, 9 };
	unsigned int i;

	weir_runtime_shutdown_begin(rig.rt);
	for (i = 0; i < RTE_DIM(maps); i++) {
		assert_int_equal(apply(maps[i], &change), -ESHUTDOWN);
		assert_string_equal(error, "the runtime has been shut down");
		assert_string_equal(describe(), "0:1,0 1:1,1");
	}
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(apply(maps[0], &change), -ESHUTDOWN);
	assert_int_equal(change.added, 9);
}

static void
map_is_compared_with_eal(void **state)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(1);
	char text[2048];
	struct weir_lcore_map *map;
	size_t used;
	int cpu;

	used = (size_t)snprintf(text, sizeof(text), "main 0; lcore 1 node=%u",
				weir_lcore_node(1));
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%d",
				strstr(text, "cpus=") == NULL ? " cpus=" : ",",
				cpu);
	map = weir_lcore_map_parse(text, NULL, 0);
	assert_non_null(map);
	assert_int_equal(weir_lcore_map_match(map, error, sizeof(error)), 0);
	map->lcores[1].cpus[0] = CPU_SETSIZE - 1;
	assert_int_equal(weir_lcore_map_match(map, error, sizeof(error)),
			 -EINVAL);
	assert_string_equal(error, "lcore 1: EAL has it on other CPUs than "
				   "cpus= says");
	map->lcores[1].lcore = RTE_MAX_LCORE;
	assert_int_equal(weir_lcore_map_match(map, NULL, 0), -EINVAL);
	weir_lcore_map_free(map);
}

static void
nodes_of_all_lcores_are_read_at_once(void **state)
{
	char text[64];

	snprintf(text, sizeof(text), "lcore 1 node=%d; lcore 2 node=%d",
		 weir_lcore_node(1), weir_lcore_node(2));
	reads = 0;
	assert_int_equal(apply(text, NULL), 0);
	assert_int_equal(reads, 1);
	assert_int_equal(apply("lcore 1; lcore 2", NULL), 0);
	assert_int_equal(reads, 1);
}

/* Changes that are over. */
static struct atomic_u32 rounds;

/* In step with the changes: each of them has its part of the packets. */
static void *
send_packets(void *arg)
{
	unsigned int port = (unsigned int)(uintptr_t)arg;
	uint32_t sent = 0, n;

	while (sent < PACKETS) {
		rig_wait_until(rig_get(&rounds) >= sent / (PACKETS / ROUNDS));
		n = RTE_MIN(8u, PACKETS - sent);
		rig_wait_until(rte_ring_free_count(rings[port]) >= n);
		arrive(port, sent, sent + n);
		sent += n;
	}
	return NULL;
}

/* A map of all lcores, at random; one of them at least is a worker. */
static void
random_map(struct rand_state *rand, char *text, size_t size)
{
	static const char *const policies[] = { "poll", "pause", "interrupt",
						"adaptive" };
	unsigned int workers = 1 + rand_below(rand, 7), port, lcore;
	size_t used = 0;

	text[0] = '\0';
	for (lcore = 1; lcore <= PLACES; lcore++)
		used += (size_t)snprintf(
			text + used, size - used, "lcore %u %s park=%s\n",
			lcore, workers >> (lcore - 1) & 1 ? "" : "spare",
			policies[rand_below(rand, RTE_DIM(policies))]);
	for (port = 0; port < PORTS; port++) {
		do
			lcore = 1 + rand_below(rand, PLACES);
		while ((workers >> (lcore - 1) & 1) == 0);
		used += (size_t)snprintf(text + used, size - used,
					 "(%u,0,%u)\n", ports[port], lcore);
	}
}

/* C2 */
static void
nothing_is_lost_under_traffic(void **state)
{
	struct weir_join *joins[PORTS];
	struct ports_receiver r = { .wanted = PACKETS };
	pthread_t threads[PORTS];
	struct rand_state rand;
	char text[256];
	unsigned int i;
	int rc;

	rand_seed(&rand, unit_seed());
	rig_set(&rounds, 0);
	for (i = 0; i < PORTS; i++) {
		r.rxq = rxqs[i];
		joins[i] =
			weir_task_spawn(rig.rt, &ports_receiver_ops, &r, NULL);
		assert_non_null(joins[i]);
		pthread_create(&threads[i], NULL, send_packets,
			       (void *)(uintptr_t)i);
	}
	for (i = 0; i < ROUNDS; i++) {
		random_map(&rand, text, sizeof(text));
		/* Some of them fail half-way. */
		good_steps = rand_below(&rand, 8);
		bad_steps = 1;
		rc = apply(text, NULL);
		assert_true(rc == 0 || rc == -ENOMEM);
		bad_steps = 0;
		assert_int_equal(apply(text, NULL), 0);
		rig_add(&rounds, 1);
	}
	for (i = 0; i < PORTS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(rig_join(joins[i], &r), 0);
		assert_int_equal(r.taken, PACKETS);
		assert_int_equal(r.disorder, 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(runtime_becomes_what_the_map_says),
		TEST(policies_are_those_of_the_map_or_the_options),
		TEST(queues_that_nobody_names_stay),
		TEST(map_that_cannot_be_had_changes_nothing),
		TEST(map_by_hand_that_cannot_be_had_changes_nothing),
		TEST(lcore_that_is_busy_is_not_taken),
		TEST(queue_without_a_source_is_only_counted_on),
		TEST(source_of_another_runtime_is_refused),
		TEST(step_that_fails_is_undone),
		TEST(change_without_memory_is_refused),
		TEST(what_cannot_be_undone_is_told),
		TEST(change_is_refused_where_it_could_not_end),
		TEST(change_is_refused_where_a_task_of_the_runtime_blocks),
		TEST(runtime_that_has_been_shut_down_stays_as_it_is),
		TEST(map_is_compared_with_eal),
		TEST(nodes_of_all_lcores_are_read_at_once),
		TEST(nothing_is_lost_under_traffic),
	};

	return cmocka_run_group_tests(tests, group_setup, unit_eal_teardown);
}
