/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "rig.h"
#include "sched/spawn.h"
#include "task/owned.h"
#include "task/run.h"

/* Of each class, at first. */
#define CELLS 8
#define TASKS 63u

/* No runtime has it: what it does not need of one is zero. */
static struct node node;
static struct owned *const owned = &node.home.owned;
static struct cell_pools *const pools = &node.home.cells;
static size_t heap_before;

/* What a test has begun, by id, from 1 on. */
static struct task *tasks[256];
static unsigned int nb_tasks;
static struct atomic_u32 nb_cells; /* in use */
static struct atomic_u32 nb_drops;

/* The core of a thread that is as a worker. */
static __thread struct core *self;

static void
open_home(void)
{
	memset(&node, 0, sizeof(node));
	weir__owned_init(owned);
	assert_int_equal(weir__cell_pools_init(pools, 0, CELLS), 0);
	nb_tasks = 0;
	rig_set(&nb_cells, 0);
	rig_set(&nb_drops, 0);
}

/* Nobody has anything of it. */
static void
close_home(void)
{
	assert_int_equal(weir__owned_count(owned), 0);
	assert_int_equal(rig_get(&nb_cells), 0);
	assert_true(list_empty(&pools->large));
	assert_int_equal(pools->nb_large, 0);
	weir__cell_pools_fini(pools);
}

static int
setup(void **state)
{
	heap_before = rig_heap_in_use();
	open_home();
	return 0;
}

static int
teardown(void **state)
{
	close_home();
	return rig_heap_in_use() == heap_before ? 0 : -1;
}

/* In the scheduler's place, which asks a runtime. */
void
__wrap_weir__cell_put(struct task *t);
void
__wrap_weir__cell_put(struct task *t)
{
	rig_add(&nb_cells, UINT32_MAX);
	cell_free(pools, self != NULL ? &self->cells : NULL, t);
}

static struct task *
new_cell(size_t state_size)
{
	struct task *t = cell_alloc(pools, self != NULL ? &self->cells : NULL,
				    state_size);

	if (t == NULL)
		abort();
	rig_add(&nb_cells, 1);
	t->home = &node.home;
	return t;
}

/* A task that has not begun. Its id is in its state. */
static struct task *
new_task(uint64_t id, const struct weir_task_ops *ops)
{
	struct task *t = new_cell(ops->state_size);

	task_set_id(t, id);
	spawn_init(t, &node, ops, false);
	spawn_state(t, NULL, ops->state_size);
	memcpy(t->bytes, &id, sizeof(id));
	note_woken_at(NULL, t, (uint32_t)id);
	return t;
}

/* It has a notification, which is ours, as its join handle is. */
static struct task *
begin_uncounted(const struct weir_task_ops *ops, uint16_t place)
{
	struct task *t = new_task(++nb_tasks, ops);

	tasks[nb_tasks] = t;
	state_begin(&t->state, place, false, false);
	return t;
}

static struct task *
begin(const struct weir_task_ops *ops, uint16_t place, struct owned_count *live)
{
	owned_add(owned, live, 1);
	return begin_uncounted(ops, place);
}

/* Its notification is there yet. */
static void
end(struct task *t, struct owned_count *live)
{
	weir__owned_end(t, live);
	weir__task_drop_notification(t);
}

/* It takes its turn, and then waits. */
static void
let_wait(struct task *t)
{
	assert_int_equal(state_to_running(&t->state), STATE_RUN_POLL);
	assert_int_equal(state_to_idle(&t->state, 0), STATE_IDLE_WAIT);
}

static void
detach(struct task *t)
{
	weir_join_detach((struct weir_join *)t);
}

static void
detach_all(void)
{
	unsigned int i;

	for (i = 1; i <= nb_tasks; i++)
		detach(tasks[i]);
}

static void
shut_down(unsigned int worker)
{
	weir__owned_close(owned);
	weir__owned_shutdown(&node.home, worker, NULL);
}

static int
never(struct weir_context *ctx, void *state)
{
	return WEIR_PENDING;
}

static void
count_drop(void *state)
{
	rig_add(&nb_drops, 1);
}

/* One for each class of cells, and larger ones. */
#define OPS(on_drop, size)                                           \
	{                                                            \
		.name = #on_drop, .state_size = size, .poll = never, \
		.drop = on_drop,                                     \
	}
#define OPS_OF_ALL_SIZES(on_drop)                                       \
	{                                                               \
		OPS(on_drop, 64), OPS(on_drop, 128), OPS(on_drop, 192), \
			OPS(on_drop, 320), OPS(on_drop, 448),           \
			OPS(on_drop, 704), OPS(on_drop, 960),           \
			OPS(on_drop, 1472), OPS(on_drop, 2240),         \
			OPS(on_drop, 2241), OPS(on_drop, 5000),         \
	}
#define NB_SIZES (CELL_CLASSES + 2)

static const struct weir_task_ops counted_ops[] = OPS_OF_ALL_SIZES(count_drop);
static const struct weir_task_ops *const small_ops = &counted_ops[0];
static const struct weir_task_ops *const large_ops = &counted_ops[CELL_CLASSES];

/* As many of each size. */
static void
begin_tasks(const struct weir_task_ops ops[NB_SIZES])
{
	unsigned int i;

	for (i = 0; i < TASKS; i++)
		begin(&ops[i % NB_SIZES], 0, NULL);
}

static unsigned int
refs(const struct task *t)
{
	return (unsigned int)state_refs(state_load(&t->state));
}

static void
expect_live(const struct task *t, bool live)
{
	uint64_t word = state_load(&t->state);

	assert_int_equal((word & STATE_OWNED) != 0, live);
	assert_int_equal((word & STATE_COMPLETE) != 0, !live);
}

static void
count_follows_begin_and_end(void **state)
{
	static struct owned_count a, b, strange;
	struct owned_count *const lives[] = { &a, &b, &strange, NULL };
	struct owned other;
	unsigned int i, n = RTE_DIM(lives);

	weir__owned_init(&other);
	weir__owned_add_count(owned, &a);
	weir__owned_add_count(&other, &strange);
	weir__owned_add_count(owned, &b);
	/* All that begin by one and end by one. */
	for (i = 0; i < n * n; i++) {
		begin(small_ops, 0, lives[i / n]);
		assert_int_equal(weir__owned_count(owned), i + 1);
	}
	for (i = 0; i < n * n; i++) {
		end(tasks[i + 1], lives[i % n]);
		assert_int_equal(weir__owned_count(owned), n * n - 1 - i);
	}
	assert_int_equal(weir__owned_count(&other), 0);
	detach_all();
}

/* Who began it has not been seen yet. */
static void
end_that_is_seen_first_leaves_nothing_below_zero(void **state)
{
	static struct owned_count count;

	weir__owned_add_count(owned, &count);
	owned_add(owned, NULL, (uint64_t)-2);
	assert_int_equal(weir__owned_count(owned), 0);
	owned_add(owned, &count, 2);
	assert_int_equal(weir__owned_count(owned), 0);
	owned_add(owned, &count, (uint64_t)-1);
	assert_int_equal(weir__owned_count(owned), 0);
	owned_add(owned, NULL, 2);
	assert_int_equal(weir__owned_count(owned), 1);
	owned_add(owned, &count, (uint64_t)-1);
}

/* O2 */
static void
spawner_is_told_of_the_end(void **state)
{
	struct task *t;

	assert_false(owned_is_closed(owned));
	t = begin_uncounted(small_ops, 0);
	assert_false(weir__owned_closed_since(owned));
	weir__owned_close(owned);
	assert_true(owned_is_closed(owned));
	assert_true(weir__owned_closed_since(owned));
	/* It has begun, and is there until somebody ends it. */
	expect_live(t, true);
	weir__spawn_end(NULL, t);
	assert_int_equal(weir__owned_count(owned), 0);
	assert_int_equal(rig_get(&nb_drops), 1);
	assert_int_equal(refs(t), 1);
	detach_all();
}

/* O4: the same when shutdown came first, and has ended it or left it to its worker. */
static void
task_is_ended_by_one(void **state)
{
	struct task *ended = begin_uncounted(small_ops, 0);
	struct task *runs = begin(small_ops, 0, NULL);

	assert_int_equal(state_to_running(&runs->state), STATE_RUN_POLL);
	shut_down(0);
	assert_int_equal(rig_get(&nb_drops), 1);
	weir__spawn_end(NULL, ended);
	weir__owned_end(runs, NULL);
	weir__owned_shutdown(&node.home, OWNED_ALL_WORKERS, NULL);
	assert_int_equal(rig_get(&nb_drops), 1);
	assert_int_equal(weir__owned_count(owned), 1);
	weir__task_end(runs, 0, 1, NULL);
	assert_int_equal(rig_get(&nb_drops), 2);
	assert_int_equal(runs->outcome, 0);
	detach_all();
}

static void
shutdown_ends_idle_tasks(void **state)
{
	static struct owned_count live;
	unsigned int i;

	weir__owned_add_count(owned, &live);
	begin_tasks(counted_ops);
	/* The others are in a queue. */
	for (i = 1; i <= nb_tasks; i += 2)
		let_wait(tasks[i]);
	weir__owned_close(owned);
	weir__owned_shutdown(&node.home, 7, &live);
	assert_int_equal(weir__owned_count(owned), 0);
	assert_int_equal(atomic_u64_load(&live.n, RELAXED), -(uint64_t)TASKS);
	assert_int_equal(rig_get(&nb_drops), TASKS);
	for (i = 1; i <= nb_tasks; i++) {
		expect_live(tasks[i], false);
		assert_int_equal(tasks[i]->outcome, -ECANCELED);
		assert_int_equal(refs(tasks[i]), i % 2 == 1 ? 1 : 2);
		if (i % 2 == 0)
			weir__task_drop_notification(tasks[i]);
	}
	detach_all();
}

static void
shutdown_leaves_a_running_task_to_its_worker(void **state)
{
	unsigned int i;

	begin(small_ops, 0, NULL);
	begin(large_ops, 0, NULL);
	for (i = 1; i <= nb_tasks; i++)
		assert_int_equal(state_to_running(&tasks[i]->state),
				 STATE_RUN_POLL);
	shut_down(0);
	/* It counts until its worker ends it. */
	assert_int_equal(weir__owned_count(owned), 2);
	assert_int_equal(rig_get(&nb_drops), 0);
	for (i = 1; i <= nb_tasks; i++) {
		expect_live(tasks[i], true);
		assert_int_equal(refs(tasks[i]), 2);
		assert_int_equal(state_to_idle(&tasks[i]->state, 0),
				 STATE_IDLE_CANCEL);
		weir__task_end(tasks[i], -ECANCELED, 1, NULL);
		assert_int_equal(weir__owned_count(owned), 2 - i);
		assert_int_equal(refs(tasks[i]), 1);
	}
	assert_int_equal(rig_get(&nb_drops), 2);
	detach_all();
}

static void
place_tells_affinity_and_worker(void **state)
{
	const enum weir_affinity affinities[] = { WEIR_AFFINITY_ANY,
						  WEIR_AFFINITY_NODE,
						  WEIR_AFFINITY_WORKER };
	const unsigned int workers[] = { 0, 1, RTE_MAX_LCORE - 1 };
	unsigned int i;
	uint16_t place;

	for (i = 0; i < 9; i++) {
		place = place_of(affinities[i / 3], workers[i % 3]);
		assert_int_equal(place_affinity(place), affinities[i / 3]);
		assert_int_equal(place_worker(place), workers[i % 3]);
		assert_int_equal(place_is_local(place), i / 3 == 2);
		let_wait(begin(small_ops, place, NULL));
		assert_int_equal(task_place(tasks[i + 1]), place);
		assert_int_equal(task_is_local(tasks[i + 1]), i / 3 == 2);
	}
	shut_down(OWNED_ALL_WORKERS);
	detach_all();
}

/* Of any, of worker 0, of worker 1, of any of the node, ... */
static void
begin_bound(void)
{
	const uint16_t places[] = {
		place_of(WEIR_AFFINITY_ANY, 0),
		place_of(WEIR_AFFINITY_WORKER, 0),
		place_of(WEIR_AFFINITY_WORKER, 1),
		place_of(WEIR_AFFINITY_NODE, 0),
	};
	unsigned int i;

	for (i = 0; i < 4 * NB_SIZES; i++)
		let_wait(
			begin(&counted_ops[i % NB_SIZES], places[i % 4], NULL));
}

/* O6 */
static void
shutdown_leaves_bound_tasks_to_their_worker(void **state)
{
	uint64_t word;
	unsigned int i;

	begin_bound();
	word = state_load(&tasks[3]->state);
	shut_down(0);
	for (i = 0; i < nb_tasks; i++) {
		expect_live(tasks[i + 1], i % 4 == 2);
		if (i % 4 == 2)
			assert_int_equal(state_load(&tasks[i + 1]->state),
					 word);
	}
	assert_int_equal(weir__owned_count(owned), nb_tasks / 4);
	shut_down(1);
	assert_int_equal(weir__owned_count(owned), 0);
	assert_int_equal(rig_get(&nb_drops), nb_tasks);
	detach_all();
}

static void
shutdown_of_all_workers_ends_bound_tasks(void **state)
{
	unsigned int i;

	begin_bound();
	shut_down(OWNED_ALL_WORKERS);
	for (i = 1; i <= nb_tasks; i++)
		expect_live(tasks[i], false);
	assert_int_equal(rig_get(&nb_drops), nb_tasks);
	detach_all();
}

/* It asks for the locks. The task that it drops counts (K3). */
static void
look_at_locks(void *state)
{
	unsigned int i;

	for (i = 0; i < CELL_CLASSES; i++) {
		if (!lock_try(&pools->depot[i].lock))
			abort();
		lock_release(&pools->depot[i].lock);
	}
	if (!lock_try(&pools->large_lock))
		abort();
	lock_release(&pools->large_lock);
	if (weir__owned_count(owned) != TASKS - rig_get(&nb_drops))
		abort();
	rig_add(&nb_drops, 1);
}

static void
drop_runs_without_a_lock(void **state)
{
	static const struct weir_task_ops ops[] =
		OPS_OF_ALL_SIZES(look_at_locks);
	unsigned int i;

	begin_tasks(ops);
	for (i = 1; i <= nb_tasks; i++)
		let_wait(tasks[i]);
	shut_down(0);
	assert_int_equal(rig_get(&nb_drops), TASKS);
	detach_all();
}

struct walk {
	unsigned int visits[RTE_DIM(tasks)];
	unsigned int n;
	unsigned int limit;
	unsigned int bad; /* that were not shown as they are */
};

static bool
count_visit(const struct task_view *v, void *arg)
{
	struct walk *w = arg;
	const struct task *t = v->id <= nb_tasks ? tasks[v->id] : NULL;

	if (t == NULL || v->ops != task_ops(t) ||
	    v->state != state_load(&t->state) ||
	    v->polls != atomic_u32_load(&t->polls, RELAXED) ||
	    v->woken != (uint32_t)v->id)
		w->bad++;
	else
		w->visits[v->id]++;
	return ++w->n < w->limit;
}

static struct walk
walk(unsigned int limit)
{
	struct walk w = { .limit = limit };

	weir__owned_walk(&node.home, count_visit, &w);
	assert_int_equal(w.bad, 0);
	return w;
}

static void
walk_visits_each_live_task_once(void **state)
{
	struct walk w = walk(UINT_MAX);
	unsigned int i;

	assert_int_equal(w.n, 0);
	begin_tasks(counted_ops);
	for (i = 1; i <= nb_tasks; i++)
		atomic_u32_store(&tasks[i]->polls, 3 * i, RELAXED);
	/* One of each size has ended, and one has gone. */
	for (i = 1; i <= 2 * NB_SIZES; i++) {
		end(tasks[i], NULL);
		if (i > NB_SIZES)
			detach(tasks[i]);
	}
	w = walk(UINT_MAX);
	for (i = 1; i <= nb_tasks; i++)
		assert_int_equal(w.visits[i], i > 2 * NB_SIZES);
	/* One of each size is left to its worker. */
	for (i = 1; i <= NB_SIZES; i++)
		assert_int_equal(
			state_to_running(
				&tasks[nb_tasks - NB_SIZES + i]->state),
			STATE_RUN_POLL);
	shut_down(0);
	w = walk(UINT_MAX);
	assert_int_equal(w.n, NB_SIZES);
	for (i = 1; i <= NB_SIZES; i++) {
		struct task *t = tasks[nb_tasks - NB_SIZES + i];

		assert_int_equal(w.visits[nb_tasks - NB_SIZES + i], 1);
		weir__task_end(t, -ECANCELED, 1, NULL);
		detach(t);
	}
	for (i = 1; i <= nb_tasks - NB_SIZES; i++) {
		if (i > 2 * NB_SIZES)
			weir__task_drop_notification(tasks[i]);
		if (i <= NB_SIZES || i > 2 * NB_SIZES)
			detach(tasks[i]);
	}
}

/* T7: what is in cells besides live tasks. */
static void
others_are_neither_visited_nor_ended(void **state)
{
	struct task *object[NB_SIZES], *refused[NB_SIZES], *job[NB_SIZES];
	unsigned int i;

	/* Some cells have held a task, and are free. */
	begin_tasks(counted_ops);
	for (i = 1; i <= nb_tasks; i++)
		end(tasks[i], NULL);
	detach_all();
	for (i = 0; i < NB_SIZES; i++) {
		const struct weir_task_ops *ops = &counted_ops[i];

		object[i] = new_cell(ops->state_size);
		memset(object[i]->bytes, 0xff, ops->state_size);
		refused[i] = new_task(1, ops);
		weir__task_refuse(refused[i]);
		job[i] = new_task(1, ops);
		state_begin_job(&job[i]->state);
		if (i % 2 == 0)
			state_to_running(&job[i]->state);
	}
	/* And some are new. */
	for (i = 0; i < NB_SIZES; i++)
		do {
			tasks[++nb_tasks] = new_cell(counted_ops[i].state_size);
		} while (state_load(&tasks[nb_tasks]->state) != 0);
	rig_set(&nb_drops, 0);
	assert_int_equal(walk(UINT_MAX).n, 0);
	shut_down(OWNED_ALL_WORKERS);
	assert_int_equal(walk(UINT_MAX).n, 0);
	assert_int_equal(rig_get(&nb_drops), 0);
	for (i = 0; i < NB_SIZES; i++) {
		weir__cell_put(object[i]);
		detach(refused[i]);
		assert_false(state_load(&job[i]->state) & STATE_CANCELLED);
		weir__cell_put(job[i]);
	}
	for (; nb_tasks > TASKS; nb_tasks--)
		weir__cell_put(tasks[nb_tasks]);
}

/* What stands on the list of large ones. */
static unsigned int
large_links(const struct list_link *links[TASKS])
{
	const struct list_link *l;
	unsigned int n = 0;

	for (l = pools->large.next; l != &pools->large; l = l->next) {
		assert_true(n < TASKS);
		assert_ptr_equal(l->next->prev, l);
		links[n++] = l;
	}
	return n;
}

static void
walk_ends_when_it_is_told_and_leaves_nothing_behind(void **state)
{
	const struct list_link *before[TASKS], *after[TASKS];
	unsigned int limit, i, n;

	begin_tasks(counted_ops);
	n = large_links(before);
	assert_int_equal(n, TASKS / NB_SIZES * 2);
	/* Among the small ones, among the large ones, and at the last. */
	for (limit = 1; limit <= TASKS; limit++) {
		assert_int_equal(walk(limit).n, limit);
		assert_int_equal(large_links(after), n);
		for (i = 0; i < n; i++)
			assert_ptr_equal(after[i], before[i]);
	}
	shut_down(0);
	assert_int_equal(large_links(after), n);
	for (i = 1; i <= nb_tasks; i++)
		weir__task_drop_notification(tasks[i]);
	detach_all();
}

#define LARGE 4u

/* Of the large ones: whose drop ends another, and which. */
static uint64_t dropping, victim;

static void
end_another(void *state)
{
	uint64_t id;

	rig_add(&nb_drops, 1);
	memcpy(&id, state, sizeof(id));
	if (id != dropping)
		return;
	weir__owned_end(tasks[victim], NULL);
	detach(tasks[victim]);
}

/* Its place on their list stands: where it was, before that, and behind it. */
static void
large_tasks_may_go_between_two_steps_of_a_shutdown(void **state)
{
	static const struct weir_task_ops ops = OPS(end_another, 5000);
	unsigned int i;

	for (dropping = 1; dropping <= LARGE; dropping++) {
		for (victim = 1; victim <= LARGE; victim++) {
			if (victim == dropping)
				continue;
			weir__owned_init(owned);
			nb_tasks = 0;
			rig_set(&nb_drops, 0);
			for (i = 0; i < LARGE; i++)
				let_wait(begin(&ops, 0, NULL));
			shut_down(0);
			assert_int_equal(rig_get(&nb_drops), LARGE);
			assert_int_equal(rig_get(&nb_cells), LARGE - 1);
			for (i = 1; i <= LARGE; i++)
				if (i != victim)
					detach(tasks[i]);
			assert_true(list_empty(&pools->large));
		}
	}
}

/*
 * Spawners, some of which are workers, who also run tasks, while the home is closed
 * and shut down; and one who looks.
 */
#define SPAWNERS 2u
#define RACE_WORKERS 2u
#define CLOSERS 2u
#define EACH 300u
#define ANCHORS 6u /* live until it is closed */
#define RACE_IDS ((SPAWNERS + RACE_WORKERS) * EACH + ANCHORS + 1)
#define SLOTS 16u

static struct race {
	struct atomic_u32 next;
	struct atomic_u32 ready;
	struct atomic_u32 begun;
	struct atomic_u32 closing;
	struct atomic_u32 closed;
	struct atomic_u32 over; /* those who are done */
	struct atomic_u32 looks;
	struct atomic_u32 drops[RACE_IDS];
	uint64_t seed;
} race;

static struct core cores[RACE_WORKERS];
static struct owned_count counts[RACE_WORKERS];

static void
race_drop(void *state)
{
	uint64_t id;

	memcpy(&id, state, sizeof(id));
	rig_add(&race.drops[id], 1);
}

/* Some wait for ever. */
static int
race_poll(struct weir_context *ctx, void *state)
{
	uint64_t id;

	memcpy(&id, state, sizeof(id));
	return id % 4 == 0 ? WEIR_PENDING : WEIR_DONE;
}

/* By the id, so that a view of two tasks is seen. */
static const struct weir_task_ops *
race_ops(uint64_t id)
{
#define RACE_OPS(size)                                                 \
	{                                                              \
		.name = "race", .state_size = size, .poll = race_poll, \
		.drop = race_drop,                                     \
	}
	static const struct weir_task_ops ops[] = {
		RACE_OPS(8), RACE_OPS(8), RACE_OPS(200), RACE_OPS(900),
		RACE_OPS(8), RACE_OPS(8), RACE_OPS(200),
	};

	return &ops[id % RTE_DIM(ops)];
}

static struct weir_spawn_attr
race_attr(uint64_t id)
{
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_ANY };

	if (id % 5 < RACE_WORKERS) {
		attr.affinity = WEIR_AFFINITY_WORKER;
		attr.worker = (unsigned int)(id % 5);
	}
	return attr;
}

/* What a thread has of tasks. */
struct hands {
	struct rand_state rand;
	struct weir_context ctx;
	struct task *queued[SLOTS];
	struct task *joined[SLOTS];
};

/* A turn of one, or, after shutdown, the end of its notification. */
static void
turn(struct hands *h, struct task **slot)
{
	if (*slot != NULL)
		task_run(*slot, &h->ctx, false);
	*slot = NULL;
}

static void
let_go(struct task **slot)
{
	if (*slot != NULL)
		detach(*slot);
	*slot = NULL;
}

/* As weir_task_spawn() does; what lay in its place has its turn. */
static void
race_spawn(struct hands *h, uint64_t id)
{
	const struct weir_spawn_attr attr = race_attr(id);
	enum spawn how =
		rand_below(&h->rand, 2) == 0 ? SPAWN_DETACHED : SPAWN_JOINED;
	struct task *t = new_task(id, race_ops(id)), **slot;

	if (how == SPAWN_JOINED) {
		slot = &h->joined[rand_below(&h->rand, SLOTS)];
		let_go(slot);
		*slot = t;
	}
	rig_add(&race.begun, 1);
	if (owned_is_closed(owned)) {
		weir__spawn_refuse(t, how);
		return;
	}
	/* Let others in where it cannot know of them. */
	if (rand_below(&h->rand, 8) == 0)
		sched_yield();
	state_begin(&t->state, spawn_place(&attr), how == SPAWN_DETACHED,
		    false);
	if (spawn_is_late(self, &node, &attr)) {
		weir__spawn_end(self, t);
		return;
	}
	spawn_count(self, &node, 1);
	slot = &h->queued[rand_below(&h->rand, SLOTS)];
	turn(h, slot);
	*slot = t;
}

static void
race_spawns(struct hands *h, unsigned int index)
{
	uint64_t id = ANCHORS + 1 + index * EACH, end = id + EACH;

	rand_seed(&h->rand, race.seed + index);
	for (; id < end; id++)
		race_spawn(h, id);
}

static void
be_spawner(unsigned int index)
{
	struct hands h = { .ctx = { .live = NULL } };
	unsigned int i;

	race_spawns(&h, index);
	for (i = 0; i < SLOTS; i++) {
		turn(&h, &h.queued[i]);
		let_go(&h.joined[i]);
	}
}

/* It goes through the cells when it knows of the end. */
static void
be_worker(unsigned int worker)
{
	struct hands h = { .ctx = { .live = &counts[worker] } };
	unsigned int i;

	self = &cores[worker];
	race_spawns(&h, SPAWNERS + worker);
	rig_wait_until(rig_get(&race.closed) > 0);
	weir__owned_shutdown(&node.home, worker, &counts[worker]);
	for (i = 0; i < SLOTS; i++) {
		if (h.queued[i] != NULL)
			weir__task_drop_notification(h.queued[i]);
		let_go(&h.joined[i]);
	}
}

static void
be_closer(void)
{
	/* While they are at it. */
	rig_wait_until(rig_get(&race.begun) >= EACH && rig_get(&race.looks));
	rig_set(&race.closing, 1);
	weir__owned_close(owned);
	rig_add(&race.closed, 1);
	weir__owned_shutdown(&node.home, OWNED_ALL_WORKERS, NULL);
}

/* The walk that saw an id last. */
struct looks {
	unsigned int walk;
	unsigned int seen[RACE_IDS];
};

static bool
race_visit(const struct task_view *v, void *arg)
{
	struct looks *l = arg;
	struct weir_spawn_attr attr;

	if (v->id == 0 || v->id >= RACE_IDS || l->seen[v->id] == l->walk)
		abort();
	l->seen[v->id] = l->walk;
	attr = race_attr(v->id);
	if (v->ops != race_ops(v->id) ||
	    state_place(v->state) != spawn_place(&attr) ||
	    (v->state & (STATE_OWNED | STATE_COMPLETE)) != STATE_OWNED)
		abort();
	return true;
}

/* O5 */
static void
be_walker(void)
{
	struct looks l = { .walk = 0 };
	unsigned int i;

	while (rig_get(&race.over) < SPAWNERS + RACE_WORKERS + CLOSERS) {
		l.walk++;
		weir__owned_walk(&node.home, race_visit, &l);
		for (i = 1; i <= ANCHORS; i++)
			if (l.seen[i] != l.walk && !rig_get(&race.closing))
				abort();
		rig_set(&race.looks, l.walk);
		sched_yield();
	}
	l.walk++;
	weir__owned_walk(&node.home, race_visit, &l);
	for (i = 1; i < RACE_IDS; i++)
		if (l.seen[i] == l.walk)
			abort();
}

static void *
take_part(void *arg)
{
	uint32_t index = atomic_u32_fetch_add(&race.next, 1, RELAXED);

	rig_add(&race.ready, 1);
	rig_wait_until(rig_get(&race.ready) ==
		       SPAWNERS + RACE_WORKERS + CLOSERS + 1);
	if (index < SPAWNERS) {
		be_spawner(index);
	} else if (index < SPAWNERS + RACE_WORKERS) {
		be_worker(index - SPAWNERS);
	} else if (index < SPAWNERS + RACE_WORKERS + CLOSERS) {
		be_closer();
	} else {
		be_walker();
		return NULL;
	}
	rig_add(&race.over, 1);
	return NULL;
}

static void
begin_race(uint64_t seed)
{
	struct weir_spawn_attr attr;
	unsigned int i;

	memset(&race, 0, sizeof(race));
	memset(cores, 0, sizeof(cores));
	race.seed = seed;
	for (i = 0; i < RACE_WORKERS; i++) {
		weir__owned_add_count(owned, &counts[i]);
		weir__cell_cache_init(&cores[i].cells, pools);
		cores[i].ctx.live = &counts[i];
	}
	for (i = 1; i <= ANCHORS; i++) {
		attr = race_attr(i);
		begin(race_ops(i), spawn_place(&attr), NULL);
	}
}

static void
every_task_is_refused_ends_or_is_shut_down(void **state)
{
	uint64_t seed = unit_seed();
	unsigned int round, i;

	close_home();
	for (round = 0; round < 40; round++) {
		open_home();
		begin_race(seed + round * (SPAWNERS + RACE_WORKERS));
		rig_threads(SPAWNERS + RACE_WORKERS + CLOSERS + 1, take_part,
			    NULL);
		assert_int_equal(weir__owned_count(owned), 0);
		for (i = 1; i < RACE_IDS; i++)
			assert_int_equal(rig_get(&race.drops[i]), 1);
		for (i = 1; i <= ANCHORS; i++)
			weir__task_drop_notification(tasks[i]);
		detach_all();
		for (i = 0; i < RACE_WORKERS; i++)
			weir__cell_cache_fini(&cores[i].cells);
		close_home();
	}
	open_home();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(count_follows_begin_and_end),
		TEST(end_that_is_seen_first_leaves_nothing_below_zero),
		TEST(spawner_is_told_of_the_end),
		TEST(task_is_ended_by_one),
		TEST(shutdown_ends_idle_tasks),
		TEST(shutdown_leaves_a_running_task_to_its_worker),
		TEST(place_tells_affinity_and_worker),
		TEST(shutdown_leaves_bound_tasks_to_their_worker),
		TEST(shutdown_of_all_workers_ends_bound_tasks),
		TEST(drop_runs_without_a_lock),
		TEST(walk_visits_each_live_task_once),
		TEST(others_are_neither_visited_nor_ended),
		TEST(walk_ends_when_it_is_told_and_leaves_nothing_behind),
		TEST(large_tasks_may_go_between_two_steps_of_a_shutdown),
		TEST(every_task_is_refused_ends_or_is_shut_down),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
