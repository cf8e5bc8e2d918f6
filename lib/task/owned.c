/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Owned lists. Each shard is a list under a lock, with a closed bit under the
 * same lock.
 *
 * O1 A task that was inserted is on its list until it ends or shutdown takes
 * it.
 * O2 After close, nothing is inserted: a spawner learns that from insert and
 *    refuses the task, so shutdown sees every task that was ever bound.
 * O3 No task's code runs under a shard's lock.
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
		o->shards[i].count = 0;
		list_init(&o->shards[i].tasks);
	}
}

bool
weir__owned_insert(struct owned *o, struct task *t, unsigned int hint)
{
	struct owned_shard *s;
	bool bound;

	t->shard = hint & (o->nb_shards - 1);
	s = &o->shards[t->shard];
	lock_acquire(&s->lock);
	bound = !s->closed;
	if (bound) {
		list_push_back(&s->tasks, &t->owned);
		s->count++;
	}
	lock_release(&s->lock);
	return bound;
}

static struct task *
take_first(struct owned_shard *s)
{
	struct list_link *l;

	lock_acquire(&s->lock);
	l = list_pop_front(&s->tasks);
	if (l != NULL)
		s->count--;
	lock_release(&s->lock);
	return l != NULL ? container_of(l, struct task, owned) : NULL;
}

bool
weir__owned_remove(struct task *t)
{
	struct owned_shard *s = &t->home->owned.shards[t->shard];
	bool linked;

	lock_acquire(&s->lock);
	linked = list_linked(&t->owned);
	if (linked) {
		list_remove(&t->owned);
		s->count--;
	}
	lock_release(&s->lock);
	return linked;
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

void
weir__owned_shutdown(struct owned *o, unsigned int hint)
{
	struct task *t;
	unsigned int i;

	for (i = 0; i < o->nb_shards; i++) {
		struct owned_shard *s =
			&o->shards[(hint + i) & (o->nb_shards - 1)];

		while ((t = take_first(s)) != NULL)
			weir__task_shutdown(t);
	}
}

uint64_t
weir__owned_count(struct owned *o)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i < o->nb_shards; i++) {
		lock_acquire(&o->shards[i].lock);
		n += o->shards[i].count;
		lock_release(&o->shards[i].lock);
	}
	return n;
}
