/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Notes to one waiter or to all.
 *
 * Y6 A note to one is with the waiter that was told, or kept; never lost, and
 *    kept only while nobody waits, or while others in front are told (wait.c, Y2).
 * Y7 A note to all reaches those that came before it: each round of notes has a
 *    number, and a waiter knows which was the last before it came.
 */

#include <errno.h>

#include "sync/wait.h"
#include "sync/weir_notify.h"

struct notify {
	struct sync sync;
	uint32_t round; /* of notes to all */
	bool kept;	/* a note to one */
	bool closed;
};

static_assert(sizeof(struct notify) <= sizeof(struct weir_notify),
	      "it is inside what the user has of it");

static struct notify *
notify_of(struct weir_notify *notify)
{
	return (struct notify *)notify;
}

/* With the lock. */
static bool
take_kept(struct notify *n)
{
	bool kept = n->kept;

	n->kept = false;
	return kept;
}

static bool
grant(struct sync *sync, struct wait *w)
{
	struct notify *n = (struct notify *)sync;

	if (n->closed) {
		w->rc = -EPIPE;
		return true;
	}
	/* Y7: what is for all is nobody's to give on. */
	w->place = NULL;
	if (w->n != n->round)
		return true;
	w->place = n;
	return take_kept(n);
}

static void
give_up(struct sync *sync, struct wait *w, bool granted)
{
	if (granted && w->place != NULL)
		((struct notify *)sync)->kept = true;
}

static const struct sync_ops ops = {
	.grant = grant,
	.give_up = give_up,
};

void
weir_notify_init(struct weir_notify *notify)
{
	struct notify *n = notify_of(notify);

	weir__sync_init(&n->sync, &ops);
	n->round = 0;
	n->kept = false;
	n->closed = false;
}

void
weir_notify_fini(struct weir_notify *notify)
{
	weir__sync_fini(&notify_of(notify)->sync);
}

int
weir_notify_wait(struct weir_context *ctx, struct weir_notify *notify,
		 struct weir_wait *wait)
{
	struct notify *n = notify_of(notify);
	int rc;

	if (!wait_begin(ctx, &n->sync, wait, &rc))
		return rc;
	/* Y3: a note that is kept is for somebody in front, if there is one. */
	if (!n->closed && (sync_awaited(&n->sync, 0) || !take_kept(n)))
		return weir__wait_join(ctx, &n->sync, wait, 0, NULL, n->round);
	rc = n->closed ? -EPIPE : 0;
	lock_release(&n->sync.lock);
	return rc;
}

void
weir_notify_one(struct weir_notify *notify)
{
	struct notify *n = notify_of(notify);

	lock_acquire(&n->sync.lock);
	n->kept = true;
	sync_settle(&n->sync);
}

void
weir_notify_all(struct weir_notify *notify)
{
	struct notify *n = notify_of(notify);

	lock_acquire(&n->sync.lock);
	n->round++;
	sync_settle(&n->sync);
}

void
weir_notify_close(struct weir_notify *notify)
{
	struct notify *n = notify_of(notify);

	lock_acquire(&n->sync.lock);
	n->closed = true;
	sync_settle(&n->sync);
}
