/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Channels: each value comes to one receiver, in order, whoever gives up
 * meanwhile; and the memory goes with the last end.
 */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_channel.h"

static struct weir_sender *tx;
static struct weir_receiver *rx;
static unsigned int received, refused, dropped, next;

/* A value that somebody sends or receives. */
struct letter {
	struct weir_sender *tx;
	struct weir_receiver *rx;
	uint64_t value;
};

static struct letter letters[2];
static const uint64_t last = 3;

static void
count_drop(void *value)
{
	(void)value;
	rig_count(&dropped);
}

static void
begin(size_t capacity, unsigned int nb_workers)
{
	unsigned int i;

	received = 0;
	refused = 0;
	dropped = 0;
	next = 1;
	waiter_drops = 0;
	model_check(weir_channel_create(capacity, sizeof(uint64_t), count_drop,
					&tx, &rx) == 0);
	for (i = 0; i < 2; i++)
		letters[i] = (struct letter){ tx, rx, i + 1 };
	scheduler_start(nb_workers);
}

static int
recv_call(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;

	return weir_recv(ctx, l->rx, &l->value, wait);
}

static int
send_call(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;

	return weir_send(ctx, l->tx, &l->value, wait);
}

static void
note(int rc)
{
	if (rc == 0)
		rig_count(&received);
	else
		rig_count(&refused);
}

static void
received_in_task(void *what, int rc)
{
	(void)what;
	note(rc);
}

static void
drop_sender(void *what)
{
	weir_sender_drop(what);
}

/* The values come one after the other. */
static void
recv_next(void)
{
	uint64_t value;

	model_check(weir_recv(NULL, rx, &value, NULL) == 0);
	model_check(value == next);
	next++;
}

MODEL(channel_full, "a task sends two values through a channel of one", 2, 1)
{
	begin(1, 1);
	/* The first has room. */
	model_check(weir_try_send(tx, &letters[0].value) == 0);
	waiter_detach(waiter_spawn(send_call, &letters[1], NULL));
	recv_next();
	recv_next();
	scheduler_end();
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
	model_check(waiter_drops == 1);
}

MODEL(channel_two, "a task and a thread receive a value each", 2, 1)
{
	begin(2, 1);
	waiter_detach(waiter_spawn(recv_call, &letters[0], received_in_task));
	model_check(weir_try_send(tx, &letters[0].value) == 0);
	model_check(weir_try_send(tx, &letters[1].value) == 0);
	note(recv_call(NULL, &letters[1], NULL));
	scheduler_end();
	model_check(received == 2);
	model_check(letters[0].value + letters[1].value == 3);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

static void
send_one(void *what)
{
	model_check(weir_try_send(what, &letters[1].value) == 0);
}

MODEL(channel_turn, "a thread asks for a value that a task waits for", 2, 1)
{
	uint64_t value;
	int rc;

	begin(2, 1);
	waiter_detach(waiter_spawn(recv_call, &letters[0], received_in_task));
	model_thread("sender", send_one, tx);
	rc = weir_try_recv(rx, &value);
	if (rc == 0)
		send_one(tx);
	else
		model_check(rc == -EAGAIN);
	scheduler_end();
	model_check(received == 1 && weir_receiver_len(rx) == 0);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

MODEL(channel_abort, "a receiver is aborted while it is promised a value", 2, 1)
{
	struct weir_join *join;

	begin(1, 1);
	join = waiter_spawn(recv_call, &letters[0], received_in_task);
	model_thread("aborter", waiter_abort, join);
	model_check(weir_try_send(tx, &letters[1].value) == 0);
	scheduler_end();
	model_check(weir_receiver_len(rx) + received == 1);
	if (received == 0)
		note(recv_call(NULL, &letters[0], NULL));
	model_check(received == 1 && letters[0].value == 2);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
}

MODEL(channel_abort_sender, "a sender is aborted while it is promised a place",
      2, 1)
{
	struct weir_join *join;

	begin(1, 1);
	model_check(weir_try_send(tx, &letters[0].value) == 0);
	join = waiter_spawn(send_call, &letters[1], received_in_task);
	model_thread("aborter", waiter_abort, join);
	recv_next();
	scheduler_end();
	/* It was sent if the call said so. */
	model_check(weir_receiver_len(rx) == received);
	if (received == 1)
		recv_next();
	model_check(weir_try_send(tx, &letters[0].value) == 0);
	weir_receiver_drop(rx);
	model_check(dropped == 1);
	weir_sender_drop(tx);
}

MODEL(channel_end, "the last sender goes while a task waits for a value", 2, 1)
{
	begin(1, 1);
	waiter_detach(waiter_spawn(recv_call, &letters[0], received_in_task));
	model_thread("sender", drop_sender, tx);
	scheduler_end();
	model_check(refused == 1);
	weir_receiver_drop(rx);
}

MODEL(channel_end_abort, "one of two receivers is aborted, with the last value",
      2, 1)
{
	struct weir_join *join;

	begin(2, 1);
	join = waiter_spawn(recv_call, &letters[0], received_in_task);
	waiter_detach(waiter_spawn(recv_call, &letters[1], received_in_task));
	model_thread("aborter", waiter_abort, join);
	model_check(weir_try_send(tx, &last) == 0);
	weir_sender_drop(tx);
	scheduler_end();
	model_check(received == 1 && weir_receiver_len(rx) == 0);
	weir_receiver_drop(rx);
}

MODEL(channel_ends, "both ends go at once, with a value between them", 3, 2)
{
	begin(1, 1);
	model_check(weir_try_send(tx, &letters[0].value) == 0);
	model_thread("sender", drop_sender, tx);
	weir_receiver_drop(rx);
	scheduler_end();
	model_check(dropped == 1);
}

static void
send_two(void *what)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		model_check(weir_try_send(what, &letters[i].value) == 0);
	weir_sender_drop(what);
}

static int
recv_all(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct letter *l = what;
	uint64_t value;
	int rc;

	while ((rc = weir_recv(ctx, l->rx, &value, wait)) == 0) {
		model_check(value == next);
		next++;
	}
	return rc;
}

/* As if another task were to run next. */
static int
recv_behind(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	const struct slot *none = ctx->next;
	struct slot other;
	int rc;

	slot_init(&other, false);
	slot_swap_owner(&other, context_task(ctx));
	ctx->next = &other;
	rc = recv_call(ctx, what, wait);
	ctx->next = none;
	return rc;
}

MODEL(channel_look, "a receiver looks without the lock before it waits", 2, 1)
{
	begin(1, 1);
	waiter_detach(waiter_spawn(recv_behind, &letters[0], received_in_task));
	model_check(weir_try_send(tx, &letters[1].value) == 0);
	weir_sender_drop(tx);
	scheduler_end();
	model_check(received == 1);
	weir_receiver_drop(rx);
}

MODEL(channel_pause, "a receiver looks again once before it waits", 2, 1)
{
	begin(8, 1);
	waiter_detach(waiter_spawn(recv_all, &letters[0], received_in_task));
	model_check(weir_try_send(tx, &letters[0].value) == 0);
	model_check(weir_try_send(tx, &letters[1].value) == 0);
	weir_sender_drop(tx);
	scheduler_end();
	model_check(next == 3 && refused == 1);
	weir_receiver_drop(rx);
}

MODEL(channel_grows, "blocks come and go while two send and one receives", 2, 1)
{
	unsigned int i, n = 0;
	uint64_t value, sum = 0;

	begin(WEIR_CHANNEL_UNBOUNDED, 0);
	model_thread("sender", send_two, weir_sender_clone(tx));
	send_two(tx);
	for (i = 0; i < 4; i++) {
		n += weir_recv(NULL, rx, &value, NULL) == 0;
		sum += value;
	}
	model_check(n == 4 && sum == 6);
	model_check(weir_recv(NULL, rx, &value, NULL) == -EPIPE);
	model_join_all();
	weir_receiver_drop(rx);
	scheduler_end();
}

static uint64_t values[] = { 1, 2, 3, 4 };

/* There are two values, of which the first is received: the two sides part. */
static void
begin_apart(size_t capacity, unsigned int nb_workers)
{
	begin(capacity, nb_workers);
	model_check(weir_try_send(tx, &values[0]) == 0);
	model_check(weir_try_send(tx, &values[1]) == 0);
	recv_next();
}

static void
send_others(void *what)
{
	unsigned int i;

	for (i = 2; i < 4; i++)
		model_check(weir_send(NULL, what, &values[i], NULL) == 0);
	weir_sender_drop(what);
}

MODEL(channel_apart, "the two sides part, and whoever waits joins them", 2, 1)
{
	begin_apart(2, 0);
	model_thread("sender", send_others, tx);
	while (next <= 4)
		recv_next();
	model_check(weir_recv(NULL, rx, &values[0], NULL) == -EPIPE);
	model_join_all();
	weir_receiver_drop(rx);
	scheduler_end();
}

MODEL(channel_apart_grows, "a block is used up, and used again, apart", 2, 1)
{
	begin_apart(WEIR_CHANNEL_UNBOUNDED, 0);
	model_thread("sender", send_others, tx);
	while (next <= 4)
		recv_next();
	model_join_all();
	weir_receiver_drop(rx);
	scheduler_end();
}

static void
recv_one(void *what)
{
	model_check(weir_recv(NULL, rx, what, NULL) == 0);
}

MODEL(channel_apart_two, "two receive while the sides part", 2, 3)
{
	uint64_t got[2] = { 0, 0 };
	unsigned int i;

	begin(3, 0);
	for (i = 0; i < 3; i++)
		model_check(weir_try_send(tx, &values[i]) == 0);
	model_thread("receiver", recv_one, &got[0]);
	recv_one(&got[1]);
	model_join_all();
	model_check(got[0] + got[1] == 3);
	next = 3;
	recv_next();
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
	scheduler_end();
}

MODEL(channel_apart_task, "a task waits for a value that is sent apart", 2, 1)
{
	begin_apart(2, 1);
	waiter_detach(waiter_spawn(recv_all, &letters[0], received_in_task));
	model_check(weir_try_send(tx, &values[2]) == 0);
	weir_sender_drop(tx);
	scheduler_end();
	model_check(next == 4 && refused == 1);
	weir_receiver_drop(rx);
}

static void
close_receiver(void *what)
{
	weir_receiver_close(what);
}

MODEL(channel_apart_close, "a channel is closed apart", 3, 2)
{
	int rc;

	begin_apart(2, 0);
	model_thread("closer", close_receiver, rx);
	rc = weir_try_send(tx, &values[2]);
	model_check(rc == 0 || rc == -EPIPE);
	recv_next();
	if (rc == 0)
		recv_next();
	model_check(weir_recv(NULL, rx, &values[0], NULL) == -EPIPE);
	model_join_all();
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
	scheduler_end();
}

MODEL(channel_apart_ends, "both ends go at once, apart", 3, 2)
{
	begin_apart(2, 0);
	model_thread("sender", drop_sender, tx);
	weir_receiver_drop(rx);
	model_join_all();
	scheduler_end();
	model_check(dropped == 1);
}

static void
look_at_len(void *what)
{
	model_check(weir_receiver_len(what) <= 2);
}

MODEL(channel_apart_len, "there are never more values than places", 3, 2)
{
	begin_apart(2, 0);
	model_thread("looker", look_at_len, rx);
	model_check(weir_try_send(tx, &values[2]) == 0);
	recv_next();
	model_check(weir_try_send(tx, &values[3]) == 0);
	model_join_all();
	model_check(weir_receiver_len(rx) == 2);
	weir_sender_drop(tx);
	weir_receiver_drop(rx);
	scheduler_end();
}
