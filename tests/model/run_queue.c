/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The run queue of 4 places: no task is lost or taken twice, and each comes with
 * what its pusher wrote, whatever the owner and the thieves do.
 */

#include "model.h"
#include "queue/run_queue.h"
#include "rig.h"

static struct run_queue *queue;
static struct task *overflow[8];
static unsigned int nb_overflow;
static unsigned int pushed;

static struct run_queue *
make_queue(void)
{
	struct run_queue *q = model_alloc(sizeof(*q));

	weir__run_queue_init(q, false);
	model_exclusive(q->slots, sizeof(q->slots));
	return q;
}

/* The queue, with `first` as its first index and n tasks in it. */
static void
begin(uint32_t first, unsigned int n)
{
	queue = make_queue();
	atomic_u64_store(&queue->head, (uint64_t)first << 32 | first, RELAXED);
	atomic_u32_store(&queue->tail, first, RELAXED);
	nb_overflow = 0;
	while (n-- > 0)
		model_check(run_queue_push_owner(queue, rig_task(pushed++)));
}

static void
push(void)
{
	model_check(nb_overflow + RUN_QUEUE_OVERFLOW <= RTE_DIM(overflow));
	nb_overflow += weir__run_queue_push_owner(queue, rig_task(pushed++),
						  overflow + nb_overflow);
}

static bool
pop(struct run_queue *q)
{
	struct task *t = run_queue_pop_owner(q);

	if (t != NULL)
		rig_see(t);
	return t != NULL;
}

/* From `from` to `to`; returns how many. */
static unsigned int
steal_to(struct run_queue *from, struct run_queue *to)
{
	unsigned int n = 0;
	struct task *t = weir__run_queue_steal(from, to, &n);

	if (t != NULL)
		rig_see(t);
	return n;
}

static void
steal(void *arg)
{
	struct run_queue *own = model_alloc(sizeof(*own));
	unsigned int n;

	(void)arg;
	weir__run_queue_init(own, false);
	n = steal_to(queue, own);
	if (n > 0)
		model_check(weir__run_queue_len_any(own) == n - 1);
	while (pop(own))
		;
	model_free(own);
}

/* A worker that steals from the first queue, and is stolen from. */
static struct run_queue *second;

static void
steal_to_second(void *arg)
{
	(void)arg;
	steal_to(queue, second);
	pop(second);
}

static void
steal_from_second(void *arg)
{
	struct run_queue *own = model_alloc(sizeof(*own));

	(void)arg;
	weir__run_queue_init(own, false);
	steal_to(second, own);
	while (pop(own))
		;
	model_free(own);
}

static void
end(void)
{
	unsigned int i;

	model_join_all();
	for (i = 0; i < nb_overflow; i++)
		rig_see(overflow[i]);
	while (pop(queue))
		;
	while (second != NULL && pop(second))
		;
	rig_check_seen(pushed);
	model_free(queue);
	model_free(second);
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

MODEL(run_queue_first, "a thief takes what was just pushed", 3, 3)
{
	begin(0, 0);
	model_thread("thief", steal, NULL);
	push();
	push();
	pop(queue);
	end();
}

MODEL(run_queue_appended, "a thief takes what was just appended", 3, 3)
{
	struct task *burst[3];
	unsigned int i;

	begin(0, 1);
	model_thread("thief", steal, NULL);
	pop(queue);
	for (i = 0; i < RTE_DIM(burst); i++)
		burst[i] = rig_task(pushed++);
	weir__run_queue_append_owner(queue, burst, RTE_DIM(burst));
	pop(queue);
	end();
}

MODEL(run_queue_passed_on, "a thief is stolen from", 3, 3)
{
	second = make_queue();
	begin(0, 3);
	model_thread("thief", steal_to_second, NULL);
	model_thread("other thief", steal_from_second, NULL);
	push();
	end();
}

/*
 * Two tasks of the second queue are copied out while its owner steals more than
 * one into the places that they had.
 */
MODEL(run_queue_refilled, "a thief steals into a queue that is copied from", 3,
      3)
{
	struct run_queue *first;
	unsigned int i;

	begin(0, 4);
	first = queue;
	queue = make_queue();
	for (i = 0; i < 4; i++)
		push();
	second = first;
	model_thread("thief", steal_from_second, NULL);
	steal_to(queue, second);
	end();
}
