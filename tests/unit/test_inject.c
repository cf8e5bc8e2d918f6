/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "queue/inject.h"
#include "rig.h"

#define RING 64
/* What a ring of that size holds. */
#define RING_TASKS (RING - 1)

static void
init(struct inject *q)
{
	assert_int_equal(weir__inject_init(q, "inject", RING, 0), 0);
}

static bool
push_burst(struct inject *q, struct task *tasks, unsigned int first,
	   unsigned int end)
{
	struct task **burst = calloc(end - first + 1, sizeof(burst[0]));
	unsigned int n;
	bool pushed;

	assert_non_null(burst);
	for (n = 0; first + n < end; n++)
		burst[n] = &tasks[first + n];
	pushed = weir__inject_push(q, burst, n);
	free(burst);
	return pushed;
}

static void
push_each(struct inject *q, struct task *tasks, unsigned int first,
	  unsigned int end)
{
	for (; first < end; first++)
		assert_true(push_burst(q, tasks, first, first + 1));
}

/*
 * Pops `step` at a time, and expects first to end - 1 in order. Returns how often there
 * were none (I6).
 */
static unsigned int
expect_pops(struct inject *q, unsigned int first, unsigned int end,
	    unsigned int step)
{
	struct task *tasks[2 * RING];
	unsigned int i, n, none = 0;

	while (first < end) {
		n = weir__inject_pop(q, tasks, RTE_MIN(step, end - first));
		for (i = 0; i < n; i++)
			assert_int_equal(task_id(tasks[i]), first++);
		if (n > 0)
			continue;
		none++;
		assert_true(inject_pending(q));
		assert_uint_in_range(none, 1, (end - first) / CHAIN_STEPS);
	}
	return none;
}

static void
expect_empty(struct inject *q)
{
	struct task *t;

	assert_int_equal(weir__inject_len(q), 0);
	assert_int_equal(weir__inject_pop(q, &t, 1), 0);
}

static void
ring_keeps_order(void **state)
{
	struct task *tasks = rig_tasks(RING_TASKS);
	struct inject q;

	init(&q);
	expect_empty(&q);
	push_each(&q, tasks, 0, RING_TASKS);
	assert_int_equal(weir__inject_len(&q), RING_TASKS);
	expect_pops(&q, 0, RING_TASKS, 7);
	expect_empty(&q);
	weir__inject_fini(&q);
	free(tasks);
}

static void
spilling_keeps_order(void **state)
{
	const unsigned int n = 5 * RING;
	struct task *tasks = rig_tasks(n);
	unsigned int step;
	struct inject q;

	init(&q);
	for (step = 1; step < 2 * RING; step += 9) {
		push_each(&q, tasks, 0, n);
		assert_int_equal(weir__inject_len(&q), n);
		expect_pops(&q, 0, n, step);
		expect_empty(&q);
	}
	weir__inject_fini(&q);
	free(tasks);
}

/*
 * Pushes those at such lines of memory at once, and pops them. All of them go to the
 * list, since one task fills the ring.
 */
static void
push_at(struct inject *q, struct task *filler, char *memory,
	const unsigned int *lines, unsigned int n)
{
	struct task *burst[2 * RING], *first;
	unsigned int i;

	for (i = 0; i < n; i++) {
		burst[i] = (struct task *)(memory +
					   (size_t)lines[i] * WEIR_CACHE_LINE);
		memset(burst[i], 0, offsetof(struct task, bytes));
		atomic_u64_store(&burst[i]->id, i, RELAXED);
	}
	assert_true(weir__inject_push(q, &filler, 1));
	assert_true(weir__inject_push(q, burst, n));
	assert_int_equal(weir__inject_pop(q, &first, 1), 1);
	assert_ptr_equal(first, filler);
	expect_pops(q, 0, n, n);
	expect_empty(q);
}

/* A batch of the list reaches so many lines of memory on either side. */
static void
tasks_that_lie_apart_keep_their_order(void **state)
{
	enum {
		REACH = INT16_MAX,
		MIDDLE = REACH + 2,
		LINES = 2 * MIDDLE
	};
	const unsigned int pairs[][2] = { { MIDDLE, MIDDLE + REACH },
					  { MIDDLE, MIDDLE + REACH + 1 },
					  { MIDDLE, MIDDLE - REACH - 1 },
					  { MIDDLE, MIDDLE - REACH - 2 } };
	unsigned int lines[2 * RING], i, j, k, line;
	struct rand_state r;
	struct task *filler;
	struct inject q;
	char *memory;

	rand_seed(&r, unit_seed());
	memory =
		aligned_alloc(WEIR_CACHE_LINE, (size_t)LINES * WEIR_CACHE_LINE);
	assert_non_null(memory);
	filler = rig_tasks(1);
	assert_int_equal(weir__inject_init(&q, "full", 2, 0), 0);
	for (i = 0; i < RTE_DIM(pairs); i++)
		push_at(&q, filler, memory, pairs[i], 2);
	for (k = 0; k < 1000; k++) {
		/* Each in a part of its own, so that no two are the same. */
		for (i = 0; i < RTE_DIM(lines); i++)
			lines[i] = i * (LINES / RTE_DIM(lines)) +
				   rand_below(&r, LINES / RTE_DIM(lines));
		for (i = RTE_DIM(lines) - 1; i > 0; i--) {
			j = rand_below(&r, i + 1);
			line = lines[i];
			lines[i] = lines[j];
			lines[j] = line;
		}
		push_at(&q, filler, memory, lines,
			1 + rand_below(&r, RTE_DIM(lines)));
	}
	weir__inject_fini(&q);
	free(filler);
	free(memory);
}

/* I6: each pop takes so many steps, and what is pushed meanwhile comes behind. */
static void
long_list_is_turned_a_part_at_a_time(void **state)
{
	const unsigned int parts[] = { 1, 2, 7 };
	const unsigned int most = RING_TASKS + 7 * CHAIN_STEPS;
	struct task *tasks = rig_tasks(most + 2 * RING), *none;
	unsigned int i, n;
	struct inject q;

	init(&q);
	for (i = 0; i < RTE_DIM(parts); i++) {
		n = RING_TASKS + parts[i] * CHAIN_STEPS;
		push_each(&q, tasks, 0, n);
		assert_int_equal(expect_pops(&q, 0, RING_TASKS, RING_TASKS), 0);
		assert_int_equal(expect_pops(&q, RING_TASKS, n, RING),
				 parts[i] - 1);
		expect_empty(&q);
		/* One more than that many parts. */
		push_each(&q, tasks, 0, n + 1);
		expect_pops(&q, 0, RING_TASKS, RING_TASKS);
		assert_int_equal(weir__inject_pop(&q, &none, 1), 0);
		assert_int_equal(weir__inject_len(&q), n + 1 - RING_TASKS);
		push_each(&q, tasks, n + 1, n + RING);
		assert_int_equal(expect_pops(&q, RING_TASKS, n + RING, RING),
				 parts[i] - 1);
		expect_empty(&q);
	}
	weir__inject_fini(&q);
	free(tasks);
}

/* A burst is one step, as far as its tasks lie near each other. */
static void
bursts_are_turned_in_one_step(void **state)
{
	const unsigned int n = 4 * CHAIN_STEPS;
	struct task *tasks = rig_tasks(n);
	struct inject q;

	init(&q);
	assert_true(push_burst(&q, tasks, 0, n / 2));
	assert_true(push_burst(&q, tasks, n / 2, n));
	assert_int_equal(expect_pops(&q, 0, n, RING), 0);
	expect_empty(&q);
	weir__inject_fini(&q);
	free(tasks);
}

static void
finish_drops_a_list_that_is_being_turned(void **state)
{
	const unsigned int n = RING_TASKS + 3 * CHAIN_STEPS;
	struct task *tasks = rig_tasks(n), *none;
	struct inject q;

	init(&q);
	push_each(&q, tasks, 0, n);
	expect_pops(&q, 0, RING_TASKS, RING_TASKS);
	assert_int_equal(weir__inject_pop(&q, &none, 1), 0);
	weir__inject_close(&q);
	weir__inject_finish(&q);
	expect_empty(&q);
	rig_expect_refs(tasks, 0, RING_TASKS, 2);
	rig_expect_refs(tasks, RING_TASKS, n, 1);
	weir__inject_fini(&q);
	free(tasks);
}

/* I2: the ring has room again, but what is spilled is older. */
static void
pushes_go_behind_what_is_spilled(void **state)
{
	const unsigned int n = 6 * RING;
	struct task *tasks = rig_tasks(n);
	struct inject q;

	init(&q);
	push_each(&q, tasks, 0, 2 * RING);
	expect_pops(&q, 0, RING, 10);
	push_each(&q, tasks, 2 * RING, 3 * RING);
	expect_pops(&q, RING, 2 * RING + 5, 10);
	assert_true(push_burst(&q, tasks, 3 * RING, 5 * RING));
	expect_pops(&q, 2 * RING + 5, 5 * RING, 10);
	expect_empty(&q);
	push_each(&q, tasks, 5 * RING, n);
	expect_pops(&q, 5 * RING, n, 10);
	expect_empty(&q);
	weir__inject_fini(&q);
	free(tasks);
}

static void
bursts_may_be_larger_than_the_ring(void **state)
{
	const unsigned int sizes[] = { 1,	   31,	 32,	      33,
				       RING_TASKS, RING, 3 * RING + 5 };
	struct task *tasks = rig_tasks(4 * RING);
	unsigned int i, before;
	struct inject q;

	init(&q);
	for (i = 0; i < RTE_DIM(sizes); i++) {
		for (before = 0; before < 40; before += 13) {
			push_each(&q, tasks, 0, before);
			assert_true(push_burst(&q, tasks, before,
					       before + sizes[i]));
			assert_int_equal(weir__inject_len(&q),
					 before + sizes[i]);
			expect_pops(&q, 0, before + sizes[i], 17);
			expect_empty(&q);
		}
	}
	weir__inject_fini(&q);
	free(tasks);
}

static void
empty_burst_is_pushed_even_when_closed(void **state)
{
	struct inject q;

	init(&q);
	assert_true(push_burst(&q, NULL, 0, 0));
	weir__inject_close(&q);
	assert_true(push_burst(&q, NULL, 0, 0));
	expect_empty(&q);
	weir__inject_fini(&q);
}

static void
close_refuses_pushes_and_lets_pop(void **state)
{
	struct task *tasks = rig_tasks(3 * RING);
	struct inject q;

	init(&q);
	push_each(&q, tasks, 0, 2 * RING);
	weir__inject_close(&q);
	assert_false(push_burst(&q, tasks, 2 * RING, 3 * RING));
	/* The burst still is the caller's. */
	assert_null(tasks[2 * RING].next);
	expect_pops(&q, 0, 2 * RING, 10);
	expect_empty(&q);
	weir__inject_fini(&q);
	free(tasks);
}

static void
finish_drops_what_is_left(void **state)
{
	struct task *tasks = rig_tasks(3 * RING);
	struct inject q;

	init(&q);
	push_each(&q, tasks, 0, 2 * RING);
	expect_pops(&q, 0, 10, 10);
	weir__inject_close(&q);
	weir__inject_finish(&q);
	expect_empty(&q);
	rig_expect_refs(tasks, 0, 10, 2);
	rig_expect_refs(tasks, 10, 2 * RING, 1);
	/* Finished is closed, and stays so. */
	weir__inject_close(&q);
	assert_false(push_burst(&q, tasks, 2 * RING, 3 * RING));
	rig_expect_refs(tasks, 2 * RING, 3 * RING, 2);
	weir__inject_fini(&q);
	free(tasks);
}

static void
init_tells_why_it_failed(void **state)
{
	struct inject q, same;

	init(&q);
	assert_int_equal(weir__inject_init(&same, "inject", RING, 0), -EEXIST);
	assert_int_equal(weir__inject_init(&same, "other", RING - 1, 0),
			 -EINVAL);
	weir__inject_fini(&q);
	/* Of one that was not made as well. */
	same.ring = NULL;
	weir__inject_fini(&same);
}

#define PUSHERS 16
#define POPPERS 4
#define EACH 4000u
#define INTERRUPTED_PUSHES 10u

struct stress {
	struct inject q;
	struct task *tasks;
	struct atomic_u32 *seen;
	struct atomic_u32 next;
	struct atomic_u32 popped;
	uint64_t seed;
	/* For those who are interrupted. */
	bool disturbed;
	pthread_t pushers[PUSHERS];
	struct atomic_u32 ready;
	struct atomic_u32 quiet;
};

/* Is this thread in the middle of a push? For its signal handler. */
static __thread bool in_push;

static void
push_mine(struct stress *s, unsigned int index)
{
	unsigned int i = index * EACH, end = i + EACH, n;
	struct rand_state r;

	rand_seed(&r, s->seed + index);
	while (i < end) {
		n = rand_below(&r, 8) == 0 ? rand_below(&r, 3 * RING) : 1;
		n = RTE_MIN(n, end - i);
		in_push = true;
		if (!push_burst(&s->q, s->tasks, i, i + n))
			abort();
		in_push = false;
		i += n;
	}
}

static void
pop_many(struct stress *s, unsigned int index)
{
	struct task *tasks[RING];
	struct rand_state r;
	unsigned int i, n;

	rand_seed(&r, s->seed + index);
	do {
		n = weir__inject_pop(&s->q, tasks, 1 + rand_below(&r, RING));
		for (i = 0; i < n; i++)
			rig_add(&s->seen[task_id(tasks[i])], 1);
		rig_add(&s->popped, n);
		if (n == 0)
			sched_yield();
	} while (rig_get(&s->popped) < PUSHERS * EACH);
}

/* Pushes that were interrupted in the middle. */
static struct atomic_u32 interrupted;

/* Wherever it is, others come first. */
static void
give_way(int signal_number)
{
	unsigned int i;

	if (!in_push)
		return;
	atomic_u32_fetch_add(&interrupted, 1, RELAXED);
	for (i = 0; i < 10; i++)
		sched_yield();
}

/* Interrupts pushers until all that they push was popped. */
static void
disturb(struct stress *s, unsigned int index)
{
	struct rand_state r;

	rand_seed(&r, s->seed + index);
	rig_wait_until(rig_get(&s->ready) == PUSHERS);
	rig_add(&s->ready, 1);
	while (rig_get(&s->popped) < PUSHERS * EACH) {
		pthread_kill(s->pushers[rand_below(&r, PUSHERS)], SIGUSR1);
		sched_yield();
	}
	rig_set(&s->quiet, 1);
}

static void *
push_or_pop(void *arg)
{
	struct stress *s = arg;
	uint32_t index;

	index = atomic_u32_fetch_add(&s->next, 1, RELAXED);
	if (index < PUSHERS) {
		s->pushers[index] = pthread_self();
		rig_add(&s->ready, 1);
		rig_wait_until(!s->disturbed ||
			       rig_get(&s->ready) == PUSHERS + 1);
		push_mine(s, index);
		/* It must be there for as long as it may be interrupted. */
		rig_wait_until(!s->disturbed || rig_get(&s->quiet));
	} else if (index < PUSHERS + POPPERS) {
		pop_many(s, index);
	} else {
		disturb(s, index);
	}
	return NULL;
}

static void
push_and_pop(bool disturbed, uint64_t seed)
{
	struct stress s;
	unsigned int i;

	memset(&s, 0, sizeof(s));
	init(&s.q);
	s.seed = seed;
	s.disturbed = disturbed;
	s.tasks = rig_tasks(PUSHERS * EACH);
	s.seen = calloc(PUSHERS * EACH, sizeof(*s.seen));
	rig_threads(PUSHERS + POPPERS + disturbed, push_or_pop, &s);
	for (i = 0; i < PUSHERS * EACH; i++)
		assert_int_equal(rig_get(&s.seen[i]), 1);
	expect_empty(&s.q);
	weir__inject_fini(&s.q);
	free(s.seen);
	free(s.tasks);
}

static void
many_pushers_and_poppers_lose_nothing(void **state)
{
	push_and_pop(false, unit_seed());
}

static void
pushers_that_are_interrupted_lose_nothing(void **state)
{
	const struct sigaction action = { .sa_handler = give_way };
	uint64_t seed = unit_seed();
	struct sigaction before;

	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	rig_set(&interrupted, 0);
	/* Most are interrupted between two pushes. */
	rig_wait_until((push_and_pop(true, seed++),
			rig_get(&interrupted) >= INTERRUPTED_PUSHES));
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

#define RACERS 3
#define RACE_TASKS 100u

struct race {
	struct inject q;
	struct task *tasks;
	struct atomic_u32 next;
	struct atomic_u32 ready;
};

/* Pushes until refused; what is refused is dropped, as schedule.c does. */
static void *
push_or_finish(void *arg)
{
	struct race *r = arg;
	unsigned int i, end;
	uint32_t index;

	index = atomic_u32_fetch_add(&r->next, 1, RELAXED);
	rig_add(&r->ready, 1);
	rig_wait_until(rig_get(&r->ready) == RACERS + 1);
	if (index == RACERS) {
		rig_wait_until(weir__inject_len(&r->q) >= RING / 2);
		weir__inject_close(&r->q);
		weir__inject_finish(&r->q);
		return NULL;
	}
	i = index * RACE_TASKS;
	for (end = i + RACE_TASKS; i < end; i++)
		if (!push_burst(&r->q, r->tasks, i, i + 1))
			weir__task_drop_notification(&r->tasks[i]);
	return NULL;
}

/* I4 */
static void
pushing_across_the_end_leaks_nothing(void **state)
{
	unsigned int round;
	struct race r;

	for (round = 0; round < 400; round++) {
		memset(&r, 0, sizeof(r));
		init(&r.q);
		r.tasks = rig_tasks(RACERS * RACE_TASKS);
		rig_threads(RACERS + 1, push_or_finish, &r);
		rig_expect_refs(r.tasks, 0, RACERS * RACE_TASKS, 1);
		expect_empty(&r.q);
		weir__inject_fini(&r.q);
		free(r.tasks);
	}
}

/* A push so long that the queue is finished in the middle of it. */
#define LONG_PUSH 100000u

static void *
push_long(void *arg)
{
	struct race *r = arg;

	if (!push_burst(&r->q, r->tasks, 0, LONG_PUSH))
		abort();
	return NULL;
}

/* I4 */
static void
pusher_that_is_late_drops_what_it_pushed(void **state)
{
	unsigned int round;
	pthread_t thread;
	struct race r;

	r.tasks = rig_tasks(LONG_PUSH);
	for (round = 0; round < 5; round++) {
		init(&r.q);
		assert_int_equal(pthread_create(&thread, NULL, push_long, &r),
				 0);
		/* What has room in the ring is there, and the rest on the way. */
		rig_wait_until(weir__inject_len(&r.q) >= RING);
		weir__inject_close(&r.q);
		weir__inject_finish(&r.q);
		pthread_join(thread, NULL);
		expect_empty(&r.q);
		rig_expect_refs(r.tasks, 0, LONG_PUSH, 1);
		weir__inject_fini(&r.q);
		free(r.tasks);
		r.tasks = rig_tasks(LONG_PUSH);
	}
	free(r.tasks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_keeps_order),
		cmocka_unit_test(spilling_keeps_order),
		cmocka_unit_test(tasks_that_lie_apart_keep_their_order),
		cmocka_unit_test(long_list_is_turned_a_part_at_a_time),
		cmocka_unit_test(bursts_are_turned_in_one_step),
		cmocka_unit_test(finish_drops_a_list_that_is_being_turned),
		cmocka_unit_test(pushes_go_behind_what_is_spilled),
		cmocka_unit_test(bursts_may_be_larger_than_the_ring),
		cmocka_unit_test(empty_burst_is_pushed_even_when_closed),
		cmocka_unit_test(close_refuses_pushes_and_lets_pop),
		cmocka_unit_test(finish_drops_what_is_left),
		cmocka_unit_test(init_tells_why_it_failed),
		cmocka_unit_test(many_pushers_and_poppers_lose_nothing),
		cmocka_unit_test(pushers_that_are_interrupted_lose_nothing),
		cmocka_unit_test(pushing_across_the_end_leaks_nothing),
		cmocka_unit_test(pusher_that_is_late_drops_what_it_pushed),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
