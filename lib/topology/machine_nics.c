/* SPDX-License-Identifier: BSD-3-Clause */

/* The network devices of a machine, as far as they are on a PCI bus. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_string_fns.h>

#include "topology/machine.h"

#define DEVICES "/sys/bus/pci/devices"

/* Ethernet, whatever its programming interface. */
#define CLASS_SHIFT 8
#define CLASS_ETHERNET 0x0200

/* A PCI address, so that it compares as EAL sorts them. */
static bool
parse_address(const char *text, uint64_t *address)
{
	unsigned int domain, bus, device, function;
	char again[32];

	/* One way to write it, so that none is there twice. */
	if (sscanf(text, "%8x:%2x:%2x.%1x", &domain, &bus, &device,
		   &function) != 4)
		return false;
	snprintf(again, sizeof(again), "%04x:%02x:%02x.%x", domain, bus, device,
		 function);
	if (strcmp(again, text) != 0)
		return false;
	*address = (uint64_t)domain << 32 | bus << 16 | device << 8 | function;
	return true;
}

static int
compare(const void *a, const void *b)
{
	const struct weir_machine_nic *left = a, *right = b;
	uint64_t l = 0, r = 0;

	parse_address(left->address, &l);
	parse_address(right->address, &r);
	return l < r ? -1 : l > r;
}

static void
read_driver(struct tree *t, struct weir_machine_nic *nic)
{
	const char *begin = "DRIVER=";
	const char *text = weir__tree_read(t, TREE_LINES(begin),
					   DEVICES "/%s/uevent", nic->address);
	char line[128];

	while (text != NULL && weir__tree_item(&text, '\n', line, sizeof(line)))
		if (strncmp(line, begin, strlen(begin)) == 0)
			rte_strscpy(nic->driver, line + strlen(begin),
				    sizeof(nic->driver));
}

/* The first, if there are several. */
static void
read_interface(struct tree *t, struct weir_machine_nic *nic)
{
	const char *names, *parts;
	char part[64];

	names = weir__tree_list(t, DEVICES "/%s/net", nic->address);
	if (names == NULL && strcmp(nic->driver, "virtio-pci") == 0) {
		/* There, another device is in between. */
		parts = weir__tree_list(t, DEVICES "/%s", nic->address);
		while (parts != NULL && names == NULL &&
		       weir__tree_item(&parts, '/', part, sizeof(part)))
			if (strncmp(part, "virtio", strlen("virtio")) == 0)
				names = weir__tree_list(t, DEVICES "/%s/%s/net",
							nic->address, part);
	}
	if (names != NULL)
		weir__tree_item(&names, '/', nic->interface,
				sizeof(nic->interface));
}

static int
read_node(struct tree *t, const struct weir_machine *m, const char *address)
{
	int64_t node;

	if (weir__tree_number(t, -1, INT32_MAX, &node, DEVICES "/%s/numa_node",
			      address) &&
	    weir_machine_node_get(m, (int)node) != NULL)
		return (int)node;
	/* Kernels say -1 where there is but one. */
	return m->nb_nodes == 1 ? (int)m->nodes[0].id : WEIR_MACHINE_UNKNOWN;
}

/* Is it a network device? */
static bool
read_nic(struct tree *t, const struct weir_machine *m, const char *address,
	 struct weir_machine_nic *nic)
{
	int64_t class, id;
	uint64_t number;

	if (!parse_address(address, &number) ||
	    !weir__tree_number(t, 0, 0xffffff, &class, DEVICES "/%s/class",
			       address) ||
	    class >> CLASS_SHIFT != CLASS_ETHERNET)
		return false;
	memset(nic, 0, sizeof(*nic));
	snprintf(nic->address, sizeof(nic->address), "%s", address);
	if (weir__tree_number(t, 0, UINT16_MAX, &id, DEVICES "/%s/vendor",
			      address))
		nic->vendor = (uint16_t)id;
	if (weir__tree_number(t, 0, UINT16_MAX, &id, DEVICES "/%s/device",
			      address))
		nic->device = (uint16_t)id;
	read_driver(t, nic);
	read_interface(t, nic);
	nic->node = read_node(t, m, address);
	return true;
}

void
weir__machine_read_nics(struct tree *t, struct weir_machine *m)
{
	const char *devices = weir__tree_list(t, DEVICES), *at = devices;
	char address[sizeof(m->nics->address)];
	unsigned int n = 0;

	while (at != NULL &&
	       weir__tree_item(&at, '/', address, sizeof(address)))
		n++;
	if (n == 0)
		return;
	m->nics = calloc(n, sizeof(*m->nics));
	if (m->nics == NULL) {
		t->lack = ENOMEM;
		return;
	}
	for (at = devices; weir__tree_item(&at, '/', address, sizeof(address));)
		m->nb_nics += read_nic(t, m, address, &m->nics[m->nb_nics]);
	qsort(m->nics, m->nb_nics, sizeof(*m->nics), compare);
	for (n = 1; n < m->nb_nics; n++)
		if (compare(&m->nics[n - 1], &m->nics[n]) == 0)
			weir__tree_complain(t, devices, "a device twice");
}
