/* SPDX-License-Identifier: BSD-3-Clause */

/* What the text, the picture and other commands have in common. */

#include <stdlib.h>

#include "escape.h"
#include "show.h"

static void
show_count(FILE *out, const char *before, unsigned int n, const char *what)
{
	const char *plural = n == 1 ? "" : "s";

	/* What a machine does not tell is left out. */
	if (n != 0)
		fprintf(out, "%s%u %s%s", before, n, what, plural);
}

void
show_summary(FILE *out, const struct layout *layout)
{
	const struct weir_machine *machine = layout->machine;
	unsigned int i, allowed = 0;

	for (i = 0; i < machine->nb_cpus; i++)
		allowed += machine->cpus[i].allowed;
	show_count(out, "", layout->nb_packages, "package");
	show_count(out, layout->nb_packages != 0 ? ", " : "", machine->nb_nodes,
		   "node");
	show_count(out, ", ", layout->nb_caches, "last-level cache");
	show_count(out, ", ", layout->nb_cores, "core");
	show_count(out, ", ", machine->nb_cpus, "CPU");
	if (allowed < machine->nb_cpus)
		fprintf(out, " (%u allowed)", allowed);
	show_count(out, ", ", machine->nb_nics, "network device");
}

const char *
show_memory(const struct layout *layout, const struct weir_machine_node *node,
	    char *text, size_t size)
{
	const char *bytes = "memory not known";
	char memory[32];

	if (node->memory == 0 && layout->has_memory)
		return "no memory";
	if (node->memory != 0)
		bytes = escape_memory(node->memory, memory, sizeof(memory));
	snprintf(text, size, "%s%s", bytes,
		 node->allowed ? "" : " (not allowed)");
	return text;
}

bool
show_has_pages(const struct layout *layout,
	       const struct weir_machine_node *node)
{
	return node->memory != 0 ||
	       (!layout->has_memory && node->nb_pages != 0);
}

void
show_pages(FILE *out, const struct weir_machine_node *node)
{
	const char *separator = "hugepages ";
	char size[32];
	unsigned int i;

	for (i = 0; i < node->nb_pages; i++) {
		if (node->pages[i].total == 0)
			continue;
		fprintf(out, "%s%llu x %s", separator,
			(unsigned long long)node->pages[i].total,
			escape_bytes(node->pages[i].size, size, sizeof(size)));
		if (node->pages[i].free != node->pages[i].total)
			fprintf(out, " (%llu free)",
				(unsigned long long)node->pages[i].free);
		separator = ", ";
	}
	if (separator[0] == 'h')
		fputs("no hugepages", out);
}

const char *
show_severity(enum weir_lcore_map_severity severity)
{
	static const char *const severities[] = { "note", "warning", "error" };

	return severities[severity];
}

void
show_finding(FILE *out, const struct weir_lcore_map_finding *finding)
{
	fprintf(out, "%s %s: ", show_severity(finding->severity),
		finding->rule);
	escape_plain(out, finding->text);
	fputc('\n', out);
}

void
show_queues(FILE *out, const struct weir_lcore_map_lcore *lcore, int port)
{
	const struct weir_lcore_map_queue *q = lcore->queues;
	const char *separator = "";
	unsigned int i, last;

	for (i = 0; i < lcore->nb_queues; i = last + 1) {
		for (last = i; last + 1 < lcore->nb_queues &&
			       q[last + 1].port == q[i].port &&
			       q[last + 1].queue == q[last].queue + 1;
		     last++)
			;
		if (port >= 0 && q[i].port != port)
			continue;
		fprintf(out, "%s%u.%u", separator, q[i].port, q[i].queue);
		if (last > i)
			fprintf(out, "-%u", q[last].queue);
		separator = ",";
	}
}

char *
show_queues_text(const struct weir_lcore_map_lcore *lcore, int port)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	show_queues(out, lcore, port);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
