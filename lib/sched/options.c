/* SPDX-License-Identifier: BSD-3-Clause */

/* Defaults and checks of struct weir_options. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#include "base/cancel.h"
#include "metrics/histogram.h"
#include "sched/options.h"

#define HISTOGRAM_MAX_US 100000000u

static_assert(HISTOGRAM_MAX_US * UINT64_C(1000) <= HISTOGRAM_LARGEST_MAX,
	      "weir_histogram has room for it");

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
	RANGE(blocking_threads, 1, 4096, false),
	RANGE(blocking_keep_alive_ms, 0, 86400000, false),
	RANGE(histogram_precision, 1, HISTOGRAM_PRECISION_MAX, false),
	RANGE(histogram_max_us, 1, HISTOGRAM_MAX_US, false),
	RANGE(adaptive_poll_us, 0, 1000000, false),
	RANGE(adaptive_pause_us, 0, 1000000, false),
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
	options->inject_ring_size = 131072;
	options->task_cells = 8192;
	options->cross_node_backlog = 128;
	options->cross_node_age_us = 200;
	options->blocking_threads = 64;
	options->blocking_keep_alive_ms = 10000;
	options->histogram_precision = 4;
	options->histogram_max_us = 1000000;
	options->park = WEIR_PARK_POLL;
	options->adaptive_poll_us = 50;
	options->adaptive_pause_us = 150;
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
	const char *c;

	if (name == NULL || name[0] == '\0')
		return invalid(error, size, "name: must not be empty");
	/*
	 * It is part of lines, here and in the log, and of telemetry's JSON, which
	 * DPDK spoils where a character is not ASCII.
	 */
	for (c = name; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			return invalid(error, size,
				       "name: character 0x%02x is none that "
				       "can be shown",
				       (unsigned char)*c);
	/* Telemetry's commands have it as one of their parameters. */
	if (strchr(name, ',') != NULL)
		return invalid(error, size, "name: '%s' has a comma", name);
	if (strlen(name) > OPTIONS_NAME_LEN)
		return invalid(error, size,
			       "name: \"%s\" has more than %d characters", name,
			       OPTIONS_NAME_LEN);
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
check_park(const struct weir_options *o, char *error, size_t size)
{
	if (weir__park_valid(o->park))
		return 0;
	return invalid(error, size, "park: %d is none of enum weir_park",
		       (int)o->park);
}

static int
check_on_failure(const struct weir_options *o, char *error, size_t size)
{
	if ((unsigned int)o->on_failure <= WEIR_FAILURE_SHUTDOWN)
		return 0;
	return invalid(error, size,
		       "on_failure: %d is none of enum weir_failure",
		       (int)o->on_failure);
}

static int
check_place(const char *field, const struct place *places, unsigned int i,
	    char *error, size_t size)
{
	unsigned int lcore = places[i].lcore, j;

	if (lcore >= RTE_MAX_LCORE || !rte_lcore_is_enabled(lcore))
		return invalid(error, size, "%s: %u is not an lcore of EAL",
			       field, lcore);
	if (lcore == rte_get_main_lcore())
		return invalid(
			error, size,
			"%s: %u is the main lcore, which cannot be a worker",
			field, lcore);
	for (j = 0; j < i; j++)
		if (places[j].lcore == lcore)
			return invalid(error, size, "%s: %u is given twice",
				       field, lcore);
	return 0;
}

/* The lcores of workers, and the spare ones. */
static int
check_places(const struct weir_options *o, char *error, size_t size)
{
	struct place places[RTE_MAX_LCORE];
	unsigned int i, n = weir__options_places(o, places);
	bool spare;
	int rc;

	for (i = 0; i < n; i++) {
		spare = i >= n - o->nb_spare_lcores;
		rc = check_place(spare ? "spare_lcores" : "lcores", places, i,
				 error, size);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/*
 * Those that a runtime without a list takes. rte_lcore_count() has service cores, too, and
 * threads that were registered with EAL.
 */
static unsigned int
count_worker_lcores(void)
{
	unsigned int n = 0, lcore;

	RTE_LCORE_FOREACH_WORKER(lcore)
		n++;
	return n;
}

static int
check_lcores(const struct weir_options *o, char *error, size_t size)
{
	unsigned int available = count_worker_lcores(), workers;

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
	if (o->lcores != NULL && o->nb_workers == 0)
		return invalid(error, size,
			       "nb_workers: 0, but lcores are given");
	workers = o->nb_workers != 0 ? o->nb_workers : available;
	if (o->nb_spare_lcores > available - workers)
		return invalid(error, size,
			       "nb_spare_lcores: %u beside %u workers, but EAL "
			       "has %u worker lcores",
			       o->nb_spare_lcores, workers, available);
	if (o->nb_spare_lcores > 0 && o->spare_lcores == NULL)
		return invalid(error, size,
			       "nb_spare_lcores: %u, but no spare_lcores",
			       o->nb_spare_lcores);
	return check_places(o, error, size);
}

static void *
nothing(void *arg)
{
	return arg;
}

/*
 * May this process run on any of them? A thread's own CPUs do not tell, and EAL
 * has bound those that there are: so another one is tried.
 */
static bool
cpus_usable(const cpu_set_t *cpus)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus);
	rc = pthread_create(&thread, &attr, nothing, NULL);
	if (rc == 0)
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	return rc != EINVAL;
}

static int
check_blocking_cpus(const struct weir_options *o, char *error, size_t size)
{
	const cpu_set_t *cpus = o->blocking_cpus;

	if (cpus == NULL)
		return 0;
	if (CPU_COUNT(cpus) == 0)
		return invalid(error, size, "blocking_cpus: 0 are set");
	if (!cpus_usable(cpus))
		return invalid(error, size,
			       "blocking_cpus: %d are set, but the process may "
			       "run on none of them",
			       CPU_COUNT(cpus));
	return 0;
}

static int
validate(const struct weir_options *options, char *error, size_t size)
{
	struct weir_options defaults;
	unsigned int i;
	int rc;

	if (options == NULL) {
		weir_options_init(&defaults);
		options = &defaults;
	}
	rc = check_name(options->name, error, size);
	for (i = 0; rc == 0 && i < RTE_DIM(ranges); i++)
		rc = check_range(options, &ranges[i], error, size);
	if (rc == 0)
		rc = check_inject_interval(options, error, size);
	if (rc == 0)
		rc = check_park(options, error, size);
	if (rc == 0)
		rc = check_on_failure(options, error, size);
	if (rc == 0)
		rc = check_lcores(options, error, size);
	if (rc == 0)
		rc = check_blocking_cpus(options, error, size);
	return rc;
}

int
weir_options_validate(const struct weir_options *options, char *error,
		      size_t size)
{
	int cancel = cancel_defer();
	int rc = validate(options, error, size);

	cancel_allow(cancel);
	return rc;
}

unsigned int
weir__options_places(const struct weir_options *o, struct place *places)
{
	unsigned int n = 0, i, lcore;

	if (o->current_thread) {
		places[0].lcore = LCORE_ID_ANY;
		return 1;
	}
	if (o->lcores != NULL) {
		for (; n < o->nb_workers; n++)
			places[n].lcore = o->lcores[n];
	} else {
		RTE_LCORE_FOREACH_WORKER(lcore) {
			if (o->nb_workers != 0 && n == o->nb_workers)
				break;
			places[n++].lcore = lcore;
		}
	}
	for (i = 0; i < o->nb_spare_lcores; i++)
		places[n++].lcore = o->spare_lcores[i];
	return n;
}
