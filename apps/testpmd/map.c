/* SPDX-License-Identifier: BSD-3-Clause */

/* For a device's name: 22.11 has no other way to ask for it. */
#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_pci.h>

#include <weir_ethdev.h>
#include <weir_lcore_apply.h>
#include <weir_machine.h>

#include "error.h"
#include "map.h"
#include "options.h"
#include "plan.h"
#include "status.h"
#include "stream.h"

#define ERROR_SIZE 320

/*
 * The map as EAL completes it: the CPUs of its lcores, the main lcore, and the
 * devices of the ports. What is not its own is the map's.
 */
struct view {
	struct weir_lcore_map map;
	struct weir_lcore_map_lcore lcores[RTE_MAX_LCORE + 1];
	struct weir_lcore_map_port ports[RTE_MAX_ETHPORTS];
	unsigned int cpus[RTE_MAX_LCORE + 1][CPU_SETSIZE];
};

/* What weir_lcore_map_check() finds goes here. */
struct findings {
	char *error; /* the first error, if there is any */
	size_t size;
	bool print; /* the warnings */
};

int
map_open(struct options *o, struct weir_machine **machine)
{
	char error[ERROR_SIZE];

	if (o->map_option == NULL || strcmp(o->map_option, "map") != 0)
		return STATUS_OK;
	*machine = weir_machine_read();
	if (*machine == NULL)
		return REFUSE(STATUS_FAILED,
			      "--map %s: the machine cannot be read (%s); is "
			      "/sys mounted?",
			      o->map_value, rte_strerror(rte_errno));
	if (o->map_file == NULL)
		return STATUS_OK;
	o->map = weir_lcore_map_load(o->map_file, error, sizeof(error));
	if (o->map == NULL)
		return REFUSE(STATUS_FAILED, "--map %s", error);
	return STATUS_OK;
}

static void
complete_cpus(struct weir_lcore_map_lcore *lcore, unsigned int *cpus)
{
	rte_cpuset_t set;
	unsigned int cpu;

	if (lcore->nb_cpus != 0)
		return;
	set = rte_lcore_cpuset(lcore->lcore);
	lcore->cpus = cpus;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[lcore->nb_cpus++] = cpu;
}

static void
view_lcores(struct view *v, const struct weir_lcore_map *map,
	    const struct options *o)
{
	struct weir_lcore_map_lcore *lcore;
	bool has_main = false;
	unsigned int i;

	v->map.lcores = v->lcores;
	for (i = 0; i < map->nb_lcores; i++) {
		lcore = &v->lcores[v->map.nb_lcores];
		*lcore = map->lcores[i];
		has_main |= lcore->main;
		if (lcore->park < 0 && !lcore->main)
			lcore->park = (int)o->park;
		complete_cpus(lcore, v->cpus[v->map.nb_lcores++]);
	}
	if (has_main)
		return;
	lcore = &v->lcores[v->map.nb_lcores];
	*lcore = (struct weir_lcore_map_lcore){
		.lcore = rte_get_main_lcore(),
		.main = true,
		.node = -1,
		.park = -1,
	};
	complete_cpus(lcore, v->cpus[v->map.nb_lcores++]);
}

/* Its PCI address; empty when it has none. EAL's name is as the user wrote it. */
static const char *
port_address(const struct port *port, const struct weir_machine *machine)
{
	struct rte_eth_dev_info info;
	struct rte_pci_addr own, other;
	unsigned int i;

	if (rte_eth_dev_info_get(port->id, &info) != 0 || info.device == NULL ||
	    rte_pci_addr_parse(rte_dev_name(info.device), &own) != 0)
		return "";
	for (i = 0; i < machine->nb_nics; i++)
		if (rte_pci_addr_parse(machine->nics[i].address, &other) == 0 &&
		    rte_pci_addr_cmp(&own, &other) == 0)
			return machine->nics[i].address;
	return "";
}

/* Whether there is such a port is not for the machine to say. */
static void
view_ports(struct view *v, struct plan *plan,
	   const struct weir_machine *machine)
{
	const struct port *port;
	unsigned int i;

	v->map.ports = v->ports;
	v->map.nb_ports = RTE_MAX_ETHPORTS;
	for (i = 0; i < RTE_MAX_ETHPORTS; i++) {
		port = plan_port(plan, (uint16_t)i);
		v->ports[i].port = (uint16_t)i;
		if (port != NULL)
			strcpy(v->ports[i].address,
			       port_address(port, machine));
	}
}

/* Are the ports those that the map takes them for? */
static int
check_ports(const struct weir_lcore_map *map, struct plan *plan,
	    const struct weir_machine *machine, char *error, size_t size)
{
	const struct weir_lcore_map_port *item;
	const char *address, *wanted;
	const struct port *port;
	unsigned int i;

	for (i = 0; i < map->nb_ports; i++) {
		item = &map->ports[i];
		port = plan_port(plan, item->port);
		address = port != NULL ? port_address(port, machine) : NULL;
		if (address != NULL && strcmp(address, item->address) == 0)
			continue;
		wanted = item->address[0] != '\0' ? item->address : "none";
		if (address == NULL)
			snprintf(error, size,
				 "port %u %s: there is no such port, or "
				 "--portmask leaves it out",
				 item->port, wanted);
		else
			snprintf(error, size, "port %u %s: is %s%s", item->port,
				 wanted, address[0] != '\0' ? "at " : "",
				 address[0] != '\0' ? address :
						      "on no PCI bus, none");
		return -EINVAL;
	}
	return 0;
}

static void
note_finding(void *arg, const struct weir_lcore_map_finding *f)
{
	struct findings *findings = arg;

	if (f->severity == WEIR_LCORE_MAP_ERROR && findings->error[0] == '\0')
		snprintf(findings->error, findings->size, "%s (%s)", f->text,
			 f->rule);
	if (f->severity == WEIR_LCORE_MAP_WARNING && findings->print)
		error_line("warning: %s (%s)", f->text, f->rule);
}

/* Of others the machine has nothing to say. */
static bool
has_eals_lcores_only(const struct weir_lcore_map *map)
{
	unsigned int i;

	for (i = 0; i < map->nb_lcores; i++)
		if (!rte_lcore_is_enabled(map->lcores[i].lcore))
			return false;
	return true;
}

/* Warnings are for a map that is used: they come when all else is well. */
static int
check(const struct weir_lcore_map *map, const struct options *o,
      struct plan *plan, const struct weir_machine *machine, bool print,
      char *error, size_t size)
{
	struct findings findings = { error, size, print };
	struct view *v;
	int rc;

	if (!has_eals_lcores_only(map))
		return weir_lcore_map_match(map, error, size);
	v = calloc(1, sizeof(*v));
	if (v == NULL) {
		snprintf(error, size, "no memory to check it");
		return -ENOMEM;
	}
	error[0] = '\0';
	view_lcores(v, map, o);
	view_ports(v, plan, machine);
	rc = check_ports(map, plan, machine, error, size);
	if (rc == 0 && weir_lcore_map_check(&v->map, machine, note_finding,
					    &findings) != 0)
		rc = -EINVAL;
	free(v);
	return rc;
}

int
map_check(const struct options *o, struct plan *plan,
	  const struct weir_machine *machine)
{
	char error[ERROR_SIZE];

	if (machine == NULL)
		return STATUS_OK;
	if (check(o->map, o, plan, machine, true, error, sizeof(error)) < 0)
		return REFUSE(STATUS_FAILED, "--map %s: %s", o->map_value,
			      error);
	return STATUS_OK;
}

void
map_park(const struct options *o, struct weir_runtime *rt)
{
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i;

	for (i = 0; o->map != NULL && i < o->map->nb_lcores; i++) {
		lcore = &o->map->lcores[i];
		if (lcore->park >= 0)
			weir_worker_park_set(
				rt,
				(unsigned int)weir_runtime_worker_of_lcore(
					rt, lcore->lcore),
				(enum weir_park)lcore->park);
	}
}

/* Streams without a receive queue have no source; they are counted on. */
static int
apply(const struct weir_lcore_map *map, const struct plan *plan,
      struct stream **streams, struct weir_runtime *rt,
      struct weir_lcore_map_change *change, char *error, size_t size)
{
	struct weir_lcore_map_source *sources;
	struct stream *s;
	unsigned int i;
	int rc;

	sources = calloc(plan->nb_streams, sizeof(*sources));
	if (sources == NULL) {
		snprintf(error, size, "no memory for the change");
		return -ENOMEM;
	}
	for (i = 0; i < plan->nb_streams; i++) {
		s = streams[i];
		sources[i].queue.port = s->rx_port->id;
		sources[i].queue.queue = s->queue;
		sources[i].source = s->forward.rxq != NULL ?
					    weir_rxq_source(s->forward.rxq) :
					    NULL;
	}
	rc = weir_lcore_map_apply(map, rt, sources, plan->nb_streams, change,
				  error, size);
	free(sources);
	return rc;
}

static unsigned int
active_workers(const struct weir_runtime *rt)
{
	unsigned int i, n = 0;

	for (i = 0; i < weir_runtime_nb_workers(rt); i++)
		n += weir_worker_is_active(rt, i);
	return n;
}

void
map_reload(struct options *o, struct plan *plan,
	   const struct weir_machine *machine, struct stream **streams,
	   struct weir_runtime *rt)
{
	struct weir_lcore_map_change change;
	struct weir_lcore_map *map;
	char error[ERROR_SIZE];
	struct stat is;
	int rc;

	/* A pipe would be waited for, beside the traffic. */
	if (stat(o->map_file, &is) == 0 && !S_ISREG(is.st_mode)) {
		error_line("--map is not applied: %s: is no regular file, so "
			   "it is not read again",
			   o->map_file);
		return;
	}
	map = weir_lcore_map_load(o->map_file, error, sizeof(error));
	if (map == NULL) {
		error_line("--map is not applied: %s", error);
		return;
	}
	rc = check(map, o, plan, machine, false, error, sizeof(error));
	if (rc == 0)
		rc = apply(map, plan, streams, rt, &change, error,
			   sizeof(error));
	/* One that fails on the way stays as far as it has come. */
	plan->nb_workers = active_workers(rt);
	if (rc < 0) {
		error_line("--map is not applied: %s: %s", o->map_file, error);
		weir_lcore_map_free(map);
		return;
	}
	weir_lcore_map_free(o->map);
	o->map = map;
	check(map, o, plan, machine, true, error, sizeof(error));
	printf("map applied: workers %u (added %u, retired %u), queues moved "
	       "%u\n",
	       plan->nb_workers, change.added, change.retired, change.moved);
}
