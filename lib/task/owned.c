/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Owned lists. Each shard is a list under a lock, with a closed bit under the
 * same lock.
 *
 * O1 A task that was inserted is on one of its shard's lists until it has
 *    ended, and only weir__task_end() takes it off: so the count is that of tasks
 *    that have not ended, also when they never do.
 * O2 After close, nothing is inserted: a spawner learns that from insert and
 *    refuses the task, so shutdown sees every task that was ever bound.
 * O3 No task's code runs under a shard's lock.
 * O4 Shutdown cancels a task under the lock, while it moves it from `tasks` to
 *    `ending`. The list's reference keeps the cell meanwhile: a worker that
 *    has completed the task needs the lock to take that reference.
 * O5 A walk holds a shard's lock for OWNED_WALK_CHUNK tasks at a time, and
 *    keeps its place with a cursor, a link that is no task. There is one walk
 *    at a time, so one cursor, and shutdown is the only one to meet it. A walk
 *    goes forwards, over `ending` before `tasks`, and shutdown takes tasks from
 *    the back of `tasks` only, to its front or to `ending`: so none is met
 *    twice.
 * O6 A task that is bound to a worker is ended by that worker, in shutdown too:
 *    it may share with others of its worker what nobody guards.
 */

#include "task/owned.h"

void
weir__owned_init(struct owned *o, unsigned int nb_workers)
{
	unsigned int i;

	o->nb_shards = rte_align32pow2(nb_workers);
	if (o->nb_shards > OWNED_MAX_SHARDS)
		o->nb_shards = OWNED_MAX_SHARDS;
	for (i = 0; i < o->nb_shards; i++) {
		lock_init(&o->shards[i].lock);
		o->shards[i].closed = false;
		o->shards[i].index = (uint8_t)i;
		atomic_u64_store(&o->shards[i].count, 0, RELAXED);
		list_init(&o->shards[i].tasks);
		list_init(&o->shards[i].ending);
	}
}

bool
weir__owned_insert_burst(struct owned_shard *s, struct task *const *tasks,
			 unsigned int n)
{
	struct list_link burst;
	unsigned int i;
	bool bound;

	/* Linked before, so that the lock is held for two links only. */
	list_init(&burst);
	for (i = 0; i < n; i++) {
		tasks[i]->shard = s->index;
		list_push_back(&burst, &tasks[i]->owned);
	}
	lock_acquire(&s->lock);
	bound = !s->closed;
	if (likely(bound)) {
		list_move_before(&s->tasks, &burst);
		atomic_u64_add_owner(&s->count, n);
	}
	lock_release(&s->lock);
	for (i = 0; !bound && i < n; i++)
		owned_none(tasks[i]);
	return bound;
}

void
weir__owned_fetch(const struct task *t)
{
	struct owned_shard *s;

	if (t->shard == OWNED_NONE)
		return;
	s = &t->home->owned.shards[t->shard];
	lock_acquire(&s->lock);
	rte_prefetch0(t->owned.next);
	rte_prefetch0(t->owned.prev);
	lock_release(&s->lock);
}

void
weir__owned_close(struct owned *o)
{
	unsigned int i;

	for (i = 0; i < o->nb_shards; i++) {
		lock_acquire(&o->shards[i].lock);
		o->shards[i].closed = true;
		lock_release(&o->shards[i].lock);
	}
}

/*
 * O4. Returns false when there was none left for this worker; *ours is the task that the caller
 * has to end, or NULL.
 */
static bool
cancel_last(struct owned *o, struct owned_shard *s, unsigned int worker,
	    struct task **ours)
{
	struct list_link *l;
	struct task *t;
	bool found = false;
	uint64_t n;

	*ours = NULL;
	lock_acquire(&s->lock);
	for (n = atomic_u64_load(&s->count, RELAXED); n > 0 && !found; n--) {
		l = s->tasks.prev;
		if (l == &o->cursor)
			l = l->prev;
		if (l == &s->tasks)
			break;
		list_remove(l);
		t = container_of(l, struct task, owned);
		found = !task_is_local(t) || t->worker == worker;
		if (!found) {
			/* Another's (O6): to where no walk comes again (O5). */
			list_push_front(&s->tasks, l);
			continue;
		}
		list_push_back(&s->ending, l);
		if (state_to_shutdown(&t->state))
			*ours = t;
	}
	lock_release(&s->lock);
	return found;
}

void
weir__owned_shutdown(struct owned *o, unsigned int hint, unsigned int worker)
{
	struct task *t;
	unsigned int i;

	for (i = 0; i < o->nb_shards; i++) {
		struct owned_shard *s =
			&o->shards[(hint + i) & (o->nb_shards - 1)];

		while (cancel_last(o, s, worker, &t))
			if (t != NULL)
				weir__task_end_cancelled(t);
	}
}

uint64_t
weir__owned_count(const struct owned *o)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < o->nb_shards; i++)
		n += atomic_u64_load(&o->shards[i].count, RELAXED);
	return n;
}

/*
 * Gives the shard's lock to those that wait for it, in the middle of a list
 * before l (O5). Returns the element that stands there afterwards.
 */
static struct list_link *
let_others_in(struct owned *o, struct owned_shard *s, struct list_link *l)
{
	list_push_back(l, &o->cursor);
	lock_release(&s->lock);
	lock_acquire_last(&s->lock);
	l = o->cursor.next;
	list_remove(&o->cursor);
	return l;
}

static bool
walk_list(struct owned *o, struct owned_shard *s, struct list_link *head,
	  owned_visit *visit, void *arg)
{
	struct list_link *l;
	bool go_on = true;
	uint64_t i, n;

	lock_acquire_last(&s->lock);
	/* Who comes now comes at the back: the walk has an end. */
	n = atomic_u64_load(&s->count, RELAXED);
	l = head->next;
	for (i = 1; i <= n && l != head && go_on; i++) {
		go_on = visit(container_of(l, struct task, owned), arg);
		l = l->next;
		if (i % OWNED_WALK_CHUNK == 0)
			l = let_others_in(o, s, l);
	}
	lock_release(&s->lock);
	return go_on;
}

void
weir__owned_walk(struct owned *o, owned_visit *visit, void *arg)
{
	bool go_on = true;
	unsigned int i;

	for (i = 0; i < o->nb_shards && go_on; i++) {
		struct owned_shard *s = &o->shards[i];

		go_on = walk_list(o, s, &s->ending, visit, arg) &&
			walk_list(o, s, &s->tasks, visit, arg);
	}
}
