/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_FORWARD_H
#define TESTPMD_FORWARD_H

/* A forwarding mode, one a file (mode_*.c). */

#include <rte_branch_prediction.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#include <weir_ethdev.h>
#include <weir_task.h>

#include "stream.h"

struct forward_mode {
	const char *name;
	bool receives; /* one task for each receive queue */
	bool sends;    /* one task for each transmit queue, if it only sends */
	/* As weir_forward's, for modes of stream_forward(); arg: the stream. */
	uint16_t (*change)(void *arg, struct rte_mbuf **pkts, uint16_t n);
	/* The stream's task; its state is a pointer to the stream. */
	struct weir_task_ops task;
};

extern const struct forward_mode forward_mode_io;
extern const struct forward_mode forward_mode_mac;
extern const struct forward_mode forward_mode_macswap;
extern const struct forward_mode forward_mode_rxonly;
extern const struct forward_mode forward_mode_txonly;

/* Fills the `task` member of a mode. */
#define FORWARD_TASK(mode_name, poll_function)                                \
	{                                                                     \
		.name = "testpmd-" mode_name,                                 \
		.state_size = sizeof(struct stream *), .poll = poll_function, \
		.drop = stream_drop,                                          \
	}

/*
 * Does the frame have two addresses? One that is too short for them goes on as
 * it is: what lies behind it in the mbuf is of a packet that was there before.
 */
static __rte_always_inline bool
has_addresses(const struct rte_mbuf *m)
{
	return likely(m->data_len >= 2 * RTE_ETHER_ADDR_LEN);
}

/*
 * What the NIC found out about a packet that was changed need not be so any
 * more, and no NIC is asked for anything. The lengths are those testpmd sets.
 */
static __rte_always_inline void
ask_for_nothing(struct rte_mbuf *m)
{
	m->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
	m->l2_len = sizeof(struct rte_ether_hdr);
	m->l3_len = sizeof(struct rte_ipv4_hdr);
}

#endif
