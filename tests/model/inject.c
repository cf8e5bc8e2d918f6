/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The inject queue, with a ring of a few places, or of one: no notification is
 * lost or comes twice, also where the ring is full, and where the queue is
 * closed and finished meanwhile.
 */

#include "model.h"
#include "queue/inject.h"
#include "rig.h"

static struct inject *queue;
/* Tasks of pusher p are numbered from p * TASKS_EACH. */
#define TASKS_EACH 8
/* Of each pusher: the next it makes, and the next that is to be popped. */
static unsigned int next_of[2], due_of[2];

static void
begin(unsigned int ring_size)
{
	unsigned int p;

	queue = model_alloc(sizeof(*queue));
	model_check(weir__inject_init(queue, "model", ring_size, 0) == 0);
	for (p = 0; p < 2; p++)
		next_of[p] = due_of[p] = p * TASKS_EACH;
}

/* A burst of n, which are the caller's again if it is refused. */
static bool
push_burst(unsigned int p, unsigned int n)
{
	struct task *tasks[TASKS_EACH];
	unsigned int i;

	for (i = 0; i < n; i++)
		tasks[i] = rig_task(next_of[p]++);
	if (weir__inject_push(queue, tasks, n))
		return true;
	for (i = 0; i < n; i++)
		rig_see(tasks[i]);
	return false;
}

static void
push_singly(void *arg)
{
	unsigned int p = (unsigned int)(uintptr_t)arg;

	push_burst(p, 1);
	push_burst(p, 1);
}

static void
push_two(void *arg)
{
	push_burst((unsigned int)(uintptr_t)arg, 2);
}

static void
push_one(void *arg)
{
	push_burst((unsigned int)(uintptr_t)arg, 1);
}

static unsigned int
pop(unsigned int n)
{
	struct task *tasks[4];
	unsigned int got = weir__inject_pop(queue, tasks, n), i;

	for (i = 0; i < got; i++)
		rig_see(tasks[i]);
	return got;
}

static void
pop_two(void *arg)
{
	(void)arg;
	pop(2);
}

/* The only popper: tasks of one pusher come in their order. */
static void
pop_in_order(unsigned int n)
{
	struct task *tasks[4];
	unsigned int got = weir__inject_pop(queue, tasks, n), i, p;

	for (i = 0; i < got; i++) {
		p = (unsigned int)task_id(tasks[i]) / TASKS_EACH;
		model_check(task_id(tasks[i]) == due_of[p]++);
		rig_see(tasks[i]);
	}
}

static void
end(void)
{
	unsigned int p;

	model_join_all();
	while (pop(4) > 0 || inject_has_spilled(queue))
		;
	model_check(weir__inject_len(queue) == 0);
	for (p = 0; p < 2; p++)
		rig_check_seen_from(p * TASKS_EACH, next_of[p]);
	weir__inject_fini(queue);
	model_free(queue);
}

/* The ring by itself has room for all of them. */

MODEL(inject_ring, "two pushers and a popper in the ring", 3, 3)
{
	begin(8);
	model_thread("pusher", push_two, (void *)0);
	model_thread("other", push_one, (void *)1);
	pop_in_order(2);
	pop_in_order(2);
	end();
}

MODEL(inject_order, "what one pusher pushes comes in its order", 3, 3)
{
	begin(4);
	model_thread("pusher", push_singly, (void *)0);
	pop_in_order(1);
	pop_in_order(2);
	end();
}

/* One fits into the ring: what is behind it is spilled. */

MODEL(inject_spill, "a pusher that spills beside a popper", 3, 3)
{
	begin(2);
	model_thread("pusher", push_two, (void *)0);
	pop(1);
	pop(2);
	end();
}

/* I2, and what is in the stash before what was spilled behind it. */
MODEL(inject_spill_order, "what one pusher spills comes in its order", 3, 3)
{
	begin(2);
	model_thread("other", push_one, (void *)1);
	push_burst(0, 3);
	pop_in_order(2);
	push_burst(0, 1);
	pop_in_order(2);
	pop_in_order(2);
	end();
}

MODEL(inject_spill_two, "two pushers that spill", 3, 3)
{
	begin(2);
	push_burst(0, 1);
	model_thread("pusher", push_one, (void *)0);
	model_thread("other", push_one, (void *)1);
	pop(2);
	end();
}

/* I3: of what is on the way into the stash, one is left there. */
MODEL(inject_transit, "what is spilled is seen while it is carried", 3, 3)
{
	begin(2);
	push_burst(0, 3);
	model_thread("popper", pop_two, NULL);
	model_check(inject_has_spilled(queue));
	end();
}

/* I6: two that were pushed one by one, of which each pop turns one round. */
MODEL(inject_turns, "two poppers turn round what was spilled", 3, 3)
{
	begin(2);
	push_burst(0, 1);
	push_burst(0, 1);
	push_burst(0, 1);
	model_thread("popper", pop_two, NULL);
	pop(1);
	end();
}

MODEL(inject_poppers, "two poppers of what was spilled", 3, 3)
{
	begin(2);
	push_burst(0, 3);
	model_thread("popper", pop_two, NULL);
	pop(1);
	end();
}

/* With nobody who pops any more. */
static void
end_finished(void)
{
	unsigned int p;

	model_join_all();
	for (p = 0; p < 2; p++)
		rig_check_seen_from(p * TASKS_EACH, next_of[p]);
	weir__inject_fini(queue);
	model_free(queue);
}

MODEL(inject_finish, "a push beside the end, into the ring", 3, 3)
{
	begin(4);
	model_thread("pusher", push_one, (void *)0);
	weir__inject_close(queue);
	weir__inject_finish(queue);
	end_finished();
}

MODEL(inject_finish_spilled, "a push beside the end, past the ring", 3, 3)
{
	begin(2);
	push_burst(0, 1);
	model_thread("pusher", push_one, (void *)0);
	weir__inject_close(queue);
	weir__inject_finish(queue);
	end_finished();
}

MODEL(inject_finish_two, "two pushes beside the end", 3, 3)
{
	begin(4);
	model_thread("pusher", push_one, (void *)0);
	model_thread("other", push_one, (void *)1);
	weir__inject_finish(queue);
	end_finished();
}

MODEL(inject_closed, "a closed queue refuses, and a finished one stays so", 3,
      3)
{
	begin(4);
	model_check(push_burst(0, 1));
	weir__inject_close(queue);
	model_check(!push_burst(0, 2));
	weir__inject_finish(queue);
	weir__inject_close(queue);
	model_check(atomic_u32_load(&queue->state, RELAXED) == INJECT_FINISHED);
	model_check(!push_burst(0, 1));
	end_finished();
}

/* It waits for the other's push, where that hides its own. */
MODEL(inject_empty, "who has pushed takes out what it pushed", 3, 3)
{
	begin(8);
	model_thread("pusher", push_one, (void *)1);
	push_burst(0, 1);
	weir__inject_close(queue);
	weir__inject_empty(queue);
	rig_check_seen_from(0, next_of[0]);
	model_join_all();
	while (pop(4) > 0)
		;
	rig_check_seen_from(TASKS_EACH, next_of[1]);
	weir__inject_fini(queue);
	model_free(queue);
}
