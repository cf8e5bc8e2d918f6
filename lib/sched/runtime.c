/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Building a runtime and taking it apart.
 *
 * M1 A runtime's memory goes when its owner has freed it and every cell is
 *    back: wakers, join handles and objects (object.c) may outlive it. `cells`
 *    counts cells that other threads than workers took minus those they gave
 *    back, plus OWNER while the owner holds the runtime. Workers count their own, in their
 *    caches; when they are gone their sum is added. A thread inside block_on
 *    counts as a cell. Whoever brings the count to zero takes everything down.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "base/cycles.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/membarrier.h"
#include "base/race.h"
#include "sched/options.h"
#include "sched/scheduler.h"

#define OWNER (UINT64_C(1) << 62)
#define INJECT_TARGET_US 200
#define CLOCK_TARGET_US 1
/*
 * Smaller: more looks at the inject queues, each with its lock. Larger: who yields waits
 * longer behind tasks that another worker could have run.
 */
#define TAKE_TARGET_US 50
/*
 * Smaller: workers that wait for each other say each time that they sleep. Larger:
 * more of the waits during which others' work is looked for and not told of.
 */
#define LINGER_US 2
/*
 * The same of waits that end with what the worker polls for. Smaller: packets or timers
 * that come one by one to many workers have these write the same line. Larger: what is
 * to be stolen waits longer for one to whom other work comes as rarely.
 */
#define LINGER_POLLED_US 50
#define RECHECK_MIN_US 2
/*
 * Smaller: workers that poll more rarely lose their batches, by system calls, though
 * they come to them. Larger: what is claimed waits longer behind a task that takes long.
 */
#define RECALL_US 50
#define RECHECK_MAX_US 1000
/* Before the first measurement: about a microsecond a poll. */
#define FIRST_INJECT_INTERVAL 31

static void
init_core(struct worker *w, uint64_t seed)
{
	const struct weir_options *o = &w->rt->options;
	struct core *c = &w->core;

	lock_init(&c->recall);
	slot_init(&c->lifo, !w->rt->membarrier);
	slot_init(&c->behind, !w->rt->membarrier);
	weir__cell_cache_init(&c->cells, &w->node->home.cells);
	task_chain_init(&c->local);
	task_chain_init(&c->deferred);
	atomic_u32_store(&c->nb_yielded, 0, RELAXED);
	c->ctx.core = c;
	c->ctx.worker = w->index;
	c->ctx.next = &c->lifo; /* worker.c, L5 */
	c->lifo_slot = o->lifo_slot;
	c->budget = o->budget;
	c->timed = o->histograms;
	c->ctx.live = &w->live;
	c->ctx.forced_yields = &w->counters.forced_yields;
	c->inject_interval = o->inject_interval != 0 ? o->inject_interval :
						       FIRST_INJECT_INTERVAL;
	c->mean_poll = w->rt->inject_target / FIRST_INJECT_INTERVAL;
	c->take_most = INJECT_TAKE_MIN;
	c->idle_polls = UINT64_MAX;
	rand_seed(&c->rand, seed + w->index);
}

static void
free_worker(struct worker *w)
{
	if (w == NULL)
		return;
	weir__cell_cache_fini(&w->core.cells);
	weir__handoff_fini(&w->handoff);
	weir__sleeper_fini(&w->sleeper);
	weir__source_set_fini(&w->sources);
	weir__timing_fini(w);
	heap_free(w->steals_from);
	heap_free(w->tier_end);
	heap_free(w->victims);
	heap_free(w);
}

/* Needs the worker's node. */
static struct worker *
create_worker(struct weir_runtime *rt, unsigned int index, struct node *node,
	      uint64_t seed)
{
	int socket = (int)node->id;
	struct worker *w;
	int rc;

	w = heap_taken(rte_zmalloc_socket("worker", sizeof(*w), WEIR_CACHE_LINE,
					  socket));
	if (w == NULL)
		return NULL;
	rc = weir__sleeper_init(&w->sleeper);
	if (rc < 0)
		rte_errno = -rc;
	w->rt = rt;
	w->node = node;
	w->index = index;
	w->id_base = (uint64_t)(index + 1) << 48;
	w->lcore = rt->places[index].lcore;
	w->idle_bit = node->nb_places;
	weir__handoff_init(&w->handoff);
	atomic_u32_store(&w->park, rt->options.park, RELAXED);
	weir__run_queue_init(&w->queue, rt->nb_workers == 1, rt->membarrier);
	weir__inbox_init(&w->inbox);
	weir__timers_init(&w->timers, &rt->clock);
	weir__source_set_init(&w->sources, &rt->sources, &w->sleeper, index,
			      node->id);
	w->victims = heap_taken(rte_zmalloc_socket(
		NULL, rt->nb_workers * sizeof(*w->victims), 0, socket));
	w->tier_end = heap_taken(rte_zmalloc_socket(
		NULL, TOPOLOGY_MAX_TIERS * sizeof(*w->tier_end), 0, socket));
	w->steals_from = heap_taken(rte_zmalloc_socket(
		NULL, rt->nb_workers * sizeof(*w->steals_from), 0, socket));
	init_core(w, seed);
	if (rc < 0 || w->victims == NULL || w->tier_end == NULL ||
	    w->steals_from == NULL || weir__timing_init(w) < 0) {
		free_worker(w);
		return NULL;
	}
	weir__owned_add_count(&node->home.owned, &w->live);
	return w;
}

static void
free_node(struct node *node)
{
	if (node == NULL)
		return;
	weir__inject_fini(&node->inject);
	weir__cell_pools_fini(&node->home.cells);
	weir__stack_pool_fini(&node->home.stacks);
	heap_free(node->workers);
	heap_free(node->near);
	heap_free(node);
}

static unsigned int
workers_on(const struct weir_runtime *rt, unsigned int node_id)
{
	unsigned int i, n = 0;

	for (i = 0; i < rt->nb_workers; i++)
		n += rt->places[i].node == node_id;
	return n;
}

static struct node *
create_node(struct weir_runtime *rt, unsigned int index)
{
	const struct weir_options *o = &rt->options;
	unsigned int id = rt->topology.id[index];
	unsigned int ends[TOPOLOGY_MAX_NODES];
	unsigned int workers = workers_on(rt, id);
	char name[RTE_RING_NAMESIZE];
	struct node *node;
	int rc;

	node = heap_taken(rte_zmalloc_socket("node", sizeof(*node),
					     WEIR_CACHE_LINE, (int)id));
	if (node == NULL)
		return NULL;
	node->rt = rt;
	node->index = index;
	node->id = id;
	weir__owned_init(&node->home.owned);
	weir__stack_pool_init(&node->home.stacks, id);
	weir__idle_init(&node->idle, 0);
	node->home.hooks = o->hooks != NULL ? &rt->hooks : NULL;
	node->workers = heap_taken(rte_zmalloc_socket(
		NULL, workers * sizeof(*node->workers), 0, (int)id));
	node->near = heap_taken(rte_zmalloc_socket(
		NULL, rt->nb_nodes * sizeof(*node->near), 0, (int)id));
	/* Processes share names; a ring of one that is killed stays there. */
	snprintf(name, sizeof(name), "%s_n%u_%d", o->name, id, (int)getpid());
	rc = node->workers == NULL || node->near == NULL ? -ENOMEM : 0;
	if (rc == 0)
		rc = weir__inject_init(&node->inject, name, o->inject_ring_size,
				       id);
	if (rc == 0)
		rc = weir__cell_pools_init(&node->home.cells, id,
					   o->task_cells);
	if (rc < 0) {
		free_node(node);
		rte_errno = -rc;
		return NULL;
	}
	weir__topology_order(&rt->topology, index, node->near, ends);
	return node;
}

static void
destroy(struct weir_runtime *rt)
{
	int cancel = cancel_defer();
	unsigned int i;

	for (i = 0; rt->workers != NULL && i < rt->nb_workers; i++)
		free_worker(rt->workers[i]);
	for (i = 0; rt->nodes != NULL && i < rt->nb_nodes; i++)
		free_node(rt->nodes[i]);
	heap_free(rt->workers);
	heap_free(rt->nodes);
	heap_free(rt->places);
	heap_free(rt->sources.qsbr);
	pthread_mutex_destroy(&rt->sources.mutex);
	pthread_mutex_destroy(&rt->sources.waits);
	pthread_mutex_destroy(&rt->mutex);
	pthread_cond_destroy(&rt->changed);
	weir__blocking_fini(rt);
	weir__name_release(rt);
	heap_free(rt);
	cancel_allow(cancel);
}

void
weir__runtime_unref(struct weir_runtime *rt)
{
	/* [runtime:A1] the last one takes down what all others used. */
	if (atomic_u64_fetch_sub(&rt->cells, 1, ACQ_REL) == 1)
		destroy(rt);
}

/* What does not depend on nodes and workers. */
static struct weir_runtime *
create_empty(const struct weir_options *options)
{
	pthread_condattr_t monotonic;
	struct weir_runtime *rt;

	rt = heap_taken(
		rte_zmalloc("weir_runtime", sizeof(*rt), WEIR_CACHE_LINE));
	if (rt == NULL)
		return NULL;
	rt->options = *options;
	/* The caller's may be gone when telemetry asks for it. */
	snprintf(rt->name, sizeof(rt->name), "%s", options->name);
	rt->options.name = rt->name;
	if (options->hooks != NULL)
		rt->hooks = *options->hooks;
	rt->max_poll_gap = cycles_of_us(options->max_poll_gap_us);
	rt->cross_node_age = cycles_of_us(options->cross_node_age_us);
	rt->inject_target = cycles_of_us(INJECT_TARGET_US);
	rt->clock_target = cycles_of_us(CLOCK_TARGET_US);
	rt->take_target = cycles_of_us(TAKE_TARGET_US);
	rt->linger = cycles_of_us(LINGER_US);
	rt->linger_polled = cycles_of_us(LINGER_POLLED_US);
	rt->recall_age = cycles_of_us(RECALL_US);
	rt->recheck_min = cycles_of_us(RECHECK_MIN_US);
	rt->recheck_max = cycles_of_us(RECHECK_MAX_US);
	rt->adaptive_poll = cycles_of_us(options->adaptive_poll_us);
	rt->adaptive_sleep =
		rt->adaptive_poll + cycles_of_us(options->adaptive_pause_us);
	rt->power_pause = weir__pause_saves_power();
	rt->membarrier =
		weir__membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) ==
		0;
	atomic_u64_store(&rt->cells, OWNER, RELAXED);
	pthread_mutex_init(&rt->sources.mutex, NULL);
	pthread_mutex_init(&rt->sources.waits, NULL);
	pthread_mutex_init(&rt->mutex, NULL);
	TAILQ_INIT(&rt->core_waiters);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&rt->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	weir__blocking_init(rt);
	return rt;
}

/* Where its workers are, and on what nodes. */
static int
find_places(struct weir_runtime *rt)
{
	const struct weir_options *o = &rt->options;
	int rc;

	rt->places = heap_taken(
		rte_zmalloc(NULL, RTE_MAX_LCORE * sizeof(*rt->places), 0));
	if (rt->places == NULL)
		return -ENOMEM;
	rt->nb_workers = weir__options_places(o, rt->places);
	rt->nb_active = rt->nb_workers;
	if (!o->current_thread)
		rt->nb_active -= o->nb_spare_lcores;
	weir__clock_init(&rt->clock);
	weir__topology_locate(rt->places, rt->nb_workers);
	rc = weir__topology_read(&rt->topology, rt->places, rt->nb_workers);
	rt->nb_nodes = rt->topology.nb_nodes;
	return rc;
}

static int
create_sources(struct weir_runtime *rt)
{
	size_t size = rte_rcu_qsbr_get_memsize(rt->nb_workers);

	rt->sources.qsbr =
		heap_taken(rte_zmalloc("qsbr", size, WEIR_CACHE_LINE));
	if (rt->sources.qsbr == NULL)
		return -ENOMEM;
	return rte_rcu_qsbr_init(rt->sources.qsbr, rt->nb_workers) == 0 ?
		       0 :
		       -EINVAL;
}

/* *node: the one that it was about when it failed. */
static int
create_parts(struct weir_runtime *rt, unsigned int *node)
{
	uint64_t seed = rt->options.seed != 0 ? rt->options.seed : rte_rdtsc();
	unsigned int i;
	int n;

	*node = rt->topology.id[0];
	rt->workers = heap_taken(
		rte_zmalloc(NULL, rt->nb_workers * sizeof(*rt->workers), 0));
	rt->nodes = heap_taken(
		rte_zmalloc(NULL, rt->nb_nodes * sizeof(*rt->nodes), 0));
	if (rt->workers == NULL || rt->nodes == NULL || create_sources(rt) < 0)
		return -ENOMEM;
	/* ENOMEM, unless a ring or pool says otherwise, for example EEXIST. */
	for (i = 0; i < rt->nb_nodes; i++) {
		rte_errno = ENOMEM;
		*node = rt->topology.id[i];
		rt->nodes[i] = create_node(rt, i);
		if (rt->nodes[i] == NULL)
			return -rte_errno;
	}
	for (i = 0; i < rt->nb_workers; i++) {
		n = weir__topology_node_index(&rt->topology,
					      rt->places[i].node);
		rte_errno = ENOMEM;
		*node = rt->places[i].node;
		rt->workers[i] = create_worker(rt, i, rt->nodes[n], seed);
		if (rt->workers[i] == NULL)
			return -rte_errno;
		rt->nodes[n]->workers[rt->nodes[n]->nb_places++] =
			rt->workers[i];
	}
	for (i = 0; i < rt->nb_workers; i++)
		weir__find_neighbours(rt->workers[i]);
	atomic_u32_store(&rt->deserted, rt->nb_nodes, RELAXED);
	for (i = 0; i < rt->nb_active; i++)
		weir__worker_enable(rt->workers[i]);
	return 0;
}

static void
log_no_places(const struct weir_options *o, int rc)
{
	if (rc == -EEXIST)
		WEIR_LOG(ERR, "name: \"%s\" is another runtime's\n", o->name);
	else if (rc == -E2BIG)
		WEIR_LOG(ERR,
			 "lcores: they are on more than %u nodes, which is "
			 "the most that a runtime can have\n",
			 TOPOLOGY_MAX_NODES);
	else
		WEIR_LOG(ERR, "no memory (%s) for a runtime: give EAL more\n",
			 rte_strerror(-rc));
}

static void
log_no_parts(const struct weir_runtime *rt, int rc, unsigned int node)
{
	const struct weir_options *o = &rt->options;

	if (rc == -EEXIST)
		WEIR_LOG(ERR,
			 "name: \"%s\" is that of a runtime of another process "
			 "of the number %d that shares EAL's memory, or did\n",
			 o->name, (int)getpid());
	else if (rc == -EMFILE || rc == -ENFILE)
		WEIR_LOG(ERR,
			 "no file descriptors for %u workers, two each (%s)\n",
			 rt->nb_workers, rte_strerror(-rc));
	else if (rc == -ENOSPC)
		WEIR_LOG(ERR,
			 "no room for a runtime of %u workers (%s): EAL has no "
			 "memory zones left, or the user no epoll watches "
			 "(fs.epoll.max_user_watches)\n",
			 rt->nb_workers, rte_strerror(-rc));
	else
		WEIR_LOG(
			ERR,
			"no memory on node %u (%s) for a runtime of %u workers: "
			"give EAL more there, or lower task_cells (%u) or "
			"inject_ring_size (%u)\n",
			node, rte_strerror(-rc), rt->nb_workers, o->task_cells,
			o->inject_ring_size);
}

/* All of them, or none: returns the one that runs something else. RTE_MAX_LCORE: all. */
static unsigned int
take_lcores(const struct weir_runtime *rt)
{
	unsigned int i, busy;

	for (i = 0; i < rt->nb_active; i++)
		if (weir__lcore_take(rt->places[i].lcore) < 0)
			break;
	if (i == rt->nb_active)
		return RTE_MAX_LCORE;
	busy = rt->places[i].lcore;
	while (i > 0)
		weir__lcore_leave(rt->places[--i].lcore);
	return busy;
}

static int
launch(struct weir_runtime *rt)
{
	unsigned int i, busy;
	int rc = 0;

	/* EAL does not look, and two who launch could both find an lcore idle. */
	if (rte_lcore_id() != rte_get_main_lcore()) {
		WEIR_LOG(ERR, "a runtime with workers is created on the main "
			      "lcore only\n");
		return -EPERM;
	}
	busy = take_lcores(rt);
	if (busy != RTE_MAX_LCORE) {
		WEIR_LOG(ERR, "lcores: %u is running something else\n", busy);
		return -EBUSY;
	}
	for (i = 0; i < rt->nb_active; i++) {
		/* To the lcore's thread. */
		race_release(rt->workers[i]);
		rc = rte_eal_remote_launch(weir__worker_main, rt->workers[i],
					   rt->places[i].lcore);
		/* They were idle, and only the main lcore launches. */
		WEIR_ASSERT(rc == 0, "weir_runtime_create(): lcores wait");
	}
	RTE_SET_USED(rc);
	return 0;
}

static struct weir_runtime *
create(const struct weir_options *options)
{
	struct weir_options defaults;
	struct weir_runtime *rt;
	unsigned int node;
	char error[160];
	int rc;

	/* None but before rte_eal_init(), which counts them early. */
	if (rte_lcore_count() == 0) {
		WEIR_LOG(ERR, "EAL is not initialised: call rte_eal_init() "
			      "before weir_runtime_create()\n");
		rte_errno = ENODEV;
		return NULL;
	}
	if (options == NULL) {
		weir_options_init(&defaults);
		options = &defaults;
	}
	rc = weir_options_validate(options, error, sizeof(error));
	if (rc < 0) {
		WEIR_LOG(ERR, "%s\n", error);
		rte_errno = -rc;
		return NULL;
	}
	rt = create_empty(options);
	rc = rt != NULL ? weir__name_reserve(rt) : -ENOMEM;
	if (rc == 0)
		rc = find_places(rt);
	if (rc < 0) {
		log_no_places(options, rc);
		goto fail;
	}
	rc = create_parts(rt, &node);
	if (rc < 0) {
		log_no_parts(rt, rc, node);
		goto fail;
	}
	if (!options->current_thread) {
		rc = launch(rt);
		if (rc < 0)
			goto fail;
	}
	weir__telemetry_add(rt);
	return rt;
fail:
	if (rt != NULL)
		destroy(rt);
	rte_errno = -rc;
	return NULL;
}

struct weir_runtime *
weir_runtime_create(const struct weir_options *options)
{
	int cancel = cancel_defer();
	struct weir_runtime *rt = create(options);

	cancel_allow(cancel);
	return rt;
}

/* Their users have them still, and what they need of the runtime goes. */
static void
tell_of_sources(struct weir_runtime *rt)
{
	unsigned int i, n = 0;

	for (i = 0; i < rt->nb_workers; i++)
		n += weir__source_set_count(&rt->workers[i]->sources);
	if (n > 0)
		WEIR_LOG(
			ERR,
			"runtime \"%s\" is freed before %u of its sources, which "
			"cannot be freed any more\n",
			rt->name, n);
	WEIR_ASSERT(n == 0, "weir_runtime_free(): its sources are freed");
}

static void
release(struct weir_runtime *rt)
{
	uint64_t cells = 0;
	unsigned int i;
	int rc;

	rc = weir_runtime_shutdown(rt, UINT64_MAX, NULL);
	WEIR_ASSERT(rc == 0,
		    "weir_runtime_free(): not on a worker, nor in a job");
	if (rc < 0)
		return;
	tell_of_sources(rt);
	weir__telemetry_remove(rt);
	for (i = 0; i < rt->nb_workers; i++)
		cells += weir__cell_cache_taken(&rt->workers[i]->core.cells);
	/* M1: the workers' share in, the owner's out. [runtime:A1] */
	cells -= OWNER;
	if (atomic_u64_fetch_add(&rt->cells, cells, ACQ_REL) + cells == 0)
		destroy(rt);
}

void
weir_runtime_free(struct weir_runtime *rt)
{
	int cancel;

	if (rt == NULL)
		return;
	cancel = cancel_defer();
	release(rt);
	cancel_allow(cancel);
}

static int
block_on(struct weir_runtime *rt, const struct weir_task_ops *ops,
	 const void *state, void *result)
{
	struct weir_join *join = weir_task_spawn(rt, ops, state, NULL);
	int rc;

	if (join == NULL)
		return -rte_errno;
	/* M1: the runtime may be freed while we are in here. */
	atomic_u64_fetch_add(&rt->cells, 1, RELAXED);
	if (rt->options.current_thread)
		weir__current_run(rt, join);
	rc = weir_join_wait(join, result);
	if (rc == -ECANCELED)
		rc = weir__shutdown_reason(rt);
	weir__runtime_unref(rt);
	return rc;
}

int
weir_runtime_block_on(struct weir_runtime *rt, const struct weir_task_ops *ops,
		      const void *state, void *result)
{
	int rc, cancel;

	if (weir__on_worker())
		return -EDEADLK;
	/* Nor in what the user gave to drop a state or a result. */
	cancel = cancel_defer();
	rc = block_on(rt, ops, state, result);
	cancel_allow(cancel);
	return rc;
}

unsigned int
weir_runtime_nb_workers(const struct weir_runtime *rt)
{
	return rt->nb_workers;
}

int
weir_worker_node(const struct weir_runtime *rt, unsigned int worker)
{
	return worker < rt->nb_workers ? (int)rt->workers[worker]->node->id :
					 -EINVAL;
}

int
weir_lcore_node(unsigned int lcore)
{
	struct place place = { .lcore = lcore };

	if (!rte_lcore_is_enabled(lcore))
		return -EINVAL;
	weir__topology_locate(&place, 1);
	return (int)place.node;
}

int
weir_runtime_worker_of_lcore(const struct weir_runtime *rt, unsigned int lcore)
{
	unsigned int i;

	/* What the place of a current-thread runtime has for one. */
	if (lcore == LCORE_ID_ANY)
		return -ENOENT;
	for (i = 0; i < rt->nb_workers; i++)
		if (rt->places[i].lcore == lcore)
			return (int)i;
	return -ENOENT;
}

struct source_set *
weir__runtime_source_set(struct weir_runtime *rt, unsigned int worker)
{
	return worker < rt->nb_workers ? &rt->workers[worker]->sources : NULL;
}
