/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_LCORE_MAP_H
#define WEIR_LCORE_MAP_H

/**
 * @file
 * The lcore map: which lcore is a worker, on which CPUs and node it is meant to
 * be, which receive queues it polls, and how it parks.
 *
 * A map is text. Items are separated by line ends, semicolons or, between
 * tuples, commas; `#` begins a comment that ends with the line.
 *
 *     (PORT,QUEUE,LCORE)     the queue is polled on the lcore, a worker; as
 *                            l3fwd's --config has it
 *     lcore N [WORD]...      the lcore is a worker; the words may be:
 *         spare              not yet, it may be added at run time; no queues
 *         cpus=LIST          on these CPUs, 2 or 2-3 or 2,4; default: where
 *                            EAL has it, and CPU N where there is no EAL
 *         node=N             it must be on this NUMA node
 *         rx=PORT.QUEUE,...  receive queues it polls; PORT.A-B for several
 *         park=POLICY        poll, pause, interrupt or adaptive
 *     main N [cpus=LIST]     EAL's main lcore, no worker
 *     port N ADDRESS         port N is the device at that PCI address; none:
 *                            it is on no PCI bus; default: the Nth network
 *                            device in order of addresses
 *
 * Numbers are decimal digits, with no sign and no space. Each lcore is
 * described by one `lcore` or `main` item at most, to whose queues tuples add;
 * each queue is given once.
 */

#include <weir_common.h>
#include <weir_machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A receive queue. */
struct weir_lcore_map_queue {
	uint16_t port;
	uint16_t queue;
};

/** An lcore of the map. CPUs are in rising order, queues in that of the text. */
struct weir_lcore_map_lcore {
	unsigned int lcore;
	bool main;  /**< the main lcore; it has no queues and does not park */
	bool spare; /**< no worker yet */
	int node;   /**< it must be on; -1: any */
	int park;   /**< enum weir_park; -1: as the runtime's options say */
	unsigned int nb_cpus; /**< 0: the default */
	unsigned int *cpus;
	unsigned int nb_queues;
	struct weir_lcore_map_queue *queues;
};

/** The device that a port is. */
struct weir_lcore_map_port {
	uint16_t port;
	char address[16]; /**< 0000:81:00.0; empty: on no PCI bus */
};

/**
 * A map; lcores and ports are in the order of the text. One that was not read
 * from text serves too, if each lcore, queue and port is there once.
 */
struct weir_lcore_map {
	unsigned int nb_lcores;
	struct weir_lcore_map_lcore *lcores;
	unsigned int nb_ports;
	struct weir_lcore_map_port *ports;
};

/**
 * Reads a map from text. Any thread.
 *
 * @param error  Where one line goes that quotes what is wrong, with the number
 *               of its line and what would be right; may be NULL.
 * @return NULL with rte_errno: EINVAL or ENOMEM. The caller frees it with
 * weir_lcore_map_free().
 */
WEIR_API struct weir_lcore_map *
weir_lcore_map_parse(const char *text, char *error, size_t size);

/**
 * As weir_lcore_map_parse(), from a file, whose name the error begins with. It
 * is EINVAL too for one of more than 1 MiB or with a zero byte, and whatever
 * opening or reading it gave.
 */
WEIR_API struct weir_lcore_map *
weir_lcore_map_load(const char *file, char *error, size_t size);

/**
 * Is what a user gave for a map its text? It is when it begins with "(",
 * "lcore ", "main " or "port "; else it is the name of a file. Any thread.
 */
WEIR_API bool
weir_lcore_map_is_text(const char *value);

/**
 * Writes a map as text of which weir_lcore_map_parse() makes the same map, one
 * item a line, each with a line end. Any thread.
 *
 * @return The length without the final 0, also if it does not fit, as
 * snprintf().
 */
WEIR_API int
weir_lcore_map_format(const struct weir_lcore_map *map, char *text,
		      size_t size);

/** Releases it; NULL is legal. Any thread. */
WEIR_API void
weir_lcore_map_free(struct weir_lcore_map *map);

/** How grave a finding is. */
enum weir_lcore_map_severity {
	WEIR_LCORE_MAP_NOTE,	/**< worth knowing */
	WEIR_LCORE_MAP_WARNING, /**< it works, and costs something */
	WEIR_LCORE_MAP_ERROR,	/**< it does not work */
};

/** What weir_lcore_map_check() found; valid during the call it is given to. */
struct weir_lcore_map_finding {
	enum weir_lcore_map_severity severity;
	const char *rule; /**< short name that stays, "queue-far" */
	const char *text; /**< one line: what, and what it costs */
	int lcore;	  /**< -1: none in particular */
	int port;	  /**< -1: none in particular */
};

/**
 * Checks a map against a machine. The rules are those of the guide to lcore
 * maps. What the machine does not tell is not found fault with. EAL is not asked: an
 * lcore without CPUs is taken to be on the CPU of its number, and port N to be the
 * machine's Nth device; a program that runs EAL fills these in first. Any thread.
 *
 * @param found  Is called for each finding, graver ones first, else in an order
 *               that map and machine determine; may be NULL.
 * @return Number of errors.
 */
WEIR_API unsigned int
weir_lcore_map_check(const struct weir_lcore_map *map,
		     const struct weir_machine *machine,
		     void (*found)(void *arg,
				   const struct weir_lcore_map_finding *f),
		     void *arg);

#ifdef __cplusplus
}
#endif

#endif
