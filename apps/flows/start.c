/* SPDX-License-Identifier: BSD-3-Clause */

/* Makes the channels and the tasks between them, from the last to the first. */

#include <rte_errno.h>

#include "error.h"
#include "flows.h"

static int
refuse(const struct flows_port *port)
{
	int rc = -rte_errno;

	error_line(
		"port %u: %s; lower --buckets or give EAL more memory with -m",
		port->port.id, rte_strerror(rte_errno));
	return rc;
}

static void
drop_packet(void *value)
{
	rte_pktmbuf_free(*(struct rte_mbuf **)value);
}

static int
make_channel(size_t capacity, struct weir_sender **sender,
	     struct weir_receiver **receiver)
{
	int rc = weir_channel_create(capacity, sizeof(struct rte_mbuf *),
				     drop_packet, sender, receiver);

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
start_out(struct weir_runtime *rt, struct flows_port *port,
	  const struct weir_spawn_attr *attr)
{
	struct weir_receiver *from;

	if (make_channel(FLOWS_OUT_CAPACITY, &port->to_out, &from) < 0)
		return refuse(port);
	port->out = out_spawn(rt, port, from, attr);
	if (port->out != NULL)
		return 0;
	weir_receiver_drop(from);
	return refuse(port);
}

/* The last one of the port's. */
static int
start_bucket(struct weir_runtime *rt, struct flows_port *port,
	     struct weir_sender *to_out, unsigned int work,
	     const struct weir_spawn_attr *attr)
{
	struct weir_receiver *from;
	struct weir_sender *to;
	int rc;

	rc = make_channel(FLOWS_BUCKET_CAPACITY,
			  &port->buckets[port->nb_buckets], &from);
	if (rc < 0)
		return rc;
	port->nb_buckets++;
	to = weir_sender_clone(to_out);
	rc = bucket_spawn(rt, from, to, work, attr);
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
		rc = start_bucket(rt, port, to_out, options->work, attr);
	if (rc == 0)
		port->spread = spread_spawn(rt, port, attr);
	if (port->spread != NULL)
		return 0;
	rc = refuse(port);
	drop_buckets(port);
	return rc;
}

static int
start_outs(struct weir_runtime *rt, struct flows_port *ports, unsigned int n)
{
	struct weir_spawn_attr attr;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < n && rc == 0; i++) {
		attr = attr_of(rt, i);
		rc = start_out(rt, &ports[i], &attr);
	}
	return rc;
}

static int
start_spreads(struct weir_runtime *rt, struct flows_port *ports, unsigned int n,
	      const struct flows_options *options)
{
	struct weir_spawn_attr attr;
	unsigned int i, to;
	int rc = 0;

	for (i = 0; i < n && rc == 0; i++) {
		attr = attr_of(rt, i);
		to = (i ^ 1) < n ? i ^ 1 : i;
		rc = start_spread(rt, &ports[i], ports[to].to_out, options,
				  &attr);
	}
	return rc;
}

int
flows_start(struct weir_runtime *rt, struct flows_port *ports, unsigned int n,
	    const struct flows_options *options)
{
	unsigned int i;
	int rc;

	rc = start_outs(rt, ports, n);
	if (rc == 0)
		rc = start_spreads(rt, ports, n, options);
	/* The buckets have theirs, with the last of which an out ends. */
	for (i = 0; i < n; i++)
		weir_sender_drop(ports[i].to_out);
	return rc;
}
