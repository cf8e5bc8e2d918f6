/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What programs with ports pick from EAL's part of the command line, and say when
 * EAL does not start. An input is the errno that EAL leaves, and the words of
 * the command line, each up to a zero byte.
 */

#include "fuzz.h"

#include <ctype.h>
#include <stdlib.h>

#include "line.h"

/* Its state is for one start in a process. */
#include "eal.c"

#define WORDS_MAX (2 * MAX_VDEVS)

int
__wrap_rte_eal_init(int argc, char **argv);

static int eal_errno;

int
__wrap_rte_eal_init(int argc, char **argv)
{
	rte_errno = eal_errno;
	return -1;
}

/* The value of the option at words[i]: in the word, or the next one. */
static const char *
value_of(char **words, int i, const char *name)
{
	size_t length = strlen(name);
	bool is_long = strncmp(name, "--", 2) == 0;
	const char *word = words[i];

	if (strcmp(word, name) == 0)
		return words[i + 1];
	if (strncmp(word, name, length) != 0 ||
	    (is_long && word[length] != '='))
		return NULL;
	return word + length + is_long;
}

/* The lcores are told as they were given last. */
static void
check_lcores(char **words)
{
	static const char *const names[] = { "--lcores", "-l", "-c" };
	char expected[sizeof(lcores_option)] = "-l/--lcores";
	const char *value;
	unsigned int k;
	int i;

	for (i = 1; words[i] != NULL; i++) {
		for (k = 0; k < RTE_DIM(names); k++) {
			value = value_of(words, i, names[k]);
			if (value != NULL)
				snprintf(expected, sizeof(expected), "%s %s",
					 names[k], value);
		}
	}
	fuzz_check(strcmp(eal_lcores_option(), expected) == 0);
}

/* A device that EAL did not start is told, with the first of the others. */
static void
check_vdevs_line(char **words, const char *line)
{
	const char *value = NULL;
	char text[64];
	char *c;
	int i;

	for (i = 1; words[i] != NULL && value == NULL; i++)
		value = value_of(words, i, "--vdev");
	if (value == NULL || (eal_errno != ENODEV && eal_errno != ENOTSUP))
		return;
	snprintf(text, sizeof(text), "%s--vdev %s", LINE_BEGIN, value);
	for (c = text; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	fuzz_check(strncmp(line, text, strlen(text)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	char *argv[WORDS_MAX + 2], *line;
	int argc = 1, status, i;

	snprintf(lcores_option, sizeof(lcores_option), "-l/--lcores");
	nb_vdevs = 0;
	eal_errno = fuzz_u8(&in) % 140;
	argv[0] = fuzz_string(&in, 0);
	while (in.left > 0 && argc <= WORDS_MAX)
		argv[argc++] = fuzz_string(&in, in.left);
	argv[argc] = NULL;
	line_begin();
	status = eal_start(argc, argv);
	line = line_end();
	fuzz_check(status ==
		   (eal_errno == EINVAL ? STATUS_USAGE : STATUS_FAILED));
	line_check(line);
	check_lcores(argv);
	check_vdevs_line(argv, line);
	free(line);
	for (i = 0; i < argc; i++)
		free(argv[i]);
	return 0;
}
