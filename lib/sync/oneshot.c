/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One value from one sender to one receiver.
 *
 * Y12 The value is written once, before the sender goes, and read or dropped
 *     once, by whoever ends the receiver after that.
 * Y13 The memory goes with the second end.
 */

#include <errno.h>
#include <string.h>

#include "sched/scheduler.h"
#include "sync/wait.h"
#include "sync/weir_oneshot.h"

struct oneshot {
	struct sync sync;
	void (*drop)(void *value);
	uint32_t size;
	bool sent;
	bool gone[2]; /* sender, receiver */
	uint8_t value[] __attribute__((aligned(16)));
};

enum end {
	SENDER,
	RECEIVER,
};

static struct oneshot *
oneshot_of(const void *end)
{
	return (struct oneshot *)(uintptr_t)end;
}

static bool
grant(struct sync *s, struct wait *w)
{
	(void)w;
	return ((const struct oneshot *)s)->gone[SENDER];
}

static const struct sync_ops ops = {
	.grant = grant,
};

int
weir_oneshot_create(struct weir_runtime *rt, size_t size,
		    void (*drop)(void *value), struct weir_oneshot_tx **tx,
		    struct weir_oneshot_rx **rx)
{
	struct oneshot *o;

	if (size > WEIR_ONESHOT_SIZE_MAX)
		return -EINVAL;
	o = weir__object_alloc(rt, sizeof(*o) + size);
	if (o == NULL)
		return -ENOMEM;
	weir__sync_init(&o->sync, &ops);
	o->drop = drop;
	o->size = (uint32_t)size;
	o->sent = false;
	o->gone[SENDER] = false;
	o->gone[RECEIVER] = false;
	*tx = (struct weir_oneshot_tx *)o;
	*rx = (struct weir_oneshot_rx *)o;
	return 0;
}

/* With the lock, which is given back. Y13 */
static void
end_locked(struct oneshot *o, enum end end)
{
	bool last = o->gone[!end];

	o->gone[end] = true;
	weir__sync_settle(&o->sync);
	if (last)
		weir__object_free(o);
}

int
weir_oneshot_send(struct weir_oneshot_tx *tx, const void *value)
{
	struct oneshot *o = oneshot_of(tx);
	int rc = 0;

	lock_acquire(&o->sync.lock);
	if (o->gone[RECEIVER]) {
		rc = -EPIPE;
	} else {
		memcpy(o->value, value, o->size);
		o->sent = true;
	}
	end_locked(o, SENDER);
	return rc;
}

void
weir_oneshot_tx_drop(struct weir_oneshot_tx *tx)
{
	struct oneshot *o = oneshot_of(tx);

	if (tx == NULL)
		return;
	lock_acquire(&o->sync.lock);
	end_locked(o, SENDER);
}

/* The sender has gone: with the lock, which is given back. */
static int
take(struct oneshot *o, void *value)
{
	int rc = -EPIPE;

	if (o->sent) {
		memcpy(value, o->value, o->size);
		rc = 0;
	}
	end_locked(o, RECEIVER);
	return rc;
}

int
weir_oneshot_recv(struct weir_context *ctx, struct weir_oneshot_rx *rx,
		  void *value, struct weir_wait *wait)
{
	struct oneshot *o = oneshot_of(rx);
	int rc;

	if (weir__wait_begin(ctx, &o->sync, wait, &rc)) {
		if (o->gone[SENDER])
			return take(o, value);
		rc = weir__wait_join(ctx, &o->sync, wait, 0, NULL, 0);
	}
	if (rc < 0)
		return rc;
	lock_acquire(&o->sync.lock);
	return take(o, value);
}

int
weir_oneshot_try_recv(struct weir_oneshot_rx *rx, void *value)
{
	struct oneshot *o = oneshot_of(rx);

	lock_acquire(&o->sync.lock);
	if (o->gone[SENDER])
		return take(o, value);
	lock_release(&o->sync.lock);
	return -EAGAIN;
}

void
weir_oneshot_rx_drop(struct weir_oneshot_rx *rx)
{
	struct oneshot *o = oneshot_of(rx);

	if (rx == NULL)
		return;
	lock_acquire(&o->sync.lock);
	if (o->sent && o->drop != NULL) {
		/* Y12: the sender has gone, so it is ours alone. */
		lock_release(&o->sync.lock);
		o->drop(o->value);
		lock_acquire(&o->sync.lock);
	}
	end_locked(o, RECEIVER);
}
