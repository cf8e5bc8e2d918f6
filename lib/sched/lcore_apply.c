/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A runtime changes over to another lcore map.
 *
 * The map becomes a layout: which places have a worker, how each parks, who
 * polls which source. The layout that there is, is noted as well. From one to
 * the other it takes steps that each keep every packet and task, in an order in
 * which a source always has a worker; and so does the way back.
 *
 * C1 Nothing changes before the map has been checked as a whole.
 * C2 Sources move after the workers that get them have been added, and before
 *    those go that had them.
 * C3 When a step fails, what was done is undone by the same steps towards the
 *    layout that there was. Where that fails too, for memory again or since the
 *    runtime ends, every source still is with a worker, and the error says so.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_malloc.h>

#include "base/heap.h"
#include "sched/scheduler.h"
#include "topology/lcore_map.h"
#include "weir_lcore_apply.h"

static_assert(LCORE_MAP_PARK_POLL == WEIR_PARK_POLL &&
		      LCORE_MAP_PARK_POLICIES == WEIR_PARK_ADAPTIVE + 1,
	      "an lcore map has the policies of enum weir_park");

/* Where the line for the user goes. */
struct error {
	char *text;
	size_t size;
};

/* By place; sources by their index. */
struct layout {
	bool active[RTE_MAX_LCORE];
	enum weir_park park[RTE_MAX_LCORE];
	unsigned int *worker;
};

/* A change under way. */
struct transition {
	struct weir_runtime *rt;
	const struct weir_lcore_map_source *sources;
	unsigned int nb_sources;
	struct layout before;
	struct layout after;
	struct weir_lcore_map_change done;
	char failed[64]; /* the step that did not work */
};

static int __attribute__((format(printf, 3, 4)))
refuse(const struct error *e, int rc, const char *format, ...)
{
	va_list args;

	if (e->text != NULL) {
		va_start(args, format);
		vsnprintf(e->text, e->size, format, args);
		va_end(args);
	}
	return rc;
}

/* Are the CPUs of the map those that EAL has for the lcore? */
static bool
same_cpus(const struct weir_lcore_map_lcore *lcore)
{
	rte_cpuset_t cpus = rte_lcore_cpuset(lcore->lcore);
	unsigned int i;

	if (CPU_COUNT(&cpus) != (int)lcore->nb_cpus)
		return false;
	for (i = 0; i < lcore->nb_cpus; i++)
		if (lcore->cpus[i] >= CPU_SETSIZE ||
		    !CPU_ISSET(lcore->cpus[i], &cpus))
			return false;
	return true;
}

static int
match_lcore(const struct weir_lcore_map_lcore *lcore, const struct error *e)
{
	bool is_main = lcore->lcore == rte_get_main_lcore();

	if (lcore->lcore >= RTE_MAX_LCORE ||
	    !rte_lcore_is_enabled(lcore->lcore))
		return refuse(e, -EINVAL, "lcore %u: is not among EAL's lcores",
			      lcore->lcore);
	if (is_main != lcore->main)
		return refuse(e, -EINVAL,
			      is_main ? "lcore %u: is the main lcore, which "
					"is no worker" :
					"main %u: EAL has another main lcore",
			      lcore->lcore);
	if (lcore->nb_cpus != 0 && !same_cpus(lcore))
		return refuse(e, -EINVAL,
			      "lcore %u: EAL has it on other CPUs than cpus= "
			      "says",
			      lcore->lcore);
	return 0;
}

static bool
has_nodes(const struct weir_lcore_map *map)
{
	unsigned int i;

	for (i = 0; i < map->nb_lcores; i++)
		if (map->lcores[i].node >= 0)
			return true;
	return false;
}

/* The machine is read once, for all of EAL's lcores. */
static int
match_nodes(const struct weir_lcore_map *map, const struct error *e)
{
	struct place places[RTE_MAX_LCORE];
	const struct weir_lcore_map_lcore *lcore;
	unsigned int i;
	int node;

	for (i = 0; i < RTE_MAX_LCORE; i++)
		places[i].lcore = i;
	weir__topology_locate(places, RTE_MAX_LCORE);
	for (i = 0; i < map->nb_lcores; i++) {
		lcore = &map->lcores[i];
		node = (int)places[lcore->lcore].node;
		if (lcore->node >= 0 && lcore->node != node)
			return refuse(e, -EINVAL,
				      "lcore %u: is on node %d, not on node %d",
				      lcore->lcore, node, lcore->node);
	}
	return 0;
}

static int
match(const struct weir_lcore_map *map, const struct error *e)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < map->nb_lcores && rc == 0; i++)
		rc = match_lcore(&map->lcores[i], e);
	if (rc == 0 && has_nodes(map))
		rc = match_nodes(map, e);
	return rc;
}

int
weir_lcore_map_match(const struct weir_lcore_map *map, char *error, size_t size)
{
	return match(map, &(struct error){ error, size });
}

/* What no text says, but maybe a map that was made by hand. */
static int
check_lcore(const struct weir_lcore_map_lcore *lcore, const struct error *e)
{
	if ((lcore->main || lcore->spare) && lcore->nb_queues != 0)
		return refuse(e, -EINVAL,
			      "lcore %u: is %s, it has no queues; give them to "
			      "a worker",
			      lcore->lcore,
			      lcore->main ? "the main lcore" : "spare");
	if (lcore->park < -1 || lcore->park >= LCORE_MAP_PARK_POLICIES)
		return refuse(e, -EINVAL,
			      "lcore %u: park %d: must be one of enum "
			      "weir_park, or -1",
			      lcore->lcore, lcore->park);
	return 0;
}

/* Notes what the map has for one lcore. */
static int
lay_out_lcore(struct transition *t, const struct weir_lcore_map_lcore *lcore,
	      const struct error *e)
{
	struct weir_runtime *rt = t->rt;
	int place = weir_runtime_worker_of_lcore(rt, lcore->lcore);

	if (place < 0)
		return refuse(e, -EINVAL,
			      "lcore %u: the runtime has no place for it; it "
			      "has to be a worker, or spare, from the start",
			      lcore->lcore);
	if (lcore->spare)
		return 0;
	if (!t->before.active[place] &&
	    rte_eal_get_lcore_state(lcore->lcore) != WAIT)
		return refuse(e, -EBUSY, "lcore %u: runs something else",
			      lcore->lcore);
	t->after.active[place] = true;
	t->after.park[place] = lcore->park < 0 ? rt->options.park :
						 (enum weir_park)lcore->park;
	return 0;
}

static int
lay_out_lcores(struct transition *t, const struct weir_lcore_map *map,
	       const struct error *e)
{
	unsigned int i, workers = 0;
	int rc;

	memcpy(t->after.park, t->before.park, sizeof(t->after.park));
	for (i = 0; i < map->nb_lcores; i++) {
		rc = check_lcore(&map->lcores[i], e);
		if (rc == 0 && !map->lcores[i].main)
			rc = lay_out_lcore(t, &map->lcores[i], e);
		if (rc < 0)
			return rc;
		workers += !map->lcores[i].main && !map->lcores[i].spare;
	}
	if (workers == 0)
		return refuse(e, -EINVAL,
			      "no worker is left; name an lcore that is not "
			      "spare");
	return 0;
}

/* The source of a queue, by its index, or -1. */
static int
find_source(const struct transition *t, const struct weir_lcore_map_queue *q)
{
	unsigned int i;

	for (i = 0; i < t->nb_sources; i++)
		if (t->sources[i].queue.port == q->port &&
		    t->sources[i].queue.queue == q->queue)
			return (int)i;
	return -1;
}

/* The nearest worker that stays. */
static unsigned int
find_successor(const struct weir_runtime *rt, const struct layout *to,
	       const struct worker *w)
{
	const uint8_t *distance = rt->topology.distance[w->node->index];
	unsigned int best = WEIR_WORKER_NONE, i;

	for (i = 0; i < rt->nb_workers; i++)
		if (to->active[i] &&
		    (best == WEIR_WORKER_NONE ||
		     distance[rt->workers[i]->node->index] <
			     distance[rt->workers[best]->node->index]))
			best = i;
	return best;
}

static bool
has_queues(const struct weir_lcore_map *map)
{
	unsigned int i;

	for (i = 0; i < map->nb_lcores; i++)
		if (map->lcores[i].nb_queues != 0)
			return true;
	return false;
}

/* Sources stay where they are, as far as their workers do. */
static void
keep_sources(struct transition *t)
{
	unsigned int i, worker;

	for (i = 0; i < t->nb_sources; i++) {
		worker = t->before.worker[i];
		if (!t->after.active[worker])
			worker = find_successor(t->rt, &t->after,
						t->rt->workers[worker]);
		t->after.worker[i] = worker;
	}
}

static int
lay_out_sources(struct transition *t, const struct weir_lcore_map *map,
		const struct error *e)
{
	const struct weir_lcore_map_lcore *lcore;
	const struct weir_lcore_map_queue *q;
	unsigned int i, j;
	int source;

	for (i = 0; i < t->nb_sources; i++)
		t->after.worker[i] = WEIR_WORKER_NONE;
	for (i = 0; i < map->nb_lcores; i++) {
		lcore = &map->lcores[i];
		for (j = 0; j < lcore->nb_queues; j++) {
			q = &lcore->queues[j];
			source = find_source(t, q);
			if (source < 0)
				return refuse(e, -EINVAL,
					      "lcore %u: queue %u of port %u "
					      "is none of the program's",
					      lcore->lcore, q->queue, q->port);
			t->after.worker[source] =
				(unsigned int)weir_runtime_worker_of_lcore(
					t->rt, lcore->lcore);
		}
	}
	for (i = 0; i < t->nb_sources; i++) {
		q = &t->sources[i].queue;
		if (t->after.worker[i] == WEIR_WORKER_NONE)
			return refuse(e, -EINVAL,
				      "queue %u of port %u is missing; give "
				      "each queue to an lcore",
				      q->queue, q->port);
	}
	return 0;
}

static int
check_sources(const struct transition *t, const struct error *e)
{
	const struct weir_lcore_map_source *s;
	unsigned int i;

	for (i = 0; i < t->nb_sources; i++) {
		s = &t->sources[i];
		if (s->source != NULL &&
		    source_home(s->source)->registry != &t->rt->sources)
			return refuse(e, -EINVAL,
				      "queue %u of port %u: its source is "
				      "another runtime's",
				      s->queue.queue, s->queue.port);
	}
	return 0;
}

/* What needs no step would else be done in one that has ended. */
static int
check_runtime(struct weir_runtime *rt, const struct error *e)
{
	bool runs;

	pthread_mutex_lock(&rt->mutex);
	runs = rt->phase == RUNTIME_RUNNING;
	pthread_mutex_unlock(&rt->mutex);
	return runs ? 0 :
		      refuse(e, -ESHUTDOWN, "the runtime has been shut down");
}

/* Notes what there is. */
static void
lay_out_runtime(struct transition *t)
{
	struct worker *w;
	unsigned int i;

	for (i = 0; i < t->rt->nb_workers; i++) {
		w = t->rt->workers[i];
		t->before.active[i] = worker_active(w);
		t->before.park[i] =
			(enum weir_park)atomic_u32_load(&w->park, RELAXED);
	}
	for (i = 0; i < t->nb_sources; i++)
		if (t->sources[i].source != NULL)
			t->before.worker[i] =
				weir_source_worker(t->sources[i].source);
}

static int __attribute__((format(printf, 3, 4)))
fail(struct transition *t, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(t->failed, sizeof(t->failed), format, args);
	va_end(args);
	return rc;
}

static int
add_workers(struct transition *t, const struct layout *to)
{
	struct weir_runtime *rt = t->rt;
	unsigned int i;
	int rc;

	for (i = 0; i < rt->nb_workers; i++) {
		if (!to->active[i] || worker_active(rt->workers[i]))
			continue;
		rc = weir_worker_add(rt, rt->places[i].lcore);
		if (rc < 0)
			return fail(t, rc, "lcore %u: is not added",
				    rt->places[i].lcore);
		t->done.added++;
	}
	return 0;
}

static int
move_sources(struct transition *t, const struct layout *to)
{
	const struct weir_lcore_map_source *s;
	unsigned int i;
	int rc;

	for (i = 0; i < t->nb_sources; i++) {
		s = &t->sources[i];
		if (s->source == NULL ||
		    weir_source_worker(s->source) == to->worker[i])
			continue;
		rc = weir_source_move(s->source, t->rt, to->worker[i]);
		if (rc < 0)
			return fail(t, rc, "queue %u of port %u: does not move",
				    s->queue.queue, s->queue.port);
		t->done.moved++;
	}
	return 0;
}

static int
retire_workers(struct transition *t, const struct layout *to)
{
	struct weir_runtime *rt = t->rt;
	unsigned int i;
	int rc;

	for (i = 0; i < rt->nb_workers; i++) {
		if (to->active[i] || !worker_active(rt->workers[i]))
			continue;
		rc = weir_worker_retire(rt, i,
					find_successor(rt, to, rt->workers[i]));
		if (rc < 0)
			return fail(t, rc, "lcore %u: does not retire",
				    rt->places[i].lcore);
		t->done.retired++;
	}
	return 0;
}

/* C2 */
static int
go_to(struct transition *t, const struct layout *to)
{
	unsigned int i;
	int rc;

	for (i = 0; i < t->rt->nb_workers; i++)
		weir_worker_park_set(t->rt, i, to->park[i]);
	rc = add_workers(t, to);
	if (rc == 0)
		rc = move_sources(t, to);
	if (rc == 0)
		rc = retire_workers(t, to);
	return rc;
}

/* C3 */
static int
change_over(struct transition *t, const struct error *e)
{
	char failed[sizeof(t->failed)];
	int rc;

	rc = go_to(t, &t->after);
	if (rc == 0)
		return 0;
	memcpy(failed, t->failed, sizeof(failed));
	return refuse(e, rc, "%s (%s); %s", failed, strerror(-rc),
		      go_to(t, &t->before) == 0 ?
			      "all is as it was" :
			      "the change stays as far as it has come");
}

static int
plan(struct transition *t, const struct weir_lcore_map *map,
     const struct error *e)
{
	int rc;

	rc = check_runtime(t->rt, e);
	if (rc == 0)
		rc = check_sources(t, e);
	if (rc < 0)
		return rc;
	lay_out_runtime(t);
	rc = match(map, e);
	if (rc == 0)
		rc = lay_out_lcores(t, map, e);
	if (rc == 0 && has_queues(map))
		rc = lay_out_sources(t, map, e);
	else if (rc == 0)
		keep_sources(t);
	return rc;
}

int
weir_lcore_map_apply(const struct weir_lcore_map *map, struct weir_runtime *rt,
		     const struct weir_lcore_map_source *sources,
		     unsigned int nb_sources,
		     struct weir_lcore_map_change *change, char *error,
		     size_t size)
{
	const struct error e = { error, size };
	struct transition *t;
	int rc;

	rc = weir__may_change_workers(rt);
	if (rc < 0)
		return refuse(
			&e, rc,
			rc == -EDEADLK ?
				"a task cannot change the workers" :
				"a current-thread runtime has one worker");
	t = heap_taken(rte_zmalloc(
		NULL, sizeof(*t) + 2 * nb_sources * sizeof(unsigned int), 0));
	if (t == NULL)
		return refuse(&e, -ENOMEM, "no memory for the change");
	t->rt = rt;
	t->sources = sources;
	t->nb_sources = nb_sources;
	t->before.worker = (unsigned int *)(t + 1);
	t->after.worker = t->before.worker + nb_sources;
	rc = plan(t, map, &e);
	if (rc == 0)
		rc = change_over(t, &e);
	if (rc == 0 && change != NULL)
		*change = t->done;
	heap_free(t);
	return rc;
}
