/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The text of an lcore map, read.
 *
 * One pass, item by item. What an item says is kept at once, in the map that
 * grows; the first item that is wrong ends it, and the error quotes that.
 *
 * X1 A map that was read has each lcore, queue and port once; one main lcore at
 *    most, which has no queues and does not park; and no spare one with queues.
 * X2 Nothing of the text is read twice or behind its end, and a text costs time
 *    and memory in proportion to its length.
 */

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_errno.h>

#include "topology/lcore_map.h"
#include "topology/word.h"

/* A kernel's numbers of nodes are below this (CONFIG_NODES_SHIFT). */
#define NODES_MOST 1024

struct parser {
	const char *at; /* what is left of the text */
	unsigned int line;
	int rc;
	char *error;
	size_t size;
	struct weir_lcore_map *map;
	bool has_main;
	bool described[RTE_MAX_LCORE];
	/* 1 + the index of the lcore in the map. */
	unsigned int place[RTE_MAX_LCORE];
	bool has_port[RTE_MAX_ETHPORTS];
	bool has_queue[RTE_MAX_ETHPORTS][RTE_MAX_QUEUES_PER_PORT];
};

/* Refuses a word, with what would be right. */
static int __attribute__((format(printf, 3, 4)))
refuse(struct parser *p, const struct word *word, const char *format, ...)
{
	char quoted[WORD_QUOTED_SIZE], why[192];
	va_list args;

	weir__word_quote(word, quoted);
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	if (p->error != NULL)
		snprintf(p->error, p->size, "line %u: '%s': %s", p->line,
			 quoted, why);
	return -EINVAL;
}

static int
no_memory(struct parser *p)
{
	if (p->error != NULL)
		snprintf(p->error, p->size, "line %u: no memory for the map",
			 p->line);
	return -ENOMEM;
}

/* Makes place for one element more; arrays double. */
static int
grow(struct parser *p, void *array, unsigned int n, size_t size)
{
	void **memory = array, *larger;

	if (!rte_is_power_of_2(n) && n != 0)
		return 0;
	larger = realloc(*memory, RTE_MAX(n * 2, 1u) * size);
	if (larger == NULL)
		return no_memory(p);
	*memory = larger;
	return 0;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool
is_item_end(char c)
{
	return c == '\0' || c == '\n' || c == ';' || c == '#';
}

static void
skip_blanks(struct parser *p)
{
	while (is_blank(*p->at))
		p->at++;
}

/* Line ends and comments too and, if asked for, semicolons. */
static void
skip_space(struct parser *p, bool semicolons)
{
	for (;; p->at++) {
		skip_blanks(p);
		if (*p->at == '#')
			p->at += strcspn(p->at, "\n");
		if (*p->at == '\n')
			p->line++;
		else if (*p->at != ';' || !semicolons)
			return;
	}
}

/* The next word of an item. False: it has ended. */
static bool
next_word(struct parser *p, struct word *word)
{
	skip_blanks(p);
	word->at = p->at;
	while (!is_blank(*p->at) && !is_item_end(*p->at))
		p->at++;
	word->end = p->at;
	return word->at != word->end;
}

/* The lcore of the map, which a first mention adds. NULL: no memory. */
static struct weir_lcore_map_lcore *
get_lcore(struct parser *p, unsigned int id)
{
	struct weir_lcore_map *map = p->map;
	struct weir_lcore_map_lcore *lcore;

	if (p->place[id] != 0)
		return &map->lcores[p->place[id] - 1];
	p->rc = grow(p, &map->lcores, map->nb_lcores, sizeof(*map->lcores));
	if (p->rc < 0)
		return NULL;
	lcore = &map->lcores[map->nb_lcores++];
	p->place[id] = map->nb_lcores;
	memset(lcore, 0, sizeof(*lcore));
	lcore->lcore = id;
	lcore->node = -1;
	lcore->park = -1;
	return lcore;
}

static int
add_queue(struct parser *p, struct weir_lcore_map_lcore *lcore,
	  unsigned int port, unsigned int queue, const struct word *word)
{
	int rc;

	if (lcore->main || lcore->spare)
		return refuse(p, word,
			      "lcore %u is %s, it has no queues; give the "
			      "queue to a worker",
			      lcore->lcore,
			      lcore->main ? "the main lcore" : "spare");
	if (p->has_queue[port][queue])
		return refuse(p, word,
			      "queue %u of port %u is given twice; name each "
			      "queue once",
			      queue, port);
	rc = grow(p, &lcore->queues, lcore->nb_queues, sizeof(*lcore->queues));
	if (rc < 0)
		return rc;
	p->has_queue[port][queue] = true;
	lcore->queues[lcore->nb_queues++] = (struct weir_lcore_map_queue){
		.port = (uint16_t)port,
		.queue = (uint16_t)queue,
	};
	return 0;
}

static int
parse_tuple(struct parser *p)
{
	/* It ends at its parenthesis or, if there is none, as a word does. */
	struct word word = { p->at, p->at + strcspn(p->at, ") \t\r\n;#") };
	struct weir_lcore_map_lcore *lcore;
	unsigned int port, queue, id;
	struct word rest;

	if (*word.end == ')')
		word.end++;
	rest = word;
	if (!weir__word_take_char(&rest, '(') ||
	    !weir__word_take_number(&rest, RTE_MAX_ETHPORTS, &port) ||
	    !weir__word_take_char(&rest, ',') ||
	    !weir__word_take_number(&rest, RTE_MAX_QUEUES_PER_PORT, &queue) ||
	    !weir__word_take_char(&rest, ',') ||
	    !weir__word_take_number(&rest, RTE_MAX_LCORE, &id) ||
	    !weir__word_take_char(&rest, ')'))
		return refuse(p, &word,
			      "must be (PORT,QUEUE,LCORE) with a port below "
			      "%u, a queue below %u, an lcore below %u",
			      RTE_MAX_ETHPORTS, RTE_MAX_QUEUES_PER_PORT,
			      RTE_MAX_LCORE);
	p->at = word.end;
	lcore = get_lcore(p, id);
	if (lcore == NULL)
		return p->rc;
	return add_queue(p, lcore, port, queue, &word);
}

/* Tuples with commas between them, behind which a line may end. */
static int
parse_tuples(struct parser *p)
{
	unsigned int line;
	struct word word;
	int rc;

	for (;;) {
		rc = parse_tuple(p);
		if (rc < 0)
			return rc;
		skip_blanks(p);
		if (*p->at != ',')
			break;
		word = (struct word){ p->at, p->at + 1 };
		line = p->line;
		p->at++;
		skip_space(p, false);
		if (*p->at == '(')
			continue;
		p->line = line; /* of the comma */
		return refuse(p, &word,
			      "must be followed by another "
			      "(PORT,QUEUE,LCORE)");
	}
	if (next_word(p, &word))
		return refuse(p, &word,
			      "must be a comma, a semicolon or a line end, "
			      "since a tuple has ended");
	return 0;
}

static int
compare_numbers(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
parse_cpus(struct parser *p, struct weir_lcore_map_lcore *lcore,
	   struct word value, const struct word *word)
{
	bool has[CPU_SETSIZE] = { false };
	unsigned int first, last;
	int rc;

	if (lcore->nb_cpus != 0)
		return refuse(p, word, "the CPUs are given twice");
	do {
		if (!weir__word_take_range(&value, CPU_SETSIZE, &first, &last))
			goto refuse;
		for (; first <= last; first++) {
			if (has[first])
				return refuse(p, word, "CPU %u is in it twice",
					      first);
			has[first] = true;
			rc = grow(p, &lcore->cpus, lcore->nb_cpus,
				  sizeof(*lcore->cpus));
			if (rc < 0)
				return rc;
			lcore->cpus[lcore->nb_cpus++] = first;
		}
	} while (weir__word_take_char(&value, ','));
	if (value.at == value.end) {
		qsort(lcore->cpus, lcore->nb_cpus, sizeof(*lcore->cpus),
		      compare_numbers);
		return 0;
	}

refuse:
	return refuse(p, word,
		      "must be CPUs below %u, like cpus=2 or cpus=2-3,6",
		      CPU_SETSIZE);
}

static int
parse_rx(struct parser *p, struct weir_lcore_map_lcore *lcore,
	 struct word value, const struct word *word)
{
	unsigned int port, first, last;
	int rc;

	do {
		if (!weir__word_take_number(&value, RTE_MAX_ETHPORTS, &port) ||
		    !weir__word_take_char(&value, '.') ||
		    !weir__word_take_range(&value, RTE_MAX_QUEUES_PER_PORT,
					   &first, &last))
			goto refuse;
		for (; first <= last; first++) {
			rc = add_queue(p, lcore, port, first, word);
			if (rc < 0)
				return rc;
		}
	} while (weir__word_take_char(&value, ','));
	if (value.at == value.end)
		return 0;

refuse:
	return refuse(p, word,
		      "must be queues, PORT.QUEUE or PORT.A-B, with ports "
		      "below %u and queues below %u, like rx=0.0,1.0-3",
		      RTE_MAX_ETHPORTS, RTE_MAX_QUEUES_PER_PORT);
}

static int
parse_park(struct parser *p, struct weir_lcore_map_lcore *lcore,
	   const struct word *value, const struct word *word)
{
	int i;

	if (lcore->park >= 0)
		return refuse(p, word, "a policy is given already");
	for (i = 0; i < LCORE_MAP_PARK_POLICIES; i++) {
		if (weir__word_is(value, weir__lcore_map_park[i])) {
			lcore->park = i;
			return 0;
		}
	}
	return refuse(p, word,
		      "must be park=poll, park=pause, park=interrupt or "
		      "park=adaptive");
}

static int
parse_node(struct parser *p, struct weir_lcore_map_lcore *lcore,
	   const struct word *value, const struct word *word)
{
	unsigned int node;

	if (lcore->node >= 0)
		return refuse(p, word, "a node is given already");
	if (!weir__word_is_number(value, NODES_MOST, &node))
		return refuse(p, word,
			      "must be a NUMA node's number below %u, like "
			      "node=1",
			      NODES_MOST);
	lcore->node = (int)node;
	return 0;
}

static int
parse_spare(struct parser *p, struct weir_lcore_map_lcore *lcore,
	    const struct word *word)
{
	if (lcore->nb_queues != 0)
		return refuse(p, word,
			      "lcore %u has queues; give them to a worker, or "
			      "leave spare out",
			      lcore->lcore);
	if (lcore->spare)
		return refuse(p, word, "spare is given twice");
	lcore->spare = true;
	return 0;
}

static int
parse_lcore_word(struct parser *p, struct weir_lcore_map_lcore *lcore,
		 const struct word *word)
{
	struct word value;

	if (weir__word_has_name(word, "cpus=", &value))
		return parse_cpus(p, lcore, value, word);
	if (lcore->main)
		return refuse(p, word, "main knows no word but cpus=LIST");
	if (weir__word_has_name(word, "rx=", &value))
		return parse_rx(p, lcore, value, word);
	if (weir__word_has_name(word, "node=", &value))
		return parse_node(p, lcore, &value, word);
	if (weir__word_has_name(word, "park=", &value))
		return parse_park(p, lcore, &value, word);
	if (weir__word_is(word, "spare"))
		return parse_spare(p, lcore, word);
	return refuse(p, word,
		      "lcore knows no such word, but spare, cpus=, node=, rx= "
		      "and park=");
}

/* Behind `lcore` or `main`. */
static int
parse_lcore(struct parser *p, bool is_main)
{
	const char *name = is_main ? "main" : "lcore";
	struct weir_lcore_map_lcore *lcore;
	struct word word;
	unsigned int id;
	int rc = 0;

	next_word(p, &word);
	if (!weir__word_is_number(&word, RTE_MAX_LCORE, &id))
		return refuse(p, &word,
			      "must be the lcore's number, below %u, like %s 1",
			      RTE_MAX_LCORE, name);
	if (p->described[id])
		return refuse(p, &word,
			      "lcore %u is described twice; put all about it "
			      "into one item",
			      id);
	p->described[id] = true;
	if (is_main && p->has_main)
		return refuse(p, &word, "there is a main lcore already");
	if (is_main && p->place[id] != 0)
		return refuse(p, &word,
			      "lcore %u has queues, so it is no main lcore",
			      id);
	lcore = get_lcore(p, id);
	if (lcore == NULL)
		return p->rc;
	lcore->main = is_main;
	p->has_main |= is_main;
	while (rc == 0 && next_word(p, &word))
		rc = parse_lcore_word(p, lcore, &word);
	return rc;
}

/* Behind `port`. */
static int
parse_port(struct parser *p)
{
	struct weir_lcore_map *map = p->map;
	struct weir_lcore_map_port port = { .port = 0 };
	struct word word;
	unsigned int id;
	int rc;

	next_word(p, &word);
	if (!weir__word_is_number(&word, RTE_MAX_ETHPORTS, &id))
		return refuse(p, &word,
			      "must be the port's number, below %u, like "
			      "port 0 0000:81:00.0",
			      RTE_MAX_ETHPORTS);
	if (p->has_port[id])
		return refuse(p, &word, "port %u is given twice", id);
	p->has_port[id] = true;
	port.port = (uint16_t)id;
	next_word(p, &word);
	if (!weir__word_is(&word, "none") &&
	    !weir__word_is_address(&word, port.address, sizeof(port.address)))
		return refuse(p, &word,
			      "must be a PCI address, like 0000:81:00.0, or "
			      "none");
	rc = grow(p, &map->ports, map->nb_ports, sizeof(*map->ports));
	if (rc < 0)
		return rc;
	map->ports[map->nb_ports++] = port;
	if (next_word(p, &word))
		return refuse(p, &word, "port takes a number and an address");
	return 0;
}

static int
parse_item(struct parser *p)
{
	struct word word;

	if (*p->at == '(')
		return parse_tuples(p);
	next_word(p, &word);
	if (weir__word_is(&word, "lcore"))
		return parse_lcore(p, false);
	if (weir__word_is(&word, "main"))
		return parse_lcore(p, true);
	if (weir__word_is(&word, "port"))
		return parse_port(p);
	return refuse(p, &word,
		      "must begin with lcore, main, port or a "
		      "(PORT,QUEUE,LCORE)");
}

struct weir_lcore_map *
weir_lcore_map_parse(const char *text, char *error, size_t size)
{
	struct weir_lcore_map *map = calloc(1, sizeof(*map));
	struct parser *p = calloc(1, sizeof(*p));
	int rc = 0;

	if (map == NULL || p == NULL) {
		if (error != NULL)
			snprintf(error, size, "no memory for a map");
		rc = -ENOMEM;
	} else {
		*p = (struct parser){ .at = text, .line = 1, .map = map };
		p->error = error;
		p->size = size;
	}
	/* The mark that some editors put in front of UTF-8. */
	if (rc == 0 && strncmp(text, "\xef\xbb\xbf", 3) == 0)
		p->at += 3;
	while (rc == 0) {
		skip_space(p, true);
		if (*p->at == '\0')
			break;
		rc = parse_item(p);
	}
	free(p);
	if (rc == 0)
		return map;
	weir_lcore_map_free(map);
	rte_errno = -rc;
	return NULL;
}
