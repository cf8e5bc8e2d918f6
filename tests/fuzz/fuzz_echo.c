/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets of any form to weir-echo, in memory of exactly their size. What is
 * answered goes back to its sender, comes from us, and is not answered again.
 */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ip.h>

#include "../../apps/echo/answer.h"

static const struct identity me = {
	.mac = { { 2, 0, 0, 0, 0, 1 } },
	.ip = RTE_BE32(0x0a000001),
	.udp_port = RTE_BE16(7),
};

/* An answer to these would go to many, or nowhere. */
static bool
is_from_one_host(const uint8_t *data)
{
	const struct rte_ether_hdr *eth = (const struct rte_ether_hdr *)data;
	uint8_t net;

	if (eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4))
		return true;
	net = data[sizeof(*eth) + offsetof(struct rte_ipv4_hdr, src_addr)];
	return net != 0 && net != 127 && net < 224;
}

/* So that inputs need not guess sums. */
static void
mend_checksum(uint8_t *data, size_t size)
{
	struct rte_ipv4_hdr *ip;

	if (size < sizeof(struct rte_ether_hdr) + sizeof(*ip))
		return;
	ip = (struct rte_ipv4_hdr *)(data + sizeof(struct rte_ether_hdr));
	if (sizeof(struct rte_ether_hdr) + rte_ipv4_hdr_len(ip) > size)
		return;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = (uint16_t)~rte_raw_cksum(ip, rte_ipv4_hdr_len(ip));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rte_mbuf m = { .nb_segs = 1 };
	uint8_t *bytes, *before;
	struct rte_ether_hdr *eth;

	if (size < 1 || size > UINT16_MAX)
		return 0;
	bytes = malloc(size - 1);
	before = malloc(size - 1);
	fuzz_check(size == 1 || (bytes != NULL && before != NULL));
	memcpy(bytes, data + 1, size - 1);
	if (data[0] % 2 == 0)
		mend_checksum(bytes, size - 1);
	memcpy(before, bytes, size - 1);
	m.buf_addr = bytes;
	m.data_len = (uint16_t)(size - 1);
	m.pkt_len = m.data_len;
	eth = (struct rte_ether_hdr *)bytes;
	if (!answer(&m, &me)) {
		fuzz_check(size == 1 || memcmp(bytes, before, size - 1) == 0);
	} else {
		fuzz_check(rte_is_same_ether_addr(&eth->src_addr, &me.mac));
		fuzz_check(memcmp(&eth->dst_addr, before + RTE_ETHER_ADDR_LEN,
				  RTE_ETHER_ADDR_LEN) == 0);
		fuzz_check(is_from_one_host(before));
		/* Else two of us would go on for ever. */
		eth->dst_addr = me.mac;
		fuzz_check(!answer(&m, &me));
	}
	free(bytes);
	free(before);
	return 0;
}
