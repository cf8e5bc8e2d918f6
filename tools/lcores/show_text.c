/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The machine as text of 80 columns, words wrapped. A core is a word: its CPUs
 * with "/" between SMT siblings, each with its marks.
 */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "escape.h"
#include "show.h"

#define COLUMNS 80
#define WORD_SIZE 512

/* Behind a CPU's number; capitals are roles. */
static const struct mark {
	char mark;
	const char *meaning;
} marks[] = {
	{ 'W', "worker" },   { 'M', "main lcore" }, { 'S', "spare lcore" },
	{ 'i', "isolated" }, { 't', "no tick" },    { '-', "not allowed" },
	{ 'x', "offline" },
};

/* Where text goes. */
struct page {
	FILE *out;
	unsigned int column;
	unsigned int gap;	/* spaces that the last word ended with */
	unsigned int indent;	/* of the lines that wrapping begins */
	unsigned int core_size; /* columns that a core takes */
};

static void
end_line(struct page *page)
{
	fputc('\n', page->out);
	page->column = page->gap = 0;
}

/*
 * A word, which goes to a line of its own when this one is full. Spaces at its
 * end are written when a word follows.
 */
static void __attribute__((format(printf, 2, 3)))
put(struct page *page, const char *format, ...)
{
	unsigned int length, gap = page->gap + 1;
	char word[WORD_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(word, sizeof(word), format, args);
	va_end(args);
	for (page->gap = 0, length = (unsigned int)strlen(word);
	     length > 0 && word[length - 1] == ' '; page->gap++)
		word[--length] = '\0';
	if (page->column > page->indent &&
	    page->column + gap + length > COLUMNS)
		end_line(page);
	if (page->column == 0)
		gap = page->indent;
	fprintf(page->out, "%*s", (int)gap, "");
	escape_plain(page->out, word);
	page->column += gap + length;
}

/* Parts of a text as words, which loses the separators. */
static void
put_words(struct page *page, char *text, const char *separators)
{
	char *word, *save;

	for (word = strtok_r(text, separators, &save); word != NULL;
	     word = strtok_r(NULL, separators, &save))
		put(page, "%s", word);
}

static void
cpu_marks(const struct layout_cpu *c, char *text)
{
	static const char roles[] = { 0, 'S', 'M', 'W' };
	const struct weir_machine_cpu *cpu = c->cpu;

	if (c->role != LAYOUT_NONE)
		*text++ = roles[c->role];
	if (cpu->isolated)
		*text++ = 'i';
	if (cpu->tick_free)
		*text++ = 't';
	if (!cpu->online)
		*text++ = 'x';
	else if (!cpu->allowed)
		*text++ = '-';
	*text = '\0';
}

/* The core at `begin`, as a word. Returns its length. */
static unsigned int
core_text(const struct layout *layout, unsigned int begin, char *text,
	  size_t size)
{
	unsigned int end = layout_end(layout, begin, LAYOUT_CORE), i;
	unsigned int length = 0;
	char m[8];

	for (i = begin; i < end && length < size; i++) {
		cpu_marks(&layout->cpus[i], m);
		length += (unsigned int)snprintf(text + length, size - length,
						 "%s%u%s", i > begin ? "/" : "",
						 layout->cpus[i].cpu->id, m);
	}
	return length;
}

static unsigned int
widest_core(const struct layout *layout)
{
	unsigned int i, size = 0;
	char text[WORD_SIZE];

	for (i = 0; i < layout->nb_cpus; i = layout_end(layout, i, LAYOUT_CORE))
		size = RTE_MAX(size, core_text(layout, i, text, sizeof(text)));
	return size;
}

/* The CPUs of one last-level cache, or those of which that is not known. */
static void
show_cache(struct page *page, const struct layout *layout, unsigned int begin)
{
	unsigned int end = layout_end(layout, begin, LAYOUT_CACHE), i;
	int cache = layout->cpus[begin].cpu->cache;
	char text[WORD_SIZE];

	page->indent = 0;
	if (cache == WEIR_MACHINE_UNKNOWN)
		put(page, "  %-9s", "cores");
	else
		put(page, "  cache %-3d", cache);
	page->indent = 12;
	for (i = begin; i < end; i = layout_end(layout, i, LAYOUT_CORE)) {
		core_text(layout, i, text, sizeof(text));
		put(page, "%-*s", (int)page->core_size, text);
	}
	end_line(page);
}

static void
show_nic(struct page *page, const struct layout *layout,
	 const struct weir_machine_nic *nic)
{
	int port = -1;

	if (layout->map != NULL)
		port = layout_port(layout->map, layout->machine, nic);
	page->indent = 0;
	put(page, "  %-9s", "device");
	page->indent = 12;
	put(page, "%s %04x:%04x", nic->address, nic->vendor, nic->device);
	if (nic->driver[0] != '\0')
		put(page, "%s", nic->driver);
	if (nic->interface[0] != '\0')
		put(page, "%s", nic->interface);
	if (port >= 0)
		put(page, "= port %d", port);
	end_line(page);
}

static void
show_nics(struct page *page, const struct layout *layout, int node)
{
	const struct weir_machine *machine = layout->machine;
	unsigned int i;

	for (i = 0; i < machine->nb_nics; i++)
		if (machine->nics[i].node == node)
			show_nic(page, layout, &machine->nics[i]);
}

static bool
has_cpus(const struct layout *layout, int node)
{
	unsigned int i;

	for (i = 0; i < layout->nb_cpus; i++)
		if (layout->cpus[i].cpu->node == node)
			return true;
	return false;
}

static void
show_cpus(struct page *page, const struct layout *layout, int node)
{
	unsigned int i;

	for (i = 0; i < layout->nb_cpus;
	     i = layout_end(layout, i, LAYOUT_CACHE))
		if (layout->cpus[i].cpu->node == node)
			show_cache(page, layout, i);
}

/* Is there a CPU of the same node and package before it? */
static bool
had_package(const struct layout *layout, unsigned int n)
{
	const struct weir_machine_cpu *cpu = layout->cpus[n].cpu, *other;
	unsigned int i;

	for (i = 0; i < n; i++) {
		other = layout->cpus[i].cpu;
		if (other->node == cpu->node && other->package == cpu->package)
			return true;
	}
	return false;
}

/* The packages that the node's CPUs are in: one as a rule. */
static void
show_packages(struct page *page, const struct layout *layout, int node)
{
	const struct weir_machine_cpu *cpu;
	unsigned int i;

	for (i = 0; i < layout->nb_cpus; i++) {
		cpu = layout->cpus[i].cpu;
		if (cpu->node == node && cpu->package != WEIR_MACHINE_UNKNOWN &&
		    !had_package(layout, i))
			put(page, "package %d,", cpu->package);
	}
}

static void
show_pages_of(struct page *page, const struct weir_machine_node *node)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return;
	show_pages(out, node);
	if (fclose(out) == 0)
		put_words(page, text, " ");
	free(text);
}

static void
show_node(struct page *page, const struct layout *layout,
	  const struct weir_machine_node *node)
{
	bool has_pages = show_has_pages(layout, node);
	char memory[64];

	page->indent = 0;
	end_line(page);
	put(page, "node %u:", node->id);
	page->indent = 8;
	show_packages(page, layout, (int)node->id);
	put(page, "%s%s", show_memory(layout, node, memory, sizeof(memory)),
	    has_pages ? "," : "");
	if (has_pages)
		show_pages_of(page, node);
	end_line(page);
	show_cpus(page, layout, (int)node->id);
	if (!has_cpus(layout, (int)node->id)) {
		page->indent = 0;
		put(page, "  no CPUs");
		end_line(page);
	}
	show_nics(page, layout, (int)node->id);
}

/* What is on no node as far as is known, as an offline CPU may be. */
static void
show_rest(struct page *page, const struct layout *layout)
{
	const struct weir_machine *machine = layout->machine;
	bool some = has_cpus(layout, WEIR_MACHINE_UNKNOWN);
	unsigned int i;

	for (i = 0; i < machine->nb_nics; i++)
		some |= machine->nics[i].node == WEIR_MACHINE_UNKNOWN;
	if (!some)
		return;
	page->indent = 0;
	end_line(page);
	put(page, "node not known:");
	end_line(page);
	show_cpus(page, layout, WEIR_MACHINE_UNKNOWN);
	show_nics(page, layout, WEIR_MACHINE_UNKNOWN);
}

static void
show_distances(struct page *page, const struct layout *layout)
{
	const struct weir_machine *machine = layout->machine;
	unsigned int i, j;

	if (machine->nb_nodes < 2)
		return;
	page->indent = 0;
	end_line(page);
	put(page, "distances");
	page->indent = 12;
	put(page, " ");
	for (j = 0; j < machine->nb_nodes; j++)
		put(page, "%3u", machine->nodes[j].id);
	end_line(page);
	for (i = 0; i < machine->nb_nodes; i++) {
		page->indent = 0;
		put(page, "  from %-4u", machine->nodes[i].id);
		page->indent = 12;
		for (j = 0; j < machine->nb_nodes; j++)
			put(page, "%3u",
			    weir_machine_distance(machine,
						  (int)machine->nodes[i].id,
						  (int)machine->nodes[j].id));
		end_line(page);
	}
}

static void
show_lcore(struct page *page, const struct layout *layout,
	   const struct weir_lcore_map_lcore *lcore)
{
	const char *park = layout_park(lcore);
	unsigned int cpu = layout_lcore_cpu(lcore), i;
	const struct weir_machine_cpu *c =
		weir_machine_cpu_get(layout->machine, cpu);
	char *queues;

	page->indent = 0;
	put(page, "  lcore %-3u", lcore->lcore);
	page->indent = 12;
	put(page, "%-6s",
	    lcore->main	 ? "main" :
	    lcore->spare ? "spare" :
			   "worker");
	put(page, "CPU %u", cpu);
	for (i = 1; i < lcore->nb_cpus; i++)
		put(page, "%u", lcore->cpus[i]);
	if (c == NULL)
		put(page, "(not there)");
	else if (c->node != WEIR_MACHINE_UNKNOWN)
		put(page, "node %d", c->node);
	if (park != NULL)
		put(page, "park %s", park);
	queues = show_queues_text(lcore, -1);
	if (queues != NULL && lcore->nb_queues > 0) {
		put(page, "rx");
		put_words(page, queues, ",");
	}
	free(queues);
	end_line(page);
}

static void
show_map(struct page *page, const struct layout *layout)
{
	unsigned int i;

	if (layout->map == NULL)
		return;
	page->indent = 0;
	end_line(page);
	put(page, "map");
	end_line(page);
	for (i = 0; i < layout->map->nb_lcores; i++)
		show_lcore(page, layout, &layout->map->lcores[i]);
}

static void
put_summary(struct page *page, const struct layout *layout)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return;
	show_summary(out, layout);
	if (fclose(out) == 0)
		put_words(page, text, " ");
	free(text);
	end_line(page);
}

static bool
has_mark(const struct layout *layout, char mark)
{
	unsigned int i;
	char m[8];

	for (i = 0; i < layout->nb_cpus; i++) {
		cpu_marks(&layout->cpus[i], m);
		if (strchr(m, mark) != NULL)
			return true;
	}
	return false;
}

/* The marks that there are. */
static void
show_legend(struct page *page, const struct layout *layout)
{
	bool some = false;
	unsigned int i;

	page->indent = 0;
	for (i = 0; i < RTE_DIM(marks); i++) {
		if (!has_mark(layout, marks[i].mark))
			continue;
		if (!some) {
			end_line(page);
			put(page, "marks:");
		}
		put(page, " %c %s", marks[i].mark, marks[i].meaning);
		some = true;
	}
	if (some)
		end_line(page);
}

void
show_text(FILE *out, const struct layout *layout)
{
	const struct weir_machine *machine = layout->machine;
	struct page page = { .out = out };
	unsigned int i;

	page.core_size = widest_core(layout);
	put_summary(&page, layout);
	for (i = 0; i < machine->nb_nodes; i++)
		show_node(&page, layout, &machine->nodes[i]);
	show_rest(&page, layout);
	show_distances(&page, layout);
	show_map(&page, layout);
	show_legend(&page, layout);
}
