/* SPDX-License-Identifier: BSD-3-Clause */

#include "rig.h"

static struct task *tasks[RIG_TASKS_MAX];
static bool seen[RIG_TASKS_MAX];

struct task *
rig_task(unsigned int id)
{
	struct task *t = model_alloc(sizeof(*t));

	t->id = id;
	tasks[id] = t;
	return t;
}

void
rig_see(struct task *t)
{
	if (seen[t->id])
		model_fail("task %lu was taken twice", t->id);
	seen[t->id] = true;
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
	if (t->id < RIG_TASKS_MAX && tasks[t->id] == t)
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
