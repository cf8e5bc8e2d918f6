/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "machines.h"

static void
cpus_may_have_any_numbers(void **state)
{
	const unsigned int ids[] = { 0, 1, 130, 1023, 1024, 8191 };
	struct weir_machine *m =
		machine_of("c/present = 0-1,130,1023-1024,8191\n"
			   "c/online = 0-1,130,1023-1024,8191\n"
			   "c/possible = 0-8191\n"
			   "c/isolated = 1024,8191\n");
	unsigned int i;

	assert_int_equal(m->nb_cpus, RTE_DIM(ids));
	for (i = 0; i < m->nb_cpus; i++) {
		assert_int_equal(m->cpus[i].id, ids[i]);
		assert_ptr_equal(weir_machine_cpu_get(m, ids[i]), &m->cpus[i]);
		assert_true(m->cpus[i].online);
		assert_true(m->cpus[i].allowed);
		assert_int_equal(m->cpus[i].isolated, ids[i] >= 1024);
	}
	assert_null(weir_machine_cpu_get(m, 2));
	assert_null(weir_machine_cpu_get(m, 8192));
	assert_null(weir_machine_cpu_get(m, UINT32_MAX));
	weir_machine_free(m);
}

static void
cpus_are_those_present_or_else_possible_or_online(void **state)
{
	struct weir_machine *m;

	m = machine_of("c/present = 0-2\n"
		       "c/possible = 0-3\n"
		       "c/online = 0-1\n");
	assert_int_equal(m->nb_cpus, 3);
	assert_true(m->cpus[1].online);
	assert_false(m->cpus[2].online);
	weir_machine_free(m);
	m = machine_of("c/possible = 0-3\n"
		       "c/online = 0-1\n");
	assert_int_equal(m->nb_cpus, 4);
	weir_machine_free(m);
	m = machine_of("c/online = 0-1\n");
	assert_int_equal(m->nb_cpus, 2);
	weir_machine_free(m);
	/* Where nothing says which are online, all are. */
	m = machine_of("c/present = 0-1\n");
	assert_true(m->cpus[0].online && m->cpus[1].online);
	weir_machine_free(m);
}

static void
nothing_but_cpus_need_be_known(void **state)
{
	struct weir_machine *m = machine_of("c/present = 5\n");

	assert_int_equal(m->cpus[0].node, 0);
	assert_int_equal(m->cpus[0].package, WEIR_MACHINE_UNKNOWN);
	assert_int_equal(m->cpus[0].core, WEIR_MACHINE_UNKNOWN);
	assert_int_equal(m->cpus[0].cache, WEIR_MACHINE_UNKNOWN);
	assert_true(m->cpus[0].allowed);
	assert_false(m->cpus[0].isolated);
	assert_false(m->cpus[0].tick_free);
	assert_int_equal(m->nb_nodes, 1);
	assert_int_equal(m->nodes[0].memory, 0);
	assert_true(m->nodes[0].allowed);
	assert_int_equal(m->nodes[0].nb_pages, 0);
	assert_int_equal(m->nb_nics, 0);
	weir_machine_free(m);
}

static void
siblings_have_the_same_core(void **state)
{
	struct weir_machine *m =
		machine_of("c/present = 0-4\n"
			   /* Since Linux 5.2, and before. */
			   "c/cpu0/topology/core_cpus_list = 0,2\n"
			   "c/cpu0/topology/thread_siblings_list = 0\n"
			   "c/cpu2/topology/thread_siblings_list = 0,2\n"
			   "c/cpu3/topology/core_cpus_list = 3\n"
			   /* Where it is not itself, that is nonsense. */
			   "c/cpu4/topology/core_cpus_list = 0\n"
			   "c/cpu0/topology/physical_package_id = 7\n"
			   "c/cpu2/topology/physical_package_id = -1\n");

	assert_int_equal(m->cpus[0].core, 0);
	assert_int_equal(m->cpus[1].core, WEIR_MACHINE_UNKNOWN);
	assert_int_equal(m->cpus[2].core, 0);
	assert_int_equal(m->cpus[3].core, 3);
	assert_int_equal(m->cpus[4].core, WEIR_MACHINE_UNKNOWN);
	assert_int_equal(m->cpus[0].package, 7);
	assert_int_equal(m->cpus[2].package, WEIR_MACHINE_UNKNOWN);
	weir_machine_free(m);
}

struct cache {
	unsigned int cpu;
	unsigned int index;
	unsigned int level;
	const char *type;
	const char *shared;
};

static void
last_level_cache_is_the_highest_with_data(void **state)
{
	const struct cache all[] = {
		/* In any order. */
		{ 0, 0, 3, "Unified", "0-3" },
		{ 0, 1, 1, "Data", "0" },
		{ 1, 0, 1, "Data", "1" },
		{ 1, 1, 2, "Unified", "1-2" },
		{ 2, 0, 1, "Data", "2" },
		{ 2, 1, 2, "Instruction", "0-5" },
		/* Behind a gap, and without itself; 4 has no type. */
		{ 3, 0, 1, "Data", "3" },
		{ 3, 2, 3, "Unified", "0-3" },
		{ 5, 0, 3, "Unified", "0-4" },
	};
	const int caches[] = { 0, 1, 2, 3, -1, -1 };
	struct weir_machine *m;
	char text[4096];
	unsigned int i;
	int n;

	n = sprintf(text, "c/present = 0-5\nc/cpu4/cache/index0/level = 3\n");
	for (i = 0; i < RTE_DIM(all); i++)
		n += sprintf(text + n,
			     "c/cpu%u/cache/index%u/level = %u\n"
			     "c/cpu%u/cache/index%u/type = %s\n"
			     "c/cpu%u/cache/index%u/shared_cpu_list = %s\n",
			     all[i].cpu, all[i].index, all[i].level, all[i].cpu,
			     all[i].index, all[i].type, all[i].cpu,
			     all[i].index, all[i].shared);
	m = machine_of(text);
	for (i = 0; i < RTE_DIM(caches); i++)
		assert_int_equal(m->cpus[i].cache, caches[i]);
	weir_machine_free(m);
}

static void
cpus_without_a_tick_are_listed_or_null(void **state)
{
	struct weir_machine *m;

	m = machine_of("c/present = 0-1\n"
		       "c/nohz_full = 1\n");
	assert_false(m->cpus[0].tick_free);
	assert_true(m->cpus[1].tick_free);
	weir_machine_free(m);
	m = machine_of("c/present = 0-1\n"
		       "c/nohz_full = (null)\n");
	assert_false(m->cpus[0].tick_free);
	assert_false(m->cpus[1].tick_free);
	weir_machine_free(m);
}

static void
nodes_may_lack_cpus_or_memory_and_have_gaps(void **state)
{
	struct weir_machine *m =
		machine_of("c/present = 0-3\n"
			   "c/online = 0-2\n"
			   "n/possible = 0-9\n"
			   "n/online = 1,4,9\n"
			   "n/node1/cpulist = 0-1\n"
			   "n/node1/meminfo = Node 1 MemTotal:   1024 kB\n"
			   "n/node4/cpulist = 2\n"
			   "n/node4/meminfo = Node 4 MemTotal:   0 kB\n"
			   "n/node9/cpulist =\n"
			   "n/node9/meminfo = Node 9 MemFree: 1 kB"
			   "\\nNode 9 MemTotal: 2097152 kB\n");

	assert_int_equal(m->nb_nodes, 3);
	assert_int_equal(m->nodes[0].memory, 1 << 20);
	assert_int_equal(m->nodes[1].memory, 0);
	assert_int_equal(m->nodes[2].memory, INT64_C(2) << 30);
	assert_int_equal(m->cpus[0].node, 1);
	assert_int_equal(m->cpus[2].node, 4);
	assert_int_equal(m->cpus[3].node, WEIR_MACHINE_UNKNOWN);
	assert_ptr_equal(weir_machine_node_get(m, 9), &m->nodes[2]);
	assert_null(weir_machine_node_get(m, 0));
	assert_null(weir_machine_node_get(m, WEIR_MACHINE_UNKNOWN));
	weir_machine_free(m);
}

static void
kernel_without_nodes_has_one(void **state)
{
	struct weir_machine *m = machine_of(
		"c/present = 0-3\n"
		"c/online = 0-2\n"
		"/proc/meminfo = MemTotal:        4096 kB\n"
		"/sys/kernel/mm/hugepages/ = hugepages-2048kB\n"
		"/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages = 9\n"
		"/sys/kernel/mm/hugepages/hugepages-2048kB/"
		"free_hugepages = 8\n");

	assert_int_equal(m->nb_nodes, 1);
	assert_int_equal(m->nodes[0].id, 0);
	assert_int_equal(m->nodes[0].memory, 4 << 20);
	assert_int_equal(m->nodes[0].nb_pages, 1);
	assert_int_equal(m->nodes[0].pages[0].total, 9);
	assert_int_equal(m->nodes[0].pages[0].free, 8);
	assert_int_equal(m->cpus[2].node, 0);
	assert_int_equal(m->cpus[3].node, WEIR_MACHINE_UNKNOWN);
	assert_int_equal(weir_machine_distance(m, 0, 0), 10);
	weir_machine_free(m);
}

static void
distances_are_in_the_order_of_online_nodes(void **state)
{
	struct weir_machine *m = machine_of("c/present = 0\n"
					    "n/online = 0,2,7\n"
					    "n/node0/distance = 10 21 31\n"
					    "n/node2/distance = 12 10 255\n");

	assert_int_equal(weir_machine_distance(m, 0, 0), 10);
	assert_int_equal(weir_machine_distance(m, 0, 2), 21);
	assert_int_equal(weir_machine_distance(m, 0, 7), 31);
	assert_int_equal(weir_machine_distance(m, 2, 0), 12);
	assert_int_equal(weir_machine_distance(m, 2, 7), 255);
	/* Where the machine does not tell. */
	assert_int_equal(weir_machine_distance(m, 7, 7), 10);
	assert_int_equal(weir_machine_distance(m, 7, 0), 20);
	/* Where there is no such node. */
	assert_int_equal(weir_machine_distance(m, 0, 1), 20);
	assert_int_equal(weir_machine_distance(m, 1, 1), 10);
	assert_int_equal(weir_machine_distance(m, -1, 0), 20);
	weir_machine_free(m);
}

static void
hugepages_are_by_size(void **state)
{
	/* In KiB; the largest have no place, and 8 KiB no figures. */
	const unsigned int there[] = { 1048576, 16777216, 2048,
				       32768,	64,	  67108864 };
	const uint64_t sizes[] = { 64 << 10, 2 << 20, 32 << 20, 1 << 30 };
	struct weir_machine *m;
	char text[4096];
	unsigned int i;
	int n;

	n = sprintf(text,
		    "c/present = 0\nn/online = 3\nn/node3/hugepages/ = "
		    "hugepages-1048576kB/hugepages-16777216kB/hugepages-2048kB/"
		    "hugepages-32768kB/hugepages-64kB/hugepages-67108864kB/"
		    "hugepages-8kB/hugepages-xkB/other\n");
	for (i = 0; i < RTE_DIM(there); i++)
		n += sprintf(
			text + n,
			"n/node3/hugepages/hugepages-%ukB/nr_hugepages = %u\n"
			"n/node3/hugepages/hugepages-%ukB/"
			"free_hugepages = %u\n",
			there[i], 10 + i, there[i], i);
	m = machine_of(text);
	assert_int_equal(m->nodes[0].nb_pages, RTE_DIM(sizes));
	for (i = 0; i < RTE_DIM(sizes); i++)
		assert_int_equal(m->nodes[0].pages[i].size, sizes[i]);
	assert_int_equal(m->nodes[0].pages[0].total, 14);
	assert_int_equal(m->nodes[0].pages[0].free, 4);
	assert_int_equal(m->nodes[0].pages[1].total, 12);
	assert_int_equal(m->nodes[0].pages[3].free, 0);
	weir_machine_free(m);
}

static void
network_devices_are_in_the_order_of_addresses(void **state)
{
	const char *const addresses[] = { "0000:02:00.0", "0000:10:00.0",
					  "8000:01:00.0", "10000:01:00.0" };
	struct weir_machine *m = machine_of(
		"c/present = 0\n"
		"n/online = 0-1\n"
		"p/ = 10000:01:00.0/8000:01:00.0/0000:10:00.0/0000:04:00.0/"
		"0000:02:00.0/0000:01:00.0/1:2:3.4/x\n"
		"p/0000:01:00.0/class = 0x060400\n"
		"p/0000:04:00.0/class = 0x020700\n"
		"p/8000:01:00.0/class = 0x020000\n"
		"p/0000:02:00.0/class = 0x020000\n"
		"p/0000:02:00.0/vendor = 0x8086\n"
		"p/0000:02:00.0/device = 0x159b\n"
		"p/0000:02:00.0/numa_node = 1\n"
		"p/0000:02:00.0/uevent = PCI_CLASS=20000\\nDRIVER=ice\n"
		"p/0000:02:00.0/net/ = eth0/eth1\n"
		"p/0000:10:00.0/class = 0x020001\n"
		"p/0000:10:00.0/numa_node = 2\n"
		"p/10000:01:00.0/class = 0x020000\n"
		"p/10000:01:00.0/numa_node = -1\n"
		"p/1:2:3.4/class = 0x020000\n");
	unsigned int i;

	assert_int_equal(m->nb_nics, RTE_DIM(addresses));
	for (i = 0; i < RTE_DIM(addresses); i++)
		assert_string_equal(m->nics[i].address, addresses[i]);
	assert_string_equal(m->nics[0].driver, "ice");
	assert_string_equal(m->nics[0].interface, "eth0");
	assert_int_equal(m->nics[0].vendor, 0x8086);
	assert_int_equal(m->nics[0].device, 0x159b);
	assert_int_equal(m->nics[0].node, 1);
	assert_string_equal(m->nics[1].driver, "");
	assert_string_equal(m->nics[1].interface, "");
	/* A node that is not there, and none. */
	assert_int_equal(m->nics[1].node, WEIR_MACHINE_UNKNOWN);
	assert_int_equal(m->nics[3].node, WEIR_MACHINE_UNKNOWN);
	weir_machine_free(m);
}

static void
network_devices_of_virtio_have_one_in_between(void **state)
{
	struct weir_machine *m =
		machine_of("c/present = 0\n"
			   "n/online = 2\n"
			   "p/ = 0000:02:00.0\n"
			   "p/0000:02:00.0/class = 0x020000\n"
			   "p/0000:02:00.0/numa_node = -1\n"
			   "p/0000:02:00.0/uevent = DRIVER=virtio-pci\n"
			   "p/0000:02:00.0/ = msi_irqs/virtio4\n"
			   "p/0000:02:00.0/virtio4/net/ = ens3\n");

	assert_string_equal(m->nics[0].interface, "ens3");
	/* -1 where there is one node says that one. */
	assert_int_equal(m->nics[0].node, 2);
	weir_machine_free(m);
}

static void
names_that_are_too_long_are_cut_off_or_left_out(void **state)
{
	struct weir_machine *m =
		machine_of("c/present = 0\n"
			   "p/ = 0000:02:00.0\n"
			   "p/0000:02:00.0/class = 0x020000\n"
			   "p/0000:02:00.0/uevent = "
			   "DRIVER=0123456789012345678901234567890123456789\n"
			   "p/0000:02:00.0/net/ = 0123456789abcdef/eth0\n");

	assert_string_equal(m->nics[0].driver,
			    "0123456789012345678901234567890");
	assert_string_equal(m->nics[0].interface, "eth0");
	weir_machine_free(m);
}

/* Entries that say what cannot be, and where that is. */
struct damaged {
	const char *entries;
	const char *error;
};

#define LIST "not a list of rising numbers below 8192, such as 0-3,8"
#define NUMBER "not a number, or none that may be here"

static void
damaged_machines_are_refused(void **state)
{
	const struct damaged damaged[] = {
		{ "", "test: it has no CPUs" },
		{ "c/present =\n", "test: it has no CPUs" },
		{ "c/present = 0-8192\n", "test:2: " LIST },
		{ "c/present = 0\n"
		  "c/online = 3-1\n",
		  "test:3: " LIST },
		{ "c/present = 0\n"
		  "c/isolated = all\n",
		  "test:3: " LIST },
		{ "c/present = 0\n"
		  "c/nohz_full = null\n",
		  "test:3: " LIST },
		{ "c/present = 0\n"
		  "c/cpu0/topology/core_cpus_list = 1,0\n",
		  "test:3: " LIST },
		{ "c/present = 0\n"
		  "c/cpu0/topology/physical_package_id = -2\n",
		  "test:3: " NUMBER },
		{ "c/present = 0\n"
		  "c/cpu0/cache/index0/level = 0\n",
		  "test:3: " NUMBER },
		{ "c/present = 0\n"
		  "c/cpu0/cache/index0/level = 1\n"
		  "c/cpu0/cache/index0/type = Data\n"
		  "c/cpu0/cache/index0/shared_cpu_list = none\n",
		  "test:5: " LIST },
		{ "c/present = 0\n"
		  "n/online = x\n",
		  "test:3: " LIST },
		{ "c/present = 0\n"
		  "n/online = 0,1024\n",
		  "test:3: a node beyond 1023" },
		{ "c/present = 0\n"
		  "n/online = 0\n"
		  "n/node0/cpulist = 0-\n",
		  "test:4: " LIST },
		{ "c/present = 0\n"
		  "n/online = 0-1\n"
		  "n/node1/distance = 20\n",
		  "test:4: not a distance of 1 to 255 for each node" },
		{ "c/present = 0\n"
		  "n/online = 0\n"
		  "n/node0/distance = 10 20\n",
		  "test:4: not a distance of 1 to 255 for each node" },
		{ "c/present = 0\n"
		  "n/online = 0\n"
		  "n/node0/distance = 256\n",
		  "test:4: not a distance of 1 to 255 for each node" },
		{ "c/present = 0\n"
		  "n/online = 0\n"
		  "n/node0/distance = 0\n",
		  "test:4: not a distance of 1 to 255 for each node" },
		{ "c/present = 0\n"
		  "n/online = 0\n"
		  "n/node0/distance = 1x\n",
		  "test:4: not a distance of 1 to 255 for each node" },
		{ "c/present = 0\n"
		  "n/online = 3\n"
		  "n/node3/hugepages/ = hugepages-64kB\n"
		  "n/node3/hugepages/hugepages-64kB/nr_hugepages = -1\n",
		  "test:5: " NUMBER },
		{ "c/present = 0\n"
		  "p/ = 0000:02:00.0\n"
		  "p/0000:02:00.0/class = net\n",
		  "test:4: " NUMBER },
		{ "c/present = 0\n"
		  "p/ = 0000:02:00.0\n"
		  "p/0000:02:00.0/class = 0x020000\n"
		  "p/0000:02:00.0/vendor = 0x10000\n",
		  "test:5: " NUMBER },
		{ "c/present = 0\n"
		  "p/ = 0000:02:00.0\n"
		  "p/0000:02:00.0/class = 0x020000\n"
		  "p/0000:02:00.0/numa_node = two\n",
		  "test:5: " NUMBER },
		{ "c/present = 0\n"
		  "p/ = 0000:02:00.0/0000:02:00.0\n"
		  "p/0000:02:00.0/class = 0x020000\n",
		  "test:3: a device twice" },
	};
	char error[256];
	unsigned int i;

	for (i = 0; i < RTE_DIM(damaged); i++) {
		assert_null(
			machine_try(damaged[i].entries, error, sizeof(error)));
		assert_string_equal(error, damaged[i].error);
	}
}

static void
errors_fit_the_room_that_there_is(void **state)
{
	char error[8];

	assert_null(machine_try("", error, sizeof(error)));
	assert_string_equal(error, "test: i");
	assert_null(machine_try("", NULL, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_may_have_any_numbers),
		cmocka_unit_test(
			cpus_are_those_present_or_else_possible_or_online),
		cmocka_unit_test(nothing_but_cpus_need_be_known),
		cmocka_unit_test(siblings_have_the_same_core),
		cmocka_unit_test(last_level_cache_is_the_highest_with_data),
		cmocka_unit_test(cpus_without_a_tick_are_listed_or_null),
		cmocka_unit_test(nodes_may_lack_cpus_or_memory_and_have_gaps),
		cmocka_unit_test(kernel_without_nodes_has_one),
		cmocka_unit_test(distances_are_in_the_order_of_online_nodes),
		cmocka_unit_test(hugepages_are_by_size),
		cmocka_unit_test(network_devices_are_in_the_order_of_addresses),
		cmocka_unit_test(network_devices_of_virtio_have_one_in_between),
		cmocka_unit_test(
			names_that_are_too_long_are_cut_off_or_left_out),
		cmocka_unit_test(damaged_machines_are_refused),
		cmocka_unit_test(errors_fit_the_room_that_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
