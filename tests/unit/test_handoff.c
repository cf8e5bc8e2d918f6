/* SPDX-License-Identifier: BSD-3-Clause */

/* Tasks that block their thread: lib/sched/handoff.c. */

#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_lcore.h>

#include <weir_null.h>

#include "base/rand.h"
#include "sched/scheduler.h"

#define SPENT 5u
#define STORM_TASKS 48u
#define STORM_BLOCKS 8u

/* A task that calls weir_block_in_place() and tells what it saw. */
struct visit {
	struct rig_log *log;
	void (*fn)(void *arg);
	void *arg;
	struct visit_result {
		int rc;
		unsigned int lcore_before;
		unsigned int lcore_after;
		unsigned int worker_after;
		pthread_t before;
		pthread_t after;
		struct weir_runtime *current;
		int spent;
	} result;
};

static int
visit_poll(struct weir_context *ctx, void *state)
{
	struct visit *v = state;

	v->result.before = pthread_self();
	v->result.lcore_before = rte_lcore_id();
	v->result.rc = weir_block_in_place(v->fn, v->arg);
	v->result.after = pthread_self();
	v->result.lcore_after = rte_lcore_id();
	v->result.worker_after = weir_context_worker(ctx);
	v->result.current = weir_runtime_current();
	v->result.spent = weir_context_spend(ctx, 1);
	return WEIR_DONE;
}

static void
visit_drop(void *state)
{
	struct visit *v = state;

	rig_add(&v->log->drops, 1);
}

static const struct weir_task_ops visit_ops = {
	.name = "visit",
	.state_size = sizeof(struct visit),
	.poll = visit_poll,
	.drop = visit_drop,
	.result_offset = offsetof(struct visit, result),
	.result_size = sizeof(struct visit_result),
};

/* What a blocking function of these tests does: says that it is in, waits. */
struct door {
	struct atomic_u32 in;
	struct atomic_u32 open;
	pthread_t thread;
	unsigned int lcore;
	struct weir_runtime *current;
};

static void
wait_at(void *arg)
{
	struct door *d = arg;

	d->thread = pthread_self();
	d->lcore = rte_lcore_id();
	d->current = weir_runtime_current();
	rig_set(&d->in, 1);
	rig_wait_until(rig_get(&d->open));
}

static struct weir_join *
spawn_visit_on(unsigned int worker, void (*fn)(void *arg), void *arg)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};
	struct visit v = { .log = &rig.log, .fn = fn, .arg = arg };
	struct weir_join *join;

	join = weir_task_spawn(rig.rt, &visit_ops, &v, &attr);
	assert_non_null(join);
	return join;
}

/* A task on worker 0 that has blocked its thread. */
static struct weir_join *
block_at(struct door *d)
{
	struct weir_join *join;

	memset(d, 0, sizeof(*d));
	join = spawn_visit_on(0, wait_at, d);
	rig_wait_until(rig_get(&d->in));
	return join;
}

static struct visit_result
leave_door(struct door *d, struct weir_join *join)
{
	struct visit_result r;

	rig_set(&d->open, 1);
	assert_int_equal(rig_join(join, &r), 0);
	return r;
}

/* Which thread polled a task bound to worker 0, and under which lcore id? */
struct whereabouts {
	pthread_t thread;
	unsigned int lcore;
};

static int
where_poll(struct weir_context *ctx, void *state)
{
	struct whereabouts *w = state;

	w->thread = pthread_self();
	w->lcore = rte_lcore_id();
	return WEIR_DONE;
}

static const struct weir_task_ops where_ops = {
	.name = "where",
	.state_size = sizeof(struct whereabouts),
	.poll = where_poll,
	.result_size = sizeof(struct whereabouts),
};

static struct whereabouts
run_on_worker_0(void)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct weir_join *join;
	struct whereabouts w;

	join = weir_task_spawn(rig.rt, &where_ops, NULL, &attr);
	assert_non_null(join);
	assert_int_equal(rig_join(join, &w), 0);
	return w;
}

static void
worker_goes_on_while_its_thread_is_blocked(void **state)
{
	struct door d;
	struct weir_join *join = block_at(&d);
	struct whereabouts w = run_on_worker_0();

	assert_false(pthread_equal(w.thread, d.thread));
	/* The lcore id went with the core (C4). */
	assert_int_equal(d.lcore, LCORE_ID_ANY);
	assert_ptr_equal(d.current, NULL);
	leave_door(&d, join);
	assert_int_not_equal(w.lcore, LCORE_ID_ANY);
	assert_int_equal(weir_runtime_worker_of_lcore(rig.rt, w.lcore), 0);
}

static void
task_goes_on_where_it_was(void **state)
{
	struct door d;
	struct weir_join *join = block_at(&d);
	struct visit_result r = leave_door(&d, join);

	assert_int_equal(r.rc, 0);
	assert_true(pthread_equal(r.before, r.after));
	assert_true(pthread_equal(r.before, d.thread));
	assert_int_equal(r.lcore_after, r.lcore_before);
	assert_int_equal(r.worker_after, 0);
	assert_ptr_equal(r.current, rig.rt);
	assert_int_equal(r.spent, 0);
}

#define COMPUTED_MS 5u

/* Computes for a while, and then blocks. */
static int
compute_and_block(struct weir_context *ctx, void *state)
{
	const uint64_t end =
		rte_rdtsc() + rte_get_tsc_hz() / 1000 * COMPUTED_MS;

	(void)ctx;
	while (rte_rdtsc() < end)
		;
	return weir_block_in_place(wait_at, *(struct door **)state);
}

static uint64_t
busy_ns(void)
{
	struct weir_worker_stats stats;

	assert_int_equal(weir_worker_stats_get(rig.rt, 0, &stats), 0);
	return stats.busy_ns;
}

static void
what_comes_before_a_block_is_busy(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "compute and block",
		.state_size = sizeof(struct door *),
		.poll = compute_and_block,
	};
	const struct weir_spawn_attr first = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct door d = { 0 }, *door = &d;
	uint64_t before = busy_ns();
	struct weir_join *join = weir_task_spawn(rig.rt, &ops, &door, &first);

	rig_wait_until(rig_get(&d.in));
	/* Another thread goes on with the worker. */
	assert_int_equal(
		rig_join(rig_spawn_on(rig.rt, 0, &rig_done_ops, &rig.told),
			 NULL),
		0);
	assert_true(busy_ns() - before >= COMPUTED_MS * 1000000u);
	rig_set(&d.open, 1);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
lcore_thread_gets_its_core_back(void **state)
{
	struct door d;
	struct weir_join *join = block_at(&d);
	struct visit_result r;

	run_on_worker_0();
	r = leave_door(&d, join);
	assert_true(pthread_equal(run_on_worker_0().thread, r.before));
}

static int
receive_poll(struct weir_context *ctx, void *state)
{
	int rc = weir_null_recv(ctx, *(struct weir_null **)state);

	return rc < 0 ? rc : WEIR_DONE;
}

static const struct weir_task_ops receive_ops = {
	.name = "receive",
	.state_size = sizeof(struct weir_null *),
	.poll = receive_poll,
};

static void
sources_are_polled_meanwhile(void **state)
{
	struct weir_null *null = weir_null_create(rig.rt, 0);
	struct weir_source_stats stats;
	struct weir_join *join, *receiver;
	struct door d;

	assert_non_null(null);
	join = block_at(&d);
	receiver = weir_task_spawn(rig.rt, &receive_ops, &null, NULL);
	assert_non_null(receiver);
	rig_wait_until((weir_source_stats_get(weir_null_source(null), &stats),
			stats.polls > 0));
	weir_null_post(null, 1);
	assert_int_equal(rig_join(receiver, NULL), 0);
	leave_door(&d, join);
	weir_null_free(null);
}

/* Wakes another task, which goes into the slot, and blocks until it has run. */
struct waker_then_block {
	struct rig_state *other;
	struct rig_log *log;
};

static void
wait_for_poll(void *arg)
{
	struct rig_log *log = arg;

	rig_wait_until(rig_get(&log->polls) == 2);
}

static int
wake_and_block_poll(struct weir_context *ctx, void *state)
{
	struct rig_state *s = *(struct rig_state **)state;

	rig_set(s->go, 1);
	weir_waker_wake(rig_take_waker(s->waker));
	return weir_block_in_place(wait_for_poll, s->log);
}

static const struct weir_task_ops wake_and_block_ops = {
	.name = "wake_and_block",
	.state_size = sizeof(struct rig_state *),
	.poll = wake_and_block_poll,
};

static void
task_in_the_slot_moves_with_the_core(void **state)
{
	struct rig_state *told = &rig.told;
	struct weir_join *woken, *blocking;

	woken = rig_spawn(rig.rt, &rig_wait_ops, told);
	rig_wait_until(atomic_ptr_load(&rig.waker, ACQUIRE) != NULL);
	blocking = weir_task_spawn(rig.rt, &wake_and_block_ops, &told, NULL);
	assert_non_null(blocking);
	assert_int_equal(rig_join(blocking, NULL), 0);
	assert_int_equal(rig_join(woken, NULL), 0);
}

/* Two tasks of one worker block, and come back in both orders. */
static struct atomic_u32 woken_ran;

static int
note_woken_ran(struct weir_context *ctx, void *state)
{
	rig_set(&woken_ran, 1);
	return WEIR_DONE;
}

static void
wait_for_woken(void *arg)
{
	rig_wait_until(rig_get(&woken_ran));
}

/* Its function returns when the other task wants to leave the core. */
static int
hold_core_behind_door(struct weir_context *ctx, void *state)
{
	weir_block_in_place(wait_at, *(struct door **)state);
	wait_for_woken(NULL);
	return WEIR_DONE;
}

/* What it spawns is in the slot when the core goes to the task that holds it. */
static int
spawn_and_leave(struct weir_context *ctx, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "woken",
		.poll = note_woken_ran,
	};
	struct worker *w = rig.rt->workers[0];
	struct door *d = *(struct door **)state;

	rig_set(&d->open, 1);
	rig_wait_until(worker_attention(w) & ATTENTION_CLAIM);
	weir_task_spawn_detached(rig.rt, &ops, NULL, NULL);
	weir_block_in_place(wait_for_woken, NULL);
	return WEIR_DONE;
}

static void
task_in_the_slot_is_for_others_when_the_core_is_claimed(void **state)
{
	static const struct weir_task_ops holds = {
		.name = "holds",
		.state_size = sizeof(struct door *),
		.poll = hold_core_behind_door,
	};
	static const struct weir_task_ops leaves = {
		.name = "leaves",
		.state_size = sizeof(struct door *),
		.poll = spawn_and_leave,
	};
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct door d = { .open = { 0 } }, *door = &d;
	struct weir_join *joins[2];

	rig_set(&woken_ran, 0);
	joins[0] = weir_task_spawn(rig.rt, &holds, &door, &attr);
	rig_wait_until(rig_get(&d.in));
	joins[1] = weir_task_spawn(rig.rt, &leaves, &door, &attr);
	assert_int_equal(rig_join(joins[0], NULL), 0);
	assert_int_equal(rig_join(joins[1], NULL), 0);
}

static void
blocked_threads_come_back_in_any_order(void **state)
{
	unsigned int round;

	for (round = 0; round < 2; round++) {
		struct door doors[2];
		struct weir_join *joins[2];
		unsigned int first = round, i;
		struct visit_result r[2];

		for (i = 0; i < 2; i++)
			joins[i] = block_at(&doors[i]);
		run_on_worker_0();
		r[first] = leave_door(&doors[first], joins[first]);
		run_on_worker_0();
		r[!first] = leave_door(&doors[!first], joins[!first]);
		for (i = 0; i < 2; i++) {
			assert_true(pthread_equal(r[i].before, r[i].after));
			assert_int_equal(r[i].lcore_after, r[i].lcore_before);
		}
		/* The lcore's own thread in the end. */
		assert_true(
			pthread_equal(run_on_worker_0().thread, r[0].before));
	}
}

static void
block_on_and_wait(void *arg)
{
	struct rig_state *told = arg;
	uint32_t polls = 0;

	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_done_ops, told, &polls), 0);
	assert_int_equal(polls, 1);
	assert_int_equal(
		weir_join_wait(rig_spawn_on(rig.rt, 0, &rig_done_ops, told),
			       NULL),
		0);
}

/* What the context holds is the task's own: here its budget. */
static int
spend_and_block_poll(struct weir_context *ctx, void *state)
{
	unsigned int i, left = 0;

	for (i = 0; i < SPENT; i++)
		assert_int_equal(weir_context_spend(ctx, 1), 0);
	/* Others run meanwhile, on budgets of their own. */
	assert_int_equal(weir_block_in_place(block_on_and_wait, &rig.told), 0);
	while (weir_context_spend(ctx, 1) == 0)
		left++;
	*(unsigned int *)state = left;
	return WEIR_DONE;
}

static const struct weir_task_ops spend_and_block_ops = {
	.name = "spend_and_block",
	.state_size = sizeof(unsigned int),
	.poll = spend_and_block_poll,
	.result_size = sizeof(unsigned int),
};

static void
budget_is_what_it_was(void **state)
{
	struct weir_options o;
	struct weir_join *join;
	unsigned int left = 0;

	weir_options_init(&o);
	join = weir_task_spawn(rig.rt, &spend_and_block_ops, NULL, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, &left), 0);
	assert_int_equal(left, o.budget - SPENT);
}

/* Two that come back while a task runs: who comes first goes on first (C2). */
struct line {
	struct atomic_u32 next;
	struct door doors[2];
	unsigned int places[2];
};

struct in_line {
	struct line *line;
	unsigned int i;
};

static int
in_line_poll(struct weir_context *ctx, void *state)
{
	struct in_line *s = state;
	struct line *l = s->line;

	assert_int_equal(weir_block_in_place(wait_at, &l->doors[s->i]), 0);
	l->places[s->i] = atomic_u32_fetch_add(&l->next, 1, RELAXED);
	return WEIR_DONE;
}

static const struct weir_task_ops in_line_ops = {
	.name = "in_line",
	.state_size = sizeof(struct in_line),
	.poll = in_line_poll,
};

/* Tells one end of the line from the next. */
static const void *
end_of_claims(void)
{
	struct handoff *h = &rig.rt->workers[0]->handoff;
	const void *end;

	pthread_mutex_lock(&h->mutex);
	end = h->claims.tqh_last;
	pthread_mutex_unlock(&h->mutex);
	return end;
}

static void
claims_are_served_in_order(void **state)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct weir_join *joins[2];
	struct line line = { .next = { 0 } };
	struct rig_blockers b;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct in_line s = { .line = &line, .i = i };

		joins[i] = weir_task_spawn(rig.rt, &in_line_ops, &s, &attr);
		assert_non_null(joins[i]);
		rig_wait_until(rig_get(&line.doors[i].in));
	}
	rig_block_some(&b, rig.rt, 1);
	for (i = 0; i < 2; i++) {
		const void *before = end_of_claims();

		rig_set(&line.doors[!i].open, 1);
		rig_wait_until(end_of_claims() != before);
	}
	rig_unblock(&b);
	for (i = 0; i < 2; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_equal(line.places[1], 0);
	assert_int_equal(line.places[0], 1);
}

/* The pool's, of which the lcores have more. */
static rte_cpuset_t pool_cpus;

/* The first of the first worker's. */
static rte_cpuset_t
one_cpu(void)
{
	rte_cpuset_t all = rte_lcore_cpuset(rte_get_next_lcore(-1, 1, 0)), one;
	unsigned int cpu = 0;

	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return one;
}

static int
setup_cpus(void **state)
{
	struct weir_options o;

	pool_cpus = one_cpu();
	memset(&rig, 0, sizeof(rig));
	rig.told.log = &rig.log;
	rig_options(&o, 1);
	o.blocking_cpus = &pool_cpus;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	return 0;
}

static bool
runs_on(pthread_t thread, const rte_cpuset_t *cpus)
{
	rte_cpuset_t now;

	assert_int_equal(pthread_getaffinity_np(thread, sizeof(now), &now), 0);
	return CPU_EQUAL(&now, cpus) != 0;
}

struct self {
	pthread_t thread;
	bool on_pool_cpus;
};

static int
self_run(void *state)
{
	struct self *s = state;

	s->thread = pthread_self();
	s->on_pool_cpus = runs_on(s->thread, &pool_cpus);
	return 0;
}

static const struct weir_task_ops self_ops = {
	.name = "self",
	.state_size = sizeof(struct self),
	.run = self_run,
	.result_size = sizeof(struct self),
};

static void
run_job(struct self *s)
{
	struct weir_join *join = weir_blocking_spawn(rig.rt, &self_ops, NULL);

	assert_non_null(join);
	assert_int_equal(rig_join(join, s), 0);
}

static bool
nobody_drives(void)
{
	struct blocking_pool *pool = &rig.rt->blocking;
	bool nobody;

	pthread_mutex_lock(&pool->mutex);
	nobody = pool->driving == 0;
	pthread_mutex_unlock(&pool->mutex);
	return nobody;
}

static void
blocked_thread_and_driver_swap_their_cpus(void **state)
{
	rte_cpuset_t lcore = rte_lcore_cpuset(rte_get_next_lcore(-1, 1, 0));
	struct weir_join *join;
	struct whereabouts w;
	struct door d;
	struct self s;

	if (CPU_COUNT(&lcore) == 1)
		unit_skip("the process has one CPU");
	join = block_at(&d);
	w = run_on_worker_0();
	assert_true(runs_on(w.thread, &lcore));
	assert_true(runs_on(d.thread, &pool_cpus));
	leave_door(&d, join);
	assert_true(pthread_equal(run_on_worker_0().thread, d.thread));
	assert_true(runs_on(d.thread, &lcore));
	/* The pool's thread serves jobs again. */
	rig_wait_until(nobody_drives());
	run_job(&s);
	assert_true(pthread_equal(s.thread, w.thread));
	assert_true(s.on_pool_cpus);
}

/* Waits in its poll, and blocks then. */
struct gate {
	struct atomic_u32 in;
	struct atomic_u32 open;
	struct door door;
};

static int
gate_poll(struct weir_context *ctx, void *state)
{
	struct gate *g = *(struct gate **)state;

	rig_set(&g->in, 1);
	rig_wait_until(rig_get(&g->open));
	return weir_block_in_place(wait_at, &g->door);
}

static const struct weir_task_ops gate_ops = {
	.name = "gate",
	.state_size = sizeof(struct gate *),
	.poll = gate_poll,
};

/* C5, also where the core goes to one who comes back, and to no other thread. */
static void
thread_that_blocks_leaves_the_cpus_to_one_who_claims(void **state)
{
	rte_cpuset_t lcore = rte_lcore_cpuset(rte_get_next_lcore(-1, 1, 0));
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct gate g = { 0 }, *gate = &g;
	struct weir_join *first, *second;
	struct visit_result r;
	const void *before;
	struct door d;

	if (CPU_COUNT(&lcore) == 1)
		unit_skip("the process has one CPU");
	first = block_at(&d);
	second = weir_task_spawn(rig.rt, &gate_ops, &gate, &attr);
	assert_non_null(second);
	rig_wait_until(rig_get(&g.in));
	before = end_of_claims();
	rig_set(&d.open, 1);
	rig_wait_until(end_of_claims() != before);
	rig_set(&g.open, 1);
	rig_wait_until(rig_get(&g.door.in));
	assert_true(runs_on(g.door.thread, &pool_cpus));
	assert_int_equal(rig_join(first, &r), 0);
	assert_true(runs_on(r.after, &lcore));
	rig_set(&g.door.open, 1);
	assert_int_equal(rig_join(second, NULL), 0);
}

static void
call_nested(void *arg)
{
	assert_int_equal(weir_block_in_place(wait_at, arg), 0);
}

static void
nested_call_just_runs(void **state)
{
	struct door d = { .open = { 1 } };
	struct weir_join *join = spawn_visit_on(0, call_nested, &d);
	struct visit_result r;

	assert_int_equal(rig_join(join, &r), 0);
	assert_int_equal(r.rc, 0);
	assert_true(pthread_equal(d.thread, r.before));
}

static void
plain_thread_just_runs_it(void **state)
{
	struct door d = { .open = { 1 } };

	assert_int_equal(weir_block_in_place(wait_at, &d), 0);
	assert_int_equal(rig_get(&d.in), 1);
	assert_true(pthread_equal(d.thread, pthread_self()));
}

static void
function_may_wait_for_tasks(void **state)
{
	struct weir_join *join =
		spawn_visit_on(0, block_on_and_wait, &rig.told);
	struct visit_result r;

	assert_int_equal(rig_join(join, &r), 0);
	assert_int_equal(r.rc, 0);
}

static void
current_thread_runtime_refuses(void **state)
{
	struct door d = { .open = { 1 } };
	struct visit v = { .log = &rig.log, .fn = wait_at, .arg = &d };
	struct visit_result r;
	struct weir_options o;
	struct weir_runtime *rt;

	rig_options(&o, 0);
	o.name = "current";
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	assert_int_equal(weir_runtime_block_on(rt, &visit_ops, &v, &r), 0);
	assert_int_equal(r.rc, -ENOTSUP);
	assert_int_equal(rig_get(&d.in), 0);
	weir_runtime_free(rt);
}

static void
drop_that_blocks(void *state)
{
	struct door d = { .open = { 1 } };

	*(int *)*(void **)state = weir_block_in_place(wait_at, &d);
	assert_int_equal(rig_get(&d.in), 0);
}

static int
done_at_once(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

static const struct weir_task_ops drop_ops = {
	.name = "drop",
	.state_size = sizeof(void *),
	.poll = done_at_once,
	.drop = drop_that_blocks,
};

static void
refused_outside_a_poll(void **state)
{
	int rc = 0, *told = &rc;
	struct weir_join *join;

	join = weir_task_spawn(rig.rt, &drop_ops, &told, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rc, -EPERM);
}

/*
 * In place of the pool's: there is no thread, or one that is called is on its way until
 * it is let in.
 */
static bool no_thread;
static struct {
	struct atomic_u32 held, calls;
	struct weir_runtime *rt;
	void (*fn)(void *arg);
	void *arg;
} standby;

int
__real_weir__blocking_drive(struct weir_runtime *rt, void (*fn)(void *arg),
			    void *arg);
int
__wrap_weir__blocking_drive(struct weir_runtime *rt, void (*fn)(void *arg),
			    void *arg);

int
__wrap_weir__blocking_drive(struct weir_runtime *rt, void (*fn)(void *arg),
			    void *arg)
{
	if (no_thread)
		return -EAGAIN;
	if (rig_get(&standby.held) == 0)
		return __real_weir__blocking_drive(rt, fn, arg);
	standby.rt = rt;
	standby.fn = fn;
	standby.arg = arg;
	rig_add(&standby.calls, 1);
	return 0;
}

static void
hold_standby(void)
{
	rig_set(&standby.calls, 0);
	rig_set(&standby.held, 1);
}

/* Nobody calls one meanwhile. */
static void
let_standby_in(void)
{
	rig_set(&standby.held, 0);
	assert_int_equal(__real_weir__blocking_drive(standby.rt, standby.fn,
						     standby.arg),
			 0);
}

static void
without_a_thread_nothing_is_called(void **state)
{
	struct door d = { .open = { 1 } };
	struct visit_result r;
	struct weir_join *join;

	no_thread = true;
	join = spawn_visit_on(0, wait_at, &d);
	assert_int_equal(rig_join(join, &r), 0);
	no_thread = false;
	assert_int_equal(r.rc, -EAGAIN);
	assert_int_equal(rig_get(&d.in), 0);
	assert_int_equal(r.lcore_after, r.lcore_before);
	assert_ptr_equal(r.current, rig.rt);
	/* The worker goes on. */
	run_on_worker_0();
	/* And the next call has another try. */
	worker_goes_on_while_its_thread_is_blocked(state);
}

#define SHORT_CALLS 10u

static void
return_at_once(void *arg)
{
	rig_add(arg, 1);
}

/* C3 */
static void
short_calls_call_one_thread(void **state)
{
	struct atomic_u32 made = { 0 };
	struct visit_result r;
	struct weir_join *join;
	struct whereabouts w;
	struct door d;
	unsigned int i;

	hold_standby();
	for (i = 0; i < SHORT_CALLS; i++) {
		join = spawn_visit_on(0, return_at_once, &made);
		assert_int_equal(rig_join(join, &r), 0);
		assert_int_equal(r.rc, 0);
	}
	/* It does for a long one, too. */
	join = block_at(&d);
	let_standby_in();
	w = run_on_worker_0();
	leave_door(&d, join);
	assert_int_equal(rig_get(&made), SHORT_CALLS);
	assert_int_equal(rig_get(&standby.calls), 1);
	assert_false(pthread_equal(w.thread, d.thread));
	/* Nobody is on the way any more. */
	worker_goes_on_while_its_thread_is_blocked(state);
}

/* In place of the kernel's, while it does not say where threads run. */
static struct atomic_u32 cpus_unknown;

int
__real_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *cpus);
int
__wrap_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *cpus);

int
__wrap_pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *cpus)
{
	if (rig_get(&cpus_unknown) == 0)
		return __real_pthread_getaffinity_np(thread, size, cpus);
	/* What may have been there before. */
	*cpus = one_cpu();
	return EPERM;
}

static void
threads_stay_on_the_lcore_if_nobody_says_where_they_run(void **state)
{
	rte_cpuset_t lcore = rte_lcore_cpuset(rte_get_next_lcore(-1, 1, 0));
	struct weir_join *join;
	struct whereabouts w;
	struct door d;

	if (CPU_COUNT(&lcore) == 1)
		unit_skip("the process has one CPU");
	rig_set(&cpus_unknown, 1);
	join = block_at(&d);
	w = run_on_worker_0();
	rig_set(&cpus_unknown, 0);
	assert_true(runs_on(w.thread, &lcore));
	assert_true(runs_on(d.thread, &lcore));
	leave_door(&d, join);
	assert_true(runs_on(d.thread, &lcore));
}

static void
shutdown_waits_for_blocked_threads(void **state)
{
	struct weir_shutdown_report report;
	struct weir_join *joins[2];
	struct door doors[2];
	struct visit_result r;

	joins[0] = block_at(&doors[0]);
	joins[1] = block_at(&doors[1]);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, &report), -ETIMEDOUT);
	assert_uint_in_range(report.live_tasks, 1, 3);
	rig_set(&doors[0].open, 1);
	rig_set(&doors[1].open, 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, &report), 0);
	assert_int_equal(report.live_tasks, 0);
	assert_int_equal(report.ring_entries, 0);
	/* They were in a poll, which has come to its end. */
	assert_int_equal(weir_join_wait(joins[0], &r), 0);
	assert_int_equal(weir_join_wait(joins[1], &r), 0);
	rig_expect_log(0, 2, 0);
}

static void
wait_for_ever(void *arg)
{
	struct door *d = arg;
	struct weir_join *join;

	join = rig_spawn_on(rig.rt, 0, &rig_yield_ops, &rig.told);
	rig_set(&d->in, 1);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_yield_ops, &rig.told, NULL),
		-ECANCELED);
}

static void
shutdown_ends_what_a_function_waits_for(void **state)
{
	struct door d = { .open = { 0 } };
	struct weir_join *join = spawn_visit_on(0, wait_for_ever, &d);

	rig_wait_until(rig_get(&d.in));
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	weir_join_detach(join);
}

static int
end_runtime_behind_door(struct weir_context *ctx, void *state)
{
	struct door **d = state;

	weir_block_in_place(wait_at, *d);
	weir_runtime_shutdown_begin(weir_context_runtime(ctx));
	return WEIR_DONE;
}

/* The worker's own thread gets the core from one that has seen the end. */
static void
runtime_ends_while_the_core_is_passed(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "ends it",
		.state_size = sizeof(struct door *),
		.poll = end_runtime_behind_door,
	};
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct door doors[2] = { { .open = { 0 } } }, *second = &doors[1];
	struct weir_join *joins[2];

	joins[0] = block_at(&doors[0]);
	joins[1] = weir_task_spawn(rig.rt, &ops, &second, &attr);
	rig_wait_until(rig_get(&doors[1].in));
	leave_door(&doors[0], joins[0]);
	run_on_worker_0();
	rig_set(&doors[1].open, 1);
	assert_int_equal(rig_join(joins[1], NULL), 0);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
}

static void
shut_down(void *arg)
{
	*(int *)arg = weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL);
}

static void
shutdown_from_inside_is_refused(void **state)
{
	int rc = 0;

	assert_int_equal(rig_join(spawn_visit_on(0, shut_down, &rc), NULL), 0);
	assert_int_equal(rc, -EDEADLK);
}

/* Tasks that block, yield, and wait for each other's wake-ups, many times. */
struct storm {
	struct rig_log *log;
	struct rand_state rand;
	unsigned int left;
};

static void
pass_by(void *arg)
{
	unsigned int i, n = *(unsigned int *)arg;

	for (i = 0; i < n; i++)
		sched_yield();
}

static int
storm_poll(struct weir_context *ctx, void *state)
{
	struct storm *s = state;
	unsigned int n;

	rig_add(&s->log->polls, 1);
	while (s->left > 0) {
		s->left--;
		n = rand_below(&s->rand, 4);
		if (weir_block_in_place(pass_by, &n) < 0)
			return -EPROTO;
		if (rand_below(&s->rand, 2) == 0)
			return weir_context_yield(ctx);
	}
	return WEIR_DONE;
}

static void
storm_drop(void *state)
{
	struct storm *s = state;

	rig_add(&s->log->drops, 1);
}

static const struct weir_task_ops storm_ops = {
	.name = "storm",
	.state_size = sizeof(struct storm),
	.poll = storm_poll,
	.drop = storm_drop,
};

static void
start_storm(uint64_t seed, struct weir_join **joins)
{
	struct storm s = { .log = &rig.log, .left = STORM_BLOCKS };
	unsigned int i;

	for (i = 0; i < STORM_TASKS; i++) {
		rand_seed(&s.rand, seed + i);
		joins[i] = weir_task_spawn(rig.rt, &storm_ops, &s, NULL);
		assert_non_null(joins[i]);
	}
}

static void
storm_of_blocking_tasks_comes_to_its_end(void **state)
{
	struct weir_join *joins[STORM_TASKS];
	unsigned int i;

	start_storm(unit_seed(), joins);
	for (i = 0; i < STORM_TASKS; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_equal(rig_get(&rig.log.drops), STORM_TASKS);
}

static void
shutdown_in_the_middle_of_a_storm(void **state)
{
	struct weir_join *joins[STORM_TASKS];
	uint64_t seed = unit_seed();
	struct rand_state rand;
	uint32_t polls;
	unsigned int i;
	int rc;

	rand_seed(&rand, seed);
	polls = rand_below(&rand, STORM_TASKS);
	start_storm(seed, joins);
	rig_wait_until(rig_get(&rig.log.polls) >= polls);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	for (i = 0; i < STORM_TASKS; i++) {
		rc = rig_join(joins[i], NULL);
		assert_true(rc == 0 || rc == -ECANCELED);
	}
	assert_int_equal(rig_get(&rig.log.drops), STORM_TASKS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(worker_goes_on_while_its_thread_is_blocked),
		RIG_TESTS(task_goes_on_where_it_was),
		RIG_TESTS(what_comes_before_a_block_is_busy),
		RIG_TESTS(lcore_thread_gets_its_core_back),
		RIG_TESTS(sources_are_polled_meanwhile),
		RIG_TESTS(task_in_the_slot_moves_with_the_core),
		RIG_TEST(
			task_in_the_slot_is_for_others_when_the_core_is_claimed,
			2),
		RIG_TESTS(blocked_threads_come_back_in_any_order),
		RIG_TESTS(budget_is_what_it_was),
		RIG_TESTS(claims_are_served_in_order),
		cmocka_unit_test_setup_teardown(
			blocked_thread_and_driver_swap_their_cpus, setup_cpus,
			rig_teardown),
		cmocka_unit_test_setup_teardown(
			thread_that_blocks_leaves_the_cpus_to_one_who_claims,
			setup_cpus, rig_teardown),
		RIG_TESTS(nested_call_just_runs),
		RIG_TEST(plain_thread_just_runs_it, 1),
		RIG_TESTS(function_may_wait_for_tasks),
		RIG_TEST(current_thread_runtime_refuses, 1),
		RIG_TEST(refused_outside_a_poll, 1),
		RIG_TESTS(without_a_thread_nothing_is_called),
		RIG_TESTS(short_calls_call_one_thread),
		RIG_TESTS(
			threads_stay_on_the_lcore_if_nobody_says_where_they_run),
		RIG_TESTS(shutdown_waits_for_blocked_threads),
		RIG_TESTS(shutdown_ends_what_a_function_waits_for),
		RIG_TESTS(runtime_ends_while_the_core_is_passed),
		RIG_TESTS(shutdown_from_inside_is_refused),
		RIG_TESTS(storm_of_blocking_tasks_comes_to_its_end),
		RIG_TESTS(shutdown_in_the_middle_of_a_storm),
	};

	return cmocka_run_group_tests_name("handoff", tests, unit_eal_setup,
					   unit_eal_teardown);
}
