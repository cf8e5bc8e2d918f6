/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What weir-lcores suggests, on machines of any shape, for any request: CPUs
 * that are allowed, each once; a worker for each queue; and the rules that its
 * guide has.
 */

#include "fuzz.h"

#include <sched.h>
#include <stdlib.h>

#include "../../tools/lcores/plan.h"

#define CPUS_MOST 24
#define NODES_MOST 4

static struct weir_machine_cpu cpus[CPUS_MOST];
static struct weir_machine_node nodes[NODES_MOST];
static uint8_t distances[NODES_MOST * NODES_MOST];
static struct weir_machine_nic nics[RTE_MAX_ETHPORTS];

static struct weir_machine machine = {
	.cpus = cpus,
	.nodes = nodes,
	.distances = distances,
	.nics = nics,
};

/* A number of something, or that it is not known. */
static int
take_number(struct fuzz_input *in, unsigned int n)
{
	return (int)fuzz_below(in, n + 1) - 1;
}

static void
take_cpu(struct fuzz_input *in, unsigned int i)
{
	struct weir_machine_cpu *cpu = &cpus[i];
	uint8_t bits = fuzz_u8(in);

	/* Numbers rise, with gaps, and beyond what lcores and EAL have. */
	cpu->id = i == 0 ? 0 : cpus[i - 1].id + 1;
	cpu->id += bits >> 6 == 3 ? fuzz_u8(in) : 0;
	cpu->node = take_number(in, machine.nb_nodes);
	cpu->core = take_number(in, CPUS_MOST);
	cpu->cache = take_number(in, 4);
	cpu->online = (bits & 1) == 0;
	cpu->allowed = cpu->online && (bits & 2) == 0;
	cpu->isolated = (bits & 4) != 0;
	cpu->tick_free = (bits & 8) != 0;
}

static void
take_machine(struct fuzz_input *in)
{
	unsigned int i;

	machine.nb_nodes = 1 + fuzz_below(in, NODES_MOST);
	for (i = 0; i < machine.nb_nodes; i++)
		nodes[i].id = i;
	for (i = 0; i < machine.nb_nodes * machine.nb_nodes; i++)
		distances[i] = (uint8_t)(10 + fuzz_below(in, 8));
	machine.nb_cpus = 1 + fuzz_below(in, CPUS_MOST);
	for (i = 0; i < machine.nb_cpus; i++)
		take_cpu(in, i);
	machine.nb_nics = 1 + fuzz_below(in, RTE_MAX_ETHPORTS);
	for (i = 0; i < machine.nb_nics; i++)
		nics[i].node = take_number(in, machine.nb_nodes);
}

static struct plan_request
take_request(struct fuzz_input *in)
{
	uint8_t bits = fuzz_u8(in);
	struct plan_request request = { .core_mpps = 10 };

	if (bits & 1)
		request.workers = 1 + fuzz_below(in, CPUS_MOST);
	if (bits & 2)
		request.queues = 1 + fuzz_u8(in) * 4;
	if (bits & 4)
		request.mpps = (1 + fuzz_u32(in) % 1000000) / 100.0;
	if (bits & 8)
		request.core_mpps = (1 + fuzz_u32(in) % 1000000) / 100.0;
	return request;
}

static bool
shares_core(const struct weir_machine_cpu *a, const struct weir_machine_cpu *b)
{
	return a == b ||
	       (a->core == b->core && a->node == b->node && a->core >= 0);
}

/* Each CPU is one that can be used, and used once, as is each lcore. */
static void
check_workers(const struct plan *plan)
{
	const struct weir_machine_cpu *main_cpu = plan->places[plan->main].cpu;
	const struct plan_worker *w = plan->workers;
	unsigned int i, j;

	fuzz_check(plan->nb_workers >= 1);
	fuzz_check(plan->nb_workers <= plan_room(plan));
	fuzz_check(plan->main_lcore < RTE_MAX_LCORE);
	for (i = 0; i < plan->nb_workers; i++) {
		fuzz_check(w[i].cpu->allowed && w[i].cpu->id < CPU_SETSIZE);
		fuzz_check(w[i].lcore < RTE_MAX_LCORE);
		fuzz_check(w[i].lcore != plan->main_lcore);
		fuzz_check((w[i].cpu == main_cpu) == (plan->nb_places == 1));
		for (j = 0; j < i; j++)
			fuzz_check(w[j].cpu != w[i].cpu &&
				   w[j].lcore != w[i].lcore);
	}
	if (plan->request.workers != 0)
		fuzz_check(plan->nb_workers == plan->request.workers);
}

/* Nobody shares a core with another worker if that was not asked for. */
static void
check_cores(const struct plan *plan)
{
	const struct plan_worker *w = plan->workers;
	unsigned int i, j;

	for (i = 0; i < plan->nb_workers && plan->request.workers == 0; i++)
		for (j = 0; j < i; j++)
			fuzz_check(!shares_core(w[i].cpu, w[j].cpu));
}

/* Each queue has a worker, and what workers have are all queues. */
static void
check_queues(const struct plan *plan)
{
	unsigned int p, q, sum = 0, i;

	fuzz_check(plan->queues >= 1 &&
		   plan->queues <= RTE_MAX_QUEUES_PER_PORT);
	if (plan->request.queues != 0)
		fuzz_check(plan->queues == plan->request.queues);
	for (p = 0; p < plan->nb_ports; p++)
		for (q = 0; q < plan->queues; q++)
			fuzz_check(plan->owner[p][q] < plan->nb_workers);
	for (i = 0; i < plan->nb_workers; i++)
		sum += plan->workers[i].nb_queues;
	fuzz_check(sum == plan->nb_ports * plan->queues);
}

/* With the workers that the load needs, none has more than a core does. */
static void
check_load(const struct plan *plan)
{
	unsigned int i, most = RTE_MAX(plan_queues_a_core(plan), 1u);

	for (i = 0; i < plan->nb_groups; i++)
		if (plan->groups[i].workers < plan->groups[i].needed)
			return;
	for (i = 0; i < plan->nb_workers; i++)
		fuzz_check(plan->workers[i].nb_queues <= most);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct plan_request request;
	struct plan *plan;
	unsigned int i;

	take_machine(&in);
	request = take_request(&in);
	request.queues =
		RTE_MIN(request.queues, (unsigned int)RTE_MAX_QUEUES_PER_PORT);
	plan = plan_create(&machine, &request);
	fuzz_check(plan != NULL);
	/* What else the program refuses. */
	if (plan->nb_places > 0 && request.workers <= plan_room(plan)) {
		for (i = 0; i < machine.nb_nics; i++)
			plan_add_port(plan, &nics[i]);
		plan_make(plan);
		check_workers(plan);
		check_cores(plan);
		check_queues(plan);
		check_load(plan);
	}
	plan_free(plan);
	return 0;
}
