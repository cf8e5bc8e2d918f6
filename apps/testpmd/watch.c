/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Some PMDs sit on a kernel interface and say nothing about it: net_af_packet
 * of DPDK 22.11 reports the link as up whatever happens, and an interface that
 * has been deleted just stops giving packets. They do tell its index, so for
 * those the kernel is asked.
 */

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weir_ethdev.h>

#include "error.h"
#include "plan.h"
#include "stream.h"
#include "watch.h"

enum link_state {
	LINK_GONE,
	LINK_DOWN,
	LINK_UP
};

static enum link_state
kernel_link(unsigned int if_index)
{
	enum link_state state = LINK_UP;
	struct ifreq request;
	int fd;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return LINK_UP; /* nothing known against it */
	memset(&request, 0, sizeof(request));
	request.ifr_ifindex = (int)if_index;
	/* By index first: an interface may be renamed while we watch. */
	if (ioctl(fd, SIOCGIFNAME, &request) < 0)
		state = errno == ENODEV ? LINK_GONE : LINK_UP;
	else if (ioctl(fd, SIOCGIFFLAGS, &request) == 0)
		state = (request.ifr_flags & IFF_RUNNING) != 0 ? LINK_UP :
								 LINK_DOWN;
	close(fd);
	return state;
}

/* Its link last: a PMD says "down" of an interface that is not there. */
static enum link_state
port_link(const struct port *port)
{
	enum link_state state = LINK_UP;
	struct rte_eth_link link;

	if (rte_eth_dev_is_removed(port->id))
		state = LINK_GONE;
	else if (port->if_index != 0)
		state = kernel_link(port->if_index);
	memset(&link, 0, sizeof(link));
	if (state == LINK_UP && rte_eth_link_get_nowait(port->id, &link) == 0 &&
	    link.link_status == RTE_ETH_LINK_DOWN)
		state = LINK_DOWN;
	return state;
}

void
watch_init(struct plan *plan)
{
	struct port *port;
	unsigned int i;

	for (i = 0; i < plan->nb_ports; i++) {
		port = &plan->ports[i];
		port->link_up = port_link(port) == LINK_UP;
		if (!port->link_up)
			printf("port %u: link down\n", port->id);
	}
}

/*
 * A PMD with removal events has ended the port's receive queues by itself. We end
 * them for another's sake with another error: streams_port_gone().
 */
static bool
has_lost_queue(const struct port *port, struct stream **streams, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (streams[i]->rx_port == port && streams[i]->join == NULL &&
		    streams[i]->outcome == -ENODEV)
			return true;
	return false;
}

static void
port_gone(struct port *port, struct stream **streams, unsigned int n)
{
	port->gone = true;
	port->link_up = false;
	error_line("port %u (%s): is gone; streams from it and to it end",
		   port->id, port->name);
	weir_port_gone(port->id);
	streams_port_gone(streams, n, port);
}

static void
watch_port(struct port *port, struct stream **streams, unsigned int n)
{
	enum link_state state;
	bool up;

	state = port_link(port);
	if (state == LINK_GONE || has_lost_queue(port, streams, n)) {
		port_gone(port, streams, n);
		return;
	}
	up = state == LINK_UP;
	if (up == port->link_up)
		return;
	port->link_up = up;
	printf("port %u: link %s\n", port->id, up ? "up" : "down");
	if (port->watched)
		weir_port_link(port->id, up);
}

void
watch_poll(struct plan *plan, struct stream **streams)
{
	unsigned int i;

	for (i = 0; i < plan->nb_ports; i++)
		if (!plan->ports[i].gone)
			watch_port(&plan->ports[i], streams, plan->nb_streams);
}
