/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef NODES_H
#define NODES_H

/*
 * What the tests of this folder share: worker lcores on all NUMA nodes of the
 * machine, and the kernel's word on where memory is. Include it first.
 */

#include "unit.h"

#include "rig.h"

/*
 * Group setup: EAL with two worker lcores on each node, each on one CPU, as far
 * as this process may use some; on a machine of one node three. Lcores are not
 * on the CPUs of their number. Memory is hugepages where each of these nodes has
 * 64 MB of them free.
 */
int
nodes_setup(void **state);

/* Nodes with workers. */
unsigned int
nodes_count(void);
/* The kernel's number of the i-th of them. */
unsigned int
nodes_id(unsigned int i);
unsigned int
nodes_nb_workers(void);
/* The node of a worker of a runtime on all lcores, by its CPU. */
unsigned int
nodes_of_worker(unsigned int worker);
/* The CPU of such a worker. */
unsigned int
nodes_cpu_of_worker(unsigned int worker);

/* Options for a runtime on all lcores, whose idle workers leave their CPUs. */
void
nodes_options(struct weir_options *o);

/* Skips the test where EAL cannot take memory from one node or another. */
#define nodes_need_placement()                                \
	do {                                                  \
		if (nodes_without_placement() != NULL)        \
			unit_skip(nodes_without_placement()); \
	} while (0)
const char *
nodes_without_placement(void);

/* Skips the test where the kernel does not tell where a page is. */
#define nodes_need_kernel()                                               \
	do {                                                              \
		if (nodes_of_page(&(int){ 0 }) < 0)                       \
			unit_skip("the kernel does not say where a page " \
				  "is: move_pages() is refused");         \
	} while (0)

/* Skips the test on a machine with workers on one node only. */
#define nodes_need_two()                                           \
	do {                                                       \
		if (nodes_count() < 2)                             \
			unit_skip("needs CPUs on two NUMA nodes"); \
	} while (0)

/* The node that the page at an address is on, or -errno. */
int
nodes_of_page(const void *address);

/*
 * All pages of an object that are in memory, one at least, must be on this node.
 */
void
nodes_expect(const char *what, const void *object, size_t size,
	     unsigned int node);

#endif
