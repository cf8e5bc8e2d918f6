/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * macswap: source and destination address change places. A packet without an
 * Ethernet header goes on as it is.
 */

#include <string.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "forward.h"

/*
 * Both addresses at once, in two words that overlap: half the loads and stores
 * of copying them one after the other.
 */
static __rte_always_inline void
swap_addresses(uint8_t *ether)
{
#if RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN
	uint64_t head, tail;
	uint32_t rest;

	memcpy(&head, ether, sizeof(head));
	memcpy(&tail, ether + 4, sizeof(tail));
	rest = (uint32_t)(head >> 16);
	head = tail >> 16 | head << 48;
	memcpy(ether, &head, sizeof(head));
	memcpy(ether + sizeof(head), &rest, sizeof(rest));
#else
	struct rte_ether_hdr *header = (struct rte_ether_hdr *)ether;
	struct rte_ether_addr dst = header->dst_addr;

	header->dst_addr = header->src_addr;
	header->src_addr = dst;
#endif
}

static uint16_t
macswap_set(void *arg, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + 1], void *));
		ask_for_nothing(pkts[i]);
		if (has_addresses(pkts[i]))
			swap_addresses(rte_pktmbuf_mtod(pkts[i], uint8_t *));
	}
	return n;
}

const struct forward_mode forward_mode_macswap = {
	.name = "macswap",
	.receives = true,
	.sends = true,
	.change = macswap_set,
	.task = FORWARD_TASK("macswap", stream_forward),
};
