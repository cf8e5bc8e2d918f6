/* SPDX-License-Identifier: BSD-3-Clause */

/* The machine as a whole: its lcores, its clock, and what has no other file. */

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_rcu_qsbr.h>

#include "base/atomic.h"
#include "base/membarrier.h"
#include "machine.h"
#include "metrics/trace.h"
#include "model.h"
#include "race.h"
#include "sched/scheduler.h"
#include "thread.h"

#define MAIN_LCORE 0
#define LCORES_MAX 8

struct machine machine_options;

void
machine_touch(const void *p)
{
	race_atomic(p, 1, false);
}

/* Lcores, all on one node. */

static struct {
	lcore_function_t *main;
	void *arg;
	unsigned int thread; /* 0: nobody has launched, or it was awaited */
} lcores[LCORES_MAX];

static void
lcore_main(void *arg)
{
	unsigned int lcore = (unsigned int)(uintptr_t)arg;

	RTE_PER_LCORE(_lcore_id) = lcore;
	lcores[lcore].main(lcores[lcore].arg);
}

int
__wrap_rte_eal_remote_launch(lcore_function_t *main, void *arg,
			     unsigned int lcore);
int
__wrap_rte_eal_remote_launch(lcore_function_t *main, void *arg,
			     unsigned int lcore)
{
	char name[VTHREAD_NAME_LEN + 1];

	if (lcores[lcore].thread != 0)
		return -EBUSY;
	if (machine_options.no_launch)
		return 0;
	lcores[lcore].main = main;
	lcores[lcore].arg = arg;
	snprintf(name, sizeof(name), "lcore %u", lcore);
	lcores[lcore].thread =
		model_thread(name, lcore_main, (void *)(uintptr_t)lcore);
	return 0;
}

int
__wrap_rte_eal_wait_lcore(unsigned int lcore);
int
__wrap_rte_eal_wait_lcore(unsigned int lcore)
{
	vthread_where("rte_eal_wait_lcore", 0);
	if (lcores[lcore].thread != 0)
		model_join(lcores[lcore].thread);
	lcores[lcore].thread = 0;
	return 0;
}

/* Of lcores that have been awaited: others' may change. */
enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore);
enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore)
{
	return lcores[lcore].thread != 0 ? RUNNING : WAIT;
}

unsigned int
__wrap_rte_get_main_lcore(void);
unsigned int
__wrap_rte_get_main_lcore(void)
{
	return MAIN_LCORE;
}

unsigned int
__wrap_rte_lcore_count(void);
unsigned int
__wrap_rte_lcore_count(void)
{
	return machine_options.nb_lcores + 1;
}

int
__wrap_rte_lcore_is_enabled(unsigned int lcore);
int
__wrap_rte_lcore_is_enabled(unsigned int lcore)
{
	return lcore <= machine_options.nb_lcores;
}

unsigned int
__wrap_rte_get_next_lcore(unsigned int lcore, int skip_main, int wrap);
unsigned int
__wrap_rte_get_next_lcore(unsigned int lcore, int skip_main, int wrap)
{
	(void)skip_main;
	(void)wrap;
	/* From -1, which is before the main one. */
	lcore = lcore == UINT_MAX ? MAIN_LCORE + 1 : lcore + 1;
	return lcore <= machine_options.nb_lcores ? lcore : RTE_MAX_LCORE;
}

unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore);
unsigned int
__wrap_rte_lcore_to_socket_id(unsigned int lcore)
{
	(void)lcore;
	return 0;
}

rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore);
rte_cpuset_t
__wrap_rte_lcore_cpuset(unsigned int lcore)
{
	rte_cpuset_t cpus;

	(void)lcore;
	CPU_ZERO(&cpus);
	return cpus;
}

unsigned int
__wrap_rte_socket_id(void);
unsigned int
__wrap_rte_socket_id(void)
{
	return 0;
}

int
__wrap_numa_available(void);
int
__wrap_numa_available(void)
{
	return -1;
}

/* Time, RCU, and the rest. */

uint64_t
virtual_rdtsc(void)
{
	return 1;
}

uint64_t
__wrap_rte_get_tsc_hz(void);
uint64_t
__wrap_rte_get_tsc_hz(void)
{
	return UINT64_C(1000000000);
}

int
__real_clock_gettime(clockid_t clock, struct timespec *ts);
int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!vthreads_running())
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = 1;
	ts->tv_nsec = 0;
	return 0;
}

int
__wrap_weir__membarrier(int command);
int
__wrap_weir__membarrier(int command)
{
	if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		virtual_membarrier(VIRTUAL_SITE);
	return 0;
}

/* These are not looked into: a worker's registration is its own. */
int
__wrap_rte_rcu_qsbr_thread_register(struct rte_rcu_qsbr *v,
				    unsigned int thread);
int
__wrap_rte_rcu_qsbr_thread_register(struct rte_rcu_qsbr *v, unsigned int thread)
{
	(void)thread;
	machine_touch(v);
	return 0;
}

int
__wrap_rte_rcu_qsbr_thread_unregister(struct rte_rcu_qsbr *v,
				      unsigned int thread);
int
__wrap_rte_rcu_qsbr_thread_unregister(struct rte_rcu_qsbr *v,
				      unsigned int thread)
{
	(void)thread;
	machine_touch(v);
	return 0;
}

int
__wrap_rte_log(uint32_t level, uint32_t type, const char *format, ...);
int
__wrap_rte_log(uint32_t level, uint32_t type, const char *format, ...)
{
	(void)level;
	(void)type;
	(void)format;
	return 0;
}

/* Steps that nobody looks at. */

void
__wrap_weir__trace_worker_park(uint32_t worker);
void
__wrap_weir__trace_worker_park(uint32_t worker)
{
	(void)worker;
}

void
__wrap_weir__trace_worker_unpark(uint32_t worker);
void
__wrap_weir__trace_worker_unpark(uint32_t worker)
{
	(void)worker;
}

void
__wrap_weir__trace_worker_steal(uint32_t thief, uint32_t victim,
				uint32_t tasks);
void
__wrap_weir__trace_worker_steal(uint32_t thief, uint32_t victim, uint32_t tasks)
{
	(void)thief;
	(void)victim;
	(void)tasks;
}

void
__wrap_weir__telemetry_add(struct weir_runtime *rt);
void
__wrap_weir__telemetry_add(struct weir_runtime *rt)
{
	(void)rt;
}

void
__wrap_weir__telemetry_remove(struct weir_runtime *rt);
void
__wrap_weir__telemetry_remove(struct weir_runtime *rt)
{
	(void)rt;
}

void
machine_begin(const struct machine *options)
{
	machine_options = *options;
	RTE_PER_LCORE(_lcore_id) = MAIN_LCORE;
	model_when_stuck(machine_end_short_sleeps);
}
