/* SPDX-License-Identifier: BSD-3-Clause */

/* Values that each receiver gets, in order. */

#include "unit.h"

#include <errno.h>

#include "base/rand.h"
#include "waiter.h"

#define RING 4
#define RING_LARGE 8192

/* Who sent it, and its how manieth it is. */
struct value {
	uint32_t sender;
	uint32_t number;
};

static struct value ring[RING_LARGE];
static struct weir_broadcast broadcast;

/* One that receives. */
struct listener {
	struct weir_broadcast_receiver receiver;
	struct value value;
	/* For whom gets many. */
	uint64_t got;
	uint64_t missed;
	uint64_t hash;
	uint32_t next[2]; /* of each sender: the least that may come */
};

static int
send(uint32_t number)
{
	struct value v = { .number = number };

	return weir_broadcast_send(&broadcast, &v);
}

static int
recv_one(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct listener *l = what;

	return weir_broadcast_recv(ctx, &broadcast, &l->receiver, &l->value,
				   wait);
}

static void
expect(struct listener *l, uint32_t number)
{
	assert_int_equal(
		weir_broadcast_try_recv(&broadcast, &l->receiver, &l->value),
		0);
	assert_int_equal(l->value.number, number);
}

static void
expect_error(struct listener *l, int error)
{
	assert_int_equal(
		weir_broadcast_try_recv(&broadcast, &l->receiver, &l->value),
		error);
}

static int
setup(void **state)
{
	assert_int_equal(
		weir_broadcast_init(&broadcast, ring, RING, sizeof(ring[0])),
		0);
	return rig_setup(state);
}

static int
teardown(void **state)
{
	weir_broadcast_fini(&broadcast);
	return rig_teardown(state);
}

static void
each_receiver_gets_each_value_in_order(void **state)
{
	struct listener early = { 0 }, later;
	uint32_t i;

	expect_error(&early, -EAGAIN);
	assert_int_equal(send(0), 0);
	assert_int_equal(send(1), 0);
	weir_broadcast_subscribe(&broadcast, &later.receiver);
	assert_int_equal(send(2), 0);
	assert_int_equal(send(3), 0);
	for (i = 0; i < 4; i++)
		expect(&early, i);
	for (i = 2; i < 4; i++)
		expect(&later, i);
	expect_error(&early, -EAGAIN);
	expect_error(&later, -EAGAIN);
}

static void
who_is_too_slow_is_told_how_many_it_missed(void **state)
{
	struct listener l = { 0 };
	uint32_t i;

	for (i = 0; i < RING; i++)
		assert_int_equal(send(i), 0);
	expect(&l, 0);
	for (; i < 3 * RING; i++)
		assert_int_equal(send(i), 0);
	expect_error(&l, -EOVERFLOW);
	assert_int_equal(l.receiver.missed, 2 * RING - 1);
	/* The oldest that is left, and one more is overwritten. */
	expect(&l, 2 * RING);
	assert_int_equal(send(i), 0);
	for (i = 2 * RING + 1; i <= 3 * RING; i++)
		expect(&l, i);
	expect_error(&l, -EAGAIN);
	/* The same from a call that may wait. */
	for (i = 0; i <= RING; i++)
		assert_int_equal(send(i), 0);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, recv_one, &l)),
			 -EOVERFLOW);
	assert_int_equal(l.receiver.missed, 1);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, recv_one, &l)), 0);
	assert_int_equal(l.value.number, 1);
}

static void
all_that_wait_get_the_value(void **state)
{
	struct listener tasks[40], thread;
	struct weir_join *joins[40];
	struct waiter_thread *t;
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++) {
		weir_broadcast_subscribe(&broadcast, &tasks[i].receiver);
		joins[i] = waiter_spawn(rig.rt, recv_one, &tasks[i]);
	}
	weir_broadcast_subscribe(&broadcast, &thread.receiver);
	t = waiter_thread_start(recv_one, &thread);
	waiter_wait_for(&broadcast, RTE_DIM(joins) + 1);
	assert_int_equal(send(7), 0);
	for (i = 0; i < RTE_DIM(joins); i++) {
		assert_int_equal(waiter_join(joins[i]), 0);
		assert_int_equal(tasks[i].value.number, 7);
	}
	assert_int_equal(waiter_thread_join(t), 0);
	assert_int_equal(thread.value.number, 7);
}

static void
sizes_that_make_no_sense_are_refused(void **state)
{
	const uint32_t bad[] = { 0, 3, 6, UINT32_MAX };
	char bytes[WEIR_BROADCAST_SIZE_MAX + 1] = { 0 };
	struct weir_broadcast other;
	unsigned int i;

	for (i = 0; i < RTE_DIM(bad); i++)
		assert_int_equal(weir_broadcast_init(&other, bytes, bad[i], 1),
				 -EINVAL);
	assert_int_equal(weir_broadcast_init(&other, bytes, 1, 0), -EINVAL);
	assert_int_equal(weir_broadcast_init(&other, bytes, 1, sizeof(bytes)),
			 -EINVAL);
	assert_int_equal(weir_broadcast_init(&other, bytes, 1, SIZE_MAX),
			 -EINVAL);
	assert_int_equal(
		weir_broadcast_init(&other, bytes, 1, WEIR_BROADCAST_SIZE_MAX),
		0);
	weir_broadcast_fini(&other);
}

static void
ring_of_one_holds_the_last(void **state)
{
	struct listener l = { 0 };

	weir_broadcast_fini(&broadcast);
	assert_int_equal(
		weir_broadcast_init(&broadcast, ring, 1, sizeof(ring[0])), 0);
	assert_int_equal(send(1), 0);
	expect(&l, 1);
	assert_int_equal(send(2), 0);
	assert_int_equal(send(3), 0);
	expect_error(&l, -EOVERFLOW);
	assert_int_equal(l.receiver.missed, 1);
	expect(&l, 3);
	expect_error(&l, -EAGAIN);
}

static void
who_gives_up_misses_nothing(void **state)
{
	struct listener first = { 0 }, second = { 0 };
	struct rig_blockers b;
	struct weir_join *join, *other;

	join = waiter_spawn(rig.rt, recv_one, &first);
	waiter_wait_for(&broadcast, 1);
	waiter_abort(join);
	assert_int_equal(waiters(&broadcast), 0);
	/* Again, told this time and no worker to tell it. */
	join = waiter_spawn(rig.rt, recv_one, &first);
	waiter_wait_for(&broadcast, 1);
	other = waiter_spawn(rig.rt, recv_one, &second);
	waiter_wait_for(&broadcast, 2);
	rig_block(&b, rig.rt);
	assert_int_equal(send(1), 0);
	assert_int_equal(waiters(&broadcast), 0);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(waiter_join(other), 0);
	expect(&first, 1);
}

/* Told of a value, and before it comes to that the ring has gone round. */
static void
who_is_told_and_late_is_told_what_it_missed(void **state)
{
	struct listener l = { 0 };
	struct rig_blockers b;
	struct weir_join *join;
	uint32_t i;

	join = waiter_spawn(rig.rt, recv_one, &l);
	waiter_wait_for(&broadcast, 1);
	rig_block(&b, rig.rt);
	for (i = 0; i < RING + 2; i++)
		assert_int_equal(send(i), 0);
	rig_unblock(&b);
	assert_int_equal(waiter_join(join), -EOVERFLOW);
	assert_int_equal(l.receiver.missed, 2);
	expect(&l, 2);
}

static void
close_wakes_every_waiter(void **state)
{
	struct listener task = { 0 }, thread = { 0 };
	struct waiter_thread *t;
	struct weir_join *join;

	join = waiter_spawn(rig.rt, recv_one, &task);
	t = waiter_thread_start(recv_one, &thread);
	waiter_wait_for(&broadcast, 2);
	weir_broadcast_close(&broadcast);
	assert_int_equal(waiter_join(join), -EPIPE);
	assert_int_equal(waiter_thread_join(t), -EPIPE);
	expect_error(&task, -EPIPE);
	assert_int_equal(send(1), -EPIPE);
}

static void
what_was_sent_before_the_close_is_received(void **state)
{
	struct listener l = { 0 };
	uint32_t i;

	for (i = 0; i < RING + 1; i++)
		assert_int_equal(send(i), 0);
	weir_broadcast_close(&broadcast);
	weir_broadcast_close(&broadcast);
	expect_error(&l, -EOVERFLOW);
	for (i = 1; i < RING + 1; i++) {
		assert_int_equal(
			waiter_join(waiter_spawn(rig.rt, recv_one, &l)), 0);
		assert_int_equal(l.value.number, i);
	}
	expect_error(&l, -EPIPE);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, recv_one, &l)),
			 -EPIPE);
}

static void
workers_may_not_block_nor_waits_be_used_twice(void **state)
{
	struct listener l = { 0 };

	waiter_check_refusals(rig.rt, recv_one, &l);
}

#define VALUES (RING_LARGE / 2)

/* Receives to the end; 0, or what is wrong. */
static int
listen_to_the_end(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct listener *l = what;
	int rc;

	while ((rc = recv_one(ctx, l, wait)) == 0 || rc == -EOVERFLOW) {
		if (rc == -EOVERFLOW) {
			l->missed += l->receiver.missed;
			continue;
		}
		if (l->value.sender > 1 ||
		    l->value.number < l->next[l->value.sender])
			return -EIO;
		l->next[l->value.sender] = l->value.number + 1;
		l->got++;
		l->hash = l->hash * 31 + l->value.sender;
	}
	return rc == -EPIPE ? 0 : rc;
}

static void *
send_often(void *arg)
{
	struct value v;

	v.sender = atomic_u32_fetch_add(arg, 1, RELAXED);
	for (v.number = 0; v.number < VALUES; v.number++)
		assert_int_equal(weir_broadcast_send(&broadcast, &v), 0);
	return NULL;
}

/* Two that send, and a crowd that listens, of which some go away. */
static void
storm(struct listener *l, unsigned int n, uint32_t slots)
{
	struct atomic_u32 senders = { 0 };
	struct waiter_thread *thread;
	struct weir_join *joins[32];
	unsigned int i;
	int rc, out;

	assert_true(n <= RTE_DIM(joins) + 1);
	weir_broadcast_fini(&broadcast);
	assert_int_equal(
		weir_broadcast_init(&broadcast, ring, slots, sizeof(ring[0])),
		0);
	thread = waiter_thread_start(listen_to_the_end, &l[0]);
	for (i = 1; i < n; i++)
		joins[i - 1] = waiter_spawn(rig.rt, listen_to_the_end, &l[i]);
	rig_threads(2, send_often, &senders);
	for (i = 1; i < n; i += 4)
		weir_join_abort(joins[i - 1]);
	weir_broadcast_close(&broadcast);
	assert_int_equal(waiter_thread_join(thread), 0);
	for (i = 1; i < n; i++) {
		out = rig_join(joins[i - 1], &rc);
		assert_true(out == 0 || (i % 4 == 1 && out == -ECANCELED));
		if (out == 0)
			assert_int_equal(rc, 0);
		else
			l[i].got = UINT64_MAX;
	}
}

/* With a wait in line for the first of two, which has all: the other has one to get. */
static int
recv_by_two(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct listener *two = what;
	int rc;

	if (recv_one(ctx, &two[0], wait) != WEIR_PENDING)
		return -EBADE;
	rc = recv_one(ctx, &two[1], wait);
	weir_wait_cancel(wait);
	return rc == WEIR_PENDING ? -EBADE : rc;
}

static void
wait_is_for_one_receiver_at_a_time(void **state)
{
	struct listener two[2] = { 0 };

	weir_broadcast_subscribe(&broadcast, &two[1].receiver);
	assert_int_equal(send(1), 0);
	weir_broadcast_subscribe(&broadcast, &two[0].receiver);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, recv_by_two, two)),
			 -EBUSY);
	expect(&two[1], 1);
}

static void
slow_receivers_account_for_every_value(void **state)
{
	struct listener l[20] = { 0 };
	unsigned int i;

	storm(l, RTE_DIM(l), RING);
	for (i = 0; i < RTE_DIM(l); i++)
		if (l[i].got != UINT64_MAX)
			assert_int_equal(l[i].got + l[i].missed, 2 * VALUES);
}

static void
all_receivers_see_the_same_order(void **state)
{
	struct listener l[20] = { 0 };
	unsigned int i;

	storm(l, RTE_DIM(l), RING_LARGE);
	for (i = 0; i < RTE_DIM(l); i++) {
		if (l[i].got == UINT64_MAX)
			continue;
		assert_int_equal(l[i].got, 2 * VALUES);
		assert_int_equal(l[i].hash, l[0].hash);
	}
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_receiver_gets_each_value_in_order, 1),
		TEST(who_is_too_slow_is_told_how_many_it_missed, 1),
		TEST(all_that_wait_get_the_value, 1),
		TEST(all_that_wait_get_the_value, 2),
		TEST(sizes_that_make_no_sense_are_refused, 1),
		TEST(ring_of_one_holds_the_last, 1),
		TEST(who_gives_up_misses_nothing, 2),
		TEST(who_is_told_and_late_is_told_what_it_missed, 2),
		TEST(close_wakes_every_waiter, 2),
		TEST(what_was_sent_before_the_close_is_received, 2),
		TEST(workers_may_not_block_nor_waits_be_used_twice, 1),
		TEST(wait_is_for_one_receiver_at_a_time, 1),
		TEST(slow_receivers_account_for_every_value, 1),
		TEST(slow_receivers_account_for_every_value, 3),
		TEST(all_receivers_see_the_same_order, 1),
		TEST(all_receivers_see_the_same_order, 3),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
