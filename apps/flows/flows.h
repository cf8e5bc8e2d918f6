/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FLOWS_FLOWS_H
#define FLOWS_FLOWS_H

/*
 * The packets of one receive queue, for several workers at once. What is in brackets is a
 * task, which any worker may run. DPDK's event devices have the same names for the two
 * ways that there are.
 *
 * Atomic: each flow in its order, and one worker at a time for it.
 *
 *	queue -> [spread] -> channels -> [bucket]s -> channel -> [out] -> queue
 *
 * A flow's packets all go through the same bucket, by their hash; so they are in the order
 * of channels from end to end.
 *
 * Ordered: all in their order, but several workers at once, also for one flow.
 *
 *	queue -> [split] -> [burst]s -> [merge] -> queue
 *	            \-> channel of handles -^
 *
 * Each burst is a new task. Their handles go through a channel, and are awaited one after
 * the other.
 *
 * What a task does not take waits in the channel before it, and when that is full so does
 * who sends into it, up to the receive queue, where the NIC counts what is lost.
 *
 * It ends from its beginning: who ends gives its ends of channels up, and who receives
 * gets what is in them before it ends, too.
 */

#include <rte_mbuf.h>

#include <weir_channel.h>

#include "plain_port.h"

/*
 * What a task takes in one turn, where each packet is a unit. What receives is to keep the
 * others busy until its next turn, which comes when they have had theirs. Smaller: some
 * have nothing to do meanwhile. Larger: other ports wait for longer.
 */
#define FLOWS_BUDGET 512u

/*
 * Atomic: packets that a task takes at a time. Smaller: fewer are each bucket's, and what
 * a channel costs comes with each few. Larger: others wait for longer.
 */
#define FLOWS_BURST 64
#define FLOWS_BUCKETS_MAX 256u
/* Packets in front of an out. Larger: more of them wait there. */
#define FLOWS_OUT_CAPACITY 1024u

/*
 * Ordered: packets of a task. Smaller: what a task costs comes with each few. Larger:
 * there are fewer tasks for the others to take.
 */
#define FLOWS_ORDERED_BURST 32

enum flows_schedule {
	FLOWS_ATOMIC,
	FLOWS_ORDERED,
};

struct flows_options {
	enum flows_schedule schedule;
	unsigned int nb_buckets;   /* atomic: of each port, 1 to the most */
	unsigned int capacity;	   /* atomic: packets in front of a bucket */
	unsigned int nb_bursts;	   /* ordered: of each port, at once */
	unsigned int work;	   /* steps that a packet takes */
	unsigned int stats_period; /* seconds between two prints; 0: none */
};

/* What a port has counted, and when that was so. */
struct flows_reading {
	uint64_t received;
	uint64_t sent;
	uint64_t tsc;
};

/* A port, and the tasks that receive from it and send to it. */
struct flows_port {
	struct plain_port port;
	struct weir_sender *buckets[FLOWS_BUCKETS_MAX]; /* spread's */
	unsigned int nb_buckets;
	struct weir_join *first;      /* what receives */
	uint64_t received;	      /* by it */
	struct weir_sender *to_last;  /* until those before it have theirs */
	struct weir_join *last;	      /* what sends */
	struct weir_txq_stats sent;   /* when that has ended */
	struct flows_reading reading; /* rates.c's */
};

/* Ordered: the packets of a burst. */
struct flows_burst {
	unsigned int n;
	struct rte_mbuf *pkts[FLOWS_ORDERED_BURST];
};

/* start.c: how many packets of a port its channels and tasks may hold at once. */
unsigned int
flows_mbufs(const struct flows_options *options);

/*
 * start.c: starts the tasks of ports whose queues are the runtime's, which forward in
 * pairs. 0, or -errno with one line on stderr; those that have started go on until their
 * ports' sources are closed.
 */
int
flows_start(struct weir_runtime *rt, struct flows_port *ports, unsigned int n,
	    const struct flows_options *options);

/* flow.c: the same for all packets of a flow. */
uint32_t
flow_hash(const struct rte_mbuf *m);

/*
 * spread.c: receives, and sends each packet to its flow's bucket. Ends as the receive
 * queue does. NULL with rte_errno: the port's buckets are the caller's still.
 */
struct weir_join *
spread_spawn(struct weir_runtime *rt, struct flows_port *port,
	     const struct weir_spawn_attr *attr);

/*
 * bucket.c: does what is to be done to each packet, `work` steps, and passes it on. Owns
 * both ends; 0, or -errno: they are the caller's still.
 */
int
bucket_spawn(struct weir_runtime *rt, struct weir_receiver *from,
	     struct weir_sender *to, unsigned int work,
	     const struct weir_spawn_attr *attr);

/* out.c: sends to the port what comes. Owns `from`. NULL with rte_errno: it does not. */
struct weir_join *
out_spawn(struct weir_runtime *rt, struct flows_port *port,
	  struct weir_receiver *from, const struct weir_spawn_attr *attr);

/*
 * split.c: receives, has a task work on each burst, and sends that one's handle. Ends as
 * the receive queue does. Owns `to`. NULL with rte_errno: it does not.
 */
struct weir_join *
split_spawn(struct weir_runtime *rt, struct flows_port *port,
	    struct weir_sender *to, unsigned int work,
	    const struct weir_spawn_attr *attr);

/*
 * burst.c: does to each of the packets what is to be done, and has them for its result.
 * NULL with rte_errno: they are the caller's still.
 */
struct weir_join *
burst_spawn(struct weir_runtime *rt, const struct flows_burst *pkts,
	    unsigned int work);

/*
 * merge.c: sends to the port what the tasks have for their results, in the order of their
 * handles. Owns `from`. NULL with rte_errno: it does not.
 */
struct weir_join *
merge_spawn(struct weir_runtime *rt, struct flows_port *port,
	    struct weir_receiver *from, const struct weir_spawn_attr *attr);

/* rates.c: prints what it has received and sent a second since the last time. */
void
rates_begin(struct flows_port *port);
void
rates_print(struct flows_port *port);

#endif
