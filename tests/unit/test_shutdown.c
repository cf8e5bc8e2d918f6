/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_log.h>

#include "base/rand.h"
#include "rig.h"
#include "weir_event.h"

static void
shut_down(void)
{
	struct weir_shutdown_report report = { .live_tasks = UINT64_MAX,
					       .ring_entries = UINT64_MAX,
					       .blocking = UINT64_MAX };

	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, &report), 0);
	assert_int_equal(report.live_tasks, 0);
	assert_int_equal(report.ring_entries, 0);
}

static void
nothing_to_end(void **state)
{
	shut_down();
}

static void
idle_tasks_are_dropped(void **state)
{
	struct atomic_ptr wakers[20] = { 0 };
	struct weir_join *joins[RTE_DIM(wakers)];
	struct rig_state s = rig.told;
	struct weir_waker *w;
	unsigned int i;

	for (i = 0; i < RTE_DIM(wakers); i++) {
		s.waker = &wakers[i];
		joins[i] = rig_spawn(rig.rt, &rig_wait_ops, &s);
	}
	rig_wait_until(rig_get(&rig.log.polls) == RTE_DIM(wakers));
	shut_down();
	rig_expect_log(RTE_DIM(wakers), RTE_DIM(wakers), 0);
	for (i = 0; i < RTE_DIM(wakers); i++) {
		w = rig_take_waker(&wakers[i]);
		weir_waker_wake_by_ref(w);
		assert_int_equal(weir_join_wait(joins[i], NULL), -ECANCELED);
		weir_waker_drop(w);
	}
}

static void *
shut_down_cancelled(void *arg)
{
	int *rc = arg;

	pthread_cancel(pthread_self());
	*rc = weir_runtime_shutdown(rig.rt, 1, NULL);
	pthread_testcancel();
	return NULL;
}

/* Nor does it leave a lock to those who come behind it. */
static void
who_is_cancelled_waits_until_the_deadline(void **state)
{
	struct rig_blockers b;
	pthread_t thread;
	void *end = NULL;
	int rc = 1;

	rig_block_some(&b, rig.rt, 1);
	assert_int_equal(
		pthread_create(&thread, NULL, shut_down_cancelled, &rc), 0);
	pthread_join(thread, &end);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	rig_set(&b.go, 1);
	shut_down();
	weir_join_detach(b.joins[0]);
}

/* For that, whoever asks would wait for the workers, which may never come. */
static void
sources_are_neither_made_nor_moved_behind_its_begin(void **state)
{
	struct weir_event *event = weir_event_create(rig.rt, 0);
	struct rig_blockers b;

	assert_non_null(event);
	rig_block_some(&b, rig.rt, 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), -ETIMEDOUT);
	rte_errno = 0;
	assert_null(weir_event_create(rig.rt, 0));
	assert_int_equal(rte_errno, ESHUTDOWN);
	assert_int_equal(weir_source_move(weir_event_source(event), rig.rt, 0),
			 -ESHUTDOWN);
	rig_set(&b.go, 1);
	shut_down();
	weir_join_detach(b.joins[0]);
	weir_event_free(event);
}

static int
end_badly(struct weir_context *ctx, void *state)
{
	(void)ctx;
	(void)state;
	return -EIO;
}

struct cancelled_owner {
	struct weir_join *join;
	bool detached;
};

static void *
detach_cancelled(void *arg)
{
	struct cancelled_owner *o = arg;

	pthread_cancel(pthread_self());
	weir_join_detach(o->join);
	o->detached = true;
	pthread_testcancel();
	return NULL;
}

/* It writes to the log, where a thread can end. */
static void
who_is_cancelled_gives_up_a_failed_task(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "fails",
		.poll = end_badly,
	};
	struct cancelled_owner o = {
		.join = weir_task_spawn(rig.rt, &ops, NULL, NULL),
	};
	pthread_t thread;
	void *end = NULL;

	assert_non_null(o.join);
	rig_wait_until(weir_join_ended(o.join));
	assert_int_equal(pthread_create(&thread, NULL, detach_cancelled, &o),
			 0);
	pthread_join(thread, &end);
	assert_true(o.detached);
	assert_ptr_equal(end, PTHREAD_CANCELED);
}

static void
running_tasks_end_by_themselves(void **state)
{
	struct weir_join *joins[3];
	unsigned int i, n = weir_runtime_nb_workers(rig.rt);
	uint32_t polls;

	for (i = 0; i < n; i++)
		joins[i] = rig_spawn_on(rig.rt, i, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == n);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), -ETIMEDOUT);
	rig_set(&rig.go, 1);
	shut_down();
	for (i = 0; i < n; i++) {
		assert_int_equal(weir_join_wait(joins[i], &polls), 0);
		assert_int_equal(polls, 1);
	}
	rig_expect_log(n, n, 0);
}

static void
queued_tasks_are_dropped_without_a_poll(void **state)
{
	/* More than the inject ring holds. */
	struct weir_join *joins[200];
	struct rig_blockers b;
	unsigned int i, workers = weir_runtime_nb_workers(rig.rt);

	rig_block(&b, rig.rt);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = i % 2 == 0 ?
				   rig_spawn(rig.rt, &rig_done_ops, &rig.told) :
				   rig_spawn_on(rig.rt, i % workers,
						&rig_done_ops, &rig.told);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), -ETIMEDOUT);
	rig_unblock(&b);
	shut_down();
	rig_expect_log(0, RTE_DIM(joins), 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(weir_join_wait(joins[i], NULL), -ECANCELED);
}

static void
yielding_tasks_are_dropped(void **state)
{
	struct weir_join *joins[10];
	unsigned int i;

	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn(rig.rt, &rig_yield_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) > 100);
	shut_down();
	assert_int_equal(rig_get(&rig.log.drops), RTE_DIM(joins));
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(weir_join_wait(joins[i], NULL), -ECANCELED);
}

static void
second_call_says_the_same(void **state)
{
	shut_down();
	shut_down();
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), 0);
}

static void *
shut_down_too(void *arg)
{
	struct weir_shutdown_report report = { .live_tasks = UINT64_MAX,
					       .ring_entries = UINT64_MAX,
					       .blocking = UINT64_MAX };

	int rc = weir_runtime_shutdown(rig.rt, UINT64_MAX, &report);

	if (rc == 0 && report.live_tasks == 0 && report.ring_entries == 0)
		rig_add(arg, 1);
	else
		print_message("# returned %d; tasks %" PRIu64
			      ", entries %" PRIu64 "\n",
			      rc, report.live_tasks, report.ring_entries);
	return NULL;
}

static void
several_threads_shut_down_at_once(void **state)
{
	struct atomic_u32 successes = { 0 };
	unsigned int i;

	for (i = 0; i < 10; i++)
		weir_join_detach(rig_spawn(rig.rt, &rig_yield_ops, &rig.told));
	rig_threads(5, shut_down_too, &successes);
	assert_int_equal(rig_get(&successes), 5);
	assert_int_equal(rig_get(&rig.log.drops), 10);
}

static void
stuck_task_times_out_and_is_reported(void **state)
{
	struct weir_shutdown_report report = { 0 };
	struct rig_blockers b;

	rig_block_some(&b, rig.rt, 1u << 0);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 5, &report), -ETIMEDOUT);
	assert_int_equal(report.live_tasks, 1);
	assert_int_equal(report.nb_tasks, 1);
	assert_int_equal(report.nb_running, 1);
	assert_string_equal(report.tasks[0].name, "block");
	assert_int_equal(report.tasks[0].id, weir_join_id(b.joins[0]));
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), -ETIMEDOUT);
	rig_unblock(&b);
	shut_down();
}

/* Tells when it is dropped by another worker than the one it is bound to. */
struct bound {
	struct rig_log *log;
	struct atomic_u32 *strays;
	unsigned int worker;
};

static int
wait_bound(struct weir_context *ctx, void *state)
{
	rig_add(&((struct bound *)state)->log->polls, 1);
	return WEIR_PENDING;
}

static void
drop_bound(void *state)
{
	struct bound *b = state;

	if (weir_worker_current() != b->worker)
		rig_add(b->strays, 1);
	rig_add(&b->log->drops, 1);
}

/* O6, while one worker is late. */
static void
bound_tasks_are_dropped_by_their_worker(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "bound",
		.state_size = sizeof(struct bound),
		.poll = wait_bound,
		.drop = drop_bound,
	};
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER };
	unsigned int i, n = weir_runtime_nb_workers(rig.rt);
	struct atomic_u32 strays = { 0 };
	struct rig_blockers b;

	for (i = 0; i < 10 * n; i++) {
		struct bound s = { &rig.log, &strays, i % n };

		attr.worker = s.worker;
		weir_join_detach(weir_task_spawn(rig.rt, &ops, &s, &attr));
	}
	rig_wait_until(rig_get(&rig.log.polls) == 10 * n);
	rig_block_some(&b, rig.rt, 1u << (n - 1));
	weir_runtime_shutdown_begin(rig.rt);
	rig_wait_until(rig_get(&rig.log.drops) >= 10 * (n - 1));
	rig_unblock(&b);
	shut_down();
	assert_int_equal(rig_get(&rig.log.drops), 10 * n);
	assert_int_equal(rig_get(&strays), 0);
}

static void
block_in_drop(void *state)
{
	struct rig_state *s = state;

	rig_add(&s->log->drops, 1);
	rig_wait_until(rig_get(s->go));
}

/* Whether a worker drops it in its loop or in its turn of the shutdown. */
static void
task_stuck_in_drop_is_named(void **state)
{
	struct weir_task_ops ended = rig_done_ops, waiting = rig_wait_ops,
			     yielding = rig_yield_ops;
	const struct weir_task_ops *kinds[] = { &ended, &waiting, &yielding };
	struct weir_shutdown_report report;
	struct weir_join *join;
	unsigned int i;

	ended.drop = block_in_drop;
	waiting.drop = block_in_drop;
	yielding.drop = block_in_drop;
	for (i = 0; i < RTE_DIM(kinds); i++) {
		if (i > 0)
			rig_setup(state);
		join = rig_spawn(rig.rt, kinds[i], &rig.told);
		rig_wait_until(rig_get(&rig.log.polls) >= 1);
		assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL),
				 -ETIMEDOUT);
		rig_wait_until(rig_get(&rig.log.drops) == 1);
		assert_int_equal(weir_runtime_shutdown(rig.rt, 0, &report),
				 -ETIMEDOUT);
		assert_int_equal(report.live_tasks, 1);
		assert_int_equal(report.nb_running, 1);
		assert_string_equal(report.tasks[0].name, kinds[i]->name);
		assert_int_equal(report.tasks[0].id, weir_join_id(join));
		rig_set(&rig.go, 1);
		weir_join_detach(join);
		weir_waker_drop(atomic_ptr_exchange(&rig.waker, NULL, RELAXED));
		rig_runtime_free(rig.rt);
		rig.rt = NULL;
	}
}

/* Spawns a child and awaits it, for which it looks behind the child's turn. */
struct parent {
	struct rig_state *told;
	struct weir_join *child;
};

static int
parent_poll(struct weir_context *ctx, void *state)
{
	struct parent *p = state;
	int rc;

	if (p->child == NULL)
		p->child = weir_task_spawn(weir_context_runtime(ctx),
					   &rig_block_ops, p->told, NULL);
	rc = weir_join_poll(ctx, p->child, NULL);
	if (rc == WEIR_PENDING)
		return rc;
	p->child = NULL;
	return WEIR_DONE;
}

static void
parent_drop(void *state)
{
	weir_join_detach(((struct parent *)state)->child);
}

static void
parent_that_looks_behind_a_stuck_child_is_not_named_first(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "parent",
		.state_size = sizeof(struct parent),
		.poll = parent_poll,
		.drop = parent_drop,
	};
	struct parent p = { .told = &rig.told };
	struct weir_shutdown_report report;

	weir_join_detach(weir_task_spawn(rig.rt, &ops, &p, NULL));
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, &report), -ETIMEDOUT);
	rig_set(&rig.go, 1);
	assert_int_equal(report.live_tasks, 2);
	assert_int_equal(report.nb_running, 1);
	assert_string_equal(report.tasks[0].name, rig_block_ops.name);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
}

/* With its only worker stuck, the others wait for one of many. */
static void
stuck_task_is_named_before_those_that_wait_for_it(void **state)
{
	struct weir_shutdown_report report;
	struct atomic_ptr wakers[20] = { 0 };
	struct rig_state s = rig.told;
	char text[2000], line[80];
	struct rig_blockers b;
	unsigned int i;
	FILE *log;

	for (i = 0; i < RTE_DIM(wakers); i++) {
		s.waker = &wakers[i];
		weir_join_detach(rig_spawn(rig.rt, &rig_wait_ops, &s));
	}
	rig_wait_until(rig_get(&rig.log.polls) == RTE_DIM(wakers));
	rig_block(&b, rig.rt);
	memset(text, 0, sizeof(text));
	log = fmemopen(text, sizeof(text) - 1, "w");
	assert_non_null(log);
	rte_openlog_stream(log);
	rte_log_set_level_pattern("lib.weir", RTE_LOG_WARNING);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, &report), -ETIMEDOUT);
	rte_log_set_level_pattern("lib.weir", RTE_LOG_ERR);
	rte_openlog_stream(NULL);
	fclose(log);
	assert_int_equal(report.live_tasks, RTE_DIM(wakers) + 1);
	assert_int_equal(report.nb_tasks, WEIR_REPORT_TASKS);
	assert_int_equal(report.nb_running, 1);
	assert_string_equal(report.tasks[0].name, "block");
	for (i = 1; i < WEIR_REPORT_TASKS; i++)
		assert_string_equal(report.tasks[i].name, "wait");
	snprintf(line, sizeof(line), "task block (%" PRIx64 ") does not end: ",
		 weir_join_id(b.joins[0]));
	assert_non_null(strstr(text, line));
	assert_non_null(strstr(text, "13 more tasks do not end"));
	rig_unblock(&b);
	shut_down();
	for (i = 0; i < RTE_DIM(wakers); i++)
		weir_waker_drop(rig_take_waker(&wakers[i]));
}

/* A drop that spawns: its task is refused, and dropped in its turn. */
static void
spawn_in_drop(void *state)
{
	struct rig_state *s = state;

	rig_add(&s->log->drops, 1);
	if (rig_get(&s->log->drops) % 2 == 0)
		weir_join_detach(rig_spawn(rig.rt, &rig_done_ops, s));
	else if (weir_task_spawn_detached(rig.rt, &rig_done_ops, s, NULL) != 0)
		abort();
}

static void
spawning_in_drop_is_refused(void **state)
{
	struct weir_task_ops ops = rig_yield_ops;
	unsigned int i;

	ops.drop = spawn_in_drop;
	for (i = 0; i < 10; i++)
		weir_join_detach(rig_spawn(rig.rt, &ops, &rig.told));
	rig_wait_until(rig_get(&rig.log.polls) > 20);
	shut_down();
	assert_int_equal(rig_get(&rig.log.drops), 20);
	assert_int_equal(rig_get(&rig.log.results_dropped), 0);
}

/* Two tasks that each hold and await the other's handle. */
struct cycle {
	struct atomic_ptr *handle; /* where the other's is put */
	struct weir_join *other;
	struct rig_log *log;
};

static int
await_other(struct weir_context *ctx, void *state)
{
	struct cycle *c = state;
	int rc;

	if (c->other == NULL)
		c->other = atomic_ptr_exchange(c->handle, NULL, ACQ_REL);
	if (c->other == NULL)
		return weir_context_yield(ctx);
	rc = weir_join_poll(ctx, c->other, NULL);
	if (rc == WEIR_PENDING) {
		rig_add(&c->log->polls, 1);
		return rc;
	}
	c->other = NULL;
	return WEIR_DONE;
}

static void
drop_cycle(void *state)
{
	struct cycle *c = state;

	rig_add(&c->log->drops, 1);
	weir_join_detach(c->other);
}

static void
tasks_that_await_each_other_do_not_leak(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "cycle",
		.state_size = sizeof(struct cycle),
		.poll = await_other,
		.drop = drop_cycle,
	};
	struct atomic_ptr handles[2] = { 0 };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct cycle c = { &handles[i], NULL, &rig.log };

		atomic_ptr_store(&handles[1 - i],
				 weir_task_spawn(rig.rt, &ops, &c, NULL),
				 RELEASE);
	}
	rig_wait_until(rig_get(&rig.log.polls) >= 2);
	shut_down();
	assert_int_equal(rig_get(&rig.log.drops), 2);
}

#define STORMERS 3
/* Tasks of a storm, about: however late its end is, they have room. */
#define LIVE 5000

struct storm {
	struct atomic_u32 next;
	struct atomic_u32 spawned;
	struct atomic_u32 outcomes;
	struct atomic_u32 over;
	struct atomic_ptr waker;
	uint64_t seed;
};

/* Spawns until the runtime has ended, and a few times more. */
static void *
storm(struct storm *s, uint64_t seed)
{
	const struct weir_task_ops *kinds[] = { &rig_done_ops, &rig_yield_ops,
						&rig_wait_ops };
	struct weir_join *kept[20], *join;
	const struct weir_task_ops *kind;
	struct rig_state told = rig.told;
	unsigned int after = 0, n = 0;
	struct rand_state r;

	rand_seed(&r, seed);
	told.waker = &s->waker;
	while (after < 20) {
		after += rig_get(&s->over);
		rig_wait_until((int32_t)(rig_get(&s->spawned) -
					 rig_get(&rig.log.drops)) < LIVE);
		kind = kinds[rand_below(&r, RTE_DIM(kinds))];
		if (rand_below(&r, 4) == 0) {
			if (weir_task_spawn_detached(rig.rt, kind, &told,
						     NULL) != 0)
				abort();
			rig_add(&s->spawned, 1);
			continue;
		}
		join = rig_spawn(rig.rt, kind, &told);
		rig_add(&s->spawned, 1);
		if (rand_below(&r, 4) == 0)
			weir_join_abort(join);
		if (n < RTE_DIM(kept) && rand_below(&r, 8) == 0)
			kept[n++] = join;
		else
			weir_join_detach(join);
		if (n > 0 && weir_join_try(kept[n - 1], NULL) != WEIR_PENDING)
			n--;
	}
	while (n > 0)
		weir_join_wait(kept[--n], NULL);
	return NULL;
}

static void *
end_storm(void *arg)
{
	struct storm *s = arg;

	rig_wait_until(rig_get(&s->spawned) > 200);
	shut_down_too(&s->outcomes);
	rig_set(&s->over, 1);
	return NULL;
}

static void *
storm_or_end(void *arg)
{
	struct storm *s = arg;
	uint32_t index = atomic_u32_fetch_add(&s->next, 1, RELAXED);

	return index == 0 ? end_storm(s) : storm(s, s->seed + index);
}

static void
every_task_of_a_spawn_storm_is_dropped_once(void **state)
{
	uint64_t seed = unit_seed();
	struct storm s;
	unsigned int round;

	for (round = 0; round < 12; round++) {
		if (round > 0)
			rig_setup(state);
		memset(&s, 0, sizeof(s));
		s.seed = seed + 8 * round;
		rig_threads(STORMERS + 1, storm_or_end, &s);
		assert_int_equal(rig_get(&s.outcomes), 1);
		assert_int_equal(rig_get(&rig.log.drops), rig_get(&s.spawned));
		weir_waker_drop(atomic_ptr_load(&s.waker, RELAXED));
		rig_runtime_free(rig.rt);
		rig.rt = NULL;
	}
}

#define SLEEPERS 8

struct wake_storm {
	struct atomic_u32 next;
	struct atomic_u32 successes;
	struct weir_waker *wakers[SLEEPERS];
};

/* Wakes while the runtime ends, and afterwards. */
static void *
wake_or_end(void *arg)
{
	struct wake_storm *s = arg;
	unsigned int i, k, after = 0;

	if (atomic_u32_fetch_add(&s->next, 1, RELAXED) == 0) {
		rig_wait_until(rig_get(&rig.log.polls) > 200);
		return shut_down_too(&s->successes);
	}
	for (i = 0; after < 20; i++) {
		after += rig_get(&s->successes);
		for (k = 0; k < SLEEPERS; k++) {
			if (i % 2 == 0)
				weir_waker_wake_by_ref(s->wakers[k]);
			else
				weir_waker_wake(weir_waker_clone(s->wakers[k]));
		}
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

static void
wakers_of_a_wake_storm_leak_nothing(void **state)
{
	unsigned int round, i;
	struct wake_storm s;

	for (round = 0; round < 12; round++) {
		if (round > 0)
			rig_setup(state);
		memset(&s, 0, sizeof(s));
		for (i = 0; i < SLEEPERS; i++) {
			weir_join_detach(
				i % 2 == 0 ?
					rig_spawn(rig.rt, &rig_wait_ops,
						  &rig.told) :
					rig_spawn_on(rig.rt, 0, &rig_wait_ops,
						     &rig.told));
			s.wakers[i] = rig_take_waker(&rig.waker);
		}
		rig_threads(STORMERS + 1, wake_or_end, &s);
		assert_int_equal(rig_get(&s.successes), 1);
		assert_int_equal(rig_get(&rig.log.drops), SLEEPERS);
		weir_runtime_free(rig.rt);
		rig.rt = NULL;
		for (i = 0; i < SLEEPERS; i++)
			weir_waker_wake(s.wakers[i]);
		assert_true(rig_runtime_exists("weir"));
		weir_waker_drop(atomic_ptr_exchange(&rig.waker, NULL, RELAXED));
		assert_false(rig_runtime_exists("weir"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(nothing_to_end),
		RIG_TESTS(idle_tasks_are_dropped),
		RIG_TESTS(who_is_cancelled_waits_until_the_deadline),
		RIG_TESTS(sources_are_neither_made_nor_moved_behind_its_begin),
		RIG_TESTS(who_is_cancelled_gives_up_a_failed_task),
		RIG_TESTS(running_tasks_end_by_themselves),
		RIG_TESTS(queued_tasks_are_dropped_without_a_poll),
		RIG_TESTS(yielding_tasks_are_dropped),
		RIG_TESTS(second_call_says_the_same),
		RIG_TESTS(several_threads_shut_down_at_once),
		RIG_TESTS(stuck_task_times_out_and_is_reported),
		RIG_TESTS(bound_tasks_are_dropped_by_their_worker),
		RIG_TESTS(task_stuck_in_drop_is_named),
		RIG_TEST(
			parent_that_looks_behind_a_stuck_child_is_not_named_first,
			1),
		RIG_TEST(stuck_task_is_named_before_those_that_wait_for_it, 1),
		RIG_TESTS(spawning_in_drop_is_refused),
		RIG_TESTS(tasks_that_await_each_other_do_not_leak),
		RIG_TESTS(every_task_of_a_spawn_storm_is_dropped_once),
		RIG_TESTS(wakers_of_a_wake_storm_leak_nothing),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
