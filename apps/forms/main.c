/* SPDX-License-Identifier: BSD-3-Clause */

/* Does the same job in each form; its arguments are EAL's. */

#include <stdio.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "forms.h"

static int
square_poll(struct weir_context *ctx, void *state)
{
	unsigned int *n = state;

	*n *= *n;
	return WEIR_DONE;
}

int
square_spawn(struct weir_context *ctx, unsigned int n, struct weir_join **join)
{
	static const struct weir_task_ops ops = {
		.name = "square",
		.state_size = sizeof(unsigned int),
		.poll = square_poll,
		.result_size = sizeof(unsigned int),
	};

	*join = weir_task_spawn(weir_context_runtime(ctx), &ops, &n, NULL);
	return *join != NULL ? 0 : -rte_errno;
}

int
main(int argc, char **argv)
{
	const struct form *const forms[] = { &machine_form, &stackless_form,
					     &fiber_form };
	struct weir_runtime *rt;
	unsigned int i, sum;
	int rc = 0;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	weir_fiber_overflow_report(fileno(stderr));
	rt = weir_runtime_create(NULL);
	if (rt == NULL) {
		rte_eal_cleanup();
		return 1;
	}
	for (i = 0; i < RTE_DIM(forms) && rc == 0; i++) {
		rc = weir_runtime_block_on(rt, forms[i]->ops, forms[i]->state,
					   &sum);
		if (rc == 0)
			printf("%s: %u\n", forms[i]->name, sum);
		else
			fprintf(stderr, "%s: %s\n", forms[i]->name,
				rte_strerror(-rc));
	}
	weir_runtime_free(rt);
	rte_eal_cleanup();
	return rc == 0 ? 0 : 1;
}
