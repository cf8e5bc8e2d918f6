/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "weir_lcore_map.h"
#include "weir_machine.h"

/*
 * Two packages of one node each. CPUs 0 to 3 and 8 to 11 on node 0, the rest on
 * node 1; CPUs N and N + 8 are siblings; two cores share a last-level cache. CPU
 * 16 is offline, 17 is outside the cpuset. A network device on each node.
 */
#define CPUS 18u
#define NODES 2u

static struct weir_machine_cpu cpus[CPUS];
static struct weir_machine_node nodes[NODES];
static struct weir_machine_nic nics[2];
static uint8_t distances[] = { 10, 21, 21, 10 };
static struct weir_machine machine;

/* "severity rule lcore port" of each finding, one after the other. */
static char found[4096];
static char texts[4096];
static enum weir_lcore_map_severity last;

static int
setup(void **state)
{
	unsigned int i;

	for (i = 0; i < CPUS; i++)
		cpus[i] = (struct weir_machine_cpu){
			.id = i,
			.node = i % 8 / 4,
			.package = i % 8 / 4,
			.core = (int)i % 8,
			.cache = (int)i % 8 / 2 * 2,
			.online = i != 16,
			.allowed = i != 16 && i != 17,
		};
	for (i = 0; i < NODES; i++) {
		nodes[i] = (struct weir_machine_node){
			.id = i,
			.memory = UINT64_C(1) << 34,
			.allowed = true,
			.nb_pages = 1,
			.pages = { { .size = 1u << 21, .total = 64 } },
		};
		nics[i] = (struct weir_machine_nic){ .node = (int)i };
		snprintf(nics[i].address, sizeof(nics[i].address),
			 "0000:%d1:00.0", i == 0 ? 4 : 8);
	}
	machine = (struct weir_machine){
		.nb_cpus = CPUS,
		.cpus = cpus,
		.nb_nodes = NODES,
		.nodes = nodes,
		.distances = distances,
		.nb_nics = RTE_DIM(nics),
		.nics = nics,
	};
	return 0;
}

static void
note(void *arg, const struct weir_lcore_map_finding *f)
{
	static const char severities[] = "NWE";
	size_t used = strlen(found);

	assert_ptr_equal(arg, &machine);
	/* U1 */
	assert_true(f->severity <= last);
	last = f->severity;
	snprintf(found + used, sizeof(found) - used, "%c %s %d %d\n",
		 severities[f->severity], f->rule, f->lcore, f->port);
	used = strlen(texts);
	snprintf(texts + used, sizeof(texts) - used, "%s\n", f->text);
	assert_null(strchr(f->text, '\n'));
	assert_true(strlen(f->text) < 200);
}

static unsigned int
check(const char *text)
{
	struct weir_lcore_map *map;
	unsigned int errors, told = 0;
	char error[256] = "";
	const char *line;

	map = weir_lcore_map_parse(text, error, sizeof(error));
	assert_string_equal(error, "");
	found[0] = texts[0] = '\0';
	last = WEIR_LCORE_MAP_ERROR;
	errors = weir_lcore_map_check(map, &machine, note, &machine);
	for (line = found; *line != '\0'; line = strchr(line, '\n') + 1)
		told += *line == 'E';
	assert_int_equal(errors, told);
	assert_int_equal(weir_lcore_map_check(map, &machine, NULL, NULL),
			 errors);
	weir_lcore_map_free(map);
	return errors;
}

/* All that is found, and what the lines have to say. */
static void
expect(const char *text, const char *findings, const char *line)
{
	check(text);
	assert_string_equal(found, findings);
	if (line != NULL && strstr(texts, line) == NULL)
		fail_msg("no '%s' in: %s", line, texts);
}

static void
good_map_has_no_findings(void **state)
{
	expect("main 8 cpus=8\n(0,0,2),(0,1,3),(1,0,4),(1,1,5)", "", NULL);
	expect("lcore 2 node=0; lcore 3 spare cpus=2", "", NULL);
}

static void
map_needs_a_worker(void **state)
{
	expect("", "E no-worker -1 -1\n", "no worker");
	expect("main 8; lcore 2 spare", "E no-worker -1 -1\n", NULL);
}

static void
cpus_must_be_there_for_the_process(void **state)
{
	expect("lcore 2 cpus=18", "E cpu-unknown 2 -1\n",
	       "lcore 2 is to be on CPU 18, which the machine does not have");
	expect("lcore 40; lcore 2 spare cpus=2,99",
	       "E cpu-unknown 40 -1\nE cpu-unknown 2 -1\n", NULL);
	expect("lcore 16", "E cpu-offline 16 -1\n", "is offline");
	expect("lcore 17", "E cpu-outside 17 -1\n", "outside the cpuset");
	expect("main 17; lcore 2", "E cpu-outside 17 -1\n", NULL);
}

static void
node_of_an_lcore_is_that_of_its_cpus(void **state)
{
	expect("lcore 2 node=1", "E node-other 2 -1\n",
	       "lcore 2 is to be on node 1, but its CPU 2 is on node 0");
	expect("lcore 2 node=7", "E node-unknown 2 -1\nE node-other 2 -1\n",
	       "node 7, which the machine does not have");
	cpus[2].node = -1;
	expect("lcore 2 node=1", "", NULL);
}

static void
ports_must_be_there(void **state)
{
	expect("(2,0,2)", "E port-unknown -1 2\n",
	       "port 2 is not there: the machine has 2 network devices");
	expect("(2,0,2);port 2 none", "", NULL);
	expect("(0,0,2);port 0 41:00.0", "", NULL);
	expect("(0,0,2);port 0 41:00.1", "E port-address -1 0\n",
	       "port 0 is to be at 0000:41:00.1, where");
	machine.nb_nics = 0;
	expect("(0,0,2)", "E port-unknown -1 0\n",
	       "port 0 is not there: the machine has no network devices; say "
	       "with port 0 none that it is on no PCI bus\n");
	expect("(0,0,2);port 0 none", "", NULL);
}

/* A map that no text can describe, but a program can make. */
static void
expect_of_map(const struct weir_lcore_map *map, const char *findings)
{
	found[0] = texts[0] = '\0';
	last = WEIR_LCORE_MAP_ERROR;
	weir_lcore_map_check(map, &machine, note, &machine);
	assert_string_equal(found, findings);
}

static void
ports_that_dpdk_cannot_have_are_not_there(void **state)
{
	const uint16_t ids[] = { RTE_MAX_ETHPORTS, 40, UINT16_MAX };
	struct weir_lcore_map_queue queues[] = { { 0, 0 }, { 0, 1 } };
	struct weir_lcore_map_lcore lcore = { .lcore = 2,
					      .node = -1,
					      .park = -1,
					      .nb_queues = 2,
					      .queues = queues };
	struct weir_lcore_map_port port = { .address = "0000:41:00.1" };
	struct weir_lcore_map map = { .nb_lcores = 1,
				      .lcores = &lcore,
				      .ports = &port };
	char findings[64];
	unsigned int i;

	for (i = 0; i < RTE_DIM(ids); i++) {
		snprintf(findings, sizeof(findings), "E port-unknown -1 %u\n",
			 ids[i]);
		/* In queues, then in an item too, then only there. */
		queues[0].port = queues[1].port = port.port = ids[i];
		map.nb_ports = 0;
		lcore.nb_queues = RTE_DIM(queues);
		expect_of_map(&map, findings);
		map.nb_ports = 1;
		expect_of_map(&map, findings);
		lcore.nb_queues = 0;
		expect_of_map(&map, findings);
	}
}

static void
main_lcore_polls_nothing(void **state)
{
	struct weir_lcore_map_queue queue = { 0, 0 };
	struct weir_lcore_map_lcore lcores[] = {
		{ .lcore = 8, .main = true, .node = -1, .park = 0 },
		{ .lcore = 2, .node = -1, .park = -1 },
	};
	struct weir_lcore_map map = { .nb_lcores = 2, .lcores = lcores };

	expect_of_map(&map, "E main-busy 8 -1\n");
	lcores[0].park = -1;
	assert_int_equal(weir_lcore_map_check(&map, &machine, NULL, NULL), 0);
	lcores[0].nb_queues = 1;
	lcores[0].queues = &queue;
	assert_int_equal(weir_lcore_map_check(&map, &machine, NULL, NULL), 1);
}

static void
workers_that_share_a_cpu_or_core_are_told(void **state)
{
	expect("lcore 1 cpus=2;lcore 3;lcore 5 cpus=2;lcore 6 cpus=2",
	       "W cpu-shared 5 -1\nW cpu-shared 6 -1\n",
	       "lcores 1 and 5 are both on CPU 2: while one runs");
	expect("lcore 2; lcore 3 cpus=2-3",
	       "W cpu-shared 3 -1\n"
	       "N cpu-several 3 -1\n",
	       "lcores 2 and 3 may both be on CPU 2: while");
	expect("lcore 1 cpus=2,3; lcore 2 cpus=3",
	       "W cpu-shared 2 -1\n"
	       "N cpu-several 1 -1\n",
	       "lcores 1 and 2 may both be on CPU 3: while");
	expect("lcore 1 cpus=2-3; lcore 2 cpus=2-3",
	       "W cpu-shared 2 -1\n"
	       "N cpu-several 1 -1\nN cpu-several 2 -1\n",
	       NULL);
	/* Each has one of its own. */
	expect("lcore 1 cpus=1-2; lcore 2 cpus=2-3",
	       "N cpu-several 1 -1\nN cpu-several 2 -1\n", NULL);
	/* What is not there is not shared. */
	expect("lcore 1 cpus=99; lcore 2 cpus=99",
	       "E cpu-unknown 1 -1\nE cpu-unknown 2 -1\n", NULL);
	expect("lcore 2; lcore 10", "W core-shared 10 -1\n",
	       "lcores 2 and 10 are on one core, CPUs 2 and 10: each has");
	expect("lcore 2; lcore 10 spare", "", NULL);
	cpus[2].core = cpus[10].core = -1;
	expect("lcore 2; lcore 10", "", NULL);
}

static void
worker_beside_the_main_lcore_is_told(void **state)
{
	expect("main 0 cpus=2; lcore 2", "W main-near 2 -1\n",
	       "lcore 2 shares its CPU with the main lcore 0");
	expect("lcore 2; main 10", "W main-near 2 -1\n",
	       "lcore 2 shares its core with the main lcore 10");
}

static void
worker_that_may_be_beside_the_main_lcore_is_told(void **state)
{
	expect("main 0 cpus=2-3; lcore 2", "W main-near 2 -1\n",
	       "lcore 2 and the main lcore 0 may both be on CPU 2: whatever "
	       "the main lcore does there holds packets up");
	expect("main 0 cpus=3; lcore 2 cpus=2-3",
	       "W main-near 2 -1\nN cpu-several 2 -1\n",
	       "may both be on CPU 3");
	expect("main 0 cpus=2-3; lcore 2 cpus=2-3",
	       "W main-near 2 -1\nN cpu-several 2 -1\n",
	       "may both be on CPU 2");
	/* Each has one of its own, and may be on the other's. */
	expect("main 0 cpus=1-2; lcore 2 cpus=2-3",
	       "W main-near 2 -1\nN cpu-several 2 -1\n",
	       "may both be on CPU 2");
	expect("main 0 cpus=10-11; lcore 2 cpus=1,3; lcore 3 cpus=9",
	       "W main-near 2 -1\nN cpu-several 2 -1\n",
	       "lcore 2 and the main lcore 0 may both be on the core of CPU 3");
	expect("main 0 cpus=0,8; lcore 2 cpus=2-3", "N cpu-several 2 -1\n",
	       NULL);
	/* U2 */
	cpus[10].core = cpus[11].core = -1;
	cpus[2].core = cpus[3].core = -1;
	expect("main 0 cpus=10-11; lcore 2 cpus=2-3", "N cpu-several 2 -1\n",
	       NULL);
	expect("main 0 cpus=3,99; lcore 2 cpus=2,99",
	       "E cpu-unknown 0 -1\nE cpu-unknown 2 -1\n"
	       "N cpu-several 2 -1\n",
	       NULL);
}

static void
lcore_on_several_cpus_is_told(void **state)
{
	expect("lcore 2 cpus=2-3", "N cpu-several 2 -1\n",
	       "lcore 2 may run on 2 CPUs");
	expect("lcore 2 cpus=2,5,6",
	       "W lcore-spread 2 -1\nN cpu-several 2 -1\n",
	       "lcore 2 may run on nodes 0 and 1");
}

static void
queue_on_another_node_than_its_port_is_told(void **state)
{
	expect("(0,0,2),(1,0,5),(1,1,3)",
	       "W queue-far 3 1\nN port-nodes -1 1\n",
	       "port 1 is on node 1, lcore 3 on node 0, at a distance of 21: "
	       "every packet crosses");
	/* Once for each lcore, however many queues it has. */
	expect("(1,0,2),(1,1,2)", "W queue-far 2 1\nW port-alone -1 1\n",
	       "port 1 is on node 1, where no worker is");
	nics[1].node = -1;
	expect("(1,0,2)", "", NULL);
}

static void
node_without_memory_or_hugepages_is_told(void **state)
{
	nodes[0].pages[0].total = 0;
	expect("lcore 2; lcore 3; lcore 5", "W node-hugepages -1 -1\n",
	       "node 0 has 2 workers and no hugepages: the runtime starts only "
	       "with --no-huge, and their memory is then in small pages");
	nodes[0].pages[1] = (struct weir_machine_pages){ 1u << 30, 1, 1 };
	nodes[0].nb_pages = 2;
	expect("lcore 2", "", NULL);
	nodes[0].allowed = false;
	expect("lcore 2", "W node-memory -1 -1\n",
	       "node 0 has 1 worker and memory outside the cpuset");
	nodes[0].memory = 0;
	expect("lcore 2", "W node-memory -1 -1\n",
	       "node 0 has 1 worker and no memory: the runtime starts only "
	       "with --no-huge, and their memory is then on another node");
	expect("lcore 2 spare; lcore 5", "", NULL);
	/* U2: no node tells how much it has. */
	nodes[0].allowed = true;
	nodes[1].memory = 0;
	expect("lcore 2", "", NULL);
}

static void
cpu_that_the_kernel_does_not_leave_alone_is_told(void **state)
{
	cpus[2].isolated = true;
	expect("lcore 2; lcore 3", "W cpu-balanced 3 -1\n",
	       "lcore 3 is on CPU 3, which is not isolated as others are");
	cpus[3].tick_free = true;
	expect("lcore 2; lcore 3 cpus=2-3 park=poll",
	       "W cpu-shared 3 -1\nW cpu-balanced 3 -1\nW cpu-tick 2 -1\n"
	       "W cpu-tick 3 -1\nN cpu-several 3 -1\n",
	       "lcore 2 polls on CPU 2, which is not in nohz_full");
	expect("lcore 3 cpus=2-3",
	       "W cpu-balanced 3 -1\nW cpu-tick 3 -1\nN cpu-several 3 -1\n",
	       "lcore 3 may be on CPU 3, which is not isolated");
	expect("lcore 3 cpus=3,7",
	       "W lcore-spread 3 -1\nW cpu-balanced 3 -1\n"
	       "W cpu-tick 3 -1\nN cpu-several 3 -1\n",
	       "lcore 3 may poll on CPU 7, which is not in nohz_full");
	expect("lcore 2 park=interrupt", "", NULL);
	expect("lcore 2 park=adaptive", "", NULL);
}

static void
queues_of_a_port_that_are_apart_are_told(void **state)
{
	expect("(0,0,1),(0,1,2)", "N port-caches -1 0\n",
	       "port 0 has queues in several last-level caches, with lcores 1 "
	       "and 2");
	expect("(0,0,2),(0,1,3)", "", NULL);
	/* Lcore 1 is on a node, and in no one cache. */
	check("lcore 1 cpus=1-2 rx=0.0; lcore 3 rx=0.1; lcore 9 rx=0.2");
	assert_non_null(strstr(texts, "with lcores 3 and 9"));
	nics[0].node = -1;
	expect("(0,0,3),(0,1,4)", "N port-nodes -1 0\n",
	       "port 0 has queues on nodes 0 and 1, with lcores 3 and 4");
}

static void
load_that_is_uneven_is_told(void **state)
{
	expect("lcore 2 rx=0.0-2; lcore 3 rx=0.3", "N load-uneven 2 -1\n",
	       "lcore 2 has 3 queues, lcore 3 has 1");
	expect("lcore 2 rx=0.0-1; lcore 3 rx=0.3", "", NULL);
	expect("lcore 2 rx=0.0; lcore 3", "N no-queues 3 -1\n",
	       "lcore 3 has no queues");
	/* Where no worker has any, the map is not about queues. */
	expect("lcore 2; lcore 3", "", NULL);
}

static void
worker_on_cpu_0_is_told(void **state)
{
	expect("lcore 1 cpus=0", "N cpu-zero 1 -1\n", "lcore 1 is on CPU 0");
	expect("lcore 2 cpus=0-1", "N cpu-several 2 -1\nN cpu-zero 2 -1\n",
	       "lcore 2 may be on CPU 0, where much");
	expect("lcore 2 cpus=0,99",
	       "E cpu-unknown 2 -1\nN cpu-several 2 -1\nN cpu-zero 2 -1\n",
	       NULL);
	expect("main 0; lcore 2", "", NULL);
}

/* U2 */
static void
machine_that_tells_nothing_breaks_no_rule(void **state)
{
	unsigned int i;

	for (i = 0; i < CPUS; i++)
		cpus[i].node = cpus[i].core = cpus[i].cache = cpus[i].package =
			WEIR_MACHINE_UNKNOWN;
	nics[0].node = nics[1].node = WEIR_MACHINE_UNKNOWN;
	expect("main 8; lcore 2 node=1 rx=0.0,1.0; lcore 10 rx=0.1,1.1", "",
	       NULL);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(good_map_has_no_findings),
		TEST(map_needs_a_worker),
		TEST(cpus_must_be_there_for_the_process),
		TEST(node_of_an_lcore_is_that_of_its_cpus),
		TEST(ports_must_be_there),
		TEST(ports_that_dpdk_cannot_have_are_not_there),
		TEST(main_lcore_polls_nothing),
		TEST(workers_that_share_a_cpu_or_core_are_told),
		TEST(worker_beside_the_main_lcore_is_told),
		TEST(worker_that_may_be_beside_the_main_lcore_is_told),
		TEST(lcore_on_several_cpus_is_told),
		TEST(queue_on_another_node_than_its_port_is_told),
		TEST(node_without_memory_or_hugepages_is_told),
		TEST(cpu_that_the_kernel_does_not_leave_alone_is_told),
		TEST(queues_of_a_port_that_are_apart_are_told),
		TEST(load_that_is_uneven_is_told),
		TEST(worker_on_cpu_0_is_told),
		TEST(machine_that_tells_nothing_breaks_no_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
