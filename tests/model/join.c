/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Join handles beside the end of their task: whoever waits is woken, and the
 * result comes to one hand, once.
 */

#include <errno.h>

#include "model.h"
#include "rig.h"
#include "scheduler.h"
#include "task/parker.h"
#include "task/task.h"

#define RESULT 42

static unsigned int drops;
static unsigned int results_dropped;
static unsigned int results_taken;
static struct atomic_u32 told;

static void
count_drop(void *state)
{
	(void)state;
	rig_count(&drops);
}

static void
count_result_drop(void *result)
{
	model_check(*(int *)result == RESULT);
	rig_count(&results_dropped);
}

static int
adding_poll(struct weir_context *ctx, void *state)
{
	(void)ctx;
	*(int *)state += 1;
	return WEIR_DONE;
}

static const struct weir_task_ops adding_ops = {
	.name = "adding",
	.state_size = sizeof(int),
	.poll = adding_poll,
	.drop = count_drop,
	.result_size = sizeof(int),
	.result_drop = count_result_drop,
};

static int
failing_poll(struct weir_context *ctx, void *state)
{
	(void)ctx;
	(void)state;
	return -EIO;
}

static const struct weir_task_ops failing_ops = {
	.name = "failing",
	.poll = failing_poll,
	.drop = count_drop,
};

static int
waiting_poll(struct weir_context *ctx, void *state)
{
	(void)ctx;
	(void)state;
	return WEIR_PENDING;
}

static const struct weir_task_ops waiting_ops = {
	.name = "waiting",
	.poll = waiting_poll,
	.drop = count_drop,
};

static struct weir_join *
spawn_adding(void)
{
	const int before = RESULT - 1;

	return scheduler_spawn(&adding_ops, &before);
}

static void
check_result(int rc, int result)
{
	model_check(rc == 0 && result == RESULT);
	rig_count(&results_taken);
}

static void
check_end(unsigned int tasks, unsigned int results)
{
	scheduler_end();
	model_check(drops == tasks);
	model_check(results_taken + results_dropped == results);
}

MODEL(join_wait, "a plain thread waits for the result", 3, 3)
{
	int result = 0, rc;

	scheduler_start(1);
	rc = weir_join_wait(spawn_adding(), &result);
	check_result(rc, result);
	check_end(1, 1);
}

MODEL(join_try, "a plain thread asks for the result until it is there", 3, 3)
{
	struct weir_join *join;
	int result = 0, rc;

	scheduler_start(1);
	join = spawn_adding();
	while ((rc = weir_join_try(join, &result)) == WEIR_PENDING)
		atomic_pause();
	check_result(rc, result);
	check_end(1, 1);
}

MODEL(join_detach, "the handle goes beside the end", 3, 3)
{
	scheduler_start(1);
	weir_join_detach(spawn_adding());
	check_end(1, 1);
	model_check(results_dropped == 1);
}

MODEL(join_detach_failure, "the same, of a task that fails", 3, 3)
{
	scheduler_start(1);
	weir_join_detach(scheduler_spawn(&failing_ops, NULL));
	check_end(1, 0);
	model_check(scheduler_failures() == 1);
}

MODEL(join_watch, "a plain thread watches, and does so no more", 3, 3)
{
	struct thread_parker parker;
	struct weir_join *join;
	int result = 0, rc;

	scheduler_start(1);
	join = spawn_adding();
	parker_init(&parker);
	if (weir__join_watch(join, weir__waker_of_parker(&parker))) {
		if (model_choose(2) == 0)
			parker_park(&parker);
		weir__join_unwatch(join);
	}
	parker_fini(&parker);
	rc = weir_join_wait(join, &result);
	check_result(rc, result);
	check_end(1, 1);
}

/* Awaits the task whose handle it has. */
static int
awaiting_poll(struct weir_context *ctx, void *state)
{
	struct weir_join *join = *(struct weir_join **)state;
	int result = 0, rc;

	rc = weir_join_poll(ctx, join, &result);
	if (rc == WEIR_PENDING)
		return rc;
	*(struct weir_join **)state = NULL;
	if (rc != -ECANCELED)
		check_result(rc, result);
	return WEIR_DONE;
}

static void
detach_and_count(void *state)
{
	weir_join_detach(*(struct weir_join **)state);
	rig_count(&drops);
}

static const struct weir_task_ops awaiting_ops = {
	.name = "awaiting",
	.state_size = sizeof(struct weir_join *),
	.poll = awaiting_poll,
	.drop = detach_and_count,
};

MODEL(join_poll, "a task awaits another", 2, 1)
{
	struct weir_join *join;

	scheduler_start(2);
	join = spawn_adding();
	weir_join_detach(scheduler_spawn(&awaiting_ops, &join));
	check_end(2, 1);
	model_check(results_taken == 1);
}

/* Is woken in vain, and gives up what it waits for. */
static int
leaving_poll(struct weir_context *ctx, void *state)
{
	struct weir_join *join = *(struct weir_join **)state;
	unsigned int i;
	int result = 0, rc;

	for (i = 0; i < 2; i++) {
		rc = weir_join_poll(ctx, join, &result);
		if (rc == WEIR_PENDING)
			continue;
		*(struct weir_join **)state = NULL;
		check_result(rc, result);
		break;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops leaving_ops = {
	.name = "leaving",
	.state_size = sizeof(struct weir_join *),
	.poll = leaving_poll,
	.drop = detach_and_count,
};

MODEL(join_leave, "a task gives the handle up that it awaits", 2, 1)
{
	struct weir_join *join;

	scheduler_start(2);
	join = spawn_adding();
	weir_join_detach(scheduler_spawn(&leaving_ops, &join));
	check_end(2, 1);
}

/* Ends when it is told to. */
static int
told_poll(struct weir_context *ctx, void *state)
{
	(void)ctx;
	if (atomic_u32_load(&told, RELAXED) == 0)
		return WEIR_PENDING;
	*(int *)state = RESULT;
	return WEIR_DONE;
}

static const struct weir_task_ops told_ops = {
	.name = "told",
	.state_size = sizeof(int),
	.poll = told_poll,
	.drop = count_drop,
	.result_size = sizeof(int),
	.result_drop = count_result_drop,
};

struct heir {
	struct weir_join *join;
	struct weir_waker *waker; /* of the task that is to be told */
};

/* Tells the task of the handle that it has got, and awaits it. */
static int
heir_poll(struct weir_context *ctx, void *state)
{
	struct heir *h = state;
	int result = 0, rc;

	if (h->waker != NULL) {
		atomic_u32_store(&told, 1, RELAXED);
		weir_waker_wake(h->waker);
		h->waker = NULL;
	}
	rc = weir_join_poll(ctx, h->join, &result);
	if (rc == WEIR_PENDING)
		return rc;
	check_result(rc, result);
	return WEIR_DONE;
}

static const struct weir_task_ops heir_ops = {
	.name = "heir",
	.state_size = sizeof(struct heir),
	.poll = heir_poll,
	.drop = count_drop,
};

/* Awaits, and leaves the handle to another. */
static int
leaving_it_poll(struct weir_context *ctx, void *state)
{
	int rc = weir_join_poll(ctx, ((struct heir *)state)->join, NULL);

	model_check(rc == WEIR_PENDING);
	weir_join_detach(scheduler_spawn(&heir_ops, state));
	return WEIR_DONE;
}

static const struct weir_task_ops leaving_it_ops = {
	.name = "leaving it",
	.state_size = sizeof(struct heir),
	.poll = leaving_it_poll,
	.drop = count_drop,
};

MODEL(join_hand_on, "a task awaits in the place of another", 2, 1)
{
	struct heir h;

	scheduler_start(2);
	h.join = scheduler_spawn(&told_ops, NULL);
	h.waker = weir_waker_clone((struct weir_waker *)h.join);
	weir_join_detach(scheduler_spawn(&leaving_it_ops, &h));
	check_end(3, 1);
	model_check(results_taken == 1);
}

static void
abort_and_drop(void *abort)
{
	weir_abort_task(abort);
	weir_abort_drop(abort);
}

MODEL(join_abort, "the awaited task is aborted beside its end", 2, 2)
{
	struct weir_join *join;
	int result = 0, rc;

	scheduler_start(1);
	join = spawn_adding();
	model_thread("aborter", abort_and_drop, weir_join_abort_handle(join));
	rc = weir_join_wait(join, &result);
	if (rc != -ECANCELED)
		check_result(rc, result);
	check_end(1, rc == 0);
}

MODEL(join_close, "shutdown ends a task and the one that awaits it", 2, 1)
{
	struct weir_join *join;

	scheduler_start(2);
	join = scheduler_spawn(&waiting_ops, NULL);
	weir_join_detach(scheduler_spawn(&awaiting_ops, &join));
	scheduler_close();
	check_end(2, 0);
}
