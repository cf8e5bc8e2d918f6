/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "error.h"
#include "input.h"
#include "status.h"

#define ERROR_SIZE 512

int
input_machine(const struct options *o, struct weir_machine **machine)
{
	char error[ERROR_SIZE] = "";

	if (o->from == NULL) {
		*machine = weir_machine_read();
		if (*machine == NULL)
			return REFUSE(STATUS_TROUBLE,
				      "cannot read this machine: %s; --from "
				      "takes a recorded one",
				      rte_strerror(rte_errno));
		return STATUS_OK;
	}
	*machine = weir_machine_load(o->from, error, sizeof(error));
	if (*machine == NULL && error[0] == '\0')
		return REFUSE(STATUS_TROUBLE, "--from %s: %s", o->from,
			      rte_strerror(rte_errno));
	if (*machine == NULL)
		return REFUSE(STATUS_TROUBLE, "--from %s", error);
	return STATUS_OK;
}

static int
read_map(const char *name, const char *map, struct weir_lcore_map **result)
{
	const char *gap = name[0] != '\0' ? " " : "";
	char error[ERROR_SIZE] = "";

	if (weir_lcore_map_is_text(map))
		*result = weir_lcore_map_parse(map, error, sizeof(error));
	else
		*result = weir_lcore_map_load(map, error, sizeof(error));
	if (*result != NULL)
		return STATUS_OK;
	if (error[0] == '\0' || weir_lcore_map_is_text(map))
		return REFUSE(STATUS_TROUBLE, "%s%s%s: %s", name, gap, map,
			      error[0] != '\0' ? error :
						 rte_strerror(rte_errno));
	return REFUSE(STATUS_TROUBLE, "%s%s%s", name, gap, error);
}

static const struct weir_lcore_map_port *
find_port(const struct weir_lcore_map *map, unsigned int port)
{
	unsigned int i;

	for (i = 0; i < map->nb_ports; i++)
		if (map->ports[i].port == port)
			return &map->ports[i];
	return NULL;
}

/* The map's text with items for the ports that have none; NULL: no memory. */
static char *
add_ports(const struct options_ports *ports, const struct weir_lcore_map *map)
{
	int length = weir_lcore_map_format(map, NULL, 0);
	char *formatted, *text = NULL;
	unsigned int i;
	size_t size;
	FILE *out;

	if (length < 0)
		return NULL;
	formatted = malloc((size_t)length + 1);
	if (formatted == NULL)
		return NULL;
	out = open_memstream(&text, &size);
	if (out != NULL) {
		weir_lcore_map_format(map, formatted, (size_t)length + 1);
		fputs(formatted, out);
		for (i = 0; i < ports->n; i++)
			if (find_port(map, i) == NULL)
				fprintf(out, "port %u %s\n", i,
					ports->addresses[i]);
	}
	free(formatted);
	if (out != NULL && fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	return text;
}

/* A port of the map that is a device, but none of the first n; or -1. */
static int
find_port_beyond(const struct weir_lcore_map *map, unsigned int n)
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i, j;

	for (i = 0; i < map->nb_ports; i++)
		if (map->ports[i].port >= n && map->ports[i].address[0] != '\0')
			return map->ports[i].port;
	for (i = 0; i < map->nb_lcores; i++) {
		lcore = &map->lcores[i];
		for (j = 0; j < lcore->nb_queues; j++)
			if (lcore->queues[j].port >= n &&
			    find_port(map, lcore->queues[j].port) == NULL)
				return lcore->queues[j].port;
	}
	return -1;
}

static int
apply_ports(const struct options_ports *ports, struct weir_lcore_map **map)
{
	const struct weir_lcore_map_port *port;
	struct weir_lcore_map *merged;
	char error[ERROR_SIZE] = "";
	unsigned int i;
	int beyond;
	char *text;

	beyond = find_port_beyond(*map, ports->n);
	if (beyond >= 0)
		return REFUSE(STATUS_TROUBLE,
			      "--ports %s: the map has port %d, which is none "
			      "of them",
			      ports->value, beyond);
	for (i = 0; i < ports->n; i++) {
		port = find_port(*map, i);
		if (port != NULL &&
		    strcmp(port->address, ports->addresses[i]) != 0)
			return REFUSE(STATUS_TROUBLE,
				      "--ports %s: the map says that port %u "
				      "is %s",
				      ports->addresses[i], i,
				      port->address[0] != '\0' ? port->address :
								 "none");
	}
	text = add_ports(ports, *map);
	merged = text != NULL ?
			 weir_lcore_map_parse(text, error, sizeof(error)) :
			 NULL;
	free(text);
	if (merged == NULL)
		return REFUSE(STATUS_TROUBLE, "--ports %s: %s",
			      ports->addresses[0],
			      error[0] != '\0' ? error : "no memory");
	weir_lcore_map_free(*map);
	*map = merged;
	return STATUS_OK;
}

int
input_map(const struct options *o, const char *name, const char *map,
	  struct weir_lcore_map **result)
{
	int rc;

	rc = read_map(name, map, result);
	if (rc != STATUS_OK || o->ports.n == 0)
		return rc;
	rc = apply_ports(&o->ports, result);
	if (rc != STATUS_OK) {
		weir_lcore_map_free(*result);
		*result = NULL;
	}
	return rc;
}
