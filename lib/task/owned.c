/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The live tasks of a node: those cells whose state word has OWNED.
 *
 * O1 A task has OWNED from when it begins until it has ended: it goes in the swap
 *    that sets COMPLETE. Its count goes before that: who is told of the end finds it
 *    uncounted.
 * O2 A spawner that finds `closed` begins no task. Else shutdown finds the task:
 *    - a worker that spawns goes through the cells itself later, when it has seen
 *      that they are closed, and so does the last one, after all others;
 *    - any other thread, and a worker that binds a task to another or gives it
 *      another node, where those who are there may have looked already, asks again
 *      behind a fence, and then ends the task itself.
 * O3 Cells are memory of the node's until the end, so a word can be read, and swapped
 *    if it has OWNED, whatever has become of the task meanwhile. What was read is the
 *    same task's, or the swap fails; or it is another's of the same place, which is to
 *    be ended as well. Cells that are returned to the heap are visited under a lock.
 * O4 Whoever ends a task has its RUNNING, which shutdown takes in that swap.
 * O5 A walk changes nothing. Ids are never used twice, and a task's is written before
 *    its word and its ops: the same id before and after is the same task's view. How
 *    often it was polled, and when it was woken, may be of one that has followed it.
 * O6 A task that is bound to a worker is ended by that worker, in shutdown too:
 *    it may share with others of its worker what nobody guards. Or else by the last
 *    one, when no other is left, or, as refused, by a spawner that was late (O2).
 */

#include <errno.h>

#include "task/owned.h"

void
weir__owned_init(struct owned *o)
{
	atomic_u32_store(&o->closed, 0, RELAXED);
	atomic_u64_store(&o->elsewhere, 0, RELAXED);
	o->counts = NULL;
}

void
weir__owned_add_count(struct owned *o, struct owned_count *c)
{
	c->owned = o;
	atomic_u64_store(&c->n, 0, RELAXED);
	c->next = o->counts;
	o->counts = c;
}

void
weir__owned_close(struct owned *o)
{
	atomic_u32_store(&o->closed, 1, RELAXED);
	/*
	 * [owned:F1] a spawner that does not see it has begun its tasks before:
	 * all who look from here on find them.
	 */
	atomic_fence(SEQ_CST);
}

bool
weir__owned_closed_since(const struct owned *o)
{
	/* [owned:F1] the tasks' words before. */
	atomic_fence(SEQ_CST);
	return owned_is_closed(o);
}

void
weir__owned_end(struct task *t, struct owned_count *live)
{
	if (state_to_shutdown(&t->state, state_load(&t->state)))
		weir__task_end(t, -ECANCELED, 0, live);
}

/* Is it the caller's to end, who is this worker? */
static bool
take(struct task *t, void *arg)
{
	const unsigned int worker = *(unsigned int *)arg;
	uint64_t word = state_load(&t->state);
	uint16_t place = state_place(word);

	if (likely(!(word & STATE_OWNED)))
		return false;
	/* O6 */
	if (place_is_local(place) && place_worker(place) != worker &&
	    worker != OWNED_ALL_WORKERS)
		return false;
	return state_to_shutdown(&t->state, word);
}

void
weir__owned_shutdown(struct task_home *home, unsigned int worker,
		     struct owned_count *live)
{
	struct cell_walk walk;
	struct task *t;

	weir__cell_walk_begin(&walk, &home->cells);
	while ((t = weir__cell_walk_next(&walk, take, &worker)) != NULL)
		weir__task_end(t, -ECANCELED, 0, live);
	weir__cell_walk_end(&walk);
}

uint64_t
weir__owned_count(const struct owned *o)
{
	uint64_t n = atomic_u64_load(&o->elsewhere, RELAXED);
	const struct owned_count *c;

	for (c = o->counts; c != NULL; c = c->next)
		n += atomic_u64_load(&c->n, RELAXED);
	/* An end may have been seen, and not yet the spawn. */
	return (int64_t)n < 0 ? 0 : n;
}

struct look {
	owned_visit *visit;
	void *arg;
};

/* O5. False: the cell holds no task, or no longer the same. */
static bool
view(const struct task *t, struct task_view *v)
{
	/* [owned:A2] the word, and all of it, is no older than the id's task. */
	v->id = atomic_u64_load(&t->id, ACQUIRE);
	/* [owned:A1] nor is what stands beside it. */
	v->state = state_load(&t->state);
	if (!(v->state & STATE_OWNED))
		return false;
	/* [owned:A3] nor are they newer, or the id is. */
	v->ops = atomic_ptr_load(&t->ops, ACQUIRE);
	v->polls = atomic_u32_load(&t->polls, RELAXED);
	v->woken = atomic_u32_load(&t->woken, RELAXED);
	return task_id(t) == v->id;
}

/* True: the walk ends. */
static bool
look_at(struct task *t, void *arg)
{
	const struct look *look = arg;
	struct task_view v;

	return view(t, &v) && !look->visit(&v, look->arg);
}

void
weir__owned_walk(struct task_home *home, owned_visit *visit, void *arg)
{
	struct look look = { visit, arg };
	struct cell_walk walk;

	weir__cell_walk_begin(&walk, &home->cells);
	weir__cell_walk_next(&walk, look_at, &look);
	weir__cell_walk_end(&walk);
}
