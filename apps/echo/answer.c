/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * ARP (RFC 826), ICMP echo (RFC 792) and the echo protocol (RFC 862).
 *
 * A packet is looked at from the outside in: each header only once the packet is
 * known to hold it. Fragments are left alone, and so is what comes from, or is
 * for, more than one station: to answer that would be to help in a flood.
 */

#include <netinet/in.h>

#include <rte_arp.h>
#include <rte_byteorder.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "answer.h"

#define TTL 64
/* RFC 862: what comes from it may be an answer of another. */
#define ECHO_PORT RTE_BE16(7)

/* As newer releases of DPDK call them, which deprecate the others. */
#ifndef RTE_ICMP_TYPE_ECHO_REQUEST
#define RTE_ICMP_TYPE_ECHO_REQUEST RTE_IP_ICMP_ECHO_REQUEST
#define RTE_ICMP_TYPE_ECHO_REPLY RTE_IP_ICMP_ECHO_REPLY
#endif

/* The header at `at`, or NULL if the packet ends before it does. */
#define header_at(m, type, at)                                \
	((at) + sizeof(type) <= rte_pktmbuf_data_len(m) ?     \
		 rte_pktmbuf_mtod_offset((m), type *, (at)) : \
		 NULL)

/* Back to where it came from. */
static void
turn_round(struct rte_ether_hdr *eth, const struct identity *me)
{
	eth->dst_addr = eth->src_addr;
	eth->src_addr = me->mac;
}

static bool
answer_arp(struct rte_mbuf *m, struct rte_ether_hdr *eth,
	   const struct identity *me)
{
	struct rte_arp_hdr *arp =
		header_at(m, struct rte_arp_hdr, sizeof(*eth));
	struct rte_arp_ipv4 *data;

	if (arp == NULL || arp->arp_hardware != RTE_BE16(RTE_ARP_HRD_ETHER) ||
	    arp->arp_protocol != RTE_BE16(RTE_ETHER_TYPE_IPV4) ||
	    arp->arp_hlen != RTE_ETHER_ADDR_LEN ||
	    arp->arp_plen != sizeof(uint32_t) ||
	    arp->arp_opcode != RTE_BE16(RTE_ARP_OP_REQUEST))
		return false;
	data = &arp->arp_data;
	if (data->arp_tip != me->ip)
		return false;
	arp->arp_opcode = RTE_BE16(RTE_ARP_OP_REPLY);
	data->arp_tha = data->arp_sha;
	data->arp_tip = data->arp_sip;
	data->arp_sha = me->mac;
	data->arp_sip = me->ip;
	turn_round(eth, me);
	return true;
}

/* RFC 1122, 3.2.1.3. */
bool
is_one_host(uint32_t ip)
{
	unsigned int net = rte_be_to_cpu_32(ip) >> 24;

	return net != 0 && net != IN_LOOPBACKNET && net < 224;
}

/* A whole datagram of IPv4 for this station, or NULL. */
static struct rte_ipv4_hdr *
ipv4_of(const struct rte_mbuf *m, const struct rte_ether_hdr *eth,
	const struct identity *me)
{
	struct rte_ipv4_hdr *ip =
		header_at(m, struct rte_ipv4_hdr, sizeof(*eth));
	uint16_t length, total;

	if (ip == NULL || ip->version_ihl >> 4 != 4)
		return NULL;
	length = rte_ipv4_hdr_len(ip);
	total = rte_be_to_cpu_16(ip->total_length);
	if (length < sizeof(*ip) || total < length ||
	    sizeof(*eth) + total > rte_pktmbuf_data_len(m))
		return NULL;
	if (ip->dst_addr != me->ip || ip->src_addr == me->ip ||
	    !is_one_host(ip->src_addr) ||
	    (ip->fragment_offset &
	     RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK)) != 0)
		return NULL;
	/* What is right sums up to all ones. */
	return rte_raw_cksum(ip, length) == 0xffff ? ip : NULL;
}

static bool
answer_icmp(struct rte_icmp_hdr *icmp, uint16_t length)
{
	if (length < sizeof(*icmp) ||
	    icmp->icmp_type != RTE_ICMP_TYPE_ECHO_REQUEST ||
	    icmp->icmp_code != 0 || rte_raw_cksum(icmp, length) != 0xffff)
		return false;
	icmp->icmp_type = RTE_ICMP_TYPE_ECHO_REPLY;
	icmp->icmp_cksum = 0;
	icmp->icmp_cksum = (uint16_t)~rte_raw_cksum(icmp, length);
	return true;
}

/*
 * The sum is over what does not change. There may be none; and a sender on this
 * machine may have left it to a NIC, with only the pseudo-header's in its place.
 */
static bool
mend_udp_sum(const struct rte_ipv4_hdr *ip, struct rte_udp_hdr *udp)
{
	const struct {
		uint32_t src, dst;
		uint16_t protocol, length;
	} pseudo = { ip->src_addr, ip->dst_addr, RTE_BE16(IPPROTO_UDP),
		     udp->dgram_len };
	uint32_t sum = rte_raw_cksum(&pseudo, sizeof(pseudo));

	if (udp->dgram_cksum == 0)
		return true;
	if (udp->dgram_cksum == sum) {
		udp->dgram_cksum = 0;
		return true;
	}
	sum += rte_raw_cksum(udp, rte_be_to_cpu_16(udp->dgram_len));
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

static bool
answer_udp(const struct rte_ipv4_hdr *ip, struct rte_udp_hdr *udp,
	   uint16_t length, const struct identity *me)
{
	uint16_t port;

	if (length < sizeof(*udp) ||
	    rte_be_to_cpu_16(udp->dgram_len) < sizeof(*udp) ||
	    rte_be_to_cpu_16(udp->dgram_len) > length ||
	    udp->dst_port != me->udp_port || udp->src_port == 0 ||
	    /* Two that echo would never end. */
	    udp->src_port == me->udp_port || udp->src_port == ECHO_PORT ||
	    !mend_udp_sum(ip, udp))
		return false;
	port = udp->src_port;
	udp->src_port = udp->dst_port;
	udp->dst_port = port;
	return true;
}

static bool
answer_ipv4(struct rte_mbuf *m, struct rte_ether_hdr *eth,
	    const struct identity *me)
{
	struct rte_ipv4_hdr *ip = ipv4_of(m, eth, me);
	uint16_t length, total;
	void *payload;

	if (ip == NULL || !rte_is_same_ether_addr(&eth->dst_addr, &me->mac))
		return false;
	length = rte_ipv4_hdr_len(ip);
	total = rte_be_to_cpu_16(ip->total_length);
	payload = RTE_PTR_ADD(ip, length);
	if (ip->next_proto_id == IPPROTO_ICMP) {
		if (!answer_icmp(payload, total - length))
			return false;
	} else if (ip->next_proto_id != IPPROTO_UDP ||
		   !answer_udp(ip, payload, total - length, me)) {
		return false;
	}
	ip->dst_addr = ip->src_addr;
	ip->src_addr = me->ip;
	ip->time_to_live = TTL;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (uint16_t)~rte_raw_cksum(ip, length);
	turn_round(eth, me);
	return true;
}

bool
answer(struct rte_mbuf *m, const struct identity *me)
{
	struct rte_ether_hdr *eth = header_at(m, struct rte_ether_hdr, 0);

	/* Headers lie in the first segment, and so does all of what we answer. */
	if (eth == NULL || m->nb_segs != 1 ||
	    !rte_is_unicast_ether_addr(&eth->src_addr))
		return false;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		return answer_arp(m, eth, me);
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return answer_ipv4(m, eth, me);
	return false;
}
