/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Workers that go and come back while tasks are bound to them: no task is lost,
 * and what they share is seen by the worker that has them next. The models play
 * the workers; the last one is whole.
 */

#include "runtime_rig.h"

static const struct machine machine;
static const struct machine no_workers = { .no_launch = true };
static struct weir_runtime *rt;

/* What tasks of one worker have in common without a lock (G6). */
static unsigned int shared;

static int
share_poll(struct weir_context *ctx, void *state)
{
	struct task_log *log = *(struct task_log **)state;

	log->polls++;
	log->worker = weir_context_worker(ctx);
	shared++;
	return WEIR_DONE;
}

static const struct weir_task_ops share_ops = {
	.name = "share",
	.state_size = sizeof(struct task_log *),
	.poll = share_poll,
};

/* Polls what the core has; false if there is nothing. */
static bool
run(struct core *c)
{
	struct task *t = task_chain_pop(&c->local);

	if (t == NULL)
		t = weir__run_queue_pop_owner(&c->worker->queue);
	if (t == NULL)
		t = weir__take_inject(c);
	if (t == NULL)
		return false;
	c->ctx.running = true;
	weir__task_run(t, &c->ctx);
	c->ctx.running = false;
	return true;
}

static void
spawn_for_0(unsigned int task)
{
	weir_join_detach(runtime_spawn_on(rt, &share_ops, task, 0));
}

/* Worker 0: polls a task of its own, and goes. */
static void
retire_0(void *arg)
{
	struct core *c = runtime_enter(rt, 0);

	(void)arg;
	spawn_for_0(0);
	run(c);
	/* And leaves one behind in each place. */
	spawn_for_0(1);
	weir__retire_worker(c);
	runtime_leave();
}

/* What weir_worker_retire() does before it calls the worker. */
static void
begin_retirement(void)
{
	pthread_mutex_lock(&rt->mutex);
	rt->heir = rt->workers[1];
	pthread_mutex_unlock(&rt->mutex);
}

/* Worker 1 runs what there is, and all ends with it. */
static void
end(void)
{
	struct core *c = runtime_enter(rt, 1);

	while (run(c))
		;
	weir_runtime_shutdown_begin(rt);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
	runtime_end(rt);
}

static void
push(void *arg)
{
	(void)arg;
	spawn_for_0(2);
}

MODEL(retire_push, "a bound task is pushed while its worker retires", 3, 3)
{
	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	model_thread("worker 0", retire_0, NULL);
	push(NULL);
	model_join_all();
	model_check(weir__inject_len(&rt->workers[0]->inbox) == 0);
	end();
	model_check(shared == 3 && task_logs[2].polls == 1 &&
		    task_logs[2].worker == 1);
}

static void
run_some(void *arg)
{
	struct core *c = runtime_enter(rt, 1);

	(void)arg;
	run(c);
	run(c);
	runtime_leave();
}

MODEL(retire_share, "what tasks of a worker share goes with them", 2, 2)
{
	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	model_thread("worker 0", retire_0, NULL);
	model_thread("worker 1", run_some, NULL);
	push(NULL);
	model_join_all();
	end();
	model_check(shared == 3);
}

/* The successor spawns for the worker itself, and polls at once. */
static void
spawn_and_run(void *arg)
{
	struct core *c = runtime_enter(rt, 1);

	(void)arg;
	spawn_for_0(2);
	run(c);
	runtime_leave();
}

MODEL(retire_successor, "the successor spawns for the worker that goes", 3, 3)
{
	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	model_thread("worker 0", retire_0, NULL);
	model_thread("worker 1", spawn_and_run, NULL);
	model_join_all();
	end();
	model_check(shared == 3);
}

static void
retire_idle_0(void *arg)
{
	struct core *c = runtime_enter(rt, 0);

	(void)arg;
	weir__retire_worker(c);
	runtime_leave();
}

MODEL(retire_shutdown, "a worker retires beside shutdown", 3, 2)
{
	struct core *c;

	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	model_thread("worker 0", retire_idle_0, NULL);
	weir_runtime_shutdown_begin(rt);
	c = runtime_enter(rt, 1);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
	model_join_all();
	model_check(rt->phase == RUNTIME_STOPPED);
	runtime_end(rt);
}

/* The stand-in polls one task more and lets them go, or has done so. */
static void
let_go(void *arg)
{
	struct core *c = runtime_enter(rt, 1);

	(void)arg;
	spawn_for_0(2);
	run(c);
	while (!(worker_attention(c->worker) & ATTENTION_RETURN))
		atomic_pause();
	weir__worker_let_go(c->worker);
	/* From here on it sends them home. */
	spawn_for_0(3);
	while (run(c))
		;
	runtime_leave();
}

/* Worker 0 is back. */
static void
take_back(void)
{
	struct core *c = runtime_enter(rt, 0);

	while (run(c))
		;
	runtime_leave();
}

MODEL(retire_return, "a worker comes back, and gets its tasks back", 2, 2)
{
	struct core *c;

	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	retire_0(NULL);
	model_thread("worker 1", let_go, NULL);
	model_check(weir_worker_add(rt, rt->workers[0]->lcore) == 0);
	take_back();
	model_join_all();
	take_back();
	model_check(shared + rt->workers[1]->core->local.n +
			    weir__inject_len(&rt->workers[1]->inbox) ==
		    4);
	model_check(task_logs[3].worker == 0);
	c = runtime_enter(rt, 0);
	weir_runtime_shutdown_begin(rt);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
	c = runtime_enter(rt, 1);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
	runtime_end(rt);
}

static void
spawn_beside(void *arg)
{
	(void)arg;
	weir_join_detach(runtime_spawn_on(rt, &once_ops, 0, 0));
}

MODEL(retire_whole, "a worker retires under its loop, beside a spawn", 1, 1)
{
	unsigned int spawner;

	rt = runtime_create(&machine, 2, false);
	spawner = model_thread("spawner", spawn_beside, NULL);
	model_check(weir_worker_retire(rt, 0, 1) == 0);
	model_join(spawner);
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[0].polls <= 1);
}
