/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Recordings of machines. After a byte that says where to cut it off, an input
 * is the text of a recording; or, behind an 's', its entries, whose usual paths
 * are short: "c/online = 0-1".
 */

#include "fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "topology/machine.h"

#define NAME "machine"

static const struct {
	char letter;
	const char *path;
} shortcuts[] = {
	{ 'c', "/sys/devices/system/cpu" },
	{ 'g', "/proc/self" },
	{ 'n', "/sys/devices/system/node" },
	{ 'p', "/sys/bus/pci/devices" },
};

/* Writes entries out; their number is right unless they have an end. */
static void
expand(const uint8_t *data, size_t size, FILE *f)
{
	unsigned int n = 0;
	size_t i, j;

	fprintf(f, "weir-machine 1\n");
	for (i = 0; i < size; i++) {
		for (j = 0; j < RTE_DIM(shortcuts); j++)
			if ((i == 0 || data[i - 1] == '\n') &&
			    data[i] == shortcuts[j].letter)
				break;
		if (j < RTE_DIM(shortcuts))
			fputs(shortcuts[j].path, f);
		else
			fputc(data[i], f);
		n += data[i] == '\n';
	}
	fprintf(f, "end %u\n", n);
}

static void
check_cpus(const struct weir_machine *m)
{
	const struct weir_machine_cpu *c;
	unsigned int i;

	fuzz_check(m->nb_cpus > 0);
	for (i = 0; i < m->nb_cpus; i++) {
		c = &m->cpus[i];
		fuzz_check(i == 0 || c[-1].id < c->id);
		fuzz_check(weir_machine_cpu_get(m, c->id) == c);
		fuzz_check(c->node == WEIR_MACHINE_UNKNOWN ||
			   weir_machine_node_get(m, c->node) != NULL);
		fuzz_check(c->core >= WEIR_MACHINE_UNKNOWN &&
			   c->core <= (int)c->id);
		fuzz_check(c->cache >= WEIR_MACHINE_UNKNOWN &&
			   c->cache <= (int)c->id);
		fuzz_check(c->online || !c->allowed);
	}
}

static void
check_nodes(const struct weir_machine *m)
{
	const struct weir_machine_node *n;
	unsigned int i, j;

	fuzz_check(m->nb_nodes > 0);
	for (i = 0; i < m->nb_nodes; i++) {
		n = &m->nodes[i];
		fuzz_check(i == 0 || n[-1].id < n->id);
		fuzz_check(weir_machine_node_get(m, (int)n->id) == n);
		fuzz_check(n->nb_pages <= WEIR_MACHINE_PAGE_SIZES);
		for (j = 1; j < n->nb_pages; j++)
			fuzz_check(n->pages[j - 1].size <= n->pages[j].size);
		/* All pairs of a thousand nodes would take too long. */
		j = m->nb_nodes - 1 - i;
		fuzz_check(weir_machine_distance(m, (int)n->id,
						 (int)m->nodes[j].id) ==
			   m->distances[i * m->nb_nodes + j]);
	}
	for (i = 0; i < m->nb_nodes * m->nb_nodes; i++)
		fuzz_check(m->distances[i] > 0);
}

static void
check_nics(const struct weir_machine *m)
{
	const struct weir_machine_nic *n;
	unsigned int i;

	for (i = 0; i < m->nb_nics; i++) {
		n = &m->nics[i];
		fuzz_check(strlen(n->address) >= strlen("0000:00:00.0"));
		fuzz_check(i == 0 || strcmp(n[-1].address, n->address) != 0);
		fuzz_check(n->node == WEIR_MACHINE_UNKNOWN ||
			   weir_machine_node_get(m, n->node) != NULL);
	}
}

static void
check_equal(const struct weir_machine *a, const struct weir_machine *b)
{
	fuzz_check(b != NULL);
	fuzz_check(a->nb_cpus == b->nb_cpus && a->nb_nodes == b->nb_nodes &&
		   a->nb_nics == b->nb_nics);
	fuzz_check(memcmp(a->cpus, b->cpus, a->nb_cpus * sizeof(*a->cpus)) ==
		   0);
	fuzz_check(memcmp(a->nodes, b->nodes,
			  a->nb_nodes * sizeof(*a->nodes)) == 0);
	fuzz_check(memcmp(a->distances, b->distances,
			  a->nb_nodes * a->nb_nodes) == 0);
	fuzz_check(a->nb_nics == 0 ||
		   memcmp(a->nics, b->nics, a->nb_nics * sizeof(*a->nics)) ==
			   0);
}

/* Written once more, it is the same machine and the same text. */
static void
check_again(const struct weir_machine *m, const char *text, size_t length)
{
	struct weir_machine *again;
	size_t first_length, length2;
	char *first, *second;
	struct tree t;

	fuzz_check(weir__tree_parse(&t, text, length) == 0);
	fuzz_check(weir__tree_format(&t, &first, &first_length) == 0);
	weir__tree_fini(&t);
	again = weir__machine_parse(first, first_length, NAME, NULL, 0);
	check_equal(m, again);
	weir_machine_free(again);
	fuzz_check(weir__tree_parse(&t, first, first_length) == 0);
	fuzz_check(weir__tree_format(&t, &second, &length2) == 0);
	weir__tree_fini(&t);
	fuzz_check(length2 == first_length &&
		   memcmp(first, second, length2) == 0);
	free(first);
	free(second);
}

/* One line, which begins with the name. */
static void
check_error(const char *error)
{
	size_t i;

	fuzz_check(rte_errno == EINVAL);
	fuzz_check(strncmp(error, NAME ":", strlen(NAME ":")) == 0);
	for (i = 0; error[i] != '\0'; i++)
		fuzz_check(error[i] >= ' ' && error[i] <= '~');
}

/* In memory of exactly its size. */
static struct weir_machine *
parse(const char *text, size_t length, char *error, size_t size)
{
	char *copy = malloc(length + (length == 0));
	struct weir_machine *m;

	fuzz_check(copy != NULL);
	memcpy(copy, text, length);
	m = weir__machine_parse(copy, length, NAME, error, size);
	free(copy);
	return m;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t cut = fuzz_u8(&in);
	char error[256] = "", *text;
	struct weir_machine *m;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	fuzz_check(f != NULL);
	if (in.left > 0 && *in.at == 's')
		expand(in.at + 1, in.left - 1, f);
	else
		fwrite(in.at, 1, in.left, f);
	fuzz_check(fclose(f) == 0);
	m = parse(text, length, error, sizeof(error));
	if (m != NULL) {
		check_cpus(m);
		check_nodes(m);
		check_nics(m);
		check_again(m, text, length);
		/* Its end more often than its beginning. */
		fuzz_check(parse(text, length - 1 - cut * cut % length, NULL,
				 0) == NULL);
	} else {
		check_error(error);
	}
	weir_machine_free(m);
	free(text);
	return 0;
}
