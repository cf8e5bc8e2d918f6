/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"

/* Eight CPUs and three nodes. */
#define EIGHT CPU "present = 0-7\n" CPU "online = 0-7\n" NODE "online = 0-2\n"

#define V1 "34 31 0:31 / /cg1 rw - cgroup cgroup rw,cpuset"
#define V2 "35 31 0:32 / /cg2 rw - cgroup2 cgroup2 rw"
#define MOUNTS(lines) "/proc/self/mountinfo = " lines "\n"
#define GROUP(lines) "/proc/self/cgroup = " lines "\n"

static void
check(const char *entries, const char *cpus, const char *nodes)
{
	struct weir_machine *m;
	char text[2048], allowed[16];
	unsigned int i;
	int n = 0;

	snprintf(text, sizeof(text), EIGHT "%s", entries);
	m = machine_of(text);
	assert_string_equal(machine_allowed(m), cpus);
	assert_int_equal(m->nb_nodes, 3);
	allowed[0] = '\0';
	for (i = 0; i < m->nb_nodes; i++)
		if (m->nodes[i].allowed)
			n += snprintf(allowed + n, sizeof(allowed) - (size_t)n,
				      "%u", i);
	assert_string_equal(allowed, nodes);
	weir_machine_free(m);
}

static void
without_cgroups_all_is_allowed(void **state)
{
	check("", "0-7", "012");
	check(GROUP("0::/a"), "0-7", "012");
	check(MOUNTS(V2), "0-7", "012");
	check(GROUP("0::/a") MOUNTS(V2), "0-7", "012");
	check(GROUP("nonsense\\n:\\n7:cpuset") MOUNTS("more nonsense\\n - "),
	      "0-7", "012");
}

static void
version_2_tells_what_is_effective(void **state)
{
	check(GROUP("0::/a/b")
		      MOUNTS(V2) "/cg2/a/b/cpuset.cpus.effective = 2-3\n"
				 "/cg2/a/b/cpuset.cpus = 0-7\n"
				 "/cg2/a/b/cpuset.mems.effective = 1\n",
	      "2-3", "1");
	check(GROUP("0::/") MOUNTS(V2) "/cg2/cpuset.cpus.effective = 5\n"
				       "/cg2/cpuset.mems.effective = 0,2\n",
	      "5", "02");
}

/* As a partition, whose CPUs are no longer effective in the group above. */
static void
nearest_effective_list_counts(void **state)
{
	check(GROUP("0::/a/b")
		      MOUNTS(V2) "/cg2/a/b/cpuset.cpus.effective = 2-3\n"
				 "/cg2/a/cpuset.cpus.effective = 0-1,4-7\n",
	      "2-3", "012");
}

static void
groups_without_a_cpuset_have_that_above(void **state)
{
	check(GROUP("0::/a/b/c")
		      MOUNTS(V2) "/cg2/a/cpuset.cpus.effective = 1,6\n"
				 "/cg2/cpuset.cpus.effective = 0-7\n"
				 "/cg2/cpuset.mems.effective = 0-1\n",
	      "1,6", "01");
}

static void
version_1_tells_what_is_effective(void **state)
{
	check(GROUP("3:cpuset:/a")
		      MOUNTS(V1) "/cg1/a/cpuset.effective_cpus = 1-2\n"
				 "/cg1/a/cpuset.cpus = 1-5\n"
				 "/cg1/a/cpuset.effective_mems = 2\n",
	      "1-2", "2");
}

static void
groups_above_may_leave_less(void **state)
{
	check(GROUP("3:cpuset:/a/b") MOUNTS(
		      V1) "/cg1/a/b/cpuset.cpus = 0-5\n/cg1/a/cpuset.cpus = 4-7\n"
			  "/cg1/cpuset.cpus = 0-7\n"
			  "/cg1/a/b/cpuset.mems = 0-2\n/cg1/a/cpuset.mems = 0-1\n"
			  "/cg1/cpuset.mems = 1-2\n",
	      "4-5", "1");
	/* One that is empty leaves what it has been left. */
	check(GROUP("3:cpuset:/a/b") MOUNTS(
		      V1) "/cg1/a/b/cpuset.cpus =\n/cg1/a/cpuset.cpus = 4-7\n",
	      "4-7", "012");
	/* One that is effective stands for those above it. */
	check(GROUP("3:cpuset:/a/b")
		      MOUNTS(V1) "/cg1/a/b/cpuset.cpus = 0-5\n"
				 "/cg1/a/cpuset.effective_cpus = 3-6\n"
				 "/cg1/cpuset.cpus = 0-3\n",
	      "3-5", "012");
}

static void
version_1_comes_before_2_where_both_are(void **state)
{
	const char *effective = "/cg1/a/cpuset.cpus = 1\n"
				"/cg2/b/cpuset.cpus.effective = 2\n";
	char text[512];

	snprintf(text, sizeof(text), "%s%s%s", GROUP("4:cpu,cpuset:/a\\n0::/b"),
		 MOUNTS(V2 "\\n" V1), effective);
	check(text, "1", "012");
	snprintf(text, sizeof(text), "%s%s%s", GROUP("0::/b\\n4:cpu,cpuset:/a"),
		 MOUNTS(V1 "\\n" V2), effective);
	check(text, "1", "012");
	/* Of the first there are other controllers only. */
	snprintf(text, sizeof(text), "%s%s%s",
		 GROUP("4:cpusets,memory:/a\\n0::/b"), MOUNTS(V1 "\\n" V2),
		 effective);
	check(text, "2", "012");
}

static void
mounts_may_show_a_part_of_the_groups(void **state)
{
	/* Of a container: its group is what is mounted. */
	check(GROUP("0::/pod/a") MOUNTS(
		      "35 31 0:32 /pod /cg\\\\040x rw shared:1 - cgroup2 c rw") "/cg\\x20x/a/cpuset.cpus.effective = 3\n"
										"/cg\\x20x/cpuset.cpus.effective = 3-4\n",
	      "3", "012");
	check(GROUP("0::/pod") MOUNTS(
		      "35 31 0:32 /pod /cg rw - cgroup2 c rw") "/cg/cpuset.cpus.effective = 4\n",
	      "4", "012");
	/* What is elsewhere says nothing; neither does what begins alike. */
	check(GROUP("0::/podium") MOUNTS(
		      "35 31 0:32 /pod /cg rw - cgroup2 c rw") "/cg/cpuset.cpus.effective = 4\n",
	      "0-7", "012");
	check(GROUP("0::/../b")
		      MOUNTS(V2) "/cg2/cpuset.cpus.effective = 4\n"
				 "/cg2/../b/cpuset.cpus.effective = 5\n",
	      "0-7", "012");
	/* The next mount has it. */
	check(GROUP("0::/b") MOUNTS(
		      "35 31 0:32 /pod /cg rw - cgroup2 c rw\\n" V2) "/cg2/b/cpuset.cpus.effective = 6\n",
	      "6", "012");
}

static void
affinity_of_all_threads_stands_in(void **state)
{
	check("/proc/self/task/ = 7/8/9\n"
	      "/proc/self/task/7/status = "
	      "Cpus_allowed_list:\\t0\\nMems_allowed_list:\\t0-1\n"
	      "/proc/self/task/8/status = "
	      "Name:\\tx\\nCpus_allowed_list:\\t2-3\\nMems_allowed_list:\\t0\n",
	      "0,2-3", "01");
	/* It does not where a cgroup tells. */
	check(GROUP("0::/a") MOUNTS(
		      V2) "/cg2/a/cpuset.cpus.effective = 1-6\n"
			  "/proc/self/task/ = 7\n"
			  "/proc/self/task/7/status = Cpus_allowed_list:\\t0\n",
	      "1-6", "012");
	check("/proc/self/task/ = 7\n"
	      "/proc/self/task/7/status = Cpus_allowed_list:\\tnone\n",
	      "0-7", "012");
}

static void
cpus_that_are_offline_are_not_allowed(void **state)
{
	struct weir_machine *m = machine_of(
		CPU "present = 0-3\n" CPU "online = 0-1\n" GROUP("0::/a")
			MOUNTS(V2) "/cg2/a/cpuset.cpus.effective = 1-2\n");

	assert_string_equal(machine_allowed(m), "1");
	weir_machine_free(m);
}

static void
damaged_lists_are_refused(void **state)
{
	char error[256];

	assert_null(machine_try(
		EIGHT GROUP("0::/a")
			MOUNTS(V2) "/cg2/a/cpuset.cpus.effective = 1-x\n",
		error, sizeof(error)));
	assert_string_equal(error, "test:7: not a list of rising numbers below "
				   "8192, such as 0-3,8");
}

/* Paths that fill every buffer, of groups as deep as can be. */
static void
long_paths_are_no_harm(void **state)
{
	const size_t around[] = { 500, TREE_PATH_MAX, 2 * TREE_PATH_MAX };
	struct weir_machine *m;
	char *path, *text;
	size_t length;
	unsigned int i;

	for (i = 0; i < RTE_DIM(around); i++) {
		for (length = around[i] - 6; length < around[i] + 4; length++) {
			path = malloc(length + 1);
			memset(path, '/', length);
			path[length] = '\0';
			assert_int_not_equal(
				asprintf(&text,
					 EIGHT GROUP("0::%s") MOUNTS(
						 "1 1 0:1 / %s rw - cgroup2"),
					 path, path),
				-1);
			m = machine_of(text);
			assert_string_equal(machine_allowed(m), "0-7");
			weir_machine_free(m);
			free(text);
			free(path);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_cgroups_all_is_allowed),
		cmocka_unit_test(version_2_tells_what_is_effective),
		cmocka_unit_test(nearest_effective_list_counts),
		cmocka_unit_test(groups_without_a_cpuset_have_that_above),
		cmocka_unit_test(version_1_tells_what_is_effective),
		cmocka_unit_test(groups_above_may_leave_less),
		cmocka_unit_test(version_1_comes_before_2_where_both_are),
		cmocka_unit_test(mounts_may_show_a_part_of_the_groups),
		cmocka_unit_test(affinity_of_all_threads_stands_in),
		cmocka_unit_test(cpus_that_are_offline_are_not_allowed),
		cmocka_unit_test(damaged_lists_are_refused),
		cmocka_unit_test(long_paths_are_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
