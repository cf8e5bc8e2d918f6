/* SPDX-License-Identifier: BSD-3-Clause */

/* Channels and oneshots. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cycles.h"
#include "base/rand.h"
#include "sync/oneshot.h"
#include "waiter.h"

static struct weir_sender *tx;
static struct weir_receiver *rx;
static struct atomic_u32 dropped;

static void
count_drop(void *value)
{
	assert_int_equal((uintptr_t)value % 16, 0);
	rig_add(&dropped, *(uint32_t *)value);
}

static void
open_channel(size_t capacity, size_t size)
{
	rig_set(&dropped, 0);
	assert_int_equal(
		weir_channel_create(capacity, size, count_drop, &tx, &rx), 0);
}

/* What one waiter sends or receives. */
struct letter {
	uint64_t value;
	struct weir_sender *tx;
	struct weir_receiver *rx;
};

static int
send_letter(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;

	return weir_send(ctx, l->tx, &l->value, wait);
}

static int
recv_letter(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;

	return weir_recv(ctx, l->rx, &l->value, wait);
}

static void
values_come_in_order(void **state)
{
	uint64_t i, v;

	open_channel(4, sizeof(v));
	for (i = 0; i < 4; i++)
		assert_int_equal(weir_try_send(tx, &i), 0);
	assert_int_equal(weir_try_send(tx, &i), -EAGAIN);
	assert_int_equal(weir_receiver_len(rx), 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(weir_try_recv(rx, &v), 0);
		assert_int_equal(v, i);
	}
	assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
	weir_sender_drop(tx);
	assert_int_equal(weir_try_recv(rx, &v), -EPIPE);
	weir_receiver_drop(rx);
}

static void
bursts_take_what_fits(void **state)
{
	uint16_t in[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, out[8];

	open_channel(5, sizeof(in[0]));
	assert_int_equal(weir_send_burst(NULL, tx, in, 8, NULL), 5);
	assert_int_equal(weir_recv_burst(NULL, rx, out, 3, NULL), 3);
	assert_int_equal(weir_send_burst(NULL, tx, in + 5, 3, NULL), 3);
	assert_int_equal(weir_recv_burst(NULL, rx, out + 3, 8, NULL), 5);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(weir_send_burst(NULL, tx, in, 0, NULL), -EINVAL);
	assert_int_equal(weir_recv_burst(NULL, rx, out, 0, NULL), -EINVAL);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

/* Between numbers sent one by one: what else changes how many fit. */
static int
send_by_turns(struct weir_context *ctx, void *state)
{
	static struct weir_wait wait;
	const uint64_t values[5] = { 0 };
	uint64_t value;

	memset(&wait, 0, sizeof(wait));
	if (weir_send(ctx, tx, values, &wait) != 0 ||
	    weir_try_recv(rx, &value) != 0 ||
	    weir_send_burst(ctx, tx, values, 5, &wait) != 4 ||
	    weir_send(ctx, tx, values, &wait) != WEIR_PENDING)
		return 1;
	weir_wait_cancel(&wait);
	if (weir_try_recv(rx, &value) != 0 || weir_try_recv(rx, &value) != 0 ||
	    weir_send(ctx, tx, values, &wait) != 0)
		return 2;
	weir_receiver_close(rx);
	return weir_send(ctx, tx, values, &wait) == -EPIPE ? 0 : 3;
}

static const struct weir_task_ops by_turns_ops = {
	.name = "by_turns",
	.poll = send_by_turns,
};

static void
one_by_one_no_more_than_fit(void **state)
{
	open_channel(4, sizeof(uint64_t));
	assert_int_equal(
		rig_join(weir_task_spawn(rig.rt, &by_turns_ops, NULL, NULL),
			 NULL),
		0);
	assert_int_equal(weir_receiver_len(rx), 3);
	weir_receiver_drop(rx);
	weir_sender_drop(tx);
}

static void
one_by_one_wakes_who_waits(void **state)
{
	struct letter from = { 0 }, to = { 0 };
	struct weir_join *join;
	uint64_t v;

	open_channel(4, sizeof(v));
	from.tx = tx;
	to.rx = rx;
	from.value = 1;
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, send_letter, &from)),
			 0);
	assert_int_equal(weir_try_recv(rx, &v), 0);
	join = waiter_spawn(rig.rt, recv_letter, &to);
	waiter_wait_for(tx, 1);
	from.value = 2;
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, send_letter, &from)),
			 0);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(to.value, 2);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

/* Both ends of a burst's stretch of the ring meet each place of it. */
static void
bursts_go_round(void **state)
{
	static const size_t sizes[] = { 1, 3, 8, 24 };
	uint8_t sent[5 * 24], got[5 * 24];
	unsigned int i, k, n, turn;
	size_t size;

	for (i = 0; i < RTE_DIM(sizes); i++) {
		size = sizes[i];
		assert_int_equal(weir_channel_create(5, size, NULL, &tx, &rx),
				 0);
		for (turn = 0; turn < 60; turn++) {
			n = 1 + turn % 5;
			for (k = 0; k < n * size; k++)
				sent[k] = (uint8_t)(turn * 31 + k);
			assert_int_equal(
				weir_send_burst(NULL, tx, sent, n, NULL), n);
			/* In two parts, the first of one value. */
			assert_int_equal(weir_recv(NULL, rx, got, NULL), 0);
			if (n > 1)
				assert_int_equal(weir_recv_burst(NULL, rx,
								 got + size, 5,
								 NULL),
						 n - 1);
			assert_memory_equal(got, sent, n * size);
			assert_int_equal(weir_receiver_len(rx), 0);
		}
		weir_sender_drop(tx);
		weir_receiver_drop(rx);
	}
}

static void
numbers_that_make_no_sense_are_refused(void **state)
{
	assert_int_equal(weir_channel_create(0, 8, NULL, &tx, &rx), -EINVAL);
	assert_int_equal(weir_channel_create(1, 0, NULL, &tx, &rx), -EINVAL);
	assert_int_equal(weir_channel_create(1, WEIR_CHANNEL_SIZE_MAX + 1, NULL,
					     &tx, &rx),
			 -EINVAL);
	assert_int_equal(weir_channel_create(WEIR_CHANNEL_CAPACITY_MAX + 1, 8,
					     NULL, &tx, &rx),
			 -EINVAL);
	/* No machine has that. */
	assert_int_equal(weir_channel_create(WEIR_CHANNEL_CAPACITY_MAX,
					     WEIR_CHANNEL_SIZE_MAX, NULL, &tx,
					     &rx),
			 -ENOMEM);
	weir_sender_drop(NULL);
	weir_receiver_drop(NULL);
}

static void
unbounded_channel_grows_and_shrinks(void **state)
{
	uint32_t i, v, round;

	open_channel(WEIR_CHANNEL_UNBOUNDED, sizeof(i));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 3000; i++)
			assert_int_equal(weir_try_send(tx, &i), 0);
		for (i = 0; i < 3000; i++) {
			assert_int_equal(weir_try_recv(rx, &v), 0);
			assert_int_equal(v, i);
		}
	}
	for (i = 0; i < 1000; i++)
		assert_int_equal(weir_try_send(tx, &(uint32_t){ 1 }), 0);
	weir_receiver_drop(rx);
	assert_int_equal(rig_get(&dropped), 1000);
	assert_int_equal(weir_try_send(tx, &i), -EPIPE);
	weir_sender_drop(tx);
}

static void
senders_wait_for_room_in_their_order(void **state)
{
	struct letter a = { .value = 2 }, b = { .value = 3 };
	uint64_t one = 1, v;
	struct weir_join *join_a, *join_b;

	open_channel(1, sizeof(v));
	a.tx = b.tx = tx;
	assert_int_equal(weir_try_send(tx, &one), 0);
	join_a = waiter_spawn(rig.rt, send_letter, &a);
	waiter_wait_for(tx, 1);
	join_b = waiter_spawn(rig.rt, send_letter, &b);
	waiter_wait_for(tx, 2);
	assert_int_equal(weir_try_recv(rx, &v), 0);
	assert_int_equal(v, 1);
	/* The place is promised. */
	assert_int_equal(weir_try_send(tx, &one), -EAGAIN);
	assert_int_equal(waiter_join(join_a), 0);
	assert_int_equal(weir_recv(NULL, rx, &v, NULL), 0);
	assert_int_equal(v, 2);
	assert_int_equal(waiter_join(join_b), 0);
	assert_int_equal(weir_recv(NULL, rx, &v, NULL), 0);
	assert_int_equal(v, 3);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

#define PARCEL 10u

/* Values of which one call sends all. */
struct parcel {
	struct weir_sender *tx;
	uint32_t sent;
	uint64_t values[PARCEL];
};

static void
fill(struct parcel *p)
{
	uint64_t i;

	p->tx = tx;
	p->sent = 0;
	for (i = 0; i < PARCEL; i++)
		p->values[i] = i;
}

static int
send_parcel(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct parcel *p = what;

	return weir_send_all(ctx, p->tx, p->values, PARCEL, &p->sent, wait);
}

static void
receive_parcel(void)
{
	uint64_t i, v;

	for (i = 0; i < PARCEL; i++) {
		assert_int_equal(weir_recv(NULL, rx, &v, NULL), 0);
		assert_int_equal(v, i);
	}
	assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
}

static void
all_of_a_burst_is_sent(void **state)
{
	static const size_t capacities[] = { 1, 3, PARCEL,
					     WEIR_CHANNEL_UNBOUNDED };
	struct waiter_thread *thread;
	struct weir_join *join;
	struct parcel p;
	unsigned int i;

	for (i = 0; i < RTE_DIM(capacities); i++) {
		open_channel(capacities[i], sizeof(uint64_t));
		fill(&p);
		join = waiter_spawn(rig.rt, send_parcel, &p);
		receive_parcel();
		assert_int_equal(waiter_join(join), 0);
		assert_int_equal(p.sent, PARCEL);
		fill(&p);
		thread = waiter_thread_start(send_parcel, &p);
		receive_parcel();
		assert_int_equal(waiter_thread_join(thread), 0);
		assert_int_equal(p.sent, PARCEL);
		weir_receiver_drop(rx);
		/* There is nothing left that it could refuse. */
		assert_int_equal(send_parcel(NULL, &p, NULL), 0);
		weir_sender_drop(tx);
	}
}

static void
who_gives_up_knows_what_was_sent(void **state)
{
	struct weir_join *join;
	struct parcel p;
	uint64_t i, v;

	open_channel(4, sizeof(v));
	fill(&p);
	join = waiter_spawn(rig.rt, send_parcel, &p);
	waiter_wait_for(tx, 1);
	for (i = 0; i < 2; i++) {
		assert_int_equal(weir_try_recv(rx, &v), 0);
		assert_int_equal(v, i);
	}
	waiter_abort(join);
	assert_uint_in_range(p.sent, 4, 6);
	for (; i < p.sent; i++) {
		assert_int_equal(weir_try_recv(rx, &v), 0);
		assert_int_equal(v, i);
	}
	assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
end_tells_what_was_sent(void **state)
{
	struct waiter_thread *thread;
	struct weir_join *join;
	struct parcel p, q;

	open_channel(4, sizeof(uint64_t));
	fill(&p);
	join = waiter_spawn(rig.rt, send_parcel, &p);
	waiter_wait_for(tx, 1);
	fill(&q);
	thread = waiter_thread_start(send_parcel, &q);
	waiter_wait_for(tx, 2);
	weir_receiver_close(rx);
	assert_int_equal(waiter_join(join), -EPIPE);
	assert_int_equal(waiter_thread_join(thread), -EPIPE);
	assert_int_equal(p.sent, 4);
	assert_int_equal(q.sent, 0);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
receivers_wait_in_their_order(void **state)
{
	struct letter a = { 0 }, b = { 0 };
	struct weir_join *join_a, *join_b;
	uint64_t v = 1;

	open_channel(4, sizeof(v));
	a.rx = b.rx = rx;
	join_a = waiter_spawn(rig.rt, recv_letter, &a);
	waiter_wait_for(tx, 1);
	join_b = waiter_spawn(rig.rt, recv_letter, &b);
	waiter_wait_for(tx, 2);
	assert_int_equal(weir_try_send(tx, &v), 0);
	assert_int_equal(waiter_join(join_a), 0);
	assert_int_equal(a.value, 1);
	v = 2;
	assert_int_equal(weir_try_send(tx, &v), 0);
	assert_int_equal(waiter_join(join_b), 0);
	assert_int_equal(b.value, 2);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
receiver_that_gives_up_loses_no_value(void **state)
{
	struct letter a = { 0 };
	struct rig_blockers blockers;
	struct weir_join *join;
	uint64_t v = 7;

	open_channel(1, sizeof(v));
	a.rx = rx;
	join = waiter_spawn(rig.rt, recv_letter, &a);
	waiter_wait_for(tx, 1);
	rig_block(&blockers, rig.rt);
	assert_int_equal(weir_try_send(tx, &v), 0);
	/* It is promised to the task, and others do not get it. */
	assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
	weir_join_abort(join);
	rig_unblock(&blockers);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	v = 0;
	assert_int_equal(weir_try_recv(rx, &v), 0);
	assert_int_equal(v, 7);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
sender_that_gives_up_has_sent_nothing(void **state)
{
	struct letter a = { .value = 2 };
	struct rig_blockers blockers;
	struct weir_join *join;
	uint64_t v = 1;

	open_channel(1, sizeof(v));
	a.tx = tx;
	assert_int_equal(weir_try_send(tx, &v), 0);
	join = waiter_spawn(rig.rt, send_letter, &a);
	waiter_wait_for(tx, 1);
	rig_block(&blockers, rig.rt);
	assert_int_equal(weir_try_recv(rx, &v), 0);
	weir_join_abort(join);
	rig_unblock(&blockers);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
	assert_int_equal(weir_try_send(tx, &v), 0);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
	assert_int_equal(rig_get(&dropped), 1);
}

static void
bursts_that_do_not_wait_take_what_is_there(void **state)
{
	uint16_t in[20] = { 1, 2, 3, 4, 5, 6, 7, 8 }, out[20];
	uint16_t i;

	open_channel(5, sizeof(in[0]));
	assert_int_equal(weir_try_send_burst(tx, in, 0), -EINVAL);
	assert_int_equal(weir_try_recv_burst(rx, out, 0), -EINVAL);
	assert_int_equal(weir_try_recv_burst(rx, out, 8), -EAGAIN);
	assert_int_equal(weir_try_send_burst(tx, in, 8), 5);
	assert_int_equal(weir_try_send_burst(tx, in + 5, 3), -EAGAIN);
	assert_int_equal(weir_try_recv_burst(rx, out, 3), 3);
	assert_int_equal(weir_try_send_burst(tx, in + 5, 8), 3);
	weir_sender_drop(tx);
	assert_int_equal(weir_try_recv_burst(rx, out + 3, 8), 5);
	assert_memory_equal(in, out, 8 * sizeof(in[0]));
	assert_int_equal(weir_try_recv_burst(rx, out, 8), -EPIPE);
	weir_receiver_drop(rx);
	for (i = 0; i < RTE_DIM(in); i++)
		in[i] = i;
	/* Of so many at once the two sides part, and come together in vain. */
	open_channel(20, sizeof(in[0]));
	assert_int_equal(weir_try_send_burst(tx, in, 20), 20);
	assert_int_equal(weir_try_recv_burst(rx, out, 10), 10);
	assert_int_equal(weir_try_send_burst(tx, in, 20), 10);
	/* Those that it had seen, and those that came since. */
	assert_int_equal(weir_try_recv_burst(rx, out, 20), 20);
	assert_memory_equal(out + 10, in, 10 * sizeof(in[0]));
	assert_int_equal(weir_try_recv_burst(rx, out, 20), -EAGAIN);
	weir_receiver_drop(rx);
	assert_int_equal(weir_try_send_burst(tx, in, 8), -EPIPE);
	weir_sender_drop(tx);
}

/* Its blocks hold fewer. */
static void
bursts_that_do_not_wait_fill_an_unbounded_channel(void **state)
{
	static uint64_t in[1000], out[RTE_DIM(in)];
	const unsigned int n = RTE_DIM(in);
	unsigned int i;

	for (i = 0; i < n; i++)
		in[i] = i;
	open_channel(WEIR_CHANNEL_UNBOUNDED, sizeof(in[0]));
	assert_int_equal(weir_try_send_burst(tx, in, 250), 250);
	assert_int_equal(weir_try_send_burst(tx, in + 250, 10), 10);
	assert_int_equal(weir_try_send_burst(tx, in + 260, n - 260), n - 260);
	assert_int_equal(weir_try_recv_burst(rx, out, n), n);
	assert_memory_equal(in, out, sizeof(in));
	weir_receiver_drop(rx);
	assert_int_equal(weir_try_send_burst(tx, in, n), -EPIPE);
	weir_sender_drop(tx);
}

static void
bursts_that_do_not_wait_leave_what_is_promised(void **state)
{
	const uint64_t values[3] = { 1, 2, 3 };
	struct rig_blockers blockers;
	struct letter a = { 0 };
	struct weir_join *join;
	uint64_t out[3];

	open_channel(3, sizeof(values[0]));
	a.rx = rx;
	join = waiter_spawn(rig.rt, recv_letter, &a);
	waiter_wait_for(tx, 1);
	rig_block(&blockers, rig.rt);
	assert_int_equal(weir_try_send_burst(tx, values, 3), 3);
	assert_int_equal(weir_try_recv_burst(rx, out, 3), 2);
	assert_int_equal(weir_try_recv_burst(rx, out, 3), -EAGAIN);
	rig_unblock(&blockers);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(out[0] + out[1] + a.value, 6);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
last_sender_ends_the_channel(void **state)
{
	struct letter a[3] = { 0 };
	struct weir_sender *second;
	struct weir_join *joins[3];
	uint64_t v = 9;
	unsigned int i;

	open_channel(4, sizeof(v));
	second = weir_sender_clone(tx);
	weir_sender_drop(tx);
	assert_int_equal(weir_try_send(second, &v), 0);
	assert_int_equal(weir_recv(NULL, rx, &v, NULL), 0);
	for (i = 0; i < 3; i++) {
		a[i].rx = rx;
		joins[i] = waiter_spawn(rig.rt, recv_letter, &a[i]);
	}
	waiter_wait_for(rx, 3);
	assert_int_equal(weir_try_send(second, &v), 0);
	weir_sender_drop(second);
	/* One of them has got it. */
	v = 0;
	for (i = 0; i < 3; i++) {
		int rc = waiter_join(joins[i]);

		assert_true(rc == 0 || rc == -EPIPE);
		v += a[i].value;
	}
	assert_int_equal(v, 9);
	weir_receiver_drop(rx);
}

/* Waits at one side, and uses the wait for the other when it has its turn. */
static int
turn_round(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;
	uint64_t v = 1;

	assert_int_equal(weir_recv(ctx, rx, &l->value, wait), WEIR_PENDING);
	assert_int_equal(weir_send(ctx, tx, &v, wait), -EBUSY);
	assert_int_equal(weir_try_send(tx, &v), 0);
	assert_int_equal(weir_send(ctx, tx, &v, wait), -EBUSY);
	assert_int_equal(weir_recv(ctx, rx, &l->value, wait), 0);
	assert_int_equal(l->value, 1);
	for (v = 2; v < 4; v++)
		assert_int_equal(weir_send(ctx, tx, &v, wait),
				 v == 2 ? 0 : WEIR_PENDING);
	v = 3;
	assert_int_equal(weir_recv(ctx, rx, &l->value, wait), -EBUSY);
	assert_int_equal(weir_try_recv(rx, &l->value), 0);
	assert_int_equal(weir_recv(ctx, rx, &l->value, wait), -EBUSY);
	return weir_send(ctx, tx, &v, wait);
}

static void
wait_is_for_one_side_at_a_time(void **state)
{
	struct letter l = { 0 };
	uint64_t v;

	open_channel(1, sizeof(v));
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, turn_round, &l)), 0);
	assert_int_equal(l.value, 2);
	assert_int_equal(weir_try_recv(rx, &v), 0);
	assert_int_equal(v, 3);
	assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static int
send_letters(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;

	return weir_send_burst(ctx, l->tx, &l->value, 1, wait);
}

static int
send_all_letters(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;
	uint32_t sent = 0;

	return weir_send_all(ctx, l->tx, &l->value, 1, &sent, wait);
}

static int
recv_letters(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;

	return weir_recv_burst(ctx, l->rx, &l->value, 1, wait);
}

static void
workers_may_not_block_nor_waits_be_used_twice(void **state)
{
	static const waiter_call calls[] = { send_letter, send_letters,
					     send_all_letters, recv_letter,
					     recv_letters };
	struct letter l = { .value = 7 };
	uint64_t v = 1;
	unsigned int i;

	open_channel(1, sizeof(v));
	l.tx = tx;
	l.rx = rx;
	/* Receivers would wait, but not senders. */
	for (i = 0; i < RTE_DIM(calls); i++)
		waiter_check_refusals(rig.rt, calls[i], &l);
	assert_int_equal(weir_receiver_len(rx), 0);
	/* The other way round. */
	assert_int_equal(weir_try_send(tx, &v), 0);
	for (i = 0; i < RTE_DIM(calls); i++)
		waiter_check_refusals(rig.rt, calls[i], &l);
	assert_int_equal(weir_receiver_len(rx), 1);
	assert_int_equal(waiters(rx), 0);
	assert_int_equal(l.value, 7);
	assert_int_equal(weir_try_recv(rx, &v), 0);
	assert_int_equal(v, 1);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
drop_sender(void)
{
	weir_sender_drop(tx);
}

static void
close_receiver(void)
{
	weir_receiver_close(rx);
	weir_sender_drop(tx);
}

/* The last value is promised to the first of two, who cannot come for it yet. */
static void
end_with_a_promise(void (*end)(void), struct rig_blockers *b, struct letter *a,
		   struct weir_join **joins)
{
	uint64_t v = 7;
	unsigned int i;

	open_channel(4, sizeof(v));
	for (i = 0; i < 2; i++) {
		a[i] = (struct letter){ .rx = rx };
		joins[i] = waiter_spawn(rig.rt, recv_letter, &a[i]);
		waiter_wait_for(rx, i + 1);
	}
	rig_block(b, rig.rt);
	assert_int_equal(weir_try_send(tx, &v), 0);
	end();
	assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
}

static void
end_comes_behind_what_was_promised(void **state)
{
	void (*const ends[])(void) = { drop_sender, close_receiver };
	struct waiter_thread *thread;
	struct weir_join *joins[2];
	struct rig_blockers b;
	struct letter a[3];
	unsigned int i;

	for (i = 0; i < RTE_DIM(ends); i++) {
		/* It is given up, and is for the next. */
		end_with_a_promise(ends[i], &b, a, joins);
		weir_join_abort(joins[0]);
		rig_unblock(&b);
		assert_int_equal(rig_join(joins[0], NULL), -ECANCELED);
		assert_int_equal(waiter_join(joins[1]), 0);
		assert_int_equal(a[1].value, 7);
		assert_int_equal(weir_try_recv(rx, &a[1].value), -EPIPE);
		weir_receiver_drop(rx);
		/* It is taken, and there will be none for the others. */
		end_with_a_promise(ends[i], &b, a, joins);
		a[2] = a[1];
		thread = waiter_thread_start(recv_letter, &a[2]);
		waiter_wait_for(rx, 2);
		rig_unblock(&b);
		assert_int_equal(waiter_join(joins[0]), 0);
		assert_int_equal(a[0].value, 7);
		assert_int_equal(waiter_join(joins[1]), -EPIPE);
		assert_int_equal(waiter_thread_join(thread), -EPIPE);
		weir_receiver_drop(rx);
	}
	assert_int_equal(rig_get(&dropped), 0);
}

static void
close_wakes_every_waiter(void **state)
{
	struct letter a[40] = { 0 };
	struct waiter_thread *thread;
	struct weir_join *joins[40];
	uint64_t v = 1;
	unsigned int i;

	open_channel(1, sizeof(v));
	assert_int_equal(weir_try_send(tx, &v), 0);
	for (i = 0; i < RTE_DIM(a); i++) {
		a[i].tx = tx;
		joins[i] = waiter_spawn(rig.rt, send_letter, &a[i]);
	}
	thread = waiter_thread_start(send_letter, &a[0]);
	waiter_wait_for(tx, RTE_DIM(a) + 1);
	weir_receiver_close(rx);
	for (i = 0; i < RTE_DIM(a); i++)
		assert_int_equal(waiter_join(joins[i]), -EPIPE);
	assert_int_equal(waiter_thread_join(thread), -EPIPE);
	assert_int_equal(weir_try_recv(rx, &v), 0);
	assert_int_equal(weir_try_recv(rx, &v), -EPIPE);
	assert_int_equal(weir_try_send(tx, &v), -EPIPE);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

/* Many senders and receivers, tasks and threads; the sum tells what came. */
#define SENDERS 6
#define VALUES 500

struct pump {
	struct weir_sender *tx;
	struct weir_receiver *rx;
	struct atomic_ptr *sum; /* unused by senders */
	uint64_t from, left, got;
	uint64_t burst[8];
	uint64_t *last; /* by sender, what this receiver saw last */
	struct weir_wait wait;
	struct atomic_u32 *total, *count;
};

static int
sender_poll(struct weir_context *ctx, void *state)
{
	struct pump *p = state;
	int n, i;

	while (p->left > 0) {
		n = (int)RTE_MIN(p->left, RTE_DIM(p->burst));
		for (i = 0; i < n; i++)
			p->burst[i] = p->from << 32 |
				      (VALUES - p->left + (uint64_t)i + 1);
		n = weir_send_burst(ctx, p->tx, p->burst, (uint32_t)n,
				    &p->wait);
		if (n < 0)
			return n;
		p->left -= (uint64_t)n;
	}
	return WEIR_DONE;
}

static void
sender_drop(void *state)
{
	struct pump *p = state;

	weir_wait_cancel(&p->wait);
	weir_sender_drop(p->tx);
}

static const struct weir_task_ops sender_ops = {
	.name = "sender",
	.state_size = sizeof(struct pump),
	.poll = sender_poll,
	.drop = sender_drop,
};

/* Each receiver sees each sender's values in their order. */
static void
note(struct pump *p, uint64_t value)
{
	uint64_t from = value >> 32, n = value & UINT32_MAX;

	if (n <= p->last[from])
		rig_add(p->total, 1u << 31);
	p->last[from] = n;
	rig_add(p->total, (uint32_t)n);
	rig_add(p->count, 1);
}

static int
receiver_poll(struct weir_context *ctx, void *state)
{
	struct pump *p = state;
	int n, i;

	do {
		n = weir_recv_burst(ctx, p->rx, p->burst, RTE_DIM(p->burst),
				    &p->wait);
		for (i = 0; i < n; i++)
			note(p, p->burst[i]);
	} while (n > 0);
	return n == -EPIPE ? WEIR_DONE : n;
}

static void
receiver_drop(void *state)
{
	struct pump *p = state;

	weir_wait_cancel(&p->wait);
	weir_receiver_drop(p->rx);
}

static const struct weir_task_ops receiver_ops = {
	.name = "receiver",
	.state_size = sizeof(struct pump),
	.poll = receiver_poll,
	.drop = receiver_drop,
};

static void *
send_in_thread(void *arg)
{
	struct pump p = *(struct pump *)arg;
	uint64_t v;

	for (; p.left > 0; p.left--) {
		v = p.from << 32 | (VALUES - p.left + 1);
		assert_int_equal(weir_send(NULL, p.tx, &v, NULL), 0);
	}
	weir_sender_drop(p.tx);
	return NULL;
}

static void *
receive_in_thread(void *arg)
{
	struct pump *p = arg;
	uint64_t v;

	while (weir_recv(NULL, p->rx, &v, NULL) == 0)
		note(p, v);
	weir_receiver_drop(p->rx);
	return NULL;
}

static void
pump_through(size_t capacity)
{
	uint64_t last[3][SENDERS] = { 0 };
	struct atomic_u32 total = { 0 }, count = { 0 };
	struct pump sends[SENDERS], recvs[3];
	struct weir_join *joins[SENDERS + 1];
	pthread_t threads[3];
	unsigned int i;

	open_channel(capacity, sizeof(uint64_t));
	for (i = 0; i < SENDERS; i++)
		sends[i] =
			(struct pump){ .tx = i > 0 ? weir_sender_clone(tx) : tx,
				       .from = i,
				       .left = VALUES };
	for (i = 0; i < 3; i++)
		recvs[i] =
			(struct pump){ .rx = i > 0 ? weir_receiver_clone(rx) :
						     rx,
				       .last = last[i],
				       .total = &total,
				       .count = &count };
	for (i = 0; i < SENDERS - 1; i++)
		joins[i] =
			weir_task_spawn(rig.rt, &sender_ops, &sends[i], NULL);
	joins[i++] = weir_task_spawn(rig.rt, &receiver_ops, &recvs[0], NULL);
	joins[i] = weir_task_spawn(rig.rt, &receiver_ops, &recvs[1], NULL);
	pthread_create(&threads[0], NULL, send_in_thread, &sends[SENDERS - 1]);
	pthread_create(&threads[1], NULL, receive_in_thread, &recvs[2]);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < SENDERS + 1; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_equal(rig_get(&count), SENDERS * VALUES);
	assert_int_equal(rig_get(&total), SENDERS * VALUES * (VALUES + 1) / 2);
}

static void
many_senders_and_receivers_lose_nothing(void **state)
{
	pump_through(1);
	pump_through(7);
	pump_through(100);
	pump_through(WEIR_CHANNEL_UNBOUNDED);
}

/* From tasks of one runtime to a task of another, which this thread drives. */
static void
channel_joins_two_runtimes(void **state)
{
	struct atomic_u32 total = { 0 }, count = { 0 };
	struct weir_runtime *driven;
	uint64_t last[2] = { 0 };
	struct weir_options o;
	struct pump send, recv;
	unsigned int i;

	rig_options(&o, 0);
	o.name = "driven";
	o.current_thread = true;
	driven = weir_runtime_create(&o);
	assert_non_null(driven);
	open_channel(3, sizeof(uint64_t));
	recv = (struct pump){
		.rx = rx, .last = last, .total = &total, .count = &count
	};
	for (i = 0; i < 2; i++) {
		send = (struct pump){ .tx = i > 0 ? tx : weir_sender_clone(tx),
				      .from = i,
				      .left = VALUES };
		weir_join_detach(
			weir_task_spawn(rig.rt, &sender_ops, &send, NULL));
	}
	assert_int_equal(
		weir_runtime_block_on(driven, &receiver_ops, &recv, NULL), 0);
	assert_int_equal(rig_get(&count), 2 * VALUES);
	assert_int_equal(rig_get(&total), 2 * VALUES * (VALUES + 1) / 2);
	weir_runtime_free(driven);
	/* Who woke the receiver last may be in there still (W2). */
	rig_wait_until(!rig_runtime_exists("driven"));
}

struct oneshot_letter {
	struct weir_oneshot_rx *rx;
	uint64_t value;
};

static int
recv_oneshot(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct oneshot_letter *l = what;

	return weir_oneshot_recv(ctx, l->rx, &l->value, wait);
}

static void
open_oneshot(struct weir_oneshot_tx **one_tx, struct weir_oneshot_rx **one_rx)
{
	rig_set(&dropped, 0);
	assert_int_equal(weir_oneshot_create(rig.rt, sizeof(uint64_t),
					     count_drop, one_tx, one_rx),
			 0);
}

static void
wait_for_waiter(const struct weir_oneshot_rx *one_rx)
{
	const struct oneshot *o = (const struct oneshot *)one_rx;

	rig_wait_until(oneshot_is_waker(atomic_u64_load(&o->word, RELAXED)));
}

static void
oneshot_gives_its_value_once(void **state)
{
	struct weir_oneshot_tx *one_tx;
	struct oneshot_letter l;
	struct weir_join *join;
	uint64_t v = 5;

	open_oneshot(&one_tx, &l.rx);
	assert_int_equal(weir_oneshot_try_recv(l.rx, &v), -EAGAIN);
	join = waiter_spawn(rig.rt, recv_oneshot, &l);
	wait_for_waiter(l.rx);
	assert_int_equal(weir_oneshot_send(one_tx, &v), 0);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(l.value, 5);
	/* Sent before it is awaited, by a plain thread. */
	open_oneshot(&one_tx, &l.rx);
	assert_int_equal(weir_oneshot_send(one_tx, &v), 0);
	v = 0;
	assert_int_equal(weir_oneshot_recv(NULL, l.rx, &v, NULL), 0);
	assert_int_equal(v, 5);
	assert_int_equal(weir_oneshot_create(rig.rt, WEIR_ONESHOT_SIZE_MAX + 1,
					     NULL, &one_tx, &l.rx),
			 -EINVAL);
}

static void
oneshot_tells_of_a_lost_end(void **state)
{
	struct weir_oneshot_tx *one_tx;
	struct waiter_thread *thread;
	struct oneshot_letter l;
	struct weir_join *join;
	uint64_t v = 5;

	open_oneshot(&one_tx, &l.rx);
	assert_false(weir_oneshot_is_closed(one_tx));
	weir_oneshot_rx_drop(l.rx);
	assert_true(weir_oneshot_is_closed(one_tx));
	assert_int_equal(weir_oneshot_send(one_tx, &v), -EPIPE);
	open_oneshot(&one_tx, &l.rx);
	join = waiter_spawn(rig.rt, recv_oneshot, &l);
	wait_for_waiter(l.rx);
	assert_false(weir_oneshot_is_closed(one_tx));
	weir_oneshot_tx_drop(one_tx);
	assert_int_equal(waiter_join(join), -EPIPE);
	open_oneshot(&one_tx, &l.rx);
	thread = waiter_thread_start(recv_oneshot, &l);
	wait_for_waiter(l.rx);
	weir_oneshot_tx_drop(one_tx);
	assert_int_equal(waiter_thread_join(thread), -EPIPE);
	/* Nobody receives it. */
	open_oneshot(&one_tx, &l.rx);
	assert_int_equal(weir_oneshot_send(one_tx, &v), 0);
	weir_oneshot_rx_drop(l.rx);
	assert_int_equal(rig_get(&dropped), 5);
	weir_oneshot_tx_drop(NULL);
	weir_oneshot_rx_drop(NULL);
}

static void
oneshot_outlives_its_runtime(void **state)
{
	struct weir_oneshot_tx *one_tx;
	struct weir_oneshot_rx *one_rx;
	uint64_t v = 5;

	open_oneshot(&one_tx, &one_rx);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	assert_int_equal(weir_oneshot_send(one_tx, &v), 0);
	assert_int_equal(weir_oneshot_try_recv(one_rx, &v), 0);
	assert_int_equal(v, 5);
	assert_false(rig_runtime_exists("weir"));
}

/* A task that gives up the receiver it waits for. */
static int
recv_and_leave(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct oneshot_letter *l = what;
	int rc = weir_oneshot_recv(ctx, l->rx, &l->value, wait);

	assert_int_equal(rc, WEIR_PENDING);
	weir_wait_cancel(wait);
	weir_oneshot_rx_drop(l->rx);
	return 0;
}

static void
oneshot_receiver_can_give_up(void **state)
{
	struct weir_oneshot_tx *one_tx;
	struct oneshot_letter l;
	uint64_t v = 5;

	open_oneshot(&one_tx, &l.rx);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, recv_and_leave, &l)),
			 0);
	assert_int_equal(weir_oneshot_send(one_tx, &v), -EPIPE);
}

/* A task that waits twice: while nothing has come, the second wait is refused. */
static int
recv_twice(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct oneshot_letter *l = what;
	struct weir_wait other = { 0 };

	assert_int_equal(weir_oneshot_recv(ctx, l->rx, &l->value, wait),
			 WEIR_PENDING);
	/* As often as it is polled. */
	assert_int_equal(weir_oneshot_recv(ctx, l->rx, &l->value, wait),
			 WEIR_PENDING);
	assert_int_equal(weir_oneshot_recv(ctx, l->rx, &l->value, &other),
			 -EBUSY);
	assert_int_equal(weir_oneshot_try_recv(l->rx, &l->value), -EAGAIN);
	/* The wait is ready for use again, of this oneshot too. */
	weir_wait_cancel(wait);
	weir_wait_cancel(wait);
	assert_int_equal(weir_oneshot_recv(ctx, l->rx, &l->value, &other),
			 WEIR_PENDING);
	weir_wait_cancel(&other);
	return 0;
}

static void
oneshot_serves_one_waiter(void **state)
{
	struct weir_oneshot_tx *one_tx;
	struct oneshot_letter l;
	uint64_t v = 5;

	open_oneshot(&one_tx, &l.rx);
	waiter_check_refusals(rig.rt, recv_oneshot, &l);
	assert_int_equal(waiter_join(waiter_spawn(rig.rt, recv_twice, &l)), 0);
	assert_int_equal(weir_oneshot_send(one_tx, &v), 0);
	assert_int_equal(weir_oneshot_try_recv(l.rx, &v), 0);
	assert_int_equal(v, 5);
}

static void
oneshot_takes_values_of_any_size(void **state)
{
	static const uint32_t sizes[] = {
		0, 1, 8, 16, 17, 40, WEIR_ONESHOT_SIZE_MAX
	};
	uint8_t sent[WEIR_ONESHOT_SIZE_MAX], got[WEIR_ONESHOT_SIZE_MAX];
	uint8_t *from, *to;
	struct weir_oneshot_tx *one_tx;
	struct weir_oneshot_rx *one_rx;
	unsigned int i;

	for (i = 0; i < sizeof(sent); i++)
		sent[i] = (uint8_t)(i * 7);
	for (i = 0; i < RTE_DIM(sizes); i++) {
		memset(got, 0xff, sizeof(got));
		assert_int_equal(weir_oneshot_create(rig.rt, sizes[i], NULL,
						     &one_tx, &one_rx),
				 0);
		/* Of no bytes there need be no place. */
		from = sizes[i] > 0 ? sent : NULL;
		to = sizes[i] > 0 ? got : NULL;
		assert_int_equal(weir_oneshot_send(one_tx, from), 0);
		assert_int_equal(weir_oneshot_try_recv(one_rx, to), 0);
		assert_memory_equal(got, sent, sizes[i]);
		if (sizes[i] < sizeof(got))
			assert_int_equal(got[sizes[i]], 0xff);
	}
}

#define BURST 8u

/* A task that takes all there is, again and again. */
struct taker {
	struct weir_receiver *rx;
	struct weir_wait wait;
};

static struct atomic_u32 taker_polls, taken;

static int
take_all(struct weir_context *ctx, void *state)
{
	struct taker *t = state;
	uint64_t values[BURST];
	int n;

	rig_add(&taker_polls, 1);
	for (;;) {
		n = weir_recv_burst(ctx, t->rx, values, BURST, &t->wait);
		if (n < 0)
			return n;
		rig_add(&taken, (uint32_t)n);
	}
}

static void
taker_drop(void *state)
{
	struct taker *t = state;

	weir_wait_cancel(&t->wait);
	weir_receiver_drop(t->rx);
}

static const struct weir_task_ops taker_ops = {
	.name = "taker",
	.state_size = sizeof(struct taker),
	.poll = take_all,
	.drop = taker_drop,
};

/* In one turn, so that the receiver finds them all. */
static int
send_burst_at_once(struct weir_context *ctx, void *state)
{
	const uint64_t value = 0;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < BURST && rc == 0; i++)
		rc = weir_try_send(tx, &value);
	return rc;
}

static const struct weir_task_ops burst_ops = {
	.name = "burst",
	.poll = send_burst_at_once,
};

/* A receiver that has waited in line, and has just found a burst. */
static struct weir_join *
start_taker(size_t capacity)
{
	struct taker t = { 0 };
	struct weir_join *join;

	rig_set(&taker_polls, 0);
	rig_set(&taken, 0);
	open_channel(capacity, sizeof(uint64_t));
	t.rx = rx;
	join = weir_task_spawn(rig.rt, &taker_ops, &t, NULL);
	assert_non_null(join);
	waiter_wait_for(rx, 1);
	assert_int_equal(rig_get(&taker_polls), 1);
	assert_int_equal(
		rig_join(weir_task_spawn(rig.rt, &burst_ops, NULL, NULL), NULL),
		0);
	rig_wait_until(rig_get(&taken) == BURST);
	return join;
}

static void
receiver_of_many_looks_again_before_it_waits(void **state)
{
	struct weir_join *join = start_taker(2 * BURST);
	const uint64_t value = 0;
	uint32_t polls;

	waiter_wait_for(rx, 1);
	polls = rig_get(&taker_polls);
	assert_true(polls > 2);
	/* It was in vain, so it waits at once next time. */
	assert_int_equal(weir_try_send(tx, &value), 0);
	rig_wait_until(rig_get(&taken) == BURST + 1);
	waiter_wait_for(rx, 1);
	assert_int_equal(rig_get(&taker_polls), polls + 1);
	weir_sender_drop(tx);
	assert_int_equal(rig_join(join, NULL), -EPIPE);
}

/* Takes a burst that it has waited for, sends one more value, and takes that. */
static int
take_and_send(struct weir_context *ctx, void *state)
{
	const uint64_t value = 0;
	struct taker *t = state;
	uint64_t values[BURST];
	int n;

	n = weir_recv_burst(ctx, t->rx, values, BURST, &t->wait);
	if (n < 0)
		return n;
	if (n == 1)
		return WEIR_DONE;
	if (n != BURST || weir_try_send(tx, &value) != 0)
		return -EPROTO;
	/* It is there, but whoever looks takes the line from the senders. */
	n = weir_recv_burst(ctx, t->rx, values, BURST, &t->wait);
	return n == WEIR_PENDING ? n : -EEXIST;
}

static const struct weir_task_ops take_and_send_ops = {
	.name = "take_and_send",
	.state_size = sizeof(struct taker),
	.poll = take_and_send,
	.drop = taker_drop,
};

static void
receiver_of_many_pauses_before_it_looks(void **state)
{
	struct taker t = { 0 };
	struct weir_join *join;

	open_channel(4 * BURST, sizeof(uint64_t));
	t.rx = rx;
	join = weir_task_spawn(rig.rt, &take_and_send_ops, &t, NULL);
	assert_non_null(join);
	waiter_wait_for(rx, 1);
	assert_int_equal(
		rig_join(weir_task_spawn(rig.rt, &burst_ops, NULL, NULL), NULL),
		0);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_sender_drop(tx);
}

/* How long a receiver pauses, and some more. */
#define PAUSE_US 3u

/* Beside a receiver that pauses. */
struct others {
	bool pause; /* when that is over */
	struct weir_wait wait;
	struct atomic_u32 done;
};

/*
 * Waits for a burst and pauses, while another takes what comes. When that is over it
 * gets in line.
 */
static int
pause_beside_others(struct weir_context *ctx, void *what,
		    struct weir_wait *wait)
{
	struct others *o = what;
	uint64_t values[BURST], end;
	int n;

	n = weir_recv_burst(ctx, rx, values, BURST, wait);
	if (n < 0)
		return n;
	if (n != BURST)
		return -EPROTO;
	n = weir_recv_burst(ctx, rx, values, BURST, wait);
	end = rte_rdtsc() + cycles_of_us(PAUSE_US);
	if (n != WEIR_PENDING || weir_try_send(tx, values) != 0 ||
	    weir_try_recv(rx, values) != 0)
		return -EPROTO;
	while (rte_rdtsc() < end)
		rte_pause();
	if (o->pause)
		n = weir_recv_burst(ctx, rx, values, BURST, &o->wait);
	if (n != WEIR_PENDING || waiters(rx) != 0)
		return -EPROTO;
	n = weir_recv_burst(ctx, rx, values, BURST, wait);
	if (n != WEIR_PENDING || waiters(rx) != 1)
		return -EEXIST;
	rig_set(&o->done, 1);
	return n;
}

static void
receiver_beside_others_pauses_once(void **state)
{
	struct weir_join *join;
	struct others o;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		o = (struct others){ .pause = i == 1 };
		open_channel(4 * BURST, sizeof(uint64_t));
		join = waiter_spawn(rig.rt, pause_beside_others, &o);
		waiter_wait_for(rx, 1);
		assert_int_equal(rig_join(weir_task_spawn(rig.rt, &burst_ops,
							  NULL, NULL),
					  NULL),
				 0);
		rig_wait_until(rig_get(&o.done) || weir_join_ended(join));
		weir_sender_drop(tx);
		assert_int_equal(waiter_join(join), -EPIPE);
		weir_receiver_drop(rx);
	}
}

static void
receiver_of_a_small_channel_does_not_pause(void **state)
{
	struct weir_join *join = start_taker(BURST);

	waiter_wait_for(rx, 1);
	assert_int_equal(rig_get(&taker_polls), 2);
	weir_sender_drop(tx);
	assert_int_equal(rig_join(join, NULL), -EPIPE);
}

/* Sends, an end and an abort at any time, of a pause too. */
static void
pause_loses_nothing(void **state)
{
	const uint64_t value = 0;
	struct weir_join *join;
	struct rand_state r;
	unsigned int i, k, n;

	rand_seed(&r, unit_seed());
	for (i = 0; i < 300; i++) {
		join = start_taker(2 * BURST);
		n = rand_below(&r, 4);
		for (k = 0; k < n; k++) {
			assert_int_equal(weir_send(NULL, tx, &value, NULL), 0);
			if (rand_below(&r, 2) == 0)
				sched_yield();
		}
		if (i % 2 == 0) {
			weir_sender_drop(tx);
			assert_int_equal(rig_join(join, NULL), -EPIPE);
			assert_int_equal(rig_get(&taken), BURST + n);
		} else {
			waiter_abort(join);
			assert_int_equal(weir_try_send(tx, &value), -EPIPE);
			weir_sender_drop(tx);
		}
	}
}

/*
 * A receiver that finds many values has a lock of its own then, until somebody has to
 * wait (Y52).
 */
#define MANY 20u

/* Sent and received: the next number. */
static uint64_t next_sent, next_received;

static void
send_numbers(uint64_t n)
{
	for (; n > 0; n--, next_sent++)
		assert_int_equal(weir_try_send(tx, &next_sent), 0);
}

static void
recv_numbers(uint64_t n)
{
	uint64_t v;

	for (; n > 0; n--, next_received++) {
		assert_int_equal(weir_try_recv(rx, &v), 0);
		assert_int_equal(v, next_received);
	}
}

static void
begin_apart(size_t capacity)
{
	next_sent = 0;
	next_received = 0;
	open_channel(capacity, sizeof(uint64_t));
	send_numbers(MANY);
	recv_numbers(1);
}

static void
apart_a_channel_holds_as_many(void **state)
{
	uint64_t turn, v;

	begin_apart(MANY);
	for (turn = 0; turn < 100; turn++) {
		send_numbers(MANY - (next_sent - next_received));
		assert_int_equal(weir_try_send(tx, &next_sent), -EAGAIN);
		assert_int_equal(weir_receiver_len(rx), MANY);
		recv_numbers(1 + turn % MANY);
	}
	/* That of the last turn was all there was: whoever asks joins the two. */
	assert_int_equal(weir_try_recv(rx, &v), -EAGAIN);
	send_numbers(MANY);
	assert_int_equal(weir_try_send(tx, &next_sent), -EAGAIN);
	recv_numbers(MANY);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
apart_an_unbounded_channel_uses_blocks_again(void **state)
{
	unsigned int i;

	begin_apart(WEIR_CHANNEL_UNBOUNDED);
	for (i = 0; i < 3000; i++) {
		send_numbers(1 + i % 3);
		recv_numbers(1 + i % 3);
	}
	send_numbers(5000);
	recv_numbers(4000);
	assert_int_equal(weir_receiver_len(rx), 1000 + MANY - 1);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
apart_who_waits_is_served(void **state)
{
	struct letter a = { 0 };
	struct waiter_thread *thread;
	struct weir_join *join;

	begin_apart(MANY);
	a = (struct letter){ .tx = tx, .rx = rx };
	send_numbers(1);
	a.value = next_sent++;
	join = waiter_spawn(rig.rt, send_letter, &a);
	waiter_wait_for(tx, 1);
	recv_numbers(1);
	assert_int_equal(waiter_join(join), 0);
	recv_numbers(MANY);
	send_numbers(MANY);
	recv_numbers(MANY);
	join = waiter_spawn(rig.rt, recv_letter, &a);
	waiter_wait_for(rx, 1);
	send_numbers(1);
	assert_int_equal(waiter_join(join), 0);
	assert_int_equal(a.value, next_received++);
	send_numbers(MANY);
	recv_numbers(MANY);
	thread = waiter_thread_start(recv_letter, &a);
	waiter_wait_for(rx, 1);
	send_numbers(1);
	assert_int_equal(waiter_thread_join(thread), 0);
	assert_int_equal(a.value, next_received++);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
apart_a_channel_ends(void **state)
{
	uint64_t v;

	begin_apart(MANY);
	weir_receiver_close(rx);
	assert_int_equal(weir_try_send(tx, &next_sent), -EPIPE);
	recv_numbers(MANY - 1);
	assert_int_equal(weir_try_recv(rx, &v), -EPIPE);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
	assert_int_equal(rig_get(&dropped), 0);

	begin_apart(MANY);
	weir_sender_drop(tx);
	recv_numbers(MANY - 1);
	assert_int_equal(weir_recv(NULL, rx, &v, NULL), -EPIPE);
	weir_receiver_drop(rx);

	begin_apart(MANY);
	weir_receiver_drop(rx);
	assert_int_equal(rig_get(&dropped), MANY * (MANY - 1) / 2);
	assert_int_equal(weir_try_send(tx, &next_sent), -EPIPE);
	weir_sender_drop(tx);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(values_come_in_order, 1),
		RIG_TEST(bursts_take_what_fits, 1),
		RIG_TEST(one_by_one_no_more_than_fit, 1),
		RIG_TEST(one_by_one_wakes_who_waits, 1),
		RIG_TEST(bursts_go_round, 1),
		RIG_TEST(numbers_that_make_no_sense_are_refused, 1),
		RIG_TEST(unbounded_channel_grows_and_shrinks, 1),
		RIG_TEST(senders_wait_for_room_in_their_order, 2),
		RIG_TEST(all_of_a_burst_is_sent, 2),
		RIG_TEST(who_gives_up_knows_what_was_sent, 2),
		RIG_TEST(end_tells_what_was_sent, 2),
		RIG_TEST(receivers_wait_in_their_order, 2),
		RIG_TEST(receiver_that_gives_up_loses_no_value, 2),
		RIG_TEST(sender_that_gives_up_has_sent_nothing, 2),
		RIG_TEST(bursts_that_do_not_wait_take_what_is_there, 1),
		RIG_TEST(bursts_that_do_not_wait_fill_an_unbounded_channel, 1),
		RIG_TEST(bursts_that_do_not_wait_leave_what_is_promised, 1),
		RIG_TEST(last_sender_ends_the_channel, 2),
		RIG_TEST(wait_is_for_one_side_at_a_time, 1),
		RIG_TEST(workers_may_not_block_nor_waits_be_used_twice, 1),
		RIG_TEST(end_comes_behind_what_was_promised, 2),
		RIG_TEST(close_wakes_every_waiter, 2),
		RIG_TESTS(many_senders_and_receivers_lose_nothing),
		RIG_TEST(channel_joins_two_runtimes, 1),
		RIG_TEST(channel_joins_two_runtimes, 2),
		RIG_TESTS(oneshot_gives_its_value_once),
		RIG_TEST(oneshot_tells_of_a_lost_end, 2),
		RIG_TEST(oneshot_outlives_its_runtime, 2),
		RIG_TEST(oneshot_receiver_can_give_up, 1),
		RIG_TESTS(oneshot_serves_one_waiter),
		RIG_TEST(oneshot_takes_values_of_any_size, 1),
		RIG_TEST(receiver_of_many_looks_again_before_it_waits, 1),
		RIG_TEST(receiver_of_many_pauses_before_it_looks, 1),
		RIG_TEST(receiver_beside_others_pauses_once, 1),
		RIG_TEST(receiver_of_a_small_channel_does_not_pause, 1),
		RIG_TEST(pause_loses_nothing, 1),
		RIG_TEST(pause_loses_nothing, 2),
		RIG_TEST(apart_a_channel_holds_as_many, 1),
		RIG_TEST(apart_an_unbounded_channel_uses_blocks_again, 1),
		RIG_TEST(apart_who_waits_is_served, 1),
		RIG_TEST(apart_who_waits_is_served, 2),
		RIG_TEST(apart_a_channel_ends, 1),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
