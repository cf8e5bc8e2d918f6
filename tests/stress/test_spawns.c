/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Threads and tasks spawn tasks and jobs, abort, await and detach them, and
 * block threads; cells of one worker end on another. It goes on until all have
 * ended by themselves.
 */

#include "crowd.h"

#define MEMBERS 60u

static void
round_of_spawns(void)
{
	stress_create(1);
	crowd_start(MEMBERS);
	crowd_await();
	rig_wait_until(stress_all_dropped());
	crowd_stop();
	stress_stop_neighbours();
	stress_check_counters(stress.rt);
	stress_end();
}

static void
spawned_tasks_end_once(void **state)
{
	stress_rounds(round_of_spawns);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spawned_tasks_end_once),
	};

	return cmocka_run_group_tests_name("spawns", tests, stress_setup,
					   unit_eal_teardown);
}
