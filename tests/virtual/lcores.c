/* SPDX-License-Identifier: BSD-3-Clause */

/* The machine's lcores, what runs on them, and the nodes that they are on. */

#include <errno.h>
#include <string.h>

#include <numa.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "topology/weir_machine.h"

#include "kept.h"
#include "kernel.h"
#include "wraps.h"

struct lcore {
	bool running;
	bool launched; /* `thread` has not been asked for since */
	unsigned int thread;
	lcore_function_t *main;
	void *arg;
	int result;
};

static struct lcore lcores[RTE_MAX_LCORE] KEPT;

void
kernel_lcores_reset(void)
{
	memset(lcores, 0, sizeof(lcores));
}

void
kernel_main_lcore(void)
{
	RTE_PER_LCORE(_lcore_id) = KERNEL_MAIN_LCORE;
}

static void *
lcore_main(void *lcore)
{
	struct lcore *l = lcore;

	RTE_PER_LCORE(_lcore_id) = (unsigned int)(l - lcores);
	virtual_acquire(l);
	l->result = l->main(l->arg);
	virtual_release(l);
	/* No other thread comes in before this one has ended. */
	l->running = false;
	return NULL;
}

int
__wrap_rte_eal_remote_launch(lcore_function_t *main, void *arg,
			     unsigned int lcore)
{
	struct lcore *l = &lcores[lcore];

	virtual_call("rte_eal_remote_launch");
	if (l->running)
		return -EBUSY;
	if (kernel_options.no_launch)
		return 0;
	if (l->launched)
		virtual_thread_reap(l->thread);
	l->running = true;
	l->launched = true;
	l->main = main;
	l->arg = arg;
	virtual_release(l);
	l->thread = kernel_thread_start("lcore", lcore_main, l, lcore);
	return 0;
}

static bool
is_back(const void *lcore)
{
	return !((const struct lcore *)lcore)->running;
}

int
__wrap_rte_eal_wait_lcore(unsigned int lcore)
{
	struct lcore *l = &lcores[lcore];

	virtual_call("rte_eal_wait_lcore");
	kernel_await(is_back, l);
	virtual_acquire(l);
	return l->result;
}

enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore)
{
	return lcores[lcore].running ? RUNNING : WAIT;
}

unsigned int
__wrap_rte_get_main_lcore(void)
{
	return KERNEL_MAIN_LCORE;
}

unsigned int
__wrap_rte_lcore_count(void)
{
	return kernel_options.nb_lcores + 1;
}

int
__wrap_rte_lcore_is_enabled(unsigned int lcore)
{
	return lcore < kernel_options.nb_lcores;
}

unsigned int
__wrap_rte_get_next_lcore(unsigned int lcore, int skip_main, int wrap)
{
	/* The main one has no number below. */
	return lcore + 1 < kernel_options.nb_lcores ? lcore + 1 : RTE_MAX_LCORE;
}

unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore)
{
	if (lcore >= kernel_options.nb_lcores)
		return 0;
	return lcore * kernel_options.nb_nodes / kernel_options.nb_lcores;
}

unsigned int
__wrap_rte_socket_id(void)
{
	unsigned int lcore = rte_lcore_id();

	/* Of a thread that may run anywhere. */
	if (lcore == LCORE_ID_ANY)
		return (unsigned int)SOCKET_ID_ANY;
	return __wrap_rte_lcore_to_socket_id(lcore);
}

int
__wrap_rte_socket_id_by_idx(unsigned int i)
{
	return (int)i;
}

rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore)
{
	rte_cpuset_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(lcore, &cpus);
	return cpus;
}

/* Which of those that share something with it, `together` at a time. */
static int
group(unsigned int lcore, unsigned int together)
{
	unsigned int node = __wrap_rte_lcore_to_socket_id(lcore), first = 0;

	if (together == 0)
		return WEIR_MACHINE_UNKNOWN;
	while (__wrap_rte_lcore_to_socket_id(first) != node)
		first++;
	return (int)(node * RTE_MAX_LCORE + (lcore - first) / together);
}

/* Each lcore is on the CPU of its number. */
struct weir_machine *
__wrap_weir_machine_read(void)
{
	static struct weir_machine_cpu cpus[RTE_MAX_LCORE];
	static struct weir_machine machine = { .cpus = cpus };
	unsigned int i;

	for (i = 0; i < kernel_options.nb_lcores; i++) {
		cpus[i] = (struct weir_machine_cpu){
			.id = i,
			.node = (int)__wrap_rte_lcore_to_socket_id(i),
			.core = group(i, kernel_options.lcores_per_core),
			.cache = group(i, kernel_options.lcores_per_cache),
			.online = true,
			.allowed = true,
		};
	}
	machine.nb_cpus = kernel_options.nb_lcores;
	return &machine;
}

void
__wrap_weir_machine_free(struct weir_machine *machine)
{
}

int
__wrap_numa_available(void)
{
	return 0;
}

/* Pairs of nodes are near, others farther the more they are apart. */
int
__wrap_numa_distance(int a, int b)
{
	int apart = a > b ? a - b : b - a;

	if (a == b)
		return 10;
	return a / 2 == b / 2 ? 16 : 20 + apart;
}
