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

/* What of a packet is hashed: at most the addresses of IPv6, and ports. */
struct key {
	uint32_t words[(ADDRESSES_MAX + PORTS_BYTES) / sizeof(uint32_t)];
	uint32_t n;
};

/* Copies n bytes of the packet, unless it ends sooner. */
static void
take(struct key *key, const struct rte_mbuf *m, uint32_t at, uint32_t n)
{
	void *to = &key->words[key->n];
	const void *bytes = rte_pktmbuf_read(m, at, n, to);

	if (bytes == NULL)
		return;
	if (bytes != to)
		memcpy(to, bytes, n);
	key->n += n / sizeof(uint32_t);
}

static void
take_addresses(struct key *key, const struct rte_mbuf *m, uint32_t ptype,
	       uint32_t l3)
{
	if (RTE_ETH_IS_IPV4_HDR(ptype))
		take(key, m, l3 + offsetof(struct rte_ipv4_hdr, src_addr),
		     2 * sizeof(uint32_t));
	else if (RTE_ETH_IS_IPV6_HDR(ptype))
		take(key, m, l3 + offsetof(struct rte_ipv6_hdr, src_addr),
		     ADDRESSES_MAX);
	else
		take(key, m, 0, 2 * RTE_ETHER_ADDR_LEN);
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
	struct key key;
	uint32_t ptype;

	/* The NIC knows. */
	if (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH)
		return m->hash.rss;
	ptype = rte_net_get_ptype(m, &lens,
				  RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK |
					  RTE_PTYPE_L4_MASK);
	key.n = 0;
	take_addresses(&key, m, ptype, lens.l2_len);
	if (has_ports(ptype))
		take(&key, m, lens.l2_len + lens.l3_len, PORTS_BYTES);
	return rte_jhash_32b(key.words, key.n, 0);
}
