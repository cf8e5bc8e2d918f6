/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The blocking pool: each job is run or dropped, by one thread at most at a time
 * here, and its threads leave.
 */

#include <errno.h>

#include "runtime_rig.h"

static const struct machine machine = { .waits_end = true };
static const struct machine poor = { .waits_end = true, .threads_fail = true };
static struct weir_runtime *rt;

static void
spawn(void *arg)
{
	unsigned int task = (unsigned int)(uintptr_t)arg;

	model_check(weir_join_wait(runtime_spawn_job(rt, &once_ops, task),
				   NULL) == 0);
}

MODEL(blocking_two, "two who spawn jobs for one thread, which may leave", 2, 0)
{
	rt = runtime_create_current(&machine);
	model_thread("other", spawn, (void *)1);
	spawn((void *)0);
	model_join(1);
	runtime_end(rt);
	model_check(task_logs[0].polls == 1 && task_logs[0].drops == 1);
	model_check(task_logs[1].polls == 1 && task_logs[1].drops == 1);
}

MODEL(blocking_one, "one job after another, for a thread that may leave", 2, 1)
{
	rt = runtime_create_current(&machine);
	spawn((void *)0);
	spawn((void *)1);
	runtime_end(rt);
	model_check(task_logs[0].polls == 1 && task_logs[1].polls == 1);
}

static void
spawn_and_forget(void *arg)
{
	struct task_log *log = &task_logs[0];
	struct weir_join *join;

	(void)arg;
	join = weir_blocking_spawn(rt, &once_ops, &log);
	if (join == NULL)
		log->drops++;
	weir_join_detach(join);
}

MODEL(blocking_shutdown, "a job is spawned beside shutdown", 2, 1)
{
	unsigned int other;

	rt = runtime_create_current(&poor);
	other = model_thread("other", spawn_and_forget, NULL);
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_join(other);
	runtime_end(rt);
	model_check(task_logs[0].polls <= 1 && task_logs[0].drops == 1);
	/* Who closes the pool runs nothing of it (P3). */
	model_check(task_logs[0].polls == 0 || task_logs[0].thread > other);
}

static struct atomic_u32 busy;

/* P2: there is no other. */
static int
alone_run(void *state)
{
	(void)state;
	model_check(atomic_u32_fetch_add(&busy, 1, RELAXED) == 0);
	atomic_u32_fetch_sub(&busy, 1, RELAXED);
	return WEIR_DONE;
}

static const struct weir_task_ops alone_ops = {
	.name = "alone",
	.run = alone_run,
};

static struct weir_join *
spawn_alone(void)
{
	struct weir_join *join = weir_blocking_spawn(rt, &alone_ops, NULL);

	model_check(join != NULL);
	return join;
}

static void
do_nothing(void *arg)
{
	(void)arg;
}

MODEL(blocking_limit, "a thread that comes back from a call is not one more", 2,
      0)
{
	struct weir_join *first, *second;

	rt = runtime_create_current(&machine);
	model_check(weir__blocking_drive(rt, do_nothing, NULL) == 0);
	first = spawn_alone();
	second = spawn_alone();
	model_check(weir_join_wait(first, NULL) == 0);
	model_check(weir_join_wait(second, NULL) == 0);
	runtime_end(rt);
}

static void
abort_and_detach(void *join)
{
	weir_join_abort(join);
	weir_join_detach(join);
}

MODEL(blocking_abort, "a job is aborted and let go beside shutdown", 2, 1)
{
	unsigned int aborter;

	rt = runtime_create_current(&machine);
	aborter = model_thread("aborter", abort_and_detach,
			       runtime_spawn_job(rt, &once_ops, 0));
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_join(aborter);
	runtime_end(rt);
	model_check(task_logs[0].polls <= 1 && task_logs[0].drops == 1);
}
