/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FLOWS_FLOWS_H
#define FLOWS_FLOWS_H

/*
 * The packets of one receive queue, for several workers at once, with each flow's in
 * order:
 *
 *	queue -> [spread] -> channels -> [bucket]s -> channel -> [out] -> queue
 *
 * What is in brackets is a task, which any worker may run. A flow's packets all go
 * through the same bucket, by their hash; so they are in the order of channels from end
 * to end. What a task does not take waits in the channel before it, and when that is full
 * so does who sends into it, up to the receive queue, where the NIC counts what is lost.
 *
 * It ends from its beginning: who ends gives its ends of channels up, and who receives
 * gets what is in them before it ends, too.
 */

#include <rte_mbuf.h>

#include <weir_channel.h>

#include "plain_port.h"

/*
 * Packets that a task takes at a time. Smaller: fewer are each bucket's, and what a
 * channel costs comes with each few. Larger: others wait for longer, and a poll's budget
 * is spent before what was received has been sent on.
 */
#define FLOWS_BURST 64
#define FLOWS_BUCKETS_MAX 256u
/* Packets in front of a bucket, and of an out. Larger: more of them wait there. */
#define FLOWS_BUCKET_CAPACITY 128u
#define FLOWS_OUT_CAPACITY 1024u
/* In channels and tasks, of one port's packets. */
#define FLOWS_MBUFS(nb_buckets)                                 \
	((nb_buckets) * (FLOWS_BUCKET_CAPACITY + FLOWS_BURST) + \
	 3 * FLOWS_BURST + FLOWS_OUT_CAPACITY)

struct flows_options {
	unsigned int nb_buckets;   /* of each port, 1 to FLOWS_BUCKETS_MAX */
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
	uint64_t received; /* by spread */
	struct weir_join *spread;
	struct weir_sender *to_out; /* until all buckets have theirs */
	struct weir_join *out;
	struct weir_txq_stats sent;   /* when out has ended */
	struct flows_reading reading; /* rates.c's */
};

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

/* rates.c: prints what it has received and sent a second since the last time. */
void
rates_begin(struct flows_port *port);
void
rates_print(struct flows_port *port);

#endif
