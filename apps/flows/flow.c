/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a flow is: packets between the same two addresses and ports, or between the same
 * two addresses where there are no ports. A fragment has none, so fragments keep their
 * order among themselves, and not with whole packets of their flow: as with NICs.
 */

#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_jhash.h>
#include <rte_net.h>

#include "flows.h"

#define PORTS_BYTES 4
#define ADDRESSES_MAX (2 * 16)

/*
 * Of n bytes there, and what is before; the latter alone where the packet ends sooner.
 * They are copied, since rte_jhash() wants words that are aligned.
 */
static uint32_t
hash_at(const struct rte_mbuf *m, uint32_t at, uint32_t n, uint32_t before)
{
	uint32_t words[ADDRESSES_MAX / sizeof(uint32_t)];
	const void *bytes = rte_pktmbuf_read(m, at, n, words);

	if (bytes == NULL)
		return before;
	if (bytes != words)
		memcpy(words, bytes, n);
	return rte_jhash(words, n, before);
}

static uint32_t
hash_addresses(const struct rte_mbuf *m, uint32_t ptype, uint32_t l3)
{
	if (RTE_ETH_IS_IPV4_HDR(ptype))
		return hash_at(m, l3 + offsetof(struct rte_ipv4_hdr, src_addr),
			       2 * sizeof(uint32_t), 0);
	if (RTE_ETH_IS_IPV6_HDR(ptype))
		return hash_at(m, l3 + offsetof(struct rte_ipv6_hdr, src_addr),
			       ADDRESSES_MAX, 0);
	return hash_at(m, 0, 2 * RTE_ETHER_ADDR_LEN, 0);
}

static bool
has_ports(uint32_t ptype)
{
	const uint32_t l4 = ptype & RTE_PTYPE_L4_MASK;

	return l4 == RTE_PTYPE_L4_TCP || l4 == RTE_PTYPE_L4_UDP ||
	       l4 == RTE_PTYPE_L4_SCTP;
}

uint32_t
flow_hash(const struct rte_mbuf *m)
{
	struct rte_net_hdr_lens lens = { 0 };
	uint32_t ptype, hash;

	/* The NIC knows. */
	if (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH)
		return m->hash.rss;
	ptype = rte_net_get_ptype(m, &lens,
				  RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK |
					  RTE_PTYPE_L4_MASK);
	hash = hash_addresses(m, ptype, lens.l2_len);
	if (has_ports(ptype))
		hash = hash_at(m, lens.l2_len + lens.l3_len, PORTS_BYTES, hash);
	return hash;
}
