/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "rig.h"

static void
aborted_while_it_waits_it_is_dropped(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker);

	weir_join_abort(join);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	rig_expect_log(1, 1, 0);
	weir_waker_wake(w);
}

static void
aborted_while_queued_it_is_never_polled(void **state)
{
	struct rig_blockers b;
	struct weir_join *join;

	rig_block(&b, rig.rt);
	join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	weir_join_abort(join);
	weir_join_abort(join);
	rig_expect_log(0, 0, 0);
	rig_unblock(&b);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	rig_expect_log(0, 1, 0);
}

static void
aborted_while_it_runs_it_keeps_its_result(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_block_ops, &rig.told);
	uint32_t result = 0;

	rig_wait_until(rig_get(&rig.log.polls) == 1);
	weir_join_abort(join);
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_wait(join, &result), 0);
	assert_int_equal(result, 1);
	rig_expect_log(1, 1, 0);
}

static int
block_then_wait(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state;

	s->polls++;
	rig_add(&s->log->polls, 1);
	rig_wait_until(rig_get(s->go));
	return WEIR_PENDING;
}

static void
aborted_while_it_runs_it_is_dropped_at_its_wait(void **state)
{
	struct weir_task_ops ops = rig_wait_ops;
	struct weir_join *join;

	ops.poll = block_then_wait;
	join = rig_spawn(rig.rt, &ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	weir_join_abort(join);
	rig_expect_log(1, 0, 0);
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	rig_expect_log(1, 1, 0);
}

static void
aborted_while_it_yields_it_is_dropped(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_yield_ops, &rig.told);

	rig_wait_until(rig_get(&rig.log.polls) > 10);
	weir_join_abort(join);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	assert_int_equal(rig_get(&rig.log.drops), 1);
	assert_int_equal(rig_get(&rig.log.results_dropped), 0);
}

static void
aborted_after_its_end_it_keeps_its_outcome(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	uint32_t result = 0;

	rig_wait_until(state_load(&((struct task *)join)->state) &
		       STATE_COMPLETE);
	weir_join_abort(join);
	assert_int_equal(weir_join_try(join, &result), 0);
	assert_int_equal(result, 1);
}

struct returner {
	struct rig_log *log;
	int rc;
};

static int
return_rc(struct weir_context *ctx, void *state)
{
	return ((struct returner *)state)->rc;
}

static void
returner_drop(void *state)
{
	rig_add(&((struct returner *)state)->log->drops, 1);
}

static void
returner_result_drop(void *result)
{
	rig_add(&((struct returner *)result)->log->results_dropped, 1);
}

static const struct weir_task_ops returner_ops = {
	.name = "returner",
	.state_size = sizeof(struct returner),
	.poll = return_rc,
	.drop = returner_drop,
	.result_size = sizeof(struct returner),
	.result_drop = returner_result_drop,
};

static void
what_poll_returns_is_the_outcome(void **state)
{
	const struct {
		int returned;
		int outcome;
	} rows[] = {
		{ 0, 0 },
		{ -EIO, -EIO },
		{ -1, -1 },
		{ -4095, -4095 },
		{ 1, -EPROTO },
		{ 4096, -EPROTO },
		{ INT_MAX, -EPROTO },
		{ WEIR_PENDING - 1, -EPROTO },
		{ INT_MIN, -EPROTO },
	};
	struct returner r = { .log = &rig.log };
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		r.rc = rows[i].returned;
		assert_int_equal(
			weir_runtime_block_on(rig.rt, &returner_ops, &r, NULL),
			rows[i].outcome);
		assert_int_equal(rig_get(&rig.log.drops), i + 1);
	}
	/* A failure has no result. */
	assert_int_equal(rig_get(&rig.log.results_dropped), 1);
}

/* Spawns the next of so many when it is dropped. */
struct chain {
	struct rig_log *log;
	unsigned int left;
};

static int
chain_poll(struct weir_context *ctx, void *state)
{
	rig_add(&((struct chain *)state)->log->polls, 1);
	return WEIR_DONE;
}

static void
chain_drop(void *state);

static const struct weir_task_ops chain_ops = {
	.name = "chain",
	.state_size = sizeof(struct chain),
	.poll = chain_poll,
	.drop = chain_drop,
};

static void
chain_drop(void *state)
{
	struct chain *c = state;

	rig_add(&c->log->drops, 1);
	if (c->left-- > 0)
		weir_join_detach(weir_task_spawn(weir_runtime_current(),
						 &chain_ops, c, NULL));
}

static void
spawned_in_a_drop_it_runs(void **state)
{
	struct chain c = { .log = &rig.log, .left = 999 };

	weir_join_detach(weir_task_spawn(rig.rt, &chain_ops, &c, NULL));
	rig_wait_until(rig_get(&rig.log.drops) == 1000);
	rig_expect_log(1000, 1000, 0);
}

static int
wait_for_nobody(struct weir_context *ctx, void *state)
{
	rig_add(&((struct rig_state *)state)->log->polls, 1);
	return WEIR_PENDING;
}

/* PENDING, although nobody was told: a bug of the task's, which costs only it. */
static void
waiting_for_nobody_it_can_be_aborted(void **state)
{
	struct weir_task_ops ops = rig_wait_ops;
	struct weir_join *join, *other;

	ops.poll = wait_for_nobody;
	join = rig_spawn(rig.rt, &ops, &rig.told);
	other = rig_spawn(rig.rt, &ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 2);
	assert_int_equal(weir_join_try(join, NULL), WEIR_PENDING);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	/* Or be left to the shutdown. */
	weir_join_detach(other);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	rig_expect_log(2, 2, 0);
}

static void
spawned_after_shutdown_it_is_dropped_at_once(void **state)
{
	struct weir_join *join;

	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	rig_expect_log(0, 1, 0);
	weir_join_abort(join);
	assert_int_equal(weir_join_wait(join, NULL), -ECANCELED);
	weir_join_detach(rig_spawn(rig.rt, &rig_done_ops, &rig.told));
	rig_expect_log(0, 2, 0);
	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_done_ops, &rig.told, NULL),
		-ECANCELED);
	rig_expect_log(0, 3, 0);
}

static void
refuse(const struct weir_task_ops *ops, const struct weir_spawn_attr *attr,
       int error)
{
	rte_errno = 0;
	assert_null(weir_task_spawn(rig.rt, ops, &rig.told, attr));
	assert_int_equal(rte_errno, error);
}

static void
bad_ops_and_attr_are_refused(void **state)
{
	const struct weir_spawn_attr bad_attr[] = {
		{ .affinity = WEIR_AFFINITY_WORKER, .worker = 3 },
		{ .affinity = WEIR_AFFINITY_WORKER, .worker = UINT_MAX },
		{ .affinity = (enum weir_affinity)3 },
		{ .node_plus_1 = 1000 },
		{ .affinity = WEIR_AFFINITY_NODE, .node_plus_1 = UINT_MAX },
	};
	const size_t size = rig_done_ops.state_size;
	struct weir_task_ops ops;
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad_attr); i++)
		refuse(&rig_done_ops, &bad_attr[i], EINVAL);
	refuse(NULL, NULL, EINVAL);
	ops = rig_done_ops;
	ops.poll = NULL;
	refuse(&ops, NULL, EINVAL);
	ops = rig_done_ops;
	ops.name = NULL;
	refuse(&ops, NULL, EINVAL);
	ops = rig_done_ops;
	ops.result_offset = size - ops.result_size + 1;
	refuse(&ops, NULL, EINVAL);
	ops.result_offset = SIZE_MAX;
	refuse(&ops, NULL, EINVAL);
	ops = rig_done_ops;
	ops.result_size = size + 1;
	refuse(&ops, NULL, EINVAL);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &rig.told, NULL),
			 -EINVAL);
	/* What the state points to still is ours. */
	rig_expect_log(0, 0, 0);
}

static void
state_too_large_stays_with_the_caller(void **state)
{
	struct weir_task_ops ops = rig_done_ops;

	ops.state_size = (size_t)1 << 40;
	refuse(&ops, NULL, ENOMEM);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &rig.told, NULL),
			 -ENOMEM);
	rig_expect_log(0, 0, 0);
}

static int
expect_zeros(struct weir_context *ctx, void *state)
{
	const uint8_t *bytes = state;
	unsigned int i;

	for (i = 0; i < 3000; i++)
		if (bytes[i] != 0)
			return -EINVAL;
	memset(state, 0xff, 3000);
	return WEIR_DONE;
}

static void
state_is_zeroed_without_one(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "zeros",
		.state_size = 3000,
		.poll = expect_zeros,
		.result_offset = 0,
		.result_size = 3000,
	};
	uint8_t result[3000] = { 0 };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(
			weir_runtime_block_on(rig.rt, &ops, NULL, result), 0);
		assert_int_equal(result[0], 0xff);
		assert_int_equal(result[2999], 0xff);
	}
}

/* States of every size; the first byte is the size and each is one more. */
#define SIZES 256u

static struct atomic_u32 whole; /* states that arrived */

static void
fill(uint8_t *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = (uint8_t)(size + i);
}

static int
expect_bytes(struct weir_context *ctx, void *state)
{
	const uint8_t *bytes = state;
	size_t i, size = bytes[0];

	for (i = 0; i < size; i++)
		if (bytes[i] != (uint8_t)(size + i))
			return -EINVAL;
	rig_add(&whole, 1);
	return WEIR_DONE;
}

/* The parent; its children's handles are its result. */
struct every_size {
	const struct weir_task_ops *ops;
	struct weir_join *filled[SIZES];
	struct weir_join *zeroed[SIZES];
};

static int
spawn_every_size(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	struct every_size *e = state;
	uint8_t *bytes;
	size_t size;

	for (size = 1; size < SIZES; size++) {
		/* Nothing beyond it is read: for the address sanitizer. */
		bytes = malloc(size);
		fill(bytes, size);
		e->filled[size] =
			weir_task_spawn(rt, &e->ops[size], bytes, NULL);
		if (weir_task_spawn_detached(rt, &e->ops[size], bytes, NULL) <
		    0)
			return -ENOMEM;
		free(bytes);
	}
	return WEIR_DONE;
}

static int
spawn_every_zero(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	struct every_size *e = state;
	size_t size;

	for (size = 1; size < SIZES; size++)
		e->zeroed[size] =
			weir_task_spawn(rt, &e->ops[size], NULL, NULL);
	return WEIR_DONE;
}

static void
expect_state(struct weir_join *join, const uint8_t *bytes, size_t size)
{
	uint8_t result[SIZES];

	assert_non_null(join);
	memset(result, 0xff, sizeof(result));
	assert_int_equal(rig_join(join, result), 0);
	assert_memory_equal(result, bytes, size);
}

static void
state_of_every_size_arrives(void **state)
{
	static struct weir_task_ops ops[SIZES];
	struct weir_task_ops parent = {
		.name = "parent",
		.state_size = sizeof(struct every_size),
		.result_size = sizeof(struct every_size),
	};
	static struct every_size e;
	uint8_t bytes[SIZES], zeros[SIZES] = { 0 };
	size_t size;

	rig_set(&whole, 0);
	e.ops = ops;
	for (size = 1; size < SIZES; size++)
		ops[size] = (struct weir_task_ops){
			.name = "child",
			.state_size = size,
			.result_size = size,
			.poll = expect_bytes,
		};
	parent.poll = spawn_every_size;
	assert_int_equal(weir_runtime_block_on(rig.rt, &parent, &e, &e), 0);
	for (size = 1; size < SIZES; size++) {
		fill(bytes, size);
		expect_state(e.filled[size], bytes, size);
	}
	rig_wait_until(rig_get(&whole) == 2 * (SIZES - 1));
	/* In cells that were full of other things. */
	parent.poll = spawn_every_zero;
	assert_int_equal(weir_runtime_block_on(rig.rt, &parent, &e, &e), 0);
	for (size = 1; size < SIZES; size++)
		expect_state(e.zeroed[size], zeros, size);
}

/* What a thread is refused, a task is refused too. */
static int
spawn_what_is_wrong(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	const struct weir_spawn_attr attr = { .node_plus_1 = 1000 };
	const struct weir_task_ops *right = &rig_done_ops;
	struct weir_task_ops wrong[5];
	unsigned int i;

	for (i = 0; i < RTE_DIM(wrong); i++)
		wrong[i] = *right;
	wrong[0].poll = NULL;
	wrong[1].name = NULL;
	wrong[2].result_offset = SIZE_MAX;
	wrong[3].result_size = right->state_size + 1;
	wrong[4].state_size = 0;
	for (i = 0; i < RTE_DIM(wrong); i++)
		if (weir_task_spawn(rt, &wrong[i], &rig.told, NULL) != NULL ||
		    rte_errno != EINVAL ||
		    weir_task_spawn_detached(rt, &wrong[i], &rig.told, NULL) !=
			    -EINVAL)
			return -EPROTO;
	if (weir_task_spawn(rt, NULL, NULL, NULL) != NULL ||
	    rte_errno != EINVAL ||
	    weir_task_spawn_detached(rt, right, &rig.told, &attr) != -EINVAL)
		return -EPROTO;
	return WEIR_DONE;
}

static void
task_is_refused_what_is_wrong(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "wrong",
		.poll = spawn_what_is_wrong,
	};

	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, NULL), 0);
	rig_expect_log(0, 0, 0);
}

/* Spawns one more task, whose id is its result. */
static int
spawn_and_tell_id(struct weir_context *ctx, void *state)
{
	uint64_t *id = state;
	struct weir_join *join;

	join = weir_task_spawn(weir_context_runtime(ctx), &rig_done_ops,
			       &rig.told, NULL);
	if (join == NULL)
		return -rte_errno;
	*id = weir_join_id(join);
	weir_join_detach(join);
	return WEIR_DONE;
}

static void
ids_are_unique(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "spawner",
		.state_size = sizeof(uint64_t),
		.poll = spawn_and_tell_id,
		.result_size = sizeof(uint64_t),
	};
	uint64_t ids[60];
	struct weir_join *join;
	unsigned int i, j;

	for (i = 0; i < RTE_DIM(ids); i += 2) {
		join = weir_task_spawn(rig.rt, &ops, NULL, NULL);
		ids[i] = weir_join_id(join);
		assert_int_equal(weir_join_wait(join, &ids[i + 1]), 0);
		for (j = 0; j < i; j++) {
			assert_true(ids[j] != ids[i]);
			assert_true(ids[j] != ids[i + 1]);
		}
		assert_true(ids[i] != ids[i + 1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(aborted_while_it_waits_it_is_dropped),
		RIG_TESTS(aborted_while_queued_it_is_never_polled),
		RIG_TESTS(aborted_while_it_runs_it_keeps_its_result),
		RIG_TESTS(aborted_while_it_runs_it_is_dropped_at_its_wait),
		RIG_TESTS(aborted_while_it_yields_it_is_dropped),
		RIG_TESTS(aborted_after_its_end_it_keeps_its_outcome),
		RIG_TESTS(what_poll_returns_is_the_outcome),
		RIG_TESTS(spawned_in_a_drop_it_runs),
		RIG_TESTS(waiting_for_nobody_it_can_be_aborted),
		RIG_TESTS(spawned_after_shutdown_it_is_dropped_at_once),
		RIG_TESTS(bad_ops_and_attr_are_refused),
		RIG_TESTS(state_too_large_stays_with_the_caller),
		RIG_TESTS(state_is_zeroed_without_one),
		RIG_TESTS(state_of_every_size_arrives),
		RIG_TESTS(task_is_refused_what_is_wrong),
		RIG_TESTS(ids_are_unique),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
