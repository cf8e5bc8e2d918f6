/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ETHDEV_PORT_H
#define ETHDEV_PORT_H

/* Which receive queues of a port are sources, for what happens to the port. */

#include <sys/queue.h>

#include "weir_source.h"

struct rxq_entry {
	TAILQ_ENTRY(rxq_entry) link;
	struct weir_source *source;
	uint16_t port;
	uint16_t queue;
	bool interrupts; /* the queue has one for itself */
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

#endif
