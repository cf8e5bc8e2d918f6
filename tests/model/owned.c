/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Owned lists while tasks come, end and are shut down: walks of one element at a
 * time meet each task that stays once, and none that is gone; each task of a
 * closed list is ended, by the worker that it is bound to if there is one.
 */

#include "model.h"
#include "rig.h"
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
visit(const struct task *t, void *arg)
{
	(void)arg;
	model_check(t->ops == &waiting_ops || t->ops == &bound_ops);
	model_check(t->id < IDS);
	visits[t->id]++;
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

static unsigned int met;
static uint64_t met_at_most;

/* Who comes once it has begun does not make a walk longer. */
static bool
visit_and_count(const struct task *t, void *arg)
{
	if (met++ == 0)
		met_at_most = scheduler_count();
	model_check(met <= met_at_most);
	return visit(t, arg);
}

static void
walk_and_count(void *arg)
{
	(void)arg;
	scheduler_walk(visit_and_count, NULL);
}

MODEL(owned_walk_spawn, "a walk beside a spawn", 3, 3)
{
	unsigned int walker;

	scheduler_start(0);
	weir_join_detach(spawn(false));
	walker = model_thread("walker", walk_and_count, NULL);
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
bind_and_drop(void *arg)
{
	(void)arg;
	weir_join_detach(spawn(false));
}

MODEL(owned_close, "two spawn while the list is closed", 2, 2)
{
	unsigned int spawner;

	scheduler_start(1);
	spawner = model_thread("spawner", bind_and_drop, NULL);
	scheduler_close();
	weir_join_detach(spawn(false));
	model_join(spawner);
	scheduler_end();
	model_check(drops == 2);
}

/* Takes the lock of its shard, where it is refused. */
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
