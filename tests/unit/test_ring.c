/* SPDX-License-Identifier: BSD-3-Clause */

/* Rings as sources: drivers/ring. */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ring.h>

#include "kernel.h"
#include "park/source.h"
#include "weir_ring.h"

#define BURST 8u
#define MESSAGES 4000u
/* Made once: rte_ring_free() keeps some of the memory. */
#define SMALL 16u

static struct rte_ring *ring;
static struct weir_ring_rx *rx;
static struct weir_ring_tx *tx;
static struct atomic_u32 waits; /* PENDING, of all tasks */
static struct atomic_u32 moved; /* messages, of all tasks */
static struct atomic_u32 seen[MESSAGES + 1];

/* Message n is the number n, from 1 on. */
static void *
message(uint32_t n)
{
	return (void *)(uintptr_t)n;
}

/* Takes messages from `next` on in order, to `end`; 0: in any order. */
struct taker {
	struct weir_ring_rx *rx;
	uint32_t next;
	uint32_t end;
};

static int
take(struct weir_context *ctx, void *state)
{
	struct taker *t = state;
	void *objs[BURST];
	int n, i;

	while (t->next == 0 ? rig_get(&moved) < t->end : t->next < t->end) {
		n = weir_ring_recv(ctx, t->rx, objs, BURST);
		if (n == WEIR_PENDING)
			rig_add(&waits, 1);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++) {
			if (t->next != 0 && objs[i] != message(t->next++))
				return -EPROTO;
			rig_add(&seen[(uintptr_t)objs[i]], 1);
		}
		rig_add(&moved, (uint32_t)n);
	}
	return WEIR_DONE;
}

static const struct weir_task_ops taker_ops = {
	.name = "taker",
	.state_size = sizeof(struct taker),
	.poll = take,
};

static struct weir_join *
spawn_taker(struct weir_ring_rx *from, uint32_t next, uint32_t end)
{
	const struct taker t = { from, next, end };
	struct weir_join *join = weir_task_spawn(rig.rt, &taker_ops, &t, NULL);

	assert_non_null(join);
	return join;
}

/* Sends messages `next` to `end` - 1. */
struct giver {
	struct weir_ring_tx *tx;
	uint32_t next;
	uint32_t end;
};

static int
give(struct weir_context *ctx, void *state)
{
	struct giver *g = state;
	void *objs[BURST];
	unsigned int i;
	int n;

	while (g->next < g->end) {
		for (i = 0; i < BURST && g->next + i < g->end; i++)
			objs[i] = message(g->next + i);
		n = weir_ring_send(ctx, g->tx, objs, i);
		if (n == WEIR_PENDING)
			rig_add(&waits, 1);
		if (n < 0)
			return n;
		g->next += (uint32_t)n;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops giver_ops = {
	.name = "giver",
	.state_size = sizeof(struct giver),
	.poll = give,
};

static struct weir_join *
spawn_giver(struct weir_ring_tx *to, uint32_t next, uint32_t end)
{
	const struct giver g = { to, next, end };
	struct weir_join *join = weir_task_spawn(rig.rt, &giver_ops, &g, NULL);

	assert_non_null(join);
	return join;
}

static struct weir_ring_rx *
open_rx(unsigned int worker, unsigned int flags)
{
	struct weir_ring_rx *new =
		weir_ring_rx_create(rig.rt, ring, worker, flags);

	assert_non_null(new);
	return new;
}

static struct weir_ring_tx *
open_tx(unsigned int worker)
{
	struct weir_ring_tx *new = weir_ring_tx_create(rig.rt, ring, worker);

	assert_non_null(new);
	return new;
}

static unsigned int
last_worker(void)
{
	return weir_runtime_nb_workers(rig.rt) - 1;
}

static int
setup(void **state)
{
	kernel_reset();
	memset(&rig, 0, sizeof(rig));
	memset(seen, 0, sizeof(seen));
	rig_set(&waits, 0);
	rig_set(&moved, 0);
	rig.told.log = &rig.log;
	rig.told.go = &rig.go;
	rig.rt = kernel_runtime((unsigned int)(uintptr_t)*state,
				WEIR_PARK_INTERRUPT);
	/* One producer, one consumer: the ends' locks have to keep them so. */
	ring = rte_ring_create("test", SMALL, SOCKET_ID_ANY,
			       RING_F_SP_ENQ | RING_F_SC_DEQ);
	assert_non_null(ring);
	rx = open_rx(last_worker(), WEIR_RING_NOTIFIES);
	tx = open_tx(last_worker());
	return 0;
}

static int
teardown(void **state)
{
	weir_ring_rx_free(rx);
	weir_ring_tx_free(tx);
	rte_ring_free(ring);
	return rig_teardown(state);
}

/* Waits for a message, until it is told to give that up, and then to end. */
struct fickle {
	struct atomic_u32 *told;
	struct atomic_ptr *waker; /* leaves one each time that it waits */
};

enum {
	TOLD_TO_WAIT,
	TOLD_TO_GIVE_UP,
	TOLD_TO_END
};

static int
fickle_poll(struct weir_context *ctx, void *state)
{
	struct fickle *f = state;
	void *obj;
	int rc;

	switch (rig_get(f->told)) {
	case TOLD_TO_WAIT:
		rc = weir_ring_recv(ctx, rx, &obj, 1);
		if (rc != WEIR_PENDING)
			return -EPROTO;
		break;
	case TOLD_TO_GIVE_UP:
		weir_source_cancel(weir_ring_rx_source(rx));
		break;
	default:
		return WEIR_DONE;
	}
	weir_waker_drop(atomic_ptr_exchange(f->waker, weir_context_waker(ctx),
					    ACQ_REL));
	return WEIR_PENDING;
}

/* Another ring in place of the one that setup() made. */
static void
change_ring(unsigned int flags, unsigned int rx_flags)
{
	weir_ring_rx_free(rx);
	weir_ring_tx_free(tx);
	rte_ring_free(ring);
	ring = rte_ring_create("test", SMALL, SOCKET_ID_ANY, flags);
	assert_non_null(ring);
	rx = open_rx(last_worker(), rx_flags);
	tx = open_tx(last_worker());
}

static void
await_armed(struct weir_source *source)
{
	rig_wait_until(rig_get(&source->armed));
}

/* A task waits, and the worker looks again and again. */
static void
await_polls(struct weir_source *source)
{
	struct weir_source_stats before, now;

	weir_source_stats_get(source, &before);
	rig_wait_until((weir_source_stats_get(source, &now),
			now.polls > before.polls));
}

static void
await_waits(uint32_t n)
{
	rig_wait_until(rig_get(&waits) >= n);
}

static void
post(uint32_t first, uint32_t end)
{
	void *obj;

	for (; first < end; first++) {
		obj = message(first);
		rig_wait_until(weir_ring_post_burst(rx, &obj, 1) == 1);
	}
}

static void
posted_messages_arrive_in_order(void **state)
{
	struct weir_join *join = spawn_taker(rx, 1, MESSAGES);

	await_waits(1);
	post(1, MESSAGES);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_true(rte_ring_empty(ring));
}

static void
burst_is_posted_as_far_as_there_is_room(void **state)
{
	struct weir_join *join;
	void *objs[SMALL];
	uint32_t i;

	for (i = 0; i < SMALL; i++)
		objs[i] = message(i + 1);
	assert_int_equal(weir_ring_post_burst(rx, objs, 10), 10);
	assert_int_equal(weir_ring_post_burst(rx, objs + 10, 6), 5);
	assert_int_equal(weir_ring_post_burst(rx, objs, 1), 0);
	join = spawn_taker(rx, 1, SMALL);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_get(&waits), 0);
}

static void
post_wakes_a_worker_that_sleeps(void **state)
{
	struct weir_join *join = spawn_taker(rx, 1, 101);
	uint32_t i;

	for (i = 1; i <= 100; i++) {
		await_waits(i);
		rig_wait_until(kernel_all_asleep(rig.rt));
		post(i, i + 1);
	}
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
notify_wakes_a_worker_that_sleeps(void **state)
{
	struct weir_join *join = spawn_taker(rx, 1, 101);
	uint32_t i;

	for (i = 1; i <= 100; i++) {
		await_waits(i);
		rig_wait_until(kernel_all_asleep(rig.rt));
		assert_int_equal(rte_ring_enqueue(ring, message(i)), 0);
		weir_ring_notify(rx);
	}
	assert_int_equal(rig_join(join, NULL), 0);
}

/* As by another process: nobody calls. */
static void
ring_whose_producers_do_not_notify_is_polled(void **state)
{
	struct weir_join *join;
	uint32_t i;

	change_ring(0, 0);
	join = spawn_taker(rx, 1, 101);
	for (i = 1; i <= 100; i++) {
		await_waits(i);
		await_polls(weir_ring_rx_source(rx));
		kernel_await_awake(rig.rt, last_worker());
		assert_int_equal(rte_ring_enqueue(ring, message(i)), 0);
	}
	assert_int_equal(rig_join(join, NULL), 0);
}

/* Others can wait, the worker can sleep, and nobody else's wait ends by it. */
static void
wait_that_is_given_up_leaves_its_place(void **state)
{
	const struct weir_task_ops ops = {
		.name = "fickle",
		.state_size = sizeof(struct fickle),
		.poll = fickle_poll,
	};
	struct atomic_u32 told = { TOLD_TO_WAIT };
	struct atomic_ptr waker = { 0 };
	const struct fickle s = { &told, &waker };
	struct weir_join *join, *other;
	struct weir_source *source;
	struct weir_waker *w;

	change_ring(0, 0);
	source = weir_ring_rx_source(rx);
	join = weir_task_spawn(rig.rt, &ops, &s, NULL);
	w = rig_take_waker(&waker);
	assert_int_equal(rig_get(&source->armed), 1);
	rig_set(&told, TOLD_TO_GIVE_UP);
	weir_waker_wake(w);
	w = rig_take_waker(&waker);
	assert_int_equal(rig_get(&source->armed), 0);
	rig_wait_until(kernel_asleep(rig.rt, last_worker()));
	other = spawn_taker(rx, 1, 2);
	await_armed(source);
	weir_waker_wake(w);
	w = rig_take_waker(&waker);
	assert_int_equal(rig_get(&source->armed), 1);
	assert_int_equal(rte_ring_enqueue(ring, message(1)), 0);
	assert_int_equal(rig_join(other, NULL), 0);
	/* Nor is there anything to give up outside of a task. */
	weir_source_cancel(source);
	rig_set(&told, TOLD_TO_END);
	weir_waker_wake(w);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
sender_waits_while_the_ring_is_full(void **state)
{
	struct weir_join *join = spawn_giver(tx, 1, MESSAGES);
	void *obj;
	uint32_t i;

	await_waits(1);
	assert_true(rte_ring_full(ring));
	await_polls(weir_ring_tx_source(tx));
	kernel_await_awake(rig.rt, last_worker());
	for (i = 1; i < MESSAGES; i++) {
		rig_wait_until(rte_ring_dequeue(ring, &obj) == 0);
		assert_ptr_equal(obj, message(i));
	}
	assert_int_equal(rig_join(join, NULL), 0);
	assert_true(rte_ring_empty(ring));
}

/* One producer, one consumer, and tasks that go from worker to worker. */
static void
tasks_send_to_each_other_in_order(void **state)
{
	struct weir_join *from = spawn_giver(tx, 1, MESSAGES), *to;

	/* What tasks send is not notified. */
	weir_ring_rx_free(rx);
	rx = open_rx(0, 0);
	to = spawn_taker(rx, 1, MESSAGES);
	assert_int_equal(rig_join(from, NULL), 0);
	assert_int_equal(rig_join(to, NULL), 0);
}

#define MANY 3u

/* Which messages are whose. */
static uint32_t
share_of(uint32_t i, uint32_t of)
{
	return 1 + i * ((MESSAGES - 1) / of);
}

static struct atomic_u32 posters;

static void *
post_share(void *arg)
{
	uint32_t i = atomic_u32_fetch_add(&posters, 1, RELAXED);

	post(share_of(i, 2 * MANY), share_of(i + 1, 2 * MANY));
	return NULL;
}

/* Plain threads and tasks send, tasks of all workers receive. */
static void
every_message_is_received_once(void **state)
{
	const uint32_t all = share_of(2 * MANY, 2 * MANY) - 1;
	struct weir_ring_tx *txs[MANY];
	struct weir_ring_rx *rxs[MANY];
	struct weir_join *in[MANY], *out[MANY];
	uint32_t i;
	int rc;

	change_ring(RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ, 0);
	rig_set(&posters, 0);
	for (i = 0; i < MANY; i++) {
		txs[i] = open_tx(i % (last_worker() + 1));
		rxs[i] = open_rx(i % (last_worker() + 1), 0);
		in[i] = spawn_taker(rxs[i], 0, all);
		out[i] = spawn_giver(txs[i], share_of(MANY + i, 2 * MANY),
				     share_of(MANY + i + 1, 2 * MANY));
	}
	rig_threads(MANY, post_share, NULL);
	for (i = 0; i < MANY; i++)
		assert_int_equal(rig_join(out[i], NULL), 0);
	rig_wait_until(rig_get(&moved) == all);
	/* Some may wait for what the others have taken. */
	for (i = 0; i < MANY; i++) {
		weir_source_close(weir_ring_rx_source(rxs[i]), ECANCELED);
		rc = rig_join(in[i], NULL);
		assert_true(rc == 0 || rc == -ECANCELED);
		weir_ring_rx_free(rxs[i]);
		weir_ring_tx_free(txs[i]);
	}
	for (i = 1; i <= all; i++)
		assert_int_equal(rig_get(&seen[i]), 1);
}

static void
closed_receiver_says_so_behind_what_was_there(void **state)
{
	struct weir_join *join = spawn_taker(rx, 1, 3);

	await_waits(1);
	weir_source_close(weir_ring_rx_source(rx), ENODEV);
	assert_int_equal(rig_join(join, NULL), -ENODEV);
	post(1, 3);
	assert_int_equal(rig_join(spawn_taker(rx, 1, 3), NULL), 0);
	assert_int_equal(rig_join(spawn_taker(rx, 1, 3), NULL), -ENODEV);
}

static void
closed_sender_sends_nothing_more(void **state)
{
	struct weir_join *join = spawn_giver(tx, 1, 2 * SMALL);
	unsigned int count = SMALL - 1;

	await_waits(1);
	weir_source_close(weir_ring_tx_source(tx), EPIPE);
	assert_int_equal(rig_join(join, NULL), -EPIPE);
	rte_ring_reset(ring);
	assert_int_equal(rig_join(spawn_giver(tx, 1, 2), NULL), -EPIPE);
	assert_int_equal(rte_ring_free_count(ring), count);
}

static void
alert_is_told_once(void **state)
{
	struct weir_join *join = spawn_taker(rx, 1, 2);

	await_waits(1);
	weir_source_alert(weir_ring_rx_source(rx), EINTR);
	assert_int_equal(rig_join(join, NULL), -EINTR);
	join = spawn_taker(rx, 1, 2);
	await_waits(2);
	post(1, 2);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
second_waiter_is_refused(void **state)
{
	struct weir_join *to = spawn_taker(rx, 1, SMALL), *from;
	void *obj;

	await_waits(1);
	await_armed(weir_ring_rx_source(rx));
	assert_int_equal(rig_join(spawn_taker(rx, 1, 2), NULL), -EBUSY);
	post(1, SMALL);
	assert_int_equal(rig_join(to, NULL), 0);
	from = spawn_giver(tx, 1, SMALL + 1);
	await_armed(weir_ring_tx_source(tx));
	assert_int_equal(rig_join(spawn_giver(tx, 1, 2), NULL), -EBUSY);
	rig_wait_until(rte_ring_dequeue(ring, &obj) == 0);
	assert_int_equal(rig_join(from, NULL), 0);
}

/* R2 */
static void
cancelled_waiter_leaves_what_comes_in_the_ring(void **state)
{
	struct weir_join *join = spawn_taker(rx, 1, 2);

	await_waits(1);
	await_armed(weir_ring_rx_source(rx));
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	post(1, 2);
	assert_int_equal(rte_ring_count(ring), 1);
	assert_int_equal(rig_join(spawn_taker(rx, 1, 2), NULL), 0);
}

static void
neighbour_polls_for_a_worker_that_is_stuck(void **state)
{
	struct weir_source_stats stats;
	struct rig_blockers b;
	struct weir_join *join;

	join = spawn_taker(rx, 1, 2);
	await_waits(1);
	await_armed(weir_ring_rx_source(rx));
	/* One that sleeps long has no end here to its sleep. */
	assert_int_equal(weir_worker_park_set(rig.rt, 0, WEIR_PARK_POLL), 0);
	rig_block_some(&b, rig.rt, 1u << last_worker());
	post(1, 2);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_source_stats_get(weir_ring_rx_source(rx), &stats);
	assert_int_equal(stats.rescues, 1);
	rig_unblock(&b);
}

static void
sources_move_and_workers_go_while_messages_come(void **state)
{
	struct weir_join *to = spawn_taker(rx, 1, MESSAGES);
	uint32_t i, n = last_worker() + 1;

	for (i = 1; i < MESSAGES; i++) {
		if (i % 100 == 0)
			assert_int_equal(
				weir_source_move(weir_ring_rx_source(rx),
						 rig.rt, i / 100 % n),
				0);
		if (i == MESSAGES / 2) {
			assert_int_equal(
				weir_source_move(weir_ring_rx_source(rx),
						 rig.rt, 1),
				0);
			assert_int_equal(weir_worker_retire(rig.rt, 1, 0), 0);
			n = 1;
		}
		post(i, i + 1);
	}
	assert_int_equal(rig_join(to, NULL), 0);
	assert_int_equal(weir_source_worker(weir_ring_rx_source(rx)), 0);
}

static void
shutdown_ends_the_waiter_and_leaves_the_ring(void **state)
{
	struct weir_join *to = spawn_taker(rx, 1, 2);
	struct weir_join *from = spawn_giver(tx, 1, 2 * SMALL);
	int rc;

	rig_wait_until(rig_get(&moved) > 0 || rig_get(&waits) > 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	rc = rig_join(to, NULL);
	assert_true(rc == 0 || rc == -ECANCELED);
	rc = rig_join(from, NULL);
	assert_true(rc == 0 || rc == -ECANCELED);
	rte_ring_reset(ring);
	post(1, 3);
	assert_int_equal(rte_ring_count(ring), 2);
	rte_errno = 0;
	assert_null(weir_ring_rx_create(rig.rt, ring, 0, 0));
	assert_int_equal(rte_errno, ESHUTDOWN);
	rte_errno = 0;
	assert_null(weir_ring_tx_create(rig.rt, ring, 0));
	assert_int_equal(rte_errno, ESHUTDOWN);
}

static int
ask_for_nothing(struct weir_context *ctx, void *state)
{
	void *obj = NULL;

	if (weir_ring_recv(ctx, rx, &obj, 0) != -EINVAL ||
	    weir_ring_send(ctx, tx, &obj, 0) != -EINVAL)
		return -EPROTO;
	return WEIR_DONE;
}

static void
bad_arguments_are_refused(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "ask for nothing",
		.poll = ask_for_nothing,
	};
	unsigned int none = last_worker() + 1;

	rte_errno = 0;
	assert_null(weir_ring_rx_create(rig.rt, ring, none, 0));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_ring_rx_create(rig.rt, NULL, 0, 0));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_ring_rx_create(rig.rt, ring, 0, 2));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_ring_tx_create(rig.rt, ring, none));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(weir_ring_tx_create(rig.rt, NULL, 0));
	assert_int_equal(rte_errno, EINVAL);
	weir_ring_rx_free(NULL);
	weir_ring_tx_free(NULL);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, NULL), 0);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2), TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(posted_messages_arrive_in_order),
		TEST(burst_is_posted_as_far_as_there_is_room, 2),
		TESTS(post_wakes_a_worker_that_sleeps),
		TESTS(notify_wakes_a_worker_that_sleeps),
		TESTS(ring_whose_producers_do_not_notify_is_polled),
		TESTS(wait_that_is_given_up_leaves_its_place),
		TESTS(sender_waits_while_the_ring_is_full),
		TESTS(tasks_send_to_each_other_in_order),
		TESTS(every_message_is_received_once),
		TESTS(closed_receiver_says_so_behind_what_was_there),
		TESTS(closed_sender_sends_nothing_more),
		TESTS(alert_is_told_once),
		TESTS(second_waiter_is_refused),
		TESTS(cancelled_waiter_leaves_what_comes_in_the_ring),
		TEST(neighbour_polls_for_a_worker_that_is_stuck, 2),
		TEST(sources_move_and_workers_go_while_messages_come, 2),
		TESTS(shutdown_ends_the_waiter_and_leaves_the_ring),
		TEST(bad_arguments_are_refused, 2),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
