/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sets of tasks: each end is told once, whoever uses the set, and nobody touches
 * a set that is gone.
 */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_join_set.h"

#define RESULT 42

static unsigned int drops, results_taken, results_dropped;

static void
count_drop(void *state)
{
	(void)state;
	rig_count(&drops);
}

static void
count_result_drop(void *result)
{
	model_check(*(int *)result == RESULT);
	rig_count(&results_dropped);
}

static int
adding_poll(struct weir_context *ctx, void *state)
{
	(void)ctx;
	*(int *)state += 1;
	return WEIR_DONE;
}

static const struct weir_task_ops adding_ops = {
	.name = "adding",
	.state_size = sizeof(int),
	.poll = adding_poll,
	.drop = count_drop,
	.result_size = sizeof(int),
	.result_drop = count_result_drop,
};

static struct weir_join_set *
begin(unsigned int nb_workers)
{
	drops = 0;
	results_taken = 0;
	results_dropped = 0;
	scheduler_start(nb_workers);
	return weir_join_set_create();
}

static void
end(unsigned int tasks, unsigned int results)
{
	scheduler_end();
	model_check(drops == tasks);
	model_check(results_taken + results_dropped == results);
}

static void
add(struct weir_join_set *set)
{
	const int before = RESULT - 1;
	struct weir_join *join = scheduler_spawn(&adding_ops, &before);

	model_check(weir_join_set_add(set, join) == 0);
}

static void
check_joined(const struct weir_joined *joined, int result)
{
	model_check(joined->rc == 0 && result == RESULT);
	model_check(joined->ops == &adding_ops);
	rig_count(&results_taken);
}

static void
take(struct weir_join_set *set)
{
	struct weir_joined joined;
	int result = 0;

	model_check(weir_join_set_next(NULL, set, &joined, &result, NULL) == 0);
	check_joined(&joined, result);
}

MODEL(join_set_next, "a thread takes a task that ends, and frees the set", 3, 2)
{
	struct weir_join_set *set = begin(1);

	add(set);
	take(set);
	weir_join_set_free(set);
	end(1, 1);
	model_check(results_taken == 1);
}

MODEL(join_set_two, "two workers end two tasks, in some order", 1, 1)
{
	struct weir_join_set *set = begin(2);
	struct weir_joined joined;

	add(set);
	add(set);
	take(set);
	take(set);
	model_check(weir_join_set_next(NULL, set, &joined, NULL, NULL) ==
		    -ENOENT);
	weir_join_set_free(set);
	end(2, 2);
	model_check(results_taken == 2);
}

MODEL(join_set_again, "a member is used again beside who ended its task", 2, 1)
{
	struct weir_join_set *set = begin(1);

	add(set);
	take(set);
	add(set);
	take(set);
	weir_join_set_free(set);
	end(2, 2);
}

MODEL(join_set_free, "the set is freed beside a task's end", 3, 3)
{
	struct weir_join_set *set = begin(1);

	add(set);
	weir_join_set_free(set);
	scheduler_end();
	model_check(drops == 1 && results_dropped <= 1);
}

MODEL(join_set_detach, "all are detached beside a task's end", 2, 2)
{
	struct weir_join_set *set = begin(1);

	add(set);
	weir_join_set_detach_all(set);
	model_check(weir_join_set_count(set) == 0);
	add(set);
	take(set);
	weir_join_set_free(set);
	end(2, 2);
	model_check(results_taken == 1);
}

/* A task with a set, which goes with it. */
struct owner {
	struct weir_join_set *set;
	struct weir_wait wait;
};

static int
owner_poll(struct weir_context *ctx, void *state)
{
	struct weir_joined joined;
	struct owner *o = state;
	int result = 0, rc;

	rc = weir_join_set_next(ctx, o->set, &joined, &result, &o->wait);
	if (rc < 0)
		return rc;
	check_joined(&joined, result);
	return WEIR_DONE;
}

static void
owner_drop(void *state)
{
	struct owner *o = state;

	weir_wait_cancel(&o->wait);
	weir_join_set_free(o->set);
	rig_count(&drops);
}

static const struct weir_task_ops owner_ops = {
	.name = "owner",
	.state_size = sizeof(struct owner),
	.poll = owner_poll,
	.drop = owner_drop,
};

static struct weir_join *
spawn_owner(struct weir_join_set *set)
{
	struct owner o = { .set = set };

	add(set);
	return scheduler_spawn(&owner_ops, &o);
}

MODEL(join_set_task, "a task takes a task that ends, and frees the set", 2, 1)
{
	struct weir_join_set *set = begin(2);

	weir_join_detach(spawn_owner(set));
	end(2, 1);
	model_check(results_taken == 1);
}

MODEL(join_set_abort, "a task that has a set is aborted", 2, 1)
{
	struct weir_join_set *set = begin(2);

	waiter_abort(spawn_owner(set));
	scheduler_end();
	model_check(drops == 2 && results_taken + results_dropped <= 1);
}

MODEL(join_set_close, "shutdown ends a set's tasks and the one that has it", 2,
      1)
{
	struct weir_join_set *set = begin(2);

	weir_join_detach(spawn_owner(set));
	scheduler_close();
	scheduler_end();
	model_check(drops == 2 && results_taken + results_dropped <= 1);
}
