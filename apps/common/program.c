/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_lcore.h>

#include "arguments.h"
#include "eal.h"
#include "error.h"
#include "output.h"
#include "program.h"
#include "status.h"

static const struct program *program;
static bool help;

static void
flush_output(void)
{
	output_end(0);
}

/* EAL's hook. */
static void
print_usage(const char *name)
{
	printf("\n");
	program->print_help(name);
}

static int
parse_option(int option, const char *given)
{
	switch (option) {
	case 'h':
		help = true;
		return 0;
	case ':':
		return REFUSE(STATUS_USAGE, "%s: needs a value", given);
	case '?':
		/* It is the option's own when that exists. */
		if (optopt != 0 && strncmp(given, "--", 2) == 0)
			return REFUSE(STATUS_USAGE, "%s: takes no value",
				      given);
		return REFUSE(STATUS_USAGE, "%s: is no option", given);
	default:
		return program->parse(option, optarg);
	}
}

static int
parse_options(int argc, char **argv)
{
	int option, at = 1, rc = 0;

	for (; rc == 0 && (option = getopt_long(argc, argv, "+:",
						program->options, NULL)) != -1;
	     at = optind)
		rc = parse_option(option, argv[at]);
	if (rc == 0 && optind < argc)
		rc = REFUSE(STATUS_USAGE, "%s: is no option", argv[optind]);
	return rc;
}

/* Before EAL starts, whose threads inherit that. */
static void
block_signals(sigset_t *signals)
{
	struct sigaction hangup;

	sigemptyset(signals);
	sigaddset(signals, SIGINT);
	sigaddset(signals, SIGTERM);
	/* Under nohup it stays ignored. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 &&
	    hangup.sa_handler != SIG_IGN)
		sigaddset(signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, signals, NULL);
}

static int
start_and_run(int argc, char **argv)
{
	sigset_t signals;
	int rc;

	block_signals(&signals);
	rte_set_application_usage_hook(print_usage);
	rc = eal_start(argc, argv);
	if (rc != STATUS_OK)
		return rc;
	if (rte_get_next_lcore(-1, 1, 0) == RTE_MAX_LCORE)
		rc = eal_refuse_lcores();
	else
		rc = program->run(&signals);
	rte_eal_cleanup();
	return rc;
}

int
program_main(const struct program *p, int argc, char **argv)
{
	int eal_argc = arguments_of_eal(argc, argv);
	int rc = 0;

	program = p;
	output_begin();
	atexit(flush_output);
	if (eal_argc < argc)
		rc = parse_options(argc - eal_argc, &argv[eal_argc]);
	if (rc == 0 && help)
		p->print_help(argv[0]);
	else if (rc == 0)
		rc = start_and_run(eal_argc, argv);
	return rc;
}
