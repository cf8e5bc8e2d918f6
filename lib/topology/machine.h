/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TOPOLOGY_MACHINE_H
#define TOPOLOGY_MACHINE_H

/* What the files that read a struct weir_machine have in common. */

#include "topology/tree.h"
#include "topology/weir_machine.h"

/*
 * The machine that a tree is of. NULL: there are no CPUs, there is no memory,
 * or the tree has a problem; the tree says which of the last two.
 */
struct weir_machine *
weir__machine_of_tree(struct tree *t);

/*
 * The machine of a recording; name is for the error's beginning. NULL with
 * rte_errno, as weir_machine_load() has it.
 */
struct weir_machine *
weir__machine_parse(const char *text, size_t length, const char *name,
		    char *error, size_t size);

/*
 * The CPUs and nodes that the cpusets of the process leave to it, machine_cpuset.c.
 * False: there is nothing that tells.
 */
bool
weir__machine_cpus_allowed(struct tree *t, struct id_set *cpus);
bool
weir__machine_nodes_allowed(struct tree *t, struct id_set *nodes);

/*
 * Each of these fills in its part, machine_nodes.c and machine_nics.c. CPUs come
 * first, then nodes, then the rest.
 */
void
weir__machine_read_nodes(struct tree *t, struct weir_machine *m);
void
weir__machine_read_nics(struct tree *t, struct weir_machine *m);

#endif
