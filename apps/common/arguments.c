/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "arguments.h"

int
arguments_of_eal(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return argc;
}

const char *
argument_value(int argc, char **argv, int i, const char *name)
{
	size_t length = strlen(name);
	const char *rest = argv[i] + length;

	if (strncmp(argv[i], name, length) != 0)
		return NULL;
	if (*rest == '\0')
		return i + 1 < argc ? argv[i + 1] : NULL;
	if (name[1] != '-')
		return rest;
	return *rest == '=' ? rest + 1 : NULL;
}

bool
argument_number(const char *text, int base, unsigned long long *number)
{
	char *end;

	if (!isxdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*number = strtoull(text, &end, base);
	return errno == 0 && *end == '\0';
}

void
argument_of_lcores(int argc, char **argv, char *text, size_t size)
{
	static const char *const names[] = { "--lcores", "-l", "-c" };
	const char *value;
	unsigned int j;
	int i;

	snprintf(text, size, "-l/--lcores");
	for (i = 1; i < argc; i++) {
		for (j = 0; j < RTE_DIM(names); j++) {
			value = argument_value(argc, argv, i, names[j]);
			if (value != NULL)
				snprintf(text, size, "%s %s", names[j], value);
		}
	}
}
