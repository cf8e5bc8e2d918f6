/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What a worker that is in a task for long keeps where nobody steals from, and how
 * others get it: the batch that it has claimed of its queue (run_queue.c), what was to
 * be next (slot.c), and those who yielded.
 *
 * A worker does nothing for that but to look, behind a store that it makes anyway,
 * whether somebody is there. Who recalls pays for it, with a system call that has all
 * threads pass a fence, and does so only when it has nothing else to do.
 *
 * Z1 Those who yielded belong to the worker between polls, and while it is in a poll to
 *    who has the core's lock. Who recalls says so in `recalled`, has all threads pass a
 *    fence, and goes on only if the worker is in a poll: before the worker touches them
 *    behind that poll it looks at `recalled`, and waits on the lock if that is set. In a
 *    poll it takes the lock itself.
 * Z2 Tasks that are bound to the worker stay.
 * Z3 Who has recalled in vain does something else for a while. The task may be at its
 *    end, where nothing is recalled, or all that is left may be bound.
 */

#include "base/membarrier.h"
#include "sched/scheduler.h"

bool
weir__keeps_tasks(const struct worker *victim, const struct worker *thief)
{
	const struct weir_runtime *rt = thief->rt;
	const struct core *c = &victim->core;

	/* One that is not stuck writes all of these lines but that of its last poll. */
	return thief->core.now >= thief->core.recall_after &&
	       worker_is_stuck(victim, victim->node == thief->node ?
					       rt->recall_age :
					       rt->cross_node_age) &&
	       (run_queue_has_batch_any(&victim->queue) ||
		slot_is_full_any(&c->behind) || slot_is_full_any(&c->lifo) ||
		(rt->membarrier && core_nb_deferred(c) > 0));
}

void
weir__await_recall(struct core *c)
{
	/* [lock:A1] what has come of it. */
	lock_acquire(&c->recall);
	lock_release(&c->recall);
}

/* Takes the first task itself, and queues another if it fits. False: it stays (Z2). */
static bool
take(struct core *c, struct task *t, struct task **first, unsigned int *n)
{
	struct run_queue *q = &worker_of(c)->queue;

	if (task_is_local(t) || (*n > 0 && weir__run_queue_room_owner(q) == 0))
		return false;
	if (*n == 0)
		*first = t;
	else
		weir__run_queue_append_owner(q, &t, 1);
	++*n;
	return true;
}

/* With the lock. The first of those who yielded, and as many more as fit. */
static struct task *
take_yielded(struct core *c, struct core *victim, unsigned int *n)
{
	unsigned int nb = atomic_u32_load(&victim->nb_yielded, RELAXED);
	unsigned int left = 0, i;
	struct task *first = NULL, *t;

	for (i = 0; i < nb; i++) {
		t = victim->yielded[i];
		if (!take(c, t, &first, n))
			victim->yielded[left++] = t;
	}
	atomic_u32_store(&victim->nb_yielded, left, RELAXED);
	for (left = task_chain_len(&victim->deferred); left > 0; left--) {
		t = task_chain_pop(&victim->deferred);
		if (!take(c, t, &first, n))
			task_chain_add(&victim->deferred, t);
	}
	return first;
}

/* With the lock. */
static struct task *
recall_yielded(struct core *c, struct core *victim, unsigned int *n)
{
	struct task *t = NULL;

	atomic_u32_store(&victim->recalled, 1, RELAXED);
	/* [recall:F1] */
	if (weir__membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 &&
	    /* [recall:A1] */
	    atomic_ptr_load(&victim->ctx.task, ACQUIRE) != NULL)
		t = take_yielded(c, victim, n);
	/* [recall:A2] what was done to them before the worker goes on. */
	atomic_u32_store(&victim->recalled, 0, RELEASE);
	return t;
}

static struct task *
take_deferred(struct core *c, struct core *victim, unsigned int *n)
{
	struct task *t;

	if (core_nb_deferred(victim) == 0 || !lock_try(&victim->recall))
		return NULL;
	t = recall_yielded(c, victim, n);
	lock_release(&victim->recall);
	return t;
}

/* What is next, or looks again behind the task: that has not been noted. */
static struct task *
take_next(struct core *c, struct core *victim)
{
	struct task *t = weir__slot_recall(&victim->behind);

	if (t != NULL)
		note_woken(worker_of(c)->rt, c, t);
	else
		t = weir__slot_recall(&victim->lifo);
	return t;
}

struct task *
weir__recall(struct core *c, struct worker *victim, unsigned int *n)
{
	struct run_queue *q = &worker_of(c)->queue;
	struct task *t = take_next(c, &victim->core);

	*n = t != NULL;
	if (t == NULL)
		t = take_deferred(c, &victim->core, n);
	if (t == NULL) {
		*n = weir__run_queue_recall(&victim->queue, q);
		t = *n > 0 ? run_queue_pop_owner(q) : NULL;
	}
	if (*n == 0)
		c->recall_after = c->now + worker_of(c)->rt->recheck_max;
	return t;
}
