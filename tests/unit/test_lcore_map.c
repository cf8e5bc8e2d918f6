/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "base/rand.h"
#include "no_memory.h"
#include "scratch.h"
#include "weir_lcore_map.h"

static struct weir_lcore_map *
read_map(const char *text)
{
	struct weir_lcore_map *map;
	char error[256] = "";

	map = weir_lcore_map_parse(text, error, sizeof(error));
	if (map == NULL)
		print_error("%s\n", error);
	assert_non_null(map);
	return map;
}

static void
expect_format(const char *text, const char *expected)
{
	struct weir_lcore_map *map = read_map(text);
	char out[4096];

	assert_int_equal(weir_lcore_map_format(map, out, sizeof(out)),
			 strlen(expected));
	assert_string_equal(out, expected);
	weir_lcore_map_free(map);
}

static void
expect_error(const char *text, const char *expected)
{
	char error[256] = "";

	rte_errno = 0;
	assert_null(weir_lcore_map_parse(text, error, sizeof(error)));
	assert_int_equal(rte_errno, EINVAL);
	if (strncmp(error, expected, strlen(expected)) != 0)
		fail_msg("'%s', not '%s...'", error, expected);
	assert_null(strpbrk(error, "\n\t\r"));
	/* Nor does it need a place for the line. */
	assert_null(weir_lcore_map_parse(text, NULL, 0));
}

static void
each_word_says_what_it_says(void **state)
{
	struct weir_lcore_map *map = read_map(
		"main 0 cpus=0\n"
		"lcore 2 cpus=9,4-6 node=1 rx=0.0,1.2-3 park=adaptive\n"
		"lcore 3 spare park=poll\n"
		"port 1 81:00.1; port 0 10000:A1:1f.7; port 2 none");
	const struct weir_lcore_map_lcore *l = map->lcores;

	assert_int_equal(map->nb_lcores, 3);
	assert_true(l[0].main && !l[0].spare && l[0].lcore == 0);
	assert_int_equal(l[0].nb_cpus, 1);
	assert_int_equal(l[0].node, -1);
	assert_int_equal(l[0].park, -1);
	assert_true(!l[1].main && !l[1].spare && l[1].lcore == 2);
	assert_int_equal(l[1].nb_cpus, 4);
	assert_int_equal(l[1].cpus[0], 4);
	assert_int_equal(l[1].cpus[3], 9);
	assert_int_equal(l[1].node, 1);
	assert_int_equal(l[1].park, 3);
	assert_int_equal(l[1].nb_queues, 3);
	assert_int_equal(l[1].queues[0].port, 0);
	assert_int_equal(l[1].queues[2].port, 1);
	assert_int_equal(l[1].queues[2].queue, 3);
	assert_true(!l[2].main && l[2].spare && l[2].lcore == 3);
	assert_int_equal(l[2].nb_cpus, 0);
	assert_int_equal(l[2].park, 0);
	assert_int_equal(map->nb_ports, 3);
	assert_int_equal(map->ports[0].port, 1);
	assert_string_equal(map->ports[0].address, "0000:81:00.1");
	assert_string_equal(map->ports[1].address, "10000:a1:1f.7");
	assert_string_equal(map->ports[2].address, "");
	weir_lcore_map_free(map);
}

static void
tuples_are_those_of_l3fwd(void **state)
{
	expect_format("(0,0,2),(0,1,3),(1,0,2)",
		      "lcore 2 rx=0.0,1.0\nlcore 3 rx=0.1\n");
	/* Over several lines, with comments, and beside items. */
	expect_format("(0,0,2) , # the first\n\n\t(0,1,3);;(1,0,3)\r\n"
		      "lcore 3 park=pause",
		      "lcore 2 rx=0.0\nlcore 3 rx=0.1,1.0 park=pause\n");
	expect_format("lcore 5 rx=0.1;(0,0,5)", "lcore 5 rx=0.1,0.0\n");
}

static void
items_end_at_lines_semicolons_and_comments(void **state)
{
	expect_format("", "");
	expect_format(" \t\r\n;;#;lcore 1\n", "");
	expect_format("lcore 1#rx=0.0\nlcore 2 ;lcore 3",
		      "lcore 1\nlcore 2\nlcore 3\n");
}

static void
numbers_go_to_their_bounds(void **state)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "lcore %u cpus=%u node=1023 rx=%u.%u\nport %u none\n",
		 RTE_MAX_LCORE - 1, CPU_SETSIZE - 1, RTE_MAX_ETHPORTS - 1,
		 RTE_MAX_QUEUES_PER_PORT - 1, RTE_MAX_ETHPORTS - 1);
	expect_format(text, text);
	snprintf(text, sizeof(text), "lcore %u", RTE_MAX_LCORE);
	expect_error(text, "line 1: '");
	snprintf(text, sizeof(text), "main %u", RTE_MAX_LCORE);
	expect_error(text, "line 1: '");
	snprintf(text, sizeof(text), "(0,0,%u)", RTE_MAX_LCORE);
	expect_error(text, "line 1: '(0,0,");
	snprintf(text, sizeof(text), "(%u,0,0)", RTE_MAX_ETHPORTS);
	expect_error(text, "line 1: '(");
	snprintf(text, sizeof(text), "(0,%u,0)", RTE_MAX_QUEUES_PER_PORT);
	expect_error(text, "line 1: '(0,");
	snprintf(text, sizeof(text), "lcore 1 rx=0.%u",
		 RTE_MAX_QUEUES_PER_PORT);
	expect_error(text, "line 1: 'rx=0.");
	snprintf(text, sizeof(text), "lcore 1 rx=%u.0", RTE_MAX_ETHPORTS);
	expect_error(text, "line 1: 'rx=");
	snprintf(text, sizeof(text), "lcore 1 cpus=%u", CPU_SETSIZE);
	expect_error(text, "line 1: 'cpus=");
	expect_error("lcore 1 node=1024", "line 1: 'node=1024': must be");
	expect_error("lcore 99999999999999999999", "line 1: '9999");
}

/* The text, and how the line that refuses it begins. */
static const struct refusal {
	const char *text;
	const char *error;
} refusals[] = {
	{ "\xef\xbb\xbf" /* a mark of UTF-8 */ "x",
	  "line 1: 'x': must begin with" },
	{ "lcore", "line 1: '': must be the lcore's number" },
	{ "lcore x", "line 1: 'x': must be the lcore's number" },
	{ "lcore +1", "line 1: '+1': must be" },
	{ "lcore 1 1", "line 1: '1': lcore knows no such word" },
	{ "lcore 1,2", "line 1: '1,2': must be" },
	{ "\n#\nlcore 1\nlcore 1", "line 4: '1': lcore 1 is described twice" },
	{ "main 0;main 1", "line 1: '1': there is a main lcore already" },
	{ "main 0;lcore 0", "line 1: '0': lcore 0 is described twice" },
	{ "lcore 0;main 0", "line 1: '0': lcore 0 is described twice" },
	{ "(0,0,0)\nmain 0", "line 2: '0': lcore 0 has queues, so" },
	{ "main 0\n(0,0,0)", "line 2: '(0,0,0)': lcore 0 is the main lcore" },
	{ "main 0 rx=0.0", "line 1: 'rx=0.0': main knows no word but cpus=" },
	{ "main 0 park=poll", "line 1: 'park=poll': main knows no word but" },
	{ "main", "line 1: '': must be the lcore's number" },
	{ "lcore 1 spare spare", "line 1: 'spare': spare is given twice" },
	{ "lcore 1 spare rx=0.0", "line 1: 'rx=0.0': lcore 1 is spare" },
	{ "lcore 1 rx=0.0 spare", "line 1: 'spare': lcore 1 has queues" },
	{ "(0,0,1);lcore 1 spare", "line 1: 'spare': lcore 1 has queues" },
	{ "lcore 1 spare\n(0,0,1)", "line 2: '(0,0,1)': lcore 1 is spare" },
	{ "lcore 1 spar", "line 1: 'spar': lcore knows no such word" },
	{ "lcore 1 cpus=", "line 1: 'cpus=': must be CPUs" },
	{ "lcore 1 cpus=1,", "line 1: 'cpus=1,': must be CPUs" },
	{ "lcore 1 cpus=3-2", "line 1: 'cpus=3-2': must be CPUs" },
	{ "lcore 1 cpus=1-", "line 1: 'cpus=1-': must be CPUs" },
	{ "lcore 1 cpus=1x", "line 1: 'cpus=1x': must be CPUs" },
	{ "lcore 1 cpus=1-3,2", "line 1: 'cpus=1-3,2': CPU 2 is in it twice" },
	{ "lcore 1 cpus=1 cpus=2", "line 1: 'cpus=2': the CPUs are given" },
	{ "lcore 1 node=", "line 1: 'node=': must be a NUMA node" },
	{ "lcore 1 node=-1", "line 1: 'node=-1': must be a NUMA node" },
	{ "lcore 1 node=0 node=0", "line 1: 'node=0': a node is given" },
	{ "lcore 1 rx=", "line 1: 'rx=': must be queues" },
	{ "lcore 1 rx=0", "line 1: 'rx=0': must be queues" },
	{ "lcore 1 rx=0.", "line 1: 'rx=0.': must be queues" },
	{ "lcore 1 rx=0.0,", "line 1: 'rx=0.0,': must be queues" },
	{ "lcore 1 rx=0.1-0", "line 1: 'rx=0.1-0': must be queues" },
	{ "lcore 1 rx=0.0 1", "line 1: '1': lcore knows no such word" },
	{ "lcore 1 rx=0.0,0.0", "line 1: 'rx=0.0,0.0': queue 0 of port 0 is" },
	{ "(0,3,1),(0,3,2)", "line 1: '(0,3,2)': queue 3 of port 0 is given" },
	{ "lcore 1 park=", "line 1: 'park=': must be park=poll" },
	{ "lcore 1 park=polls", "line 1: 'park=polls': must be park=poll" },
	{ "lcore 1 park=poll park=poll", "line 1: 'park=poll': a policy is" },
	{ "port", "line 1: '': must be the port's number" },
	{ "port 0", "line 1: '': must be a PCI address" },
	{ "port 0 81:00", "line 1: '81:00': must be a PCI address" },
	{ "port 0 0:81:00.0", "line 1: '0:81:00.0': must be a PCI address" },
	{ "port 0 0000:81:20.0", "line 1: '0000:81:20.0': must be a PCI" },
	{ "port 0 0000:81:00.8", "line 1: '0000:81:00.8': must be a PCI" },
	{ "port 0 0000:81:00.0x", "line 1: '0000:81:00.0x': must be a PCI" },
	{ "port 0 0000:8g:00.0", "line 1: '0000:8g:00.0': must be a PCI" },
	{ "port 0 00000000:81:00.0", "line 1: '00000000:81:00.0': must be a" },
	{ "port 0 none none", "line 1: 'none': port takes a number" },
	{ "port 0 none\nport 0 none", "line 2: '0': port 0 is given twice" },
	{ "(", "line 1: '(': must be (PORT,QUEUE,LCORE)" },
	{ "(0,0)", "line 1: '(0,0)': must be (PORT,QUEUE,LCORE)" },
	{ "(0,0,1", "line 1: '(0,0,1': must be (PORT,QUEUE,LCORE)" },
	{ "(0,0,-1)", "line 1: '(0,0,-1)': must be (PORT" },
	{ "(0,0, 1)", "line 1: '(0,0,': must be (PORT,QUEUE,LCORE)" },
	{ "(0,0,1,2)", "line 1: '(0,0,1,2)': must be (PORT,QUEUE,LCORE)" },
	{ "(0,0,1),\n\n", "line 1: ',': must be followed by another" },
	{ "(0,0,1),lcore 2", "line 1: ',': must be followed by another" },
	{ "(0,0,1),;(1,0,1)", "line 1: ',': must be followed by another" },
	{ "(0,0,1)(1,0,1)", "line 1: '(1,0,1)': must be a comma" },
	{ "(0,0,1) lcore 2", "line 1: 'lcore': must be a comma" },
	{ "worker 1", "line 1: 'worker': must begin with lcore" },
	{ "lcores 1", "line 1: 'lcores': must begin with lcore" },
	{ ",", "line 1: ',': must begin with lcore" },
	{ "a\x01\x7f", "line 1: 'a\?\?': must begin with lcore" },
	{ "x2345678901234567890123456789012345678901",
	  "line 1: 'x234567890123456789012345678901234567890...': must" },
};

static void
what_is_wrong_is_quoted_with_its_line(void **state)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(refusals); i++)
		expect_error(refusals[i].text, refusals[i].error);
}

static void
error_is_cut_to_its_place(void **state)
{
	char error[8];

	memset(error, 'x', sizeof(error));
	assert_null(weir_lcore_map_parse("y", error, 5));
	assert_string_equal(error, "line");
	assert_int_equal(error[5], 'x');
	assert_null(weir_lcore_map_parse("y", error, 0));
	assert_string_equal(error, "line");
}

static void
format_measures_what_does_not_fit(void **state)
{
	struct weir_lcore_map *map = read_map("lcore 1 rx=0.0\nlcore 2\n");
	char all[32], text[32];
	size_t size;
	int length;

	length = weir_lcore_map_format(map, all, sizeof(all));
	assert_int_equal(length, 23);
	assert_int_equal(weir_lcore_map_format(map, NULL, 0), length);
	for (size = 1; size <= (size_t)length; size++) {
		memset(text, 'x', sizeof(text));
		assert_int_equal(weir_lcore_map_format(map, text, size),
				 length);
		assert_int_equal(strlen(text), size - 1);
		assert_memory_equal(text, all, size - 1);
		assert_int_equal(text[size], 'x');
	}
	weir_lcore_map_free(map);
}

/* A map as text, with all that the grammar has. */
static void
random_text(struct rand_state *rng, char *text, size_t size)
{
	static const char *const words[] = {
		"",	   " spare",	 " cpus=3,1",	  " cpus=4-7,9",
		" node=2", " park=poll", " park=adaptive"
	};
	unsigned int lcore, queue = 0;
	size_t used = 0;

	text[0] = '\0';
	for (lcore = 0; lcore < 20; lcore++) {
		used += (size_t)snprintf(
			text + used, size - used, "lcore %u%s", lcore,
			words[rand_below(rng, RTE_DIM(words))]);
		if (strstr(text + used - 6, "spare") == NULL &&
		    rand_below(rng, 3) != 0) {
			used += (size_t)snprintf(text + used, size - used,
						 " rx=1.%u-%u,0.%u", queue,
						 queue + 2, queue);
			queue += 3;
		}
		used += (size_t)snprintf(text + used, size - used, "%s",
					 rand_below(rng, 2) ? "\n" : " ; ");
	}
}

static void
what_is_written_is_read_as_the_same_map(void **state)
{
	struct rand_state rng;
	char text[2048], first[2048], second[2048];
	struct weir_lcore_map *map;
	unsigned int i;

	rand_seed(&rng, unit_seed());
	for (i = 0; i < 200; i++) {
		random_text(&rng, text, sizeof(text));
		map = read_map(text);
		weir_lcore_map_format(map, first, sizeof(first));
		weir_lcore_map_free(map);
		map = read_map(first);
		weir_lcore_map_format(map, second, sizeof(second));
		weir_lcore_map_free(map);
		assert_string_equal(first, second);
	}
}

static void
text_is_told_from_names_of_files(void **state)
{
	assert_true(weir_lcore_map_is_text("(0,0,1)"));
	assert_true(weir_lcore_map_is_text("lcore 1"));
	assert_true(weir_lcore_map_is_text("main 0"));
	assert_true(weir_lcore_map_is_text("port 0 none"));
	assert_false(weir_lcore_map_is_text("lcore"));
	assert_false(weir_lcore_map_is_text("lcores.map"));
	assert_false(weir_lcore_map_is_text("./(0,0,1)"));
	assert_false(weir_lcore_map_is_text(""));
}

/* A file with that in it; the caller removes it. */
static void
write_file(char *name, const void *data, size_t size)
{
	int fd;

	scratch_name(name, "lcore-map");
	fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

static void
expect_file(const void *data, size_t size, int error_number, const char *error)
{
	char name[SCRATCH_NAME_MAX], text[256] = "", expected[256];
	struct weir_lcore_map *map;

	write_file(name, data, size);
	map = weir_lcore_map_load(name, text, sizeof(text));
	unlink(name);
	if (error == NULL) {
		assert_non_null(map);
	} else {
		assert_null(map);
		assert_int_equal(rte_errno, error_number);
		snprintf(expected, sizeof(expected), "%s: %s", name, error);
		assert_string_equal(text, expected);
	}
	weir_lcore_map_free(map);
}

static void
files_are_read_and_named(void **state)
{
	const char good[] = "lcore 1\n", zero[] = "lcore 1\n\0lcore 2";
	size_t large = (1u << 20) + 1;
	char *spaces = malloc(large);
	char error[256] = "";

	assert_non_null(spaces);
	memset(spaces, '\n', large);
	expect_file(good, strlen(good), 0, NULL);
	expect_file("", 0, 0, NULL);
	expect_file(spaces, large - 1, 0, NULL);
	expect_file(spaces, large, EINVAL,
		    "is no lcore map: more than 1048576 bytes");
	expect_file(zero, sizeof(zero), EINVAL,
		    "is no lcore map: it has a zero byte");
	expect_file("\nx", 2, EINVAL,
		    "line 2: 'x': must begin with lcore, main, port or a "
		    "(PORT,QUEUE,LCORE)");
	free(spaces);
	assert_null(weir_lcore_map_load("/nosuch/map", error, sizeof(error)));
	assert_int_equal(rte_errno, ENOENT);
	assert_string_equal(error, "/nosuch/map: No such file or directory");
	assert_null(weir_lcore_map_load("/", error, sizeof(error)));
	assert_int_equal(rte_errno, EISDIR);
	assert_null(weir_lcore_map_load("/nosuch/map", NULL, 0));
}

/* Rather than the whole name. */
static void
reason_stays_behind_a_long_name(void **state)
{
	static const char end[] = "...: No such file or directory";
	char name[500], error[100];

	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	/* Longer than the file system takes, as one name. */
	name[200] = name[400] = '/';
	assert_null(weir_lcore_map_load(name, error, sizeof(error)));
	assert_int_equal(strlen(error), sizeof(error) - 1);
	assert_string_equal(error + sizeof(error) - sizeof(end), end);
	assert_memory_equal(error, name, sizeof(error) - sizeof(end));
	assert_null(weir_lcore_map_load(name, error, 10));
	assert_int_equal(strlen(error), 9);
}

/* Each array grows, and more than once. */
#define LARGE_MAP                                       \
	"lcore 1 cpus=1-3 rx=0.0-2\nlcore 2\nlcore 3\n" \
	"port 0 81:00.0\nport 1 none\nport 2 none\n"

static void
without_memory_no_map_is_parsed(void **state)
{
	struct weir_lcore_map *map;
	char error[256];
	int n;

	for (n = 0;; n++) {
		memory_left = n;
		rte_errno = 0;
		map = weir_lcore_map_parse(LARGE_MAP, error, sizeof(error));
		memory_left = -1;
		if (map != NULL)
			break;
		assert_int_equal(rte_errno, ENOMEM);
		assert_non_null(strstr(error, "no memory for "));
	}
	weir_lcore_map_free(map);
	/* The map and its parser, and what they grow by. */
	assert_uint_in_range(n, 6, 100);
}

static void
without_memory_no_map_is_loaded(void **state)
{
	struct weir_lcore_map *map;
	char name[SCRATCH_NAME_MAX], error[256];
	int n;

	write_file(name, LARGE_MAP, strlen(LARGE_MAP));
	for (n = 0;; n++) {
		memory_left = n;
		rte_errno = 0;
		map = weir_lcore_map_load(name, error, sizeof(error));
		memory_left = -1;
		if (map != NULL)
			break;
		assert_int_equal(rte_errno, ENOMEM);
		assert_int_equal(strncmp(error, name, strlen(name)), 0);
	}
	unlink(name);
	weir_lcore_map_free(map);
	assert_uint_in_range(n, 7, 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_word_says_what_it_says),
		cmocka_unit_test(tuples_are_those_of_l3fwd),
		cmocka_unit_test(items_end_at_lines_semicolons_and_comments),
		cmocka_unit_test(numbers_go_to_their_bounds),
		cmocka_unit_test(what_is_wrong_is_quoted_with_its_line),
		cmocka_unit_test(error_is_cut_to_its_place),
		cmocka_unit_test(format_measures_what_does_not_fit),
		cmocka_unit_test(what_is_written_is_read_as_the_same_map),
		cmocka_unit_test(text_is_told_from_names_of_files),
		cmocka_unit_test(files_are_read_and_named),
		cmocka_unit_test(reason_stays_behind_a_long_name),
		cmocka_unit_test(without_memory_no_map_is_parsed),
		cmocka_unit_test(without_memory_no_map_is_loaded),
	};

	weir_lcore_map_free(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
