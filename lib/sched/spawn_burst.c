/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tasks that are spawned in bursts: memory and queues are come to once for
 * many, as with packets. They are queued in the order in which they lie in the burst, so
 * none of them goes through the LIFO slot.
 */

#include <errno.h>

#include <rte_errno.h>

#include "sched/spawn.h"

/* So many at once. Larger: more of the stack. */
#define CHUNK 64u

/* What the tasks of a burst have in common. */
struct burst {
	struct weir_runtime *rt;
	struct core *core; /* the calling thread's, if it is of this runtime */
	struct node *home;
	bool kept; /* see spawn_is_kept() */
	const struct weir_task_ops *ops;
	const struct weir_spawn_attr *attr;
	enum spawn how;
};

/* What is detached may be gone at the end. */
static void
schedule(const struct burst *b, struct task *const *tasks, unsigned int n)
{
	struct node *home = b->home;
	struct core *c = b->core;
	unsigned int i;

	if (likely(b->kept)) {
		weir__schedule_batch(c, tasks, n);
		weir__notify(home, &worker_of(c)->queue);
	} else if (b->attr->affinity == WEIR_AFFINITY_WORKER) {
		for (i = 0; i < n; i++)
			weir__place(tasks[i]);
	} else {
		weir__inject(home, tasks, n);
		weir__notify(home, NULL);
	}
}

/* Returns how many there was memory for. */
static unsigned int
spawn_chunk(const struct burst *b, const char *states, unsigned int n,
	    struct weir_join **joins)
{
	struct owned *owned = &b->home->home.owned;
	const uint16_t place = spawn_place(b->attr);
	const size_t size = b->ops->state_size;
	struct task *tasks[CHUNK];
	struct core *c = b->core;
	unsigned int i;
	uint32_t stamp;
	uint64_t id;

	n = weir__cell_alloc_burst(&b->home->home.cells,
				   c != NULL ? &c->cells : NULL, size, tasks,
				   n);
	if (unlikely(n == 0))
		return 0;
	if (c == NULL)
		spawn_count_cells(b->rt, n);
	id = spawn_ids(b->rt, c, n);
	stamp = woken_now(b->rt, c);
	for (i = 0; i < n; i++) {
		task_set_id(tasks[i], id + i);
		spawn_init(tasks[i], b->home, b->ops, b->kept);
		spawn_state(tasks[i], states != NULL ? states + i * size : NULL,
			    size);
		if (b->how == SPAWN_JOINED)
			joins[i] = (struct weir_join *)tasks[i];
		spawn_announce(c, tasks[i], stamp);
	}
	if (unlikely(owned_is_closed(owned))) {
		for (i = 0; i < n; i++)
			weir__spawn_refuse(tasks[i], b->how);
		return n;
	}
	for (i = 0; i < n; i++)
		state_begin(&tasks[i]->state, place, b->how == SPAWN_DETACHED,
			    b->kept);
	if (likely(!spawn_is_late(c, b->home, b->attr))) {
		spawn_count(c, b->home, n);
		schedule(b, tasks, n);
		return n;
	}
	for (i = 0; i < n; i++)
		weir__spawn_end(c, tasks[i]);
	return n;
}

unsigned int
weir_task_spawn_burst(struct weir_runtime *rt, const struct weir_task_ops *ops,
		      const void *states, unsigned int n,
		      const struct weir_spawn_attr *attr,
		      struct weir_join **joins)
{
	struct burst b = {
		.rt = rt,
		.core = core_of(rt),
		.ops = ops,
		.attr = attr != NULL ? attr : &spawn_attr_none,
		.how = joins != NULL ? SPAWN_JOINED : SPAWN_DETACHED,
	};
	unsigned int done = 0, want, got;

	if (!spawn_ops_valid(ops) || ops->poll == NULL ||
	    (b.home = weir__home_of(rt, b.core, b.attr)) == NULL) {
		rte_errno = EINVAL;
		return 0;
	}
	b.kept = spawn_is_kept(b.core, b.home, b.attr);
	while (done < n) {
		want = RTE_MIN(n - done, CHUNK);
		got = spawn_chunk(&b,
				  states != NULL ?
					  (const char *)states +
						  done * ops->state_size :
					  NULL,
				  want, joins != NULL ? joins + done : NULL);
		done += got;
		if (unlikely(got < want)) {
			rte_errno = ENOMEM;
			break;
		}
	}
	return done;
}
