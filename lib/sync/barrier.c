/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A barrier counts who has arrived. The last one begins a new round, and those
 * of another round than the one that is on are let go.
 *
 * Y20 `arrived` is how many wait for the end of the round that is on. Who gives
 *     up counts no more; who is of a round that is over was not counted any
 *     more, be it still in line.
 * Y21 A round ends with its last party, which is told so: each has one leader.
 */

#include <errno.h>

#include "sync/wait.h"
#include "sync/weir_barrier.h"

struct barrier {
	struct sync sync;
	uint32_t parties;
	uint32_t arrived;
	uint32_t round;
	bool closed;
};

static_assert(sizeof(struct barrier) <= sizeof(struct weir_barrier),
	      "a barrier is inside what the user has of it");

static struct barrier *
barrier_of(struct weir_barrier *barrier)
{
	return (struct barrier *)barrier;
}

static bool
grant(struct sync *sync, struct wait *w)
{
	const struct barrier *b = (struct barrier *)sync;

	w->rc = w->n == b->round ? -EPIPE : 0;
	return w->rc == 0 || b->closed;
}

static void
give_up(struct sync *sync, struct wait *w, bool granted)
{
	struct barrier *b = (struct barrier *)sync;

	/* Y20 */
	if (granted || w->n != b->round)
		return;
	WEIR_ASSERT(b->arrived > 0, "Y20");
	b->arrived--;
}

static const struct sync_ops ops = {
	.grant = grant,
	.give_up = give_up,
};

int
weir_barrier_init(struct weir_barrier *barrier, uint32_t parties)
{
	struct barrier *b = barrier_of(barrier);

	if (parties == 0)
		return -EINVAL;
	weir__sync_init(&b->sync, &ops);
	b->parties = parties;
	b->arrived = 0;
	b->round = 0;
	b->closed = false;
	return 0;
}

void
weir_barrier_fini(struct weir_barrier *barrier)
{
	weir__sync_fini(&barrier_of(barrier)->sync);
}

int
weir_barrier_wait(struct weir_context *ctx, struct weir_barrier *barrier,
		  struct weir_wait *wait)
{
	struct barrier *b = barrier_of(barrier);
	int rc;

	if (!wait_begin(ctx, &b->sync, wait, &rc))
		return rc;
	if (unlikely(b->closed)) {
		lock_release(&b->sync.lock);
		return -EPIPE;
	}
	if (++b->arrived < b->parties)
		return weir__wait_join(ctx, &b->sync, wait, 0, NULL, b->round);
	/* Y21 */
	b->arrived = 0;
	b->round++;
	sync_settle(&b->sync);
	return 1;
}

void
weir_barrier_close(struct weir_barrier *barrier)
{
	struct barrier *b = barrier_of(barrier);

	lock_acquire(&b->sync.lock);
	b->closed = true;
	sync_settle(&b->sync);
}
