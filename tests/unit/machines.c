/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"

struct weir_machine *
machine_try(const char *entries, char *error, size_t size)
{
	struct weir_machine *m;
	unsigned int n = 0;
	const char *c;
	char *text;
	int length;

	for (c = entries; *c != '\0'; c++)
		n += *c == '\n';
	length = asprintf(&text, "weir-machine 1\n%send %u\n", entries, n);
	assert_int_not_equal(length, -1);
	m = weir__machine_parse(text, (size_t)length, "test", error, size);
	free(text);
	return m;
}

struct weir_machine *
machine_of(const char *entries)
{
	char error[256];
	struct weir_machine *m = machine_try(entries, error, sizeof(error));

	if (m == NULL)
		fail_msg("%s", error);
	return m;
}

struct weir_machine *
machine_load(const char *name)
{
	char path[512], error[640];
	struct weir_machine *m;

	snprintf(path, sizeof(path), "%s/%s.machine", TOPOLOGY_DATA, name);
	m = weir_machine_load(path, error, sizeof(error));
	if (m == NULL)
		fail_msg("%s", error);
	return m;
}

const char *
machine_allowed(const struct weir_machine *m)
{
	static char text[1024];
	unsigned int i, first;
	int n = 0;

	text[0] = '\0';
	for (i = 0; i < m->nb_cpus; i++) {
		if (!m->cpus[i].allowed)
			continue;
		first = i;
		while (i + 1 < m->nb_cpus && m->cpus[i + 1].allowed &&
		       m->cpus[i + 1].id == m->cpus[i].id + 1)
			i++;
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%u",
			      n > 0 ? "," : "", m->cpus[first].id);
		if (i > first)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "-%u",
				      m->cpus[i].id);
	}
	return text;
}
