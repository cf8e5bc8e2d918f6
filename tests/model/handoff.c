/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A worker's core passes to a standby thread while a task blocks its own, and
 * back: one thread at a time drives it, none waits for ever, and the poll goes
 * on as it was.
 */

#include "kernel.h"
#include "runtime_rig.h"

static const struct machine machine;
static struct weir_runtime *rt;
static struct atomic_u32 go, back;

static UNWATCHED bool
is_open(const void *gate)
{
	return ((const struct atomic_u32 *)gate)->v != 0;
}

static void
pass(const struct atomic_u32 *gate)
{
	while (atomic_u32_load(gate, ACQUIRE) == 0)
		vthread_wait(is_open, gate);
}

/* Is the calling thread on that CPU, and on no other? */
static void
check_cpu(unsigned int cpu)
{
	rte_cpuset_t cpus;

	pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	model_check(CPU_COUNT(&cpus) == 1 && CPU_ISSET(cpu, &cpus));
}

/* A call that blocks until the gate is open, by a task of its worker's. */
static void
wait_for_gate(void *arg)
{
	(void)arg;
	model_check(weir__core == NULL);
	pass(&go);
	/* C5: where the standby thread was that ran the task. */
	check_cpu(KERNEL_OTHER_CPU);
}

/* The same with the other gate; it opens the first. */
static void
open_and_wait(void *arg)
{
	(void)arg;
	model_check(weir__core == NULL);
	atomic_u32_store(&go, 1, RELEASE);
	pass(&back);
}

static void
do_nothing(void *arg)
{
	(void)arg;
	model_check(weir__core == NULL);
}

/* Inside of another: the thread drives nothing any more. */
static void
nest(void *arg)
{
	model_check(weir_block_in_place(do_nothing, arg) == 0);
}

struct block_state {
	struct task_log *log;
	void (*call)(void *arg);
};

static int
block_poll(struct weir_context *ctx, void *state)
{
	const struct block_state *s = state;
	uint64_t id = weir_task_current();

	s->log->polls++;
	model_check(weir_block_in_place(s->call, NULL) == 0);
	check_cpu(worker_of(weir__core)->lcore);
	/* The core is the same, and so is the poll. */
	model_check(weir_task_current() == id &&
		    weir_context_worker(ctx) == weir_worker_current());
	return WEIR_DONE;
}

static const struct weir_task_ops block_ops = {
	.name = "block",
	.state_size = sizeof(struct block_state),
	.poll = block_poll,
};

static struct weir_join *
spawn_block(unsigned int task, void (*call)(void *arg))
{
	const struct block_state s = { &task_logs[task], call };
	struct weir_join *join = weir_task_spawn(rt, &block_ops, &s, NULL);

	model_check(join != NULL);
	return join;
}

static int
open_poll(struct weir_context *ctx, void *state)
{
	(void)ctx;
	(void)state;
	check_cpu(worker_of(weir__core)->lcore);
	atomic_u32_store(&go, 1, RELEASE);
	return WEIR_DONE;
}

static const struct weir_task_ops open_ops = {
	.name = "open",
	.poll = open_poll,
};

MODEL(handoff_short, "a call that is over before a standby thread has come", 1,
      1)
{
	struct weir_join *join;

	rt = runtime_create(&machine, 1, false);
	join = spawn_block(0, nest);
	model_check(weir_join_wait(join, NULL) == 0);
	runtime_end(rt);
	model_check(task_logs[0].polls == 1);
}

static struct weir_join *opens;

/* So the other task does not come first. */
static void
spawn_and_wait(void *arg)
{
	opens = runtime_spawn_on(rt, &open_ops, 1, 0);
	wait_for_gate(arg);
}

MODEL(handoff_long, "a call that waits for another task of the worker", 1, 0)
{
	rt = runtime_create(&machine, 1, false);
	model_check(weir_join_wait(spawn_block(0, spawn_and_wait), NULL) == 0);
	model_check(weir_join_wait(opens, NULL) == 0);
	runtime_end(rt);
	model_check(task_logs[0].polls == 1);
}

MODEL(handoff_again, "a call behind one that is over before a thread has come",
      1, 0)
{
	struct weir_join *first, *second;

	rt = runtime_create(&machine, 1, false);
	first = spawn_block(0, do_nothing);
	second = spawn_block(1, spawn_and_wait);
	model_check(weir_join_wait(first, NULL) == 0);
	model_check(weir_join_wait(second, NULL) == 0);
	model_check(weir_join_wait(opens, NULL) == 0);
	runtime_end(rt);
	model_check(task_logs[0].polls == 1 && task_logs[1].polls == 1);
}

/* Awaits a task that blocks until this one has had another turn. */
static int
look_poll(struct weir_context *ctx, void *state)
{
	struct weir_join **blocks = state;
	int rc;

	if (*blocks == NULL)
		*blocks = spawn_block(0, wait_for_gate);
	else
		atomic_u32_store(&go, 1, RELEASE);
	rc = weir_join_poll(ctx, *blocks, NULL);
	return rc == WEIR_PENDING ? rc : WEIR_DONE;
}

static const struct weir_task_ops look_ops = {
	.name = "look",
	.state_size = sizeof(struct weir_join *),
	.poll = look_poll,
};

MODEL(handoff_look, "a call behind which another task looks again", 1, 0)
{
	struct weir_join *join;

	rt = runtime_create(&machine, 1, false);
	join = weir_task_spawn(rt, &look_ops, NULL, NULL);
	model_check(weir_join_wait(join, NULL) == 0);
	runtime_end(rt);
	model_check(task_logs[0].polls == 1);
}

MODEL(handoff_two, "two tasks that block, and both come back", 1, 0)
{
	struct weir_join *first, *second;

	rt = runtime_create(&machine, 1, false);
	first = spawn_block(0, do_nothing);
	second = spawn_block(1, do_nothing);
	model_check(weir_join_wait(first, NULL) == 0);
	model_check(weir_join_wait(second, NULL) == 0);
	runtime_end(rt);
	model_check(task_logs[0].polls == 1 && task_logs[1].polls == 1);
}

MODEL(handoff_shutdown, "shutdown while a task blocks", 2, 0)
{
	rt = runtime_create(&machine, 1, false);
	weir_join_detach(spawn_block(0, do_nothing));
	runtime_end(rt);
	model_check(task_logs[0].polls <= 1);
}

static void
open_back(void *arg)
{
	(void)arg;
	atomic_u32_store(&back, 1, RELEASE);
}

/* The home thread has the core again, and a standby thread blocks. */
static struct weir_join *
block_standby(void)
{
	struct weir_join *home, *standby;

	rt = runtime_create(&machine, 1, false);
	home = spawn_block(0, wait_for_gate);
	standby = spawn_block(1, open_and_wait);
	model_check(weir_join_wait(home, NULL) == 0);
	return standby;
}

MODEL(handoff_claim, "a standby thread that blocked has its core back", 1, 0)
{
	struct weir_join *standby = block_standby();

	open_back(NULL);
	model_check(weir_join_wait(standby, NULL) == 0);
	runtime_end(rt);
	model_check(task_logs[1].polls == 1);
}

MODEL(handoff_settle, "shutdown waits for a standby thread that blocks", 1, 0)
{
	weir_join_detach(block_standby());
	model_thread("opener", open_back, NULL);
	runtime_end(rt);
	model_check(task_logs[1].polls == 1);
}
