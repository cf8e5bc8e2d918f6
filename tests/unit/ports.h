/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PORTS_H
#define PORTS_H

/*
 * Two net_ring ports: what is sent to one can be received from it, and the ring
 * in between is at hand.
 */

#include "unit.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/race.h"
#include "weir_ethdev.h"
#include "weir_task.h"

#define PORTS 2
#define QUEUES 2
/* What the ring of a queue holds. */
#define PORT_RING 1023
#define UNKNOWN_PORT 30
/* As a timeout in us: longer than any test. */
#define FOR_EVER 100000000

extern struct rte_mempool *pool;
extern uint16_t ports[PORTS];
/* Behind queue 0 of each port. */
extern struct rte_ring *rings[PORTS];

/* For the group of tests: EAL and the ports. */
int
ports_start(void **state);
/* The ports alone; EAL has been started. */
void
ports_open(void);
/*
 * For each test: rig_teardown(), and every packet must be back; no two threads may
 * have been in a queue's receive function (rxq.c, X1).
 */
int
ports_teardown(void **state);
/* How often a second one was, since one asked. */
unsigned int
ports_overlaps(void);

#define PORTS_TEST(name, workers) \
	UNIT_TEST(name, rig_setup, ports_teardown, workers)
#define PORTS_TESTS(name) \
	PORTS_TEST(name, 1), PORTS_TEST(name, 2), PORTS_TEST(name, 3)

/*
 * The number in a packet, by which its place in the order is told. To be asked
 * for before the packet is passed on: net_ring and the pool bring it from one
 * thread to the next.
 */
static inline uint32_t
number_of(const struct rte_mbuf *m)
{
	uint32_t number;

	race_acquire(&pool);
	number = *rte_pktmbuf_mtod(m, uint32_t *);
	race_release(&pool);
	return number;
}

/* The state of a task, and its result, that takes packets until it has those wanted. */
struct ports_receiver {
	struct weir_rxq *rxq;
	uint32_t wanted;
	uint32_t taken;
	uint32_t disorder; /* of them came out of turn */
};
extern const struct weir_task_ops ports_receiver_ops;

struct rte_mbuf *
packet(uint32_t number);
void
packets(struct rte_mbuf **pkts, uint32_t first, unsigned int n);
/* Packets first to end - 1 arrive at port i. */
void
arrive(unsigned int i, uint32_t first, uint32_t end);
/* Takes a packet that port i has sent, and gives its number. */
uint32_t
take_sent(unsigned int i);
/* A task waits for the queue: it is polled then, and not else. */
void
wait_until_polled(struct weir_rxq *rxq);
/* The PMD of a port reports an event. */
void
ports_report(uint16_t port, enum rte_eth_event_type event);
/* The next n packets that port i has sent are first, first + 1, ... */
void
expect_sent(unsigned int i, uint32_t first, unsigned int n);

#endif
