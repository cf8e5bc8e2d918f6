/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The text of lcore maps. An input is one. What is read keeps the rules of
 * lcore_map_parse.c, is written as text that is read as the same map, and can be
 * checked; what is refused is quoted, with its line. A text of tuples alone is
 * read a second time, by the rules of l3fwd.
 */

#include "fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_config.h>

#include "weir_lcore_map.h"
#include "weir_machine.h"

#define TEXT_MAX 4096
/* All that such a text may come to: ranges are longer when each is written. */
#define FORMAT_MAX (1u << 20)

static char written[2][FORMAT_MAX];

static const struct weir_lcore_map_lcore *
find_lcore(const struct weir_lcore_map *map, unsigned int lcore)
{
	unsigned int i;

	for (i = 0; i < map->nb_lcores; i++)
		if (map->lcores[i].lcore == lcore)
			return &map->lcores[i];
	return NULL;
}

static void
check_lcore(const struct weir_lcore_map *map,
	    const struct weir_lcore_map_lcore *l)
{
	unsigned int i;

	fuzz_check(l->lcore < RTE_MAX_LCORE);
	fuzz_check(find_lcore(map, l->lcore) == l);
	fuzz_check(l->node >= -1 && l->park >= -1 && l->park <= 3);
	fuzz_check(!l->main || (!l->spare && l->park == -1 && l->node == -1));
	fuzz_check(l->nb_queues == 0 || (!l->main && !l->spare));
	for (i = 1; i < l->nb_cpus; i++)
		fuzz_check(l->cpus[i] > l->cpus[i - 1]);
}

/* X1 */
static void
check_map(const struct weir_lcore_map *map)
{
	static bool has[RTE_MAX_ETHPORTS][RTE_MAX_QUEUES_PER_PORT];
	bool has_port[RTE_MAX_ETHPORTS] = { false };
	const struct weir_lcore_map_queue *q;
	unsigned int i, j, mains = 0;

	memset(has, 0, sizeof(has));
	for (i = 0; i < map->nb_lcores; i++) {
		check_lcore(map, &map->lcores[i]);
		mains += map->lcores[i].main;
		for (j = 0; j < map->lcores[i].nb_queues; j++) {
			q = &map->lcores[i].queues[j];
			fuzz_check(q->port < RTE_MAX_ETHPORTS);
			fuzz_check(q->queue < RTE_MAX_QUEUES_PER_PORT);
			fuzz_check(!has[q->port][q->queue]);
			has[q->port][q->queue] = true;
		}
	}
	fuzz_check(mains <= 1);
	for (i = 0; i < map->nb_ports; i++) {
		fuzz_check(map->ports[i].port < RTE_MAX_ETHPORTS);
		fuzz_check(!has_port[map->ports[i].port]);
		has_port[map->ports[i].port] = true;
	}
}

static void
check_equal(const struct weir_lcore_map *a, const struct weir_lcore_map *b)
{
	const struct weir_lcore_map_lcore *x, *y;
	unsigned int i;

	fuzz_check(a->nb_lcores == b->nb_lcores && a->nb_ports == b->nb_ports);
	for (i = 0; i < a->nb_lcores; i++) {
		x = &a->lcores[i];
		y = &b->lcores[i];
		fuzz_check(x->lcore == y->lcore && x->main == y->main &&
			   x->spare == y->spare && x->node == y->node &&
			   x->park == y->park && x->nb_cpus == y->nb_cpus &&
			   x->nb_queues == y->nb_queues);
		if (x->nb_cpus != 0)
			fuzz_check(memcmp(x->cpus, y->cpus,
					  x->nb_cpus * sizeof(*x->cpus)) == 0);
		if (x->nb_queues != 0)
			fuzz_check(memcmp(x->queues, y->queues,
					  x->nb_queues * sizeof(*x->queues)) ==
				   0);
	}
	for (i = 0; i < a->nb_ports; i++)
		fuzz_check(a->ports[i].port == b->ports[i].port &&
			   strcmp(a->ports[i].address, b->ports[i].address) ==
				   0);
}

/* F1 of lcore_map.c, and that what does not fit is cut. */
static void
check_written(const struct weir_lcore_map *map)
{
	struct weir_lcore_map *again;
	int length = weir_lcore_map_format(map, written[0], FORMAT_MAX);

	fuzz_check(length >= 0 && length < (int)FORMAT_MAX);
	fuzz_check(strlen(written[0]) == (size_t)length);
	again = weir_lcore_map_parse(written[0], NULL, 0);
	fuzz_check(again != NULL);
	check_equal(map, again);
	weir_lcore_map_free(again);
	fuzz_check(weir_lcore_map_format(map, written[1],
					 (size_t)length / 2 + 1) == length);
	fuzz_check(strlen(written[1]) == (size_t)length / 2);
	fuzz_check(memcmp(written[0], written[1], (size_t)length / 2) == 0);
}

/* Graver ones first; each says something, in a line. */
static void
note_finding(void *arg, const struct weir_lcore_map_finding *f)
{
	enum weir_lcore_map_severity *last = arg;

	fuzz_check(f->severity <= *last);
	*last = f->severity;
	fuzz_check(f->text[0] != '\0' && strchr(f->text, '\n') == NULL);
}

/* Four CPUs of two cores on two nodes, one of them out of reach. */
static void
check_findings(const struct weir_lcore_map *map)
{
	enum weir_lcore_map_severity last = WEIR_LCORE_MAP_ERROR;
	struct weir_machine_nic nic = { .address = "0000:01:00.0", .node = 1 };
	struct weir_machine_node nodes[2] = { { .id = 0 }, { .id = 1 } };
	struct weir_machine_cpu cpus[4] = { { .id = 0 } };
	struct weir_machine machine = { .nb_cpus = 4,
					.cpus = cpus,
					.nb_nodes = 2,
					.nodes = nodes,
					.nb_nics = 1,
					.nics = &nic };
	uint8_t distances[] = { 10, 20, 20, 10 };
	int i;

	machine.distances = distances;
	for (i = 0; i < 4; i++)
		cpus[i] = (struct weir_machine_cpu){
			.id = (unsigned int)i,
			.node = i / 2,
			.core = i % 2,
			.cache = i,
			.online = true,
			.allowed = i != 3,
			.isolated = i == 1,
			.tick_free = i == 1,
		};
	weir_lcore_map_check(map, &machine, note_finding, &last);
}

/* "line N: 'word': why", with a line that the text has. */
static void
check_error(const char *error, const char *text)
{
	unsigned int line, lines = 1;
	const char *c;
	int at = 0;

	for (c = text; *c != '\0'; c++)
		lines += *c == '\n';
	fuzz_check(sscanf(error, "line %u: '%n", &line, &at) == 1 && at != 0);
	fuzz_check(line >= 1 && line <= lines);
	fuzz_check(strstr(error + at, "': ") != NULL);
	for (c = error; *c != '\0'; c++)
		fuzz_check(!iscntrl((unsigned char)*c));
}

static bool
read_number(const char **text, char behind, unsigned long limit,
	    unsigned long *number)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*number = strtoul(*text, &end, 10);
	*text = end + 1;
	return *end == behind && *number < limit;
}

/* Is it good, as l3fwd's list of tuples? Each has to be in the map. */
static bool
is_good_list(const char *text, const struct weir_lcore_map *map)
{
	const struct weir_lcore_map_lcore *l;
	unsigned long port, queue, lcore;
	unsigned int i;

	for (;;) {
		if (*text++ != '(' ||
		    !read_number(&text, ',', RTE_MAX_ETHPORTS, &port) ||
		    !read_number(&text, ',', RTE_MAX_QUEUES_PER_PORT, &queue) ||
		    !read_number(&text, ')', RTE_MAX_LCORE, &lcore))
			return false;
		if (map != NULL) {
			l = find_lcore(map, (unsigned int)lcore);
			fuzz_check(l != NULL);
			for (i = 0; l->queues[i].port != port ||
				    l->queues[i].queue != queue;
			     i++)
				fuzz_check(i + 1 < l->nb_queues);
		}
		if (*text == '\0')
			return true;
		if (*text++ != ',')
			return false;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct weir_lcore_map *map;
	char error[320] = "";
	bool is_list;
	char *text;

	if (size > TEXT_MAX)
		return 0;
	text = fuzz_string(&in, size);
	map = weir_lcore_map_parse(text, error, sizeof(error));
	fuzz_check((map != NULL) == (error[0] == '\0'));
	is_list = text[0] == '(' && text[strspn(text, "(),0123456789")] == '\0';
	if (map != NULL) {
		check_map(map);
		check_written(map);
		check_findings(map);
		fuzz_check(!is_list || is_good_list(text, map));
	} else {
		check_error(error, text);
		/* A queue that is given twice is wrong in another way. */
		fuzz_check(!is_list || !is_good_list(text, NULL) ||
			   strstr(error, "is given twice") != NULL);
	}
	weir_lcore_map_free(map);
	free(text);
	return 0;
}
