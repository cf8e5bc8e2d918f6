/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>

#define DEFAULT_WORKERS 3u

/* See unit_eal_init(). */
static const char *
given_cpus(void)
{
	return getenv("WEIR_TEST_CPUS");
}

/* "0@a,1@b,2@a" for two workers and the CPUs "a,b". */
static void
lcores_on(const char *given, unsigned int nb_workers, char *text, size_t size)
{
	unsigned int i, used = 0;
	const char *cpu = given;

	for (i = 0; i <= nb_workers && used < size; i++) {
		used += (unsigned int)snprintf(text + used, size - used,
					       "%s%u@%.*s", i == 0 ? "" : ",",
					       i, (int)strcspn(cpu, ","), cpu);
		cpu += strcspn(cpu, ",");
		cpu = *cpu == ',' ? cpu + 1 : given;
	}
	assert_uint_in_range(used, 1, size - 1);
}

/*
 * "(0-3)@(a,b)" for three workers, with the first CPUs that this process may
 * use, or "(0-3)@a".
 */
static void
lcores_of(unsigned int nb_workers, char *text, size_t size)
{
	unsigned int cpus[2], n = 0, cpu;
	cpu_set_t set;

	if (given_cpus() != NULL) {
		lcores_on(given_cpus(), nb_workers, text, size);
		return;
	}
	assert_return_code(sched_getaffinity(0, sizeof(set), &set), errno);
	for (cpu = 0; cpu < CPU_SETSIZE && n < RTE_DIM(cpus); cpu++) {
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	}
	assert_int_not_equal(n, 0);
	if (n == 1)
		snprintf(text, size, "(0-%u)@%u", nb_workers, cpus[0]);
	else
		snprintf(text, size, "(0-%u)@(%u,%u)", nb_workers, cpus[0],
			 cpus[1]);
}

static void
eal_init(const char *lcores, const char *telemetry)
{
	char telemetry_arg[24], memory[16], memory_size[16];
	char by_default[64], lcores_arg[128], prefix[64];
	char *argv[] = {
		(char[]){ "unit" },
		lcores_arg,
		prefix,
		memory,
		memory_size,
		(char[]){ "--no-pci" },
		(char[]){ "--no-shconf" },
		telemetry_arg,
		(char[]){ "--log-level=*:error" },
		NULL,
	};

	if (lcores == NULL) {
		lcores_of(DEFAULT_WORKERS, by_default, sizeof(by_default));
		lcores = by_default;
	}
	/* Hugepages are taken as they are needed, from the node that is. */
	snprintf(memory, sizeof(memory), "%s",
		 given_cpus() != NULL ? "--in-memory" : "--no-huge");
	snprintf(memory_size, sizeof(memory_size), "%s",
		 given_cpus() != NULL ? "-m0" : "-m256");
	snprintf(telemetry_arg, sizeof(telemetry_arg), "%s", telemetry);
	snprintf(lcores_arg, sizeof(lcores_arg), "--lcores=%s", lcores);
	snprintf(prefix, sizeof(prefix), "--file-prefix=weir-unit-%d",
		 getpid());
	if (rte_eal_init(RTE_DIM(argv) - 1, argv) < 0)
		fail_msg("rte_eal_init: %s", rte_strerror(rte_errno));
}

void
unit_eal_init(const char *lcores)
{
	eal_init(lcores, "--no-telemetry");
}

void
unit_eal_init_workers(unsigned int nb_workers)
{
	char lcores[64];

	lcores_of(nb_workers, lcores, sizeof(lcores));
	unit_eal_init(lcores);
}

int
unit_eal_setup(void **state)
{
	unit_eal_init(NULL);
	return 0;
}

int
unit_eal_telemetry_setup(void **state)
{
	char lcores[64];

	lcores_of(RTE_MAX_LCORE - 1, lcores, sizeof(lcores));
	eal_init(lcores, "--telemetry");
	return 0;
}

int
unit_eal_teardown(void **state)
{
	char dir[4096];

	/* The EAL leaves its directory, which is empty without shared files. */
	snprintf(dir, sizeof(dir), "%s", rte_eal_get_runtime_dir());
	rte_eal_cleanup();
	rmdir(dir);
	return 0;
}

uint64_t
unit_seed(void)
{
	const char *text = getenv("WEIR_TEST_SEED");
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : rte_rdtsc();

	print_message("# seed 0x%" PRIx64 "\n", seed);
	return seed;
}
