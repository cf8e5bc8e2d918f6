/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FORMS_H
#define FORMS_H

/*
 * The same job in the three forms that a task can have: for each number up to
 * LAST it waits a while, has another task square it, and adds the square up. Its
 * result is the sum, an unsigned int.
 */

#include <weir.h>

#define LAST 4
#define PAUSE_NS (1000 * 1000)

struct form {
	const char *name;
	const struct weir_task_ops *ops;
	const void *state; /* NULL: all zero */
};

extern const struct form machine_form;
extern const struct form stackless_form;
extern const struct form fiber_form;

/*
 * A task whose result is n squared, an unsigned int. Returns 0 or -errno: a fiber
 * leaves rte_errno, which is the thread's, to others.
 */
int
square_spawn(struct weir_context *ctx, unsigned int n, struct weir_join **join);

#endif
