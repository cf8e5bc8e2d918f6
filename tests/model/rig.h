/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_RIG_H
#define MODEL_RIG_H

/* Tasks for models of what holds tasks, without a scheduler. */

#include "model.h"
#include "task/task.h"

#define RIG_TASKS_MAX 64

/* Bare tasks numbered by id from 0, which are not run. */
struct task *
rig_task(unsigned int id);

/*
 * The task was taken out of where it was, or dropped there, which must happen
 * to each once: rig_check_seen().
 */
void
rig_see(struct task *t);

/* Adds one, whichever thread does. Is no step, and nobody sees anything by it. */
void
rig_count(unsigned int *n);

/* Has each of tasks 0 to n - 1 been seen once? Checks it. */
void
rig_check_seen(unsigned int n);
/* The same of tasks first to end - 1. */
void
rig_check_seen_from(unsigned int first, unsigned int end);

#endif
