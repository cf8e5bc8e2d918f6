/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What all tasks share: each has an entry in sim_tasks, which outlives it; its
 * state holds the entry's address, its result, and filler that nobody else may
 * touch.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "tasks.h"

#define SIZES 4

struct state {
	struct sim_task *t;
	uint64_t result;
	uint8_t filler[];
};

struct sim_task sim_tasks[TASKS_MAX];
unsigned int nb_sim_tasks;

static unsigned int nb_jobs_running[RUNTIMES_MAX];

static const size_t sizes[SIZES] = { 0, 30, 300, 1500 };

void
tasks_reset(void)
{
	nb_sim_tasks = 0;
	memset(nb_jobs_running, 0, sizeof(nb_jobs_running));
	actors_reset();
}

void
sim_work(unsigned int steps, uint64_t cycles)
{
	for (; steps > 0; steps--) {
		kernel_advance(cycles);
		sim_step("work");
	}
}

static void
fill(struct state *s, struct sim_task *t, size_t filler)
{
	s->t = t;
	s->result = 0;
	memset(s->filler, (int)(t->id & 0xff), filler);
}

static unsigned int
size_of(const struct sim_task *t)
{
	return t->small ? 0 : t->id % SIZES;
}

static void
check_filler(const struct state *s)
{
	size_t i, n = sizes[size_of(s->t)];

	for (i = 0; i < n; i++)
		if (s->filler[i] != (s->t->id & 0xff))
			virtual_failed("the state of task %u has changed",
				       s->t->id);
}

static int
task_poll(struct weir_context *ctx, void *state)
{
	struct state *s = state;
	struct sim_task *t = s->t;
	int rc;

	check_poll_begins(ctx, t);
	check_filler(s);
	rc = t->kind->poll(ctx, t);
	s->result = t->result;
	check_poll_ends(t);
	return rc;
}

static int
job_run(void *state)
{
	struct state *s = state;
	struct sim_task *t = s->t;

	if (t->running || t->drops > 0)
		virtual_failed("P3: a job runs twice");
	t->running = true;
	if (++nb_jobs_running[t->rt] > sim.plan.options[t->rt].blocking_threads)
		virtual_failed("P2: %u jobs run at once",
			       nb_jobs_running[t->rt]);
	seen[SEEN_JOBS]++;
	check_filler(s);
	if (weir_runtime_current() != NULL)
		virtual_failed("a job is on a worker");
	sim_work(any(50), any(500));
	if (one_in(4))
		sim_sleep(any(200000));
	t->result = t->id;
	s->result = t->id;
	t->running = false;
	nb_jobs_running[t->rt]--;
	return WEIR_DONE;
}

static void
task_drop(void *state)
{
	struct state *s = state;
	struct sim_task *t = s->t;

	check_filler(s);
	check_drop_begins(t);
	sim_work(any(4), 0);
	if (t->kind->drop != NULL)
		t->kind->drop(t);
	check_drop_ends(t);
}

#define TASK_OPS(filler)                                                    \
	{                                                                   \
		.name = "sim", .state_size = sizeof(struct state) + filler, \
		.poll = task_poll, .run = job_run, .drop = task_drop,       \
		.result_offset = offsetof(struct state, result),            \
		.result_size = sizeof(uint64_t)                             \
	}
/* As `sizes` has it. */
static const struct weir_task_ops ops[SIZES] = { TASK_OPS(0), TASK_OPS(30),
						 TASK_OPS(300),
						 TASK_OPS(1500) };

struct sim_task *
task_new(unsigned int rt, const struct kind *kind)
{
	struct sim_task *t;

	if (nb_sim_tasks == TASKS_MAX)
		return NULL;
	t = &sim_tasks[nb_sim_tasks];
	memset(t, 0, sizeof(*t));
	t->id = nb_sim_tasks++;
	t->rt = rt;
	t->kind = kind;
	t->bound = -1;
	t->n = any(6);
	return t;
}

/* It could not be started, which has to have a reason. */
static struct sim_task *
not_started(struct sim_task *t)
{
	if (rte_errno != ENOMEM && !(t->job && rte_errno == EAGAIN) &&
	    !(t->bound >= 0 && rte_errno == EINVAL))
		virtual_failed("a task cannot be started: errno %d", rte_errno);
	if (rte_errno == ENOMEM)
		seen[SEEN_NO_MEMORY]++;
	if (rte_errno == EAGAIN)
		seen[SEEN_NO_THREAD]++;
	t->drops = 1;
	t->partner = NULL;
	return NULL;
}

static struct weir_join *
start(struct sim_task *t, const void *state, const struct weir_spawn_attr *attr)
{
	const struct weir_task_ops *kind = &ops[size_of(t)];
	struct weir_runtime *rt = sim.rt[t->rt];
	struct weir_join *join = NULL;

	if (t->job)
		return weir_blocking_spawn(rt, kind, state);
	if (!one_in(3))
		return weir_task_spawn(rt, kind, state, attr);
	weir_task_spawn_burst(rt, kind, state, 1, attr, &join);
	return join;
}

static struct sim_task *
spawn(struct sim_task *t, const struct weir_spawn_attr *attr)
{
	union {
		struct state state;
		uint8_t bytes[sizeof(struct state) + 1500];
	} u;

	fill(&u.state, t, sizes[size_of(t)]);
	t->join = start(t, &u, attr);
	if (t->join == NULL)
		return not_started(t);
	t->task = (struct task *)t->join;
	if (t->drops > 0)
		seen[SEEN_REFUSED]++;
	if (one_in(8) && t->join != NULL)
		t->abort = weir_join_abort_handle(t->join);
	return t;
}

struct sim_task *
task_spawn(struct sim_task *t)
{
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_ANY };

	if (t->bound >= 0) {
		attr.affinity = WEIR_AFFINITY_WORKER;
		attr.worker = (unsigned int)t->bound;
	} else if (one_in(3)) {
		attr.affinity = WEIR_AFFINITY_NODE;
		attr.node_plus_1 =
			sim.rt[t->rt]->nodes[any(sim.rt[t->rt]->nb_nodes)]->id +
			1;
	}
	return spawn(t, &attr);
}

struct sim_task *
task_spawn_job(struct sim_task *t)
{
	t->job = true;
	return spawn(t, NULL);
}

void
task_spawn_and_wait(struct sim_task *t)
{
	struct state state;
	uint64_t result = 0;
	int rc;

	/* The smallest, which needs no filler. */
	t->small = true;
	fill(&state, t, 0);
	rc = weir_runtime_block_on(sim.rt[t->rt], &ops[0], &state, &result);
	if (t->drops == 0) {
		rte_errno = -rc;
		not_started(t);
	} else {
		task_check_outcome(t, rc, result);
	}
	/* Those who call this in a loop need no more than one. */
	if (t == &sim_tasks[nb_sim_tasks - 1])
		nb_sim_tasks--;
}

static bool
may_fail(const struct sim_task *t)
{
	return t->kind->fails ||
	       sim.plan.options[t->rt].on_failure == WEIR_FAILURE_SHUTDOWN;
}

void
task_check_outcome(struct sim_task *t, int rc, uint64_t result)
{
	if (t->drops != 1)
		virtual_failed("K1: task %u (%s) has ended, and was dropped "
			       "%u times",
			       t->id, t->kind->name, t->drops);
	if (rc == 0 && result == t->result)
		return;
	if (rc == 0)
		virtual_failed("task %u (%s): the result is not its own", t->id,
			       t->kind->name);
	if (rc == -ECANCELED && (t->aborted || sim.ending[t->rt]))
		return;
	if (rc == -EIO && may_fail(t))
		return;
	virtual_failed("task %u (%s): outcome %d", t->id, t->kind->name, rc);
}

const char *
task_name(const struct sim_task *t)
{
	return t->kind->name;
}

void
task_wait(struct sim_task *t)
{
	struct weir_join *join = t->join;
	uint64_t result = 0;
	int rc;

	if (join == NULL)
		return;
	t->join = NULL;
	rc = weir_join_wait(join, &result);
	task_check_outcome(t, rc, result);
}

void
task_detach(struct sim_task *t)
{
	struct weir_join *join = t->join;

	t->join = NULL;
	weir_join_detach(join);
}

void
task_abort(struct sim_task *t)
{
	if (t->join == NULL && t->abort == NULL)
		return;
	t->aborted = true;
	seen[SEEN_ABORTED]++;
	if (t->abort != NULL)
		weir_abort_task(t->abort);
	else
		weir_join_abort(t->join);
}

void
tasks_drop_references(void)
{
	unsigned int i;

	for (i = 0; i < nb_sim_tasks; i++) {
		struct sim_task *t = &sim_tasks[i];

		weir_waker_drop(t->waker);
		weir_abort_drop(t->abort);
		if (t->join != NULL)
			task_detach(t);
		t->waker = NULL;
		t->abort = NULL;
	}
}

void
tasks_check_end(void)
{
	unsigned int i;

	for (i = 0; i < nb_sim_tasks; i++)
		if (sim_tasks[i].drops != 1)
			virtual_failed("K1: task %u (%s) was dropped %u times",
				       i, sim_tasks[i].kind->name,
				       sim_tasks[i].drops);
}
