/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How many workers there are, where, and which queues each of them polls.
 *
 * Ports are grouped by the node whose CPUs serve them: their own, or the
 * nearest that has CPUs. Each group gets workers, each port of it a share of
 * them, each worker of a port a share of its queues. A group with fewer workers
 * than ports deals all its queues out among them.
 */

#include <math.h>
#include <stdlib.h>

#include <rte_common.h>

#include "plan.h"

static unsigned int
room_up_to(const struct plan_group *group, enum plan_step most)
{
	unsigned int room = 0, step;

	for (step = 0; step <= most; step++)
		room += group->room[step];
	return room;
}

/* What workers may be put up with that nobody asked for in numbers. */
static enum plan_step
most_step(const struct plan *plan)
{
	if (plan->nb_places == 1)
		return PLAN_ON_MAIN;
	if (plan->request.workers != 0)
		return PLAN_SIBLING;
	return PLAN_BESIDE_MAIN;
}

/* The nearest group with room; without a node, the one with most room. */
static unsigned int
nearest_group(const struct plan *plan, int node)
{
	unsigned int i, best = 0, distance, least = UINT_MAX, room, most = 0;

	for (i = 0; i < plan->nb_groups; i++) {
		room = room_up_to(&plan->groups[i], most_step(plan));
		distance = node == WEIR_MACHINE_UNKNOWN ?
				   0 :
				   weir_machine_distance(plan->machine, node,
							 plan->groups[i].node);
		if (node == plan->groups[i].node)
			distance = 0;
		if (room == 0 || distance > least ||
		    (distance == least && room <= most))
			continue;
		best = i;
		least = distance;
		most = room;
	}
	return best;
}

void
plan_add_port(struct plan *plan, const struct weir_machine_nic *nic)
{
	struct plan_port *port = &plan->ports[plan->nb_ports++];

	port->nic = nic;
	port->node = nic != NULL ? nic->node : WEIR_MACHINE_UNKNOWN;
	port->group = nearest_group(plan, port->node);
	plan->groups[port->group].ports++;
}

/* A quotient that is a whole number is one again, however it was rounded. */
static double
unrounded(double n)
{
	return fabs(n - round(n)) < 1e-9 * n ? round(n) : n;
}

unsigned int
plan_queues_a_core(const struct plan *plan)
{
	const struct plan_request *r = &plan->request;
	double n;

	if (r->mpps <= 0)
		return UINT_MAX;
	n = floor(unrounded(r->core_mpps * plan->queues / r->mpps));
	return (unsigned int)RTE_MIN(n, 1e6);
}

/*
 * Workers that the load of a group's ports needs. A worker has queues of
 * several ports only if it can have all of each: see pick_workers().
 */
static unsigned int
needed_for_load(const struct plan *plan, const struct plan_group *group)
{
	unsigned int most = RTE_MAX(plan_queues_a_core(plan), 1u);

	if (most < plan->queues)
		return group->ports * ((plan->queues + most - 1) / most);
	return (group->ports * plan->queues + most - 1) / most;
}

/* Workers of each group, for queues of which the number is known. */
static void
want_for_queues(struct plan *plan)
{
	struct plan_group *group;
	unsigned int i, room;

	for (i = 0; i < plan->nb_groups; i++) {
		group = &plan->groups[i];
		group->needed = group->ports * plan->queues;
		room = group->apart != 0 ? group->apart :
					   group->room[PLAN_CORE];
		if (plan->request.mpps > 0) {
			group->needed = needed_for_load(plan, group);
			room = room_up_to(group, most_step(plan));
		}
		/* On some CPU they must be. */
		if (room == 0)
			room = RTE_MIN(room_up_to(group, most_step(plan)), 1u);
		group->workers = RTE_MIN(group->needed, room);
	}
}

/* The group that has most ports to a worker among those with room. */
static struct plan_group *
neediest(struct plan *plan, enum plan_step most, bool with_ports)
{
	struct plan_group *group, *best = NULL;
	unsigned int i;

	for (i = 0; i < plan->nb_groups; i++) {
		group = &plan->groups[i];
		if (group->workers >= room_up_to(group, most) ||
		    (with_ports && group->ports == 0))
			continue;
		if (best == NULL || group->ports * (best->workers + 1) >
					    best->ports * (group->workers + 1))
			best = group;
	}
	return best;
}

/* Hands out a number of workers: near the ports as long as there are CPUs. */
static void
want_workers(struct plan *plan)
{
	struct plan_group *group;
	unsigned int i, n, step;

	for (n = 0; n < plan->request.workers; n++) {
		group = NULL;
		for (step = 0; step <= most_step(plan) && group == NULL; step++)
			group = neediest(plan, step, true);
		for (step = 0; step <= most_step(plan) && group == NULL; step++)
			group = neediest(plan, step, false);
		if (group == NULL)
			break;
		group->workers++;
	}
	for (i = 0; i < plan->nb_groups; i++) {
		group = &plan->groups[i];
		group->needed = plan->request.mpps > 0 ?
					needed_for_load(plan, group) :
					group->workers;
	}
}

/* A queue for each worker that the ports have. */
static unsigned int
queues_for_workers(const struct plan *plan)
{
	const struct plan_group *group;
	unsigned int i, queues = 1;

	for (i = 0; i < plan->nb_groups; i++) {
		group = &plan->groups[i];
		if (group->ports > 0)
			queues = RTE_MAX(queues,
					 (group->workers + group->ports - 1) /
						 group->ports);
	}
	return queues;
}

/* No more workers than lcores that EAL has. */
static void
limit_workers(struct plan *plan)
{
	struct plan_group *most = plan->groups;
	unsigned int i, sum;

	for (;;) {
		for (sum = 0, i = 0; i < plan->nb_groups; i++) {
			sum += plan->groups[i].workers;
			if (plan->groups[i].workers > most->workers)
				most = &plan->groups[i];
		}
		if (sum <= plan_room(plan))
			return;
		most->workers--;
	}
}

static void
decide_numbers(struct plan *plan)
{
	const struct plan_request *r = &plan->request;
	double queues;

	plan->queues = r->queues;
	/* As many as the load needs workers. */
	if (plan->queues == 0 && r->mpps > 0) {
		queues = ceil(unrounded(r->mpps / r->core_mpps));
		plan->queues = (unsigned int)RTE_MIN(
			queues, (double)RTE_MAX_QUEUES_PER_PORT);
	}
	if (r->workers != 0)
		want_workers(plan);
	if (plan->queues == 0)
		plan->queues = queues_for_workers(plan);
	if (r->workers == 0)
		want_for_queues(plan);
	limit_workers(plan);
	/* Where cores are short, more would not be even. */
	if (r->queues == 0)
		plan->queues = RTE_MIN(plan->queues, queues_for_workers(plan));
}

static void
pick_workers(struct plan *plan, unsigned int g)
{
	const struct plan_group *group = &plan->groups[g];
	unsigned int left = group->workers, ports = group->ports, i, n, share;

	/* Too few for each port to have its own, or none of their ports. */
	if (left < ports || ports == 0) {
		for (n = left; n > 0; n--)
			plan_pick(plan, g, most_step(plan), -1, n);
		return;
	}
	for (i = 0; i < plan->nb_ports; i++) {
		if (plan->ports[i].group != g)
			continue;
		share = (left + ports - 1) / ports;
		plan->ports[i].wanted = share;
		for (n = share; n > 0; n--)
			plan_pick(plan, g, most_step(plan), (int)i, n);
		left -= share;
		ports--;
	}
}

/* The port's nth worker. */
static unsigned int
worker_of(const struct plan *plan, int port, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < plan->nb_workers; i++)
		if (plan->workers[i].port == port && n-- == 0)
			break;
	return i;
}

/* The worker with fewest queues, of that group or of the nearest with some. */
static unsigned int
least_loaded(const struct plan *plan, unsigned int group)
{
	const struct plan_worker *w = plan->workers;
	unsigned int i, best = 0, distance, least = UINT_MAX;

	for (i = 0; i < plan->nb_workers; i++) {
		distance = weir_machine_distance(plan->machine,
						 plan->groups[group].node,
						 plan->groups[w[i].group].node);
		if (w[i].group == group)
			distance = 0;
		if (distance > least ||
		    (distance == least && w[i].nb_queues >= w[best].nb_queues))
			continue;
		best = i;
		least = distance;
	}
	return best;
}

static void
deal_queues(struct plan *plan, unsigned int p)
{
	const struct plan_port *port = &plan->ports[p];
	unsigned int workers = RTE_MIN(port->wanted, plan->queues), q, owner;

	for (q = 0; q < plan->queues; q++) {
		if (workers > 0)
			owner = worker_of(plan, (int)p,
					  q * workers / plan->queues);
		else
			owner = least_loaded(plan, port->group);
		plan->owner[p][q] = (uint16_t)owner;
		plan->workers[owner].nb_queues++;
	}
}

/* Is the number one that an lcore has, or will have since its CPU has it? */
static bool
is_taken(const struct plan *plan, unsigned int lcore, unsigned int nb_numbered)
{
	unsigned int i;

	if (plan->main_lcore == lcore)
		return true;
	for (i = 0; i < plan->nb_workers; i++)
		if (plan->workers[i].cpu->id == lcore ||
		    (i < nb_numbered && plan->workers[i].lcore == lcore))
			return true;
	return false;
}

/* An lcore has its CPU's number, if EAL has lcores of that number. */
static void
number_lcores(struct plan *plan)
{
	const struct weir_machine_cpu *main_cpu = plan->places[plan->main].cpu;
	struct plan_worker *w;
	unsigned int i;

	plan->main_lcore = main_cpu->id;
	if (main_cpu->id >= RTE_MAX_LCORE)
		for (plan->main_lcore = UINT_MAX, i = 0;
		     plan->main_lcore == UINT_MAX; i++)
			if (!is_taken(plan, i, 0))
				plan->main_lcore = i;
	for (i = 0; i < plan->nb_workers; i++) {
		w = &plan->workers[i];
		w->lcore = w->cpu->id;
		if (w->lcore < RTE_MAX_LCORE && w->cpu != main_cpu)
			continue;
		for (w->lcore = 0; is_taken(plan, w->lcore, i);)
			w->lcore++;
	}
}

static int
compare_workers(const void *a, const void *b)
{
	const struct plan_worker *x = a, *y = b;

	return x->cpu->id < y->cpu->id ? -1 : x->cpu->id > y->cpu->id;
}

void
plan_make(struct plan *plan)
{
	unsigned int i;

	decide_numbers(plan);
	for (i = 0; i < plan->nb_groups; i++)
		pick_workers(plan, i);
	qsort(plan->workers, plan->nb_workers, sizeof(plan->workers[0]),
	      compare_workers);
	for (i = 0; i < plan->nb_ports; i++)
		deal_queues(plan, i);
	number_lcores(plan);
}
