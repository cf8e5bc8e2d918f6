/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A busy runtime is shut down at a random moment, in a random way, while tasks
 * and jobs come, threads block, and workers come and go.
 */

#include "crowd.h"

#include <errno.h>
#include <pthread.h>

#include <rte_common.h>

#define ENDERS 3u
#define MOMENTS 300u /* tasks that may have been spawned by then */
/* Of each actor, however late the end is; the ledger has room for their children. */
#define MEMBERS 4000u

static void
await_the_end(void)
{
	stress_check(weir_runtime_shutdown(stress.rt, UINT64_MAX, NULL) == 0);
}

/* Deadlines that pass, until one does not. */
static void
end_impatiently(void)
{
	uint64_t ms = 0;
	int rc;

	while ((rc = weir_runtime_shutdown(stress.rt, ms++, NULL)) < 0)
		stress_check(rc == -ETIMEDOUT);
}

static void *
end_main(void *arg)
{
	if (arg != NULL)
		end_impatiently();
	else
		await_the_end();
	return NULL;
}

static void
end_from_threads(void)
{
	pthread_t threads[ENDERS];
	unsigned int i;

	for (i = 0; i < ENDERS; i++)
		pthread_create(&threads[i], NULL, end_main,
			       i == 0 ? &stress : NULL);
	for (i = 0; i < ENDERS; i++)
		pthread_join(threads[i], NULL);
}

/* From inside: a task, a job, or a function that a task's thread blocks in. */
static void
begin_the_end(void *arg)
{
	weir_runtime_shutdown_begin(stress.rt);
	stress_check(weir_runtime_shutdown(stress.rt, 0, NULL) == -EDEADLK);
}

static int
ender_poll(struct weir_context *ctx, void *state)
{
	begin_the_end(NULL);
	return WEIR_DONE;
}

static int
ender_run(void *state)
{
	begin_the_end(NULL);
	return WEIR_DONE;
}

static int
blocked_ender_poll(struct weir_context *ctx, void *state)
{
	/* Without a thread to go on with, it is just a task. */
	if (weir_block_in_place(begin_the_end, NULL) < 0)
		begin_the_end(NULL);
	return WEIR_DONE;
}

static const struct weir_task_ops ender_ops = {
	.name = "ender",
	.poll = ender_poll,
	.run = ender_run,
};

static const struct weir_task_ops blocked_ender_ops = {
	.name = "blocked ender",
	.poll = blocked_ender_poll,
};

static void
end_from_a_task(void)
{
	weir_join_detach(weir_task_spawn(stress.rt, &ender_ops, NULL, NULL));
	await_the_end();
}

static void
end_from_a_blocked_task(void)
{
	weir_join_detach(
		weir_task_spawn(stress.rt, &blocked_ender_ops, NULL, NULL));
	end_impatiently();
}

static void
end_from_a_job(void)
{
	weir_join_detach(weir_blocking_spawn(stress.rt, &ender_ops, NULL));
	end_impatiently();
}

static void (*const ways[])(void) = {
	await_the_end,	 end_impatiently,	  end_from_threads,
	end_from_a_task, end_from_a_blocked_task, end_from_a_job,
};

static void *
change_main(void *arg)
{
	struct rand_state rand;

	rand_seed(&rand, stress.seed + 1);
	while (!stress_is_over()) {
		stress_change(stress.rt, &rand);
		stress_stumble(&rand);
	}
	return NULL;
}

static void
round_of_ends(void)
{
	uint32_t moment = rand_below(&stress.rand, MOMENTS);
	pthread_t changer;

	stress_create(1);
	pthread_create(&changer, NULL, change_main, NULL);
	crowd_start(MEMBERS);
	rig_wait_until(rig_get(&stress.born) >= moment);
	ways[rand_below(&stress.rand, RTE_DIM(ways))]();
	stress_stop_neighbours();
	crowd_await();
	pthread_join(changer, NULL);
	crowd_stop();
	stress_end();
}

static void
busy_runtime_ends_at_any_moment(void **state)
{
	stress_rounds(round_of_ends);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_runtime_ends_at_any_moment),
	};

	return cmocka_run_group_tests_name("ends", tests, stress_setup,
					   unit_eal_teardown);
}
