/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Owned lists against a table of tasks. An input is the number of workers, and
 * then a program of insertions, ends, close, shutdown and walks. While a walk
 * has given a lock away, the program goes on.
 */

#include "fuzz.h"

#include <string.h>

#include "task/owned.h"

/* Where a walk lets others in: after a few tasks, to meet many of its places. */
static void
let_in(struct lock *l);
#define lock_acquire_last let_in
#undef OWNED_WALK_CHUNK
#define OWNED_WALK_CHUNK 3
#include "task/owned.c"
#undef lock_acquire_last

#define TASKS 48u
#define WORKERS 4

enum place {
	PLACE_NEW,
	PLACE_TASKS,
	PLACE_ENDING,
	PLACE_GONE,
};

/* What is known of a task. */
struct model {
	enum place place;
	bool runs; /* on a worker, which ends it */
	bool dropped;
	/* Of the walk that is under way. */
	unsigned int visits;
	bool stays; /* it has been where it is since before the walk */
};

static struct fuzz_input in;
static struct task_home home;
static struct task tasks[TASKS];
static struct model models[TASKS];
static unsigned int nb_tasks; /* used so far */
static bool closed, walking;
static unsigned int visits_left;

static bool
is_on_list(const struct model *m)
{
	return m->place == PLACE_TASKS || m->place == PLACE_ENDING;
}

static struct model *
model_of(const struct task *t)
{
	return &models[t - tasks];
}

/* O1, O3 */
static void
on_drop(void *state)
{
	struct task *t = RTE_PTR_SUB(state, offsetof(struct task, bytes));
	struct model *m = model_of(t);
	unsigned int i;

	for (i = 0; i < home.owned.nb_shards; i++)
		fuzz_check(atomic_u32_load(&home.owned.shards[i].lock.held,
					   RELAXED) == 0);
	fuzz_check(list_linked(&t->owned) && !m->dropped);
	m->dropped = true;
}

static int
never(struct weir_context *ctx, void *state)
{
	return WEIR_PENDING;
}

static const struct weir_task_ops ops = {
	.name = "fuzz",
	.poll = never,
	.drop = on_drop,
};

static void
begin(void)
{
	unsigned int i;

	memset(tasks, 0, sizeof(tasks));
	memset(models, 0, sizeof(models));
	for (i = 0; i < TASKS; i++) {
		tasks[i].home = &home;
		tasks[i].ops = &ops;
		owned_none(&tasks[i]);
		/* The list's, and one of ours. */
		atomic_u64_store(&tasks[i].state.word, 2 * STATE_REF_ONE,
				 RELAXED);
	}
	nb_tasks = 0;
	closed = false;
	weir__owned_init(&home.owned, 1 + fuzz_below(&in, 9));
}

static void
insert(void)
{
	uint8_t how = fuzz_u8(&in);
	struct task *t = &tasks[nb_tasks];
	struct model *m = model_of(t);
	bool bound;

	if (nb_tasks == TASKS)
		return;
	nb_tasks++;
	if (how % 4 == 0)
		t->affinity = WEIR_AFFINITY_WORKER;
	t->worker = how / 4 % WORKERS;
	bound = owned_insert(owned_shard_of(&home.owned, how / 16), t);
	/* O2 */
	fuzz_check(bound == !closed);
	if (bound)
		m->place = PLACE_TASKS;
	m->stays = false;
}

static void
start(struct task *t)
{
	struct model *m = model_of(t);

	if (m->place != PLACE_TASKS || m->runs)
		return;
	atomic_u64_fetch_or(&t->state.word, STATE_RUNNING, RELAXED);
	m->runs = true;
}

/* Its worker ends it, whether shutdown has come to it or not. */
static void
end(struct task *t)
{
	struct model *m = model_of(t);

	start(t);
	if (!is_on_list(m))
		return;
	weir__task_end_cancelled(t);
	fuzz_check(m->dropped);
	m->place = PLACE_GONE;
	m->stays = false;
}

static void
end_twice(struct task *t)
{
	end(t);
	fuzz_check(!owned_remove(t));
}

/* O6: but for what is bound to others, nothing stays that does not run. */
static void
shut_down(void)
{
	unsigned int hint = fuzz_u8(&in), worker = hint % WORKERS, i;

	weir__owned_close(&home.owned);
	closed = true;
	weir__owned_shutdown(&home.owned, hint / WORKERS, worker);
	for (i = 0; i < TASKS; i++) {
		if (models[i].place != PLACE_TASKS)
			continue;
		models[i].stays = false;
		if (task_is_local(&tasks[i]) && tasks[i].worker != worker)
			continue;
		models[i].place = models[i].runs ? PLACE_ENDING : PLACE_GONE;
		fuzz_check(models[i].dropped != models[i].runs);
	}
}

static bool
visit(const struct task *t, void *arg)
{
	struct model *m = model_of(t);

	/* It was not told to end before. */
	fuzz_check(visits_left > 0);
	fuzz_check(arg == &models && is_on_list(m));
	m->visits++;
	return --visits_left > 0;
}

static void
walk(void)
{
	unsigned int i;

	if (walking)
		return;
	for (i = 0; i < TASKS; i++) {
		models[i].visits = 0;
		models[i].stays = is_on_list(&models[i]);
	}
	visits_left = 1 + fuzz_u8(&in) % (2 * TASKS);
	walking = true;
	weir__owned_walk(&home.owned, visit, &models);
	walking = false;
	for (i = 0; i < TASKS; i++)
		if (models[i].stays)
			fuzz_check(models[i].visits == 1 ||
				   (models[i].visits == 0 && visits_left == 0));
}

static void
step(void)
{
	uint8_t op = fuzz_u8(&in);

	switch (op % 8) {
	case 0:
	case 1:
	case 2:
		insert();
		break;
	case 3:
		start(&tasks[op / 8]);
		break;
	case 4:
		end_twice(&tasks[op / 8]);
		break;
	case 5:
		walk();
		break;
	case 6:
		if (op / 8 % 4 == 0)
			shut_down();
		break;
	case 7:
		if (op / 8 == 0) {
			weir__owned_close(&home.owned);
			closed = true;
		}
		break;
	}
}

/* Counts the tasks of a list, which must be where the table has them. */
static unsigned int
check_list(struct list_link *head, unsigned int shard, enum place place)
{
	struct list_link *l;
	unsigned int n = 0;

	for (l = head->next; l != head; l = l->next) {
		const struct task *t = container_of(l, struct task, owned);

		fuzz_check(l->next->prev == l);
		if (l == &home.owned.cursor)
			continue;
		fuzz_check(t->shard == shard && model_of(t)->place == place);
		n++;
	}
	return n;
}

static void
check(void)
{
	struct owned_shard *s;
	unsigned int on_lists = 0, listed = 0, n, i;

	for (i = 0; i < home.owned.nb_shards; i++) {
		s = &home.owned.shards[i];
		n = check_list(&s->tasks, i, PLACE_TASKS) +
		    check_list(&s->ending, i, PLACE_ENDING);
		fuzz_check(atomic_u64_load(&s->count, RELAXED) == n);
		listed += n;
	}
	for (i = 0; i < TASKS; i++) {
		on_lists += is_on_list(&models[i]);
		fuzz_check(state_refs(state_load(&tasks[i].state)) ==
			   (models[i].place == PLACE_GONE ? 1 : 2));
	}
	fuzz_check(listed == on_lists);
	fuzz_check(weir__owned_count(&home.owned) == listed);
}

/* O5: what others do while the walk has given the lock away. */
static void
let_in(struct lock *l)
{
	unsigned int n;

	for (n = fuzz_below(&in, 4); n > 0; n--) {
		step();
		check();
	}
	lock_acquire_last(l);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int i;

	in = (struct fuzz_input){ data, size };
	begin();
	while (in.left > 0) {
		step();
		check();
	}
	for (i = 0; i < TASKS; i++)
		end(&tasks[i]);
	check();
	fuzz_check(weir__owned_count(&home.owned) == 0);
	return 0;
}
