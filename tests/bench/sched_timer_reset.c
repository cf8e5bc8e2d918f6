/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Deadlines that are put off again and again and never come, as the idle timeouts of
 * flows are by packets: ns for each time.
 */

#include "scenario.h"

#define TIMERS 100000u
#define RESETS 100000u
#define IDLE_NS (30 * UINT64_C(1000000000))

static struct weir_sleep sleeps[TIMERS];

static void
put_off(struct weir_context *ctx, struct weir_sleep *sleep)
{
	uint64_t now = weir_clock_now(weir_context_runtime(ctx));

	must(weir_sleep_until(ctx, sleep, now + IDLE_NS) == WEIR_PENDING,
	     "a sleep ended");
}

static int
poll(struct weir_context *ctx, void *state)
{
	uint64_t *took = state, x = UINT64_C(88172645463325252), begin;
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		put_off(ctx, &sleeps[i]);
	begin = rte_rdtsc();
	for (i = 0; i < RESETS; i++) {
		x = spin(x, 1);
		put_off(ctx, &sleeps[x % TIMERS]);
	}
	*took = rte_rdtsc() - begin;
	for (i = 0; i < TIMERS; i++)
		weir_sleep_cancel(&sleeps[i]);
	return WEIR_DONE;
}

static const struct weir_task_ops driver_ops = {
	.name = "driver",
	.state_size = sizeof(uint64_t),
	.poll = poll,
	.result_size = sizeof(uint64_t),
};

static void
round_of(struct weir_runtime *rt, double *figures)
{
	figures[0] = drive(rt, &driver_ops) / RESETS;
}

const struct scenario timer_reset = {
	.name = "timer_reset",
	.workers = 1,
	.figures = 1,
	.round = round_of,
};
