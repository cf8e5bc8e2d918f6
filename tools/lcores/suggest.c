/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Prints a plan as a map, with the reason for each choice as a comment, what
 * the check of maps says about it, and options for EAL and applications.
 */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "commands.h"
#include "error.h"
#include "escape.h"
#include "plan.h"
#include "show.h"
#include "status.h"

#define REASON_COLUMN 26

/* Devices that EAL can use as they are bound. */
static bool
is_bound(const struct weir_machine_nic *nic)
{
	static const char *const drivers[] = { "vfio-pci", "igb_uio",
					       "uio_pci_generic", "mlx5_core",
					       "mlx4_core" };
	unsigned int i;

	for (i = 0; i < RTE_DIM(drivers); i++)
		if (strcmp(nic->driver, drivers[i]) == 0)
			return true;
	return false;
}

/* The first n devices, those that are bound before others. */
static int
add_counted(struct plan *plan, unsigned int n)
{
	const struct weir_machine *machine = plan->machine;
	unsigned int i, bound = 0, others;

	if (machine->nb_nics != 0 && n > machine->nb_nics)
		return REFUSE(STATUS_TROUBLE,
			      "--ports %u: must be at most %u, the network "
			      "devices of the machine",
			      n, machine->nb_nics);
	for (i = 0; i < n && machine->nb_nics == 0; i++)
		plan_add_port(plan, NULL);
	for (i = 0; i < machine->nb_nics; i++)
		bound += is_bound(&machine->nics[i]);
	bound = RTE_MIN(bound, n);
	others = n - bound;
	/* In the order of addresses, in which EAL numbers them. */
	for (i = 0; i < machine->nb_nics; i++) {
		if (is_bound(&machine->nics[i]) ? bound == 0 : others == 0)
			continue;
		*(is_bound(&machine->nics[i]) ? &bound : &others) -= 1;
		plan_add_port(plan, &machine->nics[i]);
	}
	return STATUS_OK;
}

static int
add_named(struct plan *plan, const struct options_ports *ports)
{
	const struct weir_machine *machine = plan->machine;
	unsigned int i, j;

	for (i = 0; i < ports->n; i++) {
		for (j = 0; j < machine->nb_nics; j++)
			if (strcmp(machine->nics[j].address,
				   ports->addresses[i]) == 0)
				break;
		if (j == machine->nb_nics)
			return REFUSE(STATUS_TROUBLE,
				      "--ports %s: no such network device; "
				      "weir-lcores show lists them",
				      ports->addresses[i]);
		plan_add_port(plan, &machine->nics[j]);
	}
	return STATUS_OK;
}

/* An item of the map, and behind it the reason. */
static void __attribute__((format(printf, 3, 4)))
print_item(FILE *out, const char *item, const char *format, ...)
{
	va_list args;

	fprintf(out, "%-*s # ", REASON_COLUMN, item);
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
}

static void
print_port(FILE *out, const struct plan *plan, unsigned int p)
{
	const struct plan_port *port = &plan->ports[p];
	int near = plan->groups[port->group].node;
	char item[64];

	snprintf(item, sizeof(item), "port %u %s", p,
		 port->nic != NULL ? port->nic->address : "none");
	if (port->nic == NULL)
		print_item(out, item, "no network device here; on any node");
	else if (port->node == WEIR_MACHINE_UNKNOWN)
		print_item(out, item, "its node is not known");
	else
		print_item(out, item, "node %d", port->node);
	if (port->node != near && port->node >= 0 && near >= 0)
		fprintf(out, ", which has no CPU for a worker; node %d is next",
			near);
	if (port->nic != NULL && !is_bound(port->nic)) {
		fputs("; its driver is ", out);
		escape_plain(out, port->nic->driver[0] != '\0' ?
					  port->nic->driver :
					  "none");
		fputs(": EAL may need vfio-pci", out);
	}
	fputc('\n', out);
}

static void
print_main(FILE *out, const struct plan *plan)
{
	const struct weir_machine_cpu *cpu = plan->places[plan->main].cpu;
	char item[64];

	if (plan->main_lcore == cpu->id)
		snprintf(item, sizeof(item), "main %u", cpu->id);
	else
		snprintf(item, sizeof(item), "main %u cpus=%u",
			 plan->main_lcore, cpu->id);
	if (plan->nb_places == 1)
		print_item(out, item, "the only CPU that is allowed\n");
	else if (cpu->isolated || cpu->tick_free)
		print_item(out, item,
			   "each CPU is isolated or has no tick; the first\n");
	else
		print_item(out, item,
			   "the first CPU that the kernel uses too\n");
}

/* The worker's queues, as they stand behind rx=. */
static void
print_queues(FILE *out, const struct plan *plan, unsigned int worker)
{
	const char *before = " rx=";
	unsigned int p, q, last;

	for (p = 0; p < plan->nb_ports; p++) {
		for (q = 0; q < plan->queues; q = last + 1) {
			last = q;
			if (plan->owner[p][q] != worker)
				continue;
			while (last + 1 < plan->queues &&
			       plan->owner[p][last + 1] == worker)
				last++;
			fprintf(out, "%s%u.%u", before, p, q);
			if (last > q)
				fprintf(out, "-%u", last);
			before = ",";
		}
	}
}

static void
print_reasons(FILE *out, const struct plan *plan, const struct plan_worker *w)
{
	static const char *const steps[] = {
		", a core of its own",
		", beside the main lcore on its core: no other was free",
		", beside another worker on its core: no other was free",
		", shares the CPU with the main lcore: each waits for the other",
	};

	if (w->cpu->node != WEIR_MACHINE_UNKNOWN)
		fprintf(out, "node %d", w->cpu->node);
	else
		fputs("node not known", out);
	if (w->cpu->cache != WEIR_MACHINE_UNKNOWN)
		fprintf(out, ", cache %d", w->cpu->cache);
	fputs(steps[w->step], out);
	if (w->cpu->isolated)
		fputs(", isolated", out);
	if (w->cpu->tick_free)
		fputs(", no tick", out);
	if (w->cpu->id == 0)
		fputs(", with the kernel's work on CPU 0", out);
	if (w->nb_queues == 0)
		fputs(", no queue: it steals", out);
	fputc('\n', out);
}

static int
print_worker(FILE *out, const struct plan *plan, unsigned int worker)
{
	const struct plan_worker *w = &plan->workers[worker];
	char *item = NULL;
	size_t size;
	FILE *text = open_memstream(&item, &size);

	if (text == NULL)
		return REFUSE(STATUS_TROUBLE, "no memory for a map");
	fprintf(text, "lcore %u", w->lcore);
	if (w->lcore != w->cpu->id)
		fprintf(text, " cpus=%u", w->cpu->id);
	print_queues(text, plan, worker);
	if (fclose(text) != 0) {
		free(item);
		return REFUSE(STATUS_TROUBLE, "no memory for a map");
	}
	fprintf(out, "%-*s # ", REASON_COLUMN, item);
	free(item);
	print_reasons(out, plan, w);
	return STATUS_OK;
}

/* Has a worker more than a core does? */
static bool
falls_short(const struct plan *plan)
{
	unsigned int i, most = plan_queues_a_core(plan);

	for (i = 0; i < plan->nb_workers; i++)
		if (plan->workers[i].nb_queues > most)
			return true;
	return false;
}

static void
print_numbers(FILE *out, const struct plan *plan)
{
	const struct plan_request *r = &plan->request;
	bool is_short = falls_short(plan);
	const struct plan_group *g;
	unsigned int i;

	fprintf(out, "# %u port%s, %u queue%s each, %u worker%s\n",
		plan->nb_ports, plan->nb_ports == 1 ? "" : "s", plan->queues,
		plan->queues == 1 ? "" : "s", plan->nb_workers,
		plan->nb_workers == 1 ? "" : "s");
	if (r->mpps > 0)
		fprintf(out,
			"# %g Mpps a port, %g Mpps a core: a queue has %g\n",
			r->mpps, r->core_mpps, r->mpps / plan->queues);
	if (plan_queues_a_core(plan) == 0)
		fputs("# a queue is more than a core does: packets will be lost\n",
		      out);
	for (i = 0; i < plan->nb_groups; i++) {
		g = &plan->groups[i];
		if (g->workers >= g->needed || (r->workers != 0 && !is_short))
			continue;
		if (g->node == WEIR_MACHINE_UNKNOWN)
			fputs("# the machine", out);
		else
			fprintf(out, "# node %d", g->node);
		fprintf(out, " has %s%u of %u workers%s\n",
			r->workers == 0 ? "cores for " : "", g->workers,
			g->needed,
			is_short ? ": less than the load needs" : "");
	}
}

/* Ready to be given to EAL and to whoever takes l3fwd's --config. */
static void
print_options(FILE *out, const struct plan *plan)
{
	const struct plan_worker *w = plan->workers;
	unsigned int i, p, q;

	fprintf(out, "#\n# EAL: --lcores %u@%u", plan->main_lcore,
		plan->places[plan->main].cpu->id);
	for (i = 0; i < plan->nb_workers; i++)
		fprintf(out, ",%u@%u", w[i].lcore, w[i].cpu->id);
	fprintf(out, " --main-lcore %u", plan->main_lcore);
	for (p = 0; p < plan->nb_ports; p++)
		if (plan->ports[p].nic != NULL)
			fprintf(out, " -a %s", plan->ports[p].nic->address);
	fprintf(out, "\n# application: --rxq %u --config '", plan->queues);
	for (p = 0; p < plan->nb_ports; p++)
		for (q = 0; q < plan->queues; q++)
			fprintf(out, "%s(%u,%u,%u)", p + q > 0 ? "," : "", p, q,
				w[plan->owner[p][q]].lcore);
	fputs("'\n", out);
}

struct findings {
	FILE *out;
	unsigned int n;
};

static void
print_finding(void *arg, const struct weir_lcore_map_finding *finding)
{
	struct findings *f = arg;
	FILE *out = f->out;

	if (f->n++ == 0)
		fputs("#\n# What weir-lcores check says, where nothing better "
		      "is there:\n",
		      out);
	fputs("# ", out);
	show_finding(out, finding);
}

/* What is printed is checked as whoever uses it would. */
static int
print_findings(FILE *out, const char *text, const struct weir_machine *machine)
{
	char error[512] = "no memory";
	struct findings f = { .out = out };
	struct weir_lcore_map *map;
	unsigned int errors;

	map = weir_lcore_map_parse(text, error, sizeof(error));
	if (map == NULL)
		return REFUSE(STATUS_TROUBLE, "suggest: %s", error);
	errors = weir_lcore_map_check(map, machine, print_finding, &f);
	weir_lcore_map_free(map);
	if (errors > 0)
		return REFUSE(STATUS_NO,
			      "suggest: the map has errors; they are at its "
			      "end");
	return STATUS_OK;
}

static int
print_map(FILE *out, const struct plan *plan)
{
	unsigned int i;
	int rc = STATUS_OK;

	print_numbers(out, plan);
	for (i = 0; i < plan->nb_ports; i++)
		print_port(out, plan, i);
	print_main(out, plan);
	for (i = 0; i < plan->nb_workers && rc == STATUS_OK; i++)
		rc = print_worker(out, plan, i);
	return rc;
}

static int
print_plan(FILE *out, const struct plan *plan)
{
	char *text = NULL;
	size_t size;
	FILE *map = open_memstream(&text, &size);
	int rc;

	if (map == NULL)
		return REFUSE(STATUS_TROUBLE, "no memory for a map");
	rc = print_map(map, plan);
	if (fclose(map) != 0 && rc == STATUS_OK)
		rc = REFUSE(STATUS_TROUBLE, "no memory for a map");
	if (rc == STATUS_OK) {
		fputs(text, out);
		rc = print_findings(out, text, plan->machine);
		print_options(out, plan);
	}
	free(text);
	return rc;
}

static int
make_plan(FILE *out, const struct options *o, struct plan *plan)
{
	int rc;

	if (plan->nb_places == 0)
		return REFUSE(STATUS_NO,
			      "suggest: no CPU is allowed to this process");
	if (o->workers > plan_room(plan))
		return REFUSE(STATUS_NO,
			      "--workers %u: must be at most %u: one CPU of "
			      "those allowed, %u, is the main lcore's",
			      o->workers, plan_room(plan), plan->nb_places);
	rc = o->ports.counted ? add_counted(plan, o->ports.n) :
				add_named(plan, &o->ports);
	if (rc != STATUS_OK)
		return rc;
	plan_make(plan);
	rc = print_plan(out, plan);
	if (rc == STATUS_OK && falls_short(plan))
		return REFUSE(STATUS_NO,
			      "--mpps %g: more than the workers of the map do; "
			      "its first lines say why",
			      o->mpps);
	return rc;
}

int
suggest_map(FILE *out, const struct options *o,
	    const struct weir_machine *machine)
{
	struct plan_request request = {
		.workers = o->workers,
		.queues = o->queues,
		.mpps = o->mpps,
		.core_mpps = o->core_mpps,
	};
	struct plan *plan = plan_create(machine, &request);
	int rc;

	if (plan == NULL)
		return REFUSE(STATUS_TROUBLE, "no memory for a map");
	rc = make_plan(out, o, plan);
	plan_free(plan);
	return rc;
}
