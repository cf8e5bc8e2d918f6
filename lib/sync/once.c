/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Something that is initialised once, by the first in line that succeeds.
 *
 * Y22 While it is BUSY just one has been told to initialise it, and has neither
 *     said how that ended nor given up before it knew.
 * Y23 DONE is the last state.
 */

#include <errno.h>

#include "sync/wait.h"
#include "sync/weir_once.h"

enum once_state {
	ONCE_NEW,
	ONCE_BUSY,
	ONCE_DONE,
};

struct once {
	struct sync sync;
	struct atomic_u32 state; /* written under the lock */
	bool closed;
};

static_assert(sizeof(struct once) <= sizeof(struct weir_once),
	      "it is inside what the user has of it");

static struct once *
once_of(struct weir_once *once)
{
	return (struct once *)once;
}

/* 0, 1, -EPIPE or -EAGAIN. With the lock. */
static int
try_begin(struct once *o)
{
	uint32_t state = atomic_u32_load(&o->state, RELAXED);

	if (state == ONCE_DONE)
		return 0;
	if (o->closed)
		return -EPIPE;
	if (state == ONCE_BUSY)
		return -EAGAIN;
	atomic_u32_store(&o->state, ONCE_BUSY, RELAXED);
	return 1;
}

static bool
grant(struct sync *sync, struct wait *w)
{
	int rc = try_begin((struct once *)sync);

	if (rc == -EAGAIN)
		return false;
	w->rc = rc;
	return true;
}

static void
give_up(struct sync *sync, struct wait *w, bool granted)
{
	struct once *o = (struct once *)sync;

	/* Y22 */
	if (granted && w->rc == 1)
		atomic_u32_store(&o->state, ONCE_NEW, RELAXED);
}

static const struct sync_ops ops = {
	.grant = grant,
	.give_up = give_up,
};

void
weir_once_init(struct weir_once *once)
{
	struct once *o = once_of(once);

	weir__sync_init(&o->sync, &ops);
	atomic_u32_store(&o->state, ONCE_NEW, RELAXED);
	o->closed = false;
}

void
weir_once_fini(struct weir_once *once)
{
	weir__sync_fini(&once_of(once)->sync);
}

/* Without the lock. A wait that was begun has to be ended. */
static bool
done_before(const struct once *o, const struct weir_wait *wait)
{
	if (wait != NULL && ((const struct wait *)wait)->awaited != NULL)
		return false;
	/* [once:A1] */
	return atomic_u32_load(&o->state, ACQUIRE) == ONCE_DONE;
}

int
weir_once_begin(struct weir_context *ctx, struct weir_once *once,
		struct weir_wait *wait)
{
	struct once *o = once_of(once);
	int rc;

	if (likely(done_before(o, wait)))
		return 0;
	if (!wait_begin(ctx, &o->sync, wait, &rc))
		return rc;
	rc = try_begin(o);
	if (rc == -EAGAIN)
		return weir__wait_join(ctx, &o->sync, wait, 0, NULL, 0);
	lock_release(&o->sync.lock);
	return rc;
}

static int
end(struct once *o, uint32_t state)
{
	lock_acquire(&o->sync.lock);
	if (unlikely(atomic_u32_load(&o->state, RELAXED) != ONCE_BUSY)) {
		lock_release(&o->sync.lock);
		return -EINVAL;
	}
	/*
	 * [once:A1] who finds it done without the lock would else miss what was
	 * initialised.
	 */
	atomic_u32_store(&o->state, state, RELEASE);
	sync_settle(&o->sync);
	return 0;
}

int
weir_once_done(struct weir_once *once)
{
	return end(once_of(once), ONCE_DONE);
}

int
weir_once_fail(struct weir_once *once)
{
	return end(once_of(once), ONCE_NEW);
}

void
weir_once_close(struct weir_once *once)
{
	struct once *o = once_of(once);

	lock_acquire(&o->sync.lock);
	o->closed = true;
	sync_settle(&o->sync);
}
