/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The scenario `yield_many` on DPDK's distributed software event device: 200
 * events go through its one queue again and again, each as often as a task there
 * yields, in bursts. An event is a flow of its own, so that it stays on the port
 * that its flow is on unless the device balances. A sample, as ../sched.c
 * prints it.
 *
 *	event_dsw [EAL options]
 *
 * Each worker lcore has a port. No task, no handle: what is measured is how fast
 * the device schedules.
 */

#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "event_device.h"
#include "lcores.h"

#define EVENTS 200u
#define YIELDS 1000u
#define MOST_BURST 128u
#define MOST_ROUNDS 10000u
#define WARM_UP_S 0.1
#define MEASURE_S 0.4

static uint8_t device;
static uint16_t burst;	  /* of 32, 64 and 128 the fastest */
static unsigned int left; /* events of this round; atomic */
static unsigned int over; /* no round will come; atomic */

static void
enqueue(uint8_t port, const struct rte_event *events, uint16_t n)
{
	uint16_t done = 0;

	while (done < n)
		done += rte_event_enqueue_burst(device, port, events + done,
						n - done);
}

/* The same where all go on, which costs the device less. */
static void
forward(uint8_t port, const struct rte_event *events, uint16_t n)
{
	uint16_t done = 0;

	while (done < n)
		done += rte_event_enqueue_forward_burst(
			device, port, events + done, n - done);
}

/* One burst of events: on, or at their end. */
static void
turn(uint8_t port)
{
	struct rte_event events[MOST_BURST];
	unsigned int ended = 0;
	uint16_t n, i;

	n = rte_event_dequeue_burst(device, port, events, burst, 0);
	for (i = 0; i < n; i++) {
		events[i].op = RTE_EVENT_OP_FORWARD;
		if (events[i].u64-- > 0)
			continue;
		events[i].op = RTE_EVENT_OP_RELEASE;
		ended++;
	}
	if (ended == 0) {
		forward(port, events, n);
		return;
	}
	enqueue(port, events, n);
	__atomic_fetch_sub(&left, ended, __ATOMIC_RELEASE);
}

static void
begin(uint8_t port)
{
	struct rte_event event = {
		.op = RTE_EVENT_OP_NEW,
		.sched_type = RTE_SCHED_TYPE_ATOMIC,
	};
	unsigned int i;

	__atomic_store_n(&left, EVENTS, __ATOMIC_RELAXED);
	for (i = 0; i < EVENTS; i++) {
		event.flow_id = i;
		event.u64 = YIELDS;
		enqueue(port, &event, 1);
	}
}

static double
round_of(uint8_t port)
{
	uint64_t start = rte_rdtsc();

	begin(port);
	while (__atomic_load_n(&left, __ATOMIC_ACQUIRE) > 0)
		turn(port);
	return (double)(rte_rdtsc() - start) * 1e9 / (double)rte_get_tsc_hz() /
	       (EVENTS * YIELDS);
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static unsigned int
rounds(double seconds, double *values)
{
	uint64_t end =
		rte_rdtsc() + (uint64_t)(seconds * (double)rte_get_tsc_hz());
	unsigned int n = 0;

	do
		values[n++] = round_of(0);
	while (rte_rdtsc() < end && n < MOST_ROUNDS);
	return n;
}

/* The first lcore times the rounds; the others take turns until it has. */
static int
lcore(void *arg)
{
	static double values[MOST_ROUNDS];
	uint8_t port = (uint8_t)(uintptr_t)arg;
	unsigned int n;

	if (port != 0) {
		while (__atomic_load_n(&over, __ATOMIC_ACQUIRE) == 0)
			turn(port);
		return 0;
	}
	rounds(WARM_UP_S, values);
	n = rounds(MEASURE_S, values);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	qsort(values, n, sizeof(values[0]), by_size);
	printf("figures %.4f\n", values[n / 2]);
	return 0;
}

int
main(int argc, char **argv)
{
	uint8_t ports = 0;
	unsigned int id;

	event_must(rte_eal_init(argc, argv) >= 0, "no EAL");
	event_must(rte_lcore_count() > 1, "needs a worker lcore");
	burst = rte_lcore_count() == 2 ? MOST_BURST : MOST_BURST / 2;
	device = event_device_start((uint8_t)(rte_lcore_count() - 1), burst);
	RTE_LCORE_FOREACH_WORKER(id) {
		rte_eal_remote_launch(lcore, (void *)(uintptr_t)ports, id);
		ports++;
	}
	wait_lcores();
	event_device_stop(device);
	rte_eal_cleanup();
	return 0;
}
