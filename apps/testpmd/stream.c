/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "error.h"
#include "forward.h"
#include "options.h"
#include "plan.h"

/*
 * How long a peer that takes nothing may hold packets up before they are
 * dropped. Long against a kernel that shares our CPU, short against a person
 * who waits for the end.
 */
#define TX_TIMEOUT_US 100000u

int
stream_forward(struct weir_context *ctx, void *state)
{
	struct stream *s = *(struct stream **)state;

	return weir_forward(ctx, &s->forward);
}

void
stream_drop(void *state)
{
	struct stream *s = *(struct stream **)state;

	if (s->forward.txq == NULL)
		return;
	weir_txq_drain(s->forward.txq);
	weir_txq_stats_get(s->forward.txq, &s->tx);
	weir_txq_free(s->forward.txq);
	s->forward.txq = NULL;
}

static struct stream *
stream_create(const struct plan_stream *plan, const struct options *o,
	      struct weir_runtime *rt)
{
	struct stream *s;

	s = rte_zmalloc_socket("stream", sizeof(*s), RTE_CACHE_LINE_SIZE,
			       weir_worker_node(rt, plan->worker));
	if (s == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	s->rx_port = plan->rx_port;
	s->tx_port = plan->tx_port;
	s->queue = plan->queue;
	s->worker = plan->worker;
	s->forward.burst = o->burst;
	s->forward.change = o->mode->change;
	s->forward.arg = s;
	s->pool = plan->tx_port->pool;
	s->src = plan->tx_port->mac;
	s->dst = o->eth_peer[plan->tx_port->id];
	if (o->mode->receives) {
		s->forward.rxq = weir_rxq_create(rt, s->rx_port->id, s->queue,
						 s->worker, s->forward.burst);
		if (s->forward.rxq == NULL)
			goto fail;
	}
	if (o->mode->sends) {
		s->forward.txq = weir_txq_create(s->tx_port->id, s->queue,
						 TX_TIMEOUT_US);
		if (s->forward.txq == NULL)
			goto fail;
	}
	return s;

fail:
	weir_rxq_free(s->forward.rxq);
	rte_free(s);
	return NULL;
}

struct stream **
streams_create(const struct plan *plan, const struct options *o,
	       struct weir_runtime *rt)
{
	struct stream **streams;
	unsigned int i;

	streams = calloc(plan->nb_streams, sizeof(*streams));
	if (streams == NULL) {
		error_line("no memory for %u streams; lower --rxq",
			   plan->nb_streams);
		return NULL;
	}
	for (i = 0; i < plan->nb_streams; i++) {
		streams[i] = stream_create(&plan->streams[i], o, rt);
		if (streams[i] != NULL)
			continue;
		error_line("port %u queue %u: no stream for it (%s); lower "
			   "--rxq or give EAL more memory with -m",
			   plan->streams[i].rx_port->id, plan->streams[i].queue,
			   rte_strerror(rte_errno));
		streams_free(streams, i);
		return NULL;
	}
	return streams;
}

void
streams_free(struct stream **streams, unsigned int n)
{
	unsigned int i;

	if (streams == NULL)
		return;
	for (i = 0; i < n; i++) {
		weir_join_detach(streams[i]->join);
		weir_txq_free(streams[i]->forward.txq);
		weir_rxq_free(streams[i]->forward.rxq);
		rte_free(streams[i]);
	}
	free(streams);
}

int
streams_start(struct stream **streams, unsigned int n,
	      const struct forward_mode *mode, struct weir_runtime *rt)
{
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_ANY };
	unsigned int i;

	for (i = 0; i < n; i++) {
		attr.node_plus_1 =
			(unsigned int)weir_worker_node(rt, streams[i]->worker) +
			1;
		streams[i]->join =
			weir_task_spawn(rt, &mode->task, &streams[i], &attr);
		if (streams[i]->join != NULL)
			continue;
		error_line("port %u queue %u: its task does not start (%s); "
			   "give EAL more memory with -m",
			   streams[i]->rx_port->id, streams[i]->queue,
			   rte_strerror(rte_errno));
		return -rte_errno;
	}
	return 0;
}

unsigned int
streams_poll(struct stream **streams, unsigned int n, bool quiet)
{
	unsigned int running = 0, i;
	struct stream *s;

	for (i = 0; i < n; i++) {
		s = streams[i];
		if (s->join == NULL)
			continue;
		s->outcome = weir_join_try(s->join, NULL);
		if (s->outcome == WEIR_PENDING) {
			running++;
			continue;
		}
		s->join = NULL;
		if (!quiet)
			error_line("port %u queue %u: its stream ends (%s)",
				   s->rx_port->id, s->queue,
				   strerror(-s->outcome));
	}
	return running;
}

/* A stream that waits for packets ends by its source, one that makes them not. */
static void
stream_end(struct stream *s, int error)
{
	if (s->forward.rxq != NULL)
		weir_source_close(weir_rxq_source(s->forward.rxq), error);
	else if (s->join != NULL)
		weir_join_abort(s->join);
}

void
streams_stop(struct stream **streams, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		stream_end(streams[i], ESHUTDOWN);
}

void
streams_port_gone(struct stream **streams, unsigned int n,
		  const struct port *port)
{
	unsigned int i;

	/* -ENODEV is for the port that a stream receives from. */
	for (i = 0; i < n; i++)
		if (streams[i]->tx_port == port)
			stream_end(streams[i], EPIPE);
}
