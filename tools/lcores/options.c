/* SPDX-License-Identifier: BSD-3-Clause */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_pci.h>

#include "arguments.h"
#include "error.h"
#include "options.h"
#include "output.h"
#include "status.h"

const char program_name[] = "weir-lcores";

#define MPPS_MAX 1e4
#define DOMAIN_MAX 0xfffffff
#define DEVICE_MAX 31
#define FUNCTION_MAX 7

#define SHOW (1u << COMMAND_SHOW)
#define CHECK (1u << COMMAND_CHECK)
#define SUGGEST (1u << COMMAND_SUGGEST)
#define RECORD (1u << COMMAND_RECORD)
#define DIFF (1u << COMMAND_DIFF)
#define ALL (SHOW | CHECK | SUGGEST | RECORD | DIFF)

/* By enum command. */
static const struct command_def {
	const char *name;
	unsigned int nb_operands;
	const char *operands;
	const char *help;
} command_defs[] = {
	{ "show", 0, "",
	  "Shows the machine: nodes, last-level caches, cores, network devices,\n"
	  "hugepages, distances; with --map, who does what on it." },
	{ "check", 1, " MAP",
	  "Checks a map against the machine. Each finding is a line: how grave,\n"
	  "which rule, and what it costs. Exit status 1 when one is an error." },
	{ "suggest", 0, "",
	  "Suggests a map for ports and a load, with its reasons as comments.\n"
	  "Exit status 1 when the machine has no room for what is asked." },
	{ "record", 1, " FILE",
	  "Writes what there is to know of this machine to a file, for --from\n"
	  "on another one." },
	{ "diff", 2, " MAP MAP",
	  "Says what the second map has otherwise than the first. Exit status 1\n"
	  "when they differ." },
};

/* One option: its commands, how its value is read, and what --help says. */
struct option_def {
	const char *name;
	unsigned int commands;
	const char *value; /* NULL: it takes none */
	int (*parse)(const char *name, const char *value, struct options *o);
	const char *help;
};

static int
parse_number(const char *name, const char *value, unsigned int max,
	     unsigned int *result)
{
	unsigned long long number;

	if (!argument_number(value, 10, &number) || number < 1 || number > max)
		return REFUSE(STATUS_TROUBLE, "--%s %s: must be 1 to %u", name,
			      value, max);
	*result = (unsigned int)number;
	return STATUS_OK;
}

static int
parse_mpps_value(const char *name, const char *value, double *result)
{
	char *end;

	*result = strtod(value, &end);
	if (value[strspn(value, "0123456789.")] != '\0' || end == value ||
	    *end != '\0' || !(*result > 0) || *result > MPPS_MAX)
		return REFUSE(STATUS_TROUBLE,
			      "--%s %s: must be million packets a second, more "
			      "than 0 and at most %.0f, decimals allowed",
			      name, value, MPPS_MAX);
	return STATUS_OK;
}

static int
parse_from(const char *name, const char *value, struct options *o)
{
	o->from = value;
	return STATUS_OK;
}

static int
parse_map(const char *name, const char *value, struct options *o)
{
	o->map = value;
	return STATUS_OK;
}

static int
parse_svg(const char *name, const char *value, struct options *o)
{
	o->svg = value;
	return STATUS_OK;
}

/* DPDK's parser takes what is not there for 0. */
static bool
has_all_numbers(const char *word)
{
	bool digit = false;

	for (; *word != '\0'; word++) {
		if (!digit && (*word == ':' || *word == '.'))
			return false;
		digit = *word != ':' && *word != '.';
	}
	return digit;
}

/* The first `length` characters of the text, as EAL and sysfs write it. */
static bool
read_address(const char *text, size_t length, struct rte_pci_addr *address)
{
	char word[16];

	if (length >= sizeof(word))
		return false;
	memcpy(word, text, length);
	word[length] = '\0';
	/* DPDK's parser would take signs, and numbers that no device has. */
	return word[strspn(word, "0123456789abcdefABCDEF:.")] == '\0' &&
	       has_all_numbers(word) &&
	       rte_pci_addr_parse(word, address) == 0 &&
	       address->domain <= DOMAIN_MAX && address->devid <= DEVICE_MAX &&
	       address->function <= FUNCTION_MAX;
}

static int
compare_addresses(const void *a, const void *b)
{
	return rte_pci_addr_cmp(a, b);
}

/* Puts them in order, and refuses one that is given twice. */
static int
take_addresses(const char *name, const char *value,
	       struct rte_pci_addr *addresses, struct options_ports *ports)
{
	unsigned int i;

	qsort(addresses, ports->n, sizeof(*addresses), compare_addresses);
	for (i = 0; i < ports->n; i++) {
		snprintf(ports->addresses[i], sizeof(ports->addresses[i]),
			 PCI_PRI_FMT, addresses[i].domain, addresses[i].bus,
			 addresses[i].devid, addresses[i].function);
		if (i > 0 &&
		    rte_pci_addr_cmp(&addresses[i - 1], &addresses[i]) == 0)
			return REFUSE(STATUS_TROUBLE,
				      "--%s %s: %s is given twice", name, value,
				      ports->addresses[i]);
	}
	return STATUS_OK;
}

static int
parse_addresses(const char *name, const char *value,
		struct options_ports *ports)
{
	struct rte_pci_addr addresses[RTE_MAX_ETHPORTS];
	const char *at = value;
	size_t length;

	ports->n = 0;
	ports->counted = false;
	ports->value = value;
	for (;; at += length + 1) {
		length = strcspn(at, ",");
		if (ports->n == RTE_MAX_ETHPORTS)
			return REFUSE(STATUS_TROUBLE,
				      "--%s %.32s...: must be at most %u ports",
				      name, value, RTE_MAX_ETHPORTS);
		if (!read_address(at, length, &addresses[ports->n]))
			return REFUSE(STATUS_TROUBLE,
				      "--%s %s: '%.*s' is no PCI address; must "
				      "be like 0000:81:00.0,0000:81:00.1",
				      name, value, (int)RTE_MIN(length, 32u),
				      at);
		ports->n++;
		if (at[length] == '\0')
			break;
	}
	return take_addresses(name, value, addresses, ports);
}

static int
parse_ports(const char *name, const char *value, struct options *o)
{
	if (o->command != COMMAND_SUGGEST ||
	    value[strspn(value, "0123456789")] != '\0' || value[0] == '\0')
		return parse_addresses(name, value, &o->ports);
	o->ports.counted = true;
	return parse_number(name, value, RTE_MAX_ETHPORTS, &o->ports.n);
}

static int
parse_queues(const char *name, const char *value, struct options *o)
{
	return parse_number(name, value, RTE_MAX_QUEUES_PER_PORT, &o->queues);
}

static int
parse_workers(const char *name, const char *value, struct options *o)
{
	return parse_number(name, value, OPTIONS_WORKERS_MAX, &o->workers);
}

static int
parse_mpps(const char *name, const char *value, struct options *o)
{
	return parse_mpps_value(name, value, &o->mpps);
}

static int
parse_core_mpps(const char *name, const char *value, struct options *o)
{
	return parse_mpps_value(name, value, &o->core_mpps);
}

static int
parse_json(const char *name, const char *value, struct options *o)
{
	o->json = true;
	return STATUS_OK;
}

static int
parse_strict(const char *name, const char *value, struct options *o)
{
	o->strict = true;
	return STATUS_OK;
}

static int
parse_help(const char *name, const char *value, struct options *o)
{
	o->help = true;
	return STATUS_OK;
}

static const struct option_def option_defs[] = {
	{ "map", SHOW, "MAP", parse_map, "the lcore map to show on it" },
	{ "svg", SHOW, "FILE", parse_svg,
	  "write a picture to FILE instead of text; - is\n"
	  "standard output" },
	{ "ports", SUGGEST, "N|LIST", parse_ports,
	  "the first N network devices, those bound for\n"
	  "DPDK before others; or their PCI addresses,\n"
	  "ADDRESS,...; needed" },
	{ "ports", SHOW | CHECK, "LIST", parse_ports,
	  "ADDRESS,...: the devices that EAL is given, as\n"
	  "with -a; it numbers them by rising address" },
	{ "queues", SUGGEST, "N", parse_queues,
	  "receive queues a port; default: one for each\n"
	  "of its workers" },
	{ "workers", SUGGEST, "N", parse_workers,
	  "workers in all; default: as the load needs, or\n"
	  "one for each queue" },
	{ "mpps", SUGGEST, "X", parse_mpps,
	  "load of each port in million packets a second;\n"
	  "decides how many queues and workers" },
	{ "core-mpps", SUGGEST, "Y", parse_core_mpps,
	  "what one core does; default 10: measure yours" },
	{ "json", CHECK, NULL, parse_json, "findings as JSON" },
	{ "strict", CHECK, NULL, parse_strict,
	  "exit status 1 for warnings too" },
	{ "from", SHOW | CHECK | SUGGEST | DIFF, "FILE", parse_from,
	  "a machine that 'weir-lcores record' wrote,\n"
	  "instead of this one" },
	{ "help", ALL, NULL, parse_help, "print this and exit" },
};

/* What getopt_long() did not like: it does not say why. */
static int
refuse_option(const char *command, const char *word, int kind)
{
	if (kind == ':')
		return REFUSE(STATUS_TROUBLE,
			      "%s: needs a value; see weir-lcores %s --help",
			      word, command);
	if (optopt != 0 && strncmp(word, "--", 2) == 0)
		return REFUSE(STATUS_TROUBLE,
			      "%s: takes no value; see weir-lcores %s --help",
			      word, command);
	return REFUSE(STATUS_TROUBLE,
		      "%s: no such option of %s; see weir-lcores %s --help",
		      word, command, command);
}

static void
list_options(enum command command, struct option *longopts)
{
	const struct option_def *def;
	unsigned int i;

	for (i = 0; i < RTE_DIM(option_defs); i++) {
		def = &option_defs[i];
		if ((def->commands & 1u << command) == 0)
			continue;
		longopts->name = def->name;
		longopts->has_arg =
			def->value != NULL ? required_argument : no_argument;
		/* Above every character, so that optopt tells them apart. */
		longopts->val = 256 + (int)i;
		longopts++;
	}
}

static int
take_operand(const char *word, unsigned int *n, struct options *o)
{
	const struct command_def *def = &command_defs[o->command];

	if (*n == def->nb_operands)
		return REFUSE(STATUS_TROUBLE,
			      "%s: unexpected; see weir-lcores %s --help", word,
			      def->name);
	o->operands[(*n)++] = word;
	return STATUS_OK;
}

/* Options and operands in any order; behind "--" all are operands. */
static int
parse_words(int argc, char **argv, unsigned int *n, struct options *o)
{
	struct option longopts[RTE_DIM(option_defs) + 1] = { 0 };
	const char *word;
	int index, kind, rc = STATUS_OK;

	list_options(o->command, longopts);
	optind = 0; /* glibc: start afresh */
	opterr = 0;
	while (rc == STATUS_OK && !o->help) {
		word = argv[optind == 0 ? 1 : optind];
		kind = getopt_long(argc, argv, "-:", longopts, &index);
		if (kind == -1)
			break;
		if (kind == 1)
			rc = take_operand(optarg, n, o);
		else if (kind < 256)
			rc = refuse_option(command_defs[o->command].name, word,
					   kind);
		else
			rc = option_defs[kind - 256].parse(
				option_defs[kind - 256].name, optarg, o);
	}
	while (rc == STATUS_OK && !o->help && optind < argc)
		rc = take_operand(argv[optind++], n, o);
	return rc;
}

static int
parse_command(int argc, char **argv, struct options *o)
{
	const struct command_def *def = &command_defs[o->command];
	unsigned int n = 0;
	int rc;

	rc = parse_words(argc, argv, &n, o);
	if (rc != STATUS_OK || o->help)
		return rc;
	if (n < def->nb_operands)
		return REFUSE(STATUS_TROUBLE,
			      "%s: needs%s; see weir-lcores %s --help",
			      def->name, def->operands, def->name);
	if (o->command == COMMAND_SUGGEST && o->ports.n == 0)
		return REFUSE(STATUS_TROUBLE,
			      "suggest: needs --ports; see weir-lcores suggest "
			      "--help");
	if (o->core_mpps > 0 && o->mpps == 0)
		return REFUSE(STATUS_TROUBLE,
			      "suggest: needs --mpps with --core-mpps; see "
			      "weir-lcores suggest --help");
	if (o->core_mpps == 0)
		o->core_mpps = OPTIONS_CORE_MPPS;
	return STATUS_OK;
}

int
options_parse(int argc, char **argv, struct options *o)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	unsigned int i;

	memset(o, 0, sizeof(*o));
	if (word == NULL)
		return REFUSE(STATUS_TROUBLE,
			      "needs a command: show, check, suggest, record "
			      "or diff; see weir-lcores --help");
	if (strcmp(word, "--help") == 0) {
		o->help = o->program_help = true;
		return STATUS_OK;
	}
	for (i = 0; i < RTE_DIM(command_defs); i++)
		if (strcmp(word, command_defs[i].name) == 0)
			break;
	if (i == RTE_DIM(command_defs))
		return REFUSE(
			STATUS_TROUBLE,
			"%s: must be one of show, check, suggest, record, "
			"diff; see weir-lcores --help",
			word);
	o->command = (enum command)i;
	return parse_command(argc - 1, argv + 1, o);
}

static void
print_program_help(void)
{
	unsigned int i;

	printf("usage: weir-lcores COMMAND [options] [operands]\n\n"
	       "Shows the machine as lcore maps need to know it, checks maps "
	       "against it and\nsuggests them.\n");
	for (i = 0; i < RTE_DIM(command_defs); i++)
		printf("\n%s%s\n%s\n", command_defs[i].name,
		       command_defs[i].operands, command_defs[i].help);
	printf("\nA MAP is the name of a file, or the map's text when that begins "
	       "with ( or with\nlcore, main or port and a blank. weir-lcores "
	       "COMMAND --help lists the options. Exit\nstatus 2 means that it "
	       "could not be done.\n");
}

void
options_print_help(const struct options *o)
{
	const struct command_def *command = &command_defs[o->command];
	const struct option_def *def;
	unsigned int i;

	if (o->program_help) {
		print_program_help();
		return;
	}
	printf("usage: weir-lcores %s [options]%s\n\n%s\n\n", command->name,
	       command->operands, command->help);
	for (i = 0; i < RTE_DIM(option_defs); i++) {
		def = &option_defs[i];
		if ((def->commands & 1u << o->command) == 0)
			continue;
		output_option(16, def->name, def->value, def->help);
	}
}
