/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PEERS_EVENT_DEVICE_H
#define PEERS_EVENT_DEVICE_H

/* DPDK's distributed software event device with one queue of atomic flows. */

#include <stdlib.h>

#include <rte_debug.h>
#include <rte_dev.h>
#include <rte_eventdev.h>

#define EVENT_DEVICE "event_dsw0"
#define MOST_EVENTS 4096
#define MOST_FLOWS 1024

static inline void
event_must(int holds, const char *what)
{
	if (!holds)
		rte_exit(EXIT_FAILURE, EVENT_DEVICE ": %s\n", what);
}

static inline void
event_port_start(uint8_t device, uint8_t port, uint16_t burst)
{
	const struct rte_event_port_conf conf = {
		.new_event_threshold = MOST_EVENTS,
		.dequeue_depth = burst,
		.enqueue_depth = burst,
	};

	event_must(rte_event_port_setup(device, port, &conf) == 0, "no port");
	event_must(rte_event_port_link(device, port, NULL, NULL, 0) == 1,
		   "no link");
}

/* With as many ports, which take and give so many events at once; its id. */
static inline uint8_t
event_device_start(uint8_t ports, uint16_t burst)
{
	const struct rte_event_queue_conf queue = {
		.nb_atomic_flows = MOST_FLOWS,
		.nb_atomic_order_sequences = MOST_FLOWS,
		.schedule_type = RTE_SCHED_TYPE_ATOMIC,
	};
	const struct rte_event_dev_config conf = {
		.nb_event_queues = 1,
		.nb_event_ports = ports,
		.nb_events_limit = MOST_EVENTS,
		.nb_event_queue_flows = MOST_FLOWS,
		.nb_event_port_dequeue_depth = burst,
		.nb_event_port_enqueue_depth = burst,
	};
	uint8_t device, i;
	int id;

	event_must(rte_eal_hotplug_add("vdev", EVENT_DEVICE, "") == 0,
		   "no such device");
	id = rte_event_dev_get_dev_id(EVENT_DEVICE);
	event_must(id >= 0, "no such device");
	device = (uint8_t)id;
	event_must(rte_event_dev_configure(device, &conf) == 0 &&
			   rte_event_queue_setup(device, 0, &queue) == 0,
		   "cannot be configured");
	for (i = 0; i < ports; i++)
		event_port_start(device, i, burst);
	event_must(rte_event_dev_start(device) == 0, "does not start");
	return device;
}

static inline void
event_device_stop(uint8_t device)
{
	rte_event_dev_stop(device);
	rte_event_dev_close(device);
}

#endif
