/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Notes to one waiter or to all.
 *
 * Y6 A note to one is with the waiter that was told, or kept; never lost. While
 *    nobody waits one is kept; while others in front are told (wait.c, Y2), as many
 *    as were given.
 * Y7 A note to all reaches those that came before it: each round of notes has a
 *    number, and a waiter knows which was the last before it came.
 */

#include <errno.h>

#include "sync/wait.h"
#include "sync/weir_notify.h"

struct notify {
	struct sync sync;
	uint32_t round; /* of notes to all */
	uint32_t kept;	/* notes to one */
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
static void
keep(struct notify *n)
{
	n->kept = sync_awaited(&n->sync, 0) ? n->kept + 1 : 1;
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
	if (n->kept == 0)
		return false;
	n->kept--;
	w->place = n;
	return true;
}

static void
give_up(struct sync *sync, struct wait *w, bool granted)
{
	if (granted && w->place != NULL)
		keep((struct notify *)sync);
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
	n->kept = 0;
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
	if (!n->closed && (sync_awaited(&n->sync, 0) || n->kept == 0))
		return weir__wait_join(ctx, &n->sync, wait, 0, NULL, n->round);
	n->kept = 0;
	rc = n->closed ? -EPIPE : 0;
	lock_release(&n->sync.lock);
	return rc;
}

void
weir_notify_one(struct weir_notify *notify)
{
	struct notify *n = notify_of(notify);

	lock_acquire(&n->sync.lock);
	keep(n);
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
