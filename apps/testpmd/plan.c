/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_lcore.h>

#include <weir_lcore_apply.h>
#include <weir_runtime.h>

#include "eal.h"
#include "error.h"
#include "forward.h"
#include "options.h"
#include "plan.h"
#include "status.h"

struct port *
plan_port(struct plan *plan, uint16_t id)
{
	unsigned int i;

	for (i = 0; i < plan->nb_ports; i++)
		if (plan->ports[i].id == id)
			return &plan->ports[i];
	return NULL;
}

/* What is not the address of a port that takes part is a slip. */
static int
check_peers(const struct plan *plan, const struct options *o)
{
	unsigned int id, i;

	for (id = 0; id < RTE_MAX_ETHPORTS; id++) {
		for (i = 0; i < plan->nb_ports; i++)
			if (plan->ports[i].id == id)
				break;
		if (o->has_peer[id] && i == plan->nb_ports)
			return REFUSE(
				STATUS_FAILED,
				"--eth-peer %u," RTE_ETHER_ADDR_PRT_FMT
				": port %u does not exist or --portmask "
				"leaves it out",
				id, RTE_ETHER_ADDR_BYTES(&o->eth_peer[id]), id);
	}
	return STATUS_OK;
}

static int
plan_ports(struct plan *plan, const struct options *o)
{
	uint64_t unknown = o->portmask;
	uint16_t id;
	int rc;

	RTE_ETH_FOREACH_DEV(id) {
		unknown &= ~(UINT64_C(1) << id);
		if (o->portmask != 0 && (o->portmask >> id & 1) == 0)
			continue;
		rc = port_probe(&plan->ports[plan->nb_ports], id);
		if (rc < 0)
			return REFUSE(STATUS_FAILED,
				      "port %u: cannot be asked what it is "
				      "(%s); leave it out with --portmask",
				      id, strerror(-rc));
		plan->nb_ports++;
	}
	if (unknown != 0)
		return REFUSE(STATUS_FAILED,
			      "--portmask 0x%" PRIx64 ": there is no port %d; "
			      "give a mask of ports that exist",
			      o->portmask, __builtin_ctzll(unknown));
	if (plan->nb_ports == 0)
		return REFUSE(STATUS_FAILED,
			      "no ports: bind a device and allow it with -a, "
			      "or make one with --vdev, for example "
			      "--vdev net_null0");
	return check_peers(plan, o);
}

static bool
has_lcore(const unsigned int *lcores, unsigned int n, unsigned int lcore)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (lcores[i] == lcore)
			return true;
	return false;
}

bool
plan_map_has_queues(const struct options *o)
{
	unsigned int i;

	for (i = 0; o->map != NULL && i < o->map->nb_lcores; i++)
		if (o->map->lcores[i].nb_queues != 0)
			return true;
	return false;
}

/* The lcores that the map names become workers first, in its order. */
static int
plan_map_workers(struct plan *plan, const struct options *o)
{
	const struct weir_lcore_map_lcore *lcore;
	char error[256];
	unsigned int i;

	if (o->map == NULL)
		return STATUS_OK;
	if (weir_lcore_map_match(o->map, error, sizeof(error)) < 0)
		return REFUSE(STATUS_FAILED, "--%s %s: %s; EAL has those of %s",
			      o->map_option, o->map_value, error,
			      eal_lcores_option());
	for (i = 0; i < o->map->nb_lcores; i++) {
		lcore = &o->map->lcores[i];
		if (lcore->spare)
			plan->spare[plan->nb_spare++] = lcore->lcore;
		else if (!lcore->main)
			plan->lcores[plan->nb_workers++] = lcore->lcore;
	}
	if (plan->nb_workers == 0)
		return REFUSE(STATUS_FAILED,
			      "--%s %s: names no worker; it needs an lcore "
			      "that is not spare",
			      o->map_option, o->map_value);
	return STATUS_OK;
}

static int
plan_workers(struct plan *plan, const struct options *o)
{
	unsigned int available = 0, lcore, wanted;
	int rc;

	/* Not rte_lcore_count(), which has service cores, too. */
	RTE_LCORE_FOREACH_WORKER(lcore)
		available++;
	if (available == 0)
		return eal_refuse_lcores();
	if (o->nb_cores > available)
		return REFUSE(STATUS_FAILED,
			      "--nb-cores %u: %s gives %u worker lcores; lower "
			      "the one or raise the other",
			      o->nb_cores, eal_lcores_option(), available);
	rc = plan_map_workers(plan, o);
	if (rc != STATUS_OK)
		return rc;
	if (o->nb_cores != 0 && o->nb_cores < plan->nb_workers)
		return REFUSE(STATUS_FAILED,
			      "--nb-cores %u: --%s names %u lcores; give "
			      "at least that many or leave it out",
			      o->nb_cores, o->map_option, plan->nb_workers);
	wanted = o->nb_cores;
	if (wanted == 0)
		wanted = o->map != NULL ? plan->nb_workers : available;
	RTE_LCORE_FOREACH_WORKER(lcore) {
		if (plan->nb_workers >= wanted)
			break;
		if (!has_lcore(plan->lcores, plan->nb_workers, lcore) &&
		    !has_lcore(plan->spare, plan->nb_spare, lcore))
			plan->lcores[plan->nb_workers++] = lcore;
	}
	if (plan->nb_workers < wanted)
		return REFUSE(
			STATUS_FAILED,
			"--nb-cores %u: --%s has %u spare lcores, which "
			"leaves %u for workers; lower the one or the other",
			o->nb_cores, o->map_option, plan->nb_spare,
			plan->nb_workers);
	return STATUS_OK;
}

/* Counts the queues of each port; it must have them. */
static int
count_map_queue(struct plan *plan, const struct options *o,
		const struct weir_lcore_map_queue *q, unsigned int lcore)
{
	const char *kind = o->mode->receives ? "receive" : "transmit";
	struct port *port = plan_port(plan, q->port);
	unsigned int max;

	if (port == NULL)
		return REFUSE(STATUS_FAILED,
			      "--%s (%u,%u,%u): port %u does not exist or "
			      "--portmask leaves it out",
			      o->map_option, q->port, q->queue, lcore, q->port);
	max = o->mode->receives ? port->max_rxq : port->max_txq;
	if (q->queue >= max)
		return REFUSE(STATUS_FAILED,
			      "--%s (%u,%u,%u): port %u (%s) has at most %u "
			      "%s queues",
			      o->map_option, q->port, q->queue, lcore, port->id,
			      port->name, max, kind);
	port->nb_streams++;
	return STATUS_OK;
}

/* No queue is named twice, so a number too high means that one lacks. */
static int
check_no_gap(struct plan *plan, const struct options *o,
	     const struct weir_lcore_map_queue *q, unsigned int lcore)
{
	if (q->queue < plan_port(plan, q->port)->nb_streams)
		return STATUS_OK;
	return REFUSE(STATUS_FAILED,
		      "--%s (%u,%u,%u): a queue of port %u below %u is "
		      "missing; name them all, from 0",
		      o->map_option, q->port, q->queue, lcore, q->port,
		      q->queue);
}

static int
for_each_queue(struct plan *plan, const struct options *o,
	       int (*check)(struct plan *, const struct options *,
			    const struct weir_lcore_map_queue *, unsigned int))
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i, j;
	int rc;

	for (i = 0; i < o->map->nb_lcores; i++) {
		lcore = &o->map->lcores[i];
		for (j = 0; j < lcore->nb_queues; j++) {
			rc = check(plan, o, &lcore->queues[j], lcore->lcore);
			if (rc != STATUS_OK)
				return rc;
		}
	}
	return STATUS_OK;
}

/* A queue that no stream serves would fill, so none may be left out. */
static int
check_map_queues(struct plan *plan, const struct options *o)
{
	const struct port *port;
	unsigned int i;
	int rc;

	rc = for_each_queue(plan, o, count_map_queue);
	if (rc == STATUS_OK)
		rc = for_each_queue(plan, o, check_no_gap);
	if (rc != STATUS_OK)
		return rc;
	for (i = 0; i < plan->nb_ports; i++) {
		port = &plan->ports[i];
		if (port->nb_streams == 0)
			return REFUSE(STATUS_FAILED,
				      "--%s %s: names no queue of port %u; "
				      "add one or leave the port out with "
				      "--portmask",
				      o->map_option, o->map_value, port->id);
		if (o->mode->receives && o->rxq != 0 &&
		    o->rxq != port->nb_streams)
			return REFUSE(STATUS_FAILED,
				      "--rxq %u: --%s names %u queues of port "
				      "%u; make them equal or leave --rxq out",
				      o->rxq, o->map_option, port->nb_streams,
				      port->id);
	}
	return STATUS_OK;
}

/* In testpmd's paired topology. */
static struct port *
peer_of(struct plan *plan, unsigned int index)
{
	unsigned int peer = index ^ 1;

	return &plan->ports[peer < plan->nb_ports ? peer : index];
}

static int
check_queue_counts(const struct port *port, const struct port *sender,
		   const struct options *o)
{
	if (port->nb_rxq > port->max_rxq)
		return REFUSE(STATUS_FAILED,
			      "--rxq %u: port %u (%s) has at most %u receive "
			      "queues",
			      port->nb_rxq, port->id, port->name,
			      port->max_rxq);
	if (o->txq != 0 && o->txq > port->max_txq)
		return REFUSE(STATUS_FAILED,
			      "--txq %u: port %u (%s) has at most %u transmit "
			      "queues",
			      o->txq, port->id, port->name, port->max_txq);
	if (!o->mode->sends)
		return STATUS_OK;
	if (o->txq != 0 && o->txq < sender->nb_streams)
		return REFUSE(STATUS_FAILED,
			      "--txq %u: must be at least %u, one for each "
			      "queue of port %u in --rxq, --config or --map",
			      o->txq, sender->nb_streams, sender->id);
	if (sender->nb_streams <= port->max_txq)
		return STATUS_OK;
	if (plan_map_has_queues(o))
		return REFUSE(
			STATUS_FAILED,
			"--%s %s: names %u queues of port %u, and each needs "
			"a transmit queue of its own; port %u (%s) has at "
			"most %u",
			o->map_option, o->map_value, sender->nb_streams,
			sender->id, port->id, port->name, port->max_txq);
	return REFUSE(STATUS_FAILED,
		      "--rxq %u: port %u (%s) has at most %u transmit "
		      "queues, and each stream needs its own; lower --rxq",
		      sender->nb_streams, port->id, port->name, port->max_txq);
}

static int
plan_queues(struct plan *plan, const struct options *o)
{
	bool receives = o->mode->receives;
	struct port *port, *sender;
	uint16_t given = receives || o->txq == 0 ? o->rxq : o->txq;
	unsigned int i;
	int rc;

	if (plan_map_has_queues(o)) {
		rc = check_map_queues(plan, o);
		if (rc != STATUS_OK)
			return rc;
	}
	for (i = 0; i < plan->nb_ports; i++) {
		port = &plan->ports[i];
		if (!plan_map_has_queues(o))
			port->nb_streams = given != 0 ? given : 1;
	}
	for (i = 0; i < plan->nb_ports; i++) {
		port = &plan->ports[i];
		/* Pairs are mutual: who is sent to by port sends to it. */
		sender = receives ? peer_of(plan, i) : port;
		port->nb_rxq = receives ? port->nb_streams : RTE_MAX(o->rxq, 1);
		port->nb_txq = o->txq != 0 ? o->txq : sender->nb_streams;
		/* As many where nothing is sent, too: some PMDs want that. */
		if (!o->mode->sends && o->txq == 0)
			port->nb_txq = RTE_MIN(port->nb_rxq,
					       RTE_MAX(port->max_txq, 1));
		rc = check_queue_counts(port, sender, o);
		if (rc != STATUS_OK)
			return rc;
		plan->nb_streams += port->nb_streams;
	}
	return STATUS_OK;
}

/* The worker with the fewest streams, of those on the port's node if any. */
static unsigned int
deal_worker(const struct plan *plan, const struct port *port,
	    const unsigned int *load)
{
	unsigned int best = UINT_MAX, i;
	bool local = false, is_local;

	for (i = 0; i < plan->nb_workers; i++) {
		is_local = plan->nodes[i] == port->node;
		if (best == UINT_MAX || (is_local && !local) ||
		    (is_local == local && load[i] < load[best])) {
			best = i;
			local = is_local;
		}
	}
	return best;
}

static unsigned int
map_worker(const struct options *o, const struct plan_stream *stream)
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int worker = 0, i, j;

	/* Workers are in the order of the map. */
	for (i = 0; i < o->map->nb_lcores; i++) {
		lcore = &o->map->lcores[i];
		for (j = 0; j < lcore->nb_queues; j++)
			if (lcore->queues[j].port == stream->rx_port->id &&
			    lcore->queues[j].queue == stream->queue)
				return worker;
		worker += !lcore->main && !lcore->spare;
	}
	return 0;
}

static int
plan_streams(struct plan *plan, const struct options *o)
{
	bool forwards = o->mode->receives && o->mode->sends;
	unsigned int load[RTE_MAX_LCORE] = { 0 };
	struct plan_stream *stream;
	unsigned int i;
	uint16_t queue;

	plan->streams = calloc(plan->nb_streams, sizeof(*plan->streams));
	if (plan->streams == NULL)
		return REFUSE(STATUS_FAILED,
			      "no memory for %u streams; lower "
			      "--rxq",
			      plan->nb_streams);
	stream = plan->streams;
	for (i = 0; i < plan->nb_ports; i++) {
		for (queue = 0; queue < plan->ports[i].nb_streams; queue++) {
			stream->rx_port = &plan->ports[i];
			stream->tx_port =
				forwards ? peer_of(plan, i) : stream->rx_port;
			stream->queue = queue;
			if (plan_map_has_queues(o))
				stream->worker = map_worker(o, stream);
			else
				stream->worker = deal_worker(
					plan, stream->rx_port, load);
			load[stream->worker]++;
			stream++;
		}
	}
	return STATUS_OK;
}

int
plan_make(struct plan *plan, const struct options *o)
{
	unsigned int i;
	int rc;

	memset(plan, 0, sizeof(*plan));
	rc = plan_ports(plan, o);
	if (rc != STATUS_OK)
		return rc;
	rc = plan_workers(plan, o);
	if (rc != STATUS_OK)
		return rc;
	for (i = 0; i < plan->nb_workers; i++)
		plan->nodes[i] = weir_lcore_node(plan->lcores[i]);
	/* A device on no node in particular: near the first worker. */
	for (i = 0; i < plan->nb_ports; i++)
		if (plan->ports[i].node < 0)
			plan->ports[i].node = plan->nodes[0];
	rc = plan_queues(plan, o);
	if (rc != STATUS_OK)
		return rc;
	return plan_streams(plan, o);
}

void
plan_free(struct plan *plan)
{
	free(plan->streams);
	plan->streams = NULL;
}
