/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "queue/run_queue.h"
#include "refusal.h"
#include "rig.h"

#define SIZE RUN_QUEUE_SIZE
#define HALF (SIZE / 2)

/* A queue whose indices start at `first`, and whose owner may claim batches. */
static void
init_batches_at(struct run_queue *q, uint32_t first, bool batches)
{
	weir__run_queue_init(q, false, batches);
	atomic_u64_store(&q->head, (uint64_t)first << 32 | first, RELAXED);
	atomic_u32_store(&q->tail, first, RELAXED);
	/* R8: the owner looks. */
	assert_int_equal(weir__run_queue_room_owner(q), SIZE);
}

static void
init_at(struct run_queue *q, uint32_t first)
{
	init_batches_at(q, first, false);
}

/* As if a thief had claimed n tasks and were still copying them. */
static void
claim(struct run_queue *q, uint32_t n)
{
	uint64_t head = atomic_u64_load(&q->head, RELAXED);
	uint32_t real = (uint32_t)head + n;

	atomic_u64_store(&q->head, (head >> 32 << 32) | real, RELAXED);
}

/* As a worker does. Returns how many overflow. */
static unsigned int
push(struct run_queue *q, struct task *t, struct task **overflow)
{
	if (run_queue_push_owner(q, t))
		return 0;
	return weir__run_queue_push_owner(q, t, overflow);
}

/* Pushes tasks first to end - 1, which must fit. */
static void
push_all(struct run_queue *q, struct task *tasks, unsigned int first,
	 unsigned int end)
{
	struct task *overflow[RUN_QUEUE_OVERFLOW];

	for (; first < end; first++)
		assert_int_equal(push(q, &tasks[first], overflow), 0);
}

static void
expect_pops(struct run_queue *q, unsigned int first, unsigned int end)
{
	struct task *t;

	for (; first < end; first++) {
		t = run_queue_pop_owner(q);
		assert_non_null(t);
		assert_int_equal(task_id(t), first);
	}
}

/* The older half goes, and the new task, which has the id SIZE. */
static void
expect_overflow(struct run_queue *q, struct task *t)
{
	struct task *overflow[RUN_QUEUE_OVERFLOW];
	unsigned int i;

	assert_int_equal(push(q, t, overflow), HALF + 1);
	for (i = 0; i < HALF; i++)
		assert_int_equal(task_id(overflow[i]), i);
	assert_ptr_equal(overflow[HALF], t);
}

static void
check_order(bool alone, bool batches)
{
	struct task *tasks = rig_tasks(SIZE);
	struct run_queue q;

	weir__run_queue_init(&q, alone, batches);
	assert_null(run_queue_pop_owner(&q));
	assert_int_equal(weir__run_queue_room_owner(&q), SIZE);
	push_all(&q, tasks, 0, SIZE);
	assert_int_equal(weir__run_queue_len_any(&q), SIZE);
	assert_int_equal(weir__run_queue_room_owner(&q), 0);
	expect_pops(&q, 0, SIZE);
	assert_null(run_queue_pop_owner(&q));
	assert_int_equal(weir__run_queue_len_any(&q), 0);
	/* Places are used again. */
	push_all(&q, tasks, 0, 3);
	expect_pops(&q, 0, 3);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

static void
appends_in_order(void **state)
{
	struct task *tasks = rig_tasks(SIZE), *burst[HALF];
	struct run_queue q;
	unsigned int i;

	init_at(&q, 0 - 3);
	push_all(&q, tasks, 0, HALF);
	weir__run_queue_append_owner(&q, burst, 0);
	for (i = 0; i < HALF; i++)
		burst[i] = &tasks[HALF + i];
	weir__run_queue_append_owner(&q, burst, HALF);
	assert_int_equal(weir__run_queue_room_owner(&q), 0);
	expect_pops(&q, 0, SIZE);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

static void
is_first_in_first_out(void **state)
{
	check_order(false, false);
	/* R5 */
	check_order(true, false);
	/* R6 */
	check_order(false, true);
}

static void
check_overflow(bool alone)
{
	struct task *tasks = rig_tasks(SIZE + 1);
	struct run_queue q;

	weir__run_queue_init(&q, alone, false);
	push_all(&q, tasks, 0, SIZE);
	expect_overflow(&q, &tasks[SIZE]);
	assert_int_equal(weir__run_queue_room_owner(&q), HALF);
	expect_pops(&q, HALF, SIZE);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

static void
overflow_is_the_older_half_and_the_new_task(void **state)
{
	check_overflow(false);
	check_overflow(true);
}

static void
overflow_is_the_new_task_while_a_thief_copies(void **state)
{
	struct task *tasks = rig_tasks(SIZE + 1);
	struct task *overflow[RUN_QUEUE_OVERFLOW];
	struct run_queue q;

	weir__run_queue_init(&q, false, false);
	push_all(&q, tasks, 0, SIZE);
	claim(&q, HALF);
	/* R1: the thief's slots are not the owner's yet. */
	assert_int_equal(weir__run_queue_room_owner(&q), 0);
	assert_int_equal(weir__run_queue_len_any(&q), SIZE - HALF);
	assert_int_equal(push(&q, &tasks[SIZE], overflow), 1);
	assert_ptr_equal(overflow[0], &tasks[SIZE]);
	expect_pops(&q, HALF, SIZE);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

static void
thieves_come_one_at_a_time(void **state)
{
	struct task *tasks = rig_tasks(8);
	struct run_queue q, dst;
	unsigned int n = 77;

	weir__run_queue_init(&q, false, false);
	weir__run_queue_init(&dst, false, false);
	push_all(&q, tasks, 0, 8);
	claim(&q, 1);
	/* R2 */
	assert_null(weir__run_queue_steal(&q, &dst, &n));
	assert_int_equal(n, 77);
	assert_int_equal(weir__run_queue_len_any(&dst), 0);
	/* The owner goes on meanwhile. */
	expect_pops(&q, 1, 8);
	free(tasks);
}

static void
steal_takes_half_rounded_up(void **state)
{
	struct task *tasks = rig_tasks(SIZE), *t;
	struct run_queue q, dst;
	unsigned int len, half, n;

	for (len = 1; len <= SIZE; len++) {
		half = (len + 1) / 2;
		init_at(&q, len * 1000);
		init_at(&dst, len * 77);
		push_all(&q, tasks, 0, len);
		t = weir__run_queue_steal(&q, &dst, &n);
		assert_non_null(t);
		assert_int_equal(n, half);
		assert_int_equal(task_id(t), half - 1);
		expect_pops(&dst, 0, half - 1);
		assert_null(run_queue_pop_owner(&dst));
		/* The claim has ended: all of the room is back. */
		assert_int_equal(weir__run_queue_room_owner(&q),
				 SIZE - (len - half));
		expect_pops(&q, half, len);
		assert_null(run_queue_pop_owner(&q));
	}
	free(tasks);
}

static void
steal_of_nothing_takes_nothing(void **state)
{
	struct run_queue q, dst;
	unsigned int n = 77;

	weir__run_queue_init(&q, false, false);
	weir__run_queue_init(&dst, false, false);
	assert_null(weir__run_queue_steal(&q, &dst, &n));
	assert_int_equal(n, 77);
}

static void
steal_refuses_when_the_thief_has_no_room(void **state)
{
	struct task *tasks = rig_tasks(2 * SIZE);
	struct run_queue q, dst;
	unsigned int n;

	weir__run_queue_init(&q, false, false);
	weir__run_queue_init(&dst, false, false);
	push_all(&q, tasks, 0, SIZE);
	push_all(&dst, tasks, SIZE, SIZE + HALF + 1);
	assert_null(weir__run_queue_steal(&q, &dst, &n));
	assert_int_equal(weir__run_queue_len_any(&q), SIZE);
	/* Slots that another thief still copies are no room either. */
	claim(&dst, HALF);
	assert_null(weir__run_queue_steal(&q, &dst, &n));

	init_at(&dst, 0);
	push_all(&dst, tasks, SIZE, SIZE + HALF);
	assert_int_equal(task_id(weir__run_queue_steal(&q, &dst, &n)),
			 HALF - 1);
	assert_int_equal(n, HALF);
	assert_int_equal(weir__run_queue_len_any(&dst), SIZE - 1);
	free(tasks);
}

static void
indices_wrap(void **state)
{
	struct task *tasks = rig_tasks(SIZE + 1);
	struct run_queue q, dst;
	unsigned int back, n;

	for (back = 0; back <= SIZE + 1; back += 13) {
		init_at(&q, 0 - back);
		init_at(&dst, 0 - back / 2);
		push_all(&q, tasks, 0, SIZE);
		assert_int_equal(weir__run_queue_len_any(&q), SIZE);
		expect_overflow(&q, &tasks[SIZE]);
		assert_non_null(weir__run_queue_steal(&q, &dst, &n));
		assert_int_equal(n, HALF / 2);
		expect_pops(&dst, HALF, HALF + n - 1);
		expect_pops(&q, HALF + n, SIZE);
		assert_null(run_queue_pop_owner(&q));
		assert_int_equal(weir__run_queue_room_owner(&q), SIZE);
	}
	free(tasks);
}

#define BATCH RUN_QUEUE_BATCH

/* A queue of n tasks, the first of which has been taken with a batch. */
static void
begin_batch(struct run_queue *q, struct task *tasks, unsigned int n)
{
	init_batches_at(q, 0u - n / 2, true);
	push_all(q, tasks, 0, n);
	expect_pops(q, 0, 1);
	assert_int_equal(run_queue_batch(q), BATCH - 1);
	assert_int_equal(weir__run_queue_len_any(q), n - BATCH);
	assert_int_equal(run_queue_len_owner(q), n - 1);
	assert_int_equal(weir__run_queue_room_owner(q), SIZE - (n - 1));
}

/* Of any number of tasks, where the owner has so many turns in next to no time. */
static void
expect_shares(struct task *tasks, uint64_t turns, unsigned int part,
	      unsigned int most)
{
	unsigned int n, share;
	struct run_queue q;

	for (n = 1; n <= SIZE; n++) {
		init_batches_at(&q, 0, true);
		weir__run_queue_expect_owner(&q, turns);
		push_all(&q, tasks, 0, n);
		expect_pops(&q, 0, 1);
		share = RTE_MIN(n / part, most);
		assert_int_equal(run_queue_batch(&q),
				 share > 1 ? share - 1 : 0);
		expect_pops(&q, 1, n);
		assert_null(run_queue_pop_owner(&q));
		assert_int_equal(run_queue_len_owner(&q), 0);
	}
}

static void
batches_are_a_share_of_the_queue(void **state)
{
	struct task *tasks = rig_tasks(SIZE);

	expect_shares(tasks, 0, 4, 8);
	expect_shares(tasks, 8, 4, 8);
	expect_shares(tasks, 9, 2, 9);
	expect_shares(tasks, 32, 2, 32);
	expect_shares(tasks, UINT64_MAX, 2, 32);
	free(tasks);
}

/* What is claimed where turns are short comes back as one that is small. */
static void
a_large_batch_is_recalled(void **state)
{
	struct task *tasks = rig_tasks(SIZE);
	const unsigned int n = SIZE, most = RUN_QUEUE_BATCH_SHORT;
	struct run_queue q, dst;

	rig_need_membarrier();
	init_batches_at(&q, 0u - n / 2, true);
	weir__run_queue_expect_owner(&q, UINT64_MAX);
	push_all(&q, tasks, 0, n);
	expect_pops(&q, 0, 1);
	init_at(&dst, 7);
	assert_int_equal(weir__run_queue_recall(&q, &dst), most - 1);
	expect_pops(&dst, 1, most);
	assert_null(run_queue_pop_owner(&dst));
	expect_pops(&q, most, n);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

/* It may be as large when the queue is full: the older half goes, and it first. */
static void
a_large_batch_goes_with_what_is_older(void **state)
{
	struct task *overflow[RUN_QUEUE_OVERFLOW];
	struct task *tasks = rig_tasks(SIZE + 2);
	struct run_queue q;
	unsigned int n, i;

	init_batches_at(&q, 0, true);
	weir__run_queue_expect_owner(&q, UINT64_MAX);
	push_all(&q, tasks, 0, SIZE);
	expect_pops(&q, 0, 1);
	push_all(&q, tasks, SIZE, SIZE + 1);
	n = weir__run_queue_push_owner(&q, &tasks[SIZE + 1], overflow);
	assert_int_equal(n, HALF + 1);
	for (i = 0; i < HALF; i++)
		assert_ptr_equal(overflow[i], &tasks[1 + i]);
	assert_ptr_equal(overflow[HALF], &tasks[SIZE + 1]);
	expect_pops(&q, 1 + HALF, SIZE + 1);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

/* No thief gets what is claimed; the order stays. */
static void
thieves_leave_the_batch(void **state)
{
	struct task *tasks = rig_tasks(SIZE);
	const unsigned int n = 4 * BATCH, half = (n - BATCH) / 2;
	struct run_queue q, dst;
	unsigned int stolen;

	begin_batch(&q, tasks, n);
	init_at(&dst, 0);
	assert_int_equal(task_id(weir__run_queue_steal(&q, &dst, &stolen)),
			 BATCH + half - 1);
	assert_int_equal(stolen, half);
	expect_pops(&dst, BATCH, BATCH + half - 1);
	expect_pops(&q, 1, BATCH);
	expect_pops(&q, BATCH + half, n);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

/* Behind a batch slots do not come free: it goes first, if they are needed. */
static void
overflow_begins_with_the_batch(void **state)
{
	struct task *tasks = rig_tasks(SIZE + 2);
	struct task *overflow[RUN_QUEUE_OVERFLOW];
	struct run_queue q;
	unsigned int i;

	begin_batch(&q, tasks, SIZE);
	push_all(&q, tasks, SIZE, SIZE + 1);
	assert_int_equal(push(&q, &tasks[SIZE + 1], overflow), HALF + 1);
	for (i = 0; i < HALF; i++)
		assert_int_equal(task_id(overflow[i]), 1 + i);
	assert_ptr_equal(overflow[HALF], &tasks[SIZE + 1]);
	assert_int_equal(weir__run_queue_room_owner(&q), SIZE - HALF);
	expect_pops(&q, 1 + HALF, SIZE + 1);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

static void
overflow_is_the_batch_if_thieves_have_taken_enough(void **state)
{
	struct task *tasks = rig_tasks(2 * SIZE);
	struct task *overflow[RUN_QUEUE_OVERFLOW];
	struct run_queue q, dst;
	unsigned int i, n;

	begin_batch(&q, tasks, SIZE);
	init_at(&dst, 0);
	assert_non_null(weir__run_queue_steal(&q, &dst, &n));
	assert_int_equal(weir__run_queue_room_owner(&q), 1);
	push_all(&q, tasks, SIZE, SIZE + 1);
	assert_int_equal(push(&q, &tasks[SIZE + 1], overflow), BATCH - 1);
	for (i = 0; i < BATCH - 1; i++)
		assert_int_equal(task_id(overflow[i]), 1 + i);
	assert_int_equal(weir__run_queue_room_owner(&q), BATCH + n - 2);
	expect_pops(&q, BATCH + n, SIZE + 2);
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

/* R9: or a thief would see a batch there again, once indices have wrapped. */
static void
end_of_the_last_batch_moves_on(void **state)
{
	struct task *tasks = rig_tasks(4 * BATCH);
	struct run_queue q;
	unsigned int i;

	begin_batch(&q, tasks, 4 * BATCH);
	expect_pops(&q, 1, 4 * BATCH);
	for (i = 0; i < 100 * SIZE; i++) {
		push_all(&q, tasks, 0, 1);
		expect_pops(&q, 0, 1);
		assert_int_equal(run_queue_batch(&q), 0);
		assert_true(run_queue_tail_owner(&q) -
				    atomic_u32_load(&q.limit, RELAXED) <=
			    2 * SIZE);
		assert_int_equal(atomic_u32_load(&q.limit, RELAXED),
				 atomic_u32_load(&q.next, RELAXED));
	}
	free(tasks);
}

static void
recall_takes_what_is_left_of_a_batch(void **state)
{
	struct task *tasks = rig_tasks(SIZE + 1);
	struct run_queue q, dst;

	rig_need_membarrier();
	begin_batch(&q, tasks, SIZE);
	init_at(&dst, 7);
	expect_pops(&q, 1, 3);
	assert_int_equal(weir__run_queue_recall(&q, &dst), BATCH - 3);
	assert_int_equal(run_queue_batch(&q), 0);
	assert_int_equal(run_queue_len_owner(&q), SIZE - BATCH);
	assert_int_equal(weir__run_queue_recall(&q, &dst), 0);
	expect_pops(&dst, 3, BATCH);
	assert_null(run_queue_pop_owner(&dst));
	/* The slots are in use until the owner has seen it. */
	assert_int_equal(weir__run_queue_room_owner(&q), 3);
	expect_pops(&q, BATCH, BATCH + 1);
	assert_int_equal(weir__run_queue_room_owner(&q), BATCH + 1);
	expect_pops(&q, BATCH + 1, SIZE);
	assert_null(run_queue_pop_owner(&q));
	assert_int_equal(weir__run_queue_recall(&q, &dst), 0);
	free(tasks);
}

/* Nobody could take another back. */
static void
batch_that_cannot_be_recalled_is_the_last(void **state)
{
	struct task *tasks = rig_tasks(SIZE);
	struct run_queue q, dst;
	unsigned int n;

	rig_need_membarrier();
	begin_batch(&q, tasks, SIZE);
	init_at(&dst, 0);
	membarrier_refused = true;
	n = weir__run_queue_recall(&q, &dst);
	membarrier_refused = false;
	assert_int_equal(n, 0);
	expect_pops(&q, 1, BATCH);
	for (n = BATCH; n < SIZE; n++) {
		expect_pops(&q, n, n + 1);
		assert_int_equal(run_queue_batch(&q), 0);
	}
	assert_null(run_queue_pop_owner(&q));
	free(tasks);
}

static void
recall_refuses_when_there_is_no_room(void **state)
{
	struct task *tasks = rig_tasks(2 * SIZE);
	struct run_queue q, dst;

	rig_need_membarrier();
	begin_batch(&q, tasks, SIZE);
	init_at(&dst, 0);
	push_all(&dst, tasks, SIZE, 2 * SIZE - RUN_QUEUE_BATCH_SHORT + 1);
	assert_int_equal(weir__run_queue_recall(&q, &dst), 0);
	expect_pops(&dst, SIZE, SIZE + 1);
	assert_int_equal(weir__run_queue_recall(&q, &dst), BATCH - 1);
	free(tasks);
}

/* Such an owner claims one by one. */
static void
nothing_is_recalled_where_there_are_no_batches(void **state)
{
	struct task *tasks = rig_tasks(SIZE);
	struct run_queue q, dst;

	init_at(&q, 0);
	init_at(&dst, 0);
	push_all(&q, tasks, 0, SIZE);
	expect_pops(&q, 0, 1);
	assert_int_equal(run_queue_batch(&q), 0);
	assert_int_equal(weir__run_queue_recall(&q, &dst), 0);
	expect_pops(&q, 1, SIZE);
	free(tasks);
}

#define STRESS_TASKS 200000u
#define THIEVES 3

/* Tasks go from hand to hand; each must be seen by one thread, once. */
struct stress {
	struct run_queue owner;
	struct run_queue thieves[THIEVES];
	struct atomic_u32 next_thief;
	struct atomic_u32 pushed_all;
	struct atomic_u32 *seen;
	struct task *tasks;
	uint64_t seed;
	struct atomic_u32 stolen;
	struct atomic_u32 recalled;
};

static void
saw(struct stress *s, const struct task *t)
{
	rig_add(&s->seen[task_id(t)], 1);
}

static void *
be_owner(struct stress *s)
{
	struct task *overflow[RUN_QUEUE_OVERFLOW];
	struct rand_state r;
	unsigned int i = 0, burst, n;
	struct task *t;

	rand_seed(&r, s->seed);
	while (i < STRESS_TASKS) {
		for (burst = rand_below(&r, 40); burst > 0; burst--) {
			if (i == STRESS_TASKS)
				break;
			n = push(&s->owner, &s->tasks[i++], overflow);
			while (n > 0)
				saw(s, overflow[--n]);
		}
		for (burst = rand_below(&r, 20); burst > 0; burst--) {
			t = run_queue_pop_owner(&s->owner);
			if (t != NULL)
				saw(s, t);
		}
		if (rand_below(&r, 64) == 0)
			sched_yield();
	}
	while ((t = run_queue_pop_owner(&s->owner)) != NULL)
		saw(s, t);
	rig_set(&s->pushed_all, 1);
	return NULL;
}

static void *
be_owner_or_thief(void *arg)
{
	struct stress *s = arg;
	unsigned int index, victim, n;
	struct run_queue *mine;
	struct rand_state r;
	struct task *t;
	bool last;

	index = atomic_u32_fetch_add(&s->next_thief, 1, RELAXED);
	if (index == THIEVES)
		return be_owner(s);
	mine = &s->thieves[index];
	rand_seed(&r, s->seed + index + 1);
	do {
		last = rig_get(&s->pushed_all);
		/* Now and then from another thief. */
		victim = rand_below(&r, 4 * THIEVES);
		t = weir__run_queue_steal(victim < THIEVES && victim != index ?
						  &s->thieves[victim] :
						  &s->owner,
					  mine, &n);
		if (t != NULL) {
			saw(s, t);
			rig_add(&s->stolen, n);
		}
		/* Leave some, so that there is something to steal. */
		while (run_queue_len_owner(mine) > (last ? 0 : 8)) {
			t = run_queue_pop_owner(mine);
			if (t != NULL)
				saw(s, t);
		}
		n = 0;
		if (rand_below(&r, 4) == 0)
			n = weir__run_queue_recall(&s->owner, mine);
		rig_add(&s->recalled, n);
		if (t == NULL && n == 0)
			sched_yield();
	} while (!last);
	return NULL;
}

static void
owner_and_thieves_see_each_task_once(void **state)
{
	struct stress *s;
	unsigned int i;

	s = aligned_alloc(WEIR_CACHE_LINE, RTE_ALIGN(sizeof(*s), 64));
	assert_non_null(s);
	memset(s, 0, sizeof(*s));
	s->seed = unit_seed();
	s->tasks = rig_tasks(STRESS_TASKS);
	s->seen = calloc(STRESS_TASKS, sizeof(*s->seen));
	/* Across the wrap, about half way. */
	init_batches_at(&s->owner, 0 - STRESS_TASKS / 2, rig_has_membarrier());
	for (i = 0; i < THIEVES; i++)
		init_at(&s->thieves[i], 0 - STRESS_TASKS / 100);
	rig_threads(THIEVES + 1, be_owner_or_thief, s);
	for (i = 0; i < STRESS_TASKS; i++)
		assert_int_equal(rig_get(&s->seen[i]), 1);
	print_message("# %u stolen, %u recalled\n", rig_get(&s->stolen),
		      rig_get(&s->recalled));
	free(s->seen);
	free(s->tasks);
	free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_first_in_first_out),
		cmocka_unit_test(appends_in_order),
		cmocka_unit_test(overflow_is_the_older_half_and_the_new_task),
		cmocka_unit_test(overflow_is_the_new_task_while_a_thief_copies),
		cmocka_unit_test(thieves_come_one_at_a_time),
		cmocka_unit_test(steal_takes_half_rounded_up),
		cmocka_unit_test(steal_of_nothing_takes_nothing),
		cmocka_unit_test(steal_refuses_when_the_thief_has_no_room),
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(batches_are_a_share_of_the_queue),
		cmocka_unit_test(a_large_batch_is_recalled),
		cmocka_unit_test(a_large_batch_goes_with_what_is_older),
		cmocka_unit_test(thieves_leave_the_batch),
		cmocka_unit_test(overflow_begins_with_the_batch),
		cmocka_unit_test(
			overflow_is_the_batch_if_thieves_have_taken_enough),
		cmocka_unit_test(end_of_the_last_batch_moves_on),
		cmocka_unit_test(recall_takes_what_is_left_of_a_batch),
		cmocka_unit_test(batch_that_cannot_be_recalled_is_the_last),
		cmocka_unit_test(recall_refuses_when_there_is_no_room),
		cmocka_unit_test(
			nothing_is_recalled_where_there_are_no_batches),
		cmocka_unit_test(owner_and_thieves_see_each_task_once),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
