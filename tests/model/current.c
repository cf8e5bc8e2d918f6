/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The current-thread runtime: its core passes between those in block_on, and
 * each of them returns.
 */

#include <errno.h>

#include "runtime_rig.h"

static const struct machine machine;
static struct weir_runtime *rt;

static int
block_on(const struct weir_task_ops *ops, unsigned int task)
{
	struct task_log *log = &task_logs[task];

	return weir_runtime_block_on(rt, ops, &log, NULL);
}

static void
block_on_once(void *arg)
{
	unsigned int task = (unsigned int)(uintptr_t)arg;

	model_check(block_on(&once_ops, task) == 0);
}

MODEL(current_two, "two threads in block_on", 2, 1)
{
	rt = runtime_create_current(&machine);
	model_thread("other", block_on_once, NULL);
	model_check(block_on(&once_ops, 1) == 0);
	model_join_all();
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[1].drops == 1);
}

MODEL(current_three, "one who was woken to drive leaves it to the next", 2, 0)
{
	rt = runtime_create_current(&machine);
	model_thread("other", block_on_once, (void *)0);
	model_thread("third", block_on_once, (void *)2);
	model_check(block_on(&once_ops, 1) == 0);
	model_join_all();
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[1].drops == 1 &&
		    task_logs[2].drops == 1);
}

static void
block_on_wait(void *arg)
{
	(void)arg;
	model_check(block_on(&wait_ops, 0) == -ECANCELED);
}

MODEL(current_shutdown, "shutdown while a thread is in block_on", 2, 1)
{
	rt = runtime_create_current(&machine);
	model_thread("other", block_on_wait, NULL);
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_join_all();
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[0].polls <= 1);
}

static void
block_on_any(void *arg)
{
	int rc = block_on(&once_ops, 0);

	(void)arg;
	model_check(rc == 0 || rc == -ECANCELED);
}

MODEL(current_end, "shutdown while a thread leaves block_on", 2, 1)
{
	rt = runtime_create_current(&machine);
	model_thread("other", block_on_any, NULL);
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_join_all();
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[0].polls <= 1);
}

MODEL(current_beside, "block_on returns while another thread goes on driving",
      2, 0)
{
	rt = runtime_create_current(&machine);
	model_thread("other", block_on_wait, NULL);
	model_check(block_on(&once_ops, 1) == 0);
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_join_all();
	runtime_end(rt);
	model_check(task_logs[1].drops == 1 && task_logs[1].polls == 1);
}
