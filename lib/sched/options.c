/* SPDX-License-Identifier: BSD-3-Clause */

/* Defaults and checks of struct weir_options. */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#include "sched/options.h"

#define NAME_MAX_LEN 8

struct range {
	const char *field;
	size_t offset;
	unsigned int min;
	unsigned int max;
	bool power_of_two;
};

#define RANGE(field, min, max, pow2)                                         \
	{                                                                    \
#field, offsetof(struct weir_options, field), min, max, pow2 \
	}

static const struct range ranges[] = {
	RANGE(event_interval, 1, 100000, false),
	RANGE(max_poll_gap_us, 1, 1000000, false),
	RANGE(inject_interval, 0, 100000, false),
	RANGE(budget, 1, 65535, false),
	RANGE(inject_ring_size, 64, 1048576, true),
	RANGE(task_cells, 64, 16777216, false),
	RANGE(cross_node_backlog, 1, 256, false),
	RANGE(cross_node_age_us, 1, 1000000, false),
};

void
weir_options_init(struct weir_options *options)
{
	memset(options, 0, sizeof(*options));
	options->name = "weir";
	options->event_interval = 61;
	options->max_poll_gap_us = 20;
	options->budget = 128;
	options->lifo_slot = true;
	options->inject_ring_size = 4096;
	options->task_cells = 16384;
	options->cross_node_backlog = 128;
	options->cross_node_age_us = 200;
}

__attribute__((format(printf, 3, 4))) static int
invalid(char *error, size_t size, const char *format, ...)
{
	va_list ap;

	if (error != NULL) {
		va_start(ap, format);
		vsnprintf(error, size, format, ap);
		va_end(ap);
	}
	return -EINVAL;
}

static int
check_name(const char *name, char *error, size_t size)
{
	if (name == NULL || name[0] == '\0')
		return invalid(error, size, "name: must not be empty");
	if (strlen(name) > NAME_MAX_LEN)
		return invalid(error, size,
			       "name: \"%s\" has more than %d characters", name,
			       NAME_MAX_LEN);
	return 0;
}

static int
check_range(const struct weir_options *o, const struct range *r, char *error,
	    size_t size)
{
	unsigned int v;

	memcpy(&v, (const char *)o + r->offset, sizeof(v));
	if (v < r->min || v > r->max)
		return invalid(error, size, "%s: %u is not within %u to %u",
			       r->field, v, r->min, r->max);
	if (r->power_of_two && (v & (v - 1)) != 0)
		return invalid(error, size, "%s: %u is not a power of two",
			       r->field, v);
	return 0;
}

static int
check_inject_interval(const struct weir_options *o, char *error, size_t size)
{
	if (o->inject_interval != 1)
		return 0;
	return invalid(error, size,
		       "inject_interval: 1 would starve the workers' own "
		       "queues; give 0 or at least 2");
}

static int
check_lcore(const struct weir_options *o, unsigned int i, char *error,
	    size_t size)
{
	unsigned int lcore = o->lcores[i], j;

	if (lcore >= RTE_MAX_LCORE || !rte_lcore_is_enabled(lcore))
		return invalid(error, size, "lcores: %u is not an lcore of EAL",
			       lcore);
	if (lcore == rte_get_main_lcore())
		return invalid(
			error, size,
			"lcores: %u is the main lcore, which cannot be a worker",
			lcore);
	for (j = 0; j < i; j++)
		if (o->lcores[j] == lcore)
			return invalid(error, size, "lcores: %u is given twice",
				       lcore);
	return 0;
}

static int
check_lcores(const struct weir_options *o, char *error, size_t size)
{
	unsigned int i, available = rte_lcore_count() - 1;
	int rc;

	if (o->current_thread)
		return 0;
	if (available == 0)
		return invalid(
			error, size,
			"nb_workers: EAL has no lcore besides the main one");
	if (o->nb_workers > available)
		return invalid(error, size,
			       "nb_workers: %u, but EAL has %u worker lcores",
			       o->nb_workers, available);
	if (o->lcores == NULL)
		return 0;
	if (o->nb_workers == 0)
		return invalid(error, size,
			       "nb_workers: 0, but lcores are given");
	for (i = 0; i < o->nb_workers; i++) {
		rc = check_lcore(o, i, error, size);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
weir_options_validate(const struct weir_options *options, char *error,
		      size_t size)
{
	unsigned int i;
	int rc;

	rc = check_name(options->name, error, size);
	for (i = 0; rc == 0 && i < RTE_DIM(ranges); i++)
		rc = check_range(options, &ranges[i], error, size);
	if (rc == 0)
		rc = check_inject_interval(options, error, size);
	if (rc == 0)
		rc = check_lcores(options, error, size);
	return rc;
}

static struct place
place_of(unsigned int lcore)
{
	return (struct place){ lcore, rte_lcore_to_socket_id(lcore) };
}

unsigned int
weir__options_places(const struct weir_options *o, struct place *places)
{
	unsigned int n = 0, lcore, socket = rte_socket_id();

	if (o->current_thread) {
		/* A thread that is free to move has no node: any will do. */
		if (socket == (unsigned int)SOCKET_ID_ANY)
			socket = (unsigned int)rte_socket_id_by_idx(0);
		places[0] = (struct place){ LCORE_ID_ANY, socket };
		return 1;
	}
	if (o->lcores != NULL) {
		for (; n < o->nb_workers; n++)
			places[n] = place_of(o->lcores[n]);
		return n;
	}
	RTE_LCORE_FOREACH_WORKER(lcore) {
		if (o->nb_workers != 0 && n == o->nb_workers)
			break;
		places[n++] = place_of(lcore);
	}
	return n;
}
