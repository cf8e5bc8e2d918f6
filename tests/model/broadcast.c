/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Broadcasts: each receiver gets each value in order, or is told that it missed
 * it.
 */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_broadcast.h"

/* Receives to the end. */
struct listener {
	struct weir_broadcast_receiver receiver;
	unsigned int next; /* the number that must come, or a later one */
	int rc;
};

static struct weir_broadcast *broadcast;
static unsigned int *ring;
static struct listener *listeners;

static void
begin(uint32_t slots)
{
	waiter_drops = 0;
	broadcast = model_alloc(sizeof(*broadcast));
	ring = model_alloc(slots * sizeof(*ring));
	listeners = model_alloc(2 * sizeof(*listeners));
	model_check(weir_broadcast_init(broadcast, ring, slots,
					sizeof(*ring)) == 0);
	scheduler_start(1);
}

static void
end(void)
{
	weir_broadcast_fini(broadcast);
	model_free(broadcast);
	model_free(ring);
	model_free(listeners);
}

/* Numbers from 0. */
static void
send_some(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		model_check(weir_broadcast_send(broadcast, &i) == 0);
}

static void
send_and_close(unsigned int n)
{
	send_some(n);
	weir_broadcast_close(broadcast);
}

/* One number, or a gap. */
static int
listen_once(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct listener *l = what;
	unsigned int number;
	int rc = weir_broadcast_recv(ctx, broadcast, &l->receiver, &number,
				     wait);

	if (rc == 0)
		model_check(number == l->next++);
	else if (rc == -EOVERFLOW)
		l->next += (unsigned int)l->receiver.missed;
	return rc;
}

static int
listen_to_the_end(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct listener *l = what;

	do
		l->rc = listen_once(ctx, what, wait);
	while (l->rc == 0 || l->rc == -EOVERFLOW);
	return l->rc;
}

static void
listen_thread(void *what)
{
	model_check(listen_to_the_end(NULL, what, NULL) == -EPIPE);
}

MODEL(broadcast_task, "a task gets two values", 2, 1)
{
	begin(2);
	waiter_detach(waiter_spawn(listen_to_the_end, &listeners[0], NULL));
	send_and_close(2);
	scheduler_end();
	model_check(listeners[0].rc == -EPIPE && listeners[0].next == 2);
	model_check(listeners[0].receiver.missed == 0 && waiter_drops == 1);
	end();
}

MODEL(broadcast_slow, "a task gets two values, or is told what it missed", 2, 1)
{
	begin(1);
	waiter_detach(waiter_spawn(listen_to_the_end, &listeners[0], NULL));
	send_and_close(3);
	scheduler_end();
	model_check(listeners[0].rc == -EPIPE && listeners[0].next == 3);
	end();
}

MODEL(broadcast_two, "a task and a thread get a value each", 1, 1)
{
	unsigned int thread;

	begin(1);
	waiter_detach(waiter_spawn(listen_to_the_end, &listeners[0], NULL));
	thread = model_thread("listener", listen_thread, &listeners[1]);
	send_and_close(1);
	scheduler_end();
	model_join(thread);
	model_check(listeners[0].next == 1 && listeners[1].next == 1);
	end();
}

MODEL(broadcast_abort, "what a task that is aborted was told is there still", 2,
      1)
{
	struct weir_join *join;

	begin(1);
	join = waiter_spawn(listen_once, &listeners[0], NULL);
	model_thread("aborter", waiter_abort, join);
	send_some(1);
	scheduler_end();
	if (listeners[0].next == 0)
		model_check(listen_once(NULL, &listeners[0], NULL) == 0);
	model_check(listeners[0].next == 1);
	end();
}
