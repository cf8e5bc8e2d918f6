/* SPDX-License-Identifier: BSD-3-Clause */

#include "rig.h"

static struct task *tasks[RIG_TASKS_MAX];
static bool seen[RIG_TASKS_MAX];

struct task *
rig_task(unsigned int id)
{
	struct task *t = model_alloc(sizeof(*t));

	atomic_u64_store(&t->id, id, RELAXED);
	tasks[id] = t;
	return t;
}

void
rig_see(struct task *t)
{
	uint64_t id = task_id(t);

	if (seen[id])
		model_fail("task %lu was taken twice", id);
	seen[id] = true;
}

UNWATCHED void
rig_count(unsigned int *n)
{
	++*n;
}

void
__wrap_weir__task_drop_notification(struct task *t);
void
__real_weir__task_drop_notification(struct task *t);

/* A bare task has nothing to drop. */
void
__wrap_weir__task_drop_notification(struct task *t)
{
	if (task_id(t) < RIG_TASKS_MAX && tasks[task_id(t)] == t)
		rig_see(t);
	else
		__real_weir__task_drop_notification(t);
}

void
rig_check_seen(unsigned int n)
{
	rig_check_seen_from(0, n);
}

void
rig_check_seen_from(unsigned int first, unsigned int end)
{
	unsigned int i;

	for (i = first; i < end; i++) {
		if (!seen[i])
			model_fail("task %u was lost", i);
		model_free(tasks[i]);
	}
}
