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

/* Polls it, but not if it is another worker's by now, as worker.c does. */
static void
run_task(struct core *c, struct task *t)
{
	if (t == NULL)
		return;
	if (task_is_local(t) &&
	    weir__worker_for(rt, place_worker(task_place(t))) != worker_of(c)) {
		weir__place(t);
		return;
	}
	if (task_run(t, &c->ctx, false) != TASK_NEXT_NOTHING)
		weir__schedule_back(c, t);
}

/* Takes and polls what the core has; false if there is nothing. */
static bool
run(struct core *c)
{
	struct task *t = slot_take_owner(&c->lifo);

	if (t == NULL)
		t = task_chain_pop(&c->local);
	if (t == NULL)
		t = run_queue_pop_owner(&worker_of(c)->queue);
	do {
		if (t == NULL)
			t = weir__take_inject(c);
	} while (t == NULL && inbox_pending(&worker_of(c)->inbox));
	if (t == NULL)
		return false;
	run_task(c, t);
	return true;
}

static void
spawn_for_0(unsigned int task)
{
	weir_join_detach(runtime_spawn_on(rt, &share_ops, task, 0));
}

/* Worker 0 goes, */
static void
retire_0(void *arg)
{
	struct core *c = runtime_enter(rt, 0);

	(void)arg;
	weir__retire_worker(c);
	runtime_leave();
}

/* and polls a task of its own before. */
static void
run_and_retire_0(void *arg)
{
	struct core *c = runtime_enter(rt, 0);

	spawn_for_0(0);
	run(c);
	runtime_leave();
	retire_0(arg);
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

MODEL(retire_push, "a bound task is pushed while its worker retires", 3, 3)
{
	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	model_thread("worker 0", retire_0, NULL);
	spawn_for_0(0);
	model_join_all();
	model_check(weir__inbox_len(&rt->workers[0]->inbox) == 0);
	model_check(idle_workers(&rt->nodes[0]->idle) == 1);
	end();
	model_check(task_logs[0].polls == 1 && task_logs[0].worker == 1);
}

/* It has begun to turn its inbox round, */
static void
look_and_retire_0(void *arg)
{
	struct core *c = runtime_enter(rt, 0);

	model_check(weir__take_inject(c) == NULL);
	runtime_leave();
	retire_0(arg);
}

/* and not come to the end. */
MODEL(retire_inbox, "what a worker was sent goes on when it retires", 3, 3)
{
	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	spawn_for_0(0);
	spawn_for_0(1);
	model_thread("worker 0", look_and_retire_0, NULL);
	spawn_for_0(2);
	model_join_all();
	model_check(weir__inbox_len(&rt->workers[0]->inbox) == 0);
	end();
	model_check(task_logs[0].polls == 1 && task_logs[1].polls == 1 &&
		    task_logs[2].polls == 1);
}

/* Worker 0 has something of its own everywhere. */
MODEL(retire_all, "all that a worker has goes on, beside a thief", 2, 1)
{
	struct core *c;

	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	c = runtime_enter(rt, 0);
	spawn_for_0(0);
	slot_take_owner(&c->lifo);
	weir_join_detach(runtime_spawn(rt, &once_ops, 1));
	slot_swap_owner(&c->lifo, run_queue_pop_owner(&worker_of(c)->queue));
	weir_join_detach(runtime_spawn(rt, &once_ops, 2));
	runtime_leave();
	model_thread("worker 0", retire_0, NULL);
	c = runtime_enter(rt, 1);
	c->searching = weir__idle_start_searching(&worker_of(c)->node->idle);
	run_task(c, weir__search(c));
	weir__stop_searching(c);
	runtime_leave();
	model_join_all();
	end();
	model_check(task_logs[0].polls == 1 && task_logs[1].polls == 1 &&
		    task_logs[2].polls == 1);
}

static void
run_one(void *arg)
{
	struct core *c = runtime_enter(rt, 1);

	(void)arg;
	run(c);
	runtime_leave();
}

MODEL(retire_share, "what tasks of a worker share goes with them", 2, 1)
{
	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	model_thread("worker 0", run_and_retire_0, NULL);
	model_thread("worker 1", run_one, NULL);
	spawn_for_0(1);
	model_join_all();
	end();
	model_check(shared == 2);
}

/* The successor spawns for the worker itself, and polls at once. */
static void
spawn_and_run(void *arg)
{
	struct core *c = runtime_enter(rt, 1);

	(void)arg;
	spawn_for_0(1);
	run(c);
	runtime_leave();
}

MODEL(retire_successor, "the successor spawns for the worker that goes", 3, 3)
{
	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	model_thread("worker 0", run_and_retire_0, NULL);
	model_thread("worker 1", spawn_and_run, NULL);
	model_join_all();
	end();
	model_check(shared == 2);
}

MODEL(retire_shutdown, "a worker retires beside shutdown", 3, 2)
{
	struct core *c;

	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	c = runtime_enter(rt, 0);
	weir_join_detach(runtime_spawn_on(rt, &wait_ops, 0, 0));
	run(c);
	runtime_leave();
	model_thread("worker 0", retire_0, NULL);
	weir_runtime_shutdown_begin(rt);
	c = runtime_enter(rt, 1);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
	model_join_all();
	model_check(rt->phase == RUNTIME_STOPPED);
	runtime_end(rt);
	model_check(task_logs[0].drops == 1);
}

/* The stand-in polls one task more, and lets them go. */
static void
let_go(void *arg)
{
	struct core *c = runtime_enter(rt, 1);
	struct weir_join *join;

	(void)arg;
	spawn_for_0(1);
	run(c);
	while (!(worker_attention(worker_of(c)) & ATTENTION_RETURN))
		atomic_pause();
	/* One that keeps its turn ends before, if it was cancelled. */
	join = runtime_spawn_on(rt, &yield_ops, 3, 0);
	run(c);
	weir_join_abort(join);
	weir_join_detach(join);
	weir__worker_let_go(c);
	model_check(task_logs[3].polls == 1 && task_logs[3].drops == 1);
	/* From here on it sends them home. */
	spawn_for_0(2);
	runtime_leave();
}

static void
run_all(unsigned int worker)
{
	struct core *c = runtime_enter(rt, worker);

	while (run(c))
		;
	runtime_leave();
}

static void
end_worker(unsigned int worker)
{
	struct core *c = runtime_enter(rt, worker);

	weir_runtime_shutdown_begin(rt);
	weir__shutdown_worker(c, DRIVER_HOME);
	runtime_leave();
}

MODEL(retire_return, "a worker comes back, and gets its tasks back", 2, 2)
{
	rt = runtime_create(&no_workers, 2, false);
	begin_retirement();
	run_and_retire_0(NULL);
	/* As weir_worker_retire() does. */
	weir__lcore_give_back(rt->workers[0]);
	model_thread("worker 1", let_go, NULL);
	model_check(weir_worker_add(rt, rt->workers[0]->lcore) == 0);
	run_all(0);
	model_join_all();
	run_all(0);
	model_check(shared == 3 && task_logs[2].worker == 0);
	end_worker(0);
	end_worker(1);
	runtime_end(rt);
}

static void
spawn_beside(void *arg)
{
	(void)arg;
	weir_join_detach(runtime_spawn_on(rt, &once_ops, 0, 0));
}

MODEL(retire_whole, "a worker retires under its loop, beside a spawn", 1, 0)
{
	unsigned int spawner;

	rt = runtime_create(&machine, 2, false);
	spawner = model_thread("spawner", spawn_beside, NULL);
	model_check(weir_worker_retire(rt, 0, 1) == 0);
	model_join(spawner);
	runtime_end(rt);
	model_check(task_logs[0].drops == 1 && task_logs[0].polls <= 1);
}
