/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ETHDEV_RXQ_H
#define ETHDEV_RXQ_H

/* A receive queue; see rxq.c. */

#include "port.h"
#include "weir_ethdev.h"

struct weir_rxq {
	uint16_t port;
	uint16_t queue;
	uint16_t room; /* of the stash */
	/* The stash: pkts[first] to pkts[end - 1]. */
	uint16_t first;
	uint16_t end;
	struct rxq_entry entry; /* port.c */
	int16_t last_error;	/* X5: it ends with this errno; 0: it goes on */
	uint32_t left;		/* X5: so many packets are still asked for */
	int interrupt;		/* its fd; -1: it was not looked at yet */
	bool counts; /* which is an eventfd that can be read at any time */
	struct rte_mbuf *pkts[];
};

/*
 * Ends a wait that has begun, where there is something in the stash, or the source is
 * finished, closed or alerted.
 */
__rte_cold int
weir__rxq_recv_rare(struct weir_context *ctx, struct weir_rxq *rxq,
		    struct rte_mbuf **pkts, uint16_t n);

#endif
