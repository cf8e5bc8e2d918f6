/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MACHINES_H
#define MACHINES_H

/* Machines of the tests, from the entries of a recording. */

#include "topology/machine.h"

#define CPU "/sys/devices/system/cpu/"
#define NODE "/sys/devices/system/node/"
#define PCI "/sys/bus/pci/devices/"

/* From "PATH = TEXT\n"...; NULL with the error's line. */
struct weir_machine *
machine_try(const char *entries, char *error, size_t size);

/* The same, which succeeds. */
struct weir_machine *
machine_of(const char *entries);

/* Of tests/data/topology, by its name. */
struct weir_machine *
machine_load(const char *name);

/* CPUs that are allowed, as "0-3,8"; valid until the next call. */
const char *
machine_allowed(const struct weir_machine *m);

#endif
