/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * weir-echo [EAL options] -- [--ip ADDRESS] [--udp-port N]
 *
 * Answers ARP, ICMP echo and UDP echo (RFC 862) for one address on every port,
 * until SIGINT, SIGTERM or SIGHUP, or until all ports are gone.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>

#include "arguments.h"
#include "echo.h"
#include "error.h"
#include "program.h"
#include "status.h"

const char program_name[] = "weir-echo";

#define WATCH_PERIOD_NS 100000000

static struct identity identity = {
	.ip = RTE_BE32(RTE_IPV4(10, 0, 0, 1)),
	.udp_port = RTE_BE16(7),
};
static struct echo_port ports[RTE_MAX_ETHPORTS];
static unsigned int nb_ports;

static int
parse_ip(const char *value)
{
	struct in_addr address;

	if (inet_pton(AF_INET, value, &address) != 1 ||
	    !is_one_host(address.s_addr))
		return REFUSE(STATUS_USAGE,
			      "--ip %s: must be an address of one host, such "
			      "as 10.0.0.1",
			      value);
	identity.ip = address.s_addr;
	return 0;
}

static int
parse_udp_port(const char *value)
{
	unsigned long long n;

	if (!argument_number(value, 10, &n) || n < 1 || n > UINT16_MAX)
		return REFUSE(STATUS_USAGE, "--udp-port %s: must be 1 to 65535",
			      value);
	identity.udp_port = htons((uint16_t)n);
	return 0;
}

static void
print_help(const char *program)
{
	printf("usage: %s [EAL options] -- [options]\n\n"
	       "  --ip ADDRESS   the address that is answered for; default "
	       "10.0.0.1\n"
	       "  --udp-port N   whose datagrams are sent back, 1 to 65535; "
	       "default 7\n"
	       "  --help         this text\n\n"
	       "All ports answer ARP, ping and UDP echo until SIGINT, "
	       "SIGTERM or SIGHUP.\n"
	       "Without hugepages: --no-huge -m 512 among the EAL options.\n",
	       program);
}

static int
parse_option(int option, const char *value)
{
	return option == 'i' ? parse_ip(value) : parse_udp_port(value);
}

static int
open_ports(unsigned int nb_workers)
{
	struct echo_port *port;
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id) {
		/* Counted before, so that what it got goes back. */
		port = &ports[nb_ports++];
		if (plain_port_open(&port->port, id, nb_workers, 0) < 0)
			return STATUS_FAILED;
		port->me = identity;
		port->me.mac = port->port.mac;
	}
	if (nb_ports == 0)
		return REFUSE(STATUS_FAILED, "no port: see --vdev and -a");
	return 0;
}

static int
start_port(struct weir_runtime *rt, struct echo_port *port,
	   unsigned int nb_workers)
{
	unsigned int worker = port->port.id % nb_workers;

	if (plain_port_attach(&port->port, rt, worker, ECHO_BURST) < 0)
		return STATUS_FAILED;
	port->join = echo_spawn(rt, port, worker);
	if (port->join != NULL)
		return 0;
	return REFUSE(STATUS_FAILED, "port %u: %s", port->port.id,
		      rte_strerror(rte_errno));
}

static int
start_ports(struct weir_runtime *rt)
{
	unsigned int i, nb_workers = weir_runtime_nb_workers(rt);
	int rc;

	rc = open_ports(nb_workers);
	for (i = 0; i < nb_ports && rc == 0; i++)
		rc = start_port(rt, &ports[i], nb_workers);
	return rc;
}

/* Waits for the end of the port's fiber, and says why if it is not the shutdown. */
static int
await_end(struct echo_port *port)
{
	int outcome = weir_join_wait(port->join, NULL);

	port->join = NULL;
	if (outcome == -ECANCELED || outcome == -ESHUTDOWN)
		return 0;
	return REFUSE(STATUS_FAILED, "port %u: its fiber ends (%s)",
		      port->port.id, rte_strerror(-outcome));
}

/* By itself, which it says then. */
static bool
has_ended(struct echo_port *port)
{
	if (weir_join_ended(port->join)) {
		await_end(port);
		return true;
	}
	plain_port_watch(&port->port);
	return false;
}

/*
 * Until a signal comes, or all fibers have ended by themselves, as they do when
 * their ports are gone. STATUS_FAILED: one has.
 */
static int
serve(const sigset_t *signals)
{
	const struct timespec period = { .tv_nsec = WATCH_PERIOD_NS };
	unsigned int i, left = nb_ports;
	int rc = 0;

	while (sigtimedwait(signals, NULL, &period) < 0) {
		for (i = 0; i < nb_ports; i++) {
			if (ports[i].join == NULL || !has_ended(&ports[i]))
				continue;
			rc = STATUS_FAILED;
			left--;
		}
		if (left > 0)
			continue;
		error_line("no port is left to answer");
		break;
	}
	return rc;
}

/* The shutdown has ended the fibers that were left. */
static int
report(void)
{
	unsigned int i, left = 0;
	int rc = 0;

	for (i = 0; i < nb_ports; i++) {
		if (ports[i].join != NULL && await_end(&ports[i]) != 0)
			rc = STATUS_FAILED;
		plain_port_stop(&ports[i].port);
	}
	for (i = 0; i < nb_ports; i++) {
		left += plain_port_close(&ports[i].port);
		printf("port %u: received %" PRIu64 ", answered %" PRIu64 "\n",
		       ports[i].port.id, ports[i].received, ports[i].answered);
	}
	printf("mbufs left %u\n", left);
	return left > 0 ? STATUS_FAILED : rc;
}

static int
run(const sigset_t *signals)
{
	struct weir_runtime *rt;
	int rc, ended;

	rt = weir_runtime_create(NULL);
	if (rt == NULL)
		return STATUS_FAILED;
	rc = start_ports(rt);
	if (rc == 0) {
		printf("weir-echo: started on %u ports\n", nb_ports);
		fflush(stdout);
		rc = serve(signals);
	}
	weir_runtime_shutdown(rt, UINT64_MAX, NULL);
	ended = report();
	weir_runtime_free(rt);
	return rc != 0 ? rc : ended;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "ip", required_argument, NULL, 'i' },
		{ "udp-port", required_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	static const struct program program = {
		.options = options,
		.parse = parse_option,
		.print_help = print_help,
		.run = run,
	};

	return program_main(&program, argc, argv);
}
