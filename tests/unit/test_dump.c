/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#include "base/rand.h"
#include "rig.h"
#include "task/stamp.h"
#include "weir_channel.h"
#include "weir_null.h"
#include "weir_oneshot.h"
#include "weir_semaphore.h"

/* Of the clock, which a coarse stamp drops. */
#define STAMP_BITS 16

/* The entry of a task in a list that has it once; fails the test otherwise. */
static const struct weir_task_entry *
entry_of(const struct weir_task_entry *entries, uint64_t n, uint64_t id)
{
	const struct weir_task_entry *found = NULL;
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (entries[i].task.id != id)
			continue;
		assert_null(found);
		found = &entries[i];
	}
	assert_non_null(found);
	return found;
}

static void
entry_says_what_the_task_is_doing(void **state)
{
	unsigned int last = weir_runtime_nb_workers(rig.rt) - 1;
	struct weir_task_entry entries[10];
	const struct weir_task_entry *e;
	struct weir_join *waits, *queued;
	struct rig_blockers b;
	uint64_t n;

	waits = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	rig_block(&b, rig.rt);
	queued = rig_spawn_on(rig.rt, last, &rig_done_ops, &rig.told);
	weir_join_abort(queued);
	/* The first poll is over when the task waits. */
	rig_wait_until((n = weir_task_list(rig.rt, entries, 10),
			entry_of(entries, n, weir_join_id(waits))->state ==
				WEIR_TASK_WAITING));
	assert_int_equal(n, b.n + 2);
	e = entry_of(entries, n, weir_join_id(waits));
	assert_string_equal(e->task.name, "wait");
	assert_false(e->cancelled);
	assert_int_equal(e->affinity, WEIR_AFFINITY_ANY);
	assert_int_equal(e->node, weir_lcore_node(1));
	assert_int_equal(e->polls, 1);
	e = entry_of(entries, n, weir_join_id(queued));
	assert_string_equal(e->task.name, "done");
	assert_int_equal(e->state, WEIR_TASK_QUEUED);
	assert_true(e->cancelled);
	assert_int_equal(e->affinity, WEIR_AFFINITY_WORKER);
	assert_int_equal(e->worker, last);
	assert_int_equal(e->polls, 0);
	e = entry_of(entries, n, weir_join_id(b.joins[last]));
	assert_string_equal(e->task.name, "block");
	assert_int_equal(e->state, WEIR_TASK_RUNNING);
	assert_int_equal(e->polls, 1);
	rig_unblock(&b);
	assert_int_equal(rig_join(queued, NULL), -ECANCELED);
	rig_wait_until(weir_task_list(rig.rt, entries, 10) == 1);
	weir_join_detach(waits);
	weir_waker_drop(rig_take_waker(&rig.waker));
}

/* What a task waits for, or not. */
enum waits_for {
	A_TIME,
	PERMITS,
	A_VALUE,
	AN_ANSWER,
	A_SOURCE,
	AN_END,
	NOTHING,
	WAITS,
};

static struct {
	struct weir_semaphore semaphore;
	struct weir_sender *sender;
	struct weir_receiver *receiver;
	struct weir_oneshot_tx *tx;
	struct weir_oneshot_rx *rx;
	struct weir_null *source;
	struct weir_join *other;
} things;

struct waiting {
	enum waits_for what;
	struct weir_sleep sleep;
	struct weir_wait wait;
};

static int
poll_waiting(struct weir_context *ctx, void *state)
{
	struct waiting *w = state;
	int value;

	switch (w->what) {
	case A_TIME:
		return weir_sleep(ctx, &w->sleep, UINT64_MAX / 2);
	case PERMITS:
		return weir_semaphore_acquire(ctx, &things.semaphore, 1,
					      &w->wait);
	case A_VALUE:
		return weir_recv(ctx, things.receiver, &value, &w->wait);
	case AN_ANSWER:
		return weir_oneshot_recv(ctx, things.rx, &value, &w->wait);
	case A_SOURCE:
		return weir_null_recv(ctx, things.source);
	case AN_END:
		return weir_join_poll(ctx, things.other, NULL);
	default:
		return WEIR_PENDING;
	}
}

static void
drop_waiting(void *state)
{
	struct waiting *w = state;

	weir_sleep_cancel(&w->sleep);
	weir_wait_cancel(&w->wait);
}

static void
open_things(void)
{
	weir_semaphore_init(&things.semaphore, 0);
	assert_int_equal(weir_channel_create(4, sizeof(int), NULL,
					     &things.sender, &things.receiver),
			 0);
	assert_int_equal(weir_oneshot_create(rig.rt, sizeof(int), NULL,
					     &things.tx, &things.rx),
			 0);
	things.source = weir_null_create(rig.rt, 0);
	assert_non_null(things.source);
	things.other = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
}

static void
close_things(void)
{
	weir_null_free(things.source);
	weir_oneshot_tx_drop(things.tx);
	weir_oneshot_rx_drop(things.rx);
	weir_sender_drop(things.sender);
	weir_receiver_drop(things.receiver);
	weir_semaphore_fini(&things.semaphore);
}

static enum weir_task_state
state_in_list(uint64_t id)
{
	struct weir_task_entry entries[WAITS + 1];
	uint64_t n = weir_task_list(rig.rt, entries, WAITS + 1);

	assert_int_equal(n, WAITS + 1);
	return entry_of(entries, n, id)->state;
}

static void
who_waits_for_something_is_not_stranded(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "waiting",
		.state_size = sizeof(struct waiting),
		.poll = poll_waiting,
		.drop = drop_waiting,
	};
	struct weir_join *joins[WAITS];
	struct weir_task_entry e;
	enum waits_for what;
	uint64_t other;

	open_things();
	other = weir_join_id(things.other);
	for (what = 0; what < WAITS; what++) {
		const struct waiting w = { .what = what };

		joins[what] = weir_task_spawn(rig.rt, &ops, &w, NULL);
	}
	for (what = 0; what < WAITS; what++)
		rig_wait_until(state_in_list(weir_join_id(joins[what])) ==
			       (what != NOTHING ? WEIR_TASK_WAITING :
						  WEIR_TASK_STRANDED));
	/* It has given its waker out, and that goes. */
	rig_wait_until(state_in_list(other) == WEIR_TASK_WAITING);
	weir_waker_drop(rig_take_waker(&rig.waker));
	assert_int_equal(state_in_list(other), WEIR_TASK_STRANDED);
	for (what = 0; what < WAITS; what++) {
		weir_join_abort(joins[what]);
		assert_int_equal(rig_join(joins[what], NULL), -ECANCELED);
	}
	/* With a handle it was, and so it is without. */
	weir_join_detach(things.other);
	assert_int_equal(weir_task_list(rig.rt, &e, 1), 1);
	assert_int_equal(e.state, WEIR_TASK_STRANDED);
	close_things();
}

static void
polls_are_counted(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_task_entry e;
	struct weir_waker *w;
	unsigned int i;

	for (i = 1; i <= 20; i++) {
		w = rig_take_waker(&rig.waker);
		assert_int_equal(weir_task_list(rig.rt, &e, 1), 1);
		assert_int_equal(e.polls, i);
		weir_waker_wake(w);
	}
	weir_join_detach(join);
	weir_waker_drop(rig_take_waker(&rig.waker));
}

static uint64_t
us(uint64_t cycles)
{
	return cycles * 1000 / (rte_get_tsc_hz() / 1000);
}

static void
wait_cycles(uint64_t n)
{
	uint64_t since = rte_rdtsc();

	rig_wait_until(rte_rdtsc() - since > n);
}

static void
age_is_that_of_the_last_wake(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	const uint64_t unit = us(UINT64_C(2) << STAMP_BITS) + 1;
	uint64_t before, after, begin, end;
	struct weir_task_entry e;
	struct weir_waker *w;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		w = rig_take_waker(&rig.waker);
		/* A wake-up within its poll would count from there. */
		rig_wait_until(weir_task_list(rig.rt, &e, 1) == 1 &&
			       e.state == WEIR_TASK_WAITING);
		wait_cycles(UINT64_C(10) << STAMP_BITS);
		before = rte_rdtsc();
		weir_waker_wake(w);
		after = rte_rdtsc();
		wait_cycles(UINT64_C(100) << STAMP_BITS);
		begin = rte_rdtsc();
		assert_int_equal(weir_task_list(rig.rt, &e, 1), 1);
		end = rte_rdtsc();
		assert_uint_in_range(e.since_wake_us + unit, us(begin - after),
				     us(end - before) + 2 * unit);
	}
	weir_join_detach(join);
	weir_waker_drop(rig_take_waker(&rig.waker));
}

static void
age_of_a_stamp_wraps_and_bears_skew(void **state)
{
	const struct {
		uint32_t (*stamp)(uint64_t tsc);
		uint64_t unit;
		uint64_t range;
	} kinds[] = {
		{ stamp_coarse, UINT64_C(1) << 16, UINT64_C(1) << 47 },
		{ stamp_fine, UINT64_C(1) << 4, UINT64_C(1) << 35 },
	};
	unsigned int i, k;

	for (k = 0; k < RTE_DIM(kinds); k++) {
		const uint64_t unit = kinds[k].unit, range = kinds[k].range;
		const uint64_t moments[] = { 0, range - unit, range,
					     UINT64_MAX - unit + 1 };

		for (i = 0; i < RTE_DIM(moments); i++) {
			uint64_t then = moments[i];
			uint32_t stamp = kinds[k].stamp(then);

			assert_int_equal(stamp_age(stamp, then), 0);
			assert_int_equal(stamp_age(stamp, then + unit - 1), 0);
			assert_int_equal(stamp_age(stamp, then + unit), unit);
			assert_int_equal(stamp_age(stamp, then + range / 2),
					 range / 2);
			assert_int_equal(stamp_age(stamp, then + range), 0);
			/* A moment ahead of this CPU's clock. */
			assert_int_equal(stamp_age(stamp, then - unit), 0);
			assert_int_equal(stamp_age(stamp, then - 1000 * unit),
					 0);
			assert_false(stamp_seems_later(stamp, then));
			assert_false(
				stamp_seems_later(stamp, then + range / 2 - 1));
			assert_true(stamp_seems_later(stamp, then - unit));
			assert_true(stamp_seems_later(stamp, then - range / 4));
		}
	}
}

#define MANY 20000u

static void
list_has_each_of_many_tasks_once(void **state)
{
	struct weir_task_entry *entries = calloc(MANY, sizeof(*entries));
	struct weir_join *join;
	unsigned int i, k;
	uint64_t sum = 0;

	assert_non_null(entries);
	for (i = 0; i < MANY; i++) {
		join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
		sum += weir_join_id(join);
		weir_join_detach(join);
	}
	/* They stay, also those whose waker the next one has dropped. */
	rig_wait_until(rig_get(&rig.log.polls) == MANY);
	assert_int_equal(weir_task_list(rig.rt, NULL, 0), MANY);
	assert_int_equal(weir_task_list(rig.rt, entries, 100), MANY);
	for (i = 0; i < 100; i++)
		for (k = 0; k < i; k++)
			assert_int_not_equal(entries[i].task.id,
					     entries[k].task.id);
	assert_null(entries[100].task.name);
	assert_int_equal(weir_task_list(rig.rt, entries, MANY), MANY);
	for (i = 0; i < MANY; i++) {
		assert_ptr_equal(entries[i].task.name, rig_wait_ops.name);
		sum -= entries[i].task.id;
	}
	assert_int_equal(sum, 0);
	/* The last polls may only be about to leave their wakers. */
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	weir_waker_drop(rig_take_waker(&rig.waker));
	free(entries);
}

#define STORMERS 3

struct storm {
	struct atomic_u32 next;
	struct atomic_u32 lists;
	struct atomic_u32 over;
	uint64_t seed;
};

static void *
list_or_spawn(void *arg)
{
	struct weir_task_entry entries[300];
	struct storm *s = arg;
	uint32_t index = atomic_u32_fetch_add(&s->next, 1, RELAXED);
	struct weir_join *join;
	struct rand_state r;
	uint64_t n, i;

	rand_seed(&r, s->seed + index);
	while (!rig_get(&s->over)) {
		if (index >= STORMERS) {
			n = weir_task_list(rig.rt, entries, RTE_DIM(entries));
			for (i = 0; i < RTE_MIN(n, RTE_DIM(entries)); i++)
				if (entries[i].task.name != rig_yield_ops.name)
					abort();
			rig_add(&s->lists, 1);
			continue;
		}
		join = weir_task_spawn(rig.rt, &rig_yield_ops, &rig.told, NULL);
		if (join == NULL) {
			/* The workers do not keep up with the storm. */
			assert_int_equal(rte_errno, ENOMEM);
			sched_yield();
			continue;
		}
		if (rand_below(&r, 8) != 0)
			weir_join_abort(join);
		weir_join_detach(join);
	}
	return NULL;
}

static void *
end_storm(void *arg)
{
	struct storm *s = arg;

	rig_wait_until(rig_get(&s->lists) > 100);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	rig_wait_until(rig_get(&s->lists) > 200);
	rig_set(&s->over, 1);
	return NULL;
}

/* Two lists at once, beside spawns, ends and the shutdown. */
static void
lists_are_made_in_the_middle_of_a_storm(void **state)
{
	struct storm s = { .seed = unit_seed() };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, end_storm, &s), 0);
	rig_threads(STORMERS + 2, list_or_spawn, &s);
	pthread_join(thread, NULL);
	assert_int_equal(weir_task_list(rig.rt, NULL, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(entry_says_what_the_task_is_doing),
		RIG_TESTS(who_waits_for_something_is_not_stranded),
		RIG_TESTS(polls_are_counted),
		RIG_TEST(age_is_that_of_the_last_wake, 1),
		cmocka_unit_test(age_of_a_stamp_wraps_and_bears_skew),
		RIG_TESTS(list_has_each_of_many_tasks_once),
		RIG_TESTS(lists_are_made_in_the_middle_of_a_storm),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
