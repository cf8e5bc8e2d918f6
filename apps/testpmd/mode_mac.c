/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * mac: the sending port's address becomes the source, its peer's the target. A
 * packet without an Ethernet header goes on as it is.
 */

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "forward.h"

static uint16_t
mac_set(void *arg, struct rte_mbuf **pkts, uint16_t n)
{
	const struct stream *s = arg;
	const struct rte_ether_addr src = s->src;
	const struct rte_ether_addr dst = s->dst;
	struct rte_ether_hdr *ether;
	uint16_t i;

	for (i = 0; i < n; i++) {
		if (i + 1 < n)
			rte_prefetch0(rte_pktmbuf_mtod(pkts[i + 1], void *));
		ask_for_nothing(pkts[i]);
		if (!has_addresses(pkts[i]))
			continue;
		ether = rte_pktmbuf_mtod(pkts[i], struct rte_ether_hdr *);
		rte_ether_addr_copy(&dst, &ether->dst_addr);
		rte_ether_addr_copy(&src, &ether->src_addr);
	}
	return n;
}

const struct forward_mode forward_mode_mac = {
	.name = "mac",
	.receives = true,
	.sends = true,
	.change = mac_set,
	.task = FORWARD_TASK("mac", stream_forward),
};
