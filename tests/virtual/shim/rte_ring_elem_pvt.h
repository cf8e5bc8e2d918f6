/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VIRTUAL_RTE_RING_ELEM_PVT_H
#define VIRTUAL_RTE_RING_ELEM_PVT_H

/*
 * DPDK's header, but in the modes that are included behind it, the RTS mode
 * among them, others may come in while entries are copied: when they are
 * reserved, and nobody sees that yet.
 */

#include <rte_pause.h>

#include_next <rte_ring_elem_pvt.h>

void
virtual_call(const char *name);

static __rte_always_inline void
virtual_ring_enqueue(struct rte_ring *r, uint32_t head, const void *objects,
		     uint32_t size, uint32_t n)
{
	virtual_call("ring enqueue");
	__rte_ring_enqueue_elems(r, head, objects, size, n);
	virtual_call("ring enqueued");
}

static __rte_always_inline void
virtual_ring_dequeue(struct rte_ring *r, uint32_t head, void *objects,
		     uint32_t size, uint32_t n)
{
	virtual_call("ring dequeue");
	__rte_ring_dequeue_elems(r, head, objects, size, n);
	virtual_call("ring dequeued");
}

#define __rte_ring_enqueue_elems virtual_ring_enqueue
#define __rte_ring_dequeue_elems virtual_ring_dequeue

#endif
