/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * weir-flows [EAL options] -- [--schedule atomic|ordered] [--buckets N] [--work N]
 *            [--stats-period S]
 *
 * Forwards between the ports of each pair, or back out of one that has none, until
 * SIGINT, SIGTERM or SIGHUP, or until nothing receives any more; sends what it has then,
 * unless another signal comes. flows.h says how.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_ethdev.h>

#include "arguments.h"
#include "error.h"
#include "flows.h"
#include "program.h"
#include "status.h"

const char program_name[] = "weir-flows";

#define WATCH_PERIOD_NS 100000000
#define LOOKS_PER_S 10
#define FINISH_PERIOD_NS 10000000
#define BUCKETS_PER_WORKER 2u
/*
 * Packets in front of the buckets. Smaller: those of a worker that is through with its
 * own are empty before more comes. Larger: more of them wait.
 */
#define WAITING_PER_WORKER 512u
#define CAPACITY_MIN 64u
/* Smaller: workers wait for bursts. Larger: more packets fill the caches. */
#define BURSTS_PER_WORKER 4u
#define WORK_MAX 1000000u
#define STATS_PERIOD_MAX 3600u

static struct flows_port ports[RTE_MAX_ETHPORTS];
static unsigned int nb_ports;
static struct flows_options options;

static int
parse_number(const char *name, const char *value, unsigned int least,
	     unsigned int most, unsigned int *number)
{
	unsigned long long n;

	if (!argument_number(value, 10, &n) || n < least || n > most)
		return REFUSE(STATUS_USAGE, "--%s %s: must be %u to %u", name,
			      value, least, most);
	*number = (unsigned int)n;
	return 0;
}

static void
print_help(const char *program)
{
	printf("usage: %s [EAL options] -- [options]\n\n"
	       "  --schedule S      atomic: each flow in order, on one worker "
	       "at a time;\n"
	       "                    ordered: all in order, on several at once; "
	       "default atomic\n"
	       "  --buckets N       tasks that a port's flows are spread over, "
	       "1 to %u;\n"
	       "                    if atomic; default: %u for each worker\n"
	       "  --work N          steps that a packet takes in its task, up "
	       "to %u;\n"
	       "                    default 0\n"
	       "  --stats-period N  print what ports receive and send a second, "
	       "each N\n"
	       "                    seconds, 1 to %u; default: never\n"
	       "  --help            this text\n\n"
	       "Ports forward in pairs, until SIGINT, SIGTERM or SIGHUP.\n"
	       "What has been received is sent then, unless another of them "
	       "comes.\n"
	       "Without hugepages: --no-huge -m 512 among the EAL options.\n",
	       program, FLOWS_BUCKETS_MAX, BUCKETS_PER_WORKER, WORK_MAX,
	       STATS_PERIOD_MAX);
}

static int
parse_schedule(const char *value)
{
	if (strcmp(value, "atomic") == 0)
		options.schedule = FLOWS_ATOMIC;
	else if (strcmp(value, "ordered") == 0)
		options.schedule = FLOWS_ORDERED;
	else
		return REFUSE(STATUS_USAGE,
			      "--schedule %s: must be atomic or ordered",
			      value);
	return 0;
}

static int
parse_option(int option, const char *value)
{
	switch (option) {
	case 'o':
		return parse_schedule(value);
	case 'b':
		return parse_number("buckets", value, 1, FLOWS_BUCKETS_MAX,
				    &options.nb_buckets);
	case 's':
		return parse_number("stats-period", value, 1, STATS_PERIOD_MAX,
				    &options.stats_period);
	default:
		return parse_number("work", value, 0, WORK_MAX, &options.work);
	}
}

static int
open_ports(unsigned int nb_workers)
{
	uint16_t id;

	RTE_ETH_FOREACH_DEV(id) {
		/* Counted before, so that what it got goes back. */
		if (plain_port_open(&ports[nb_ports++].port, id, nb_workers,
				    flows_mbufs(&options)) < 0)
			return STATUS_FAILED;
	}
	if (nb_ports == 0)
		return REFUSE(STATUS_FAILED, "no port: see --vdev and -a");
	return 0;
}

static void
complete_options(unsigned int nb_workers)
{
	if (options.nb_buckets == 0)
		options.nb_buckets = RTE_MIN(BUCKETS_PER_WORKER * nb_workers,
					     FLOWS_BUCKETS_MAX);
	options.capacity =
		RTE_MAX(WAITING_PER_WORKER * nb_workers / options.nb_buckets,
			CAPACITY_MIN);
	options.nb_bursts = BURSTS_PER_WORKER * nb_workers;
}

static int
start(struct weir_runtime *rt)
{
	unsigned int nb_workers = weir_runtime_nb_workers(rt), i;
	int rc;

	complete_options(nb_workers);
	rc = open_ports(nb_workers);
	for (i = 0; i < nb_ports && rc == 0; i++)
		if (plain_port_attach(&ports[i].port, rt, i % nb_workers,
				      FLOWS_BURST) < 0)
			rc = STATUS_FAILED;
	if (rc == 0 && flows_start(rt, ports, nb_ports, &options) < 0)
		rc = STATUS_FAILED;
	return rc;
}

/* Waits for the end of what receives, and says why if it was not told to end. */
static int
await_first(struct flows_port *port)
{
	int outcome = weir_join_wait(port->first, NULL);

	port->first = NULL;
	if (outcome == -ESHUTDOWN || outcome == -ECANCELED)
		return 0;
	return REFUSE(STATUS_FAILED, "port %u: receives no more (%s)",
		      port->port.id, rte_strerror(-outcome));
}

/* By itself, which it says then. */
static bool
has_ended(struct flows_port *port)
{
	if (weir_join_ended(port->first)) {
		await_first(port);
		return true;
	}
	plain_port_watch(&port->port);
	return false;
}

static void
print_rates(void)
{
	unsigned int i;

	for (i = 0; i < nb_ports; i++)
		rates_print(&ports[i]);
	fflush(stdout);
}

/* STATUS_FAILED: some port has ended by itself, and all of them maybe. */
static int
serve(const sigset_t *signals)
{
	const struct timespec period = { .tv_nsec = WATCH_PERIOD_NS };
	unsigned int i, left = nb_ports, looks = 0;
	int rc = 0;

	for (i = 0; i < nb_ports; i++)
		rates_begin(&ports[i]);
	while (left > 0 && sigtimedwait(signals, NULL, &period) < 0) {
		if (options.stats_period > 0 &&
		    ++looks % (options.stats_period * LOOKS_PER_S) == 0)
			print_rates();
		for (i = 0; i < nb_ports; i++) {
			if (ports[i].first == NULL || !has_ended(&ports[i]))
				continue;
			rc = STATUS_FAILED;
			left--;
		}
	}
	return rc;
}

static bool
all_sent(void)
{
	unsigned int i;

	for (i = 0; i < nb_ports; i++)
		if (ports[i].last != NULL && !weir_join_ended(ports[i].last))
			return false;
	return true;
}

/* Sends what has come by now, until it has, or another signal comes. */
static void
finish(const sigset_t *signals)
{
	const struct timespec period = { .tv_nsec = FINISH_PERIOD_NS };
	unsigned int i;

	/* The others end behind these, from first to last. */
	for (i = 0; i < nb_ports; i++)
		if (ports[i].first != NULL)
			weir_rxq_finish(ports[i].port.rxq, ESHUTDOWN,
					ports[i].port.rxd);
	while (!all_sent() && sigtimedwait(signals, NULL, &period) < 0)
		;
}

/* The shutdown has ended what was left. */
static int
await_all(void)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < nb_ports; i++) {
		if (ports[i].first != NULL && await_first(&ports[i]) != 0)
			rc = STATUS_FAILED;
		weir_join_detach(ports[i].last);
	}
	return rc;
}

static int
report(void)
{
	unsigned int i, left = 0;

	for (i = 0; i < nb_ports; i++)
		plain_port_stop(&ports[i].port);
	for (i = 0; i < nb_ports; i++) {
		left += plain_port_close(&ports[i].port);
		printf("port %u: received %" PRIu64 ", sent %" PRIu64
		       ", dropped %" PRIu64 "\n",
		       ports[i].port.id, ports[i].received, ports[i].sent.sent,
		       ports[i].sent.dropped);
	}
	printf("mbufs left %u\n", left);
	return left > 0 ? STATUS_FAILED : 0;
}

static void
print_started(void)
{
	const bool ordered = options.schedule == FLOWS_ORDERED;

	printf("weir-flows: started on %u ports, %u %s each\n", nb_ports,
	       ordered ? options.nb_bursts : options.nb_buckets,
	       ordered ? "bursts" : "buckets");
	fflush(stdout);
}

static int
run(const sigset_t *signals)
{
	struct weir_options runtime_options;
	struct weir_runtime *rt;
	int rc, ended, reported;

	if (options.schedule == FLOWS_ORDERED && options.nb_buckets > 0)
		return REFUSE(STATUS_USAGE, "--buckets %u: only if atomic",
			      options.nb_buckets);
	weir_options_init(&runtime_options);
	runtime_options.budget = FLOWS_BUDGET;
	rt = weir_runtime_create(&runtime_options);
	if (rt == NULL)
		return STATUS_FAILED;
	rc = start(rt);
	if (rc == 0) {
		print_started();
		rc = serve(signals);
	}
	finish(signals);
	weir_runtime_shutdown(rt, UINT64_MAX, NULL);
	ended = await_all();
	reported = report();
	weir_runtime_free(rt);
	if (rc == 0)
		rc = ended;
	return rc != 0 ? rc : reported;
}

int
main(int argc, char **argv)
{
	static const struct option names[] = {
		{ "buckets", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ "schedule", required_argument, NULL, 'o' },
		{ "stats-period", required_argument, NULL, 's' },
		{ "work", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	static const struct program program = {
		.options = names,
		.parse = parse_option,
		.print_help = print_help,
		.run = run,
	};

	return program_main(&program, argc, argv);
}
