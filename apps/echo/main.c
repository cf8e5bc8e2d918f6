/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * weir-echo [EAL options] -- [--ip ADDRESS] [--udp-port N]
 *
 * Answers ARP, ICMP echo and UDP echo (RFC 862) for one address on every port,
 * until SIGINT, SIGTERM or SIGHUP, or until all ports are gone.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ip.h>

#include "arguments.h"
#include "eal.h"
#include "echo.h"
#include "error.h"
#include "output.h"
#include "status.h"

const char program_name[] = "weir-echo";

#define WATCH_PERIOD_NS 100000000

static struct identity identity = {
	.ip = RTE_BE32(RTE_IPV4(10, 0, 0, 1)),
	.udp_port = RTE_BE16(7),
};
static struct echo_port ports[RTE_MAX_ETHPORTS];
static unsigned int nb_ports;
static bool help;

static void
flush_output(void)
{
	output_end(0);
}

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

/* EAL's hook. */
static void
print_usage(const char *program)
{
	printf("\n");
	print_help(program);
}

static int
parse_option(int option, const char *given)
{
	switch (option) {
	case 'i':
		return parse_ip(optarg);
	case 'u':
		return parse_udp_port(optarg);
	case 'h':
		help = true;
		return 0;
	case ':':
		return REFUSE(STATUS_USAGE, "%s: needs a value", given);
	default:
		/* It is the option's own when that exists. */
		if (optopt != 0 && strncmp(given, "--", 2) == 0)
			return REFUSE(STATUS_USAGE, "%s: takes no value",
				      given);
		return REFUSE(STATUS_USAGE, "%s: is no option", given);
	}
}

static int
parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "ip", required_argument, NULL, 'i' },
		{ "udp-port", required_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	int option, at = 1, rc = 0;

	for (; rc == 0 &&
	       (option = getopt_long(argc, argv, "+:", options, NULL)) != -1;
	     at = optind)
		rc = parse_option(option, argv[at]);
	if (rc == 0 && optind < argc)
		rc = REFUSE(STATUS_USAGE, "%s: is no option", argv[optind]);
	return rc;
}

static int
open_ports(unsigned int nb_workers)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id) {
		ports[nb_ports].me = identity;
		/* Counted before, so that what it got goes back. */
		if (port_open(&ports[nb_ports++], id, nb_workers) < 0)
			return STATUS_FAILED;
	}
	if (nb_ports == 0)
		return REFUSE(STATUS_FAILED, "no port: see --vdev and -a");
	return 0;
}

static int
start_port(struct weir_runtime *rt, struct echo_port *port,
	   unsigned int nb_workers)
{
	unsigned int worker = port->id % nb_workers;

	port->rxq = weir_rxq_create(rt, port->id, 0, worker, 32);
	if (port->rxq != NULL)
		port->txq = weir_txq_create(port->id, 0, 1000000);
	if (port->txq != NULL)
		port->join = echo_spawn(rt, port, worker);
	if (port->join != NULL)
		return 0;
	return REFUSE(STATUS_FAILED, "port %u: %s", port->id,
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
	return REFUSE(STATUS_FAILED, "port %u: its fiber ends (%s)", port->id,
		      rte_strerror(-outcome));
}

/* By itself, which it says then. */
static bool
has_ended(struct echo_port *port)
{
	if (weir_join_ended(port->join)) {
		await_end(port);
		return true;
	}
	port_watch(port);
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
		left += port_close(&ports[i]);
		printf("port %u: received %" PRIu64 ", answered %" PRIu64 "\n",
		       ports[i].id, ports[i].received, ports[i].answered);
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

static int
start_and_run(int argc, char **argv)
{
	struct sigaction hangup;
	sigset_t signals;
	int rc;

	/* EAL's threads inherit it: one waits for them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	/* Under nohup it stays ignored. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 &&
	    hangup.sa_handler != SIG_IGN)
		sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	rte_set_application_usage_hook(print_usage);
	rc = eal_start(argc, argv);
	if (rc != STATUS_OK)
		return rc;
	if (rte_get_next_lcore(-1, 1, 0) == RTE_MAX_LCORE)
		rc = REFUSE(STATUS_FAILED,
			    "%s: leaves no worker lcore beside the main one; "
			    "name two or more, for example --lcores 0@0,1@0",
			    eal_lcores_option());
	else
		rc = run(&signals);
	rte_eal_cleanup();
	return rc;
}

int
main(int argc, char **argv)
{
	int eal_argc = arguments_of_eal(argc, argv);
	int rc = 0;

	output_begin();
	atexit(flush_output);
	if (eal_argc < argc)
		rc = parse_options(argc - eal_argc, &argv[eal_argc]);
	if (rc == 0 && help)
		print_help(argv[0]);
	else if (rc == 0)
		rc = start_and_run(eal_argc, argv);
	return rc;
}
