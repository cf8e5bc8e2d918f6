/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * weir-echo [EAL options] -- [--ip ADDRESS] [--udp-port N]
 *
 * Answers ARP, ICMP echo and UDP echo (RFC 862) for one address on every port,
 * until SIGINT or SIGTERM.
 */

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

#include "echo.h"

#define FAILED 1
#define USAGE 2

static struct identity identity = { .udp_port = RTE_BE16(7) };
static struct echo_port ports[RTE_MAX_ETHPORTS];
static unsigned int nb_ports;

/* What is quoted may be anything; the refusal stays a line. */
static int
refuse(const char *option, const char *value, const char *why)
{
	fprintf(stderr, "weir-echo: %s", option);
	for (; *value != '\0'; value++)
		fputc(iscntrl((unsigned char)*value) ? '?' : *value, stderr);
	fprintf(stderr, ": %s\n", why);
	return USAGE;
}

static int
parse_ip(const char *value)
{
	struct in_addr address;

	if (inet_pton(AF_INET, value, &address) != 1 ||
	    !is_one_host(address.s_addr))
		return refuse("--ip ", value,
			      "must be an address of one host, such as "
			      "10.0.0.1");
	identity.ip = address.s_addr;
	return 0;
}

static int
parse_udp_port(const char *value)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno != 0 || *end != '\0' || value[0] < '0' || value[0] > '9' ||
	    n < 1 || n > UINT16_MAX)
		return refuse("--udp-port ", value, "must be 1 to 65535");
	identity.udp_port = htons((uint16_t)n);
	return 0;
}

static int
parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ip", required_argument, NULL, 'i' },
		{ "udp-port", required_argument, NULL, 'u' },
		{ NULL, 0, NULL, 0 },
	};
	int option, at = 1, rc = 0;

	/* EAL has gone through others, by other rules: glibc begins anew with 0. */
	optind = 0;
	argv[0] = (char *)(uintptr_t) "weir-echo";
	identity.ip = inet_addr("10.0.0.1");
	for (; rc == 0 &&
	       (option = getopt_long(argc, argv, "+:", options, NULL)) != -1;
	     at = optind)
		rc = option == 'i' ? parse_ip(optarg) :
		     option == 'u' ? parse_udp_port(optarg) :
		     option == ':' ? refuse("", argv[at], "needs a value") :
				     refuse("", argv[at], "is no option");
	if (rc == 0 && optind < argc)
		rc = refuse("", argv[optind], "is no option");
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
			return FAILED;
	}
	if (nb_ports == 0) {
		fprintf(stderr, "weir-echo: no port: see --vdev and -a\n");
		return FAILED;
	}
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
	fprintf(stderr, "weir-echo: port %u: %s\n", port->id,
		rte_strerror(rte_errno));
	return FAILED;
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

/* The shutdown has ended the fibers, unless they had ended by themselves. */
static int
report(void)
{
	unsigned int i, left = 0;
	int rc = 0, outcome;

	for (i = 0; i < nb_ports; i++) {
		if (ports[i].join != NULL) {
			outcome = weir_join_wait(ports[i].join, NULL);
			if (outcome != -ECANCELED && outcome != -ESHUTDOWN) {
				fprintf(stderr, "weir-echo: port %u: %s\n",
					ports[i].id, rte_strerror(-outcome));
				rc = FAILED;
			}
		}
		left += port_close(&ports[i]);
		printf("port %u: received %" PRIu64 ", answered %" PRIu64 "\n",
		       ports[i].id, ports[i].received, ports[i].answered);
	}
	printf("mbufs left %u\n", left);
	return left > 0 ? FAILED : rc;
}

static int
run(const sigset_t *signals)
{
	struct weir_runtime *rt;
	int number, rc, ended;

	rt = weir_runtime_create(NULL);
	if (rt == NULL)
		return FAILED;
	rc = start_ports(rt);
	if (rc == 0) {
		printf("weir-echo: started on %u ports\n", nb_ports);
		fflush(stdout);
		sigwait(signals, &number);
	}
	weir_runtime_shutdown(rt, UINT64_MAX, NULL);
	ended = report();
	weir_runtime_free(rt);
	return rc != 0 ? rc : ended;
}

int
main(int argc, char **argv)
{
	sigset_t signals;
	int used, rc;

	/* EAL's threads inherit it: one waits for them. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	used = rte_eal_init(argc, argv);
	if (used < 0) {
		fprintf(stderr, "weir-echo: EAL does not start: %s\n",
			rte_strerror(rte_errno));
		return FAILED;
	}
	rc = parse_options(argc - used, argv + used);
	if (rc == 0)
		rc = run(&signals);
	rte_eal_cleanup();
	return rc;
}
