/* SPDX-License-Identifier: BSD-3-Clause */

/* Makes the channels and the tasks between them, from the last to the first. */

#include <rte_errno.h>

#include "error.h"
#include "flows.h"

static int
refuse(const struct flows_port *port)
{
	int rc = -rte_errno;

	error_line("port %u: %s; give EAL more memory with -m", port->port.id,
		   rte_strerror(rte_errno));
	return rc;
}

unsigned int
flows_mbufs(const struct flows_options *o)
{
	/* In the channel, in the hands of who sends into it, and of who receives. */
	if (o->schedule == FLOWS_ORDERED)
		return (o->nb_bursts + 2) * FLOWS_ORDERED_BURST;
	return o->nb_buckets * (o->capacity + FLOWS_BURST) + 3 * FLOWS_BURST +
	       FLOWS_OUT_CAPACITY;
}

static void
drop_packet(void *value)
{
	rte_pktmbuf_free(*(struct rte_mbuf **)value);
}

static void
drop_handle(void *value)
{
	weir_join_detach(*(struct weir_join **)value);
}

/* Of pointers. */
static int
make_channel(size_t capacity, void (*drop)(void *value),
	     struct weir_sender **sender, struct weir_receiver **receiver)
{
	int rc = weir_channel_create(capacity, sizeof(void *), drop, sender,
				     receiver);

	rte_errno = -rc;
	return rc;
}

/* On the node of the worker that looks after the port. */
static struct weir_spawn_attr
attr_of(struct weir_runtime *rt, unsigned int port)
{
	unsigned int worker = port % weir_runtime_nb_workers(rt);

	return (struct weir_spawn_attr){
		.node_plus_1 = (unsigned int)weir_worker_node(rt, worker) + 1,
	};
}

static int
start_last(struct weir_runtime *rt, struct flows_port *port,
	   const struct flows_options *options,
	   const struct weir_spawn_attr *attr)
{
	const bool ordered = options->schedule == FLOWS_ORDERED;
	struct weir_receiver *from;

	if (make_channel(ordered ? options->nb_bursts : FLOWS_OUT_CAPACITY,
			 ordered ? drop_handle : drop_packet, &port->to_last,
			 &from) < 0)
		return refuse(port);
	port->last = ordered ? merge_spawn(rt, port, from, attr) :
			       out_spawn(rt, port, from, attr);
	if (port->last != NULL)
		return 0;
	weir_receiver_drop(from);
	return refuse(port);
}

/* The last one of the port's. */
static int
start_bucket(struct weir_runtime *rt, struct flows_port *port,
	     struct weir_sender *to_out, const struct flows_options *options,
	     const struct weir_spawn_attr *attr)
{
	struct weir_receiver *from;
	struct weir_sender *to;
	int rc;

	rc = make_channel(options->capacity, drop_packet,
			  &port->buckets[port->nb_buckets], &from);
	if (rc < 0)
		return rc;
	port->nb_buckets++;
	to = weir_sender_clone(to_out);
	rc = bucket_spawn(rt, from, to, options->work, attr);
	if (rc == 0)
		return 0;
	weir_receiver_drop(from);
	weir_sender_drop(to);
	rte_errno = -rc;
	return rc;
}

/* Gives up what spread would have. */
static void
drop_buckets(struct flows_port *port)
{
	while (port->nb_buckets > 0)
		weir_sender_drop(port->buckets[--port->nb_buckets]);
}

static int
start_spread(struct weir_runtime *rt, struct flows_port *port,
	     struct weir_sender *to_out, const struct flows_options *options,
	     const struct weir_spawn_attr *attr)
{
	int rc = 0;

	while (rc == 0 && port->nb_buckets < options->nb_buckets)
		rc = start_bucket(rt, port, to_out, options, attr);
	if (rc == 0)
		port->first = spread_spawn(rt, port, attr);
	if (port->first != NULL)
		return 0;
	rc = refuse(port);
	drop_buckets(port);
	return rc;
}

static int
start_split(struct weir_runtime *rt, struct flows_port *port,
	    struct weir_sender *to_merge, unsigned int work,
	    const struct weir_spawn_attr *attr)
{
	struct weir_sender *to = weir_sender_clone(to_merge);
	int rc;

	port->first = split_spawn(rt, port, to, work, attr);
	if (port->first != NULL)
		return 0;
	rc = refuse(port);
	weir_sender_drop(to);
	return rc;
}

static int
start_all_last(struct weir_runtime *rt, struct flows_port *ports,
	       unsigned int n, const struct flows_options *options)
{
	struct weir_spawn_attr attr;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < n && rc == 0; i++) {
		attr = attr_of(rt, i);
		rc = start_last(rt, &ports[i], options, &attr);
	}
	return rc;
}

static int
start_all_first(struct weir_runtime *rt, struct flows_port *ports,
		unsigned int n, const struct flows_options *options)
{
	struct weir_spawn_attr attr;
	unsigned int i, to;
	int rc = 0;

	for (i = 0; i < n && rc == 0; i++) {
		attr = attr_of(rt, i);
		to = (i ^ 1) < n ? i ^ 1 : i;
		rc = options->schedule == FLOWS_ORDERED ?
			     start_split(rt, &ports[i], ports[to].to_last,
					 options->work, &attr) :
			     start_spread(rt, &ports[i], ports[to].to_last,
					  options, &attr);
	}
	return rc;
}

int
flows_start(struct weir_runtime *rt, struct flows_port *ports, unsigned int n,
	    const struct flows_options *options)
{
	unsigned int i;
	int rc;

	rc = start_all_last(rt, ports, n, options);
	if (rc == 0)
		rc = start_all_first(rt, ports, n, options);
	/* Others have theirs, with the last of which those end. */
	for (i = 0; i < n; i++)
		weir_sender_drop(ports[i].to_last);
	return rc;
}
