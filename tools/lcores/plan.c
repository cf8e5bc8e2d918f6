/* SPDX-License-Identifier: BSD-3-Clause */

/* The CPUs of a plan, and which of them is the next to become a worker. */

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <rte_common.h>

#include "plan.h"

/*
 * Cores whose number is not known are taken to be one CPU each. None is on two
 * nodes, whatever a recording says, so that nodes can be planned one by one.
 */
static bool
same_core(const struct weir_machine_cpu *a, const struct weir_machine_cpu *b)
{
	return a == b || (a->core == b->core && a->node == b->node &&
			  a->core != WEIR_MACHINE_UNKNOWN);
}

static bool
same_cache(const struct weir_machine_cpu *a, const struct weir_machine_cpu *b)
{
	return a->cache == b->cache && a->node == b->node;
}

/* CPUs that the kernel leaves alone serve a poller best. */
static int
rank(const struct weir_machine_cpu *cpu)
{
	return cpu->isolated * 2 + cpu->tick_free;
}

static void
fill_place(struct plan *plan, unsigned int place)
{
	struct plan_place *p = &plan->places[place];
	const struct weir_machine_cpu *zero;

	for (p->core = 0; !same_core(plan->places[p->core].cpu, p->cpu);)
		p->core++;
	for (p->cache = 0; !same_cache(plan->places[p->cache].cpu, p->cpu);)
		p->cache++;
	zero = weir_machine_cpu_get(plan->machine, 0);
	p->has_zero = zero != NULL && same_core(zero, p->cpu);
}

/*
 * A CPU that the kernel uses anyway, and CPU 0 rather than others, since a
 * worker is least well off there.
 */
static unsigned int
choose_main(const struct plan *plan)
{
	unsigned int i;

	for (i = 0; i < plan->nb_places; i++)
		if (rank(plan->places[i].cpu) == 0)
			return i;
	return 0;
}

/* How good a place is for a worker now. */
static enum plan_step
place_step(const struct plan *plan, const struct plan_place *place)
{
	const struct plan_place *core = &plan->places[place->core];

	if (place == &plan->places[plan->main])
		return PLAN_ON_MAIN;
	if (core->core_workers > 0)
		return PLAN_SIBLING;
	return core->has_main ? PLAN_BESIDE_MAIN : PLAN_CORE;
}

/* Counts, by step, what there will be if all of it is taken in that order. */
static void
count_room(struct plan *plan, const struct plan_place *place)
{
	struct plan_place *core = &plan->places[place->core];
	struct plan_group *group = plan->groups;
	enum plan_step step = place_step(plan, place);

	while (group < plan->groups + plan->nb_groups &&
	       group->node != place->cpu->node)
		group++;
	if (group == plan->groups + plan->nb_groups)
		plan->nb_groups++;
	group->node = place->cpu->node;
	group->room[step]++;
	group->apart += step == PLAN_CORE && rank(place->cpu) > 0;
	if (step != PLAN_ON_MAIN)
		core->core_workers++;
}

static void
fill(struct plan *plan)
{
	const struct weir_machine *machine = plan->machine;
	unsigned int i;

	for (i = 0; i < machine->nb_cpus; i++) {
		/* EAL's sets of CPUs end there. */
		if (!machine->cpus[i].allowed ||
		    machine->cpus[i].id >= CPU_SETSIZE)
			continue;
		plan->places[plan->nb_places].cpu = &machine->cpus[i];
		fill_place(plan, plan->nb_places++);
	}
	if (plan->nb_places == 0)
		return;
	plan->main = choose_main(plan);
	plan->places[plan->places[plan->main].core].has_main = true;
	for (i = 0; i < plan->nb_places; i++)
		count_room(plan, &plan->places[i]);
	for (i = 0; i < plan->nb_places; i++)
		plan->places[i].core_workers = 0;
}

struct plan *
plan_create(const struct weir_machine *machine,
	    const struct plan_request *request)
{
	struct plan *plan = calloc(1, sizeof(*plan));

	if (plan == NULL)
		return NULL;
	plan->machine = machine;
	plan->request = *request;
	plan->places = calloc(machine->nb_cpus + 1, sizeof(*plan->places));
	plan->groups = calloc(machine->nb_cpus + 1, sizeof(*plan->groups));
	if (plan->places == NULL || plan->groups == NULL) {
		plan_free(plan);
		return NULL;
	}
	fill(plan);
	return plan;
}

void
plan_free(struct plan *plan)
{
	if (plan == NULL)
		return;
	free(plan->places);
	free(plan->groups);
	free(plan);
}

unsigned int
plan_room(const struct plan *plan)
{
	/* The main lcore's CPU is shared only if there is no other. */
	if (plan->nb_places == 1)
		return 1;
	return RTE_MIN(plan->nb_places - 1, RTE_MAX_LCORE - 1u);
}

/* The worker that was made last for the port, or NULL. */
static const struct plan_worker *
last_of(const struct plan *plan, int port)
{
	unsigned int i;

	for (i = plan->nb_workers; i > 0 && port >= 0; i--)
		if (plan->workers[i - 1].port == port)
			return &plan->workers[i - 1];
	return NULL;
}

/* How many CPUs as good as that its cache has; a core counts once. */
static void
count_free(struct plan *plan, const struct plan_place *like)
{
	enum plan_step step = place_step(plan, like);
	struct plan_place *p;
	unsigned int i;

	for (i = 0; i < plan->nb_places; i++)
		plan->places[i].cache_free = 0;
	for (i = 0; i < plan->nb_places; i++) {
		p = &plan->places[i];
		if (!p->used && place_step(plan, p) == step &&
		    rank(p->cpu) == rank(like->cpu) &&
		    (p->core == i || step != PLAN_CORE))
			plan->places[p->cache].cache_free++;
	}
}

/* By what a CPU is alone: less than 0 if a is better. */
static int
compare_places(const struct plan *plan, const struct plan_place *a,
	       const struct plan_place *b)
{
	int order = (int)place_step(plan, a) - (int)place_step(plan, b);

	if (order == 0)
		order = rank(b->cpu) - rank(a->cpu);
	return order != 0 ? order : a->has_zero - b->has_zero;
}

/*
 * By its cache: that of the port's other workers, then one with room for all,
 * then the one with fewest workers, then the one with most room.
 */
static int
compare_caches(const struct plan *plan, const struct plan_place *a,
	       const struct plan_place *b, const struct plan_worker *last,
	       unsigned int need)
{
	const struct plan_place *x = &plan->places[a->cache];
	const struct plan_place *y = &plan->places[b->cache];
	int order = 0;

	if (last != NULL)
		order = same_cache(b->cpu, last->cpu) -
			same_cache(a->cpu, last->cpu);
	if (order == 0)
		order = (y->cache_free >= need) - (x->cache_free >= need);
	if (order == 0)
		order = (int)x->cache_workers - (int)y->cache_workers;
	return order != 0 ? order : (int)y->cache_free - (int)x->cache_free;
}

/* NULL: none is free. */
static struct plan_place *
find_best(struct plan *plan, unsigned int group, enum plan_step most, int port,
	  unsigned int need)
{
	const struct plan_worker *last = last_of(plan, port);
	struct plan_place *p, *best = NULL;
	unsigned int i, pass;

	/* What is free in a cache depends on how good the best ones are. */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < plan->nb_places; i++) {
			p = &plan->places[i];
			if (p->used ||
			    p->cpu->node != plan->groups[group].node ||
			    place_step(plan, p) > most)
				continue;
			if (best == NULL || compare_places(plan, p, best) < 0 ||
			    (pass == 1 && compare_places(plan, p, best) == 0 &&
			     compare_caches(plan, p, best, last, need) < 0))
				best = p;
		}
		if (best != NULL)
			count_free(plan, best);
	}
	return best;
}

int
plan_pick(struct plan *plan, unsigned int group, enum plan_step most, int port,
	  unsigned int need)
{
	struct plan_place *p = find_best(plan, group, most, port, need);

	if (p == NULL || plan->nb_workers == RTE_MAX_LCORE - 1)
		return -ENOENT;
	plan->workers[plan->nb_workers++] = (struct plan_worker){
		.cpu = p->cpu,
		.step = place_step(plan, p),
		.group = group,
		.port = port,
	};
	p->used = true;
	plan->places[p->core].core_workers++;
	plan->places[p->cache].cache_workers++;
	return 0;
}
