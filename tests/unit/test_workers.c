/* SPDX-License-Identifier: BSD-3-Clause */

/* Workers that come and go: lib/sched/workers.c. */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <weir_ethdev.h>
#include <weir_null.h>

#include "base/race.h"
#include "base/rand.h"
#include "ports.h"
#include "rig.h"
#include "sched/scheduler.h"

/* The third place is spare. */
#define WORKERS 2u
#define PLACES 3u
#define SPARE 2u

#define CROWD 600u
#define PUSHERS 4u
#define WAKES 300u
#define CHANGES 60u
#define PACKETS 20000u

static unsigned int lcores[PLACES];

static int
setup(void **state)
{
	unsigned int lcore, n = 0;
	struct weir_options o;

	RTE_LCORE_FOREACH_WORKER(lcore)
		if (n < PLACES)
			lcores[n++] = lcore;
	memset(&rig, 0, sizeof(rig));
	rig.told.log = &rig.log;
	rig.told.go = &rig.go;
	rig.told.waker = &rig.waker;
	rig_options(&o, WORKERS);
	o.lcores = lcores;
	o.spare_lcores = &lcores[SPARE];
	o.nb_spare_lcores = PLACES - WORKERS;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	return 0;
}

/* Which worker polls a task that is bound to `worker`? */
static unsigned int
worker_of_task_on(unsigned int worker)
{
	struct rig_log log = { .polls = { 0 } };
	struct rig_state s = { .log = &log };
	struct weir_worker_stats before[PLACES], after;
	unsigned int i, found = UINT32_MAX;

	for (i = 0; i < PLACES; i++)
		weir_worker_stats_get(rig.rt, i, &before[i]);
	assert_int_equal(
		rig_join(rig_spawn_on(rig.rt, worker, &rig_done_ops, &s), NULL),
		0);
	for (i = 0; i < PLACES; i++) {
		weir_worker_stats_get(rig.rt, i, &after);
		if (after.polls != before[i].polls) {
			assert_int_equal(found, UINT32_MAX);
			found = i;
		}
	}
	return found;
}

static void
test_places_are_those_of_the_options(void **state)
{
	assert_int_equal(weir_runtime_nb_workers(rig.rt), PLACES);
	assert_true(weir_worker_is_active(rig.rt, 0));
	assert_true(weir_worker_is_active(rig.rt, 1));
	assert_false(weir_worker_is_active(rig.rt, SPARE));
	assert_false(weir_worker_is_active(rig.rt, PLACES));
	assert_int_equal(weir_runtime_worker_of_lcore(rig.rt, lcores[SPARE]),
			 SPARE);
}

static void
test_added_worker_runs_tasks(void **state)
{
	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), SPARE);
	assert_true(weir_worker_is_active(rig.rt, SPARE));
	assert_int_equal(worker_of_task_on(SPARE), SPARE);
}

static void
test_retired_lcore_is_eals_again(void **state)
{
	assert_int_equal(rte_eal_get_lcore_state(lcores[0]), RUNNING);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	assert_false(weir_worker_is_active(rig.rt, 0));
	assert_int_equal(rte_eal_get_lcore_state(lcores[0]), WAIT);
	assert_int_equal(weir_worker_add(rig.rt, lcores[0]), 0);
	assert_int_equal(worker_of_task_on(0), 0);
}

/* G1: the queue, the slot and the deferred tasks of a worker that goes. */
static void
test_tasks_of_a_retired_worker_run_elsewhere(void **state)
{
	struct weir_join *joins[CROWD];
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		joins[i] = rig_spawn(rig.rt, &rig_yield_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) > 2 * CROWD);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	rig_set(&rig.go, 1);
	for (i = 0; i < CROWD; i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_equal(rig_get(&rig.log.drops), CROWD);
}

static void
test_bound_tasks_go_to_the_successor_and_come_back(void **state)
{
	struct weir_join *join;
	struct weir_waker *waker;

	join = rig_spawn_on(rig.rt, 0, &rig_wait_ops, &rig.told);
	waker = rig_take_waker(&rig.waker);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	assert_int_equal(worker_of_task_on(0), 1);
	weir_waker_wake(waker);
	/* It waits again, on the successor. */
	waker = rig_take_waker(&rig.waker);
	assert_int_equal(weir_worker_add(rig.rt, lcores[0]), 0);
	rig_set(&rig.go, 1);
	weir_waker_wake(waker);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(worker_of_task_on(0), 0);
}

/* G2 */
static void
test_successors_form_a_chain(void **state)
{
	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), SPARE);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	assert_int_equal(weir_worker_retire(rig.rt, 1, SPARE), 0);
	assert_int_equal(worker_of_task_on(0), SPARE);
	assert_int_equal(worker_of_task_on(1), SPARE);
	assert_int_equal(weir_worker_add(rig.rt, lcores[0]), 0);
	assert_int_equal(weir_worker_retire(rig.rt, SPARE, 0), 0);
	assert_int_equal(worker_of_task_on(1), 0);
}

static int
receive_poll(struct weir_context *ctx, void *state)
{
	int rc = weir_null_recv(ctx, *(struct weir_null **)state);

	return rc < 0 ? rc : WEIR_DONE;
}

static const struct weir_task_ops receive_ops = {
	.name = "receive",
	.state_size = sizeof(struct weir_null *),
	.poll = receive_poll,
};

/* A task takes an event. Gives how often another than its home worker found it. */
static uint64_t
rescues_of_an_event(struct weir_null *null)
{
	struct weir_source *source = weir_null_source(null);
	struct weir_source_stats before, stats;
	struct weir_join *join;

	weir_source_stats_get(source, &before);
	join = weir_task_spawn(rig.rt, &receive_ops, &null, NULL);
	assert_non_null(join);
	/* Somebody polls it. */
	rig_wait_until((weir_source_stats_get(source, &stats),
			stats.polls > before.polls));
	weir_null_post(null, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_source_stats_get(source, &stats);
	return stats.rescues - before.rescues;
}

/* G3 */
static void
test_sources_go_to_the_successor(void **state)
{
	struct weir_null *null[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		null[i] = weir_null_create(rig.rt, i % WORKERS);
		assert_non_null(null[i]);
	}
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(weir_source_worker(weir_null_source(null[i])),
				 1);
		assert_int_equal(rescues_of_an_event(null[i]), 0);
	}
	for (i = 0; i < 3; i++)
		weir_null_free(null[i]);
}

/* While a worker is stuck, the other polls its own, and that one's in its place. */
static void
expect_events_beside_stuck_worker(unsigned int worker, struct weir_null *its,
				  struct weir_null *others)
{
	uint64_t rescues, own_rescues;
	struct rig_blockers b;

	rig_block_some(&b, rig.rt, 1u << worker);
	rescues = rescues_of_an_event(its);
	own_rescues = rescues_of_an_event(others);
	rig_unblock(&b);
	assert_int_equal(rescues, 1);
	assert_int_equal(own_rescues, 0);
}

static void
test_moved_source_is_polled_by_its_new_worker(void **state)
{
	struct weir_null *null = weir_null_create(rig.rt, 0);
	struct weir_null *other = weir_null_create(rig.rt, 0);
	struct weir_source *source;

	assert_non_null(null);
	assert_non_null(other);
	source = weir_null_source(null);
	assert_int_equal(weir_source_move(source, rig.rt, 1), 0);
	assert_int_equal(weir_source_worker(source), 1);
	assert_int_equal(weir_source_worker(weir_null_source(other)), 0);
	expect_events_beside_stuck_worker(0, other, null);
	expect_events_beside_stuck_worker(1, null, other);
	/* To where it is. */
	assert_int_equal(weir_source_move(source, rig.rt, 1), 0);
	assert_int_equal(weir_source_move(source, rig.rt, SPARE), -EINVAL);
	assert_int_equal(weir_source_move(source, rig.rt, PLACES), -EINVAL);
	assert_int_equal(weir_source_worker(source), 1);
	weir_null_free(null);
	weir_null_free(other);
}

static void
test_place_without_a_worker_gets_no_source_and_no_task(void **state)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = SPARE,
	};
	struct weir_null *null;

	assert_null(weir_null_create(rig.rt, SPARE));
	assert_int_equal(rte_errno, EINVAL);
	assert_null(weir_task_spawn(rig.rt, &rig_done_ops, &rig.told, &attr));
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	assert_null(weir_null_create(rig.rt, 0));
	assert_int_equal(weir_worker_add(rig.rt, lcores[0]), 0);
	null = weir_null_create(rig.rt, 0);
	assert_non_null(null);
	weir_null_free(null);
}

static int
return_at_once(void *arg)
{
	return 0;
}

static int
wait_for_go(void *arg)
{
	race_acquire(arg); /* rte_eal_remote_launch() */
	rig_wait_until(rig_get(arg));
	return 0;
}

static void
test_changes_that_make_no_sense_are_refused(void **state)
{
	struct atomic_u32 go = { 0 };

	assert_int_equal(weir_worker_retire(rig.rt, 0, 0), -EINVAL);
	assert_int_equal(weir_worker_retire(rig.rt, PLACES, 0), -EINVAL);
	assert_int_equal(weir_worker_retire(rig.rt, 0, PLACES), -EINVAL);
	assert_int_equal(weir_worker_retire(rig.rt, SPARE, 0), -EINVAL);
	assert_int_equal(weir_worker_retire(rig.rt, 0, SPARE), -EINVAL);
	assert_int_equal(weir_worker_add(rig.rt, lcores[0]), -EEXIST);
	assert_int_equal(weir_worker_add(rig.rt, rte_get_main_lcore()),
			 -EINVAL);
	assert_int_equal(weir_worker_add(rig.rt, RTE_MAX_LCORE), -EINVAL);
	race_release(&go);
	assert_int_equal(rte_eal_remote_launch(wait_for_go, &go, lcores[SPARE]),
			 0);
	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), -EBUSY);
	rig_set(&go, 1);
	rte_eal_wait_lcore(lcores[SPARE]);
	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), SPARE);
}

/* What calls from a task give. */
static int
change_poll(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);

	if (weir_worker_retire(rt, 0, 1) != -EDEADLK ||
	    weir_worker_add(rt, lcores[SPARE]) != -EDEADLK)
		return -EPROTO;
	return WEIR_DONE;
}

static const struct weir_task_ops change_ops = {
	.name = "change",
	.poll = change_poll,
};

static void
test_tasks_cannot_wait_for_a_change(void **state)
{
	struct weir_join *join;

	join = weir_task_spawn(rig.rt, &change_ops, NULL, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* What calls give in a function that a task blocks in; it is told in the end. */
struct changes {
	int retired;
	int added;
	int blocked;
};

/* The other worker: to wait for one's own would never end. */
static void
change_workers_in_place(void *arg)
{
	struct changes *c = arg;

	c->retired = weir_worker_retire(rig.rt, 0, 1);
	c->added = weir_worker_add(rig.rt, lcores[SPARE]);
}

static int
change_in_place_poll(struct weir_context *ctx, void *state)
{
	struct changes *c = state;

	c->blocked = weir_block_in_place(change_workers_in_place, c);
	return WEIR_DONE;
}

static const struct weir_task_ops change_in_place_ops = {
	.name = "change in place",
	.state_size = sizeof(struct changes),
	.poll = change_in_place_poll,
	.result_size = sizeof(struct changes),
};

static void
test_functions_that_tasks_block_in_cannot_wait_for_a_change(void **state)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = 1,
	};
	struct weir_join *join;
	struct changes c;

	join = weir_task_spawn(rig.rt, &change_in_place_ops, NULL, &attr);
	assert_non_null(join);
	assert_int_equal(rig_join(join, &c), 0);
	assert_int_equal(c.blocked, 0);
	assert_int_equal(c.retired, -EDEADLK);
	assert_int_equal(c.added, -EDEADLK);
	assert_true(weir_worker_is_active(rig.rt, 0));
	assert_false(weir_worker_is_active(rig.rt, SPARE));
	/* Others can. */
	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), SPARE);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
}

static void
test_current_thread_runtime_has_one_worker(void **state)
{
	struct weir_options o;
	struct weir_runtime *rt;

	rig_options(&o, 0);
	o.name = "current";
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	assert_int_equal(weir_worker_retire(rt, 0, 1), -ENOTSUP);
	assert_int_equal(weir_worker_add(rt, lcores[SPARE]), -ENOTSUP);
	weir_runtime_free(rt);
}

struct retirement {
	bool cancelled; /* the thread */
	struct atomic_u32 begun;
	struct atomic_u32 over;
	int rc;
};

static void *
retire_worker_0(void *arg)
{
	struct retirement *r = arg;

	if (r->cancelled)
		pthread_cancel(pthread_self());
	rig_set(&r->begun, 1);
	r->rc = weir_worker_retire(rig.rt, 0, 1);
	rig_set(&r->over, 1);
	pthread_testcancel();
	return NULL;
}

/* From here on it waits for the worker, or has done so. */
static void
await_the_call(const struct retirement *r)
{
	const struct worker *w = rig.rt->workers[0];

	rig_wait_until(rig_get(&r->begun) &&
		       (rig_get(&w->attention) & ATTENTION_RETIRE));
}

static void
test_retiring_waits_for_the_task_that_runs(void **state)
{
	struct retirement r = { .rc = 1 };
	struct rig_blockers b;
	pthread_t thread;

	rig_block_some(&b, rig.rt, 1);
	pthread_create(&thread, NULL, retire_worker_0, &r);
	await_the_call(&r);
	assert_true(weir_worker_is_active(rig.rt, 0));
	assert_int_equal(rig_get(&r.over), 0);
	rig_unblock(&b);
	pthread_join(thread, NULL);
	assert_int_equal(r.rc, 0);
	assert_false(weir_worker_is_active(rig.rt, 0));
}

static void
test_who_is_cancelled_retires_a_worker_first(void **state)
{
	struct retirement r = { .cancelled = true, .rc = 1 };
	struct rig_blockers b;
	pthread_t thread;
	void *end = NULL;

	rig_block_some(&b, rig.rt, 1);
	pthread_create(&thread, NULL, retire_worker_0, &r);
	await_the_call(&r);
	rig_unblock(&b);
	pthread_join(thread, &end);
	assert_int_equal(r.rc, 0);
	assert_ptr_equal(end, PTHREAD_CANCELED);
	assert_int_equal(weir_worker_add(rig.rt, lcores[0]), 0);
}

static void
test_shutdown_overtakes_a_retirement(void **state)
{
	struct retirement r = { .rc = 1 };
	struct rig_blockers b;
	pthread_t thread;

	rig_block_some(&b, rig.rt, 1);
	pthread_create(&thread, NULL, retire_worker_0, &r);
	await_the_call(&r);
	weir_runtime_shutdown_begin(rig.rt);
	pthread_join(thread, NULL);
	assert_int_equal(r.rc, -ESHUTDOWN);
	rig_set(&b.go, 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	weir_join_detach(b.joins[0]);
	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), -ESHUTDOWN);
	assert_int_equal(weir_worker_retire(rig.rt, 1, 0), -ESHUTDOWN);
}

static void
test_shutdown_with_a_retired_worker_leaves_its_lcore_alone(void **state)
{
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	race_release(&rig.go);
	assert_int_equal(rte_eal_remote_launch(wait_for_go, &rig.go, lcores[0]),
			 0);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	rig_set(&rig.go, 1);
	rte_eal_wait_lcore(lcores[0]);
	assert_int_equal(rte_eal_remote_launch(return_at_once, NULL, lcores[1]),
			 0);
	rte_eal_wait_lcore(lcores[1]);
}

static void
test_retiring_waits_for_blocked_threads(void **state)
{
	struct retirement r = { .rc = 1 };
	struct weir_join *join;
	struct rig_door d;
	pthread_t thread;

	join = rig_block_thread(rig.rt, 0, &d);
	pthread_create(&thread, NULL, retire_worker_0, &r);
	await_the_call(&r);
	assert_true(weir_worker_is_active(rig.rt, 0));
	assert_int_equal(rig_get(&r.over), 0);
	rig_set(&d.open, 1);
	pthread_join(thread, NULL);
	assert_int_equal(r.rc, 0);
	assert_int_equal(rig_join(join, NULL), 0);
}

/*
 * Threads wake tasks that are bound to workers which come and go: no wake-up
 * is lost [workers:F1].
 */
struct waiter {
	struct atomic_ptr waker;
	struct atomic_u32 seen;
	struct weir_join *join;
	unsigned int worker;
};

static struct waiter sleepers[PUSHERS];

static int
sleeper_poll(struct weir_context *ctx, void *state)
{
	struct waiter *s = *(struct waiter **)state;

	if (rig_get(&s->seen) == WAKES)
		return WEIR_DONE;
	rig_add(&s->seen, 1);
	atomic_ptr_store(&s->waker, weir_context_waker(ctx), RELEASE);
	return WEIR_PENDING;
}

static const struct weir_task_ops sleeper_ops = {
	.name = "sleeper",
	.state_size = sizeof(struct waiter *),
	.poll = sleeper_poll,
};

static struct atomic_u32 next_sleeper;

static void *
wake_sleeper(void *arg)
{
	struct waiter *s =
		&sleepers[atomic_u32_fetch_add(&next_sleeper, 1, RELAXED)];
	unsigned int i;

	for (i = 0; i < WAKES; i++)
		weir_waker_wake(rig_take_waker(&s->waker));
	return NULL;
}

static void
change_workers(uint64_t seed)
{
	struct rand_state rand;
	unsigned int i, k, other;

	rand_seed(&rand, seed);
	for (i = 0; i < CHANGES; i++) {
		k = rand_below(&rand, PLACES);
		other = (k + 1 + rand_below(&rand, PLACES - 1)) % PLACES;
		if (!weir_worker_is_active(rig.rt, k))
			assert_int_equal(weir_worker_add(rig.rt, lcores[k]),
					 (int)k);
		else if (weir_worker_is_active(rig.rt, other))
			assert_int_equal(weir_worker_retire(rig.rt, k, other),
					 0);
	}
}

static void
test_no_wake_up_is_lost_while_workers_come_and_go(void **state)
{
	struct waiter *told;
	pthread_t threads[PUSHERS];
	unsigned int i;

	memset(sleepers, 0, sizeof(sleepers));
	atomic_u32_store(&next_sleeper, 0, RELAXED);
	for (i = 0; i < PUSHERS; i++) {
		const struct weir_spawn_attr attr = {
			.affinity = WEIR_AFFINITY_WORKER,
			.worker = i % PLACES,
		};

		/* Bound to places whose worker may not have come yet, too. */
		told = &sleepers[i];
		if (!weir_worker_is_active(rig.rt, attr.worker))
			weir_worker_add(rig.rt, lcores[attr.worker]);
		told->join =
			weir_task_spawn(rig.rt, &sleeper_ops, &told, &attr);
		assert_non_null(told->join);
		pthread_create(&threads[i], NULL, wake_sleeper, NULL);
	}
	change_workers(unit_seed());
	for (i = 0; i < PUSHERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(rig_join(sleepers[i].join, NULL), 0);
	}
}

/* Tasks bound to worker 0 share what nobody guards, wherever it goes (G6). */
static struct {
	struct atomic_u32 inside;
	struct atomic_u32 collisions;
	unsigned int polls;
} shared;

static int
sharer_poll(struct weir_context *ctx, void *state)
{
	unsigned int i;

	rig_add(&shared.collisions,
		atomic_u32_exchange(&shared.inside, 1, RELAXED));
	shared.polls++;
	for (i = 0; i < 4; i++)
		sched_yield();
	atomic_u32_store(&shared.inside, 0, RELAXED);
	return sleeper_poll(ctx, state);
}

static const struct weir_task_ops sharer_ops = {
	.name = "sharer",
	.state_size = sizeof(struct waiter *),
	.poll = sharer_poll,
};

static void
test_bound_tasks_never_run_at_the_same_time(void **state)
{
	struct waiter *told;
	pthread_t threads[PUSHERS];
	unsigned int i;

	memset(sleepers, 0, sizeof(sleepers));
	memset(&shared, 0, sizeof(shared));
	atomic_u32_store(&next_sleeper, 0, RELAXED);
	for (i = 0; i < PUSHERS; i++) {
		told = &sleepers[i];
		told->join = weir_task_spawn(
			rig.rt, &sharer_ops, &told,
			&(struct weir_spawn_attr){
				.affinity = WEIR_AFFINITY_WORKER });
		assert_non_null(told->join);
		pthread_create(&threads[i], NULL, wake_sleeper, NULL);
	}
	change_workers(unit_seed());
	for (i = 0; i < PUSHERS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(rig_join(sleepers[i].join, NULL), 0);
	}
	assert_int_equal(rig_get(&shared.collisions), 0);
	assert_int_equal(shared.polls, PUSHERS * (WAKES + 1));
}

/* Half way it waits until there has been a change. */
static void *
send_packets(void *changes)
{
	uint32_t sent = 0, n;

	while (sent < PACKETS) {
		if (sent == PACKETS / 2)
			rig_wait_until(rig_get(changes) > 0);
		n = RTE_MIN(8u, PACKETS - sent);
		rig_wait_until(rte_ring_free_count(rings[0]) >= n);
		arrive(0, sent, sent + n);
		sent += n;
	}
	return NULL;
}

static void
test_order_and_packets_are_kept_under_traffic(void **state)
{
	struct ports_receiver r = {
		.rxq = weir_rxq_create(rig.rt, ports[0], 0, 0, 32),
		.wanted = PACKETS,
	};
	struct atomic_u32 changes = { 0 };
	struct rand_state rand;
	struct weir_join *join;
	uint64_t seed = unit_seed();
	pthread_t thread;
	unsigned int i;
	int rc;

	assert_non_null(r.rxq);
	join = weir_task_spawn(rig.rt, &ports_receiver_ops, &r, NULL);
	assert_non_null(join);
	pthread_create(&thread, NULL, send_packets, &changes);
	rand_seed(&rand, seed);
	for (i = 0; i < 4; i++) {
		change_workers(seed + i);
		rc = weir_source_move(weir_rxq_source(r.rxq), rig.rt,
				      rand_below(&rand, PLACES));
		/* There is no worker at the moment. */
		assert_true(rc == 0 || rc == -EINVAL);
		rig_add(&changes, 1);
	}
	pthread_join(thread, NULL);
	assert_int_equal(rig_join(join, &r), 0);
	assert_int_equal(r.taken, PACKETS);
	assert_int_equal(r.disorder, 0);
	weir_rxq_free(r.rxq);
}

static void
test_moving_a_source_over_and_over_keeps_its_packets(void **state)
{
	struct ports_receiver r = {
		.rxq = weir_rxq_create(rig.rt, ports[0], 0, 0, 32),
		.wanted = PACKETS,
	};
	struct atomic_u32 moves = { 0 };
	struct weir_join *join;
	unsigned int to = 0;
	pthread_t thread;
	int rc;

	assert_non_null(r.rxq);
	join = weir_task_spawn(rig.rt, &ports_receiver_ops, &r, NULL);
	assert_non_null(join);
	pthread_create(&thread, NULL, send_packets, &moves);
	while ((rc = weir_join_try(join, &r)) == WEIR_PENDING) {
		to = (to + 1) % WORKERS;
		assert_int_equal(
			weir_source_move(weir_rxq_source(r.rxq), rig.rt, to),
			0);
		rig_add(&moves, 1);
	}
	assert_int_equal(rc, 0);
	pthread_join(thread, NULL);
	assert_int_equal(r.taken, PACKETS);
	assert_int_equal(r.disorder, 0);
	weir_rxq_free(r.rxq);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, ports_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_places_are_those_of_the_options),
		TEST(test_added_worker_runs_tasks),
		TEST(test_retired_lcore_is_eals_again),
		TEST(test_tasks_of_a_retired_worker_run_elsewhere),
		TEST(test_bound_tasks_go_to_the_successor_and_come_back),
		TEST(test_successors_form_a_chain),
		TEST(test_sources_go_to_the_successor),
		TEST(test_moved_source_is_polled_by_its_new_worker),
		TEST(test_place_without_a_worker_gets_no_source_and_no_task),
		TEST(test_changes_that_make_no_sense_are_refused),
		TEST(test_tasks_cannot_wait_for_a_change),
		TEST(test_functions_that_tasks_block_in_cannot_wait_for_a_change),
		TEST(test_current_thread_runtime_has_one_worker),
		TEST(test_retiring_waits_for_the_task_that_runs),
		TEST(test_who_is_cancelled_retires_a_worker_first),
		TEST(test_retiring_waits_for_blocked_threads),
		TEST(test_shutdown_overtakes_a_retirement),
		TEST(test_shutdown_with_a_retired_worker_leaves_its_lcore_alone),
		TEST(test_no_wake_up_is_lost_while_workers_come_and_go),
		TEST(test_bound_tasks_never_run_at_the_same_time),
		TEST(test_order_and_packets_are_kept_under_traffic),
		TEST(test_moving_a_source_over_and_over_keeps_its_packets),
	};

	return cmocka_run_group_tests_name("workers", tests, ports_start,
					   unit_eal_teardown);
}
