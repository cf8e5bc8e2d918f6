/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The tasks of a node while they come, end and are shut down: walks meet each task that
 * stays once, and see what is its own; each task that has begun is ended when no more
 * are to begin, by the worker that it is bound to if there is one.
 */

#include "model.h"
#include "rig.h"
#include "sched/weir_runtime.h"
#include "scheduler.h"

#define IDS 8

static struct atomic_u32 mail;
static unsigned int drops;
static unsigned int visits[IDS];
static unsigned int
	of_worker[2]; /* what bound tasks share, guarded by nothing */

/* Waits for its mail, or for ever. */
static int
waiting_poll(struct weir_context *ctx, void *state)
{
	(void)ctx;
	if (*(bool *)state && atomic_u32_load(&mail, RELAXED) != 0)
		return WEIR_DONE;
	return WEIR_PENDING;
}

static void
waiting_drop(void *state)
{
	(void)state;
	rig_count(&drops);
}

static const struct weir_task_ops waiting_ops = {
	.name = "waiting",
	.state_size = sizeof(bool),
	.poll = waiting_poll,
	.drop = waiting_drop,
};

static struct weir_join *
spawn(bool wants_mail)
{
	return scheduler_spawn(&waiting_ops, &wants_mail);
}

static void
bound_drop(void *state)
{
	unsigned int worker = *(unsigned int *)state;

	model_check(scheduler_self() == (int)worker);
	of_worker[worker]++;
}

static const struct weir_task_ops bound_ops = {
	.name = "bound",
	.state_size = sizeof(unsigned int),
	.poll = waiting_poll,
	.drop = bound_drop,
};

static const bool never;

static bool
visit(const struct task_view *v, void *arg)
{
	(void)arg;
	model_check(v->ops == &waiting_ops || v->ops == &bound_ops);
	model_check(v->id < IDS);
	visits[v->id]++;
	return true;
}

static void
walk(void *arg)
{
	(void)arg;
	scheduler_walk(visit, NULL);
}

static void
end_by_mail(void *waker)
{
	atomic_u32_store(&mail, 1, RELAXED);
	weir_waker_wake(waker);
}

MODEL(owned_walk_end, "a walk beside a task's end", 2, 1)
{
	struct weir_join *join[3];
	unsigned int i, walker;

	scheduler_start(1);
	for (i = 0; i < 3; i++)
		join[i] = spawn(i == 1);
	walker = model_thread("walker", walk, NULL);
	end_by_mail(weir_waker_clone((struct weir_waker *)join[1]));
	model_join(walker);
	model_check(visits[1] == 1 && visits[2] <= 1 && visits[3] == 1);
	for (i = 0; i < 3; i++)
		weir_join_detach(join[i]);
	scheduler_close();
	scheduler_end();
	model_check(drops == 3);
}

MODEL(owned_walk_spawn, "a walk beside a spawn", 3, 3)
{
	unsigned int walker;

	scheduler_start(0);
	weir_join_detach(spawn(false));
	walker = model_thread("walker", walk, NULL);
	weir_join_detach(spawn(false));
	model_join(walker);
	model_check(visits[1] == 1 && visits[2] <= 1);
	scheduler_close();
	scheduler_end_tasks(0);
	scheduler_end();
	model_check(drops == 2);
}

static void
close_and_end(void *arg)
{
	(void)arg;
	scheduler_close();
	scheduler_end_tasks(0);
	scheduler_end_tasks(1);
}

MODEL(owned_walk_close, "a walk beside the end of bound tasks", 2, 1)
{
	unsigned int i, closer;

	scheduler_start(0);
	for (i = 0; i < 3; i++)
		weir_join_detach(
			scheduler_spawn_on((i + 1) % 2, &waiting_ops, &never));
	closer = model_thread("closer", close_and_end, NULL);
	walk(NULL);
	for (i = 1; i <= 3; i++)
		model_check(visits[i] <= 1);
	model_join(closer);
	scheduler_end();
	model_check(drops == 3);
}

MODEL(owned_bound, "two workers end the tasks that are bound to them", 2, 1)
{
	unsigned int i;

	scheduler_start(2);
	for (i = 0; i < 2; i++)
		weir_join_detach(scheduler_spawn_on(i, &bound_ops, &i));
	scheduler_close();
	scheduler_end();
	model_check(of_worker[0] == 1 && of_worker[1] == 1);
}

static void
spawn_one(void *arg)
{
	(void)arg;
	weir_join_detach(spawn(false));
}

MODEL(owned_close, "two spawn while no more tasks are to begin", 2, 2)
{
	unsigned int spawner;

	scheduler_start(1);
	spawner = model_thread("spawner", spawn_one, NULL);
	scheduler_close();
	weir_join_detach(spawn(false));
	model_join(spawner);
	scheduler_end();
	model_check(drops == 2);
}

static void
spawn_bound(void *arg)
{
	(void)arg;
	weir_join_detach(scheduler_spawn_on(1, &waiting_ops, &never));
}

MODEL(owned_close_bound, "one binds a task to a worker that may have looked", 2,
      2)
{
	unsigned int spawner;

	scheduler_start(2);
	spawner = model_thread("spawner", spawn_bound, NULL);
	scheduler_close();
	model_join(spawner);
	scheduler_end();
	model_check(drops == 1);
}

static bool binding;

/* By its worker, or refused. */
static void
bound_or_refused_drop(void *state)
{
	waiting_drop(state);
	model_check(scheduler_self() == *(int *)state || binding);
}

static const struct weir_task_ops bound_or_refused_ops = {
	.name = "bound",
	.state_size = sizeof(int),
	.poll = waiting_poll,
	.drop = bound_or_refused_drop,
};

/* It spawns one without a fence, and binds one to the other worker. */
static UNWATCHED int
spawning_poll(struct weir_context *ctx, void *state)
{
	int other = scheduler_self() == 0;

	(void)ctx;
	(void)state;
	weir_join_detach(spawn(false));
	binding = true;
	weir_join_detach(scheduler_spawn_on((unsigned int)other,
					    &bound_or_refused_ops, &other));
	binding = false;
	return WEIR_DONE;
}

static const struct weir_task_ops spawning_poll_ops = {
	.name = "spawning",
	.poll = spawning_poll,
	.drop = waiting_drop,
};

MODEL(owned_close_worker, "a worker spawns while no more tasks are to begin", 2,
      1)
{
	scheduler_start(2);
	weir_join_detach(scheduler_spawn(&spawning_poll_ops, NULL));
	scheduler_close();
	scheduler_end();
	model_check(drops == 1 || drops == 3);
}

/* It is refused there. */
static void
spawning_drop(void *state)
{
	waiting_drop(state);
	weir_join_detach(spawn(false));
}

static const struct weir_task_ops spawning_ops = {
	.name = "spawning",
	.poll = waiting_poll,
	.drop = spawning_drop,
};

MODEL(owned_drop, "what is ended spawns when it is dropped", 3, 3)
{
	scheduler_start(0);
	weir_join_detach(scheduler_spawn(&spawning_ops, NULL));
	scheduler_close();
	scheduler_end_tasks(0);
	scheduler_end();
	model_check(drops == 2);
}

MODEL(owned_count, "a task counts until it has been dropped", 3, 3)
{
	scheduler_start(1);
	atomic_u32_store(&mail, 1, RELAXED);
	weir_join_detach(spawn(true));
	while (scheduler_count() > 0)
		atomic_pause();
	model_check(drops == 1);
	scheduler_end();
}

/*
 * A cell whose task ends, and that is another's then. What is seen of it is of one or
 * of the other.
 */
static struct task *reused;
static const struct weir_task_ops first_ops = { .name = "first" };
static const struct weir_task_ops next_ops = { .name = "next" };

static void
begin_in(struct task *t, uint64_t id, const struct weir_task_ops *ops,
	 unsigned int worker)
{
	bool later = model_choose(2) == 1;

	/* A spawn of many kinds, which has its id only when it is sure to begin. */
	task_set_id(t, later ? WEIR_TASK_NONE : id);
	task_set_ops(t, ops);
	if (later)
		task_set_id(t, id);
	state_begin(&t->state, place_of(WEIR_AFFINITY_WORKER, worker), true,
		    false);
}

static bool
visit_reused(const struct task_view *v, void *arg)
{
	unsigned int *n = arg;

	model_check(v->id == 1 || v->id == 2);
	model_check(v->ops == (v->id == 1 ? &first_ops : &next_ops));
	model_check(place_worker(state_place(v->state)) == v->id);
	++*n;
	return true;
}

static UNWATCHED void
use_cell(void *arg)
{
	(void)arg;
	model_check(state_to_running(&reused->state) == STATE_RUN_POLL);
	model_check(state_to_complete(&reused->state, 2) ==
		    STATE_COMPLETE_LAST);
	begin_in(reused, 2, &next_ops, 2);
}

MODEL(owned_reuse, "a walk beside a cell's next task", 3, 4)
{
	struct task_home *home = model_alloc(sizeof(*home));
	unsigned int user, n = 0;

	model_check(weir__cell_pools_init(&home->cells, 0, 0) == 0);
	reused = weir__cell_alloc(&home->cells, NULL, 0);
	begin_in(reused, 1, &first_ops, 1);
	user = model_thread("user", use_cell, NULL);
	weir__owned_walk(home, visit_reused, &n);
	model_check(n <= 1);
	model_join(user);
	weir__owned_walk(home, visit_reused, &n);
	model_check(n >= 1);
	weir__cell_pools_fini(&home->cells);
	model_free(home);
}

/* One that looks for its tasks finds that cell, with one of another worker's. */
MODEL(owned_reuse_bound, "a shutdown beside a cell's next task", 3, 4)
{
	struct task_home *home = model_alloc(sizeof(*home));
	unsigned int user;
	uint64_t word;

	model_check(weir__cell_pools_init(&home->cells, 0, 0) == 0);
	reused = weir__cell_alloc(&home->cells, NULL, 0);
	begin_in(reused, 1, &first_ops, 1);
	user = model_thread("user", use_cell, NULL);
	word = state_load(&reused->state);
	/* It ends the first itself, and the next one is not bound to us. */
	if (place_worker(state_place(word)) == 1 && (word & STATE_RUNNING))
		model_check(!state_to_shutdown(&reused->state, word));
	model_join(user);
	model_check(!(state_load(&reused->state) & STATE_CANCELLED));
	weir__cell_pools_fini(&home->cells);
	model_free(home);
}
