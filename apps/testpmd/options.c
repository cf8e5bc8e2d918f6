/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include <weir_ethdev.h>

#include "arguments.h"
#include "error.h"
#include "forward.h"
#include "options.h"
#include "output.h"
#include "status.h"

const char program_name[] = "weir-testpmd";

#define MAX_DESCRIPTORS 32768
#define MAX_SECONDS 1e9
#define TX_FIRST_MAX 1024
#define SECOND_NS 1e9

static const struct forward_mode *const forward_modes[] = {
	&forward_mode_io,     &forward_mode_mac,    &forward_mode_macswap,
	&forward_mode_rxonly, &forward_mode_txonly,
};

/* One option: its name, how its value is read, and what --help says. */
struct option_def {
	const char *name;
	const char *value; /* NULL: it takes none */
	int (*parse)(const char *name, const char *value, struct options *o);
	const char *help;
};

static int
parse_number(const char *name, const char *value, unsigned long long min,
	     unsigned long long max, unsigned long long *number)
{
	if (!argument_number(value, 10, number) || *number < min ||
	    *number > max)
		return REFUSE(STATUS_USAGE, "--%s %s: must be %llu to %llu",
			      name, value, min, max);
	return STATUS_OK;
}

static int
parse_uint16(const char *name, const char *value, uint16_t max,
	     uint16_t *result)
{
	unsigned long long number;
	int rc;

	rc = parse_number(name, value, 1, max, &number);
	if (rc == STATUS_OK)
		*result = (uint16_t)number;
	return rc;
}

static int
parse_uint(const char *name, const char *value, unsigned int max,
	   unsigned int *result)
{
	unsigned long long number;
	int rc;

	rc = parse_number(name, value, 1, max, &number);
	if (rc == STATUS_OK)
		*result = (unsigned int)number;
	return rc;
}

/* strtod() without its leniency: decimal, and no sign, space or word before. */
static int
read_seconds(const char *text, double *seconds)
{
	char *end;

	if ((!isdigit((unsigned char)text[0]) && text[0] != '.') ||
	    strpbrk(text, "xX") != NULL)
		return -EINVAL;
	*seconds = strtod(text, &end);
	return end == text || *end != '\0' ? -EINVAL : 0;
}

/* 0 has a meaning of its own, which what is too little to count must not get. */
static int
parse_seconds(const char *name, const char *value, bool zero_is_legal,
	      uint64_t *ns)
{
	double seconds;

	if (read_seconds(value, &seconds) < 0 || seconds > MAX_SECONDS ||
	    (seconds * SECOND_NS < 1 && strpbrk(value, "123456789") != NULL) ||
	    (seconds == 0 && !zero_is_legal))
		return REFUSE(
			STATUS_USAGE,
			"--%s %s: must be seconds, %s0.000000001 to %.0f, "
			"decimals allowed",
			name, value, zero_is_legal ? "0 or " : "", MAX_SECONDS);
	*ns = (uint64_t)(seconds * SECOND_NS);
	return STATUS_OK;
}

static int
parse_forward_mode(const char *name, const char *value, struct options *o)
{
	char known[128] = "";
	unsigned int i;

	for (i = 0; i < RTE_DIM(forward_modes); i++) {
		if (strcmp(value, forward_modes[i]->name) == 0) {
			o->mode = forward_modes[i];
			return STATUS_OK;
		}
		strcat(known, i == 0 ? "" : ", ");
		strcat(known, forward_modes[i]->name);
	}
	return REFUSE(STATUS_USAGE, "--%s %s: must be one of %s", name, value,
		      known);
}

static int
parse_park(const char *name, const char *value, struct options *o)
{
	/* By enum weir_park. */
	static const char *const policies[] = { "poll", "pause", "interrupt",
						"adaptive" };
	unsigned int i;

	for (i = 0; i < RTE_DIM(policies); i++) {
		if (strcmp(value, policies[i]) == 0) {
			o->park = (enum weir_park)i;
			return STATUS_OK;
		}
	}
	return REFUSE(STATUS_USAGE,
		      "--%s %s: must be one of poll, pause, interrupt, "
		      "adaptive",
		      name, value);
}

static int
parse_nb_cores(const char *name, const char *value, struct options *o)
{
	return parse_uint(name, value, RTE_MAX_LCORE, &o->nb_cores);
}

static int
parse_rxq(const char *name, const char *value, struct options *o)
{
	return parse_uint16(name, value, RTE_MAX_QUEUES_PER_PORT, &o->rxq);
}

static int
parse_txq(const char *name, const char *value, struct options *o)
{
	return parse_uint16(name, value, RTE_MAX_QUEUES_PER_PORT, &o->txq);
}

static int
parse_rxd(const char *name, const char *value, struct options *o)
{
	return parse_uint16(name, value, MAX_DESCRIPTORS, &o->rxd);
}

static int
parse_txd(const char *name, const char *value, struct options *o)
{
	return parse_uint16(name, value, MAX_DESCRIPTORS, &o->txd);
}

static int
parse_burst(const char *name, const char *value, struct options *o)
{
	return parse_uint16(name, value, WEIR_BURST_MAX, &o->burst);
}

static int
parse_stats_period(const char *name, const char *value, struct options *o)
{
	return parse_seconds(name, value, true, &o->stats_period_ns);
}

static int
parse_run_for(const char *name, const char *value, struct options *o)
{
	return parse_seconds(name, value, false, &o->run_for_ns);
}

static int
parse_auto_start(const char *name, const char *value, struct options *o)
{
	/* Forwarding has no other way to start. */
	return STATUS_OK;
}

static int
parse_tx_first(const char *name, const char *value, struct options *o)
{
	o->tx_first = RTE_MAX(o->tx_first, 1);
	return STATUS_OK;
}

static int
parse_tx_first_bursts(const char *name, const char *value, struct options *o)
{
	return parse_uint16(name, value, TX_FIRST_MAX, &o->tx_first);
}

static int
parse_portmask(const char *name, const char *value, struct options *o)
{
	unsigned long long mask;

	if (!argument_number(value, 16, &mask) || mask == 0)
		return REFUSE(STATUS_USAGE,
			      "--%s %s: must be a hexadecimal mask of ports, "
			      "for example 0x3",
			      name, value);
	o->portmask = mask;
	return STATUS_OK;
}

static int
parse_total_num_mbufs(const char *name, const char *value, struct options *o)
{
	return parse_uint(name, value, MBUFS_MAX, &o->nb_mbufs);
}

/* The last of several counts, but --config and --map are not both one's. */
static int
take_map(const char *name, const char *value, struct options *o)
{
	char error[256];

	if (o->map_option != NULL && strcmp(o->map_option, name) != 0)
		return REFUSE(STATUS_FAILED,
			      "--%s %s: --%s is given too; give one of them",
			      name, value, o->map_option);
	o->map_option = name;
	o->map_value = value;
	o->map_file = NULL;
	weir_lcore_map_free(o->map);
	o->map = NULL;
	if (!weir_lcore_map_is_text(value)) {
		o->map_file = value;
		return STATUS_OK;
	}
	o->map = weir_lcore_map_parse(value, error, sizeof(error));
	if (o->map == NULL)
		return REFUSE(STATUS_USAGE, "--%s %s: %s", name, value, error);
	return STATUS_OK;
}

static int
parse_config(const char *name, const char *value, struct options *o)
{
	/* A map, but of l3fwd's form only. */
	if (value[0] != '(' || value[strspn(value, "(),0123456789")] != '\0')
		return REFUSE(STATUS_USAGE,
			      "--%s %s: must be like "
			      "(port,queue,lcore),(port,queue,lcore)",
			      name, value);
	return take_map(name, value, o);
}

static int
parse_map(const char *name, const char *value, struct options *o)
{
	if (value[0] == '\0')
		return REFUSE(STATUS_USAGE,
			      "--%s %s: must be an lcore map or the name of a "
			      "file with one",
			      name, value);
	return take_map(name, value, o);
}

static int
parse_eth_peer(const char *name, const char *value, struct options *o)
{
	struct rte_ether_addr addr;
	unsigned int port;
	int length = 0;

	if (!isdigit((unsigned char)value[0]) ||
	    sscanf(value, "%5u,%n", &port, &length) != 1 || length == 0 ||
	    port >= RTE_MAX_ETHPORTS ||
	    rte_ether_unformat_addr(value + length, &addr) != 0)
		return REFUSE(STATUS_USAGE,
			      "--%s %s: must be like 0,02:00:00:00:00:01 with "
			      "a port below %u",
			      name, value, RTE_MAX_ETHPORTS);
	o->eth_peer[port] = addr;
	o->has_peer[port] = true;
	return STATUS_OK;
}

static int
parse_help(const char *name, const char *value, struct options *o)
{
	o->help = true;
	return STATUS_OK;
}

static const struct option_def option_defs[] = {
	{ "forward-mode", "MODE", parse_forward_mode,
	  "io (default), mac, macswap, rxonly or txonly" },
	{ "nb-cores", "N", parse_nb_cores,
	  "workers, one an lcore; default: those of --config or\n"
	  "--map, or else every EAL worker lcore" },
	{ "rxq", "N", parse_rxq,
	  "receive queues a port; default: those of --config or\n"
	  "--map, or else 1" },
	{ "txq", "N", parse_txq,
	  "transmit queues a port; default: as many as receive\n"
	  "queues that send to it" },
	{ "rxd", "N", parse_rxd, "descriptors a receive queue; default 1024" },
	{ "txd", "N", parse_txd, "descriptors a transmit queue; default 1024" },
	{ "burst", "N", parse_burst, "packets a burst, 1 to 512; default 32" },
	{ "park", "POLICY", parse_park,
	  "how idle workers wait: poll (default), pause,\n"
	  "interrupt or adaptive" },
	{ "config", "LIST", parse_config,
	  "(port,queue,lcore),...: the worker of each queue;\n"
	  "default: dealt out, a port's own node first" },
	{ "map", "MAP", parse_map,
	  "an lcore map, or the file with one, which is\n"
	  "read again on SIGHUP; in place of --config" },
	{ "portmask", "HEX", parse_portmask, "ports to use; default: all" },
	{ "total-num-mbufs", "N", parse_total_num_mbufs,
	  "mbufs of each node's pool; default: as many as\n"
	  "the queues need" },
	{ "eth-peer", "PORT,MAC", parse_eth_peer,
	  "to whom PORT sends in mac and txonly mode;\n"
	  "default 02:00:00:00:00:PORT" },
	{ "tx-first", NULL, parse_tx_first,
	  "send a burst on each transmit queue first" },
	{ "tx-first-bursts", "N", parse_tx_first_bursts,
	  "the same with N bursts, 1 to 1024" },
	{ "stats-period", "SECONDS", parse_stats_period,
	  "print statistics so often; decimals allowed;\n"
	  "default 0: at the end only" },
	{ "run-for", "SECONDS", parse_run_for,
	  "end by itself; decimals allowed; default: run\n"
	  "until SIGINT, SIGTERM or, unless --map names\n"
	  "a file, SIGHUP" },
	{ "auto-start", NULL, parse_auto_start,
	  "accepted as testpmd's; forwarding always does" },
	{ "help", NULL, parse_help, "print this and exit" },
};

static void
options_default(struct options *o)
{
	unsigned int i;

	memset(o, 0, sizeof(*o));
	o->mode = forward_modes[0];
	o->rxd = DEFAULT_DESCRIPTORS;
	o->txd = DEFAULT_DESCRIPTORS;
	o->burst = DEFAULT_BURST;
	/* Locally administered, and told apart by the port, as testpmd does. */
	for (i = 0; i < RTE_MAX_ETHPORTS; i++)
		o->eth_peer[i] =
			(struct rte_ether_addr){ { RTE_ETHER_LOCAL_ADMIN_ADDR,
						   0, 0, 0, 0, (uint8_t)i } };
}

void
options_free(struct options *o)
{
	weir_lcore_map_free(o->map);
	o->map = NULL;
}

/* What getopt_long() did not like: it does not say why. */
static int
refuse_option(const char *word, int kind)
{
	if (kind == ':')
		return REFUSE(STATUS_USAGE, "%s: needs a value; see --help",
			      word);
	if (optopt != 0 && strncmp(word, "--", 2) == 0)
		return REFUSE(STATUS_USAGE, "%s: takes no value; see --help",
			      word);
	return REFUSE(STATUS_USAGE, "%s: no such option; see --help", word);
}

int
options_parse(int argc, char **argv, struct options *o)
{
	struct option longopts[RTE_DIM(option_defs) + 1];
	const struct option_def *def;
	const char *word;
	unsigned int i;
	int index, kind, rc;

	memset(longopts, 0, sizeof(longopts));
	for (i = 0; i < RTE_DIM(option_defs); i++) {
		def = &option_defs[i];
		longopts[i].name = def->name;
		longopts[i].has_arg =
			def->value != NULL ? required_argument : no_argument;
		/* Above every character, so that optopt tells them apart. */
		longopts[i].val = 256 + (int)i;
	}
	options_default(o);
	optind = 0; /* glibc: start afresh; EAL uses getopt too */
	opterr = 0;
	for (;;) {
		word = argv[optind == 0 ? 1 : optind];
		kind = getopt_long(argc, argv, "+:", longopts, &index);
		if (kind == -1)
			break;
		if (kind < 256)
			return refuse_option(word, kind);
		def = &option_defs[kind - 256];
		rc = def->parse(def->name, optarg, o);
		if (rc != STATUS_OK)
			return rc;
	}
	if (optind < argc)
		return REFUSE(STATUS_USAGE,
			      "%s: unexpected; options begin with --, "
			      "see --help",
			      argv[optind]);
	return STATUS_OK;
}

void
options_print_help(const char *program)
{
	const struct option_def *def;
	unsigned int i;

	printf("usage: %s [EAL options] -- [options]\n\n", program);
	for (i = 0; i < RTE_DIM(option_defs); i++) {
		def = &option_defs[i];
		output_option(24, def->name, def->value, def->help);
	}
	printf("\nPorts that are used forward in pairs, in the order of their "
	       "numbers: the first to\nthe second and back, the third to the "
	       "fourth and back; a last port without a\npartner forwards to "
	       "itself.\n"
	       "Without hugepages: --no-huge -m 512 among the EAL options.\n");
}
