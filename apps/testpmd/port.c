/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <weir_ethdev.h>

#include "drain.h"
#include "error.h"
#include "forward.h"
#include "options.h"
#include "packet.h"
#include "plan.h"
#include "port.h"
#include "status.h"

/* mbufs that each lcore may keep for itself. */
#define POOL_CACHE 256u
#define POOL_MIN 4096u

int
port_probe(struct port *port, uint16_t id)
{
	struct rte_eth_dev_info info;
	int rc;

	memset(port, 0, sizeof(*port));
	port->id = id;
	rc = rte_eth_dev_info_get(id, &info);
	if (rc < 0)
		return rc;
	rc = rte_eth_dev_get_name_by_port(id, port->name);
	if (rc < 0)
		return rc;
	port->node = rte_eth_dev_socket_id(id);
	port->max_rxq = info.max_rx_queues;
	port->max_txq = info.max_tx_queues;
	port->if_index = info.if_index;
	port->driver = info.driver_name != NULL ? info.driver_name : "";
	return 0;
}

static bool
is_of(const struct port *port, const char *driver)
{
	return strcmp(port->driver, driver) == 0;
}

/* What one of its queues sends it may receive. */
static bool
loops(const struct port *port)
{
	return is_of(port, "net_ring");
}

/* There are ports beneath, each with as many queues and mbufs of its own in them. */
static bool
has_members(const struct port *port)
{
	return is_of(port, "net_bonding") || is_of(port, "net_failsafe");
}

/* At most so many: the ports that are not used themselves. */
static unsigned int
max_members(const struct plan *plan)
{
	unsigned int n = 0;
	uint16_t id;

	for (id = rte_eth_find_next(0); id < RTE_MAX_ETHPORTS;
	     id = rte_eth_find_next(id + 1))
		n++;
	return RTE_MAX(n, plan->nb_ports + 1) - plan->nb_ports;
}

/*
 * What can be in flight at once: full descriptor rings, what goes round between
 * software ports, what each stream holds
 * in its hands and holds back, and what lcores keep in their caches. A packet
 * may be sent by a port on another node, so every pool serves all queues.
 */
static uint64_t
mbufs_needed(const struct plan *plan, const struct options *o)
{
	/* A cache is flushed at one and a half times its size. */
	uint64_t n =
		(plan->nb_workers + plan->nb_spare + 1) * POOL_CACHE * 3 / 2;
	const struct port *port;
	unsigned int txd, i;
	uint64_t each;

	for (i = 0; i < plan->nb_ports; i++) {
		port = &plan->ports[i];
		txd = o->mode->sends ? port->txd : 0;
		each = (uint64_t)port->nb_rxq * port->rxd +
		       (uint64_t)port->nb_txq * txd;
		n += has_members(port) ? each * max_members(plan) : each;
		n += (uint64_t)port->nb_txq * o->tx_first * o->burst;
	}
	return n + plan->nb_streams * (2u * o->burst + WEIR_BURST_MAX);
}

static struct rte_mempool *
find_pool(const struct plan *plan, unsigned int n, int node)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (plan->ports[i].node == node)
			return plan->ports[i].pool;
	return NULL;
}

static void
add_option(char *text, size_t size, const char *name, unsigned int value,
	   unsigned int usual)
{
	size_t used = strlen(text);

	if (value > usual)
		snprintf(text + used, size - used, "%s--%s %u",
			 used != 0 ? ", " : "", name, value);
}

/* Lists the options that so many mbufs come from. */
static void
to_lower(const struct options *o, char *text, size_t size)
{
	text[0] = '\0';
	add_option(text, size, "rxq", o->rxq, 1);
	add_option(text, size, "txq", o->txq, 1);
	add_option(text, size, "rxd", o->rxd, DEFAULT_DESCRIPTORS);
	add_option(text, size, "txd", o->txd, DEFAULT_DESCRIPTORS);
	add_option(text, size, "burst", o->burst, DEFAULT_BURST);
	add_option(text, size, "tx-first-bursts", o->tx_first, 1);
	if (text[0] == '\0')
		snprintf(text, size, "--rxd and --txd");
}

/* There can be no pools of the size that the queues need: who gave so many? */
static int
refuse_queues(const struct plan *plan, const struct options *o, uint64_t mbufs,
	      const char *reason, const char *help)
{
	unsigned int nb_rxq = 0, nb_txq = 0, i;
	char option[32] = "", lower[128];

	for (i = 0; i < plan->nb_ports; i++) {
		nb_rxq += plan->ports[i].nb_rxq;
		nb_txq += plan->ports[i].nb_txq;
	}
	if (nb_txq > nb_rxq && o->txq != 0)
		snprintf(option, sizeof(option), "--txq %u: ", o->txq);
	else if (plan_map_has_queues(o) &&
		 (o->mode->receives || nb_txq >= nb_rxq))
		snprintf(option, sizeof(option), "--%s: ", o->map_option);
	else if (o->rxq != 0)
		snprintf(option, sizeof(option), "--rxq %u: ", o->rxq);
	to_lower(o, lower, sizeof(lower));
	return REFUSE(STATUS_FAILED,
		      "%s%u receive and %u transmit queues need %" PRIu64
		      " mbufs, %s; %slower %s",
		      option, nb_rxq, nb_txq, mbufs, reason, help, lower);
}

static int
refuse_pool(const struct plan *plan, const struct options *o, unsigned int n,
	    int node)
{
	char reason[128];

	if (o->nb_mbufs != 0)
		return REFUSE(STATUS_FAILED,
			      "--total-num-mbufs %u: no pool of that size on "
			      "node %d (%s); give EAL more memory with -m, or "
			      "lower --total-num-mbufs",
			      n, node, rte_strerror(rte_errno));
	snprintf(reason, sizeof(reason),
		 "and there is no pool of that size on node %d (%s)", node,
		 rte_strerror(rte_errno));
	return refuse_queues(plan, o, n, reason,
			     "give EAL more memory with -m, or ");
}

static int
pools_create(struct plan *plan, const struct options *o)
{
	uint64_t needed = mbufs_needed(plan, o);
	unsigned int n, i;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct port *port;

	if (o->nb_mbufs != 0 && o->nb_mbufs < needed)
		return REFUSE(STATUS_FAILED,
			      "--total-num-mbufs %u: too few for the queues; "
			      "must be at least %" PRIu64,
			      o->nb_mbufs, needed);
	if (needed > MBUFS_MAX)
		return refuse_queues(plan, o, needed,
				     "more than a pool can have", "");
	n = o->nb_mbufs != 0 ? o->nb_mbufs :
			       (unsigned int)RTE_MAX(needed, POOL_MIN);
	for (i = 0; i < plan->nb_ports; i++) {
		port = &plan->ports[i];
		port->pool = find_pool(plan, i, port->node);
		if (port->pool != NULL)
			continue;
		snprintf(name, sizeof(name), "testpmd_mbufs_%d", port->node);
		port->pool = rte_pktmbuf_pool_create(name, n, POOL_CACHE, 0,
						     RTE_MBUF_DEFAULT_BUF_SIZE,
						     port->node);
		if (port->pool == NULL)
			return refuse_pool(plan, o, n, port->node);
	}
	return STATUS_OK;
}

unsigned int
pools_free(struct plan *plan)
{
	struct rte_mempool *pool;
	unsigned int left = 0, i, j;

	for (i = 0; i < plan->nb_ports; i++) {
		pool = plan->ports[i].pool;
		if (pool == NULL)
			continue;
		left += rte_mempool_in_use_count(pool);
		rte_mempool_free(pool);
		for (j = i; j < plan->nb_ports; j++)
			if (plan->ports[j].pool == pool)
				plan->ports[j].pool = NULL;
	}
	return left;
}

static bool
has_one_pool(const struct plan *plan)
{
	unsigned int i;

	for (i = 1; i < plan->nb_ports; i++)
		if (plan->ports[i].pool != plan->ports[0].pool)
			return false;
	return true;
}

static int
port_configure(struct port *port, bool one_pool, bool interrupts)
{
	struct rte_eth_conf conf = { .intr_conf.rxq = interrupts };
	struct rte_eth_dev_info info;
	int rc;

	rc = rte_eth_dev_info_get(port->id, &info);
	if (rc < 0)
		return rc;
	if (port->nb_rxq > 1 && info.flow_type_rss_offloads != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf =
			info.flow_type_rss_offloads &
			(RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
	}
	/* Promises that a queue's mbufs are of one pool and not shared. */
	if (one_pool &&
	    (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0)
		conf.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	if (info.dev_flags != NULL) {
		conf.intr_conf.lsc =
			(*info.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
		conf.intr_conf.rmv =
			(*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
	}
	port->watched = conf.intr_conf.lsc == 0;
	return rte_eth_dev_configure(port->id, port->nb_rxq, port->nb_txq,
				     &conf);
}

static int
port_setup_queues(const struct port *port)
{
	unsigned int node = (unsigned int)port->node;
	uint16_t queue;
	int rc;

	/* NULL for the queues' options: the PMD's own defaults are meant. */
	for (queue = 0; queue < port->nb_rxq; queue++) {
		rc = rte_eth_rx_queue_setup(port->id, queue, port->rxd, node,
					    NULL, port->pool);
		if (rc < 0)
			return rc;
	}
	for (queue = 0; queue < port->nb_txq; queue++) {
		rc = rte_eth_tx_queue_setup(port->id, queue, port->txd, node,
					    NULL);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
refuse_port(const struct port *port, const char *step, int rc)
{
	return REFUSE(STATUS_FAILED,
		      "port %u (%s): %s fails (%s); check its device "
		      "arguments, or leave it out with --portmask",
		      port->id, port->name, step, strerror(-rc));
}

/* step: in which it fails. */
static int
port_bring_up(struct port *port, bool one_pool, bool interrupts,
	      const char **step)
{
	int rc;

	*step = "configuration";
	rc = port_configure(port, one_pool, interrupts);
	if (rc < 0)
		return rc;
	*step = "queue set-up";
	rc = port_setup_queues(port);
	if (rc < 0)
		return rc;
	*step = "start";
	return rte_eth_dev_start(port->id);
}

/*
 * Workers that sleep need RX interrupts. A port that refuses to go with them, be it
 * when it starts, is polled.
 */
static int
port_start(struct port *port, bool one_pool, bool sleepers)
{
	const char *step;
	int rc;

	rc = rte_eth_macaddr_get(port->id, &port->mac);
	if (rc < 0)
		return refuse_port(port, "asking its address", rc);
	rc = port_bring_up(port, one_pool, sleepers, &step);
	if (rc < 0 && sleepers)
		rc = port_bring_up(port, one_pool, false, &step);
	if (rc < 0)
		return refuse_port(port, step, rc);
	port->started = true;
	rc = rte_eth_promiscuous_enable(port->id);
	/* A virtual function may not be allowed to, and forwards what is sent to it. */
	if (rc < 0 && rc != -ENOTSUP)
		error_line(
			"warning: port %u (%s): promiscuous mode fails (%s); "
			"it may receive only what is sent to its address",
			port->id, port->name, strerror(-rc));
	rte_eth_stats_get(port->id, &port->base);
	port->last = port->base;
	return STATUS_OK;
}

/*
 * Will a worker, now or after the map's next change? For the latter net_failsafe is not
 * asked: that of DPDK 22.11 crashes in port_start()'s second try.
 */
static bool
may_sleep(const struct port *port, const struct options *o)
{
	unsigned int i;

	if ((o->map_file != NULL && !is_of(port, "net_failsafe")) ||
	    o->park == WEIR_PARK_INTERRUPT || o->park == WEIR_PARK_ADAPTIVE)
		return true;
	for (i = 0; o->map != NULL && i < o->map->nb_lcores; i++)
		if (o->map->lcores[i].park >= WEIR_PARK_INTERRUPT)
			return true;
	return false;
}

/* Who asked for a number is told when the port has another. */
static void
tell_descriptors(const struct port *port, const char *option, uint16_t asked,
		 uint16_t n)
{
	if (n != asked && asked != DEFAULT_DESCRIPTORS)
		error_line("warning: port %u (%s): --%s %u: it takes %u",
			   port->id, port->name, option, asked, n);
}

static int
port_adjust_descriptors(struct port *port, const struct options *o)
{
	int rc;

	port->rxd = o->rxd;
	port->txd = o->txd;
	rc = rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &port->rxd, &port->txd);
	if (rc < 0)
		return refuse_port(port, "--rxd or --txd", rc);
	tell_descriptors(port, "rxd", o->rxd, port->rxd);
	tell_descriptors(port, "txd", o->txd, port->txd);
	return STATUS_OK;
}

int
ports_start(struct plan *plan, const struct options *o)
{
	struct port *port;
	int rc = STATUS_OK;
	unsigned int i;

	for (i = 0; rc == STATUS_OK && i < plan->nb_ports; i++) {
		port = &plan->ports[i];
		/* What nobody receives is then there to be drained. */
		if (loops(port))
			port->nb_rxq =
				RTE_MIN(RTE_MAX(port->nb_rxq, port->nb_txq),
					port->max_rxq);
		rc = port_adjust_descriptors(port, o);
	}
	if (rc == STATUS_OK)
		rc = pools_create(plan, o);
	for (i = 0; rc == STATUS_OK && i < plan->nb_ports; i++)
		rc = port_start(&plan->ports[i], has_one_pool(plan),
				may_sleep(&plan->ports[i], o));
	return rc;
}

/* False: there are no more mbufs. */
static bool
tx_first(struct port *port, uint16_t queue, const struct packet *packet,
	 uint16_t burst)
{
	struct rte_mbuf *pkts[WEIR_BURST_MAX];
	uint16_t sent;

	if (rte_pktmbuf_alloc_bulk(port->pool, pkts, burst) != 0)
		return false;
	packet_write_bulk(packet, pkts, burst);
	sent = rte_eth_tx_burst(port->id, queue, pkts, burst);
	rte_pktmbuf_free_bulk(&pkts[sent], (unsigned int)burst - sent);
	port->tx_first += sent;
	port->tx_first_dropped += (unsigned int)burst - sent;
	return true;
}

void
ports_tx_first(struct plan *plan, const struct options *o)
{
	struct packet packet;
	struct port *port;
	uint16_t queue, n;
	unsigned int i;

	for (i = 0; i < plan->nb_ports; i++) {
		port = &plan->ports[i];
		packet_init(&packet, &port->mac, &o->eth_peer[port->id]);
		for (queue = 0; queue < port->nb_txq; queue++)
			for (n = 0; n < o->tx_first; n++)
				if (!tx_first(port, queue, &packet, o->burst))
					return;
	}
}

void
ports_close(struct plan *plan)
{
	unsigned int i;

	for (i = 0; i < plan->nb_ports; i++)
		if (plan->ports[i].started)
			port_drain(plan->ports[i].id, plan->ports[i].nb_rxq);
	for (i = 0; i < plan->nb_ports; i++) {
		if (plan->ports[i].started)
			rte_eth_dev_stop(plan->ports[i].id);
		plan->ports[i].started = false;
	}
	for (i = 0; i < plan->nb_ports; i++)
		rte_eth_dev_close(plan->ports[i].id);
}
