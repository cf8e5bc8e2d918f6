/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_PLAN_H
#define TESTPMD_PLAN_H

/*
 * The plan: which ports, which workers, and which queue on which worker. Made
 * from the options once EAL is up; nothing is started before it is complete.
 */

#include <rte_config.h>

#include "port.h"

struct options;

/* One stream to be. */
struct plan_stream {
	/* The same port twice, unless the mode receives and sends. */
	struct port *rx_port;
	struct port *tx_port;
	uint16_t queue; /* of both */
	unsigned int worker;
};

struct plan {
	unsigned int nb_ports;
	struct port ports[RTE_MAX_ETHPORTS];
	unsigned int nb_workers; /* now: maps change it */
	/* Nanoseconds in which there were workers, each for itself. */
	uint64_t worker_ns;		    /* up to worker_ns_at */
	uint64_t worker_ns_printed;	    /* of those */
	uint64_t worker_ns_at;		    /* by CLOCK_MONOTONIC */
	unsigned int lcores[RTE_MAX_LCORE]; /* of the first workers */
	int nodes[RTE_MAX_LCORE];	    /* and where they are */
	unsigned int nb_spare;
	unsigned int spare[RTE_MAX_LCORE]; /* lcores that may become workers */
	unsigned int nb_streams;
	struct plan_stream *streams;
};

/*
 * Makes the plan, or says in a line why there can be none.
 *
 * Returns an enum exit_status; in any case plan_free() is due.
 */
int
plan_make(struct plan *plan, const struct options *options);

void
plan_free(struct plan *plan);

/* The port of that id in the plan, or NULL. */
struct port *
plan_port(struct plan *plan, uint16_t id);

/* Does the map say which queue is on which lcore? It may leave that to us. */
bool
plan_map_has_queues(const struct options *options);

#endif
