/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A job of the blocking pool beside those who have its handle: it is run or
 * dropped, its state is gone before its outcome is there, and its result comes
 * to one hand. The models play the pool's thread (blocking.c, P3).
 */

#include <errno.h>

#include "model.h"
#include "rig.h"
#include "scheduler.h"
#include "task/task.h"

#define RESULT 42

static unsigned int runs;
static unsigned int drops; /* plain: who sees the outcome sees this */
static unsigned int results_dropped;

static int
adding_run(void *state)
{
	runs++;
	*(int *)state += 1;
	return WEIR_DONE;
}

static void
adding_drop(void *state)
{
	model_check(*(int *)state == RESULT - (runs == 0));
	drops++;
}

static void
adding_result_drop(void *result)
{
	model_check(*(int *)result == RESULT);
	rig_count(&results_dropped);
}

static const struct weir_task_ops adding_ops = {
	.name = "adding",
	.state_size = sizeof(int),
	.run = adding_run,
	.drop = adding_drop,
	.result_size = sizeof(int),
	.result_drop = adding_result_drop,
};

static struct weir_join *
begin(void)
{
	const int before = RESULT - 1;

	scheduler_start(0);
	return scheduler_new_job(&adding_ops, &before);
}

static void
run(void *job)
{
	weir__task_run_blocking(job);
}

/* As the pool does with what it finds when it is closed. */
static void
cancel_and_run(void *job)
{
	state_to_cancelled(&((struct task *)job)->state);
	run(job);
}

static void
abort_job(void *abort)
{
	weir_abort_task(abort);
	weir_abort_drop(abort);
}

/* Nobody else has come to the result, nor will. */
static void
check_outcome(int rc, int result)
{
	model_check(drops == 1);
	if (rc == 0)
		model_check(runs == 1 && result == RESULT);
	else
		model_check(runs == 0 && rc == -ECANCELED);
	scheduler_end();
	model_check(drops == 1 && results_dropped == 0);
}

MODEL(job_abort, "a job is aborted beside its run, and waited for", 2, 2)
{
	struct weir_join *join = begin();
	int rc, result = 0;

	model_thread("pool", run, join);
	model_thread("aborter", abort_job, weir_join_abort_handle(join));
	rc = weir_join_wait(join, &result);
	check_outcome(rc, result);
}

MODEL(job_aborted, "a job that was aborted in the queue is not run", 3, 3)
{
	struct weir_join *join = begin();
	int rc;

	weir_join_abort(join);
	model_thread("pool", run, join);
	rc = weir_join_wait(join, NULL);
	model_check(rc == -ECANCELED);
	check_outcome(rc, 0);
}

MODEL(job_close, "a job in a pool that closes, beside an abort", 2, 2)
{
	struct weir_join *join = begin();
	int rc;

	model_thread("pool", cancel_and_run, join);
	model_thread("aborter", abort_job, weir_join_abort_handle(join));
	rc = weir_join_wait(join, NULL);
	model_check(rc == -ECANCELED);
	check_outcome(rc, 0);
}

MODEL(job_detach, "the handle goes beside a job's run and its abort", 3, 3)
{
	struct weir_join *join = begin();
	unsigned int pool;

	pool = model_thread("pool", run, join);
	model_thread("aborter", abort_job, weir_join_abort_handle(join));
	weir_join_detach(join);
	model_join(pool);
	scheduler_end();
	model_check(drops == 1 && runs == results_dropped);
}
