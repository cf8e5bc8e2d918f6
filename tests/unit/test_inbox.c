/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "queue/inbox.h"
#include "rig.h"

static void
send_each(struct inbox *b, struct task *tasks, unsigned int first,
	  unsigned int end)
{
	for (; first < end; first++)
		assert_true(weir__inbox_send(b, &tasks[first]));
}

/* The chain has tasks first to end - 1, in order. */
static void
expect_chain(struct task_chain *c, unsigned int first, unsigned int end)
{
	assert_int_equal(task_chain_len(c), end - first);
	for (; first < end; first++)
		assert_int_equal(task_id(task_chain_pop(c)), first);
	assert_null(task_chain_pop(c));
}

static void
what_is_sent_is_taken_in_order(void **state)
{
	struct task *tasks = rig_tasks(100);
	struct task_chain taken;
	struct inbox b;

	weir__inbox_init(&b);
	task_chain_init(&taken);
	assert_false(inbox_pending(&b));
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 0);
	send_each(&b, tasks, 0, 1);
	assert_true(inbox_pending(&b));
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 1);
	assert_false(inbox_pending(&b));
	expect_chain(&taken, 0, 1);
	send_each(&b, tasks, 0, 100);
	assert_int_equal(weir__inbox_len(&b), 100);
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 100);
	assert_int_equal(weir__inbox_len(&b), 0);
	expect_chain(&taken, 0, 100);
	free(tasks);
}

static void
what_is_taken_goes_behind_what_is_there(void **state)
{
	struct task *tasks = rig_tasks(30);
	struct task_chain taken;
	unsigned int i;
	struct inbox b;

	weir__inbox_init(&b);
	task_chain_init(&taken);
	for (i = 0; i < 5; i++)
		task_chain_add(&taken, &tasks[i]);
	send_each(&b, tasks, 5, 20);
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 15);
	task_chain_add(&taken, &tasks[20]);
	send_each(&b, tasks, 21, 30);
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 9);
	expect_chain(&taken, 0, 30);
	free(tasks);
}

/* B4: and what is sent meanwhile comes behind. */
static void
long_list_is_turned_a_part_at_a_time(void **state)
{
	const unsigned int parts[] = { 1, 2, 7 };
	struct task *tasks = rig_tasks(7 * CHAIN_STEPS + 10);
	struct task_chain taken;
	unsigned int i, j, n;
	struct inbox b;

	weir__inbox_init(&b);
	task_chain_init(&taken);
	for (i = 0; i < RTE_DIM(parts); i++) {
		n = parts[i] * CHAIN_STEPS;
		send_each(&b, tasks, 0, n);
		for (j = 1; j < parts[i]; j++) {
			assert_int_equal(weir__inbox_take_owner(&b, &taken), 0);
			assert_int_equal(weir__inbox_len(&b), n);
			assert_true(inbox_pending(&b));
		}
		assert_int_equal(weir__inbox_take_owner(&b, &taken), n);
		assert_false(inbox_pending(&b));
		expect_chain(&taken, 0, n);
		/* One more than that many parts. */
		send_each(&b, tasks, 0, n + 1);
		assert_int_equal(weir__inbox_take_owner(&b, &taken), 0);
		send_each(&b, tasks, n + 1, n + 10);
		for (j = 1; j < parts[i]; j++)
			assert_int_equal(weir__inbox_take_owner(&b, &taken), 0);
		assert_int_equal(weir__inbox_take_owner(&b, &taken), n + 1);
		assert_int_equal(weir__inbox_take_owner(&b, &taken), 9);
		assert_int_equal(weir__inbox_len(&b), 0);
		expect_chain(&taken, 0, n + 10);
	}
	free(tasks);
}

/* B3 */
static void
others_may_take_too(void **state)
{
	struct task *tasks = rig_tasks(10);
	struct task_chain taken;
	struct inbox b;

	weir__inbox_init(&b);
	task_chain_init(&taken);
	assert_int_equal(weir__inbox_take_any(&b, &taken), 0);
	send_each(&b, tasks, 0, 4);
	assert_int_equal(weir__inbox_take_any(&b, &taken), 4);
	assert_int_equal(weir__inbox_len(&b), 0);
	send_each(&b, tasks, 4, 7);
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 3);
	send_each(&b, tasks, 7, 10);
	assert_int_equal(weir__inbox_len(&b), 3);
	assert_int_equal(weir__inbox_take_any(&b, &taken), 3);
	assert_int_equal(weir__inbox_len(&b), 0);
	expect_chain(&taken, 0, 10);
	free(tasks);
}

/* B2 */
static void
close_drops_what_is_left_and_refuses_the_rest(void **state)
{
	struct task *tasks = rig_tasks(10);
	struct task_chain taken;
	struct inbox b;

	weir__inbox_init(&b);
	task_chain_init(&taken);
	send_each(&b, tasks, 0, 2);
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 2);
	send_each(&b, tasks, 2, 7);
	weir__inbox_close(&b);
	assert_int_equal(weir__inbox_len(&b), 0);
	rig_expect_refs(tasks, 0, 2, 2);
	rig_expect_refs(tasks, 2, 7, 1);
	/* It is the caller's still. */
	assert_false(weir__inbox_send(&b, &tasks[7]));
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 0);
	assert_int_equal(weir__inbox_take_any(&b, &taken), 0);
	/* And it stays closed. */
	weir__inbox_close(&b);
	assert_false(weir__inbox_send(&b, &tasks[8]));
	assert_int_equal(weir__inbox_len(&b), 0);
	rig_expect_refs(tasks, 7, 10, 2);
	expect_chain(&taken, 0, 2);
	free(tasks);
}

/* B1: also what is being turned round. */
static void
close_drops_a_list_that_is_being_turned(void **state)
{
	const unsigned int n = 3 * CHAIN_STEPS;
	struct task *tasks = rig_tasks(n + 5);
	struct task_chain taken;
	struct inbox b;

	weir__inbox_init(&b);
	task_chain_init(&taken);
	send_each(&b, tasks, 0, n);
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 0);
	send_each(&b, tasks, n, n + 5);
	weir__inbox_close(&b);
	assert_int_equal(weir__inbox_len(&b), 0);
	assert_int_equal(weir__inbox_take_owner(&b, &taken), 0);
	rig_expect_refs(tasks, 0, n + 5, 1);
	free(tasks);
}

#define SENDERS 8
#define EACH 20000u

struct stress {
	struct inbox b;
	struct task *tasks;
	struct atomic_u32 next;
	struct atomic_u32 refused;
	/* Of the senders: whose turn is next. Only who takes writes it. */
	unsigned int due[SENDERS];
	unsigned int nb_taken;
	bool closes;		  /* in the middle */
	struct atomic_u32 closed; /* it has */
};

static void
send_mine(struct stress *s, unsigned int index)
{
	unsigned int i = index * EACH, end = i + EACH;

	for (; i < end; i++) {
		/* The last of each comes too late. */
		rig_wait_until(!s->closes || i + 1 < end ||
			       rig_get(&s->closed));
		if (weir__inbox_send(&s->b, &s->tasks[i]))
			continue;
		weir__task_drop_notification(&s->tasks[i]);
		rig_add(&s->refused, 1);
	}
}

static void
take_all(struct stress *s)
{
	const unsigned int most = SENDERS * EACH;
	struct task_chain taken;
	struct task *t;
	uint64_t id;

	task_chain_init(&taken);
	while (s->nb_taken < (s->closes ? most / 2 : most)) {
		if (weir__inbox_take_owner(&s->b, &taken) == 0)
			sched_yield();
		while ((t = task_chain_pop(&taken)) != NULL) {
			id = task_id(t);
			/* B1 */
			if (id % EACH != s->due[id / EACH]++)
				abort();
			s->nb_taken++;
			weir__task_drop_notification(t);
		}
	}
	if (!s->closes)
		return;
	weir__inbox_close(&s->b);
	rig_set(&s->closed, 1);
}

static void *
send_or_take(void *arg)
{
	struct stress *s = arg;
	uint32_t index = atomic_u32_fetch_add(&s->next, 1, RELAXED);

	if (index < SENDERS)
		send_mine(s, index);
	else
		take_all(s);
	return NULL;
}

static void
send_and_take(bool closes)
{
	struct stress s;

	memset(&s, 0, sizeof(s));
	weir__inbox_init(&s.b);
	s.closes = closes;
	s.tasks = rig_tasks(SENDERS * EACH);
	rig_threads(SENDERS + 1, send_or_take, &s);
	assert_int_equal(weir__inbox_len(&s.b), 0);
	/* Taken, refused or dropped: once in any case. */
	rig_expect_refs(s.tasks, 0, SENDERS * EACH, 1);
	if (closes)
		assert_uint_in_range(rig_get(&s.refused), SENDERS,
				     SENDERS * EACH / 2);
	else
		assert_int_equal(s.nb_taken, SENDERS * EACH);
	free(s.tasks);
}

static void
many_senders_lose_nothing(void **state)
{
	send_and_take(false);
}

static void
sending_across_the_end_leaks_nothing(void **state)
{
	unsigned int i;

	for (i = 0; i < 10; i++)
		send_and_take(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_is_taken_in_order),
		cmocka_unit_test(what_is_taken_goes_behind_what_is_there),
		cmocka_unit_test(long_list_is_turned_a_part_at_a_time),
		cmocka_unit_test(others_may_take_too),
		cmocka_unit_test(close_drops_what_is_left_and_refuses_the_rest),
		cmocka_unit_test(close_drops_a_list_that_is_being_turned),
		cmocka_unit_test(many_senders_lose_nothing),
		cmocka_unit_test(sending_across_the_end_leaks_nothing),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
