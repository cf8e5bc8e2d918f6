/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker that is in a task for long beside another that takes those who have yielded:
 * none is lost or had twice, and each comes with what its last turn wrote.
 */

#include "model.h"
#include "workers.h"

static struct core *owner;
static unsigned int made;

static void
begin(void)
{
	workers_begin(2, WEIR_PARK_POLL, WORKERS_PATIENT);
	workers_enter(0);
	owner = &workers_get(0)->core;
}

/* It has a turn, and yields. */
static void
yield(struct task *t)
{
	context_begin(&owner->ctx, t);
	t->outcome = 1;
	atomic_ptr_store(&owner->ctx.task, NULL, RELAXED);
	core_defer(owner, t);
}

/* Has its turn, which is its last. */
static void
run(struct core *c, struct task *t)
{
	context_begin(&c->ctx, t);
	model_check(t->outcome == 1);
	t->outcome = 2;
	rig_see(t);
	atomic_ptr_store(&c->ctx.task, NULL, RELAXED);
}

static void
run_queued(struct core *c)
{
	struct task *t;

	while ((t = run_queue_pop_owner(&worker_of(c)->queue)) != NULL)
		run(c, t);
}

static void
recall(void *arg)
{
	struct core *c = &workers_get(1)->core;
	unsigned int n;
	struct task *t;

	(void)arg;
	workers_enter(1);
	t = weir__recall(c, workers_get(0), &n);
	model_check(n ==
		    (t != NULL) + run_queue_len_owner(&workers_get(1)->queue));
	if (t != NULL)
		run(c, t);
	run_queued(c);
}

static void
end(void)
{
	struct task *t;

	weir__schedule_deferred(owner);
	run_queued(owner);
	model_join_all();
	weir__schedule_deferred(owner);
	run_queued(owner);
	while ((t = weir__take_inject(owner)) != NULL)
		run(owner, t);
	run_queued(owner);
	rig_check_seen(made);
	workers_end();
}

MODEL(recall_turn,
      "a worker's turn ends beside who recalls another that yielded", 3, 3)
{
	begin();
	yield(workers_task(made++));
	model_thread("rescuer", recall, NULL);
	yield(workers_task(made++));
	end();
}

MODEL(recall_turns, "one turn follows another beside who recalls", 3, 3)
{
	begin();
	yield(workers_task(made++));
	yield(workers_task(made++));
	model_thread("rescuer", recall, NULL);
	weir__schedule_deferred(owner);
	run_queued(owner);
	end();
}

MODEL(recall_crowd, "more have yielded than there is a place for in one piece",
      2, 2)
{
	begin();
	while (made < RUN_QUEUE_SIZE)
		yield(workers_task(made++));
	model_thread("rescuer", recall, NULL);
	yield(workers_task(made++));
	end();
}

/* One that has yielded, and then been cancelled. */
static struct task *
make_cancelled(void)
{
	struct task *t = workers_task(made++);

	atomic_u64_store(&t->state.word, STATE_RUNNING | STATE_CANCELLED,
			 RELAXED);
	task_keep_turn(t, 0);
	t->outcome = 1;
	return t;
}

/* The runtime ends: the inject queue refuses what the worker's has no room for. */
MODEL(recall_overflow, "a full queue gives back who is to end here, in a poll",
      2, 2)
{
	struct task *turn, *t;
	unsigned int i;

	begin();
	weir__inject_close(&worker_of(owner)->node->inject);
	for (i = 0; i < RUN_QUEUE_SIZE; i++)
		weir__schedule_back(owner, make_cancelled());
	yield(workers_task(made++));
	turn = workers_task(made++);
	turn->outcome = 1;
	model_thread("rescuer", recall, NULL);
	context_begin(&owner->ctx, turn);
	t = workers_task(made++);
	t->outcome = 1;
	weir__schedule_back(owner, t);
	atomic_ptr_store(&owner->ctx.task, NULL, RELAXED);
	run(owner, turn);
	end();
}
