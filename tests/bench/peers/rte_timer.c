/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The scenarios of timers on rte_timer, on one lcore: a sample, as ../sched.c prints it.
 *
 *	rte_timer [EAL options] -- timers | timer_reset
 *
 * In `timers` the lcore arms them and then calls rte_timer_manage() again and again. They
 * cost the time of arming them, and that of those calls which found one.
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
#define IDLE_S 30u
#define ROUNDS_MS 400u
#define MOST_ROUNDS 1000u

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

static uint64_t
xorshift(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

/* Beforehand: to draw them is no part of what timers cost. */
static void
draw_ticks(void)
{
	uint64_t x = UINT64_C(88172645463325252), hz = rte_get_tsc_hz();
	unsigned int i;

	for (i = 0; i < TIMERS; i++) {
		x = xorshift(x);
		ticks[i] = hz / 10 + x % (hz / 10 * 9);
	}
}

static void
init_all(void)
{
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		rte_timer_init(&timers[i]);
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
measure_timers(void)
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

/* So many, in any order: TSC cycles. */
static uint64_t
reset_all(void)
{
	uint64_t x = UINT64_C(88172645463325252), begin = rte_rdtsc();
	unsigned int lcore = rte_lcore_id(), i;

	for (i = 0; i < TIMERS; i++) {
		x = xorshift(x);
		rte_timer_reset(&timers[x % TIMERS], ticks[x % TIMERS], SINGLE,
				lcore, note, NULL);
	}
	return rte_rdtsc() - begin;
}

static int
measure_resets(void *arg)
{
	static uint64_t rounds[MOST_ROUNDS];
	double us = (double)rte_get_tsc_hz() / 1e6;
	uint64_t end;
	unsigned int n = 0, i;

	init_all();
	for (i = 0; i < TIMERS; i++)
		ticks[i] = IDLE_S * rte_get_tsc_hz();
	arm_all();
	reset_all();
	end = rte_rdtsc() + rte_get_tsc_hz() / 1000 * ROUNDS_MS;
	do
		rounds[n++] = reset_all();
	while (n < MOST_ROUNDS && rte_rdtsc() < end);
	qsort(rounds, n, sizeof(rounds[0]), by_size);
	printf("figures %.4f\n", (double)rounds[n / 2] / us * 1e3 / TIMERS);
	return 0;
}

static int
measure_firing(void *arg)
{
	unsigned int i;

	init_all();
	draw_ticks();
	/* Warm: what they touch is there. */
	memset(late, 1, sizeof(late));
	arm_all();
	for (i = 0; i < TIMERS; i++)
		rte_timer_stop(&timers[i]);
	measure_timers();
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned int id;
	int used = rte_eal_init(argc, argv);

	if (used < 0 || rte_timer_subsystem_init() < 0)
		rte_exit(1, "no EAL\n");
	if (used + 1 >= argc)
		rte_exit(1, "needs a scenario\n");
	id = rte_get_next_lcore(-1, 1, 0);
	if (id == RTE_MAX_LCORE)
		rte_exit(1, "needs a worker lcore\n");
	rte_eal_remote_launch(strcmp(argv[used + 1], "timers") == 0 ?
				      measure_firing :
				      measure_resets,
			      NULL, id);
	wait_lcores();
	rte_timer_subsystem_finalize();
	rte_eal_cleanup();
	return 0;
}
