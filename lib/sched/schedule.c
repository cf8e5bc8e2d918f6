/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Where a task goes when it is spawned or woken.
 *
 * H1 A task with one worker goes to that worker: into its local chain by the
 *    worker itself, into its inbox by others; or it is left to the worker, which
 *    watches it (park.c, Q9), and does not come here.
 * H2 Any other task goes into the run queue (or LIFO slot) of the calling
 *    worker if that is on the task's home node, and else to the home node's
 *    inject queue.
 * H3 After a task was made runnable, one sleeper of its node is told: by a worker
 *    one with its last-level cache, if there is one. Only when none of them
 *    sleeps and work piles up is one told on another node. What a worker finds
 *    between two tasks is told of as soon as it is known what runs next, unless
 *    it is that; what its queue had no room for is told of at once. A task that is
 *    alone on its worker, where it would wait for nobody in the queue, runs next
 *    without a word to others. They get it, and what is to run next behind a task
 *    that takes long, when they look for it (recall.c).
 * H4 What a task wakes by its end goes through the LIFO slot only if the task
 *    itself came through it; if it was resumed, for its turn before. One that
 *    awaits a single task, which it has just spawned, gets its turn at once; one
 *    that awaits many, which wait in queues, gets it behind them, instead of once
 *    for each.
 * H5 What a worker itself finds for an empty queue, by a poll of its sources, goes
 *    through the slot: it is run next whatever others do, and needs no swap. If
 *    another comes first after all, from the inject queue or with a thread that gets
 *    the core, it goes to the queue.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "sched/spawn.h"

/*
 * Claims a sleeper of the node, and wakes it; one beside the calling worker, if
 * it can choose. False if there is none to tell.
 */
static bool
notify_one(struct node *node)
{
	struct core *c = core_of(node->rt);
	const uint64_t *beside = NULL;
	unsigned int bit;

	if (c != NULL && worker_of(c)->node == node)
		beside = worker_of(c)->beside;
	if (!weir__idle_notify(&node->idle, beside, &bit))
		return false;
	/* [sleep:F1] behind the claim. */
	sleeper_call(&node->workers[bit]->sleeper, SEQ_CST);
	/* It may have been a system call. */
	if (c != NULL)
		c->recent = 0;
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

/* Is there anybody to tell of what was pushed, or to look for? */
static inline bool
notify_is_due(const struct node *node)
{
	/*
	 * [sleep:F2] between the push and our look: the fence is the sleeper's.
	 * Without it, a sleeper could go to the kernel beside the work.
	 */
	atomic_light_fence();
	return !idle_all_awake(&node->idle) || node->rt->nb_nodes > 1;
}

static inline void
notify(struct node *node, const struct run_queue *queue)
{
	if (unlikely(notify_is_due(node)))
		notify_any(node, queue);
}

/* Work was put into `queue`, or into the node's inject queue if NULL (H3). */
void
weir__notify(struct node *node, const struct run_queue *queue)
{
	notify(node, queue);
}

static void
count_remote(struct node *node, unsigned int n)
{
	struct core *c = core_of(node->rt);

	if (c != NULL)
		counter_add(&worker_of(c)->counters, remote_schedules, n);
	else
		atomic_u64_fetch_add(&node->outside_schedules, n, RELAXED);
}

/*
 * The runtime ends. A task that has its turn with it is this worker's: it gives that
 * back, for who goes through the cells to end it; or, if it was cancelled, it stays, for
 * the worker to end it in step 3 (task/run.h, N2). Not here: its drop is the user's, and
 * a wake-up may come from where that may not go, from under a source's lock.
 */
static void
refuse(struct core *c, struct task *t)
{
	if (likely(task_give_turn_back(t))) {
		weir__task_drop_notification(t);
		return;
	}
	/* It may be in a poll (recall.c, Z1). */
	lock_acquire(&c->recall);
	task_chain_add(&c->deferred, t);
	lock_release(&c->recall);
}

void
weir__inject(struct node *node, struct task *const *tasks, unsigned int n)
{
	unsigned int i;

	if (likely(weir__inject_push(&node->inject, tasks, n))) {
		count_remote(node, n);
		return;
	}
	for (i = 0; i < n; i++)
		refuse(core_of(node->rt), tasks[i]);
}

static __rte_noinline void
push_full_queue(struct core *c, struct task *t)
{
	struct task *overflow[RUN_QUEUE_OVERFLOW];
	struct worker *w = worker_of(c);
	unsigned int n;

	n = weir__run_queue_push_owner(&w->queue, t, overflow);
	if (n == 0)
		return;
	counter_add(&w->counters, overflows, 1);
	weir__inject(w->node, overflow, n);
	/* Whether others have those does not hang on what is queued here. */
	if (c->looking)
		weir__notify(w->node, NULL);
}

static inline void
push_queue(struct core *c, struct task *t)
{
	if (unlikely(!run_queue_push_owner(&worker_of(c)->queue, t)))
		push_full_queue(c, t);
}

static inline void
schedule_back(struct core *c, struct task *t)
{
	if (unlikely(task_is_local(t))) {
		task_chain_add(&c->local, t);
		return;
	}
	counter_add(&worker_of(c)->counters, local_schedules, 1);
	push_queue(c, t);
}

/* To the back of this worker's queue, without a word to anyone. */
void
weir__schedule_back(struct core *c, struct task *t)
{
	schedule_back(c, t);
}

void
weir__schedule_batch(struct core *c, struct task *const *tasks, unsigned int n)
{
	struct worker *w = worker_of(c);
	unsigned int m;

	counter_add(&w->counters, local_schedules, n);
	for (; n > 0; tasks += m, n -= m) {
		m = RTE_MIN(n, weir__run_queue_room_owner(&w->queue));
		if (likely(m > 0)) {
			weir__run_queue_append_owner(&w->queue, tasks, m);
		} else {
			push_full_queue(c, *tasks);
			m = 1;
		}
	}
}

void
weir__chain_yielded(struct core *c)
{
	const unsigned int n = atomic_u32_load(&c->nb_yielded, RELAXED);
	unsigned int i;

	for (i = 0; i < n; i++)
		task_chain_add(&c->deferred, c->yielded[i]);
	atomic_u32_store(&c->nb_yielded, 0, RELAXED);
}

/* There is room for them. */
static void
schedule_yielded(struct core *c, unsigned int n)
{
	struct worker *w = worker_of(c);
	uint32_t begin = run_queue_tail_owner(&w->queue), tail = begin;
	struct task *t;
	unsigned int i;

	for (i = 0; i < n; i++) {
		t = c->yielded[i];
		if (unlikely(task_is_local(t)))
			task_chain_add(&c->local, t);
		else
			run_queue_slot_set(&w->queue, tail++, t);
	}
	counter_add(&w->counters, local_schedules, tail - begin);
	run_queue_publish_owner(&w->queue, tail);
}

void
weir__schedule_deferred(struct core *c)
{
	unsigned int n, others, i;

	if (core_nb_deferred(c) == 0)
		return;
	core_own_deferred(c);
	n = atomic_u32_load(&c->nb_yielded, RELAXED);
	others = task_chain_len(&c->deferred);
	if (likely(n <= weir__run_queue_room_owner(&worker_of(c)->queue))) {
		schedule_yielded(c, n);
	} else {
		for (i = 0; i < n; i++)
			schedule_back(c, c->yielded[i]);
	}
	atomic_u32_store(&c->nb_yielded, 0, RELAXED);
	/* Who is put off again, as refused, comes behind these. */
	for (; others > 0; others--)
		schedule_back(c, task_chain_pop(&c->deferred));
}

/*
 * What follows ends in the rare calls, so that the others save no registers. Where
 * it comes from a spawn it gives the task back that was spawned.
 */

/* The queue is full. */
static __rte_noinline struct task *
queue_full(struct core *c, struct task *t, struct task *spawned)
{
	struct worker *w = worker_of(c);

	push_full_queue(c, t);
	if (!c->looking)
		notify(w->node, &w->queue);
	return spawned;
}

static __rte_noinline struct task *
tell(struct core *c, struct task *spawned)
{
	notify_any(worker_of(c)->node, &worker_of(c)->queue);
	return spawned;
}

static __rte_always_inline struct task *
queue_here(struct core *c, struct task *t, struct task *spawned)
{
	struct worker *w = worker_of(c);

	if (unlikely(!run_queue_push_owner(&w->queue, t)))
		return queue_full(c, t, spawned);
	/* Between tasks the worker counts what it got and tells then. */
	if (likely(!c->looking) && unlikely(notify_is_due(w->node)))
		return tell(c, spawned);
	return spawned;
}

/* What was in the slot may have been recalled. */
static __rte_noinline struct task *
queue_recalled(struct core *c, struct task *prev, const struct task *t,
	       struct task *spawned)
{
	prev = weir__slot_recalled_owner(&c->lifo, prev, t);
	return prev != NULL ? queue_here(c, prev, spawned) : spawned;
}

static __rte_always_inline struct task *
put_here(struct core *c, struct task *t, bool slot, struct task *spawned)
{
	struct task *prev;

	if (likely(slot)) {
		prev = slot_peek_owner(&c->lifo);
		if (unlikely(!slot_set_owner(&c->lifo, t)))
			return queue_recalled(c, prev, t, spawned);
		if (prev == NULL)
			return spawned;
		t = prev;
	}
	return queue_here(c, t, spawned);
}

/* Not from a poll: H4, H5. */
static __rte_noinline struct task *
put_between(struct core *c, struct task *t, struct task *spawned)
{
	bool slot = c->looking ? nothing_queued(c) : c->from_slot;

	return put_here(c, t, slot && c->lifo_slot, spawned);
}

static __rte_always_inline struct task *
schedule_here(struct core *c, struct task *t, struct task *spawned)
{
	counter_add(&worker_of(c)->counters, local_schedules, 1);
	if (unlikely(context_task(&c->ctx) == NULL))
		return put_between(c, t, spawned);
	return put_here(c, t, c->lifo_slot, spawned);
}

/* To a worker's inbox, which may be retiring (workers.c, G1). */
static void
schedule_bound(struct worker *w, struct task *t)
{
	WEIR_ASSERT(!task_is_kept(t), "N2");
	if (unlikely(!weir__inbox_send(&w->inbox, t))) {
		weir__task_drop_notification(t);
		return;
	}
	count_remote(w->node, 1);
	/* [workers:F1] [sleep:F1] the fence of both is in that. */
	sleeper_call(&w->sleeper, RELAXED);
	if (unlikely(atomic_u32_load(&w->successor, RELAXED) != 0))
		weir__forward_inbox(w);
}

/* To another worker, or to whichever. */
static __rte_noinline void
schedule_there(struct node *node, struct core *c, struct task *t)
{
	struct worker *w;

	if (!task_is_local(t)) {
		weir__inject(node, &t, 1);
		notify(node, NULL);
		return;
	}
	w = weir__worker_for(node->rt, place_worker(task_place(t)));
	if (c != NULL && worker_of(c) == w)
		task_chain_add(&c->local, t);
	else
		schedule_bound(w, t);
}

/* c: the calling thread's core, if it is one of the task's runtime. */
static __rte_always_inline void
place(struct node *node, struct core *c, struct task *t)
{
	if (likely(c != NULL && worker_of(c)->node == node &&
		   !task_is_local(t)))
		schedule_here(c, t, t);
	else
		schedule_there(node, c, t);
}

void
weir__place(struct task *t)
{
	struct node *node = node_of_home(t->home);

	place(node, core_of(node->rt), t);
}

void
weir__schedule(struct task *t)
{
	struct node *node = node_of_home(t->home);
	struct core *c = core_of(node->rt);

	note_woken(node->rt, c, t);
	place(node, c, t);
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

/* By a thread that is no worker of the cell's node. */
static __rte_noinline void
put_elsewhere(struct node *node, struct task *t)
{
	struct weir_runtime *rt = node->rt;
	struct core *c = core_of(rt);

	if (c != NULL) {
		cell_free(&node->home.cells, &c->cells, t);
	} else {
		weir__cell_free(&node->home.cells, NULL, t);
		weir__runtime_unref(rt);
	}
}

void
weir__cell_put(struct task *t)
{
	struct node *node = node_of_home(t->home);
	struct core *c = weir__core;

	if (unlikely(c == NULL || worker_of(c)->node != node)) {
		put_elsewhere(node, t);
		return;
	}
	cell_free(c->cells.pools, &c->cells, t);
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
struct node *
weir__home_of(const struct weir_runtime *rt, const struct core *c,
	      const struct weir_spawn_attr *attr)
{
	int i;

	if (attr->affinity == WEIR_AFFINITY_WORKER)
		return home_of_bound(rt, attr->worker);
	if (attr->affinity != WEIR_AFFINITY_ANY &&
	    attr->affinity != WEIR_AFFINITY_NODE)
		return NULL;
	if (attr->node_plus_1 == 0)
		return c != NULL ? worker_of(c)->node : rt->workers[0]->node;
	i = weir__topology_node_index(&rt->topology, attr->node_plus_1 - 1);
	return i >= 0 ? rt->nodes[i] : NULL;
}

bool
weir__ops_valid(const struct weir_task_ops *ops)
{
	return spawn_ops_valid(ops);
}

struct task *
weir__cell_get(struct core *c, struct node *home, size_t size)
{
	struct task *t;

	t = weir__cell_alloc(&home->home.cells, c != NULL ? &c->cells : NULL,
			     size);
	if (c == NULL && t != NULL)
		spawn_count_cells(home->rt, 1);
	return t;
}

struct task *
weir__task_alloc(struct core *c, struct node *home,
		 const struct weir_task_ops *ops, const void *state, bool kept)
{
	struct task *t = weir__cell_get(c, home, ops->state_size);

	if (t == NULL)
		return NULL;
	/* [owned:A3] nobody takes what follows for the task before. */
	task_set_id(t, WEIR_TASK_NONE);
	spawn_init(t, home, ops, kept);
	spawn_state(t, state, ops->state_size);
	return t;
}

void
weir__task_announce(struct core *c, struct task *t)
{
	struct weir_runtime *rt = node_of_home(t->home)->rt;

	task_set_id(t, spawn_ids(rt, c, 1));
	spawn_announce(c, t, woken_now(rt, c));
}

/* Nobody else has seen the task. */
__rte_noinline void
weir__spawn_refuse(struct task *t, enum spawn how)
{
	weir__task_refuse(t);
	if (how == SPAWN_DETACHED)
		weir_join_detach((struct weir_join *)t);
}

void
weir__spawn_end(const struct core *c, struct task *t)
{
	weir__owned_end(t, c != NULL ? c->ctx.live : NULL);
	/* Behind its end: it is not to be found left behind meanwhile. */
	spawn_count(c, node_of_home(t->home), 1);
	weir__task_drop_notification(t);
}

/*
 * A cell for one that is spawned by a worker of its node with nothing special: so
 * that it saves no registers, there is no call but at the end. NULL: it is not as
 * simple as that.
 */
static __rte_always_inline struct task *
simple_cell(struct core *c, const struct weir_task_ops *ops,
	    const struct weir_spawn_attr *attr)
{
	if (unlikely(c == NULL || attr != NULL || !spawn_ops_valid(ops) ||
		     ops->poll == NULL || !spawn_is_small(ops->state_size) ||
		     worker_of(c)->node->home.hooks != NULL ||
		     owned_is_closed(&worker_of(c)->node->home.owned)))
		return NULL;
	return cell_take(&c->cells, ops->state_size);
}

/* With that cell. What is detached may be gone at the end. */
static __rte_always_inline struct task *
spawn_simple(struct core *c, struct task *t, const struct weir_task_ops *ops,
	     const void *state, enum spawn how)
{
	struct worker *w = worker_of(c);

	task_set_id(t, spawn_ids(w->rt, c, 1));
	spawn_init(t, w->node, ops, true);
	spawn_state_small(t, state, ops->state_size);
	spawn_note(c, t, woken_now(w->rt, c));
	atomic_u64_add_owner(&w->live.n, 1);
	state_begin(&t->state, spawn_place(&spawn_attr_none),
		    how == SPAWN_DETACHED, true);
	return schedule_here(c, t, t);
}

/* The same for all others. NULL with rte_errno. */
static __rte_noinline struct task *
spawn_anyhow(struct weir_runtime *rt, struct core *c,
	     const struct weir_task_ops *ops, const void *state,
	     const struct weir_spawn_attr *attr, enum spawn how)
{
	struct node *home;
	struct task *t;
	bool kept;

	if (attr == NULL)
		attr = &spawn_attr_none;
	if (!spawn_ops_valid(ops) || ops->poll == NULL ||
	    (home = weir__home_of(rt, c, attr)) == NULL) {
		rte_errno = EINVAL;
		return NULL;
	}
	kept = spawn_is_kept(c, home, attr);
	t = weir__task_alloc(c, home, ops, state, kept);
	if (t == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	weir__task_announce(c, t);
	if (owned_is_closed(&home->home.owned)) {
		weir__spawn_refuse(t, how);
		return t;
	}
	state_begin(&t->state, spawn_place(attr), how == SPAWN_DETACHED, kept);
	if (spawn_is_late(c, home, attr)) {
		weir__spawn_end(c, t);
		return t;
	}
	spawn_count(c, home, 1);
	weir__place(t);
	return t;
}

static __rte_noinline int
spawn_detached(struct weir_runtime *rt, struct core *c,
	       const struct weir_task_ops *ops, const void *state,
	       const struct weir_spawn_attr *attr)
{
	return spawn_anyhow(rt, c, ops, state, attr, SPAWN_DETACHED) != NULL ?
		       0 :
		       -rte_errno;
}

struct weir_join *
weir_task_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
		const void *state, const struct weir_spawn_attr *attr)
{
	struct core *c = core_of(rt);
	struct task *t = simple_cell(c, ops, attr);

	if (unlikely(t == NULL))
		t = spawn_anyhow(rt, c, ops, state, attr, SPAWN_JOINED);
	else
		t = spawn_simple(c, t, ops, state, SPAWN_JOINED);
	return (struct weir_join *)t;
}

int
weir_task_spawn_detached(struct weir_runtime *rt,
			 const struct weir_task_ops *ops, const void *state,
			 const struct weir_spawn_attr *attr)
{
	struct core *c = core_of(rt);
	struct task *t = simple_cell(c, ops, attr);

	if (unlikely(t == NULL))
		return spawn_detached(rt, c, ops, state, attr);
	spawn_simple(c, t, ops, state, SPAWN_DETACHED);
	return 0;
}
