/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_OPTIONS_H
#define LCORES_OPTIONS_H

/*
 * The command line: a command, its options and its operands. Parsing looks at
 * nothing but the words.
 */

#include <stdbool.h>

#include <rte_config.h>

#define OPTIONS_WORKERS_MAX (RTE_MAX_LCORE - 1)
#define OPTIONS_CORE_MPPS 10.0

enum command {
	COMMAND_SHOW,
	COMMAND_CHECK,
	COMMAND_SUGGEST,
	COMMAND_RECORD,
	COMMAND_DIFF,
};

/* Of --ports: a number, or addresses as EAL numbers them: by rising address. */
struct options_ports {
	unsigned int n;	   /* 0: not given */
	bool counted;	   /* a number; there are no addresses */
	const char *value; /* as it was given */
	char addresses[RTE_MAX_ETHPORTS][16];
};

struct options {
	enum command command;
	bool help;
	bool program_help; /* before any command */
	const char *from;
	const char *map;
	const char *svg;
	struct options_ports ports;
	unsigned int queues;  /* a port; 0: not given */
	unsigned int workers; /* 0: not given */
	double mpps;	      /* a port; 0: not given */
	double core_mpps;
	bool json;
	bool strict;
	const char *operands[2];
};

/*
 * Fills options from argv[1] on; what they point to is in argv.
 *
 * Returns an enum exit_status; unless it is STATUS_OK a line has been printed.
 */
int
options_parse(int argc, char **argv, struct options *options);

/* Prints to stdout what the command, or the program, is used for and how. */
void
options_print_help(const struct options *options);

#endif
