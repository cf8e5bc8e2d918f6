/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_OWNED_H
#define TASK_OWNED_H

/*
 * All live tasks whose home is one node, so that shutdown can end them.
 *
 * Sharded, so that workers of a node seldom meet at a lock: a spawner inserts
 * into its own shard, and most tasks end on the worker that spawned them.
 */

#include "base/lock.h"
#include "task/cell.h"
#include "task/stack.h"
#include "task/task.h"
#include "task/weir_hooks.h"

#define OWNED_MAX_SHARDS 64
/* The shard of a task that is on no list. */
#define OWNED_NONE UINT8_MAX

/* Tests shrink it. */
#ifndef OWNED_WALK_CHUNK
#define OWNED_WALK_CHUNK 64
#endif

struct owned_shard {
	struct lock lock;
	bool closed;
	uint8_t index;
	struct atomic_u64 count; /* on both lists; written under the lock */
	struct list_link tasks;
	struct list_link ending; /* shutdown has come to them */
} weir_cache_aligned;

static_assert(sizeof(struct owned_shard) == WEIR_CACHE_LINE,
	      "a spawner touches one line of its shard");

struct owned {
	unsigned int nb_shards;	 /* a power of two */
	struct list_link cursor; /* of a walk, see owned.c, O5 */
	struct owned_shard shards[OWNED_MAX_SHARDS];
};

/* What the tasks of one node share; a part of the scheduler's node. */
struct task_home {
	struct cell_pools cells;
	struct stack_pool stacks;
	const struct weir_hooks *hooks; /* NULL: none of those for tasks */
	struct owned owned;
};

void
weir__owned_init(struct owned *o, unsigned int nb_workers);

/* The task is not to be on any list. */
static inline void
owned_none(struct task *t)
{
	t->shard = OWNED_NONE;
}

/* `hint` spreads inserters over shards. */
static inline struct owned_shard *
owned_shard_of(struct owned *o, unsigned int hint)
{
	return &o->shards[hint & (o->nb_shards - 1)];
}

/* With the lock, which goes. */
static inline bool
owned_link(struct owned_shard *s, struct task *t)
{
	bool bound = !s->closed;

	if (likely(bound)) {
		list_push_back(&s->tasks, &t->owned);
		atomic_u64_add_owner(&s->count, 1);
	}
	lock_release(&s->lock);
	if (unlikely(!bound))
		owned_none(t);
	return bound;
}

/*
 * Takes the list's reference of a new task. False if the list is closed: the
 * task was not inserted.
 */
static inline bool
owned_insert(struct owned_shard *s, struct task *t)
{
	t->shard = s->index;
	lock_acquire(&s->lock);
	return owned_link(s, t);
}

/* The same without a wait. False also if others have the lock. */
static inline bool
owned_insert_at_once(struct owned_shard *s, struct task *t)
{
	t->shard = s->index;
	return likely(lock_take(&s->lock)) && owned_link(s, t);
}

/* The same for n tasks: all or none. */
bool
weir__owned_insert_burst(struct owned_shard *s, struct task *const *tasks,
			 unsigned int n);

/* With the lock, which goes. */
static inline void
owned_unlink(struct owned_shard *s, struct task *t)
{
	list_remove(&t->owned);
	atomic_u64_add_owner(&s->count, (uint64_t)-1);
	lock_release(&s->lock);
	owned_none(t);
}

/* False if it was never inserted: there is no reference to give back then. */
static inline bool
owned_remove(struct task *t)
{
	struct owned_shard *s;

	if (unlikely(t->shard == OWNED_NONE))
		return false;
	s = &t->home->owned.shards[t->shard];
	lock_acquire(&s->lock);
	owned_unlink(s, t);
	return true;
}

/* The same without a wait. False also if others have the lock. */
static inline bool
owned_remove_at_once(struct task *t)
{
	struct owned_shard *s = &t->home->owned.shards[t->shard];

	if (unlikely(t->shard == OWNED_NONE || !lock_take(&s->lock)))
		return false;
	owned_unlink(s, t);
	return true;
}

/* No insertion succeeds from here on. Any thread. */
void
weir__owned_close(struct owned *o);

/*
 * Ends tasks until the closed list has none left to begin with but those bound
 * to other workers; the workers share the work, each starting at its own shard.
 * A task that runs elsewhere is ended by its own worker.
 */
void
weir__owned_shutdown(struct owned *o, unsigned int hint, unsigned int worker);

/* Tasks that have not ended; at once old. Takes no lock. */
uint64_t
weir__owned_count(const struct owned *o);

/* False: the walk ends here. With the lock of the task's shard: be short. */
typedef bool
owned_visit(const struct task *t, void *arg);

/*
 * Visits the tasks that have not ended, those of a shard that shutdown has come
 * to before its others, and none of them twice. A task that comes, goes or is
 * come to by shutdown meanwhile may be missed. No lock is held for longer than
 * OWNED_WALK_CHUNK visits. One walk at a time.
 */
void
weir__owned_walk(struct owned *o, owned_visit *visit, void *arg);

/* join.c: nobody will take the outcome. */
void
weir__join_drop_outcome(struct task *t);

#endif
