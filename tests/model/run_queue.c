/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The run queue of 4 places: no task is lost or taken twice, and each comes with
 * what its pusher wrote, whatever the owner and the thieves do.
 */

#include "model.h"
#include "queue/run_queue.h"
#include "rig.h"

static struct run_queue *queue;
static struct task_chain overflow;
static unsigned int pushed;

/* The queue, with `first` as its first index and n tasks in it. */
static void
begin(uint32_t first, unsigned int n)
{
	queue = model_alloc(sizeof(*queue));
	weir__run_queue_init(queue);
	atomic_u64_store(&queue->head, (uint64_t)first << 32 | first, RELAXED);
	atomic_u32_store(&queue->tail, first, RELAXED);
	model_exclusive(queue->slots, sizeof(queue->slots));
	task_chain_init(&overflow);
	while (n-- > 0)
		weir__run_queue_push_owner(queue, rig_task(pushed++),
					   &overflow);
}

static void
push(void)
{
	weir__run_queue_push_owner(queue, rig_task(pushed++), &overflow);
}

static bool
pop(struct run_queue *q)
{
	struct task *t = weir__run_queue_pop_owner(q);

	if (t != NULL)
		rig_see(t);
	return t != NULL;
}

static void
steal(void *arg)
{
	struct run_queue *own = model_alloc(sizeof(*own));
	unsigned int n = 0;
	struct task *t;

	(void)arg;
	weir__run_queue_init(own);
	t = weir__run_queue_steal(queue, own, &n);
	if (t != NULL) {
		rig_see(t);
		model_check(weir__run_queue_len_any(own) == n - 1);
	}
	while (pop(own))
		;
	model_free(own);
}

static void
end(void)
{
	struct task *t;

	model_join_all();
	while ((t = task_chain_pop(&overflow)) != NULL)
		rig_see(t);
	while (pop(queue))
		;
	rig_check_seen(pushed);
	model_free(queue);
}

MODEL(run_queue_steal, "two thieves beside an owner that pushes and pops", 2, 2)
{
	begin(0, 3);
	model_thread("thief", steal, NULL);
	model_thread("other thief", steal, NULL);
	push();
	pop(queue);
	push();
	pop(queue);
	end();
}

MODEL(run_queue_overflow, "an owner that overflows beside a thief", 3, 3)
{
	begin(0, 3);
	model_thread("thief", steal, NULL);
	push();
	push();
	push();
	pop(queue);
	end();
}

MODEL(run_queue_wrap, "the same while the indices wrap", 3, 3)
{
	begin(UINT32_MAX - 2, 3);
	model_thread("thief", steal, NULL);
	push();
	push();
	pop(queue);
	push();
	end();
}
