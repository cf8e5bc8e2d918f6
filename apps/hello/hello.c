/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <rte_eal.h>
#include <weir.h>

static int
square_poll(struct weir_context *ctx, void *state)
{
	int *number = state;

	*number *= *number;
	return WEIR_DONE;
}

static const struct weir_task_ops square = {
	.name = "square",
	.state_size = sizeof(int), /* which also is the result */
	.poll = square_poll,
	.result_size = sizeof(int),
};

int
main(int argc, char **argv)
{
	struct weir_runtime *rt;
	struct weir_join *join;
	int number = 12, rc;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	rt = weir_runtime_create(NULL); /* a worker on each worker lcore */
	join = rt != NULL ? weir_task_spawn(rt, &square, &number, NULL) : NULL;
	rc = join != NULL ? weir_join_wait(join, &number) : -1;
	if (rc == 0)
		printf("hello: 12 squared is %d\n", number);
	weir_runtime_free(rt);
	rte_eal_cleanup();
	return rc == 0 ? 0 : 1;
}
