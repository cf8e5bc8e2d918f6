/* SPDX-License-Identifier: BSD-3-Clause */

/* Where the memory of what tasks share comes from, and how long it stays. */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include "sched/scheduler.h"
#include "waiter.h"

#define OBJECTS 100

/* One of each. */
struct made {
	struct weir_sender *tx;
	struct weir_receiver *rx;
	struct weir_token *token;
	struct weir_token *child;
	struct weir_join_set *set;
};

/* No cmocka in a worker: false if something is missing. */
static bool
make(struct made *m)
{
	if (weir_channel_create(2, sizeof(uint64_t), NULL, &m->tx, &m->rx) != 0)
		return false;
	m->token = weir_token_create();
	if (m->token == NULL)
		return false;
	m->child = weir_token_child(m->token);
	m->set = weir_join_set_create();
	return m->child != NULL && m->set != NULL;
}

static void
drop(const struct made *m)
{
	weir_sender_drop(m->tx);
	weir_receiver_drop(m->rx);
	weir_token_drop(m->token);
	weir_token_drop(m->child);
	weir_join_set_free(m->set);
}

/* Bytes of the heap that many take while they are there. */
static int
measure(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	static struct made made[OBJECTS];
	size_t *bytes = what, before = rig_heap_in_use();
	unsigned int i;

	for (i = 0; i < OBJECTS; i++)
		if (!make(&made[i]))
			return 1;
	*bytes = rig_heap_in_use() - before;
	for (i = 0; i < OBJECTS; i++)
		drop(&made[i]);
	return 0;
}

static void
worker_takes_its_cells(void **state)
{
	size_t bytes = 1;
	unsigned int i;

	/* The first time there may be too few. */
	for (i = 0; i < 2; i++)
		assert_int_equal(
			waiter_join(waiter_spawn(rig.rt, measure, &bytes)), 0);
	assert_int_equal(bytes, 0);
}

static void
others_take_the_heap(void **state)
{
	size_t before = rig_heap_in_use(), bytes;

	assert_int_equal(measure(NULL, &bytes, NULL), 0);
	assert_true(bytes > OBJECTS * 5 * WEIR_CACHE_LINE);
	assert_int_equal(rig_heap_in_use(), before);
}

/* A channel of a page. */
static int
make_large(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct made *m = what;

	return weir_channel_create(512, sizeof(uint64_t), NULL, &m->tx, &m->rx);
}

/* So its runtime does not stay for it. */
static void
large_one_takes_the_heap(void **state)
{
	struct made m;

	assert_int_equal(waiter_join(waiter_spawn(rig.rt, make_large, &m)), 0);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	assert_false(rig_runtime_exists("weir"));
	weir_sender_drop(m.tx);
	weir_receiver_drop(m.rx);
}

/* Through a channel without a capacity, more than it has room for. */
static int
send_many(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct made *m = what;
	uint64_t i;

	for (i = 0; i < 1000; i++)
		if (weir_try_send(m->tx, &i) != 0)
			return 1;
	return 0;
}

/* Nor for what was sent. */
static void
values_keep_no_runtime(void **state)
{
	uint64_t i, v;
	struct made m;

	assert_int_equal(weir_channel_create(WEIR_CHANNEL_UNBOUNDED, sizeof(v),
					     NULL, &m.tx, &m.rx),
			 0);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, send_many, &m)), 0);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	assert_false(rig_runtime_exists("weir"));
	for (i = 0; i < 1000; i++) {
		assert_int_equal(weir_try_recv(m.rx, &v), 0);
		assert_int_equal(v, i);
	}
	weir_sender_drop(m.tx);
	weir_receiver_drop(m.rx);
}

static int
make_some(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return make(what) ? 0 : 1;
}

static int
drop_some(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	drop(what);
	return 0;
}

static void
objects_outlive_their_runtime(void **state)
{
	uint64_t v = 7, w = 0;
	struct made m;

	assert_int_equal(waiter_join(waiter_spawn(rig.rt, make_some, &m)), 0);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	assert_int_equal(weir_try_send(m.tx, &v), 0);
	assert_int_equal(weir_try_recv(m.rx, &w), 0);
	assert_int_equal(w, v);
	weir_token_cancel(m.token);
	assert_true(weir_token_cancelled(m.child));
	assert_true(rig_runtime_exists("weir"));
	drop(&m);
	/* Its memory has gone with the last of them. */
	assert_false(rig_runtime_exists("weir"));
}

/* A worker of another runtime drops the first, and makes the second. */
static int
exchange(struct weir_context *ctx, void *state)
{
	struct made *m = *(struct made **)state;

	drop(&m[0]);
	return make(&m[1]) ? WEIR_DONE : -ENOMEM;
}

static void
objects_go_between_runtimes(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "exchange",
		.state_size = sizeof(struct made *),
		.poll = exchange,
	};
	struct weir_runtime *other;
	struct made m[2], *p = m;
	struct weir_options o;

	rig_options(&o, 1);
	o.name = "other";
	o.current_thread = true;
	other = weir_runtime_create(&o);
	assert_non_null(other);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, make_some, &m[0])),
			 0);
	assert_int_equal(weir_runtime_block_on(other, &ops, &p, NULL), 0);
	weir_runtime_free(other);
	assert_true(rig_runtime_exists("other"));
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, drop_some, &m[1])),
			 0);
	assert_false(rig_runtime_exists("other"));
}

struct visit {
	struct made made;
	bool complete;
};

static void
exchange_outside(void *arg)
{
	struct visit *v = arg;

	drop(&v->made);
	v->complete = make(&v->made);
}

/* What the worker made goes where the thread is no worker, and the other way. */
static int
exchange_in_place(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct visit *v = what;
	int rc;

	if (!make(&v->made))
		return 1;
	rc = weir_block_in_place(exchange_outside, v);
	drop(&v->made);
	return rc < 0 || !v->complete;
}

static void
objects_go_in_and_out_of_a_blocking_call(void **state)
{
	struct visit v = { 0 };

	assert_int_equal(
		waiter_join(waiter_spawn(rig.rt, exchange_in_place, &v)), 0);
}

/* Its cell has held something else before. */
static int
use_again(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	static const uint8_t zeros[CELL_STATE_MAX];
	void *object = weir__object_zalloc("test", sizeof(zeros)), *again;
	int rc;

	if (object == NULL)
		return 1;
	memset(object, 0xff, sizeof(zeros));
	weir__object_free(object);
	again = weir__object_zalloc("test", sizeof(zeros));
	if (again != object)
		return 2;
	rc = memcmp(again, zeros, sizeof(zeros)) == 0 ? 0 : 3;
	weir__object_free(again);
	return rc;
}

static void
memory_is_zero(void **state)
{
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, use_again, NULL)), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(worker_takes_its_cells, 1),
		RIG_TEST(others_take_the_heap, 1),
		RIG_TEST(large_one_takes_the_heap, 1),
		RIG_TESTS(objects_outlive_their_runtime),
		RIG_TEST(values_keep_no_runtime, 1),
		RIG_TEST(objects_go_between_runtimes, 1),
		RIG_TEST(objects_go_in_and_out_of_a_blocking_call, 2),
		RIG_TEST(memory_is_zero, 1),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
