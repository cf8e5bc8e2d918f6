/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The run queue of 4 places: no task is lost or taken twice, and each comes with
 * what its pusher wrote, whatever the owner and the thieves do.
 */

#include "kernel.h"
#include "model.h"
#include "queue/run_queue.h"
#include "rig.h"

static struct run_queue *queue;
static struct task *overflow[8];
static unsigned int nb_overflow;
static unsigned int pushed;

static struct run_queue *
make_queue(bool batches)
{
	struct run_queue *q = model_alloc(sizeof(*q));

	weir__run_queue_init(q, false, batches);
	model_exclusive(q->slots, sizeof(q->slots));
	return q;
}

/* The queue, with `first` as its first index and n tasks in it. */
static void
begin_with(struct run_queue *q, uint32_t first, unsigned int n)
{
	queue = q;
	atomic_u64_store(&queue->head, (uint64_t)first << 32 | first, RELAXED);
	atomic_u32_store(&queue->tail, first, RELAXED);
	/* R8: the owner looks. */
	model_check(weir__run_queue_room_owner(queue) == RUN_QUEUE_SIZE);
	nb_overflow = 0;
	while (n-- > 0)
		model_check(run_queue_push_owner(queue, rig_task(pushed++)));
}

static void
begin(uint32_t first, unsigned int n)
{
	begin_with(make_queue(false), first, n);
}

static void
push(void)
{
	struct task *t = rig_task(pushed++);

	model_check(nb_overflow + RUN_QUEUE_OVERFLOW <= RTE_DIM(overflow));
	if (!run_queue_push_owner(queue, t))
		nb_overflow += weir__run_queue_push_owner(
			queue, t, overflow + nb_overflow);
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

/* Runs what is in it. */
static void
drain(struct run_queue *q)
{
	while (pop(q))
		;
	model_free(q);
}

static void
steal(void *arg)
{
	struct run_queue *own = make_queue(false);
	unsigned int n = steal_to(queue, own);

	(void)arg;
	if (n > 0)
		model_check(weir__run_queue_len_any(own) == n - 1);
	drain(own);
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
	struct run_queue *own = make_queue(false);

	(void)arg;
	steal_to(second, own);
	drain(own);
}

static void
end(void)
{
	unsigned int i;

	model_join_all();
	for (i = 0; i < nb_overflow; i++)
		rig_see(overflow[i]);
	drain(queue);
	if (second != NULL)
		drain(second);
	rig_check_seen(pushed);
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
	second = make_queue(false);
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
	queue = make_queue(false);
	for (i = 0; i < 4; i++)
		push();
	second = first;
	model_thread("thief", steal_from_second, NULL);
	steal_to(queue, second);
	end();
}

/* The same with a batch of three, of which the first has been taken. */
static void
begin_batch(uint32_t first)
{
	begin_with(make_queue(true), first, 4);
	model_check(pop(queue));
	model_check(run_queue_batch(queue) == 2);
}

static void
recall(void *arg)
{
	struct run_queue *own = make_queue(false);
	unsigned int n = weir__run_queue_recall(queue, own);

	(void)arg;
	model_check(weir__run_queue_len_any(own) == n);
	drain(own);
}

MODEL(run_queue_recall,
      "an owner that takes from its batch beside who recalls it", 3, 3)
{
	begin_batch(0);
	model_thread("rescuer", recall, NULL);
	pop(queue);
	pop(queue);
	end();
}

MODEL(run_queue_recall_first, "a batch is recalled that has just been claimed",
      3, 3)
{
	begin_with(make_queue(true), 0, 0);
	model_thread("rescuer", recall, NULL);
	push();
	push();
	push();
	pop(queue);
	end();
}

MODEL(run_queue_recall_filled, "the slots of what is recalled are used again",
      3, 3)
{
	begin_batch(UINT32_MAX - 1);
	model_thread("rescuer", recall, NULL);
	push();
	pop(queue);
	push();
	push();
	end();
}

MODEL(run_queue_recall_next,
      "the owner has another batch before it is recalled", 3, 3)
{
	begin_batch(0);
	push();
	model_thread("rescuer", recall, NULL);
	pop(queue);
	pop(queue);
	pop(queue);
	pop(queue);
	end();
}

MODEL(run_queue_recall_two, "two recall a batch", 2, 2)
{
	begin_batch(0);
	model_thread("rescuer", recall, NULL);
	model_thread("other rescuer", recall, NULL);
	pop(queue);
	end();
}

MODEL(run_queue_recall_steal, "a thief beside who recalls a batch", 2, 2)
{
	begin_batch(0);
	model_thread("rescuer", recall, NULL);
	model_thread("thief", steal, NULL);
	push();
	pop(queue);
	push();
	end();
}

MODEL(run_queue_recall_refused, "there is no membarrier any more", 3, 3)
{
	kernel_options.membarrier = false;
	begin_batch(0);
	model_thread("rescuer", recall, NULL);
	pop(queue);
	pop(queue);
	model_join_all();
	/* Once there was something to recall there are no batches. */
	push();
	push();
	push();
	model_check(pop(queue));
	recall(NULL);
	model_check(pop(queue));
	model_check(atomic_u32_load(&queue->worth, RELAXED) ==
		    RUN_QUEUE_NO_BATCH);
	end();
}
