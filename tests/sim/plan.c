/* SPDX-License-Identifier: BSD-3-Clause */

/* What a seed means: the machine, the runtimes, the workload, what goes wrong. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim.h"

static struct rand_state r;

static unsigned int
pick(unsigned int n)
{
	return rand_below(&r, n);
}

/* One in n. */
static bool
odd(unsigned int n)
{
	return pick(n) == 0;
}

/* One of a few values, small and large. */
#define PICK(...)                                                  \
	({                                                         \
		static const unsigned int of_[] = { __VA_ARGS__ }; \
		of_[pick(RTE_DIM(of_))];                           \
	})

static void
plan_policy(struct plan *p)
{
	p->policy = (enum policy)pick(POLICIES);
	p->policy_length = PICK(2, 10, 100, 1000);
	p->starve_max = PICK(500, 3000, 20000);
	p->step_cycles = PICK(1, 3, 10, 40);
	p->idle_cycles = PICK(200, 2000, 20000);
}

static unsigned int
plan_workers(const struct overrides *o)
{
	if (o->workers != 0)
		return o->workers;
	if (odd(10))
		return 8 + pick(9);
	return 1 + pick(5);
}

static void
plan_machine(struct plan *p, const struct overrides *o)
{
	struct kernel_options *k = &p->kernel;
	unsigned int rt;
	bool large = o->workers == 0 && odd(100);

	p->nb_runtimes = odd(6) && !large ? 2 : 1;
	for (rt = 0; rt < p->nb_runtimes; rt++) {
		p->current_thread[rt] = rt == 0 && o->workers == 0 && odd(6);
		p->nb_workers[rt] = large ? RTE_MAX_LCORE : plan_workers(o);
		if (p->current_thread[rt])
			p->nb_workers[rt] = 1;
		else if (p->nb_workers[rt] > 1)
			p->nb_spares[rt] = pick(RTE_MIN(p->nb_workers[rt], 3u));
		k->nb_lcores += p->nb_workers[rt];
	}
	k->nb_lcores = RTE_MIN(k->nb_lcores, (unsigned int)RTE_MAX_LCORE);
	k->nb_nodes = large ? 8 : o->nodes != 0 ? o->nodes : 1 + pick(4);
	k->nb_nodes = RTE_MIN(k->nb_nodes, k->nb_lcores);
	k->lcores_per_core = PICK(0, 1, 2);
	k->lcores_per_cache = PICK(0, 2, 4);
	k->ring_size = PICK(0, 2, 4, 16);
	k->membarrier = !odd(8);
	k->power_pause = odd(2);
}

static void
plan_faults(struct plan *p)
{
	p->odds[KERNEL_NO_MEMORY] = odd(8) ? 20 : 0;
	p->odds[KERNEL_NO_THREAD] = odd(6) ? 3 : 0;
	p->odds[KERNEL_SPURIOUS] = odd(4) ? 10 : 0;
}

static void
plan_options(struct plan *p, unsigned int rt)
{
	static const char *const names[RUNTIMES_MAX] = { "a", "b" };
	struct weir_options *o = &p->options[rt];

	weir_options_init(o);
	o->name = names[rt];
	o->current_thread = p->current_thread[rt];
	o->event_interval = PICK(1, 5, 61);
	/* A worker that pauses does so for half as long. */
	o->max_poll_gap_us = PICK(1, 5, 20, 100000);
	if (p->kernel.power_pause)
		o->max_poll_gap_us = RTE_MIN(o->max_poll_gap_us, 20u);
	o->inject_interval = PICK(0, 0, 2, 13);
	o->budget = PICK(1, 7, 128);
	o->lifo_slot = !odd(4);
	o->inject_ring_size = 64;
	o->task_cells = 64;
	o->cross_node_backlog = PICK(1, 4, 128);
	o->cross_node_age_us = PICK(1, 10, 200);
	o->blocking_threads = PICK(1, 2, 4);
	o->blocking_keep_alive_ms = PICK(0, 1, 5);
	o->histograms = odd(4);
	o->park = (enum weir_park)pick(4);
	o->adaptive_poll_us = PICK(0, 5);
	o->adaptive_pause_us = PICK(0, 5);
	o->seed = 1 + pick(1000);
}

static void
plan_lcores(struct plan *p)
{
	unsigned int i, rt, used = 0;

	/* Runtimes take turns over the nodes' lcores. */
	for (i = 0; i < RTE_DIM(p->lcores); i++)
		p->lcores[i] = i;
	for (i = 1; i < p->kernel.nb_lcores; i++) {
		unsigned int j = pick(i + 1), l = p->lcores[i];

		p->lcores[i] = p->lcores[j];
		p->lcores[j] = l;
	}
	for (rt = 0; rt < p->nb_runtimes; rt++) {
		struct weir_options *o = &p->options[rt];

		if (p->current_thread[rt])
			continue;
		o->nb_workers = p->nb_workers[rt] - p->nb_spares[rt];
		o->lcores = &p->lcores[used];
		o->spare_lcores = o->lcores + o->nb_workers;
		o->nb_spare_lcores = p->nb_spares[rt];
		used += p->nb_workers[rt];
	}
}

static void
plan_workload(struct plan *p)
{
	bool large = p->kernel.nb_lcores > 64;

	p->nb_sources = pick(5);
	p->nb_actors = 2 + pick(large ? 200 : 16);
	p->nb_threads = pick(4);
	p->nb_changes = pick(40);
	p->early_end = odd(4);
	p->hooks = odd(4);
	p->linger_us = PICK(2, 2, 20, 200);
	p->linger_polled_us = p->linger_us * PICK(1, 5, 25, 25);
	if (p->early_end && odd(2))
		p->options[0].on_failure = WEIR_FAILURE_SHUTDOWN;
}

void
plan_make(struct plan *p, uint64_t seed, const struct overrides *o)
{
	unsigned int rt;

	memset(p, 0, sizeof(*p));
	p->seed = seed;
	rand_seed(&r, seed);
	plan_policy(p);
	plan_machine(p, o);
	plan_faults(p);
	for (rt = 0; rt < p->nb_runtimes; rt++)
		plan_options(p, rt);
	plan_lcores(p);
	plan_workload(p);
}

void
plan_print(const struct plan *p)
{
	static const char *const policies[POLICIES] = { "uniform", "pct",
							"runs", "starve" };
	unsigned int rt;

	fprintf(stderr,
		"seed %" PRIu64
		": %u lcores on %u nodes, policy %s, %u sources, "
		"%u actors, %u threads, %s\n",
		p->seed, p->kernel.nb_lcores, p->kernel.nb_nodes,
		policies[p->policy], p->nb_sources, p->nb_actors, p->nb_threads,
		p->early_end ? "early end" : "to the end");
	for (rt = 0; rt < p->nb_runtimes; rt++)
		fprintf(stderr,
			"  runtime %s: %u workers, %u places more, park %d%s\n",
			p->options[rt].name,
			p->nb_workers[rt] - p->nb_spares[rt], p->nb_spares[rt],
			(int)p->options[rt].park,
			p->current_thread[rt] ? ", current-thread" : "");
}
