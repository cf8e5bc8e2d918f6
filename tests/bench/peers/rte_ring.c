/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The scenario `cross_wake` without tasks: two lcores send each other a pointer
 * through a pair of rte_rings: a sample, as ../sched.c prints it.
 *
 *	rte_ring [EAL options]
 */

#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "lcores.h"

#define TRIPS 10000u
#define MOST_ROUNDS 100000u
#define MEASURE_S 0.5 /* the first rounds warm up */

static struct rte_ring *to, *from;

static void *
receive(struct rte_ring *r)
{
	void *p;

	/* Faster than without the pause. */
	while (rte_ring_sc_dequeue(r, &p) != 0)
		rte_pause();
	return p;
}

static int
answer(void *arg)
{
	/* Until it gets its own. */
	while (receive(to) != to)
		rte_ring_sp_enqueue(from, from);
	return 0;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int
ask(void *arg)
{
	static double rounds[MOST_ROUNDS];
	double hz = (double)rte_get_tsc_hz();
	uint64_t begin, end = rte_rdtsc() + (uint64_t)(MEASURE_S * hz);
	unsigned int i, n = 0;

	do {
		begin = rte_rdtsc();
		for (i = 0; i < TRIPS; i++) {
			rte_ring_sp_enqueue(to, from);
			receive(from);
		}
		rounds[n++] = (double)(rte_rdtsc() - begin) * 1e9 / hz / TRIPS;
	} while (rte_rdtsc() < end && n < MOST_ROUNDS);
	rte_ring_sp_enqueue(to, to);
	qsort(rounds, n, sizeof(rounds[0]), by_size);
	printf("figures %.4f\n", rounds[n / 2]);
	return 0;
}

int
main(int argc, char **argv)
{
	const unsigned int flags = RING_F_SP_ENQ | RING_F_SC_DEQ;
	unsigned int first, second;

	if (rte_eal_init(argc, argv) < 0)
		rte_exit(1, "no EAL\n");
	first = rte_get_next_lcore(-1, 1, 0);
	second = rte_get_next_lcore(first, 1, 0);
	to = rte_ring_create("to", 64, SOCKET_ID_ANY, flags);
	from = rte_ring_create("from", 64, SOCKET_ID_ANY, flags);
	if (second == RTE_MAX_LCORE || to == NULL || from == NULL)
		rte_exit(1, "needs two worker lcores, and two rings\n");
	rte_eal_remote_launch(ask, NULL, first);
	rte_eal_remote_launch(answer, NULL, second);
	wait_lcores();
	rte_ring_free(to);
	rte_ring_free(from);
	rte_eal_cleanup();
	return 0;
}
