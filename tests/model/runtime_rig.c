/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_errno.h>
#include <rte_lcore.h>

#include "kernel.h"
#include "runtime_rig.h"
#include "thread.h"

struct task_log task_logs[RUNTIME_TASKS_MAX];

static struct weir_runtime *
create(const struct weir_options *o)
{
	struct weir_runtime *rt = weir_runtime_create(o);

	if (rt == NULL)
		model_fail("weir_runtime_create: %d", rte_errno);
	return rt;
}

static void
options(struct weir_options *o)
{
	weir_options_init(o);
	o->park = WEIR_PARK_INTERRUPT;
	o->inject_interval = 1000;
	o->inject_ring_size = 64;
	o->task_cells = 64;
	o->blocking_threads = 1;
	o->seed = 1;
}

static struct machine machine;

static bool
chance(enum kernel_chance what, void *arg)
{
	(void)arg;
	if ((what == KERNEL_NO_THREAD && machine.threads_fail) ||
	    (what == KERNEL_LATE && machine.waits_end))
		return model_choose(2) == 1;
	return false;
}

static bool
end_short_waits(void)
{
	return kernel_end_waits(KERNEL_HZ / 1000);
}

static void
begin(const struct machine *m, unsigned int nb_lcores)
{
	machine = *m;
	kernel_options.nb_lcores = nb_lcores;
	kernel_options.no_launch = m->no_launch;
	kernel_options.ring_size = 4;
	kernel_options.chance = chance;
	kernel_main_lcore();
	model_when_stuck(end_short_waits);
}

struct weir_runtime *
runtime_create(const struct machine *m, unsigned int n, bool spare)
{
	struct weir_options o;

	options(&o);
	o.nb_workers = n;
	if (spare) {
		o.spare_lcores = &n;
		o.nb_spare_lcores = 1;
	}
	begin(m, n + spare);
	return create(&o);
}

struct weir_runtime *
runtime_create_current(const struct machine *m)
{
	struct weir_options o;

	options(&o);
	o.current_thread = true;
	begin(m, 0);
	return create(&o);
}

struct state {
	struct task_log *log;
};

static int
once_run(void *state)
{
	struct state *s = state;

	s->log->polls++;
	s->log->thread = vthread_self();
	return WEIR_DONE;
}

static int
once_poll(struct weir_context *ctx, void *state)
{
	struct state *s = state;

	s->log->worker = weir_context_worker(ctx);
	return once_run(state);
}

static int
wait_poll(struct weir_context *ctx, void *state)
{
	once_poll(ctx, state);
	return WEIR_PENDING;
}

static int
yield_poll(struct weir_context *ctx, void *state)
{
	struct state *s = state;

	once_poll(ctx, state);
	return s->log->polls == 1 ? weir_context_yield(ctx) : WEIR_DONE;
}

static void
drop(void *state)
{
	struct state *s = state;

	s->log->drops++;
}

#define OPS(kind, job)                              \
	const struct weir_task_ops kind##_ops = {   \
		.name = #kind,                      \
		.state_size = sizeof(struct state), \
		.poll = kind##_poll,                \
		.run = job,                         \
		.drop = drop,                       \
	}

OPS(once, once_run);
OPS(wait, NULL);
OPS(yield, NULL);

static struct weir_join *
spawned(struct weir_join *join)
{
	if (join == NULL)
		model_fail("spawn: %d", rte_errno);
	return join;
}

struct weir_join *
runtime_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
	      unsigned int task)
{
	struct state s = { &task_logs[task] };

	return spawned(weir_task_spawn(rt, ops, &s, NULL));
}

struct weir_join *
runtime_spawn_on(struct weir_runtime *rt, const struct weir_task_ops *ops,
		 unsigned int task, unsigned int worker)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};
	struct state s = { &task_logs[task] };

	return spawned(weir_task_spawn(rt, ops, &s, &attr));
}

struct weir_join *
runtime_spawn_job(struct weir_runtime *rt, const struct weir_task_ops *ops,
		  unsigned int task)
{
	struct state s = { &task_logs[task] };

	return spawned(weir_blocking_spawn(rt, ops, &s));
}

struct core *
runtime_enter(struct weir_runtime *rt, unsigned int worker)
{
	struct core *c = &rt->workers[worker]->core;

	weir__core = c;
	RTE_PER_LCORE(_lcore_id) = worker_of(c)->lcore;
	return c;
}

void
runtime_leave(void)
{
	weir__core = NULL;
}

void
runtime_end(struct weir_runtime *rt)
{
	struct weir_shutdown_report left;
	struct kernel_left kept;

	model_check(weir_runtime_shutdown(rt, UINT64_MAX, &left) == 0);
	model_check(left.live_tasks == 0 && left.ring_entries == 0 &&
		    left.blocking == 0);
	weir_runtime_free(rt);
	kernel_left(&kept);
	model_check(kept.threads == 0 && kept.files == 0);
}
