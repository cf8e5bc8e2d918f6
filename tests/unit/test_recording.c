/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_errno.h>

#include "machines.h"
#include "no_memory.h"
#include "scratch.h"

static char folder[SCRATCH_NAME_MAX];
static char file[sizeof(folder) + 16];

static int
make_folder(void **state)
{
	scratch_name(folder, "recording");
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/machine", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	unlink(file);
	return rmdir(folder);
}

typedef int
filter(const struct dirent *entry);
typedef int
compare(const struct dirent **a, const struct dirent **b);

WRAP(char *, NULL, strdup, (const char *text), (text))
WRAP(FILE *, NULL, open_memstream, (char **text, size_t *size), (text, size))
WRAP(int, -1, scandir,
     (const char *path, struct dirent ***list, filter *f, compare *c),
     (path, list, f, c))

/* Closes, and says that it has not. */
static int close_error;

int
__real_close(int fd);
int
__wrap_close(int fd);
int
__wrap_close(int fd)
{
	int rc = __real_close(fd);

	if (close_error == 0)
		return rc;
	errno = close_error;
	return -1;
}

int
__real_fclose(FILE *f);
int
__wrap_fclose(FILE *f);
int
__wrap_fclose(FILE *f)
{
	int rc = __real_fclose(f);

	return no_memory() ? EOF : rc;
}

/* The machine's files are looked for in the tests' folder, where none is. */
static bool no_sysfs;

void
__real_weir__tree_init(struct tree *t, const char *root);
void
__wrap_weir__tree_init(struct tree *t, const char *root);
void
__wrap_weir__tree_init(struct tree *t, const char *root)
{
	__real_weir__tree_init(t, no_sysfs ? folder : root);
}

/* But for hugepages, which others take and give. */
static void
check_equal(const struct weir_machine *a, const struct weir_machine *b)
{
	unsigned int i;

	assert_int_equal(a->nb_cpus, b->nb_cpus);
	assert_int_equal(a->nb_nodes, b->nb_nodes);
	assert_int_equal(a->nb_nics, b->nb_nics);
	assert_memory_equal(a->distances, b->distances,
			    a->nb_nodes * a->nb_nodes);
	for (i = 0; i < a->nb_cpus; i++)
		assert_memory_equal(&a->cpus[i], &b->cpus[i],
				    sizeof(a->cpus[i]));
	for (i = 0; i < a->nb_nics; i++)
		assert_memory_equal(&a->nics[i], &b->nics[i],
				    sizeof(a->nics[i]));
	for (i = 0; i < a->nb_nodes; i++) {
		assert_int_equal(a->nodes[i].id, b->nodes[i].id);
		assert_int_equal(a->nodes[i].memory, b->nodes[i].memory);
		assert_int_equal(a->nodes[i].allowed, b->nodes[i].allowed);
		assert_int_equal(a->nodes[i].nb_pages, b->nodes[i].nb_pages);
	}
}

static void
this_machine_is_the_same_when_it_was_recorded(void **state)
{
	struct weir_machine *m = weir_machine_read(), *loaded;
	char error[256];

	if (m == NULL && rte_errno == ENOENT)
		unit_skip("this machine has no sysfs");
	assert_non_null(m);
	assert_int_equal(weir_machine_record(file), 0);
	loaded = weir_machine_load(file, error, sizeof(error));
	assert_non_null(loaded);
	check_equal(m, loaded);
	weir_machine_free(m);
	weir_machine_free(loaded);
}

static void
this_machine_has_the_cpus_that_the_process_uses(void **state)
{
	struct weir_machine *m = weir_machine_read();
	const struct weir_machine_cpu *c;
	unsigned int cpu;
	cpu_set_t set;

	if (m == NULL && rte_errno == ENOENT)
		unit_skip("this machine has no sysfs");
	assert_non_null(m);
	assert_return_code(sched_getaffinity(0, sizeof(set), &set), errno);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		c = weir_machine_cpu_get(m, cpu);
		assert_non_null(c);
		assert_true(c->online && c->allowed);
		assert_true(c->node == WEIR_MACHINE_UNKNOWN ||
			    weir_machine_node_get(m, c->node) != NULL);
	}
	weir_machine_free(m);
}

static unsigned int
count_firsts(const struct weir_machine *m, size_t offset)
{
	unsigned int i, n = 0;
	int first;

	for (i = 0; i < m->nb_cpus; i++) {
		memcpy(&first, (const char *)&m->cpus[i] + offset,
		       sizeof(first));
		n += first == (int)m->cpus[i].id;
	}
	return n;
}

/* What a file of tests/data/topology has. */
struct described {
	const char *name;
	unsigned int cpus;
	unsigned int cores;
	unsigned int caches;
	unsigned int nodes;
	unsigned int nics;
	const char *allowed;
};

static void
machines_kept_are_as_described(void **state)
{
	const struct described all[] = {
		{ "xeon", 32, 16, 2, 2, 4, "0-31" },
		{ "epyc", 64, 32, 16, 2, 4, "0-63" },
		{ "nps4", 32, 16, 8, 4, 3, "0-31" },
		{ "snc2", 16, 16, 2, 4, 2, "0-15" },
		{ "eight_nodes", 16, 16, 8, 8, 2, "0-15" },
		{ "one_cpu", 1, 1, 1, 1, 1, "0" },
		{ "container", 16, 8, 2, 2, 2, "1-3,9-11" },
		{ "groups", 8, 8, 2, 2, 2, "2-3,6" },
		{ "holes", 14, 9, 2, 4, 4, "0-2,130-134,1100-1103" },
		{ "recorded", 2, 2, 1, 1, 1, "0-1" },
	};
	const struct described *d;
	struct weir_machine *m;

	for (d = all; d < all + RTE_DIM(all); d++) {
		m = machine_load(d->name);
		assert_int_equal(m->nb_cpus, d->cpus);
		assert_int_equal(
			count_firsts(m,
				     offsetof(struct weir_machine_cpu, core)),
			d->cores);
		assert_int_equal(
			count_firsts(m,
				     offsetof(struct weir_machine_cpu, cache)),
			d->caches);
		assert_int_equal(m->nb_nodes, d->nodes);
		assert_int_equal(m->nb_nics, d->nics);
		assert_string_equal(machine_allowed(m), d->allowed);
		weir_machine_free(m);
	}
}

static void
check_load(const char *name, int rc, const char *text)
{
	char error[256], expected[256];

	assert_null(weir_machine_load(name, error, sizeof(error)));
	assert_int_equal(rte_errno, rc);
	snprintf(expected, sizeof(expected), "%s%s", name, text);
	assert_string_equal(error, expected);
}

static void
files_that_hold_no_machine_are_refused(void **state)
{
	FILE *f;

	unlink(file);
	check_load(file, ENOENT, ": No such file or directory");
	check_load(folder, EISDIR, ": Is a directory");
	f = fopen(file, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	check_load(file, EINVAL,
		   ":1: not \"weir-machine 1\": no machine that this version "
		   "can read");
	assert_int_equal(truncate(file, (64 << 20) + 1), 0);
	check_load(file, EFBIG, ": File too large");
}

/* Each byte of a machine that is as small as they get. */
static void
no_beginning_of_a_machine_is_one(void **state)
{
	const char *text = "weir-machine 1\n"
			   "/sys/devices/system/cpu/present = 0\nend 1\n";
	size_t n;

	for (n = 0; n < strlen(text); n++) {
		assert_null(weir__machine_parse(text, n, "test", NULL, 0));
		assert_int_equal(rte_errno, EINVAL);
	}
}

static void
recording_replaces_a_file(void **state)
{
	struct weir_machine *m;
	FILE *f = fopen(file, "w");
	unsigned int i;

	assert_non_null(f);
	for (i = 0; i < 100000; i++)
		fputs("what was there before\n", f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(weir_machine_record(file), 0);
	m = weir_machine_load(file, NULL, 0);
	assert_non_null(m);
	weir_machine_free(m);
}

static void
recording_that_fails_leaves_no_file(void **state)
{
	struct rlimit old, limit;
	struct stat st;
	int rc;

	assert_int_equal(weir_machine_record("/nowhere/machine"), -ENOENT);
	assert_int_equal(weir_machine_record(folder), -EISDIR);
	signal(SIGXFSZ, SIG_IGN);
	assert_return_code(getrlimit(RLIMIT_FSIZE, &old), errno);
	limit = old;
	limit.rlim_cur = 100;
	assert_return_code(setrlimit(RLIMIT_FSIZE, &limit), errno);
	rc = weir_machine_record(file);
	/* Before anything is said: the output may be a file, too. */
	assert_return_code(setrlimit(RLIMIT_FSIZE, &old), errno);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(stat(file, &st), -1);
	assert_int_equal(errno, ENOENT);
	close_error = EIO;
	rc = weir_machine_record(file);
	close_error = 0;
	assert_int_equal(rc, -EIO);
	assert_int_equal(stat(file, &st), -1);
	assert_int_equal(errno, ENOENT);
}

/* Through a link, so that a mistake costs no more than that. */
static void
recording_to_a_device_leaves_it(void **state)
{
	struct stat st;

	if (stat("/dev/full", &st) < 0)
		unit_skip("there is no /dev/full");
	unlink(file);
	assert_return_code(symlink("/dev/full", file), errno);
	assert_int_equal(weir_machine_record(file), -ENOSPC);
	assert_return_code(lstat(file, &st), errno);
	assert_return_code(unlink(file), errno);
}

static void
without_sysfs_no_machine_is_read_or_recorded(void **state)
{
	struct weir_machine *m;
	struct stat st;
	int error, rc;

	unlink(file);
	no_sysfs = true;
	rte_errno = 0;
	m = weir_machine_read();
	error = rte_errno;
	rc = weir_machine_record(file);
	no_sysfs = false;
	assert_null(m);
	assert_int_equal(error, ENOENT);
	assert_int_equal(rc, -ENOENT);
	assert_int_equal(stat(file, &st), -1);
	assert_int_equal(errno, ENOENT);
}

static void
without_memory_no_machine_is_read(void **state)
{
	struct weir_machine *m;
	int n;

	for (n = 0;; n++) {
		memory_left = n;
		m = weir_machine_read();
		memory_left = -1;
		if (m != NULL)
			break;
		assert_int_equal(rte_errno, ENOMEM);
	}
	weir_machine_free(m);
	assert_int_not_equal(n, 0);
}

static void
without_memory_no_machine_is_recorded(void **state)
{
	struct stat st;
	int n, rc;

	for (n = 0;; n++) {
		unlink(file);
		memory_left = n;
		rc = weir_machine_record(file);
		memory_left = -1;
		if (rc == 0)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_int_equal(stat(file, &st), -1);
	}
	assert_int_not_equal(n, 0);
}

static void
without_memory_no_machine_is_loaded(void **state)
{
	struct weir_machine *m;
	char error[256], expected[256];
	FILE *f = fopen(file, "w");
	int n;

	/* Longer than what is read at once. */
	assert_non_null(f);
	fprintf(f,
		"weir-machine 1\n#%0*d\n"
		"/sys/devices/system/cpu/present = 0\nend 1\n",
		9000, 0);
	assert_int_equal(fclose(f), 0);
	for (n = 0;; n++) {
		memory_left = n;
		m = weir_machine_load(file, error, sizeof(error));
		memory_left = -1;
		if (m != NULL)
			break;
		assert_int_equal(rte_errno, ENOMEM);
		snprintf(expected, sizeof(expected),
			 "%s: Cannot allocate memory", file);
		assert_string_equal(error, expected);
	}
	weir_machine_free(m);
	assert_int_not_equal(n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_machine_is_the_same_when_it_was_recorded),
		cmocka_unit_test(
			this_machine_has_the_cpus_that_the_process_uses),
		cmocka_unit_test(machines_kept_are_as_described),
		cmocka_unit_test(files_that_hold_no_machine_are_refused),
		cmocka_unit_test(no_beginning_of_a_machine_is_one),
		cmocka_unit_test(recording_replaces_a_file),
		cmocka_unit_test(recording_that_fails_leaves_no_file),
		cmocka_unit_test(recording_to_a_device_leaves_it),
		cmocka_unit_test(without_sysfs_no_machine_is_read_or_recorded),
		cmocka_unit_test(without_memory_no_machine_is_read),
		cmocka_unit_test(without_memory_no_machine_is_recorded),
		cmocka_unit_test(without_memory_no_machine_is_loaded),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
