/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * /weir/... in DPDK's telemetry: what the functions of weir_metrics.h and
 * weir_dump.h give, by the name of the runtime.
 *
 * N1 A command runs under the registry's mutex, and finds runtimes that are LISTED,
 *    which ends before they are taken apart: what a command finds, stays.
 * N2 Whatever the parameters are, the answer is data or null.
 * N3 A runtime is in the registry while it has the name, of which there is one: from
 *    before it is made, until what has the name in it is gone.
 */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_telemetry.h>
#include <rte_version.h>

#include "sched/scheduler.h"
#include "sched/weir_dump.h"

/* The old names are deprecated where there are new ones. */
#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define RTE_TEL_UINT_VAL RTE_TEL_U64_VAL
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#define rte_tel_data_add_array_uint rte_tel_data_add_array_u64
#endif

#define MAX_FIELDS 3
/* An answer has 16 KB; there must be room for long names. */
#define TASKS_DEFAULT 32
#define TASKS_MAX 64

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static TAILQ_HEAD(, weir_runtime) registry = TAILQ_HEAD_INITIALIZER(registry);

/* With the mutex. NULL: nobody's. */
static struct weir_runtime *
runtime_named(const char *name)
{
	struct weir_runtime *rt;

	TAILQ_FOREACH(rt, &registry, registry_link)
		if (strcmp(rt->options.name, name) == 0)
			break;
	return rt;
}

int
weir__name_reserve(struct weir_runtime *rt)
{
	int rc = -EEXIST;

	pthread_mutex_lock(&registry_mutex);
	if (runtime_named(rt->options.name) == NULL) {
		rt->registry_state = REGISTRY_NAMED;
		TAILQ_INSERT_TAIL(&registry, rt, registry_link);
		rc = 0;
	}
	pthread_mutex_unlock(&registry_mutex);
	return rc;
}

void
weir__name_release(struct weir_runtime *rt)
{
	if (rt->registry_state == REGISTRY_OUT)
		return;
	pthread_mutex_lock(&registry_mutex);
	TAILQ_REMOVE(&registry, rt, registry_link);
	pthread_mutex_unlock(&registry_mutex);
}

static void
set_state(struct weir_runtime *rt, enum registry_state state)
{
	pthread_mutex_lock(&registry_mutex);
	rt->registry_state = state;
	pthread_mutex_unlock(&registry_mutex);
}

void
weir__telemetry_add(struct weir_runtime *rt)
{
	set_state(rt, REGISTRY_LISTED);
}

void
weir__telemetry_remove(struct weir_runtime *rt)
{
	set_state(rt, REGISTRY_NAMED);
}

/* The parameters of a command: the runtime's name, and what else it takes. */
struct request {
	struct weir_runtime *rt;
	unsigned int nb_fields;
	char *fields[MAX_FIELDS];
	char text[128];
};

/* With the registry's mutex. Returns 0 or -errno. */
static int
parse(const char *params, unsigned int min, unsigned int max, struct request *r)
{
	char *rest = NULL, *field;

	r->nb_fields = 0;
	if (params == NULL || snprintf(r->text, sizeof(r->text), "%s",
				       params) >= (int)sizeof(r->text))
		return -EINVAL;
	for (field = strtok_r(r->text, ",", &rest); field != NULL;
	     field = strtok_r(NULL, ",", &rest)) {
		if (r->nb_fields == max)
			return -EINVAL;
		r->fields[r->nb_fields++] = field;
	}
	if (r->nb_fields < min)
		return -EINVAL;
	r->rt = runtime_named(r->fields[0]);
	return r->rt != NULL && r->rt->registry_state == REGISTRY_LISTED ?
		       0 :
		       -ENOENT;
}

static int
parse_number(const char *text, unsigned int min, unsigned int max,
	     unsigned int *n)
{
	unsigned long value;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || value < min || value > max)
		return -EINVAL;
	*n = (unsigned int)value;
	return 0;
}

static int
handle_list(const char *cmd, const char *params, struct rte_tel_data *d)
{
	const struct weir_runtime *rt;

	rte_tel_data_start_array(d, RTE_TEL_STRING_VAL);
	pthread_mutex_lock(&registry_mutex);
	TAILQ_FOREACH(rt, &registry, registry_link)
		if (rt->registry_state == REGISTRY_LISTED)
			rte_tel_data_add_array_string(d, rt->options.name);
	pthread_mutex_unlock(&registry_mutex);
	return 0;
}

/* A figure in a struct of stats. */
struct figure {
	const char *name;
	size_t offset;
	size_t size;
};

#define FIGURE(type, field)                               \
	{                                                 \
#field, offsetof(struct type, field),     \
			sizeof(((struct type *)0)->field) \
	}

static void
add_figures(struct rte_tel_data *d, const struct figure *figures,
	    unsigned int n, const void *stats)
{
	unsigned int i, v32;
	uint64_t v;

	for (i = 0; i < n; i++) {
		const char *at = (const char *)stats + figures[i].offset;

		if (figures[i].size == sizeof(v)) {
			memcpy(&v, at, sizeof(v));
		} else {
			memcpy(&v32, at, sizeof(v32));
			v = v32;
		}
		rte_tel_data_add_dict_uint(d, figures[i].name, v);
	}
}

static const struct figure runtime_figures[] = {
	FIGURE(weir_runtime_stats, workers),
	FIGURE(weir_runtime_stats, nodes),
	FIGURE(weir_runtime_stats, live_tasks),
	FIGURE(weir_runtime_stats, spawned),
	FIGURE(weir_runtime_stats, polls),
	FIGURE(weir_runtime_stats, forced_yields),
	FIGURE(weir_runtime_stats, remote_schedules),
	FIGURE(weir_runtime_stats, inject_depth),
	FIGURE(weir_runtime_stats, blocking_threads),
	FIGURE(weir_runtime_stats, blocking_queued),
	FIGURE(weir_runtime_stats, blocking_running),
};

static const struct figure worker_figures[] = {
	FIGURE(weir_worker_stats, lcore),
	FIGURE(weir_worker_stats, node),
	FIGURE(weir_worker_stats, polls),
	FIGURE(weir_worker_stats, parks),
	FIGURE(weir_worker_stats, noop_wakes),
	FIGURE(weir_worker_stats, steal_ops),
	FIGURE(weir_worker_stats, steals),
	FIGURE(weir_worker_stats, steals_remote),
	FIGURE(weir_worker_stats, local_schedules),
	FIGURE(weir_worker_stats, remote_schedules),
	FIGURE(weir_worker_stats, overflows),
	FIGURE(weir_worker_stats, injected),
	FIGURE(weir_worker_stats, forced_yields),
	FIGURE(weir_worker_stats, source_polls),
	FIGURE(weir_worker_stats, empty_polls),
	FIGURE(weir_worker_stats, source_events),
	FIGURE(weir_worker_stats, rescues),
	FIGURE(weir_worker_stats, max_poll_gap_ns),
	FIGURE(weir_worker_stats, busy_ns),
	FIGURE(weir_worker_stats, spawned),
	FIGURE(weir_worker_stats, queue_depth),
};

static const struct figure node_figures[] = {
	FIGURE(weir_node_stats, id),
	FIGURE(weir_node_stats, workers),
	FIGURE(weir_node_stats, parked),
	FIGURE(weir_node_stats, live_tasks),
	FIGURE(weir_node_stats, inject_depth),
	FIGURE(weir_node_stats, outside_schedules),
};

static int
give_info(const struct request *r, struct rte_tel_data *d)
{
	struct weir_runtime_stats stats;

	weir_runtime_stats_get(r->rt, &stats);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "name", r->rt->options.name);
	add_figures(d, runtime_figures, RTE_DIM(runtime_figures), &stats);
	return 0;
}

static int
give_worker(const struct request *r, struct rte_tel_data *d)
{
	struct weir_worker_stats stats;
	unsigned int worker;

	if (parse_number(r->fields[1], 0, UINT_MAX, &worker) < 0 ||
	    weir_worker_stats_get(r->rt, worker, &stats) < 0)
		return -EINVAL;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_int(d, "active",
				  weir_worker_is_active(r->rt, worker));
	add_figures(d, worker_figures, RTE_DIM(worker_figures), &stats);
	return 0;
}

static int
give_node(const struct request *r, struct rte_tel_data *d)
{
	struct weir_node_stats stats;
	unsigned int node;

	if (parse_number(r->fields[1], 0, UINT_MAX, &node) < 0 ||
	    weir_node_stats_get(r->rt, node, &stats) < 0)
		return -EINVAL;
	rte_tel_data_start_dict(d);
	add_figures(d, node_figures, RTE_DIM(node_figures), &stats);
	return 0;
}

/* Adds a container; it goes with the answer. */
static int
add_row(struct rte_tel_data *d, const char *name, struct rte_tel_data *row)
{
	int rc = rte_tel_data_add_dict_container(d, name, row, 0);

	if (rc < 0)
		rte_tel_data_free(row);
	return rc;
}

/* All rows, as far as there is room in an answer; or the one of a worker. */
static int
give_steals(const struct request *r, struct rte_tel_data *d)
{
	unsigned int first = 0, end = r->rt->nb_workers, thief, victim;
	struct rte_tel_data *row;
	char name[16];

	if (r->nb_fields > 1) {
		if (parse_number(r->fields[1], 0, end - 1, &first) < 0)
			return -EINVAL;
		end = first + 1;
	}
	rte_tel_data_start_dict(d);
	for (thief = first; thief < end; thief++) {
		row = rte_tel_data_alloc();
		if (row == NULL)
			return 0;
		rte_tel_data_start_array(row, RTE_TEL_UINT_VAL);
		for (victim = 0; victim < r->rt->nb_workers; victim++)
			rte_tel_data_add_array_uint(
				row,
				weir_worker_steals_from(r->rt, thief, victim));
		snprintf(name, sizeof(name), "%u", thief);
		if (add_row(d, name, row) < 0)
			return 0;
	}
	return 0;
}

/*
 * A task may have any name. Of characters that are not ASCII, DPDK's JSON makes
 * something that is none.
 */
static void
add_name(struct rte_tel_data *d, const char *name)
{
	char text[RTE_TEL_MAX_STRING_LEN];
	size_t i;

	for (i = 0; name[i] != '\0' && i < sizeof(text) - 1; i++)
		text[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
	text[i] = '\0';
	rte_tel_data_add_dict_string(d, "name", text);
}

static void
fill_task(struct rte_tel_data *d, const struct weir_task_entry *e)
{
	static const char *const states[] = {
		[WEIR_TASK_WAITING] = "waiting",
		[WEIR_TASK_QUEUED] = "queued",
		[WEIR_TASK_RUNNING] = "running",
		[WEIR_TASK_STRANDED] = "stranded",
	};

	rte_tel_data_start_dict(d);
	add_name(d, e->task.name);
	rte_tel_data_add_dict_string(d, "state", states[e->state]);
	rte_tel_data_add_dict_int(d, "cancelled", e->cancelled);
	rte_tel_data_add_dict_uint(d, "node", e->node);
	if (e->affinity == WEIR_AFFINITY_WORKER)
		rte_tel_data_add_dict_uint(d, "worker", e->worker);
	rte_tel_data_add_dict_uint(d, "polls", e->polls);
	rte_tel_data_add_dict_uint(d, "since_wake_us", e->since_wake_us);
}

static int
give_tasks(const struct request *r, struct rte_tel_data *d)
{
	struct weir_task_entry entries[TASKS_MAX];
	unsigned int limit = TASKS_DEFAULT, i;
	struct rte_tel_data *row;
	char name[24];
	uint64_t n;

	if (r->nb_fields > 1 &&
	    parse_number(r->fields[1], 1, TASKS_MAX, &limit) < 0)
		return -EINVAL;
	n = weir_task_list(r->rt, entries, limit);
	rte_tel_data_start_dict(d);
	for (i = 0; i < RTE_MIN(n, limit); i++) {
		row = rte_tel_data_alloc();
		if (row == NULL)
			return 0;
		fill_task(row, &entries[i]);
		/* As in the log. */
		snprintf(name, sizeof(name), "%" PRIx64, entries[i].task.id);
		if (add_row(d, name, row) < 0)
			return 0;
	}
	return 0;
}

static int
get_histogram(const struct request *r, struct weir_histogram *h)
{
	enum weir_histogram_kind kind;
	unsigned int worker;

	if (strcmp(r->fields[1], "poll") == 0)
		kind = WEIR_HISTOGRAM_POLL;
	else if (strcmp(r->fields[1], "wake") == 0)
		kind = WEIR_HISTOGRAM_WAKE;
	else
		return -EINVAL;
	if (r->nb_fields == 2)
		return weir_runtime_histogram_get(r->rt, kind, h);
	if (parse_number(r->fields[2], 0, UINT_MAX, &worker) < 0)
		return -EINVAL;
	return weir_worker_histogram_get(r->rt, worker, kind, h);
}

static int
give_histogram(const struct request *r, struct rte_tel_data *d)
{
	static const struct {
		const char *name;
		double percent;
	} rows[] = {
		{ "p50_ns", 50 },    { "p90_ns", 90 },	    { "p99_ns", 99 },
		{ "p999_ns", 99.9 }, { "p9999_ns", 99.99 },
	};
	struct weir_histogram h;
	unsigned int i;

	if (get_histogram(r, &h) < 0)
		return -EINVAL;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "count", h.count);
	for (i = 0; i < RTE_DIM(rows); i++)
		rte_tel_data_add_dict_uint(
			d, rows[i].name,
			weir_histogram_percentile(&h, rows[i].percent));
	rte_tel_data_add_dict_uint(d, "max_ns", h.max);
	return 0;
}

/* The commands that are about one runtime. */
static const struct command {
	const char *name;
	unsigned int min; /* fields */
	unsigned int max;
	int (*give)(const struct request *r, struct rte_tel_data *d);
	const char *help;
} commands[] = {
	{ "/weir/info", 1, 1, give_info,
	  "Returns the counts of a runtime. Parameters: name" },
	{ "/weir/worker", 2, 2, give_worker,
	  "Returns the counts of a worker. Parameters: name,worker" },
	{ "/weir/node", 2, 2, give_node,
	  "Returns the counts of a node. Parameters: name,index" },
	{ "/weir/steals", 1, 2, give_steals,
	  "Returns tasks stolen, by thief and victim. "
	  "Parameters: name[,thief]" },
	{ "/weir/tasks", 1, 2, give_tasks,
	  "Returns live tasks by id. Parameters: name[,limit up to 64]" },
	{ "/weir/histogram", 2, 3, give_histogram,
	  "Returns percentiles. Parameters: name,poll|wake[,worker]" },
};

static int
handle_command(const char *cmd, const char *params, struct rte_tel_data *d)
{
	const struct command *c = commands;
	struct request r;
	int rc;

	while (strcmp(c->name, cmd) != 0)
		c++;
	pthread_mutex_lock(&registry_mutex);
	rc = parse(params, c->min, c->max, &r);
	if (rc == 0)
		rc = c->give(&r, d);
	pthread_mutex_unlock(&registry_mutex);
	return rc;
}

RTE_INIT(register_commands)
{
	unsigned int i;

	rte_telemetry_register_cmd("/weir/list", handle_list,
				   "Returns names of runtimes. No parameters");
	for (i = 0; i < RTE_DIM(commands); i++)
		rte_telemetry_register_cmd(commands[i].name, handle_command,
					   commands[i].help);
}
