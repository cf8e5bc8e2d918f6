/* SPDX-License-Identifier: BSD-3-Clause */

/* The NUMA nodes of a machine, with their memory and distances. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine.h"
#include "topology/topology.h"

#define NODES "/sys/devices/system/node"

/* No kernel has more. */
#define NODES_MAX 1024

/* From "Node 0 MemTotal:   4548820 kB", or without the node; 0: not known. */
static uint64_t
memory_of(const char *text)
{
	const char *name = "MemTotal:", *at;

	at = text != NULL ? strstr(text, name) : NULL;
	return at != NULL ? strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

/* Bytes of pages in "hugepages-2048kB", or 0. */
static uint64_t
page_size(const char *name)
{
	const char *begin = "hugepages-";
	unsigned long long kib;
	char *end;

	if (strncmp(name, begin, strlen(begin)) != 0)
		return 0;
	kib = strtoull(name + strlen(begin), &end, 10);
	return strcmp(end, "kB") == 0 && kib < UINT32_MAX ? kib << 10 : 0;
}

/* In their order; of too many sizes the largest have no place. */
static void
add_pages(struct weir_machine_node *n, const struct weir_machine_pages *p)
{
	unsigned int i = n->nb_pages;

	if (i < WEIR_MACHINE_PAGE_SIZES)
		n->nb_pages++;
	else if (p->size < n->pages[i - 1].size)
		i--;
	else
		return;
	for (; i > 0 && n->pages[i - 1].size > p->size; i--)
		n->pages[i] = n->pages[i - 1];
	n->pages[i] = *p;
}

static void
read_pages(struct tree *t, struct weir_machine_node *n, const char *folder)
{
	const char *names = weir__tree_list(t, "%s", folder);
	struct weir_machine_pages p;
	int64_t total, unused;
	char name[64];

	while (names != NULL &&
	       weir__tree_item(&names, '/', name, sizeof(name))) {
		p.size = page_size(name);
		if (p.size == 0 ||
		    !weir__tree_number(t, 0, INT64_MAX, &total,
				       "%s/%s/nr_hugepages", folder, name) ||
		    !weir__tree_number(t, 0, INT64_MAX, &unused,
				       "%s/%s/free_hugepages", folder, name))
			continue;
		p.total = (uint64_t)total;
		p.free = (uint64_t)unused;
		add_pages(n, &p);
	}
}

static void
read_node(struct tree *t, struct weir_machine *m, struct weir_machine_node *n)
{
	char folder[64];
	struct id_set cpus;
	unsigned int i;

	n->memory = memory_of(weir__tree_read(t, TREE_LINES("MemTotal:"),
					      NODES "/node%u/meminfo", n->id));
	snprintf(folder, sizeof(folder), NODES "/node%u/hugepages", n->id);
	read_pages(t, n, folder);
	if (!weir__tree_ids(t, &cpus, NODES "/node%u/cpulist", n->id))
		return;
	for (i = 0; i < m->nb_cpus; i++)
		if (id_set_has(&cpus, m->cpus[i].id))
			m->cpus[i].node = (int)n->id;
}

/* A machine whose kernel knows no nodes has one. */
static void
read_only_node(struct tree *t, struct weir_machine *m)
{
	unsigned int i;

	m->nodes[0].memory = memory_of(
		weir__tree_read(t, TREE_LINES("MemTotal:"), "/proc/meminfo"));
	read_pages(t, &m->nodes[0], "/sys/kernel/mm/hugepages");
	/* As of one with nodes, which lists those that are online. */
	for (i = 0; i < m->nb_cpus; i++)
		if (m->cpus[i].online)
			m->cpus[i].node = 0;
}

/* A distance for each node that is online, in their order. */
static bool
parse_distances(const char *text, uint8_t *row, unsigned int n)
{
	unsigned int i = 0;
	unsigned long d;
	char item[16], *end;

	while (weir__tree_item(&text, ' ', item, sizeof(item))) {
		d = strtoul(item, &end, 10);
		if (i == n || *end != '\0' || d == 0 || d > UINT8_MAX)
			return false;
		row[i++] = (uint8_t)d;
	}
	return i == n;
}

static void
read_distances(struct tree *t, struct weir_machine *m, unsigned int from)
{
	uint8_t *row = &m->distances[from * m->nb_nodes];
	const char *text = weir__tree_read(t, NULL, NODES "/node%u/distance",
					   m->nodes[from].id);

	if (text != NULL && parse_distances(text, row, m->nb_nodes))
		return;
	memset(row, TOPOLOGY_REMOTE_DISTANCE, m->nb_nodes);
	row[from] = TOPOLOGY_LOCAL_DISTANCE;
	if (text != NULL)
		weir__tree_complain(t, text,
				    "not a distance of 1 to 255 for each node");
}

/* False: the kernel knows no nodes. */
static bool
read_online(struct tree *t, struct id_set *online)
{
	const char *list;

	if (!weir__tree_ids(t, online, NODES "/online") ||
	    weir__id_set_count(online) == 0)
		return false;
	if (weir__id_set_next(online, NODES_MAX) == ID_SET_MAX)
		return true;
	list = weir__tree_read(t, NULL, NODES "/online");
	weir__tree_complain(t, list, "a node beyond 1023");
	return false;
}

void
weir__machine_read_nodes(struct tree *t, struct weir_machine *m)
{
	struct id_set online, allowed;
	bool numa = read_online(t, &online);
	unsigned int n = numa ? weir__id_set_count(&online) : 1, i, id;

	m->nodes = calloc(n, sizeof(*m->nodes));
	m->distances = calloc(n, n);
	if (m->nodes == NULL || m->distances == NULL) {
		t->lack = ENOMEM;
		return;
	}
	if (!weir__machine_nodes_allowed(t, &allowed))
		memset(&allowed, 0xff, sizeof(allowed));
	m->nb_nodes = n;
	if (!numa)
		read_only_node(t, m);
	for (i = 0, id = 0; numa && i < n; i++, id++) {
		id = weir__id_set_next(&online, id);
		m->nodes[i].id = id;
		read_node(t, m, &m->nodes[i]);
	}
	for (i = 0; i < n; i++) {
		m->nodes[i].allowed = id_set_has(&allowed, m->nodes[i].id);
		read_distances(t, m, i);
	}
}
