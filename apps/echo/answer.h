/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef ECHO_ANSWER_H
#define ECHO_ANSWER_H

#include <stdbool.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

/* Who answers; numbers in network byte order. */
struct identity {
	struct rte_ether_addr mac;
	uint32_t ip;
	uint16_t udp_port;
};

/* Is an address that of one station, and the same one whoever looks at it? */
bool
is_one_host(uint32_t ip);

/*
 * Turns a packet into its answer, in place: of ARP requests for the address, and
 * of ICMP echo requests and datagrams to it. False: it is nothing to answer, and
 * is as it was. Whatever the bytes are, none outside of the packet is touched.
 */
bool
answer(struct rte_mbuf *m, const struct identity *me);

#endif
