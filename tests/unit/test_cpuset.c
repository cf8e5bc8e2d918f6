/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"

/* Lines of mountinfo: all groups of a version, and some of a container's. */
#define V1 "34 31 0:31 / /cg1 rw - cgroup cgroup rw,cpuset"
#define V2 "35 31 0:32 / /cg2 rw - cgroup2 cgroup2 rw"
#define POD "36 31 0:33 /pod /pg rw shared:1 - cgroup2 cgroup2 rw"

/* Eight CPUs and three nodes. */
#define EIGHT "c/present = 0-7\nc/online = 0-7\nn/online = 0-2\n"

/* The process's group, what is mounted, entries more: what is allowed then? */
static struct weir_machine *
eight(const char *group, const char *mounts, const char *entries)
{
	struct weir_machine *m;
	char *text;

	assert_int_not_equal(asprintf(&text,
				      EIGHT "g/cgroup = %s\n"
					    "g/mountinfo = %s\n%s",
				      group, mounts, entries),
			     -1);
	m = machine_of(text);
	free(text);
	return m;
}

static void
check(const char *group, const char *mounts, const char *entries,
      const char *cpus, const char *nodes)
{
	struct weir_machine *m = eight(group, mounts, entries);
	char allowed[16] = "";
	unsigned int i;
	int n = 0;

	assert_string_equal(machine_allowed(m), cpus);
	assert_int_equal(m->nb_nodes, 3);
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
	struct weir_machine *m = machine_of(EIGHT);

	assert_string_equal(machine_allowed(m), "0-7");
	weir_machine_free(m);
	check("0::/a", "", "", "0-7", "012");
	check("", V2, "", "0-7", "012");
	check("0::/a", V2, "", "0-7", "012");
	check("nonsense\\n:\\n7:cpuset", V2, "", "0-7", "012");
	check("0::/a",
	      "nonsense\\n1 2 - cgroup2 c rw\\n1 2 3 / /cg2 - \\n"
	      "1 2 3 / /cg2 - tmpfs c rw",
	      "", "0-7", "012");
}

static void
version_2_tells_what_is_effective(void **state)
{
	check("0::/a/b", V2,
	      "/cg2/a/b/cpuset.cpus.effective = 2-3\n"
	      "/cg2/a/b/cpuset.cpus = 0-7\n"
	      "/cg2/a/b/cpuset.mems.effective = 1\n",
	      "2-3", "1");
	check("0::/", V2,
	      "/cg2/cpuset.cpus.effective = 5\n"
	      "/cg2/cpuset.mems.effective = 0,2\n",
	      "5", "02");
}

/* As a partition, whose CPUs are no longer effective in the group above. */
static void
nearest_effective_list_counts(void **state)
{
	check("0::/a/b", V2,
	      "/cg2/a/b/cpuset.cpus.effective = 2-3\n"
	      "/cg2/a/cpuset.cpus.effective = 0-1,4-7\n",
	      "2-3", "012");
}

static void
groups_without_a_cpuset_have_that_above(void **state)
{
	check("0::/a/b/c", V2,
	      "/cg2/a/cpuset.cpus.effective = 1,6\n"
	      "/cg2/cpuset.cpus.effective = 0-7\n"
	      "/cg2/cpuset.mems.effective = 0-1\n",
	      "1,6", "01");
}

static void
version_1_tells_what_is_effective(void **state)
{
	check("3:cpuset:/a", V1,
	      "/cg1/a/cpuset.effective_cpus = 1-2\n"
	      "/cg1/a/cpuset.cpus = 1-5\n"
	      "/cg1/a/cpuset.effective_mems = 2\n",
	      "1-2", "2");
}

static void
groups_above_may_leave_less(void **state)
{
	check("3:cpuset:/a/b", V1,
	      "/cg1/a/b/cpuset.cpus = 0-5\n"
	      "/cg1/a/cpuset.cpus = 4-7\n"
	      "/cg1/cpuset.cpus = 0-7\n"
	      "/cg1/a/b/cpuset.mems = 0-2\n"
	      "/cg1/a/cpuset.mems = 0-1\n"
	      "/cg1/cpuset.mems = 1-2\n",
	      "4-5", "1");
	/* One that is empty leaves what it has been left. */
	check("3:cpuset:/a/b", V1,
	      "/cg1/a/b/cpuset.cpus =\n"
	      "/cg1/a/cpuset.cpus = 4-7\n",
	      "4-7", "012");
	/* One that is effective stands for those above it. */
	check("3:cpuset:/a/b", V1,
	      "/cg1/a/b/cpuset.cpus = 0-5\n"
	      "/cg1/a/cpuset.effective_cpus = 3-6\n"
	      "/cg1/cpuset.cpus = 0-3\n",
	      "3-5", "012");
}

static void
version_1_comes_before_2_where_both_are(void **state)
{
	const char *lists = "/cg1/a/cpuset.cpus = 1\n"
			    "/cg2/b/cpuset.cpus.effective = 2\n";

	check("4:cpu,cpuset:/a\\n0::/b", V2 "\\n" V1, lists, "1", "012");
	check("0::/b\\n4:cpu,cpuset:/a", V1 "\\n" V2, lists, "1", "012");
	check("4:cpuset:/a\\n0::/b", V1 "\\n" V2, lists, "1", "012");
	/* Of the first there are other controllers only. */
	check("4:cpusets,memory:/a\\n0::/b", V1 "\\n" V2, lists, "2", "012");
}

static void
mounts_may_show_a_part_of_the_groups(void **state)
{
	/* Of a container: its group is what is mounted. */
	check("0::/pod/a", POD,
	      "/pg/a/cpuset.cpus.effective = 3\n"
	      "/pg/cpuset.cpus.effective = 3-4\n",
	      "3", "012");
	check("0::/pod", POD, "/pg/cpuset.cpus.effective = 4\n", "4", "012");
	/* What is elsewhere says nothing; neither does what begins alike. */
	check("0::/podium", POD,
	      "/pg/cpuset.cpus.effective = 4\n"
	      "/pgium/cpuset.cpus.effective = 5\n",
	      "0-7", "012");
	check("0::/../b", V2,
	      "/cg2/cpuset.cpus.effective = 4\n"
	      "/cg2/../b/cpuset.cpus.effective = 5\n",
	      "0-7", "012");
	/* The next mount has it. */
	check("0::/b", POD "\\n" V2, "/cg2/b/cpuset.cpus.effective = 6\n", "6",
	      "012");
	/* A space in a path is escaped twice: by the kernel, and by us. */
	check("0::/b", "1 2 0:3 / /a\\\\040c rw - cgroup2 c rw",
	      "/a\\x20c/b/cpuset.cpus.effective = 6\n", "6", "012");
}

static void
affinity_of_all_threads_stands_in(void **state)
{
	check("", "",
	      "g/task/ = 7/8/9\n"
	      "g/task/7/status = "
	      "Cpus_allowed_list:\\t0\\nMems_allowed_list:\\t0-1\n"
	      "g/task/8/status = "
	      "Name:\\tx\\nCpus_allowed_list:\\t2-3\\nMems_allowed_list:\\t0\n",
	      "0,2-3", "01");
	check("", "",
	      "g/task/ = 7\n"
	      "g/task/7/status = Cpus_allowed_list:\\tnone\n",
	      "0-7", "012");
	/* It does not where a cgroup tells. */
	check("0::/a", V2,
	      "/cg2/a/cpuset.cpus.effective = 1-6\n"
	      "g/task/ = 7\n"
	      "g/task/7/status = Cpus_allowed_list:\\t0\n",
	      "1-6", "012");
}

static void
cpus_that_are_offline_are_not_allowed(void **state)
{
	struct weir_machine *m =
		machine_of("c/present = 0-3\n"
			   "c/online = 0-1\n"
			   "g/cgroup = 0::/a\n"
			   "g/mountinfo = " V2 "\n"
			   "/cg2/a/cpuset.cpus.effective = 1-2\n");

	assert_string_equal(machine_allowed(m), "1");
	weir_machine_free(m);
}

static void
damaged_lists_are_refused(void **state)
{
	char error[256];

	assert_null(machine_try(EIGHT "g/cgroup = 0::/a\n"
				      "g/mountinfo = " V2 "\n"
				      "/cg2/a/cpuset.cpus.effective = 1-x\n",
				error, sizeof(error)));
	assert_string_equal(error, "test:7: not a list of rising numbers below "
				   "8192, such as 0-3,8");
}

/* Paths that fill every buffer, of groups as deep as can be. */
static void
long_paths_are_no_harm(void **state)
{
	const size_t around[] = { 500, TREE_PATH_MAX, 2 * TREE_PATH_MAX };
	char *path, *group, *mount;
	size_t length;
	unsigned int i;

	for (i = 0; i < RTE_DIM(around); i++) {
		for (length = around[i] - 6; length < around[i] + 4; length++) {
			path = calloc(1, length + 1);
			memset(path, '/', length);
			assert_int_not_equal(asprintf(&group, "0::%s", path),
					     -1);
			assert_int_not_equal(
				asprintf(&mount, "1 1 0:1 / %s rw - cgroup2",
					 path),
				-1);
			check(group, mount, "", "0-7", "012");
			check(group, V2, "", "0-7", "012");
			free(path);
			free(group);
			free(mount);
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
