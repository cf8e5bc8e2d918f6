/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_STATS_H
#define TESTPMD_STATS_H

/*
 * Statistics while forwarding, and the final account: where every packet,
 * task and mbuf went.
 */

#include <stdint.h>

struct forward_mode;
struct plan;
struct stream;
struct weir_runtime;

/* Sums over all ports, in packets. */
struct account {
	uint64_t forwarded;
	uint64_t lost;
	uint64_t tasks_left;
	uint64_t mbufs_left;
	uint64_t entries_left; /* of the runtime's queues; not printed */
};

/*
 * Counts the time of the plan's workers up to now (CLOCK_MONOTONIC, in nanoseconds):
 * before their number changes, and before anything is printed.
 */
void
stats_count_workers(struct plan *plan, uint64_t now);

/* Prints rates since the last call, that was elapsed_ns ago. */
void
stats_print_period(struct plan *plan, uint64_t elapsed_ns);

/*
 * Prints what each port and worker did, and fills the packet counts of the
 * account. Once all streams have ended, before runtime and ports are closed.
 */
void
stats_print_totals(struct plan *plan, struct stream **streams,
		   const struct forward_mode *mode,
		   const struct weir_runtime *rt, uint64_t elapsed_ns,
		   struct account *account);

/* Prints the last line. */
void
stats_print_account(const struct account *account);

#endif
