/* SPDX-License-Identifier: BSD-3-Clause */

/* Oneshots: the value comes to one hand, and the memory goes with both ends. */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_oneshot.h"

#define VALUE 7

static struct weir_oneshot_tx *tx;
static struct weir_oneshot_rx *rx;
static uint64_t value;
static unsigned int received, refused, dropped;

static void
count_drop(void *what)
{
	model_check(*(uint64_t *)what == VALUE);
	rig_count(&dropped);
}

static void
begin(unsigned int nb_workers)
{
	received = 0;
	refused = 0;
	dropped = 0;
	waiter_drops = 0;
	model_check(weir_oneshot_create(NULL, sizeof(value), count_drop, &tx,
					&rx) == 0);
	scheduler_start(nb_workers);
}

static int
recv_call(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_oneshot_recv(ctx, what, &value, wait);
}

static void
note(void *what, int rc)
{
	(void)what;
	model_check(rc == 0 || rc == -EPIPE);
	model_check(rc != 0 || value == VALUE);
	rig_count(rc == 0 ? &received : &refused);
}

static void
send(void *what)
{
	uint64_t v = VALUE;

	if (weir_oneshot_send(what, &v) != 0)
		rig_count(&dropped);
}

static void
drop_sender(void *what)
{
	weir_oneshot_tx_drop(what);
}

MODEL(oneshot_task, "a task waits for the value of a thread", 3, 2)
{
	begin(1);
	model_thread("sender", send, tx);
	waiter_detach(waiter_spawn(recv_call, rx, note));
	scheduler_end();
	model_check(received == 1);
}

MODEL(oneshot_thread, "a thread waits for the value of another", 3, 3)
{
	begin(0);
	model_thread("sender", send, tx);
	note(NULL, weir_oneshot_recv(NULL, rx, &value, NULL));
	scheduler_end();
	model_check(received == 1);
}

MODEL(oneshot_try, "a thread asks for the value until it is there", 3, 3)
{
	int rc;

	begin(0);
	model_thread("sender", send, tx);
	while ((rc = weir_oneshot_try_recv(rx, &value)) == -EAGAIN)
		atomic_pause();
	note(NULL, rc);
	scheduler_end();
	model_check(received == 1);
}

MODEL(oneshot_drop, "the receiver goes while the value comes", 3, 3)
{
	begin(0);
	model_thread("sender", send, tx);
	weir_oneshot_rx_drop(rx);
	scheduler_end();
	model_check(dropped == 1);
}

MODEL(oneshot_lost, "the sender goes without a value while a task waits", 3, 2)
{
	begin(1);
	model_thread("sender", drop_sender, tx);
	waiter_detach(waiter_spawn(recv_call, rx, note));
	scheduler_end();
	model_check(refused == 1);
}

MODEL(oneshot_gone, "both ends go, and there was no value", 3, 3)
{
	begin(0);
	model_thread("sender", drop_sender, tx);
	weir_oneshot_rx_drop(rx);
	scheduler_end();
	model_check(dropped == 0);
}

/* Y49: a wait is given up, and the next one is in its place at once. */
static int
recv_again(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	int rc = recv_call(ctx, what, wait);

	if (rc != WEIR_PENDING)
		return rc;
	weir_wait_cancel(wait);
	return recv_call(ctx, what, wait);
}

MODEL(oneshot_again, "a task gives its wait up and waits again", 2, 1)
{
	begin(1);
	model_thread("sender", send, tx);
	waiter_detach(waiter_spawn(recv_again, rx, note));
	scheduler_end();
	model_check(received == 1);
}

/* A receiver that a task owns. */
struct owner {
	struct weir_oneshot_rx *rx;
	struct weir_wait wait;
};

static int
owner_poll(struct weir_context *ctx, void *state)
{
	struct owner *o = state;
	int rc = weir_oneshot_recv(ctx, o->rx, &value, &o->wait);

	if (rc == WEIR_PENDING)
		return rc;
	o->rx = NULL;
	note(NULL, rc);
	return WEIR_DONE;
}

static void
owner_drop(void *state)
{
	struct owner *o = state;

	weir_wait_cancel(&o->wait);
	weir_oneshot_rx_drop(o->rx);
}

static const struct weir_task_ops owner_ops = {
	.name = "owner",
	.state_size = sizeof(struct owner),
	.poll = owner_poll,
	.drop = owner_drop,
};

MODEL(oneshot_abort, "a task is aborted that waits for the value", 2, 1)
{
	struct owner o = { 0 };
	struct weir_join *join;

	begin(1);
	o.rx = rx;
	join = scheduler_spawn(&owner_ops, &o);
	model_thread("sender", send, tx);
	waiter_abort(join);
	scheduler_end();
	model_check(received + dropped == 1);
}

/* A task that waits for two values: each sender wakes it for both. */
struct pair {
	struct owner ends[2];
};

static int
pair_poll(struct weir_context *ctx, void *state)
{
	struct pair *p = state;
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (p->ends[i].rx != NULL)
			owner_poll(ctx, &p->ends[i]);
	return p->ends[0].rx != NULL || p->ends[1].rx != NULL ? WEIR_PENDING :
								WEIR_DONE;
}

static const struct weir_task_ops pair_ops = {
	.name = "pair",
	.state_size = sizeof(struct pair),
	.poll = pair_poll,
};

static void
send_both(void *what)
{
	struct weir_oneshot_tx **both = what;

	send(both[0]);
	send(both[1]);
}

MODEL(oneshot_two, "a task woken for one value finds another that comes", 2, 1)
{
	struct weir_oneshot_tx *both[2];
	struct pair p = { 0 };
	unsigned int i;

	begin(1);
	for (i = 0; i < 2; i++) {
		if (i > 0)
			model_check(weir_oneshot_create(NULL, sizeof(value),
							count_drop, &tx,
							&rx) == 0);
		both[i] = tx;
		p.ends[i].rx = rx;
	}
	waiter_detach(scheduler_spawn(&pair_ops, &p));
	send_both(both);
	scheduler_end();
	model_check(received == 2);
}
