/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The scenario `timers` on rte_timer, on one lcore that arms the timers and then
 * calls rte_timer_manage() again and again: a sample, as ../sched.c prints it.
 *
 *	rte_timer [EAL options]
 *
 * What timers cost is the time of arming them, and that of those calls of
 * rte_timer_manage() which found one.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_timer.h>

#include "lcores.h"

#define TIMERS 100000u

static struct rte_timer timers[TIMERS];
static uint64_t ticks[TIMERS];
static uint64_t late[TIMERS];
static unsigned int fired;

static void
note(struct rte_timer *timer, void *arg)
{
	late[fired++] = rte_rdtsc() - timer->expire;
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Beforehand: to draw them is no part of what timers cost. */
static void
draw_ticks(void)
{
	uint64_t x = UINT64_C(88172645463325252), hz = rte_get_tsc_hz();
	unsigned int i;

	for (i = 0; i < TIMERS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		ticks[i] = hz / 10 + x % (hz / 10 * 9);
	}
}

static uint64_t
arm_all(void)
{
	unsigned int lcore = rte_lcore_id(), i;
	uint64_t begin = rte_rdtsc();

	for (i = 0; i < TIMERS; i++)
		rte_timer_reset(&timers[i], ticks[i], SINGLE, lcore, note,
				NULL);
	return rte_rdtsc() - begin;
}

static void
measure(void)
{
	double us = (double)rte_get_tsc_hz() / 1e6;
	uint64_t busy, begin, end;
	unsigned int before;

	fired = 0;
	busy = arm_all();
	end = rte_rdtsc();
	while (fired < TIMERS) {
		before = fired;
		begin = end;
		rte_timer_manage();
		end = rte_rdtsc();
		if (fired != before)
			busy += end - begin;
	}
	qsort(late, TIMERS, sizeof(late[0]), by_size);
	printf("figures %.4f %.4f %.4f\n", (double)busy / us * 1e3 / TIMERS,
	       (double)late[TIMERS / 2] / us,
	       (double)late[TIMERS / 100 * 99] / us);
}

static int
lcore(void *arg)
{
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		rte_timer_init(&timers[i]);
	draw_ticks();
	/* Warm: what they touch is there. */
	memset(late, 1, sizeof(late));
	arm_all();
	for (i = 0; i < TIMERS; i++)
		rte_timer_stop(&timers[i]);
	measure();
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned int id;

	if (rte_eal_init(argc, argv) < 0 || rte_timer_subsystem_init() < 0)
		rte_exit(1, "no EAL\n");
	id = rte_get_next_lcore(-1, 1, 0);
	if (id == RTE_MAX_LCORE)
		rte_exit(1, "needs a worker lcore\n");
	rte_eal_remote_launch(lcore, NULL, id);
	wait_lcores();
	rte_timer_subsystem_finalize();
	rte_eal_cleanup();
	return 0;
}
