/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Lcore maps: from files, written, freed. lcore_map_parse.c reads their text.
 *
 * F1 What weir_lcore_map_format() writes is read as a map that equals the one
 *    it was given, if that was read from text.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "topology/lcore_map.h"

#define FILE_MOST (1u << 20)

const char *const weir__lcore_map_park[LCORE_MAP_PARK_POLICIES] = {
	"poll", "pause", "interrupt", "adaptive"
};

/* Text that grows up to its end, and is measured beyond it. */
struct output {
	char *text;
	size_t size;
	size_t length;
};

static void __attribute__((format(printf, 2, 3)))
append(struct output *out, const char *format, ...)
{
	size_t left = out->length < out->size ? out->size - out->length : 0;
	va_list args;

	va_start(args, format);
	out->length += (size_t)vsnprintf(
		left != 0 ? out->text + out->length : NULL, left, format, args);
	va_end(args);
}

/* Neighbours as A-B. */
static void
append_cpus(struct output *out, const struct weir_lcore_map_lcore *lcore)
{
	const unsigned int *cpus = lcore->cpus;
	unsigned int i, last;

	for (i = 0; i < lcore->nb_cpus; i = last + 1) {
		for (last = i; last + 1 < lcore->nb_cpus; last++)
			if (cpus[last + 1] != cpus[last] + 1)
				break;
		append(out, i == 0 ? " cpus=%u" : ",%u", cpus[i]);
		if (last != i)
			append(out, "-%u", cpus[last]);
	}
}

static void
append_queues(struct output *out, const struct weir_lcore_map_lcore *lcore)
{
	const struct weir_lcore_map_queue *queues = lcore->queues;
	unsigned int i, last;

	for (i = 0; i < lcore->nb_queues; i = last + 1) {
		for (last = i; last + 1 < lcore->nb_queues; last++)
			if (queues[last + 1].port != queues[last].port ||
			    queues[last + 1].queue != queues[last].queue + 1)
				break;
		append(out, i == 0 ? " rx=%u.%u" : ",%u.%u", queues[i].port,
		       queues[i].queue);
		if (last != i)
			append(out, "-%u", queues[last].queue);
	}
}

static void
append_lcore(struct output *out, const struct weir_lcore_map_lcore *lcore)
{
	append(out, "%s %u", lcore->main ? "main" : "lcore", lcore->lcore);
	if (lcore->spare)
		append(out, " spare");
	append_cpus(out, lcore);
	if (lcore->node >= 0)
		append(out, " node=%d", lcore->node);
	append_queues(out, lcore);
	if (lcore->park >= 0 && lcore->park < LCORE_MAP_PARK_POLICIES)
		append(out, " park=%s", weir__lcore_map_park[lcore->park]);
	append(out, "\n");
}

int
weir_lcore_map_format(const struct weir_lcore_map *map, char *text, size_t size)
{
	struct output out = { .text = text, .size = size };
	const struct weir_lcore_map_port *port;
	unsigned int i;

	if (size != 0)
		text[0] = '\0';
	for (i = 0; i < map->nb_lcores; i++)
		append_lcore(&out, &map->lcores[i]);
	for (i = 0; i < map->nb_ports; i++) {
		port = &map->ports[i];
		append(&out, "port %u %s\n", port->port,
		       port->address[0] != '\0' ? port->address : "none");
	}
	return (int)out.length;
}

void
weir_lcore_map_free(struct weir_lcore_map *map)
{
	unsigned int i;

	if (map == NULL)
		return;
	for (i = 0; i < map->nb_lcores; i++) {
		free(map->lcores[i].cpus);
		free(map->lcores[i].queues);
	}
	free(map->lcores);
	free(map->ports);
	free(map);
}

bool
weir_lcore_map_is_text(const char *value)
{
	static const char *const begins[] = { "(", "lcore ", "main ", "port " };
	unsigned int i;

	for (i = 0; i < RTE_DIM(begins); i++)
		if (strncmp(value, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Up to the end of the file, or a byte more than is allowed. */
static int
read_text(FILE *f, char *text, char *error, size_t size)
{
	size_t length = fread(text, 1, FILE_MOST + 1, f);

	if (ferror(f)) {
		snprintf(error, size, "%s", strerror(errno));
		return -errno;
	}
	if (length > FILE_MOST) {
		snprintf(error, size, "is no lcore map: more than %u bytes",
			 FILE_MOST);
		return -EINVAL;
	}
	if (memchr(text, '\0', length) != NULL) {
		snprintf(error, size, "is no lcore map: it has a zero byte");
		return -EINVAL;
	}
	text[length] = '\0';
	return 0;
}

static struct weir_lcore_map *
load(const char *file, char *error, size_t size)
{
	struct weir_lcore_map *map = NULL;
	char *text = malloc(FILE_MOST + 2);
	FILE *f = text != NULL ? fopen(file, "re") : NULL;
	int rc;

	if (f == NULL) {
		rte_errno = text != NULL ? errno : ENOMEM;
		snprintf(error, size, "%s", strerror(rte_errno));
		free(text);
		return NULL;
	}
	rc = read_text(f, text, error, size);
	fclose(f);
	if (rc < 0)
		rte_errno = -rc;
	else
		map = weir_lcore_map_parse(text, error, size);
	free(text);
	return map;
}

struct weir_lcore_map *
weir_lcore_map_load(const char *file, char *error, size_t size)
{
	struct weir_lcore_map *map;
	char why[320] = "";
	size_t rest;

	map = load(file, why, sizeof(why));
	if (map != NULL || error == NULL)
		return map;
	/* Of a long name the end goes, rather than the reason. */
	rest = strlen(why) + sizeof("...: ");
	if (rest < size && strlen(file) > size - rest)
		snprintf(error, size, "%.*s...: %s", (int)(size - rest), file,
			 why);
	else
		snprintf(error, size, "%s: %s", file, why);
	return map;
}
