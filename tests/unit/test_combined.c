/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What two mechanisms do to each other while both are at it: workers that come
 * and go, threads that block, sources that move, and shutdown.
 */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <weir_null.h>

#include "park/source.h"
#include "rig.h"
#include "sched/scheduler.h"

/* The third place is spare. */
#define WORKERS 2u
#define PLACES 3u
#define SPARE 2u

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
	o.park = (enum weir_park)(uintptr_t)*state;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	return 0;
}

/* What comes in between, once. */
struct interlude {
	void (*play)(void);
};
static struct atomic_ptr interlude;
static struct atomic_ptr before_launch;

static void
play(struct atomic_ptr *p)
{
	struct interlude *i = atomic_ptr_exchange(p, NULL, ACQ_REL);

	if (i != NULL)
		i->play();
}

void
__real_weir__retire_worker(struct core *c);
void
__wrap_weir__retire_worker(struct core *c);
enum rte_lcore_state_t
__real_rte_eal_get_lcore_state(unsigned int lcore);
enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore);
int
__real_rte_eal_remote_launch(lcore_function_t *f, void *arg,
			     unsigned int lcore);
int
__wrap_rte_eal_remote_launch(lcore_function_t *f, void *arg,
			     unsigned int lcore);

/* The worker's part of retiring. */
void
__wrap_weir__retire_worker(struct core *c)
{
	play(&interlude);
	__real_weir__retire_worker(c);
}

/* What weir_worker_add() asks, after it was its turn. */
enum rte_lcore_state_t
__wrap_rte_eal_get_lcore_state(unsigned int lcore)
{
	play(&interlude);
	return __real_rte_eal_get_lcore_state(lcore);
}

int
__wrap_rte_eal_remote_launch(lcore_function_t *f, void *arg, unsigned int lcore)
{
	play(&before_launch);
	return __real_rte_eal_remote_launch(f, arg, lcore);
}

/* A thread that changes the workers, and what came of it. */
struct change {
	pthread_t thread;
	unsigned int worker;
	int rc;
};

static void *
retire_to_1(void *arg)
{
	struct change *c = arg;

	c->rc = weir_worker_retire(rig.rt, c->worker, 1);
	return NULL;
}

static void *
add_again(void *arg)
{
	struct change *c = arg;

	c->rc = weir_worker_add(rig.rt, lcores[c->worker]);
	return NULL;
}

static bool
is_wanted(unsigned int worker, enum attention bit)
{
	return (rig_get(&rig.rt->workers[worker]->attention) & bit) != 0;
}

/* Begins a change of worker 0 which another worker is in the way of. */
static void
begin(struct change *c, void *(*change)(void *), unsigned int obstacle,
      enum attention bit)
{
	memset(c, 0, sizeof(*c));
	pthread_create(&c->thread, NULL, change, c);
	rig_wait_until(is_wanted(obstacle, bit));
}

static void
end(struct change *c, int rc)
{
	pthread_join(c->thread, NULL);
	assert_int_equal(c->rc, rc);
}

/* Lets a worker run all that it was sent before. */
static void
let_run(unsigned int worker)
{
	struct rig_log log = { .polls = { 0 } };
	struct rig_state s = { .log = &log };

	assert_int_equal(
		rig_join(rig_spawn_on(rig.rt, worker, &rig_done_ops, &s), NULL),
		0);
}

/* A task bound to worker 0 that waits, and its waker. */
static struct weir_join *
spawn_waiting(struct weir_waker **waker)
{
	struct weir_join *join;

	join = rig_spawn_on(rig.rt, 0, &rig_wait_ops, &rig.told);
	*waker = rig_take_waker(&rig.waker);
	return join;
}

/* workers.c, G6: the successor does not run a task beside the one that runs. */
static void
bound_tasks_do_not_overtake_a_worker_that_retires(void **state)
{
	struct weir_waker *waker;
	struct weir_join *join = spawn_waiting(&waker);
	struct rig_blockers b;
	struct change c;

	rig_block_some(&b, rig.rt, 1u << 0);
	begin(&c, retire_to_1, 0, ATTENTION_RETIRE);
	rig_set(&rig.go, 1);
	weir_waker_wake(waker);
	let_run(1);
	assert_int_equal(rig_get(&rig.log.polls), 1);
	rig_unblock(&b);
	end(&c, 0);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* Nor are they counted once more where they are sent than where they are taken. */
static void
counters_add_up_behind_a_worker_that_retires(void **state)
{
	struct weir_join *joins[100];
	struct weir_worker_stats w;
	struct weir_runtime_stats sum;
	struct rig_blockers b;
	struct change c;
	uint64_t taken = 0;
	unsigned int i;

	rig_block_some(&b, rig.rt, 1u << 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn_on(rig.rt, 0, &rig_done_ops, &rig.told);
	begin(&c, retire_to_1, 0, ATTENTION_RETIRE);
	rig_unblock(&b);
	end(&c, 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	weir_runtime_stats_get(rig.rt, &sum);
	for (i = 0; i < weir_runtime_nb_workers(rig.rt); i++) {
		assert_int_equal(weir_worker_stats_get(rig.rt, i, &w), 0);
		taken += w.injected;
	}
	assert_uint_in_range(taken, 2 * RTE_DIM(joins), UINT64_MAX);
	assert_int_equal(sum.remote_schedules, taken);
}

static void
bound_tasks_do_not_overtake_a_worker_that_comes_back(void **state)
{
	struct weir_waker *waker;
	struct weir_join *join = spawn_waiting(&waker);
	struct rig_blockers b;
	struct change c;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	/* One of worker 0's, which worker 1 runs. */
	rig_block_some(&b, rig.rt, 1u << 0);
	begin(&c, add_again, 1, ATTENTION_RETURN);
	assert_false(weir_worker_is_active(rig.rt, 0));
	/* In the inbox of worker 1, which will send it on. */
	rig_set(&rig.go, 1);
	weir_waker_wake(waker);
	rig_unblock(&b);
	end(&c, 0);
	assert_int_equal(rig_join(join, NULL), 0);
	let_run(0);
}

static void
worker_comes_back_after_those_that_block_its_stand_in(void **state)
{
	struct rig_door d;
	struct weir_join *join;
	struct change c;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	join = rig_block_thread(rig.rt, 0, &d);
	begin(&c, add_again, 1, ATTENTION_RETURN);
	/* The standby thread of worker 1 has seen what is wanted. */
	let_run(1);
	let_run(1);
	assert_false(weir_worker_is_active(rig.rt, 0));
	rig_set(&d.open, 1);
	end(&c, 0);
	assert_int_equal(rig_join(join, NULL), 0);
	let_run(0);
}

/* What the worker was called for has to wait: it has seen that, and goes on. */
static void
expect_idle_worker(unsigned int worker, unsigned int busy)
{
	struct worker *w = rig.rt->workers[worker];
	uint64_t before = counter_get(&w->counters, source_polls);

	rig_wait_until(counter_get(&w->counters, source_polls) > before + 4);
	/* In the kernel. */
	if (rig_get(&w->park) == WEIR_PARK_INTERRUPT)
		rig_wait_until(
			atomic_u64_load(&w->sources.last_poll, RELAXED) == 0);
	assert_int_equal(
		rig_join(rig_spawn_on(rig.rt, busy, &rig_spread_ops, &rig.told),
			 NULL),
		0);
	rig_wait_until(rig_get(&rig.log.drops) == 3);
}

static void
stand_in_sleeps_and_steals_while_a_retirement_waits(void **state)
{
	struct rig_door d;
	struct weir_join *join = rig_block_thread(rig.rt, 0, &d);
	struct change c;

	begin(&c, retire_to_1, 0, ATTENTION_RETIRE);
	expect_idle_worker(0, 1);
	rig_set(&d.open, 1);
	end(&c, 0);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
stand_in_sleeps_and_steals_while_a_return_waits(void **state)
{
	struct rig_door d;
	struct weir_join *join;
	struct change c;

	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), SPARE);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	join = rig_block_thread(rig.rt, 0, &d);
	begin(&c, add_again, 1, ATTENTION_RETURN);
	expect_idle_worker(1, SPARE);
	rig_set(&d.open, 1);
	end(&c, 0);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* What is in the stand-in's queues when the other comes back: G6. */
static void
queued_tasks_follow_a_worker_that_comes_back(void **state)
{
	struct rig_state s = rig.told;
	struct weir_worker_stats before, after;
	struct weir_join *joins[100];
	struct rig_blockers b;
	struct change c;
	unsigned int i;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	rig_block_some(&b, rig.rt, 1u << 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn_on(rig.rt, 0, &rig_done_ops, &s);
	begin(&c, add_again, 1, ATTENTION_RETURN);
	weir_worker_stats_get(rig.rt, 0, &before);
	rig_unblock(&b);
	end(&c, 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	weir_worker_stats_get(rig.rt, 0, &after);
	assert_int_equal(after.polls - before.polls, RTE_DIM(joins));
}

#define CROWD 100u

/* Fills its worker's queue, and stays. */
static int
spawn_crowd(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state, crowd[CROWD];
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		crowd[i] = rig.told;
	weir_task_spawn_burst(weir_context_runtime(ctx), &rig_done_ops, crowd,
			      CROWD, NULL, NULL);
	/* As behind many short tasks. */
	core_look_at(weir__core, core_tick(weir__core) + 30);
	rig_add(&s->log->polls, 1);
	rig_wait_until(rig_get(s->go));
	return WEIR_DONE;
}

/* H3 */
static void
others_can_have_what_is_queued_when_a_worker_comes_back(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "crowd",
		.state_size = sizeof(struct rig_state),
		.poll = spawn_crowd,
	};
	struct rig_log log = { .polls = { 0 } };
	struct atomic_u32 go = { 0 }, go_next = { 0 };
	struct rig_state first = { .log = &log, .go = &go };
	struct rig_state next = { .log = &log, .go = &go_next };
	struct weir_join *first_join, *next_join;
	struct change c;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	first_join = rig_spawn(rig.rt, &ops, &first);
	rig_wait_until(rig_get(&log.polls) == 1);
	/* From the inject queue, since nothing is queued then. */
	next_join = rig_spawn(rig.rt, &rig_block_ops, &next);
	begin(&c, add_again, 1, ATTENTION_RETURN);
	rig_set(&go, 1);
	end(&c, 0);
	rig_wait_until(rig_get(&rig.log.drops) == CROWD);
	rig_set(&go_next, 1);
	assert_int_equal(rig_join(first_join, NULL), 0);
	assert_int_equal(rig_join(next_join, NULL), 0);
}

/* A runtime on one lcore, which may have another as well. */
static struct weir_runtime *
create_on(const char *name, unsigned int place, unsigned int spare)
{
	struct weir_options o;

	rig_options(&o, 1);
	o.name = name;
	o.lcores = &lcores[place];
	o.spare_lcores = &lcores[spare];
	o.nb_spare_lcores = 1;
	return weir_runtime_create(&o);
}

/* On the spare lcore, and perhaps on that of worker 0. */
static struct weir_runtime *
create_other(void)
{
	struct weir_runtime *other = create_on("other", SPARE, 0);

	assert_non_null(other);
	return other;
}

/* It is EAL's while the worker that comes back waits for its tasks. */
static void
lcore_that_a_worker_comes_back_to_is_not_given_to_another(void **state)
{
	struct weir_runtime *other;
	struct rig_blockers b;
	struct change c;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	other = create_other();
	rig_block_some(&b, rig.rt, 1u << 0);
	begin(&c, add_again, 1, ATTENTION_RETURN);
	assert_int_equal(rte_eal_get_lcore_state(lcores[0]), WAIT);
	assert_int_equal(weir_worker_add(other, lcores[0]), -EBUSY);
	assert_false(weir_worker_is_active(other, 1));
	assert_null(create_on("third", 0, 1));
	assert_int_equal(rte_errno, EBUSY);
	rig_unblock(&b);
	end(&c, 0);
	let_run(0);
	assert_int_equal(weir_worker_add(other, lcores[0]), -EBUSY);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	assert_int_equal(weir_worker_add(other, lcores[0]), 1);
	weir_runtime_free(other);
}

static void
return_that_a_shutdown_overtakes_leaves_its_lcore_to_others(void **state)
{
	struct weir_runtime *other;
	struct rig_blockers b;
	struct change c;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	other = create_other();
	rig_block_some(&b, rig.rt, 1u << 0);
	begin(&c, add_again, 1, ATTENTION_RETURN);
	weir_runtime_shutdown_begin(rig.rt);
	end(&c, -ESHUTDOWN);
	assert_int_equal(weir_worker_add(other, lcores[0]), 1);
	weir_runtime_free(other);
	rig_set(&b.go, 1);
	weir_join_detach(b.joins[0]);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
}

/*
 * The other runtime asks for worker 0's lcore when EAL says that it is free, before
 * who waits for that goes on.
 */
static struct weir_runtime *asks;
static int answer;

int
__real_rte_eal_wait_lcore(unsigned int lcore);
int
__wrap_rte_eal_wait_lcore(unsigned int lcore);

int
__wrap_rte_eal_wait_lcore(unsigned int lcore)
{
	struct weir_runtime *other = asks;

	if (other == NULL || lcore != lcores[0])
		return __real_rte_eal_wait_lcore(lcore);
	asks = NULL;
	rig_wait_until(rte_eal_get_lcore_state(lcore) == WAIT);
	answer = weir_worker_add(other, lcore);
	/* Else that would wait for as long as the other is there. */
	return answer < 0 ? __real_rte_eal_wait_lcore(lcore) : 0;
}

static void
lcore_of_a_worker_that_retires_is_not_given_to_another(void **state)
{
	struct weir_runtime *other = create_other();

	asks = other;
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	assert_int_equal(answer, -EBUSY);
	assert_int_equal(weir_worker_add(other, lcores[0]), 1);
	weir_runtime_free(other);
}

static void
lcore_of_a_runtime_that_ends_is_not_given_to_another(void **state)
{
	struct weir_runtime *other = create_other();

	asks = other;
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(answer, -EBUSY);
	assert_int_equal(weir_worker_add(other, lcores[0]), 1);
	weir_runtime_free(other);
}

static struct weir_join *long_task;

static void
spawn_long_task(void)
{
	long_task = rig_spawn_on(rig.rt, 0, &rig_block_ops, &rig.told);
}

/* It has not polled by then. */
static void
worker_that_comes_back_into_a_long_task_is_seen_to_be_stuck(void **state)
{
	static struct interlude spawn = { spawn_long_task };
	uint64_t last_poll;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	atomic_ptr_store(&before_launch, &spawn, RELEASE);
	assert_int_equal(weir_worker_add(rig.rt, lcores[0]), 0);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	last_poll = atomic_u64_load(&rig.rt->workers[0]->sources.last_poll,
				    RELAXED);
	rig_set(&rig.go, 1);
	assert_int_equal(rig_join(long_task, NULL), 0);
	assert_int_not_equal(last_poll, 0);
}

static void
shutdown_drops_bound_tasks_behind_the_one_that_runs(void **state)
{
	struct weir_waker *waker;
	struct weir_join *join = spawn_waiting(&waker);
	struct rig_blockers b;
	struct change c;

	rig_block_some(&b, rig.rt, 1u << 0);
	begin(&c, retire_to_1, 0, ATTENTION_RETIRE);
	weir_runtime_shutdown_begin(rig.rt);
	end(&c, -ESHUTDOWN);
	/* Worker 1 has ended what is its. */
	rig_wait_until(rig_get(&rig.rt->cores_out) == 1);
	assert_int_equal(rig_get(&rig.log.drops), 0);
	rig_set(&b.go, 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_get(&rig.log.drops), 1);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_waker_drop(waker);
	weir_join_detach(b.joins[0]);
}

static void
shutdown_overtakes_a_return(void **state)
{
	struct rig_blockers b;
	struct change c;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	rig_block_some(&b, rig.rt, 1u << 0);
	begin(&c, add_again, 1, ATTENTION_RETURN);
	weir_runtime_shutdown_begin(rig.rt);
	end(&c, -ESHUTDOWN);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), -ETIMEDOUT);
	rig_set(&b.go, 1);
	weir_join_detach(b.joins[0]);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rte_eal_get_lcore_state(lcores[0]), WAIT);
}

static void
begin_the_end(void)
{
	weir_runtime_shutdown_begin(rig.rt);
	/* Until one worker has looked at whose tasks it has to end. */
	rig_wait_until(rig_get(&rig.rt->cores_out) > 0);
}

static struct interlude the_end = { begin_the_end };

/* No task is left to a successor that has looked already. */
static void
worker_that_retires_into_a_shutdown_ends_its_tasks(void **state)
{
	struct weir_waker *waker;
	struct weir_join *join = spawn_waiting(&waker);
	struct rig_blockers b;

	/* The last one to come out, which would end what worker 0 has. */
	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), SPARE);
	rig_block_some(&b, rig.rt, 1u << SPARE);
	atomic_ptr_store(&interlude, &the_end, RELEASE);
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), -ESHUTDOWN);
	rig_wait_until(rig_get(&rig.rt->cores_out) == 2);
	rig_set(&b.go, 1);
	weir_join_detach(b.joins[0]);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_get(&rig.log.drops), 1);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_waker_drop(waker);
}

static void
worker_that_is_added_into_a_shutdown_does_not_start(void **state)
{
	atomic_ptr_store(&interlude, &the_end, RELEASE);
	assert_int_equal(weir_worker_add(rig.rt, lcores[SPARE]), -ESHUTDOWN);
	assert_false(weir_worker_is_active(rig.rt, SPARE));
}

static void
task_is_spawned_on_a_worker_that_has_gone_to_its_successor(void **state)
{
	struct weir_task_entry entry;
	struct weir_join *join;
	struct weir_waker *waker;

	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	join = spawn_waiting(&waker);
	assert_int_equal(weir_task_list(rig.rt, &entry, 1), 1);
	assert_int_equal(entry.worker, 0);
	/* Its successor ends it. */
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_waker_drop(waker);
}

/* A retirement that the end has overtaken leaves sources where they are. */
static void
sources_are_not_handed_over_once_they_are_closed(void **state)
{
	struct weir_null *null = weir_null_create(rig.rt, 0);
	struct worker **w = rig.rt->workers;

	assert_non_null(null);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(
		weir__source_set_hand_over(&w[0]->sources, &w[1]->sources),
		-ESHUTDOWN);
	assert_int_equal(weir_source_worker(weir_null_source(null)), 0);
	weir_null_free(null);
}

#define TEST(name, park)                                                      \
	{                                                                     \
#name " (" #park ")", name, setup, rig_teardown, (void *)park \
	}
#define TESTS(name) TEST(name, WEIR_PARK_POLL), TEST(name, WEIR_PARK_INTERRUPT)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(bound_tasks_do_not_overtake_a_worker_that_retires),
		TESTS(counters_add_up_behind_a_worker_that_retires),
		TESTS(bound_tasks_do_not_overtake_a_worker_that_comes_back),
		TESTS(worker_comes_back_after_those_that_block_its_stand_in),
		TESTS(stand_in_sleeps_and_steals_while_a_retirement_waits),
		TESTS(stand_in_sleeps_and_steals_while_a_return_waits),
		TESTS(queued_tasks_follow_a_worker_that_comes_back),
		TESTS(others_can_have_what_is_queued_when_a_worker_comes_back),
		TESTS(lcore_that_a_worker_comes_back_to_is_not_given_to_another),
		TESTS(return_that_a_shutdown_overtakes_leaves_its_lcore_to_others),
		TESTS(lcore_of_a_worker_that_retires_is_not_given_to_another),
		TESTS(lcore_of_a_runtime_that_ends_is_not_given_to_another),
		TESTS(worker_that_comes_back_into_a_long_task_is_seen_to_be_stuck),
		TESTS(shutdown_drops_bound_tasks_behind_the_one_that_runs),
		TESTS(shutdown_overtakes_a_return),
		TESTS(worker_that_retires_into_a_shutdown_ends_its_tasks),
		TESTS(worker_that_is_added_into_a_shutdown_does_not_start),
		TESTS(task_is_spawned_on_a_worker_that_has_gone_to_its_successor),
		TESTS(sources_are_not_handed_over_once_they_are_closed),
	};

	return cmocka_run_group_tests_name("combined", tests, unit_eal_setup,
					   unit_eal_teardown);
}
