/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One run: runtimes are made, tasks and threads use them, they are shut down
 * and freed, and nothing may be left.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "sim.h"

#define ACTORS_MAX 256

struct sim sim;
uint64_t seen[SEENS];
const char *const seen_names[SEENS] = {
	[SEEN_STEALS] = "steals",
	[SEEN_FAR_STEALS] = "steals from another node",
	[SEEN_OVERFLOWS] = "overflows of a run queue",
	[SEEN_INJECTED] = "tasks from inject queues",
	[SEEN_RESCUES] = "rescues of sources",
	[SEEN_FORCED_YIELDS] = "forced yields",
	[SEEN_PARKS] = "parks",
	[SEEN_SLEEPS] = "all threads asleep",
	[SEEN_RETIRED] = "workers retired",
	[SEEN_ADDED] = "workers added",
	[SEEN_MOVED] = "sources moved",
	[SEEN_CLOSED] = "sources closed",
	[SEEN_ABORTED] = "aborts",
	[SEEN_REFUSED] = "tasks refused",
	[SEEN_IN_PLACE] = "blocked in place",
	[SEEN_JOBS] = "blocking jobs",
	[SEEN_NO_MEMORY] = "memory refused",
	[SEEN_NO_THREAD] = "threads refused",
	[SEEN_NO_RUNTIME] = "runtimes refused",
	[SEEN_TIMED_OUT] = "shutdowns with a deadline that passed",
	[SEEN_TIMERS] = "sleeps ended",
	[SEEN_DROPPED_PACKETS] = "packets dropped",
	[SEEN_DELIVERED] = "packets delivered",
};

static struct sim_task *actors[ACTORS_MAX];
static unsigned int nb_actors;
static bool faults; /* those of memory may come */

/* What the hooks have counted. */
static struct {
	uint64_t starts, stops, parks, unparks, spawns, ends, before, after;
} hooked;

#define COUNT_WORKER(name, counter)                      \
	static void name(void *arg, unsigned int worker) \
	{                                                \
		hooked.counter++;                        \
	}
#define COUNT_TASK(name, counter)                                      \
	static void name(void *arg, const struct weir_task_info *task) \
	{                                                              \
		hooked.counter++;                                      \
	}
COUNT_WORKER(on_start, starts)
COUNT_WORKER(on_stop, stops)
COUNT_WORKER(on_park, parks)
COUNT_WORKER(on_unpark, unparks)
COUNT_TASK(on_spawn, spawns)
COUNT_TASK(on_end, ends)
COUNT_TASK(on_before, before)
COUNT_TASK(on_after, after)

static const struct weir_hooks hooks = {
	.thread_start = on_start,
	.thread_stop = on_stop,
	.park = on_park,
	.unpark = on_unpark,
	.task_spawn = on_spawn,
	.task_end = on_end,
	.task_before_poll = on_before,
	.task_after_poll = on_after,
};

static bool
chance(enum kernel_chance what, void *arg)
{
	if (what == KERNEL_NO_MEMORY && !faults)
		return false;
	return one_in(sim.plan.odds[what]);
}

/* Memory may be short: what was taken is back then. */
static void
create(unsigned int rt)
{
	const uint64_t per_us = rte_get_tsc_hz() / UINT64_C(1000000);
	struct kernel_left before, after;

	if (sim.plan.hooks)
		sim.plan.options[rt].hooks = &hooks;
	faults = one_in(4);
	kernel_left(&before);
	while ((sim.rt[rt] = weir_runtime_create(&sim.plan.options[rt])) ==
	       NULL) {
		if (rte_errno != ENOMEM || sim.plan.odds[KERNEL_NO_MEMORY] == 0)
			virtual_failed("weir_runtime_create: errno %d",
				       rte_errno);
		kernel_left(&after);
		if (memcmp(&before, &after, sizeof(before)) != 0)
			virtual_failed("weir_runtime_create: failed, and %u "
				       "blocks, %u files are left",
				       after.blocks - before.blocks,
				       after.files - before.files);
		seen[SEEN_NO_RUNTIME]++;
		faults = one_in(4);
	}
	sim.rt[rt]->linger = sim.plan.linger_us * per_us;
	sim.rt[rt]->linger_polled = sim.plan.linger_polled_us * per_us;
	faults = true;
}

static void
add_actor(struct sim_task *t)
{
	if (t != NULL)
		actors[nb_actors++] = t;
}

/* Some find more than others. */
static enum actor
any_actor(void)
{
	static const enum actor often[] = { ACTOR_BOUND, ACTOR_PAIR,
					    ACTOR_SLEEPER, ACTOR_TREE };
	enum actor actor = (enum actor)any(ACTOR_FORWARDER);

	if (one_in(2))
		return often[any(RTE_DIM(often))];
	/* A failure may end the runtime. */
	if (actor == ACTOR_FAIL &&
	    (sim.plan.options[0].on_failure == WEIR_FAILURE_SHUTDOWN ||
	     !one_in(3)))
		return ACTOR_LEAF;
	return actor;
}

static void
start_actors(void)
{
	unsigned int i, rt;

	for (rt = 0; rt < sim.plan.nb_runtimes; rt++)
		task_events_open(rt);
	for (i = 0; i < sim.plan.nb_sources; i++) {
		rt = any(sim.plan.nb_runtimes);
		if (traffic_open(i, rt))
			add_actor(task_start_forwarder(rt, i));
	}
	for (i = 0; i < sim.plan.nb_actors; i++) {
		enum actor actor = any_actor();
		int worker = -1;

		rt = any(sim.plan.nb_runtimes);
		if (actor == ACTOR_EVENT && !task_has_event(rt))
			continue;
		if (actor == ACTOR_BOUND || one_in(2))
			worker = (int)any(sim.plan.nb_workers[rt]);
		add_actor(task_start(rt, actor, worker));
	}
}

/* Without a call from outside it goes on by itself. */
static bool
needs_help(const struct sim_task *t)
{
	return task_actor(t) == ACTOR_SLEEPER || task_actor(t) == ACTOR_EVENT;
}

static void
help(unsigned int rt)
{
	task_wake_sleepers(1);
	task_post_event(rt);
	sim_sleep(1 + any(20000));
}

/* To the end of one: nobody disturbs those that need nothing. */
static void
await_actor(struct sim_task *t)
{
	struct sim_task *awaiter;

	if (t->join == NULL)
		return;
	while (needs_help(t) && !weir_join_ended(t->join)) {
		help(t->rt);
		if (sim.plan.current_thread[t->rt])
			task_block_on(t->rt, ACTOR_YIELD);
	}
	if (sim.plan.current_thread[t->rt]) {
		/* There may be no memory for it. */
		while (t->join != NULL && !weir_join_ended(t->join))
			task_block_on_end(t->rt, t);
	} else if (one_in(3)) {
		awaiter = task_start_awaiter(t->rt, t);
		if (awaiter != NULL)
			task_wait(awaiter);
	}
	task_wait(t);
}

static void
end_early(void)
{
	unsigned int i;

	sim_sleep(any(one_in(2) ? 20000 : 300000));
	for (i = 0; i < sim.plan.nb_runtimes; i++) {
		sim.ending[i] = true;
		if (one_in(2))
			policy_stall_one();
		weir_runtime_shutdown_begin(sim.rt[i]);
	}
}

static void
check_report(const struct weir_shutdown_report *left)
{
	if (left->live_tasks != 0 || left->ring_entries != 0 ||
	    left->blocking != 0)
		virtual_failed("Z3: %u tasks, %u entries, %u jobs are left",
			       (unsigned int)left->live_tasks,
			       (unsigned int)left->ring_entries,
			       (unsigned int)left->blocking);
}

/* From whom a worker has stolen, one by one, is what it says it has. */
static void
check_steals(unsigned int rt, unsigned int worker,
	     const struct weir_worker_stats *w)
{
	uint64_t n, all = 0, far = 0;
	unsigned int i;

	for (i = 0; i < weir_runtime_nb_workers(sim.rt[rt]); i++) {
		n = weir_worker_steals_from(sim.rt[rt], worker, i);
		all += n;
		if (weir_worker_node(sim.rt[rt], i) !=
		    weir_worker_node(sim.rt[rt], worker))
			far += n;
	}
	if (all != w->steals || far != w->steals_remote)
		virtual_failed("worker %u: %" PRIu64 " steals, %" PRIu64
			       " of them remote, not %" PRIu64 " and %" PRIu64,
			       worker, w->steals, w->steals_remote, all, far);
}

static void
see_stats(unsigned int rt)
{
	struct weir_worker_stats w;
	unsigned int i;

	for (i = 0; i < weir_runtime_nb_workers(sim.rt[rt]); i++) {
		weir_worker_stats_get(sim.rt[rt], i, &w);
		check_steals(rt, i, &w);
		seen[SEEN_STEALS] += w.steals;
		seen[SEEN_FAR_STEALS] += w.steals_remote;
		seen[SEEN_OVERFLOWS] += w.overflows;
		seen[SEEN_INJECTED] += w.injected;
		seen[SEEN_RESCUES] += w.rescues;
		seen[SEEN_FORCED_YIELDS] += w.forced_yields;
		seen[SEEN_PARKS] += w.parks;
	}
}

/* Nobody has waited for a turn, or had one, for longer than the run has taken. */
static void
check_times(unsigned int rt)
{
	static struct weir_histogram h;
	static const enum weir_histogram_kind kinds[] = {
		WEIR_HISTOGRAM_POLL,
		WEIR_HISTOGRAM_WAKE,
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(kinds); i++) {
		if (weir_runtime_histogram_get(sim.rt[rt], kinds[i], &h) != 0)
			return;
		if (h.max > kernel_now())
			virtual_failed("histogram %u: %" PRIu64
				       " ns, longer than the run",
				       i, h.max);
	}
}

static void
shut_down(unsigned int rt)
{
	struct weir_shutdown_report left;
	uint64_t timeout = one_in(3) ? any(3) : UINT64_MAX;
	int rc;

	sim.ending[rt] = true;
	while ((rc = weir_runtime_shutdown(sim.rt[rt], timeout, &left)) ==
	       -ETIMEDOUT) {
		if (timeout == UINT64_MAX)
			virtual_failed("weir_runtime_shutdown: timed out");
		seen[SEEN_TIMED_OUT]++;
		timeout = one_in(2) ? any(100) : UINT64_MAX;
	}
	if (rc != 0)
		virtual_failed("weir_runtime_shutdown: %d", rc);
	check_report(&left);
	check_times(rt);
	see_stats(rt);
}

static void
check_hooks(void)
{
	if (hooked.starts != hooked.stops || hooked.parks != hooked.unparks ||
	    hooked.spawns != hooked.ends || hooked.before != hooked.after)
		virtual_failed(
			"hooks: of %u threads %u stopped, of %u tasks %u "
			"ended",
			(unsigned int)hooked.starts, (unsigned int)hooked.stops,
			(unsigned int)hooked.spawns, (unsigned int)hooked.ends);
}

static void
check_nothing_left(void)
{
	struct kernel_left left;
	unsigned int i;

	for (i = 1; i < vthread_count(); i++)
		if (!vthread_ended(i))
			virtual_failed("thread %u (%s) has not ended", i,
				       vthread_name(i));
	arena_check();
	kernel_left(&left);
	if (left.blocks + left.cells + left.rings + left.files + left.mutexes +
		    left.conds + left.threads !=
	    0)
		virtual_failed("left: %u blocks, %u cells, %u rings, "
			       "%u files, %u mutexes, %u conditions, "
			       "%u threads",
			       left.blocks, left.cells, left.rings, left.files,
			       left.mutexes, left.conds, left.threads);
}

static void
free_sources(void)
{
	unsigned int i;

	for (i = 0; i < sim.plan.nb_sources; i++) {
		traffic_check_end(i, task_packets_between(i));
		traffic_free(i);
	}
	for (i = 0; i < sim.plan.nb_runtimes; i++)
		task_events_free(i);
}

static void
main_thread(void *arg)
{
	unsigned int i;

	kernel_main_lcore();
	for (i = 0; i < sim.plan.nb_runtimes; i++)
		create(i);
	start_actors();
	threads_start();
	if (sim.plan.early_end)
		end_early();
	else
		for (i = 0; i < nb_actors; i++)
			await_actor(actors[i]);
	/* Whoever waits in a runtime that nobody drives is let go by its end. */
	for (i = 0; i < sim.plan.nb_runtimes; i++)
		if (sim.plan.early_end)
			shut_down(i);
	threads_join();
	for (i = 0; i < sim.plan.nb_runtimes; i++)
		shut_down(i);
	free_sources();
	for (i = 0; i < sim.plan.nb_runtimes; i++) {
		struct weir_runtime *rt = sim.rt[i];

		sim.rt[i] = NULL; /* nobody is to look at it */
		weir_runtime_free(rt);
	}
	threads_join_last();
	tasks_drop_references();
	tasks_check_end();
	check_hooks();
	check_nothing_left();
}

bool
run_seed(uint64_t seed, const struct overrides *o, bool trace, uint64_t *hash)
{
	bool ok;

	memset(&sim, 0, sizeof(sim));
	memset(&hooked, 0, sizeof(hooked));
	plan_make(&sim.plan, seed, o);
	sim.trace = trace;
	rand_seed(&sim.choices, seed + 1);
	rand_seed(&sim.rand, seed + 2);
	nb_actors = 0;
	faults = false;
	sim.plan.kernel.chance = chance;
	arena_reset();
	kernel_reset(&sim.plan.kernel);
	steps_reset();
	policy_reset();
	checks_reset();
	traffic_reset();
	tasks_reset();
	ok = vthreads_run(&sim_policy, main_thread, NULL);
	*hash = steps_hash();
	return ok;
}
