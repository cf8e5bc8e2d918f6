/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"

static const struct {
	char letter;
	const char *path;
} folders[] = {
	{ 'c', "/sys/devices/system/cpu" },
	{ 'g', "/proc/self" },
	{ 'n', "/sys/devices/system/node" },
	{ 'p', "/sys/bus/pci/devices" },
};

char *
machine_text(const char *entries, size_t length, size_t *text_length)
{
	unsigned int n = 0, j;
	char *text;
	FILE *f = open_memstream(&text, text_length);
	size_t i;

	assert_non_null(f);
	fprintf(f, "weir-machine 1\n");
	for (i = 0; i < length; i++) {
		n += entries[i] == '\n';
		for (j = 0; j < RTE_DIM(folders); j++)
			if ((i == 0 || entries[i - 1] == '\n') &&
			    entries[i] == folders[j].letter)
				break;
		if (j < RTE_DIM(folders))
			fputs(folders[j].path, f);
		else
			fputc(entries[i], f);
	}
	fprintf(f, "end %u\n", n);
	assert_int_equal(fclose(f), 0);
	return text;
}

struct weir_machine *
machine_try(const char *entries, char *error, size_t size)
{
	size_t length;
	char *text = machine_text(entries, strlen(entries), &length);
	struct weir_machine *m;

	m = weir__machine_parse(text, length, "test", error, size);
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
