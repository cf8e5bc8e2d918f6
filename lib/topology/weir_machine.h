/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_MACHINE_H
#define WEIR_MACHINE_H

/**
 * @file
 * The machine as lcore maps need to know it: CPUs with their cores, caches,
 * packages and NUMA nodes, distances, hugepages and network devices; which CPUs
 * the process may use and which the kernel leaves alone.
 *
 * It is read from sysfs, procfs and the cgroup file system, of this machine or
 * as they were recorded on another. EAL is not needed. What a machine does not
 * tell is marked as not known, and is no error.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Not known, where a node, package, core or cache is asked for. */
#define WEIR_MACHINE_UNKNOWN (-1)

/** Sizes of hugepages that are told apart, at most. */
#define WEIR_MACHINE_PAGE_SIZES 4

/** A logical CPU. While it is offline, little is known of it. */
struct weir_machine_cpu {
	unsigned int id; /**< the kernel's number; they may have holes */
	int node;	 /**< the kernel's number of its NUMA node */
	int package;	 /**< the kernel's number */
	int core;	 /**< least CPU of its SMT siblings */
	int cache;	 /**< least CPU with the same last-level cache */
	bool online;
	bool allowed;	/**< online and in the process's cpusets */
	bool isolated;	/**< the kernel balances no load onto it: isolcpus */
	bool tick_free; /**< nohz_full */
};

/** Hugepages of one size on one node. */
struct weir_machine_pages {
	uint64_t size; /**< bytes a page */
	uint64_t total;
	uint64_t free;
};

/** A NUMA node; it may have no CPU, or no memory. */
struct weir_machine_node {
	unsigned int id; /**< the kernel's number */
	uint64_t memory; /**< bytes; 0 if that is not known */
	bool allowed;	 /**< the process's cpusets let it have memory there */
	unsigned int nb_pages;
	struct weir_machine_pages pages[WEIR_MACHINE_PAGE_SIZES];
};

/** An Ethernet device on a PCI bus; in the order of addresses, as in EAL. */
struct weir_machine_nic {
	char address[16];   /**< 0000:81:00.0 */
	char driver[32];    /**< the kernel's, vfio-pci for example; or empty */
	char interface[16]; /**< eth0; empty when the kernel has none for it */
	uint16_t vendor;
	uint16_t device;
	int node;
};

/** A machine. Arrays are by rising number; nothing changes after it is read. */
struct weir_machine {
	unsigned int nb_cpus;
	struct weir_machine_cpu *cpus;
	unsigned int nb_nodes;
	struct weir_machine_node *nodes;
	/** nb_nodes rows of nb_nodes: from a node to another, 10 is local. */
	uint8_t *distances;
	unsigned int nb_nics;
	struct weir_machine_nic *nics;
};

/**
 * Reads this machine, which takes milliseconds. Any thread.
 *
 * @return NULL with rte_errno: ENOMEM, EMFILE, ENFILE, or ENOENT when sysfs has no CPUs.
 */
WEIR_API struct weir_machine *
weir_machine_read(void);

/**
 * Reads a machine that weir_machine_record() recorded. Any thread.
 *
 * @param error  Where one line goes that names the file, the line in it and
 *               what is wrong; may be NULL.
 * @return NULL with rte_errno: EINVAL for a file that is none or that is cut
 * off, EFBIG beyond 64 MiB, ENOMEM, or what opening or reading it gave.
 */
WEIR_API struct weir_machine *
weir_machine_load(const char *file, char *error, size_t size);

/**
 * Writes all that weir_machine_read() reads to a text file, so that others can
 * load it. Any thread.
 *
 * @param file  Replaced if it exists.
 * @return 0 or -errno; a file that could not be completed is removed.
 */
WEIR_API int
weir_machine_record(const char *file);

/** Releases it; NULL is legal. Any thread. */
WEIR_API void
weir_machine_free(struct weir_machine *machine);

/** The CPU of that number, or NULL. Any thread. */
WEIR_API const struct weir_machine_cpu *
weir_machine_cpu_get(const struct weir_machine *machine, unsigned int id);

/** The node of that number, or NULL. Any thread. */
WEIR_API const struct weir_machine_node *
weir_machine_node_get(const struct weir_machine *machine, int id);

/**
 * Distance between two nodes, by their numbers: 10 is local. Where the machine
 * does not tell, or there is no such node, 10 to itself and 20 to another. Any
 * thread.
 */
WEIR_API unsigned int
weir_machine_distance(const struct weir_machine *machine, int from, int to);

#ifdef __cplusplus
}
#endif

#endif
