/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ECHO_ECHO_H
#define ECHO_ECHO_H

#include "answer.h"
#include "plain_port.h"

#define ECHO_BURST 32

/* A port, and what its fiber counts. */
struct echo_port {
	struct plain_port port;
	struct identity me;
	uint64_t received, answered;
	struct weir_join *join;
};

/*
 * Answers what the port receives, from the node of the worker that looks after
 * its receive queue. NULL with rte_errno.
 */
struct weir_join *
echo_spawn(struct weir_runtime *rt, struct echo_port *port,
	   unsigned int worker);

#endif
