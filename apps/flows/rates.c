/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdio.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "flows.h"

static struct flows_reading
read_port(const struct flows_port *port)
{
	struct rte_eth_stats stats = { 0 };

	/* Of a port that is gone: nothing. */
	rte_eth_stats_get(port->port.id, &stats);
	return (struct flows_reading){ stats.ipackets, stats.opackets,
				       rte_rdtsc() };
}

void
rates_begin(struct flows_port *port)
{
	port->reading = read_port(port);
}

/* By the time that passed: a sleep takes longer than it is asked to. */
void
rates_print(struct flows_port *port)
{
	const struct flows_reading before = port->reading;
	const struct flows_reading now = read_port(port);
	double s = (double)(now.tsc - before.tsc) / (double)rte_get_tsc_hz();

	port->reading = now;
	/* It has gone meanwhile. */
	if (now.received < before.received || now.sent < before.sent)
		return;
	printf("port %u: Rx-pps: %.0f, Tx-pps: %.0f\n", port->port.id,
	       (double)(now.received - before.received) / s,
	       (double)(now.sent - before.sent) / s);
}
