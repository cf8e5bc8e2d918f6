/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sets of tasks.
 *
 * The set has the join handle of each of its members, and is the handle's
 * watcher: the thread that ends a task puts its member behind those that ended
 * before. Whoever uses the set looks at the first of these only, and at none of
 * those that run.
 *
 * Invariants:
 * Y43 A member is among the ended from the moment in which it was told of its
 *     task's end, and once; so these are in the order of ending.
 * Y44 Whoever ends a task does not touch its member after the lock was given
 *     back, nor the set: its user may free both then.
 * Y45 A handle is given up before its end only when its watcher was taken back,
 *     or has been told. One that had ended before has none: what waits for it may
 *     be somebody who polled the handle, and stays there (T4).
 */

#include <errno.h>

#include "sync/memory.h"
#include "sync/wait.h"
#include "sync/weir_join_set.h"

struct member {
	struct task_watcher watcher;
	struct weir_join_set *set;
	/* Of the set's user: in `members`, or in `spare`. */
	struct list_link link;
	struct weir_join *join;
	bool watched;
	/* In `ended`, under the lock. */
	struct list_link ended;
};

struct weir_join_set {
	struct sync sync;
	/* Under the lock; only the user changes the count. */
	struct list_link ended;
	size_t nb_members;
	/* Of the set's user. */
	struct list_link members;
	struct list_link spare;
};

static struct weir_join_set *
set_of(struct sync *sync)
{
	return (struct weir_join_set *)sync;
}

/* Is there an answer? With the lock. */
static bool
ready(const struct weir_join_set *set)
{
	return !list_empty(&set->ended) || set->nb_members == 0;
}

/* It takes its answer when it comes, and waits again if the user has taken that. */
static bool
grant(struct sync *sync, struct wait *w)
{
	(void)w;
	return ready(set_of(sync));
}

static const struct sync_ops ops = {
	.grant = grant,
};

static void
member_ended(struct task_watcher *watcher)
{
	struct member *m = container_of(watcher, struct member, watcher);
	struct weir_join_set *set = m->set;

	lock_acquire(&set->sync.lock);
	WEIR_ASSERT(!list_linked(&m->ended), "Y43");
	list_push_back(&set->ended, &m->ended);
	/* Y44: one waits at most, so it does not take the lock again. */
	sync_settle(&set->sync);
}

struct weir_join_set *
weir_join_set_create(void)
{
	struct weir_join_set *set = sync_alloc("weir_join_set", sizeof(*set));

	if (set == NULL)
		return NULL;
	weir__sync_init(&set->sync, &ops);
	list_init(&set->ended);
	list_init(&set->members);
	list_init(&set->spare);
	return set;
}

/* NULL: no memory. */
static struct member *
new_member(struct weir_join_set *set)
{
	struct list_link *l = list_pop_front(&set->spare);
	struct member *m;

	if (l != NULL)
		return container_of(l, struct member, link);
	m = sync_alloc("weir_member", sizeof(*m));
	if (m == NULL)
		return NULL;
	m->watcher.ended = member_ended;
	m->set = set;
	return m;
}

static void
add(struct weir_join_set *set, struct member *m, struct weir_join *join)
{
	m->join = join;
	list_push_back(&set->members, &m->link);
	lock_acquire(&set->sync.lock);
	set->nb_members++;
	lock_release(&set->sync.lock);
	m->watched =
		weir__join_watch(join, weir__waker_of_watcher(&m->watcher));
	if (!m->watched)
		member_ended(&m->watcher);
}

int
weir_join_set_spawn(struct weir_join_set *set, struct weir_runtime *rt,
		    const struct weir_task_ops *task_ops, const void *state,
		    const struct weir_spawn_attr *attr, uint64_t *id)
{
	struct member *m = new_member(set);
	struct weir_join *join;

	if (m == NULL)
		return -ENOMEM;
	join = weir_task_spawn(rt, task_ops, state, attr);
	if (join == NULL) {
		list_push_back(&set->spare, &m->link);
		return -rte_errno;
	}
	if (id != NULL)
		*id = weir_join_id(join);
	add(set, m, join);
	return 0;
}

int
weir_join_set_add(struct weir_join_set *set, struct weir_join *join)
{
	struct member *m;

	if (join == NULL)
		return -EINVAL;
	m = new_member(set);
	if (m == NULL)
		return -ENOMEM;
	add(set, m, join);
	return 0;
}

/* The first that has ended; -EAGAIN: none, and some run. */
static int
take(struct weir_join_set *set, struct weir_joined *joined, void *result)
{
	struct list_link *l;
	struct member *m;
	bool empty;

	lock_acquire(&set->sync.lock);
	l = list_pop_front(&set->ended);
	empty = set->nb_members == 0;
	if (l != NULL)
		set->nb_members--;
	lock_release(&set->sync.lock);
	if (l == NULL)
		return empty ? -ENOENT : -EAGAIN;
	m = container_of(l, struct member, ended);
	joined->id = weir_join_id(m->join);
	joined->ops = task_ops((struct task *)m->join);
	joined->rc = weir_join_try(m->join, result);
	WEIR_ASSERT(joined->rc != WEIR_PENDING, "Y43");
	list_remove(&m->link);
	list_push_back(&set->spare, &m->link);
	return 0;
}

/* Waits until there is an answer. With the lock, which it gives back. */
static int
wait_ready(struct weir_context *ctx, struct weir_join_set *set,
	   struct weir_wait *wait)
{
	bool awaited = sync_awaited(&set->sync, 0);

	if (!awaited && !ready(set))
		return weir__wait_join(ctx, &set->sync, wait, 0, NULL, 0);
	lock_release(&set->sync.lock);
	return awaited ? -EBUSY : 0;
}

int
weir_join_set_next(struct weir_context *ctx, struct weir_join_set *set,
		   struct weir_joined *joined, void *result,
		   struct weir_wait *wait)
{
	int rc;

	do {
		if (wait_begin(ctx, &set->sync, wait, &rc))
			rc = wait_ready(ctx, set, wait);
		if (rc < 0)
			return rc;
		rc = take(set, joined, result);
	} while (unlikely(rc == -EAGAIN));
	return rc;
}

void
weir_join_set_abort_all(struct weir_join_set *set)
{
	struct list_link *l;

	for (l = set->members.next; l != &set->members; l = l->next)
		weir_join_abort(container_of(l, struct member, link)->join);
}

void
weir_join_set_detach_all(struct weir_join_set *set)
{
	struct list_link *l;

	while ((l = list_pop_front(&set->members)) != NULL) {
		struct member *m = container_of(l, struct member, link);

		/* Y45 */
		if (m->watched)
			weir__join_unwatch(m->join);
		weir_join_detach(m->join);
		list_push_back(&set->spare, &m->link);
	}
	lock_acquire(&set->sync.lock);
	while (list_pop_front(&set->ended) != NULL)
		continue;
	set->nb_members = 0;
	sync_settle(&set->sync);
}

void
weir_join_set_free(struct weir_join_set *set)
{
	struct list_link *l;

	if (set == NULL)
		return;
	weir_join_set_abort_all(set);
	weir_join_set_detach_all(set);
	weir__sync_fini(&set->sync);
	while ((l = list_pop_front(&set->spare)) != NULL)
		sync_free(container_of(l, struct member, link));
	sync_free(set);
}

size_t
weir_join_set_count(const struct weir_join_set *set)
{
	return set->nb_members;
}
