/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shutdown of whole runtimes: each task is dropped once, whatever it meets, and
 * nothing is left; and the end of a runtime, whoever brings it.
 */

#include <errno.h>

#include "runtime_rig.h"

static const struct machine machine;
static const struct machine no_workers = { .no_launch = true };
static struct weir_runtime *rt;
static unsigned int arranged;

static void
spawn(void *arg)
{
	(void)arg;
	weir_join_detach(runtime_spawn(rt, &once_ops, 0));
}

MODEL(shutdown_spawn, "a spawn beside shutdown, from outside", 2, 1)
{
	unsigned int spawner;

	rt = runtime_create(&machine, 1, false);
	spawner = model_thread("spawner", spawn, NULL);
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_join(spawner);
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[0].polls <= 1);
}

static void
spawn_bound(void *arg)
{
	(void)arg;
	weir_join_detach(runtime_spawn_on(rt, &once_ops, 0, 0));
}

MODEL(shutdown_bound, "a spawn for one worker beside shutdown", 2, 0)
{
	unsigned int spawner;

	rt = runtime_create(&machine, 1, false);
	spawner = model_thread("spawner", spawn_bound, NULL);
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_join(spawner);
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[0].polls <= 1);
}

static void
shut_down(void *arg)
{
	(void)arg;
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
}

MODEL(shutdown_twice, "two who shut down a runtime with a task", 2, 1)
{
	unsigned int other;

	rt = runtime_create(&machine, 1, false);
	weir_join_detach(runtime_spawn(rt, &wait_ops, 0));
	other = model_thread("other", shut_down, NULL);
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_join(other);
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[0].polls <= 1);
}

static int
begin_poll(struct weir_context *ctx, void *state)
{
	struct task_log *log = *(struct task_log **)state;

	log->polls++;
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == -EDEADLK);
	weir_runtime_shutdown_begin(weir_context_runtime(ctx));
	/* What comes from here on is refused. */
	weir_join_detach(runtime_spawn(rt, &once_ops, 1));
	return WEIR_PENDING;
}

static const struct weir_task_ops begin_ops = {
	.name = "begin",
	.state_size = sizeof(struct task_log *),
	.poll = begin_poll,
};

MODEL(shutdown_task, "a task that shuts down, beside another thread", 2, 1)
{
	struct weir_join *join;

	rt = runtime_create(&machine, 1, false);
	join = runtime_spawn(rt, &begin_ops, 0);
	model_check(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0);
	model_check(weir_join_try(join, NULL) == -ECANCELED);
	runtime_end(rt);
	model_check(task_logs[0].polls <= 1 && task_logs[1].polls == 0);
	model_check(task_logs[1].drops == task_logs[0].polls);
}

static void
end_worker(void *index)
{
	struct core *c = runtime_enter(rt, (unsigned int)(uintptr_t)index);

	weir_runtime_shutdown_begin(rt);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
}

/* A worker that was about to retire, with a notification in its hands. */
static void
end_retiring(void *task)
{
	struct core *c = runtime_enter(rt, 0);

	slot_swap_owner(&c->lifo, task);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
}

/* Its list is its successor's, so no lock of that orders what it leaves. */
MODEL(shutdown_last_core, "the last worker sees what the other one left", 2, 1)
{
	struct core *c;
	struct task *t;

	rt = runtime_create(&no_workers, 2, false);
	c = runtime_enter(rt, 0);
	weir_join_detach(runtime_spawn(rt, &once_ops, 0));
	t = run_queue_pop_owner(&worker_of(c)->queue);
	runtime_leave();
	atomic_u32_store(&rt->workers[0]->successor, 2, RELAXED);
	weir_runtime_shutdown_begin(rt);
	model_thread("worker 0", end_retiring, t);
	end_worker((void *)1);
	model_join_all();
	model_check(rt->phase == RUNTIME_STOPPED);
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[0].polls == 0);
}

/* Each of two workers has a task of its own in its local chain. */
static void
end_with_task(void *index)
{
	unsigned int i = (unsigned int)(uintptr_t)index;

	runtime_enter(rt, i);
	weir_join_detach(runtime_spawn_on(rt, &once_ops, i, i));
	end_worker(index);
}

MODEL(shutdown_workers, "two workers end, each with a task of its own", 2, 1)
{
	unsigned int i;

	rt = runtime_create(&no_workers, 2, false);
	model_thread("worker 0", end_with_task, (void *)0);
	end_with_task((void *)1);
	model_join_all();
	model_check(rt->phase == RUNTIME_STOPPED);
	runtime_end(rt);
	for (i = 0; i < 2; i++)
		model_check(task_logs[i].drops == 1 && task_logs[i].polls == 0);
}

/* Sees what was arranged for it before the call. */
static void
attend(void *worker)
{
	while (!(worker_attention(worker) & ATTENTION_STOP))
		atomic_pause();
	model_check(arranged == 1);
}

MODEL(shutdown_call, "what was arranged before a worker's call is seen", 3, 3)
{
	rt = runtime_create(&no_workers, 1, false);
	model_thread("worker", attend, rt->workers[0]);
	arranged = 1;
	weir__worker_call(rt->workers[0], ATTENTION_STOP);
	model_join_all();
	atomic_u32_store(&rt->workers[0]->attention, 0, RELAXED);
	end_worker((void *)0);
	runtime_end(rt);
}

static void
detach(void *join)
{
	weir_join_detach(join);
}

MODEL(free_detach, "a join handle outlives its runtime, or not", 3, 3)
{
	struct weir_join *join;

	rt = runtime_create_current(&no_workers);
	join = runtime_spawn(rt, &once_ops, 0);
	model_thread("holder", detach, join);
	weir_runtime_free(rt);
	model_join_all();
	model_check(task_logs[0].drops == 1 && task_logs[0].polls == 0);
}

static void
free_waker(void *waker)
{
	weir_waker_wake(waker);
}

static struct weir_waker *waker;

static int
tell_poll(struct weir_context *ctx, void *state)
{
	(void)state;
	waker = weir_context_waker(ctx);
	return WEIR_PENDING;
}

static const struct weir_task_ops tell_ops = {
	.name = "tell",
	.poll = tell_poll,
};

MODEL(free_wake, "a wake-up from outside beside the runtime's end", 2, 2)
{
	struct weir_join *join;
	struct core *c;
	struct task *t;

	rt = runtime_create(&no_workers, 1, false);
	c = runtime_enter(rt, 0);
	join = runtime_spawn(rt, &tell_ops, 0);
	t = run_queue_pop_owner(&worker_of(c)->queue);
	task_run(t, &c->ctx, false);
	weir_join_detach(join);
	weir_runtime_shutdown_begin(rt);
	runtime_leave();
	model_thread("waker", free_waker, waker);
	runtime_enter(rt, 0);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
	weir_runtime_free(rt);
	model_join_all();
}
