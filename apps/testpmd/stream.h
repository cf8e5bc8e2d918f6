/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_STREAM_H
#define TESTPMD_STREAM_H

/*
 * A stream: the task that takes packets from one receive queue and sends them
 * on one transmit queue of its own, so that neither needs a lock.
 */

#include <stdint.h>

#include <rte_common.h>
#include <rte_ether.h>

#include <weir_ethdev.h>
#include <weir_runtime.h>

struct forward_mode;
struct options;
struct plan;
struct port;

struct stream {
	/*
	 * Its queues, burst and counts; no rxq in txonly mode, no txq in rxonly mode.
	 * As what comes next, but for the counts.
	 */
	struct weir_forward forward;
	/* Written before the task starts, then only read, by its worker. */
	struct rte_mempool *pool;  /* txonly mode's packets */
	struct rte_ether_addr src; /* the sending port */
	struct rte_ether_addr dst; /* its peer */

	/*
	 * Written by the worker that runs the task, one at a time; read by the
	 * main lcore once it has the task's outcome.
	 */
	uint64_t consumed;	  /* received, and not to be sent */
	uint64_t generated;	  /* sent without having been received */
	uint64_t no_mbufs;	  /* times that txonly mode found none */
	struct weir_txq_stats tx; /* the last, when the handle was freed */

	/* The main lcore's. */
	const struct port *rx_port;
	const struct port *tx_port;
	uint16_t queue;
	unsigned int worker;
	struct weir_join *join; /* NULL: not started, or the outcome is known */
	int outcome;
} __rte_cache_aligned;

/*
 * Makes a stream for each entry of the plan, and its queue handles.
 *
 * Returns the streams, or NULL after an error line.
 */
struct stream **
streams_create(const struct plan *plan, const struct options *options,
	       struct weir_runtime *rt);

/* Spawns the tasks. Returns 0 or -errno, after an error line. */
int
streams_start(struct stream **streams, unsigned int n,
	      const struct forward_mode *mode, struct weir_runtime *rt);

/*
 * Looks which streams have ended, keeping and, unless quiet, printing their
 * outcomes. Returns the number of those that go on.
 */
unsigned int
streams_poll(struct stream **streams, unsigned int n, bool quiet);

/*
 * Tells all streams to end: they still forward what was received for them, and
 * streams_poll() says when they are done.
 */
void
streams_stop(struct stream **streams, unsigned int n);

/* Ends the streams that send to a port which is gone. */
void
streams_port_gone(struct stream **streams, unsigned int n,
		  const struct port *port);

/* Frees the streams and their handles; after the runtime's shutdown. */
void
streams_free(struct stream **streams, unsigned int n);

/* The poll function of streams that receive and send. */
int
stream_forward(struct weir_context *ctx, void *state);

/* The drop function of every stream's task. */
void
stream_drop(void *state);

#endif
