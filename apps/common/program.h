/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef COMMON_PROGRAM_H
#define COMMON_PROGRAM_H

/* A small program on DPDK: what comes before and behind its run. */

#include <getopt.h>
#include <signal.h>

struct program {
	/* As getopt_long() wants them, with no_argument "help", 'h'. */
	const struct option *options;
	/* An option's value: 0, or a status of which a line says why. */
	int (*parse)(int option, const char *value);
	void (*print_help)(const char *program);
	/*
	 * EAL has started, with a lcore for a worker. signals: those that end the
	 * program, which are blocked in all threads. Returns the exit status.
	 */
	int (*run)(const sigset_t *signals);
};

/* What main() returns. */
int
program_main(const struct program *p, int argc, char **argv);

#endif
