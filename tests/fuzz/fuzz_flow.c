/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Packets of any form to weir-flows, in memory of exactly their size: a packet's flow is
 * the same in one segment and in two, wherever it is cut, and nothing of the packet is
 * changed.
 */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../../apps/flows/flows.h"

static struct rte_mbuf
segment(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size);

	fuzz_check(size == 0 || bytes != NULL);
	if (size > 0)
		memcpy(bytes, data, size);
	return (struct rte_mbuf){
		.buf_addr = bytes,
		.data_len = (uint16_t)size,
		.pkt_len = (uint32_t)size,
		.nb_segs = 1,
	};
}

static uint32_t
hash_whole(const uint8_t *data, size_t size)
{
	struct rte_mbuf m = segment(data, size);
	uint32_t hash = flow_hash(&m);

	fuzz_check(size == 0 || memcmp(m.buf_addr, data, size) == 0);
	free(m.buf_addr);
	return hash;
}

static uint32_t
hash_cut(const uint8_t *data, size_t size, size_t cut)
{
	struct rte_mbuf first = segment(data, cut);
	struct rte_mbuf second = segment(data + cut, size - cut);
	uint32_t hash;

	first.next = &second;
	first.nb_segs = 2;
	first.pkt_len = (uint32_t)size;
	hash = flow_hash(&first);
	free(first.buf_addr);
	free(second.buf_addr);
	return hash;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t cut;

	if (size < 1 || size > UINT16_MAX)
		return 0;
	cut = data[0] % size;
	data++;
	size--;
	fuzz_check(hash_whole(data, size) == hash_cut(data, size, cut));
	return 0;
}
