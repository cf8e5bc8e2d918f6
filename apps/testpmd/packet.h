/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_PACKET_H
#define TESTPMD_PACKET_H

/*
 * The packet that the program makes itself: UDP to the discard port between
 * the addresses that RFC 2544 sets aside, 64 bytes, as testpmd's.
 */

#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#define PACKET_BYTES 64
#define PACKET_PORT 9
#define PACKET_TTL 64

struct packet {
	struct rte_ether_hdr ether;
	struct rte_ipv4_hdr ip;
	struct rte_udp_hdr udp;
	uint8_t payload[PACKET_BYTES - sizeof(struct rte_ether_hdr) -
			sizeof(struct rte_ipv4_hdr) -
			sizeof(struct rte_udp_hdr)];
};

static inline void
packet_init(struct packet *p, const struct rte_ether_addr *src,
	    const struct rte_ether_addr *dst)
{
	static_assert(sizeof(*p) == PACKET_BYTES, "padding in packet");
	struct rte_ipv4_hdr ip = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(PACKET_BYTES -
						 sizeof(struct rte_ether_hdr)),
		.time_to_live = PACKET_TTL,
		.next_proto_id = IPPROTO_UDP,
		.src_addr = rte_cpu_to_be_32(RTE_IPV4(198u, 18, 0, 1)),
		.dst_addr = rte_cpu_to_be_32(RTE_IPV4(198u, 18, 0, 2)),
	};

	memset(p, 0, sizeof(*p));
	p->ether.src_addr = *src;
	p->ether.dst_addr = *dst;
	p->ether.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4);
	ip.hdr_checksum = rte_ipv4_cksum(&ip);
	p->ip = ip;
	p->udp.src_port = rte_cpu_to_be_16(PACKET_PORT);
	p->udp.dst_port = rte_cpu_to_be_16(PACKET_PORT);
	p->udp.dgram_len =
		rte_cpu_to_be_16(sizeof(p->udp) + sizeof(p->payload));
}

/* Writes the packet into n mbufs fresh from the pool. */
static inline void
packet_write_bulk(const struct packet *p, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++) {
		memcpy(rte_pktmbuf_mtod(pkts[i], void *), p, PACKET_BYTES);
		pkts[i]->data_len = PACKET_BYTES;
		pkts[i]->pkt_len = PACKET_BYTES;
		pkts[i]->l2_len = sizeof(struct rte_ether_hdr);
		pkts[i]->l3_len = sizeof(struct rte_ipv4_hdr);
	}
}

#endif
