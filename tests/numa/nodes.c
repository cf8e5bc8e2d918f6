/* SPDX-License-Identifier: BSD-3-Clause */

#include "nodes.h"

#include <errno.h>
#include <glob.h>
#include <numa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#define PER_NODE 2u
#define ALONE 3u
#define HUGE_BYTES (UINT64_C(64) << 20)
#define MAX_NODES 64u

static unsigned int nb_nodes;
static unsigned int nodes[MAX_NODES];
static unsigned int nb_workers;
static unsigned int cpus[RTE_MAX_LCORE]; /* by worker */
static unsigned int homes[RTE_MAX_LCORE];
static bool hugepages;

static unsigned int
node_of_cpu(unsigned int cpu)
{
	int node = numa_available() < 0 ? 0 : numa_node_of_cpu((int)cpu);

	return node < 0 ? 0 : (unsigned int)node;
}

static void
add_worker(unsigned int cpu, unsigned int node)
{
	cpus[nb_workers] = cpu;
	homes[nb_workers++] = node;
}

/* Workers on the first CPUs of each node, which may be but one. */
static void
find_workers(void)
{
	unsigned int found[MAX_NODES][PER_NODE], n[MAX_NODES] = { 0 };
	unsigned int cpu, node, i, j, wanted;
	cpu_set_t set;

	assert_return_code(sched_getaffinity(0, sizeof(set), &set), errno);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		node = node_of_cpu(cpu);
		assert_true(node < MAX_NODES);
		if (n[node] < PER_NODE)
			found[node][n[node]++] = cpu;
	}
	for (i = 0; i < MAX_NODES; i++)
		if (n[i] > 0)
			nodes[nb_nodes++] = i;
	wanted = nb_nodes == 1 ? ALONE : PER_NODE;
	for (i = 0; i < nb_nodes; i++)
		for (j = 0; j < wanted; j++)
			add_worker(found[nodes[i]][j % n[nodes[i]]], nodes[i]);
}

/* The number in a file, or 0. */
static uint64_t
number_in(const char *path)
{
	unsigned long long n = 0;
	FILE *f = fopen(path, "r");

	if (f == NULL)
		return 0;
	if (fscanf(f, "%llu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static uint64_t
free_hugepages(unsigned int node)
{
	char pattern[128];
	uint64_t bytes = 0, kib;
	glob_t g;
	size_t i;

	snprintf(pattern, sizeof(pattern),
		 "/sys/devices/system/node/node%u/hugepages/hugepages-*/"
		 "free_hugepages",
		 node);
	if (glob(pattern, 0, NULL, &g) == 0)
		for (i = 0; i < g.gl_pathc; i++) {
			kib = strtoull(strstr(g.gl_pathv[i], "hugepages-") +
					       strlen("hugepages-"),
				       NULL, 10);
			bytes += number_in(g.gl_pathv[i]) * kib << 10;
		}
	globfree(&g);
	return bytes;
}

/* 0@2,1@0,2@1 and so on: the main lcore is beside the last worker. */
static void
print_lcores(char *text, size_t size)
{
	unsigned int i;
	size_t n;

	n = (size_t)snprintf(text, size, "--lcores=0@%u", cpus[nb_workers - 1]);
	for (i = 0; i < nb_workers; i++) {
		assert_true(n < size);
		n += (size_t)snprintf(text + n, size - n, ",%u@%u", i + 1,
				      cpus[i]);
	}
	assert_true(n < size);
}

int
nodes_setup(void **state)
{
	char with_hugepages[] = "--in-memory";
	char without[] = "--no-huge", memory[] = "-m256";
	char lcores[16 * RTE_MAX_LCORE], prefix[64];
	char *argv[] = {
		(char[]){ "numa" },
		lcores,
		prefix,
		(char[]){ "--no-pci" },
		(char[]){ "--no-shconf" },
		(char[]){ "--no-telemetry" },
		(char[]){ "--log-level=*:error" },
		with_hugepages,
		NULL,
		NULL,
	};
	int argc = RTE_DIM(argv) - 2;
	unsigned int i;

	find_workers();
	hugepages = true;
	for (i = 0; i < nb_nodes; i++)
		hugepages = hugepages && free_hugepages(nodes[i]) >= HUGE_BYTES;
	if (!hugepages) {
		argv[argc - 1] = without;
		argv[argc++] = memory;
	}
	print_lcores(lcores, sizeof(lcores));
	snprintf(prefix, sizeof(prefix), "--file-prefix=weir-numa-%d",
		 getpid());
	print_message("# %u nodes, %s, %s\n", nb_nodes,
		      hugepages ? "hugepages" : "no hugepages", lcores);
	if (rte_eal_init(argc, argv) < 0)
		fail_msg("rte_eal_init: %s", rte_strerror(rte_errno));
	return 0;
}

unsigned int
nodes_count(void)
{
	return nb_nodes;
}

unsigned int
nodes_id(unsigned int i)
{
	return nodes[i];
}

unsigned int
nodes_nb_workers(void)
{
	return nb_workers;
}

unsigned int
nodes_of_worker(unsigned int worker)
{
	return homes[worker];
}

unsigned int
nodes_cpu_of_worker(unsigned int worker)
{
	return cpus[worker];
}

void
nodes_options(struct weir_options *o)
{
	rig_options(o, nb_workers);
	o->park = WEIR_PARK_INTERRUPT;
}

const char *
nodes_without_placement(void)
{
	if (nb_nodes > 1 && !hugepages)
		return "EAL places memory in hugepages only: needs 64 MB of "
		       "them free on each node";
	return NULL;
}

int
nodes_of_page(const void *address)
{
	void *page = (void *)(uintptr_t)address;
	int status = -ENOSYS;

	if (numa_move_pages(0, 1, &page, NULL, &status, 0) < 0)
		return -errno;
	return status;
}

void
nodes_expect(const char *what, const void *object, size_t size,
	     unsigned int node)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), present = 0;
	uintptr_t at = (uintptr_t)object & ~(uintptr_t)(page - 1);
	int is_on;

	for (; at < (uintptr_t)object + size; at += page) {
		is_on = nodes_of_page((const void *)at);
		/* Nobody has written to it. */
		if (is_on == -ENOENT || is_on == -EFAULT)
			continue;
		present++;
		if (is_on != (int)node)
			fail_msg("%s: at %p of %p, %zu bytes, on node %d "
				 "instead of %u",
				 what, (const void *)at, object, size, is_on,
				 node);
	}
	if (present == 0)
		fail_msg("%s: no page of it is in memory", what);
}
