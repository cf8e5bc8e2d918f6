/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tasks that look again behind the one they have just spawned or woken, rather
 * than wait to be woken: lib/sched/worker.c.
 */

#include "rig.h"

#include <errno.h>
#include <string.h>

#include "kernel.h"
#include "sched/scheduler.h"

#define TURNS 1000u
#define LIMIT_NS 1000000u

/* What the tasks of a test have in common. One worker runs them. */
static struct {
	char order[64]; /* who was polled */
	unsigned int n;
	struct weir_sender *tx[2];
	struct weir_receiver *rx[2];
	struct weir_oneshot_tx *there;
	struct weir_abort *parent;
	struct weir_token *token;
	struct weir_join *child;
	const struct weir_join *self; /* the parent */
	bool behind; /* the parent's turn was to come behind its child's */
	uint32_t tick, turns, most_turns; /* of one tick */
	struct atomic_u32 polls, open, dropped, stop;
	struct rig_door door;
} shared;

struct parent {
	const struct weir_task_ops *child_ops;
	unsigned int left;
	bool spawned;
	struct weir_oneshot_rx *back;
	struct weir_wait wait;
	struct weir_sleep limit;
	struct weir_select select;
};

static void
note(char who)
{
	if (shared.n + 1 < sizeof(shared.order))
		shared.order[shared.n++] = who;
}

static void
note_tick(void)
{
	uint32_t tick = core_tick(weir__core);

	shared.turns = tick == shared.tick ? shared.turns + 1 : 1;
	shared.tick = tick;
	shared.most_turns = RTE_MAX(shared.most_turns, shared.turns);
}

static void
start_workers(unsigned int n, void (*change)(struct weir_options *o))
{
	struct weir_options o;

	memset(&shared, 0, sizeof(shared));
	kernel_reset();
	rig_options(&o, n);
	if (change != NULL)
		change(&o);
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
}

static void
start(void (*change)(struct weir_options *o))
{
	start_workers(1, change);
}

static void
end_with(const char *order)
{
	if (order != NULL)
		assert_string_equal(shared.order, order);
	rig_runtime_free(rig.rt);
	rig.rt = NULL;
}

/* Does a task have its turn, or one that is to be resumed? */
static bool
is_running(const struct weir_join *join)
{
	return state_load(&((const struct task *)join)->state) & STATE_RUNNING;
}

static void
parent_drop(void *state)
{
	struct parent *p = state;

	rig_set(&shared.dropped, 1);
	weir_wait_cancel(&p->wait);
	weir_sleep_cancel(&p->limit);
	weir_oneshot_rx_drop(p->back);
}

static struct weir_join *
spawn_parent(int (*poll)(struct weir_context *, void *),
	     const struct weir_task_ops *child_ops,
	     const struct weir_spawn_attr *attr)
{
	static struct weir_task_ops ops;
	struct parent p = { .child_ops = child_ops };

	ops = (struct weir_task_ops){
		.name = "parent",
		.state_size = sizeof(p),
		.poll = poll,
		.drop = parent_drop,
	};
	return weir_task_spawn(rig.rt, &ops, &p, attr);
}

static int
run_parent(int (*poll)(struct weir_context *, void *),
	   const struct weir_task_ops *child_ops)
{
	return rig_join(spawn_parent(poll, child_ops, NULL), NULL);
}

/* Spawns its child and awaits it. */
static int
call_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;
	int rc;

	note('p');
	shared.self = (struct weir_join *)context_task(ctx);
	if (!p->spawned) {
		p->spawned = true;
		shared.child =
			weir_task_spawn(rig.rt, p->child_ops, NULL, NULL);
	}
	rc = weir_join_poll(ctx, shared.child, NULL);
	return rc == WEIR_PENDING ? rc : WEIR_DONE;
}

static int
plain_poll(struct weir_context *ctx, void *state)
{
	note('c');
	note_tick();
	shared.behind =
		shared.self != NULL && slot_peek_owner(&weir__core->behind) ==
					       (const struct task *)shared.self;
	return WEIR_DONE;
}

static const struct weir_task_ops plain_ops = {
	.name = "plain",
	.poll = plain_poll,
};

static int
twice_poll(struct weir_context *ctx, void *state)
{
	bool *again = state;

	note('c');
	if (*again)
		return WEIR_DONE;
	*again = true;
	return weir_context_yield(ctx);
}

static const struct weir_task_ops twice_ops = {
	.name = "twice",
	.state_size = sizeof(bool),
	.poll = twice_poll,
};

/* How many tasks the worker has put into its queue or slot. */
static uint64_t
queued(void)
{
	struct weir_worker_stats stats;

	assert_int_equal(weir_worker_stats_get(rig.rt, 0, &stats), 0);
	return stats.local_schedules;
}

/* The child is queued, and nothing for the parent, which came from outside. */
static void
run_without_wake(int (*poll)(struct weir_context *, void *),
		 const struct weir_task_ops *child_ops)
{
	uint64_t before;

	start(NULL);
	before = queued();
	assert_int_equal(run_parent(poll, child_ops), 0);
	assert_int_equal(queued() - before, 1);
	end_with("pcp");
}

static void
caller_needs_no_wake(void **state)
{
	run_without_wake(call_poll, &plain_ops);
	assert_true(shared.behind);
}

static void
caller_waits_for_a_child_that_goes_on(void **state)
{
	start(NULL);
	assert_int_equal(run_parent(call_poll, &twice_ops), 0);
	end_with("pcpcp");
}

static void
use_no_slot(struct weir_options *o)
{
	o->lifo_slot = false;
}

static void
without_the_slot_there_is_nothing_to_look_behind(void **state)
{
	start(use_no_slot);
	assert_int_equal(run_parent(call_poll, &plain_ops), 0);
	assert_false(shared.behind);
	end_with("pcp");
}

static void
bound_caller_waits(void **state)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
	};

	start(NULL);
	assert_int_equal(
		rig_join(spawn_parent(call_poll, &plain_ops, &attr), NULL), 0);
	assert_false(shared.behind);
	end_with("pcp");
}

static void
time_turns(struct weir_options *o)
{
	o->histograms = true;
}

static void
resumed_turns_are_timed_and_have_no_wake(void **state)
{
	struct weir_histogram polls, wakes;

	start(time_turns);
	assert_int_equal(run_parent(call_poll, &plain_ops), 0);
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_POLL, &polls),
		0);
	assert_int_equal(
		weir_runtime_histogram_get(rig.rt, WEIR_HISTOGRAM_WAKE, &wakes),
		0);
	/* The last poll may not have been recorded yet when its task has ended. */
	assert_uint_in_range(polls.count, 2, 3);
	assert_int_equal(wakes.count, 2);
	end_with("pcp");
}

/* Spawns its child and calls it again, until it has done so often enough. */
static int
calls_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;
	int rc;

	note_tick();
	while (p->left < TURNS) {
		if (!p->spawned) {
			p->spawned = true;
			shared.child = weir_task_spawn(rig.rt, p->child_ops,
						       NULL, NULL);
		}
		rc = weir_join_poll(ctx, shared.child, NULL);
		if (rc < 0)
			return rc;
		p->spawned = false;
		p->left++;
	}
	return WEIR_DONE;
}

static void
one_who_calls_again_and_again(void **state)
{
	start(NULL);
	assert_int_equal(run_parent(calls_poll, &plain_ops), 0);
	/* The first, and those that max_poll_gap_us speaks of. */
	assert_int_equal(shared.most_turns, 1 + RESUMED_MAX + 1);
	end_with(NULL);
}

/* A child that aborts its parent, which is to look again behind it. */
static int
abort_poll(struct weir_context *ctx, void *state)
{
	note('c');
	weir_abort_task(shared.parent);
	assert_int_equal(rig_get(&shared.dropped), 0);
	return WEIR_DONE;
}

static const struct weir_task_ops abort_ops = {
	.name = "abort",
	.poll = abort_poll,
};

static struct weir_join *
spawn_to_be_aborted(int (*poll)(struct weir_context *, void *),
		    const struct weir_task_ops *child_ops)
{
	struct rig_blockers b;
	struct weir_join *join;

	rig_block(&b, rig.rt);
	join = spawn_parent(poll, child_ops, NULL);
	shared.parent = weir_join_abort_handle(join);
	rig_unblock(&b);
	return join;
}

static void
one_who_looks_is_aborted(void **state)
{
	struct weir_join *join;

	start(NULL);
	join = spawn_to_be_aborted(call_poll, &abort_ops);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(rig_get(&shared.dropped), 1);
	assert_int_equal(rig_join(shared.child, NULL), 0);
	weir_abort_drop(shared.parent);
	end_with("pc");
}

static void
wait_at_door(void *arg)
{
	rig_wait_until(rig_get(&shared.open));
}

/* A child that blocks its thread until its parent has had another turn. */
static int
block_poll(struct weir_context *ctx, void *state)
{
	note('c');
	assert_int_equal(weir_block_in_place(wait_at_door, NULL), 0);
	note('c');
	return WEIR_DONE;
}

static const struct weir_task_ops block_ops = {
	.name = "block",
	.poll = block_poll,
};

static int
open_poll(struct weir_context *ctx, void *state)
{
	if (((struct parent *)state)->spawned)
		rig_set(&shared.open, 1);
	return call_poll(ctx, state);
}

static void
child_that_blocks_holds_nobody_up(void **state)
{
	start(NULL);
	assert_int_equal(run_parent(open_poll, &block_ops), 0);
	end_with("pcpcp");
}

/* A child that takes until its parent, which waits for the token too, has given up. */
static int
take_long_poll(struct weir_context *ctx, void *state)
{
	weir_token_cancel(shared.token);
	rig_wait_until(rig_get(&shared.open));
	return WEIR_DONE;
}

static const struct weir_task_ops take_long_ops = {
	.name = "take_long",
	.poll = take_long_poll,
};

/* The second time it waits for something else as it did before. */
static int
call_two(struct weir_context *ctx, void *state)
{
	const struct weir_task_ops *const ops[] = { &plain_ops,
						    &take_long_ops };
	struct parent *p = state;
	int rc;

	for (; p->left < RTE_DIM(ops); p->left++) {
		if (!p->spawned)
			shared.child = weir_task_spawn(rig.rt, ops[p->left],
						       NULL, NULL);
		p->spawned = true;
		rc = weir_join_poll(ctx, shared.child, NULL);
		if (rc < 0)
			return rc;
		p->spawned = false;
	}
	return WEIR_DONE;
}

static int
give_up(int rc, int expected)
{
	if (rc == WEIR_PENDING)
		return rc;
	assert_int_equal(rc, expected);
	rig_set(&shared.open, 1);
	return WEIR_DONE;
}

static int
limit_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;

	return give_up(weir_timeout(ctx, &p->limit, LIMIT_NS, call_two(ctx, p)),
		       -ETIMEDOUT);
}

static int
bound_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;

	return give_up(
		weir_token_bound(ctx, shared.token, &p->wait, call_two(ctx, p)),
		-ECANCELED);
}

static int
stop_wait(struct weir_context *ctx, void *state)
{
	return weir_token_wait(ctx, shared.token,
			       &((struct parent *)state)->wait);
}

static int
select_poll(struct weir_context *ctx, void *state)
{
	static const struct weir_branch branches[] = {
		{ call_two, NULL },
		{ stop_wait, NULL },
	};
	struct parent *p = state;
	int rc;

	return give_up(weir_select_first(ctx, &p->select, branches,
					 RTE_DIM(branches), p, &rc),
		       1);
}

/* Others find it, and the time of a worker that is stuck passes on others. */
static void
child_that_takes_long_keeps_its_parent_from_nothing_else(void **state)
{
	int (*const polls[])(struct weir_context *, void *) = {
		limit_poll,
		bound_poll,
		select_poll,
	};
	unsigned int i;

	rig_need_membarrier();
	for (i = 0; i < RTE_DIM(polls); i++) {
		start_workers(2, NULL);
		shared.token = weir_token_create();
		assert_int_equal(run_parent(polls[i], NULL), 0);
		assert_int_equal(rig_join(shared.child, NULL), 0);
		weir_token_drop(shared.token);
		end_with(NULL);
	}
}

static void
create_channels(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(weir_channel_create(1, sizeof(uint64_t), NULL,
						     &shared.tx[i],
						     &shared.rx[i]),
				 0);
}

static void
drop_channels(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		weir_sender_drop(shared.tx[i]);
		weir_receiver_drop(shared.rx[i]);
	}
}

/* A child that takes until its parent has had another turn. */
static int
hold_poll(struct weir_context *ctx, void *state)
{
	rig_stay_at(&shared.door);
	return WEIR_DONE;
}

static const struct weir_task_ops hold_ops = {
	.name = "hold",
	.poll = hold_poll,
};

static int
send_and_hold_poll(struct weir_context *ctx, void *state)
{
	const uint64_t value = 7;

	assert_int_equal(weir_try_send(shared.tx[0], &value), 0);
	return hold_poll(ctx, state);
}

static const struct weir_task_ops send_and_hold_ops = {
	.name = "send and hold",
	.poll = send_and_hold_poll,
};

static int
receive_and_open_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;
	uint64_t value = 0;
	int rc;

	if (p->child_ops != NULL && !p->spawned)
		shared.child =
			weir_task_spawn(rig.rt, p->child_ops, NULL, NULL);
	p->spawned = true;
	rc = weir_recv(ctx, shared.rx[0], &value, &p->wait);
	if (rc == WEIR_PENDING) {
		rig_set(&shared.polls, 1);
		return rc;
	}
	assert_int_equal(value, 7);
	rig_set(&shared.door.open, 1);
	return rc;
}

/* It has nothing to do with what it looks behind. */
static void
child_that_takes_long_keeps_its_parent_from_no_value(void **state)
{
	const uint64_t value = 7;
	struct weir_join *join;

	rig_need_membarrier();
	start_workers(2, NULL);
	create_channels();
	join = spawn_parent(receive_and_open_poll, &hold_ops, NULL);
	rig_wait_until(rig_get(&shared.door.in));
	assert_int_equal(weir_try_send(shared.tx[0], &value), 0);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_join(shared.child, NULL), 0);
	drop_channels();
	end_with(NULL);
}

static void
who_is_woken_by_one_that_takes_long_runs_elsewhere(void **state)
{
	struct weir_join *join, *sender;

	rig_need_membarrier();
	start_workers(2, NULL);
	create_channels();
	join = spawn_parent(receive_and_open_poll, NULL, NULL);
	rig_wait_until(rig_get(&shared.polls) && !is_running(join));
	sender = weir_task_spawn(rig.rt, &send_and_hold_ops, NULL, NULL);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_join(sender, NULL), 0);
	drop_channels();
	end_with(NULL);
}

/* Its child has the worker before it has another turn. */
static int
yield_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;

	if (!p->spawned) {
		p->spawned = true;
		shared.child = weir_task_spawn(rig.rt, &hold_ops, NULL, NULL);
		return weir_context_yield(ctx);
	}
	rig_set(&shared.door.open, 1);
	return WEIR_DONE;
}

static void
who_yields_beside_one_that_takes_long_runs_elsewhere(void **state)
{
	rig_need_membarrier();
	start_workers(2, NULL);
	assert_int_equal(run_parent(yield_poll, NULL), 0);
	assert_int_equal(rig_join(shared.child, NULL), 0);
	end_with(NULL);
}

/* Bound to a worker, which its child has before it has another turn. */
static int
stay_poll(struct weir_context *ctx, void *state)
{
	bool *spawned = state;

	if (weir_context_worker(ctx) != 0)
		rig_add(&shared.polls, 1);
	if (*spawned && rig_get(&shared.door.open))
		return WEIR_DONE;
	if (!*spawned)
		shared.child = weir_task_spawn(rig.rt, &hold_ops, NULL, NULL);
	*spawned = true;
	return weir_context_yield(ctx);
}

/* Z2 and Z3 of recall.c: others find it there time and again. */
static void
bound_one_that_yields_beside_one_that_takes_long_stays(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "stay",
		.state_size = sizeof(bool),
		.poll = stay_poll,
	};
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	const bool spawned = false;
	struct weir_join *join;
	struct rig_blockers b;
	uint32_t before;

	rig_need_membarrier();
	start_workers(2, NULL);
	rig_block_some(&b, rig.rt, 1u << 1);
	join = weir_task_spawn(rig.rt, &ops, &spawned, &attr);
	rig_wait_until(rig_get(&shared.door.in));
	before = rig_get(&kernel.membarriers);
	rig_unblock(&b);
	/* By the second, the first has taken what it could. */
	rig_wait_until(rig_get(&kernel.membarriers) - before >= 2);
	rig_set(&shared.door.open, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_join(shared.child, NULL), 0);
	assert_int_equal(rig_get(&shared.polls), 0);
	end_with(NULL);
}

/* A child that blocks, and has aborted its parent. */
static int
abort_and_block_poll(struct weir_context *ctx, void *state)
{
	weir_abort_task(shared.parent);
	return block_poll(ctx, state);
}

static const struct weir_task_ops abort_and_block_ops = {
	.name = "abort_and_block",
	.poll = abort_and_block_poll,
};

static void
child_that_blocks_has_aborted_its_parent(void **state)
{
	struct weir_join *join;

	start(NULL);
	join = spawn_to_be_aborted(call_poll, &abort_and_block_ops);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_false(rig_get(&shared.open));
	assert_int_equal(rig_get(&shared.dropped), 1);
	rig_set(&shared.open, 1);
	assert_int_equal(rig_join(shared.child, NULL), 0);
	weir_abort_drop(shared.parent);
	end_with("pcc");
}

/* A child that shuts its runtime down. */
static int
shut_poll(struct weir_context *ctx, void *state)
{
	note('c');
	assert_true(is_running(*(struct weir_join **)state));
	weir_runtime_shutdown_begin(rig.rt);
	return WEIR_DONE;
}

static int
shut_parent_poll(struct weir_context *ctx, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "shut",
		.state_size = sizeof(struct weir_join *),
		.poll = shut_poll,
	};
	const struct task *self = context_task(ctx);
	struct parent *p = state;

	note('p');
	if (!p->spawned) {
		p->spawned = true;
		shared.child = weir_task_spawn(rig.rt, &ops, &self, NULL);
	}
	return weir_join_poll(ctx, shared.child, NULL) == WEIR_PENDING ?
		       WEIR_PENDING :
		       WEIR_DONE;
}

static void
runtime_ends_while_one_looks(void **state)
{
	struct weir_join *join;

	start(NULL);
	/* Its turn goes on: the worker looks whether it is to end between ticks. */
	join = spawn_parent(shut_parent_poll, NULL, NULL);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_get(&shared.dropped), 1);
	end_with("pcp");
}

/* The child behind which its parent is put off, and begins a tick of its own. */
#define LAST_CHILD (RESUMED_MAX / 2 + 1)

static int
shut_last_poll(struct weir_context *ctx, void *state)
{
	rig_add(&shared.polls, 1);
	if (rig_get(&shared.polls) == LAST_CHILD)
		weir_runtime_shutdown_begin(rig.rt);
	return WEIR_DONE;
}

static void
runtime_ends_while_one_is_put_off(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "shut last",
		.poll = shut_last_poll,
	};

	start(NULL);
	assert_int_equal(run_parent(calls_poll, &ops), -ECANCELED);
	weir_join_detach(shared.child);
	assert_int_equal(rig_get(&shared.polls), LAST_CHILD);
	assert_int_equal(rig_get(&shared.dropped), 1);
	end_with(NULL);
}

/* Such a child that goes on until its worker is to retire. */
static int
retire_last_poll(struct weir_context *ctx, void *state)
{
	const struct worker *w = worker_of(ctx->core);

	rig_add(&shared.polls, 1);
	if (rig_get(&shared.polls) != LAST_CHILD)
		return WEIR_DONE;
	rig_set(&shared.open, 1 + w->index);
	rig_wait_until(worker_attention(w) & ATTENTION_RETIRE);
	return WEIR_DONE;
}

static void
worker_retires_while_one_is_put_off(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "retire last",
		.poll = retire_last_poll,
	};
	struct weir_join *join;
	unsigned int worker;

	start_workers(2, NULL);
	join = spawn_parent(calls_poll, &ops, NULL);
	rig_wait_until(rig_get(&shared.open) != 0);
	worker = rig_get(&shared.open) - 1;
	assert_int_equal(weir_worker_retire(rig.rt, worker, 1 - worker), 0);
	assert_int_equal(rig_join(join, NULL), 0);
	end_with(NULL);
}

/* A child that sends its parent a value, if it was told to. */
static int
send_poll(struct weir_context *ctx, void *state)
{
	const uint64_t value = 7;

	note('c');
	if (shared.there != NULL)
		assert_int_equal(weir_oneshot_send(shared.there, &value), 0);
	return WEIR_DONE;
}

static const struct weir_task_ops send_ops = {
	.name = "send",
	.poll = send_poll,
};

static int
ask_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;
	uint64_t value = 0;
	int rc;

	note('p');
	if (!p->spawned) {
		p->spawned = true;
		assert_int_equal(weir_oneshot_create(rig.rt, sizeof(value),
						     NULL, &shared.there,
						     &p->back),
				 0);
		weir_task_spawn_detached(rig.rt, p->child_ops, NULL, NULL);
	}
	rc = weir_oneshot_recv(ctx, p->back, &value, &p->wait);
	if (rc == WEIR_PENDING)
		return rc;
	p->back = NULL;
	assert_int_equal(rc, 0);
	assert_int_equal(value, 7);
	return WEIR_DONE;
}

static void
one_who_asks_needs_no_wake(void **state)
{
	run_without_wake(ask_poll, &send_ops);
}

/* Spawns its child and receives, whatever that does. */
static int
receive_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;
	uint64_t value = 0;
	int rc;

	note('p');
	if (!p->spawned) {
		p->spawned = true;
		weir_task_spawn_detached(rig.rt, p->child_ops, NULL, NULL);
	}
	rc = weir_recv(ctx, shared.rx[0], &value, &p->wait);
	if (rc == WEIR_PENDING) {
		rig_set(&shared.polls, shared.n);
		return rc;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(value, 7);
	return WEIR_DONE;
}

/* Y51: once, and then it waits. */
static void
one_who_looked_in_vain_waits(void **state)
{
	const uint64_t value = 7;
	struct weir_join *join;

	start(NULL);
	create_channels();
	join = spawn_parent(receive_poll, &plain_ops, NULL);
	rig_wait_until(rig_get(&shared.polls) == 3);
	assert_int_equal(weir_try_send(shared.tx[0], &value), 0);
	assert_int_equal(rig_join(join, NULL), 0);
	drop_channels();
	end_with("pcpp");
}

/* Receives until the channel is closed, and then asks. */
static int
receive_and_ask_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;
	uint64_t value;
	int rc = -EPIPE;

	if (p->left > 0)
		return ask_poll(ctx, state);
	if (!p->spawned)
		weir_task_spawn_detached(rig.rt, &plain_ops, NULL, NULL);
	p->spawned = true;
	note('p');
	rc = weir_recv(ctx, shared.rx[0], &value, &p->wait);
	if (rc == WEIR_PENDING) {
		rig_set(&shared.polls, shared.n);
		return rc;
	}
	assert_int_equal(rc, -EPIPE);
	p->left++;
	p->spawned = false;
	return ask_poll(ctx, state);
}

/* The same, but it gives up what nobody sends. */
static int
give_up_and_ask_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;
	uint64_t value;

	if (p->left > 0)
		return ask_poll(ctx, state);
	p->left++;
	note('p');
	weir_task_spawn_detached(rig.rt, &plain_ops, NULL, NULL);
	assert_int_equal(weir_recv(ctx, shared.rx[0], &value, &p->wait),
			 WEIR_PENDING);
	weir_wait_cancel(&p->wait);
	return ask_poll(ctx, state);
}

/* The next wait of one that ended otherwise looks again as a new one does. */
static void
look_ends_with_its_wait(void **state)
{
	struct weir_join *join;
	uint64_t before;

	start(NULL);
	create_channels();
	join = spawn_parent(receive_and_ask_poll, &send_ops, NULL);
	/* Who is woken while it still runs is queued once more. */
	rig_wait_until(rig_get(&shared.polls) == 3 && !is_running(join));
	before = queued();
	weir_sender_drop(shared.tx[0]);
	shared.tx[0] = NULL;
	assert_int_equal(rig_join(join, NULL), 0);
	/* The child that it asks. */
	assert_int_equal(queued() - before, 1);
	drop_channels();
	end_with("pcpppcp");
	start(NULL);
	create_channels();
	before = queued();
	assert_int_equal(run_parent(give_up_and_ask_poll, &send_ops), 0);
	assert_int_equal(queued() - before, 2);
	drop_channels();
	end_with(NULL);
}

/* Two that send each other a number until they are told to stop. */
struct side {
	unsigned int number;
	uint64_t value;
	bool sends;
	struct weir_wait wait;
};

static int
side_poll(struct weir_context *ctx, void *state)
{
	struct side *s = state;
	int rc;

	if (shared.n < 8)
		note(s->number == 0 ? 'a' : 'b');
	while (!rig_get(&shared.stop)) {
		rc = s->sends ? weir_send(ctx, shared.tx[s->number], &s->value,
					  &s->wait) :
				weir_recv(ctx, shared.rx[1 - s->number],
					  &s->value, &s->wait);
		if (rc < 0)
			return rc;
		s->value += s->sends;
		s->sends = !s->sends;
	}
	/* The other may wait. */
	weir_sender_drop(shared.tx[s->number]);
	shared.tx[s->number] = NULL;
	return WEIR_DONE;
}

static void
side_drop(void *state)
{
	weir_wait_cancel(&((struct side *)state)->wait);
}

static const struct weir_task_ops side_ops = {
	.name = "side",
	.state_size = sizeof(struct side),
	.poll = side_poll,
	.drop = side_drop,
};

static int
stop_poll(struct weir_context *ctx, void *state)
{
	rig_set(&shared.stop, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops stop_ops = {
	.name = "stop",
	.poll = stop_poll,
};

/* L2: the budget ends what two can do by turns. */
static void
pair_that_looks_does_not_starve_others(void **state)
{
	struct weir_join *sides[2], *other;
	struct rig_blockers b;
	unsigned int i;
	int rc;

	start(NULL);
	create_channels();
	rig_block(&b, rig.rt);
	for (i = 0; i < 2; i++) {
		struct side s = { .number = i, .sends = i == 0 };

		sides[i] = weir_task_spawn(rig.rt, &side_ops, &s, NULL);
	}
	other = weir_task_spawn(rig.rt, &stop_ops, NULL, NULL);
	rig_unblock(&b);
	assert_int_equal(rig_join(other, NULL), 0);
	for (i = 0; i < 2; i++) {
		rc = rig_join(sides[i], NULL);
		assert_true(rc == 0 || rc == -EPIPE);
	}
	drop_channels();
	end_with(NULL);
}

static void
have_one_unit(struct weir_options *o)
{
	o->budget = 1;
}

/* The parent has nothing left when it would be resumed: both go to the queue. */
static void
without_budget_nobody_is_resumed(void **state)
{
	start(have_one_unit);
	assert_int_equal(run_parent(call_poll, &plain_ops), 0);
	assert_false(shared.behind);
	end_with("pcp");
}

#define TEST(name) cmocka_unit_test_teardown(name, rig_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(caller_needs_no_wake),
		TEST(caller_waits_for_a_child_that_goes_on),
		TEST(without_the_slot_there_is_nothing_to_look_behind),
		TEST(bound_caller_waits),
		TEST(resumed_turns_are_timed_and_have_no_wake),
		TEST(one_who_calls_again_and_again),
		TEST(one_who_looks_is_aborted),
		TEST(child_that_blocks_holds_nobody_up),
		TEST(child_that_takes_long_keeps_its_parent_from_nothing_else),
		TEST(child_that_takes_long_keeps_its_parent_from_no_value),
		TEST(who_is_woken_by_one_that_takes_long_runs_elsewhere),
		TEST(who_yields_beside_one_that_takes_long_runs_elsewhere),
		TEST(bound_one_that_yields_beside_one_that_takes_long_stays),
		TEST(child_that_blocks_has_aborted_its_parent),
		TEST(runtime_ends_while_one_looks),
		TEST(runtime_ends_while_one_is_put_off),
		TEST(worker_retires_while_one_is_put_off),
		TEST(one_who_asks_needs_no_wake),
		TEST(one_who_looked_in_vain_waits),
		TEST(look_ends_with_its_wait),
		TEST(pair_that_looks_does_not_starve_others),
		TEST(without_budget_nobody_is_resumed),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
