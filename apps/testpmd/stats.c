/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include <weir_metrics.h>

#include "forward.h"
#include "plan.h"
#include "stats.h"

#define SECOND_NS 1e9

/* What one port did, in packets. */
struct port_totals {
	uint64_t received;
	uint64_t sent;
	uint64_t tx_dropped; /* the port took nothing for too long */
	uint64_t missed;     /* its receive ring was full */
	uint64_t no_mbufs;   /* no mbuf to receive into */
	uint64_t rx_errors;  /* the PMD did not get them whole */
	uint64_t tx_errors;  /* the PMD took them and did not send them */
};

static double
per_second(uint64_t n, uint64_t ns)
{
	return ns == 0 ? 0 : (double)n * SECOND_NS / (double)ns;
}

void
stats_count_workers(struct plan *plan, uint64_t now)
{
	plan->worker_ns += plan->nb_workers * (now - plan->worker_ns_at);
	plan->worker_ns_at = now;
}

/* Of all workers together, busy or not: they poll either way. */
static double
cycles_per_packet(uint64_t packets, uint64_t worker_ns)
{
	double cycles =
		(double)rte_get_tsc_hz() * (double)worker_ns / SECOND_NS;

	return packets == 0 ? 0 : cycles / (double)packets;
}

/* How many there were, on average. */
static double
workers(uint64_t worker_ns, uint64_t ns)
{
	return ns == 0 ? 0 : (double)worker_ns / (double)ns;
}

void
stats_print_period(struct plan *plan, uint64_t elapsed_ns)
{
	struct rte_eth_stats now, *last;
	uint64_t rx = 0, tx = 0, rx_all = 0, tx_all = 0;
	uint64_t worker_ns = plan->worker_ns - plan->worker_ns_printed;
	unsigned int i;

	for (i = 0; i < plan->nb_ports; i++) {
		last = &plan->ports[i].last;
		if (rte_eth_stats_get(plan->ports[i].id, &now) != 0)
			continue;
		rx = now.ipackets - last->ipackets;
		tx = now.opackets - last->opackets;
		rx_all += rx;
		tx_all += tx;
		printf("port %u statistics\n"
		       "  RX-packets: %-12" PRIu64 " RX-missed: %-10" PRIu64
		       " RX-errors: %-10" PRIu64 " RX-nombuf: %" PRIu64 "\n"
		       "  TX-packets: %-12" PRIu64 " TX-errors: %" PRIu64 "\n"
		       "  Rx-pps: %12.0f\n"
		       "  Tx-pps: %12.0f\n",
		       plan->ports[i].id, now.ipackets, now.imissed,
		       now.ierrors, now.rx_nombuf, now.opackets, now.oerrors,
		       per_second(rx, elapsed_ns), per_second(tx, elapsed_ns));
		*last = now;
	}
	/* Whichever is greater: txonly receives nothing, rxonly sends nothing. */
	rx_all = RTE_MAX(rx_all, tx_all);
	printf("all ports: %.3f Mpps, %.1f CPU cycles/packet on %.3g workers\n",
	       per_second(rx_all, elapsed_ns) / 1e6,
	       cycles_per_packet(rx_all, worker_ns),
	       workers(worker_ns, elapsed_ns));
	plan->worker_ns_printed = plan->worker_ns;
}

/*
 * Some PMDs, net_tap is one, count an error each time that they are offered a
 * packet and do not take it; we offer it again, and count it if it is dropped.
 */
static uint64_t
tx_errors(uint64_t errors, uint64_t taken, uint64_t sent)
{
	return RTE_MIN(errors, taken > sent ? taken - sent : 0);
}

static void
port_totals_get(const struct port *port, struct stream **streams,
		unsigned int nb_streams, const struct forward_mode *mode,
		struct port_totals *t)
{
	struct rte_eth_stats now;
	unsigned int i;

	memset(t, 0, sizeof(*t));
	t->sent = port->tx_first;
	t->tx_dropped = port->tx_first_dropped;
	for (i = 0; i < nb_streams; i++) {
		if (streams[i]->rx_port == port)
			t->received += streams[i]->forward.received;
		if (streams[i]->tx_port == port) {
			t->sent += streams[i]->tx.sent;
			t->tx_dropped += streams[i]->tx.dropped;
		}
	}
	if (rte_eth_stats_get(port->id, &now) != 0)
		return;
	t->tx_errors = tx_errors(now.oerrors - port->base.oerrors, t->sent,
				 now.opackets - port->base.opackets);
	t->sent -= t->tx_errors;
	/* Nobody wants to receive in txonly mode. */
	if (!mode->receives)
		return;
	t->missed = now.imissed - port->base.imissed;
	t->no_mbufs = now.rx_nombuf - port->base.rx_nombuf;
	t->rx_errors = now.ierrors - port->base.ierrors;
}

static void
print_port(const struct port *port, const struct port_totals *t,
	   uint64_t dropped)
{
	printf("port %u: received %" PRIu64 ", sent %" PRIu64
	       ", dropped %" PRIu64,
	       port->id, t->received, t->sent, dropped);
	if (dropped != 0)
		printf(" (not taken %" PRIu64 ", TX errors %" PRIu64
		       ", missed %" PRIu64 ", no mbufs %" PRIu64
		       ", RX errors %" PRIu64 ")",
		       t->tx_dropped, t->tx_errors, t->missed, t->no_mbufs,
		       t->rx_errors);
	printf("%s\n", port->gone ? ", is gone" : "");
}

static void
print_workers(const struct weir_runtime *rt)
{
	struct weir_worker_stats s;
	unsigned int i;

	for (i = 0; i < weir_runtime_nb_workers(rt); i++) {
		if (weir_worker_stats_get(rt, i, &s) != 0)
			continue;
		printf("worker %u: lcore %u, polls %" PRIu64 ", steals %" PRIu64
		       ", parks %" PRIu64 ", overflows %" PRIu64
		       ", forced yields %" PRIu64 ", source polls %" PRIu64
		       ", longest poll gap %" PRIu64 " us\n",
		       i, s.lcore, s.polls, s.steals, s.parks, s.overflows,
		       s.forced_yields, s.source_polls,
		       s.max_poll_gap_ns / 1000);
	}
}

/*
 * A packet that a stream has received, or made, was sent, dropped or, in
 * rxonly mode, consumed. Whatever is neither must not be, and counts as lost.
 */
static int64_t
unaccounted(struct stream **streams, unsigned int n)
{
	const struct stream *s;
	uint64_t in = 0, out = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		s = streams[i];
		in += s->forward.received + s->generated;
		out += s->consumed + s->tx.sent + s->tx.dropped;
	}
	return (int64_t)(in - out);
}

void
stats_print_totals(struct plan *plan, struct stream **streams,
		   const struct forward_mode *mode,
		   const struct weir_runtime *rt, uint64_t elapsed_ns,
		   struct account *account)
{
	uint64_t dropped, errors = 0;
	struct port_totals t;
	unsigned int i;
	int64_t rest;

	for (i = 0; i < plan->nb_ports; i++) {
		port_totals_get(&plan->ports[i], streams, plan->nb_streams,
				mode, &t);
		dropped = t.tx_dropped + t.tx_errors + t.missed + t.no_mbufs +
			  t.rx_errors;
		account->lost += dropped;
		errors += t.tx_errors;
		print_port(&plan->ports[i], &t, dropped);
	}
	for (i = 0; i < plan->nb_streams; i++)
		account->forwarded += mode->sends ? streams[i]->tx.sent :
						    streams[i]->consumed;
	/* Some may be of those that were sent before any was forwarded. */
	account->forwarded -= RTE_MIN(errors, account->forwarded);
	rest = unaccounted(streams, plan->nb_streams);
	if (rest != 0)
		printf("unaccounted: %" PRId64 " packets\n", rest);
	account->lost += (uint64_t)(rest < 0 ? -rest : rest);
	print_workers(rt);
	printf("average: %.3f Mpps, %.1f CPU cycles/packet on %.3g workers, "
	       "%.2f s\n",
	       per_second(account->forwarded, elapsed_ns) / 1e6,
	       cycles_per_packet(account->forwarded, plan->worker_ns),
	       workers(plan->worker_ns, elapsed_ns),
	       (double)elapsed_ns / SECOND_NS);
}

void
stats_print_account(const struct account *a)
{
	printf("forwarded %" PRIu64 " packets, lost %" PRIu64
	       ", tasks left %" PRIu64 ", mbufs left %" PRIu64 "\n",
	       a->forwarded, a->lost, a->tasks_left, a->mbufs_left);
}
