/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A wait group is a count, and the number of times that it has come to 0.
 *
 * Y24 Who waits is let go when the count has been 0 since it came, whatever was
 *     added after that: it is of an earlier round.
 * Y25 The count never goes below 0 or wraps: what would is refused.
 */

#include <errno.h>

#include "sync/wait.h"
#include "sync/weir_wait_group.h"

struct wait_group {
	struct sync sync;
	uint32_t count;
	uint32_t round;
	bool closed;
};

static_assert(sizeof(struct wait_group) <= sizeof(struct weir_wait_group),
	      "a group is inside what the user has of it");

static struct wait_group *
group_of(struct weir_wait_group *group)
{
	return (struct wait_group *)group;
}

static bool
grant(struct sync *sync, struct wait *w)
{
	const struct wait_group *g = (struct wait_group *)sync;

	w->rc = w->n == g->round ? -EPIPE : 0;
	return w->rc == 0 || g->closed;
}

static const struct sync_ops ops = {
	.grant = grant,
};

void
weir_wait_group_init(struct weir_wait_group *group)
{
	struct wait_group *g = group_of(group);

	weir__sync_init(&g->sync, &ops);
	g->count = 0;
	g->round = 0;
	g->closed = false;
}

void
weir_wait_group_fini(struct weir_wait_group *group)
{
	weir__sync_fini(&group_of(group)->sync);
}

int
weir_wait_group_add(struct weir_wait_group *group, uint32_t n)
{
	struct wait_group *g = group_of(group);
	int rc = 0;

	lock_acquire(&g->sync.lock);
	if (unlikely(g->closed))
		rc = -EPIPE;
	else if (unlikely(n > UINT32_MAX - g->count))
		rc = -EOVERFLOW;
	else
		g->count += n;
	lock_release(&g->sync.lock);
	return rc;
}

int
weir_wait_group_done(struct weir_wait_group *group)
{
	struct wait_group *g = group_of(group);

	lock_acquire(&g->sync.lock);
	if (unlikely(g->count == 0)) {
		lock_release(&g->sync.lock);
		return -EINVAL;
	}
	if (--g->count == 0)
		g->round++;
	sync_settle(&g->sync);
	return 0;
}

int
weir_wait_group_wait(struct weir_context *ctx, struct weir_wait_group *group,
		     struct weir_wait *wait)
{
	struct wait_group *g = group_of(group);
	int rc;

	if (!wait_begin(ctx, &g->sync, wait, &rc))
		return rc;
	if (!g->closed && g->count > 0)
		return weir__wait_join(ctx, &g->sync, wait, 0, NULL, g->round);
	rc = g->closed ? -EPIPE : 0;
	lock_release(&g->sync.lock);
	return rc;
}

void
weir_wait_group_close(struct weir_wait_group *group)
{
	struct wait_group *g = group_of(group);

	lock_acquire(&g->sync.lock);
	g->closed = true;
	sync_settle(&g->sync);
}
