/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef UNIT_H
#define UNIT_H

/* What the unit tests share. Include it first. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Its name in cmocka 2, which warns of the old one. */
#ifndef assert_uint_in_range
#define assert_uint_in_range assert_in_range
#endif

/*
 * Starts the EAL without hugepages, devices or files that other processes
 * could trip over. NULL: main lcore 0 and worker lcores 1 to 3, all of which
 * share the first two CPUs that this process may use. Fails the test
 * otherwise; once in a process.
 *
 * WEIR_TEST_CPUS, such as "0,2,4", gives the lcores a CPU each, of these in turn,
 * so that they are on several NUMA nodes; memory is hugepages then.
 */
void
unit_eal_init(const char *lcores);
/* The same with so many worker lcores, on the same CPUs. */
void
unit_eal_init_workers(unsigned int nb_workers);

/* Group setup and teardown for tests that need the EAL. */
int
unit_eal_setup(void **state);
/* With its telemetry, which is otherwise off, and as many workers as can be. */
int
unit_eal_telemetry_setup(void **state);
int
unit_eal_teardown(void **state);

/*
 * A seed for what the test picks at random, which it prints: WEIR_TEST_SEED,
 * or another one each time.
 */
uint64_t
unit_seed(void);

/* An entry of a group's table. *state in the setup says how many workers. */
#define UNIT_TEST(name, setup, teardown, workers)               \
	{                                                       \
#name " (" #workers ")", name, setup, teardown, \
			(void *)(uintptr_t)(workers)            \
	}

/* Skips the running test; the reason goes to the output. */
#define unit_skip(reason)                        \
	do {                                     \
		print_message("# %s\n", reason); \
		skip();                          \
	} while (0)

#endif
