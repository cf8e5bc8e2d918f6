/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ETHDEV_PORT_H
#define ETHDEV_PORT_H

/* Which queues of a port are taken, and by which sources, for what happens to the port. */

#include <sys/queue.h>

#include "weir_source.h"

struct rxq_entry {
	TAILQ_ENTRY(rxq_entry) link;
	struct weir_source *source;
	uint16_t port;
	uint16_t queue;
	/* What the queue lacks to have one for itself, for the log; NULL: nothing. */
	const char *no_interrupt;
};

/*
 * Finds out whether it has an interrupt, too. 0, -EBUSY if the queue is a source
 * already, or what ethdev says.
 */
int
weir__port_add(struct rxq_entry *e, struct weir_source *source, uint16_t port,
	       uint16_t queue);
void
weir__port_remove(struct rxq_entry *e);

struct txq_entry {
	TAILQ_ENTRY(txq_entry) link;
	uint16_t port;
	uint16_t queue;
};

/*
 * 0, or -EBUSY if there is one for the queue already, which the port has not been
 * configured to share (RTE_ETH_TX_OFFLOAD_MT_LOCKFREE).
 */
int
weir__port_add_tx(struct txq_entry *e, uint16_t port, uint16_t queue);
void
weir__port_remove_tx(struct txq_entry *e);

#endif
