/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where a task goes when it is spawned or woken.
 *
 * H1 A task with one worker goes to that worker: into its local chain by the
 *    worker itself, into its inbox by others.
 * H2 Any other task goes into the run queue (or LIFO slot) of the calling
 *    worker if that is on the task's home node, and else to the home node's
 *    inject queue.
 * H3 After a task was made runnable, one sleeper of its node is told: by a worker
 *    one with its last-level cache, if there is one. Only when all of them are
 *    busy and work piles up is one told on another node.
 * H4 What a task wakes by its end goes through the LIFO slot only if the task
 *    itself came through it. One that awaits a single task, which it has just
 *    spawned, gets its turn at once; one that awaits many, which wait in queues,
 *    gets it behind them, instead of once for each.
 * H5 What a worker itself finds for an empty queue, by a poll of its sources, goes
 *    through the slot: it is run next whatever others do, and needs no swap.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "sched/scheduler.h"

/*
 * Claims a sleeper of the node, and wakes it; one beside the calling worker, if
 * it can choose. False if there is none to tell.
 */
static bool
notify_one(struct node *node)
{
	const struct core *c = core_of(node->rt);
	const uint64_t *beside = NULL;
	unsigned int bit;

	if (c != NULL && c->worker->node == node)
		beside = c->worker->beside;
	if (!weir__idle_notify(&node->idle, beside, &bit))
		return false;
	/* [sleep:F1] behind the claim. */
	sleeper_call(&node->workers[bit]->sleeper, SEQ_CST);
	return true;
}

/* Tells a sleeper on the nearest other node that has one. */
static void
notify_far(const struct node *from)
{
	const struct weir_runtime *rt = from->rt;
	unsigned int i;

	for (i = 1; i < rt->nb_nodes; i++) {
		struct node *node = rt->nodes[from->near[i]];

		if (!idle_all_awake(&node->idle) && notify_one(node))
			return;
	}
}

static __rte_noinline void
notify_any(struct node *node, const struct run_queue *queue)
{
	unsigned int backlog;

	if (!idle_all_awake(&node->idle)) {
		notify_one(node);
		return;
	}
	backlog = queue != NULL ? weir__run_queue_len_any(queue) :
				  weir__inject_len(&node->inject);
	if (backlog >= weir__worth_taking(node))
		notify_far(node);
}

static inline void
notify(struct node *node, const struct run_queue *queue)
{
	/*
	 * [sleep:F2] between the push and our look: the fence is the sleeper's.
	 * Without it, a sleeper could go to the kernel beside the work.
	 */
	atomic_light_fence();
	if (unlikely(!idle_all_awake(&node->idle) || node->rt->nb_nodes > 1))
		notify_any(node, queue);
}

/* Work was put into `queue`, or into the node's inject queue if NULL (H3). */
void
weir__notify(struct node *node, const struct run_queue *queue)
{
	notify(node, queue);
}

/* Gives back the references of notifications that nobody will run. */
void
weir__drop_chain(struct task_chain *c)
{
	struct task *t;

	while ((t = task_chain_pop(c)) != NULL)
		weir__task_drop_notification(t);
}

static void
count_remote(struct node *node, unsigned int n)
{
	struct core *c = core_of(node->rt);

	if (c != NULL)
		counter_add(&c->worker->counters, remote_schedules, n);
	else
		atomic_u64_fetch_add(&node->outside_schedules, n, RELAXED);
}

/*
 * Pushes to an inject queue of the node or of one of its workers, or drops the
 * notifications if it is closed.
 */
void
weir__inject(struct node *node, struct inject *q, struct task_chain *c)
{
	unsigned int n = c->n;

	if (weir__inject_push(q, c))
		count_remote(node, n);
	else
		weir__drop_chain(c);
}

static void
inject_one(struct node *node, struct inject *q, struct task *t)
{
	struct task_chain c;

	task_chain_init(&c);
	task_chain_add(&c, t);
	weir__inject(node, q, &c);
}

void
weir__overflow(struct core *c, struct task_chain *overflow)
{
	struct worker *w = c->worker;

	counter_add(&w->counters, overflows, 1);
	weir__inject(w->node, &w->node->inject, overflow);
}

static __rte_noinline void
push_full_queue(struct core *c, struct task *t)
{
	struct task_chain overflow;

	task_chain_init(&overflow);
	weir__run_queue_push_owner(&c->worker->queue, t, &overflow);
	if (overflow.n > 0)
		weir__overflow(c, &overflow);
}

static inline void
push_queue(struct core *c, struct task *t)
{
	struct worker *w = c->worker;

	counter_add(&w->counters, local_schedules, 1);
	if (unlikely(!run_queue_push_owner(&w->queue, t)))
		push_full_queue(c, t);
}

/* To the back of this worker's queue, without a word to anyone. */
void
weir__schedule_back(struct core *c, struct task *t)
{
	if (task_is_local(t))
		task_chain_add(&c->local, t);
	else
		push_queue(c, t);
}

void
weir__schedule_deferred(struct core *c)
{
	struct task *t;

	while ((t = task_chain_pop(&c->deferred)) != NULL)
		weir__schedule_back(c, t);
}

/* Has the worker nothing to run that waits longer? */
static bool
nothing_queued(const struct core *c)
{
	return c->lifo == NULL && c->local.n == 0 &&
	       weir__run_queue_len_any(&c->worker->queue) == 0;
}

/* H4, H5 */
static bool
through_slot(const struct core *c)
{
	if (!c->worker->rt->options.lifo_slot)
		return false;
	if (!c->ctx.running)
		return nothing_queued(c);
	return c->ctx.task != NULL || c->from_slot;
}

static void
schedule_here(struct core *c, struct task *t)
{
	struct task *prev;

	if (through_slot(c)) {
		prev = c->lifo;
		c->lifo = t;
		if (prev == NULL) {
			counter_add(&c->worker->counters, local_schedules, 1);
			return;
		}
		t = prev;
	}
	push_queue(c, t);
	/* Between tasks the worker counts what it got and tells then. */
	if (c->ctx.running)
		notify(c->worker->node, &c->worker->queue);
}

/* To a worker's inbox, which may be retiring (workers.c, G1). */
static void
schedule_bound(struct worker *w, struct task *t)
{
	inject_one(w->node, &w->inbox, t);
	/* [workers:F1] [sleep:F1] the fence of both is in the push. */
	sleeper_call(&w->sleeper, RELAXED);
	if (unlikely(atomic_u32_load(&w->successor, RELAXED) != 0))
		weir__forward_inbox(w);
}

void
weir__place(struct task *t)
{
	struct node *node = node_of_home(t->home);
	struct weir_runtime *rt = node->rt;
	struct core *c = core_of(rt);
	struct worker *w;

	if (task_is_local(t)) {
		w = weir__worker_for(rt, t->worker);
		if (c != NULL && c->worker == w)
			task_chain_add(&c->local, t);
		else
			schedule_bound(w, t);
		return;
	}
	if (c != NULL && c->worker->node == node) {
		schedule_here(c, t);
		return;
	}
	inject_one(node, &node->inject, t);
	weir__notify(node, NULL);
}

void
weir__schedule(struct task *t)
{
	const struct weir_runtime *rt = node_of_home(t->home)->rt;

	note_woken(rt, core_of(rt), t);
	weir__place(t);
}

bool
weir__on_worker(void)
{
	return weir__core != NULL;
}

#ifdef WEIR_ASSERTS
bool
weir__drives(const struct core *c)
{
	return weir__core == c;
}
#endif

bool
weir__on_worker_of(const struct task *t)
{
	return core_of(node_of_home(t->home)->rt) != NULL;
}

void
weir__cell_put(struct task *t)
{
	struct node *node = node_of_home(t->home);
	struct weir_runtime *rt = node->rt;
	struct core *c = core_of(rt);

	if (c != NULL) {
		cell_free(&node->home.cells, &c->cells, t);
		atomic_u64_add_owner(&c->worker->cells, (uint64_t)-1);
	} else {
		weir__cell_free(&node->home.cells, NULL, t);
		weir__runtime_unref(rt);
	}
}

/* Fills in a new cell. */
static void
init_task(struct task *t, struct node *home, const struct weir_task_ops *ops,
	  const void *state, const struct weir_spawn_attr *attr)
{
	state_init(&t->state);
	t->ops = ops;
	t->home = &home->home;
	t->worker = (uint16_t)attr->worker;
	t->affinity = attr->affinity & 3;
	t->join_waiter = NULL;
	atomic_u32_store(&t->polls, 0, RELAXED);
	if (state != NULL)
		memcpy(t->bytes, state, ops->state_size);
	else if (ops->state_size > 0)
		memset(t->bytes, 0, ops->state_size);
}

/*
 * NULL: nobody is there, nor has been. Whoever has the worker's tasks now, their
 * home is its place: that is where shutdown looks for them.
 */
static struct node *
home_of_bound(const struct weir_runtime *rt, unsigned int worker)
{
	const struct worker *w;

	if (worker >= rt->nb_workers)
		return NULL;
	w = rt->workers[worker];
	return atomic_u32_load(&w->settled, RELAXED) ? w->node : NULL;
}

/* The node that attr asks for, or NULL. */
static struct node *
home_of(const struct weir_runtime *rt, const struct core *c,
	const struct weir_spawn_attr *attr)
{
	int i;

	if (attr->affinity == WEIR_AFFINITY_WORKER)
		return home_of_bound(rt, attr->worker);
	if (attr->affinity != WEIR_AFFINITY_ANY &&
	    attr->affinity != WEIR_AFFINITY_NODE)
		return NULL;
	if (attr->node_plus_1 == 0)
		return c != NULL ? c->worker->node : rt->workers[0]->node;
	i = weir__topology_node_index(&rt->topology, attr->node_plus_1 - 1);
	return i >= 0 ? rt->nodes[i] : NULL;
}

bool
weir__ops_valid(const struct weir_task_ops *ops)
{
	return ops != NULL && ops->name != NULL &&
	       ops->result_size <= ops->state_size &&
	       ops->result_offset <= ops->state_size - ops->result_size;
}

/*
 * Ids of workers and of other threads do not meet: the top 16 bits differ. All
 * begin behind WEIR_TASK_NONE.
 */
static uint64_t
next_id(struct weir_runtime *rt, struct core *c)
{
	if (c == NULL)
		return atomic_u64_fetch_add(&rt->spawned, 1, RELAXED) + 1;
	counter_add(&c->worker->counters, spawned, 1);
	return (uint64_t)(c->worker->index + 1) << 48 |
	       counter_get(&c->worker->counters, spawned);
}

/* A cell of a node, counted (runtime.c, M1). NULL: no memory. */
static inline struct task *
alloc_cell(struct core *c, struct node *home, size_t size)
{
	struct task *t;

	t = cell_alloc(&home->home.cells, c != NULL ? &c->cells : NULL, size);
	if (unlikely(t == NULL))
		return NULL;
	if (c != NULL)
		atomic_u64_add_owner(&c->worker->cells, 1);
	else
		atomic_u64_fetch_add(&home->rt->cells, 1, RELAXED);
	return t;
}

static inline struct task *
alloc_task(struct core *c, struct node *home, const struct weir_task_ops *ops,
	   const void *state, const struct weir_spawn_attr *attr)
{
	struct task *t = alloc_cell(c, home, ops->state_size);

	if (likely(t != NULL))
		init_task(t, home, ops, state, attr);
	return t;
}

struct task *
weir__task_alloc(struct core *c, struct node *home,
		 const struct weir_task_ops *ops, const void *state,
		 const struct weir_spawn_attr *attr)
{
	return alloc_task(c, home, ops, state, attr);
}

void *
weir__object_alloc(struct weir_runtime *rt, size_t size)
{
	struct core *c = core_of(rt);
	struct node *home = c != NULL ? c->worker->node : rt->workers[0]->node;
	struct task *t = alloc_cell(c, home, size);

	if (unlikely(t == NULL))
		return NULL;
	t->home = &home->home;
	return t->bytes;
}

void
weir__object_free(void *object)
{
	weir__cell_put(container_of(object, struct task, bytes));
}

static inline void
announce(struct weir_runtime *rt, struct core *c, struct task *t)
{
	t->id = next_id(rt, c);
	TRACE_FP(task_spawn, t->id, t->ops->name,
		 c != NULL ? c->worker->index : TRACE_NO_WORKER);
	note_woken(rt, c, t);
	task_hook(t, task_spawn);
}

void
weir__task_announce(struct core *c, struct task *t)
{
	announce(node_of_home(t->home)->rt, c, t);
}

struct weir_join *
weir_task_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
		const void *state, const struct weir_spawn_attr *attr)
{
	static const struct weir_spawn_attr any;
	struct core *c = core_of(rt);
	struct node *home;
	struct task *t;

	if (attr == NULL)
		attr = &any;
	home = home_of(rt, c, attr);
	if (unlikely(!weir__ops_valid(ops) || ops->poll == NULL ||
		     home == NULL)) {
		rte_errno = EINVAL;
		return NULL;
	}
	t = alloc_task(c, home, ops, state, attr);
	if (unlikely(t == NULL)) {
		rte_errno = ENOMEM;
		return NULL;
	}
	announce(rt, c, t);
	if (unlikely(!weir__owned_insert(&home->home.owned, t,
					 c != NULL ? c->worker->idle_bit : 0)))
		weir__task_refuse(t);
	else if (likely(c != NULL && c->worker->node == home &&
			!task_is_local(t)))
		schedule_here(c, t);
	else
		weir__place(t);
	return (struct weir_join *)t;
}
