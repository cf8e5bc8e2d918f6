/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_ring.h>

#include "kernel.h"
#include "thread.h"
#include "workers.h"

#define NEVER (UINT64_MAX / 4)
#define RING_CAPACITY 3

struct weir_runtime *workers_rt;
unsigned int workers_run_until;
static struct atomic_u32 seen;
static bool driven[WORKERS_MAX];

static UNWATCHED bool
is_claimed(const struct worker *w)
{
	return w->quiet.v == 0 &&
	       !(w->node->idle.sleepers[0].v >> w->idle_bit & 1);
}

/*
 * Between two looks of a worker that polls: waits for what others do, unless it
 * has just claimed itself.
 */
void
__wrap_weir__pause(bool save_power, uint64_t until);
void
__wrap_weir__pause(bool save_power, uint64_t until)
{
	(void)save_power;
	(void)until;
	if (!is_claimed(worker_of(weir__core)))
		atomic_pause();
}

/*
 * A worker that was about to sleep and sees work whose notifier is in the middle
 * of its claim comes round at once, again and again.
 */
void
__real_weir__notify(struct node *node, const struct run_queue *queue);
void
__wrap_weir__notify(struct node *node, const struct run_queue *queue);
UNWATCHED void
__wrap_weir__notify(struct node *node, const struct run_queue *queue)
{
	const struct core *c = weir__core;

	__real_weir__notify(node, queue);
	if (c != NULL && worker_of(c)->sleeper.asleep.v != 0 &&
	    !is_claimed(worker_of(c)))
		atomic_pause();
}

struct worker *
workers_get(unsigned int i)
{
	return workers_rt->workers[i];
}

void
workers_make_inject(struct inject *q, unsigned int capacity)
{
	unsigned int size = capacity + 1;

	q->ring = model_alloc((size_t)rte_ring_get_memsize(size));
	rte_ring_init(q->ring, "inject", size,
		      RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ);
	rte_ring_set_prod_htd_max(q->ring, capacity);
	rte_ring_set_cons_htd_max(q->ring, capacity);
	lock_init(&q->stash_lock);
}

static void
make_worker(unsigned int i, unsigned int n, enum weir_park park,
	    unsigned int kind)
{
	bool apart = kind & WORKERS_APART;
	struct worker *w = model_alloc(sizeof(*w));
	unsigned int v, k = 0;

	workers_rt->workers[i] = w;
	w->rt = workers_rt;
	w->node = workers_rt->nodes[apart ? i : 0];
	w->index = i;
	w->idle_bit = apart ? 0 : i;
	w->node->workers[w->idle_bit] = w;
	task_chain_init(&w->core.local);
	task_chain_init(&w->core.deferred);
	w->core.ctx.core = &w->core;
	w->core.ctx.worker = i;
	w->core.take_most = INJECT_TAKE_MAX;
	w->core.idle_polls = UINT64_MAX;
	w->core.rescue_near = NEVER;
	w->core.rescue_far = NEVER;
	w->core.search_after = NEVER;
	w->core.short_waits = kind & WORKERS_LINGER ? UINT32_MAX : 0;
	w->victims = model_alloc(WORKERS_MAX * sizeof(*w->victims));
	w->tier_end = model_alloc(sizeof(*w->tier_end));
	w->steals_from = model_alloc(WORKERS_MAX * sizeof(*w->steals_from));
	for (v = 0; v < n; v++)
		if (v != i)
			w->victims[k++] = (uint16_t)v;
	w->tier_end[0] = k;
	w->nb_tiers = 1;
	w->nb_near = apart ? 0 : k;
	atomic_u32_store(&w->park, park, RELAXED);
	model_check(weir__sleeper_init(&w->sleeper) == 0);
	weir__source_set_init(&w->sources, &workers_rt->sources, &w->sleeper, i,
			      0);
	w->sources.closed = false;
	weir__run_queue_init(&w->queue, false, false);
	weir__timers_init(&w->timers, &workers_rt->clock);
	weir__inbox_init(&w->inbox);
	rte_rcu_qsbr_thread_register(workers_rt->sources.qsbr, i);
}

static void
make_node(unsigned int index, unsigned int nb_nodes, unsigned int n)
{
	struct node *node = model_alloc(sizeof(*node));
	unsigned int i;

	workers_rt->nodes[index] = node;
	node->rt = workers_rt;
	node->index = index;
	node->workers = model_alloc(WORKERS_MAX * sizeof(*node->workers));
	node->near = model_alloc(WORKERS_MAX * sizeof(*node->near));
	for (i = 0; i < nb_nodes; i++)
		node->near[i] = (index + i) % nb_nodes;
	node->nb_places = n;
	weir__idle_init(&node->idle, n);
	workers_make_inject(&node->inject, RING_CAPACITY);
}

void
workers_begin(unsigned int n, enum weir_park park, unsigned int kind)
{
	struct weir_runtime *rt = model_alloc(sizeof(*rt));
	bool apart = kind & WORKERS_APART;
	unsigned int i;

	workers_rt = rt;
	rt->nb_workers = n;
	rt->nb_nodes = apart ? n : 1;
	rt->workers = model_alloc(WORKERS_MAX * sizeof(*rt->workers));
	rt->nodes = model_alloc(WORKERS_MAX * sizeof(*rt->nodes));
	rt->options.cross_node_backlog = apart ? 1 : 128;
	rt->options.inject_interval = 1;
	rt->max_poll_gap = NEVER;
	rt->cross_node_age = NEVER;
	rt->recheck_min = kind & WORKERS_PATIENT ? NEVER : 0;
	rt->recheck_max = rt->recheck_min;
	rt->linger = kind & WORKERS_LINGER_ON ? NEVER : 0;
	rt->linger_polled = rt->linger;
	rt->membarrier = !(kind & WORKERS_NO_MEMBARRIER);
	kernel_options.short_waits_poll = rt->membarrier;
	rt->clock.hz = 1000000;
	atomic_u64_store(&rt->clock.held, CLOCK_RUNS, RELAXED);
	rt->sources.qsbr = model_alloc(rte_rcu_qsbr_get_memsize(WORKERS_MAX));
	rte_rcu_qsbr_init(rt->sources.qsbr, WORKERS_MAX);
	for (i = 0; i < rt->nb_nodes; i++)
		make_node(i, rt->nb_nodes, apart ? 1 : n);
	for (i = 0; i < n; i++)
		make_worker(i, n, park, kind);
}

static struct task *
next_task(struct core *c)
{
	struct task *t = slot_take_owner(&c->lifo);

	if (t == NULL)
		t = run_queue_pop_owner(&worker_of(c)->queue);
	if (t == NULL)
		t = core_pop_bound(c);
	return t != NULL ? t : weir__take_inject(c);
}

static UNWATCHED bool
are_seen(const void *arg)
{
	return seen.v >= *(const unsigned int *)arg;
}

void
workers_await(unsigned int n)
{
	vthread_wait(are_seen, &n);
}

static void
see(struct task *t)
{
	rig_see(t);
	atomic_u32_fetch_add(&seen, 1, RELAXED);
	workers_await(workers_run_until);
}

static void
poll(struct core *c, struct task *t)
{
	enum state_run may;
	int rc;

	may = task_is_kept(t) ? state_to_next_turn(&t->state) :
				state_to_running(&t->state);
	if (may == STATE_RUN_CANCEL) {
		see(t);
		return;
	}
	model_check(may == STATE_RUN_POLL);
	atomic_u32_store(&t->polls, 0, RELAXED);
	context_begin(&c->ctx, t);
	c->ctx.budget = 128;
	rc = task_ops(t)->poll(&c->ctx, t->bytes);
	atomic_ptr_store(&c->ctx.task, NULL, RELAXED);
	if (rc != WEIR_PENDING) {
		see(t);
		return;
	}
	if (c->ctx.asked & ASKED_TURN) {
		if (c->ctx.asked & ASKED_OWES)
			state_ref_inc(&t->state);
		task_keep_turn(t, task_polls(t));
		/* It waits for another thread. */
		atomic_pause();
	} else if (state_to_idle(&t->state,
				 c->ctx.asked & ASKED_OWES ? 1 : 0) !=
		   STATE_IDLE_NOTIFIED) {
		return;
	}
	weir__schedule_back(c, t);
	weir__notify(worker_of(c)->node, &worker_of(c)->queue);
}

void
workers_poll(unsigned int i, struct task *t)
{
	struct core *c = &workers_get(i)->core;

	if (task_is_local(t))
		c->last_bound = t;
	poll(c, t);
}

static void
run(struct core *c, struct task *t)
{
	if (c->searching)
		weir__stop_searching(c);
	c->looking = false;
	if (task_ops(t) != NULL)
		poll(c, t);
	else
		see(t);
	c->looking = true;
}

/* As worker.c has it, less what is about time and tasks. */
static void
drive(void *arg)
{
	struct core *c = arg;
	struct worker *w = worker_of(c);
	struct task *t;

	weir__core = c;
	c->looking = true;
	rte_rcu_qsbr_thread_online(workers_rt->sources.qsbr, w->index);
	while (!(worker_attention(w) & ATTENTION_STOP)) {
		t = next_task(c);
		if (t == NULL) {
			weir__poll_sources(c, rte_rdtsc(), true);
			t = next_task(c);
		}
		if (t == NULL && !c->searching && weir__linger(c, &t)) {
			if (t == NULL)
				t = next_task(c);
			if (t == NULL)
				continue;
		} else if (t == NULL) {
			t = weir__search(c);
		}
		if (t != NULL) {
			run(c, t);
			continue;
		}
		/* Called for what another has taken, or is just taking. */
		if (c->woken)
			atomic_pause();
		weir__park(c);
	}
	/* [attention:A1] */
	model_check(atomic_u32_load(&w->node->inject.state, RELAXED) ==
		    INJECT_CLOSED);
	if (c->searching)
		weir__idle_stop_searching(&w->node->idle);
	rte_rcu_qsbr_thread_offline(workers_rt->sources.qsbr, w->index);
	weir__core = NULL;
}

void
workers_drive(unsigned int i)
{
	char name[16] = "worker 0";

	name[7] = (char)('0' + i);
	driven[i] = true;
	model_thread(name, drive, &workers_get(i)->core);
}

void
workers_enter(unsigned int i)
{
	weir__core = &workers_get(i)->core;
	weir__core->looking = false;
}

struct task *
workers_task(unsigned int id)
{
	struct task *t = rig_task(id);

	t->home = &workers_rt->nodes[0]->home;
	return t;
}

struct task *
workers_bound_task(unsigned int id, unsigned int i)
{
	struct task *t = workers_task(id);
	uint64_t place = place_of(WEIR_AFFINITY_WORKER, i);

	atomic_u64_store(&t->state.word, place << STATE_PLACE_SHIFT, RELAXED);
	return t;
}

static struct task *
polled_task(unsigned int id, const struct weir_task_ops *ops, uint16_t place)
{
	struct task *t = workers_task(id);

	state_begin(&t->state, place, false, false);
	task_set_ops(t, ops);
	return t;
}

struct task *
workers_polled_task(unsigned int id, const struct weir_task_ops *ops)
{
	return polled_task(id, ops, place_of(WEIR_AFFINITY_ANY, 0));
}

struct task *
workers_polled_bound_task(unsigned int id, const struct weir_task_ops *ops,
			  unsigned int i)
{
	return polled_task(id, ops, place_of(WEIR_AFFINITY_WORKER, i));
}

static void
free_worker(struct worker *w)
{
	weir__sleeper_fini(&w->sleeper);
	model_free(atomic_ptr_load(&w->sources.array, RELAXED));
	model_free(w->victims);
	model_free(w->tier_end);
	model_free(w->steals_from);
	model_free(w);
}

static void
free_node(struct node *node)
{
	model_free(node->inject.ring);
	model_free(node->workers);
	model_free(node->near);
	model_free(node);
}

static void
check_idle(const struct idle *idle)
{
	if (atomic_u32_load(&idle->state, RELAXED) != 0 ||
	    atomic_u64_load(&idle->sleepers[0], RELAXED) != 0)
		model_fail("D1: all are awake, and some are counted");
}

void
workers_stop(void)
{
	unsigned int i;

	weir__core = NULL;
	for (i = 0; i < workers_rt->nb_nodes; i++)
		weir__inject_close(&workers_rt->nodes[i]->inject);
	for (i = 0; i < workers_rt->nb_workers; i++)
		if (driven[i])
			weir__worker_call(workers_get(i), ATTENTION_STOP);
	model_join_all();
	for (i = 0; i < workers_rt->nb_nodes; i++)
		check_idle(&workers_rt->nodes[i]->idle);
}

void
workers_end(void)
{
	unsigned int i;

	workers_stop();
	for (i = 0; i < workers_rt->nb_workers; i++)
		free_worker(workers_get(i));
	for (i = 0; i < workers_rt->nb_nodes; i++)
		free_node(workers_rt->nodes[i]);
	model_free(workers_rt->sources.qsbr);
	model_free(workers_rt->nodes);
	model_free(workers_rt->workers);
	model_free(workers_rt);
}
