/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A ring of the last values, each with a number, and receivers that know the
 * number of their next. Senders do not know the receivers, so that nobody holds
 * them up and there is nothing to count. Who waits is told that there is more,
 * and takes it for itself then: what is told is nobody's to lose.
 *
 * Y28 Value i lies in slot i modulo the ring's size until value i + size is
 *     sent. The ring has those from `sent` - size, or 0, up to `sent` - 1.
 * Y29 A receiver's next goes up by 1 with each value that it gets, and by
 *     `missed` with each overflow: the two add up to what was sent.
 * Y30 A receiver waits only when it has had all there is.
 */

#include <errno.h>
#include <string.h>

#include "sync/wait.h"
#include "sync/weir_broadcast.h"

/* The outcome of a wait: look again. */
#define TOLD 1

struct broadcast {
	struct sync sync;
	uint64_t sent; /* the next one's number */
	char *ring;
	uint32_t nb_slots;
	uint32_t size;
	bool closed;
};

static_assert(sizeof(struct broadcast) <= sizeof(struct weir_broadcast),
	      "a broadcast is inside what the user has of it");

static struct broadcast *
broadcast_of(struct weir_broadcast *broadcast)
{
	return (struct broadcast *)broadcast;
}

static bool
grant(struct sync *sync, struct wait *w)
{
	const struct broadcast *b = (struct broadcast *)sync;

	w->rc = TOLD;
	return b->closed || w->n != (uint32_t)b->sent;
}

static const struct sync_ops ops = {
	.grant = grant,
};

int
weir_broadcast_init(struct weir_broadcast *broadcast, void *ring, uint32_t n,
		    size_t size)
{
	struct broadcast *b = broadcast_of(broadcast);

	if (n == 0 || (n & (n - 1)) != 0 || size == 0 ||
	    size > WEIR_BROADCAST_SIZE_MAX)
		return -EINVAL;
	weir__sync_init(&b->sync, &ops);
	b->sent = 0;
	b->ring = ring;
	b->nb_slots = n;
	b->size = size;
	b->closed = false;
	return 0;
}

void
weir_broadcast_fini(struct weir_broadcast *broadcast)
{
	weir__sync_fini(&broadcast_of(broadcast)->sync);
}

/* Y28. With the lock. */
static char *
slot(const struct broadcast *b, uint64_t number)
{
	return b->ring + (number & (b->nb_slots - 1)) * b->size;
}

int
weir_broadcast_send(struct weir_broadcast *broadcast, const void *value)
{
	struct broadcast *b = broadcast_of(broadcast);

	lock_acquire(&b->sync.lock);
	if (unlikely(b->closed)) {
		lock_release(&b->sync.lock);
		return -EPIPE;
	}
	memcpy(slot(b, b->sent), value, b->size);
	b->sent++;
	sync_settle(&b->sync);
	return 0;
}

void
weir_broadcast_subscribe(struct weir_broadcast *broadcast,
			 struct weir_broadcast_receiver *receiver)
{
	struct broadcast *b = broadcast_of(broadcast);

	lock_acquire(&b->sync.lock);
	receiver->next = b->sent;
	lock_release(&b->sync.lock);
	receiver->missed = 0;
}

/* 0, -EOVERFLOW, -EPIPE or -EAGAIN. With the lock. */
static int
take(const struct broadcast *b, struct weir_broadcast_receiver *receiver,
     void *value)
{
	uint64_t behind = b->sent - receiver->next;

	if (behind == 0)
		return b->closed ? -EPIPE : -EAGAIN;
	if (unlikely(behind > b->nb_slots)) {
		/* Y29 */
		receiver->missed = behind - b->nb_slots;
		receiver->next += receiver->missed;
		return -EOVERFLOW;
	}
	memcpy(value, slot(b, receiver->next), b->size);
	receiver->next++;
	return 0;
}

/* With the lock, which it gives back. */
static int
take_or_join(struct weir_context *ctx, struct broadcast *b,
	     struct weir_broadcast_receiver *receiver, void *value,
	     struct weir_wait *wait)
{
	int rc = take(b, receiver, value);

	/* Y30 */
	if (rc == -EAGAIN)
		return weir__wait_join(ctx, &b->sync, wait, 0, receiver,
				       (uint32_t)b->sent);
	lock_release(&b->sync.lock);
	return rc;
}

int
weir_broadcast_recv(struct weir_context *ctx, struct weir_broadcast *broadcast,
		    struct weir_broadcast_receiver *receiver, void *value,
		    struct weir_wait *wait)
{
	struct broadcast *b = broadcast_of(broadcast);
	int rc;

	do {
		if (wait_begin_at(ctx, &b->sync, wait, receiver, &rc))
			rc = take_or_join(ctx, b, receiver, value, wait);
	} while (rc == TOLD);
	return rc;
}

int
weir_broadcast_try_recv(struct weir_broadcast *broadcast,
			struct weir_broadcast_receiver *receiver, void *value)
{
	struct broadcast *b = broadcast_of(broadcast);
	int rc;

	lock_acquire(&b->sync.lock);
	rc = take(b, receiver, value);
	lock_release(&b->sync.lock);
	return rc;
}

void
weir_broadcast_close(struct weir_broadcast *broadcast)
{
	struct broadcast *b = broadcast_of(broadcast);

	lock_acquire(&b->sync.lock);
	b->closed = true;
	sync_settle(&b->sync);
}
