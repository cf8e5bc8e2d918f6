/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_errno.h>

#include "scratch.h"
#include "topology/machine.h"
#include "topology/tree.h"

#define FIRST "weir-machine 1\n"

/* A folder of the test's, and what it has made in there. */
static char root[SCRATCH_NAME_MAX];

static int
make_root(void **state)
{
	scratch_name(root, "tree");
	return mkdtemp(root) != NULL ? 0 : -1;
}

static int
remove_root(void **state)
{
	char command[sizeof(root) + 16];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static const char *
below_root(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void
write_file(const char *name, const char *text, size_t length)
{
	FILE *f = fopen(below_root(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, length, f), length);
	assert_int_equal(fclose(f), 0);
}

static void
write_text(const char *name, const char *text)
{
	write_file(name, text, strlen(text));
}

static void
id_sets_are_read_from_lists(void **state)
{
	struct id_set s;

	assert_int_equal(weir__id_set_parse(&s, ""), 0);
	assert_int_equal(weir__id_set_count(&s), 0);
	assert_int_equal(weir__id_set_next(&s, 0), ID_SET_MAX);
	assert_int_equal(weir__id_set_parse(&s, "0,62-65,130,8190-8191"), 0);
	assert_int_equal(weir__id_set_count(&s), 8);
	assert_int_equal(weir__id_set_next(&s, 0), 0);
	assert_int_equal(weir__id_set_next(&s, 1), 62);
	assert_int_equal(weir__id_set_next(&s, 64), 64);
	assert_int_equal(weir__id_set_next(&s, 66), 130);
	assert_int_equal(weir__id_set_next(&s, 131), 8190);
	assert_int_equal(weir__id_set_next(&s, 8191), 8191);
	assert_int_equal(weir__id_set_next(&s, 8192), ID_SET_MAX);
	assert_true(id_set_has(&s, 65));
	assert_false(id_set_has(&s, 66));
	assert_false(id_set_has(&s, 8192));
}

static void
id_sets_refuse_what_is_no_list(void **state)
{
	const char *const wrong[] = {
		"a",	      " 0",	 "0 ",
		"-1",	      "+1",	 "0-",
		"-",	      ",",	 "0,",
		",0",	      "0,,1",	 "3-1",
		"0-3,3",      "4,2",	 "8192",
		"0-8192",     "0-3:1/2", "0x1",
		"4294967296", "\n",	 "99999999999999999999",
	};
	struct id_set s;
	unsigned int i;

	for (i = 0; i < RTE_DIM(wrong); i++)
		assert_int_equal(weir__id_set_parse(&s, wrong[i]), -EINVAL);
}

static void
id_sets_are_united_and_intersected(void **state)
{
	struct id_set a, b;

	weir__id_set_parse(&a, "0-3,1000");
	weir__id_set_parse(&b, "2-5,1000");
	weir__id_set_intersect(&a, &b);
	assert_int_equal(weir__id_set_count(&a), 3);
	assert_true(id_set_has(&a, 1000));
	weir__id_set_parse(&b, "7");
	weir__id_set_unite(&a, &b);
	assert_int_equal(weir__id_set_count(&a), 4);
	assert_true(id_set_has(&a, 7));
}

static void
real_files_are_read_without_their_line_end(void **state)
{
	struct tree t;

	write_text("one", "0-3\n");
	write_text("none", "0-3");
	write_text("two", "0-3\n\n");
	write_text("empty", "");
	write_file("zero", "0-3\0 4", 6);
	weir__tree_init(&t, root);
	assert_string_equal(weir__tree_read(&t, NULL, "/%s", "one"), "0-3");
	assert_string_equal(weir__tree_read(&t, NULL, "/none"), "0-3");
	assert_string_equal(weir__tree_read(&t, NULL, "/two"), "0-3\n");
	assert_string_equal(weir__tree_read(&t, NULL, "/empty"), "");
	assert_string_equal(weir__tree_read(&t, NULL, "/zero"), "0-3");
	weir__tree_fini(&t);
}

static void
real_files_are_read_whole_or_not_at_all(void **state)
{
	size_t length = 100000;
	char *text = malloc(length + 1);
	struct tree t;

	memset(text, 'x', length);
	text[length] = '\0';
	write_text("long", text);
	write_text("huge", "");
	assert_int_equal(truncate(below_root("huge"), (16 << 20) + 1), 0);
	weir__tree_init(&t, root);
	assert_string_equal(weir__tree_read(&t, NULL, "/long"), text);
	assert_null(weir__tree_read(&t, NULL, "/huge"));
	assert_int_equal(t.lack, 0);
	weir__tree_fini(&t);
	free(text);
}

static void
lines_without_the_words_are_left_out(void **state)
{
	struct tree t;

	write_text("status", "Name:\tsecret\nCpus:\t0-3\nMems:\t0\nUid:\t7");
	weir__tree_init(&t, root);
	assert_string_equal(
		weir__tree_read(&t, TREE_LINES("Cpus", "Mems"), "/status"),
		"Cpus:\t0-3\nMems:\t0");
	assert_string_equal(weir__tree_read(&t, TREE_LINES("none"), "/status"),
			    "");
	weir__tree_fini(&t);
}

static void
real_folders_are_listed_by_name(void **state)
{
	struct tree t;

	mkdir(below_root("void"), 0700);
	mkdir(below_root("full"), 0700);
	write_text("full/b", "");
	write_text("full/a", "");
	write_text("full/.c", "");
	weir__tree_init(&t, root);
	assert_string_equal(weir__tree_list(&t, "/full"), ".c/a/b");
	assert_string_equal(weir__tree_list(&t, "/%s", "void"), "");
	weir__tree_fini(&t);
}

static void
what_cannot_be_read_is_not_there(void **state)
{
	char path[TREE_PATH_MAX + 1] = "";
	struct tree t;

	mkdir(below_root("folder"), 0700);
	write_text("file", "");
	memset(path, '/', TREE_PATH_MAX);
	weir__tree_init(&t, root);
	assert_null(weir__tree_read(&t, NULL, "/nothing"));
	assert_null(weir__tree_list(&t, "/nothing"));
	assert_null(weir__tree_read(&t, NULL, "/folder"));
	assert_null(weir__tree_list(&t, "/file"));
	assert_null(weir__tree_read(&t, NULL, "%s", path));
	assert_null(weir__tree_list(&t, "%s", path));
	assert_null(weir__tree_list(&t, "%s", path + 1));
	assert_int_equal(t.lack, 0);
	assert_int_equal(t.nb_entries, 0);
	weir__tree_fini(&t);
}

/* Without a file descriptor nobody knows whether it is there. */
static void
shortage_is_no_absence(void **state)
{
	struct rlimit limit, none;
	struct weir_machine *m;
	struct tree file, folder;
	int rc;

	mkdir(below_root("folder"), 0700);
	write_text("file", "text");
	weir__tree_init(&file, root);
	weir__tree_init(&folder, root);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	weir__tree_read(&file, NULL, "/file");
	weir__tree_list(&folder, "/folder");
	m = weir_machine_read();
	rc = m == NULL ? rte_errno : 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(file.lack, EMFILE);
	assert_int_equal(folder.lack, EMFILE);
	weir_machine_free(m);
	assert_int_equal(rc, EMFILE);
	weir__tree_fini(&file);
	weir__tree_fini(&folder);
}

/* A recording of these entries. */
static void
parse(struct tree *t, const char *entries)
{
	char text[4096];
	const char *c;
	int n = 0;

	for (c = entries; *c != '\0'; c++)
		n += *c == '\n';
	n = snprintf(text, sizeof(text), FIRST "%send %d\n", entries, n);
	assert_uint_in_range(n, 0, sizeof(text) - 1);
	assert_int_equal(weir__tree_parse(t, text, (size_t)n), 0);
}

static void
numbers_are_read_within_their_bounds(void **state)
{
	const char *const right[] = { "-1", "0", "10", "0xa", "0x000a", "010" };
	const int64_t expected[] = { -1, 0, 10, 10, 10, 10 };
	const char *const wrong[] = {
		"",
		"-",
		"-2",
		"11",
		" 1",
		"+1",
		"1\\n",
		"1x",
		"0x",
		"0x-1",
		"1 2",
		"0b1",
		"1.5",
		"\\x31\\x20",
		"0x10000000000000000",
		"99999999999999999999",
	};
	char entry[64];
	struct tree t;
	unsigned int i;
	int64_t v;

	for (i = 0; i < RTE_DIM(right); i++) {
		snprintf(entry, sizeof(entry), "/number = %s\n", right[i]);
		parse(&t, entry);
		assert_true(weir__tree_number(&t, -1, 10, &v, "/number"));
		assert_int_equal(v, expected[i]);
		assert_null(t.problem);
		weir__tree_fini(&t);
	}
	for (i = 0; i < RTE_DIM(wrong); i++) {
		snprintf(entry, sizeof(entry), "/a = 1\n/number = %s\n",
			 wrong[i]);
		parse(&t, entry);
		assert_false(weir__tree_number(&t, -1, 10, &v, "/number"));
		assert_non_null(t.problem);
		assert_int_equal(t.problem_line, 3);
		weir__tree_fini(&t);
	}
}

static void
real_machine_may_hold_what_it_likes(void **state)
{
	struct id_set s;
	struct tree t;
	int64_t v;

	write_text("text", "what?\n");
	write_text("null", "(null)\n");
	write_text("padded", "          (null)\n");
	write_text("blank", "  0-3\n");
	weir__tree_init(&t, root);
	assert_false(weir__tree_number(&t, 0, 10, &v, "/text"));
	assert_false(weir__tree_number(&t, 0, 10, &v, "/nothing"));
	assert_false(weir__tree_ids(&t, &s, "/text"));
	assert_false(weir__tree_ids(&t, &s, "/nothing"));
	assert_true(weir__tree_ids(&t, &s, "/null"));
	assert_int_equal(weir__id_set_count(&s), 0);
	weir__id_set_parse(&s, "7");
	assert_true(weir__tree_ids(&t, &s, "/padded"));
	assert_int_equal(weir__id_set_count(&s), 0);
	assert_false(weir__tree_ids(&t, &s, "/blank"));
	assert_null(t.problem);
	weir__tree_fini(&t);
}

static void
recorded_tree_opens_no_file(void **state)
{
	struct tree t;

	parse(&t, "/proc/self/task/ = 1/22\n/../etc/hosts = here\n");
	assert_null(weir__tree_read(&t, NULL, "/proc/self/cgroup"));
	assert_null(weir__tree_list(&t, "/proc/self"));
	assert_string_equal(weir__tree_list(&t, "/proc/self/task"), "1/22");
	assert_string_equal(weir__tree_read(&t, NULL, "/../etc/hosts"), "here");
	weir__tree_fini(&t);
}

static void
recording_holds_what_was_read(void **state)
{
	const char *expected = FIRST "/a = 1\n/cpu2 = 2\n/cpu10 = 3\n"
				     "/folder/ = a/b\nend 4\n";
	char *text;
	size_t length;
	struct tree t;

	write_text("cpu10", "3\n");
	write_text("cpu2", "2\n");
	write_text("a", "1\n");
	write_text("unread", "4\n");
	mkdir(below_root("folder"), 0700);
	write_text("folder/a", "");
	write_text("folder/b", "");
	weir__tree_init(&t, root);
	weir__tree_read(&t, NULL, "/cpu10");
	weir__tree_read(&t, NULL, "/a");
	weir__tree_read(&t, NULL, "/nothing");
	weir__tree_list(&t, "/folder");
	weir__tree_read(&t, NULL, "/a");
	weir__tree_read(&t, NULL, "/cpu2");
	assert_int_equal(weir__tree_format(&t, &text, &length), 0);
	weir__tree_fini(&t);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
	free(text);
}

static void
what_was_returned_stays(void **state)
{
	const char *first;
	struct tree t;
	unsigned int i;

	write_text("first", "here\n");
	write_text("other", "there\n");
	weir__tree_init(&t, root);
	first = weir__tree_read(&t, NULL, "/first");
	for (i = 0; i < 1000; i++)
		weir__tree_read(&t, NULL, "/other");
	assert_string_equal(first, "here");
	weir__tree_fini(&t);
}

/* All bytes but zero, in a path and in a text. */
static void
every_byte_comes_back(void **state)
{
	char bytes[256], *text, *again;
	size_t length, length_again, i;
	struct tree_entry e = { .line = 0 };
	struct tree t, other;

	for (i = 0; i < 255; i++)
		bytes[i] = (char)(i + 1);
	bytes[255] = '\0';
	weir__tree_init(&t, "");
	assert_int_not_equal(asprintf(&e.path, "/%s", bytes), -1);
	e.text = strdup(bytes);
	assert_non_null(weir__tree_add(&t, &e));
	e.path = strdup("/end");
	e.text = strdup("a space at the end ");
	assert_non_null(weir__tree_add(&t, &e));
	assert_int_equal(weir__tree_format(&t, &text, &length), 0);
	for (i = 0; i < length; i++)
		assert_true(text[i] == '\n' ||
			    (text[i] >= ' ' && text[i] <= '~'));
	assert_null(strstr(text, " \n"));
	assert_int_equal(weir__tree_parse(&other, text, length), 0);
	assert_string_equal(weir__tree_read(&other, NULL, "/%s", bytes), bytes);
	assert_string_equal(weir__tree_read(&other, NULL, "/end"),
			    "a space at the end ");
	assert_int_equal(weir__tree_format(&other, &again, &length_again), 0);
	assert_string_equal(again, text);
	free(text);
	free(again);
	weir__tree_fini(&t);
	weir__tree_fini(&other);
}

/* A text that is no recording, and where that shows. */
struct wrong {
	const char *text;
	unsigned int line;
	const char *problem;
};

static void
texts_that_are_no_recordings_are_refused(void **state)
{
	const struct wrong wrong[] = {
		{ "", 1, "no machine" },
		{ "\n", 1, "no machine" },
		{ "weir-machine 2\nend 0\n", 1, "no machine" },
		{ "weir-machine 11\nend 0\n", 1, "no machine" },
		{ "weir-machine 1\r", 1, "no machine" },
		{ "weir-machine 1\r\r\nend 0\n", 1, "no machine" },
		{ "weir-machine 1\r\nend 0\r", 2, "cut off" },
		{ "weir-machine 1\r\nend 0\r\n\r\n", 2, "follows the end" },
		{ FIRST "\r\nend 0\n", 2, "neither" },
		{ FIRST "/a = 1\r\r\nend 1\n", 2, "escaped" },
		{ FIRST "/a = 1\r2\nend 1\n", 2, "escaped" },
		{ FIRST, 0, "cut off" },
		{ FIRST "/a = 1\n", 0, "cut off" },
		{ FIRST "/a = 1\n# more\n", 0, "cut off" },
		{ FIRST "/a = 1\nend 1", 3, "cut off" },
		{ FIRST "/a = 1", 2, "cut off" },
		{ FIRST "end 1\n", 2, "number of entries" },
		{ FIRST "/a = 1\nend 0\n", 3, "number of entries" },
		{ FIRST "/a = 1\nend\n", 3, "number of entries" },
		{ FIRST "/a = 1\nend 01\n", 3, "number of entries" },
		{ FIRST "/a = 1\nend 1 \n", 3, "number of entries" },
		{ FIRST "/a = 1\nend 1\n\n", 3, "follows the end" },
		{ FIRST "/a = 1\nend 1\nend 1\n", 3, "follows the end" },
		{ FIRST "\nend 0\n", 2, "neither" },
		{ FIRST "a = 1\nend 1\n", 2, "neither" },
		{ FIRST " /a = 1\nend 1\n", 2, "neither" },
		{ FIRST FIRST "end 0\n", 2, "neither" },
		{ FIRST "/a\nend 1\n", 2, "\" = \"" },
		{ FIRST "/a = 1\n/b \nend 2\n", 3, "\" = \"" },
		{ FIRST "/a= 1\nend 1\n", 2, "\" = \"" },
		{ FIRST "/a =1\nend 1\n", 2, "\" = \"" },
		{ FIRST "/a b = 1\nend 1\n", 2, "\" = \"" },
		{ FIRST "/a = \\q\nend 1\n", 2, "not an escape" },
		{ FIRST "/a = \\\nend 1\n", 2, "not an escape" },
		{ FIRST "/a = \\x\nend 1\n", 2, "not an escape" },
		{ FIRST "/a = \\x1\nend 1\n", 2, "not an escape" },
		{ FIRST "/a = \\x1g\nend 1\n", 2, "not an escape" },
		{ FIRST "/\\q = 1\nend 1\n", 2, "not an escape" },
		{ FIRST "/a = \\x00\nend 1\n", 2, "a zero" },
		{ FIRST "/\\x00 = 1\nend 1\n", 2, "a zero" },
		{ FIRST "/a = \t\nend 1\n", 2, "escaped" },
		{ FIRST "/a = \xc3\xa4\nend 1\n", 2, "escaped" },
		{ FIRST "# \x1b[2J\nend 0\n", 2, "escaped" },
		{ FIRST "# \x7f\nend 0\n", 2, "escaped" },
		{ FIRST "/a = 1\n/b = 1\n/a = 1\nend 3\n", 4, "before" },
		{ FIRST "/a = 1\n/\\x61 = 2\nend 2\n", 3, "before" },
	};
	struct tree t;
	unsigned int i;

	for (i = 0; i < RTE_DIM(wrong); i++) {
		assert_int_equal(weir__tree_parse(&t, wrong[i].text,
						  strlen(wrong[i].text)),
				 -EINVAL);
		assert_non_null(strstr(t.problem, wrong[i].problem));
		assert_int_equal(t.problem_line, wrong[i].line);
		weir__tree_fini(&t);
	}
}

static void
comments_and_empty_texts_are_fine(void **state)
{
	const char *text = FIRST "# one\n/a =\n#\n/b = \n# = \nend 2\n";
	struct tree t;

	assert_int_equal(weir__tree_parse(&t, text, strlen(text)), 0);
	assert_string_equal(weir__tree_read(&t, NULL, "/a"), "");
	assert_string_equal(weir__tree_read(&t, NULL, "/b"), "");
	weir__tree_fini(&t);
}

static void
lines_may_end_with_cr_and_lf(void **state)
{
	const char *text = "weir-machine 1\r\n# one\r\n/a = b c\r\n/d/ = e\r\n"
			   "/f =\r\n/g = \r\n/h = \\x0d\r\n/i = j\nend 6\r\n";
	char *again;
	size_t length;
	struct tree t;

	assert_int_equal(weir__tree_parse(&t, text, strlen(text)), 0);
	assert_string_equal(weir__tree_read(&t, NULL, "/a"), "b c");
	assert_string_equal(weir__tree_list(&t, "/d"), "e");
	assert_string_equal(weir__tree_read(&t, NULL, "/f"), "");
	assert_string_equal(weir__tree_read(&t, NULL, "/g"), "");
	assert_string_equal(weir__tree_read(&t, NULL, "/h"), "\r");
	assert_string_equal(weir__tree_read(&t, NULL, "/i"), "j");
	assert_int_equal(weir__tree_format(&t, &again, &length), 0);
	assert_string_equal(again, FIRST "/a = b c\n/d/ = e\n/f =\n/g =\n"
					 "/h = \\x0d\n/i = j\nend 6\n");
	free(again);
	weir__tree_fini(&t);
}

static void
check_beginnings(const char *text)
{
	size_t n;
	struct tree t;
	char *part;

	for (n = 0; n <= strlen(text); n++) {
		/* Of exactly its size, for the address sanitizer. */
		part = malloc(n + (n == 0));
		memcpy(part, text, n);
		assert_int_equal(weir__tree_parse(&t, part, n),
				 n < strlen(text) ? -EINVAL : 0);
		weir__tree_fini(&t);
		free(part);
	}
}

static void
no_beginning_of_a_recording_is_one(void **state)
{
	check_beginnings(FIRST "# ten\n/a = 1\n/b/ = c/d\n/c = \\n\\x20\n"
			       "/1 =\n/2 =\n/3 =\n/4 =\n/5 =\n/6 =\n/7 =\n"
			       "end 10\n");
	check_beginnings("weir-machine 1\r\n/a = 1\r\nend 1\r\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_sets_are_read_from_lists),
		cmocka_unit_test(id_sets_refuse_what_is_no_list),
		cmocka_unit_test(id_sets_are_united_and_intersected),
		cmocka_unit_test(real_files_are_read_without_their_line_end),
		cmocka_unit_test(real_files_are_read_whole_or_not_at_all),
		cmocka_unit_test(lines_without_the_words_are_left_out),
		cmocka_unit_test(real_folders_are_listed_by_name),
		cmocka_unit_test(what_cannot_be_read_is_not_there),
		cmocka_unit_test(shortage_is_no_absence),
		cmocka_unit_test(numbers_are_read_within_their_bounds),
		cmocka_unit_test(real_machine_may_hold_what_it_likes),
		cmocka_unit_test(recorded_tree_opens_no_file),
		cmocka_unit_test(recording_holds_what_was_read),
		cmocka_unit_test(what_was_returned_stays),
		cmocka_unit_test(every_byte_comes_back),
		cmocka_unit_test(texts_that_are_no_recordings_are_refused),
		cmocka_unit_test(comments_and_empty_texts_are_fine),
		cmocka_unit_test(lines_may_end_with_cr_and_lf),
		cmocka_unit_test(no_beginning_of_a_recording_is_one),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
