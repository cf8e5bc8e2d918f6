/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tasks that yield keep RUNNING until their next turn, and those that a worker spawns
 * into its own queue have it from the start (lib/task/run.h): who looks at them
 * meanwhile, wakes or ends them, or takes their worker away, finds them as if they were
 * just queued.
 */

#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "sched/scheduler.h"

#define CROWD (3u * RUN_QUEUE_SIZE)

/* A task that comes between two turns of those that yield. */
struct between {
	void (*act)(void *arg);
	void *arg;
};

static int
between_poll(struct weir_context *ctx, void *state)
{
	struct between *b = state;

	b->act(b->arg);
	return WEIR_DONE;
}

static const struct weir_task_ops between_ops = {
	.name = "between",
	.state_size = sizeof(struct between),
	.poll = between_poll,
};

static struct weir_join *
spawn_between(void (*act)(void *arg), void *arg)
{
	const struct between b = { act, arg };

	return weir_task_spawn(rig.rt, &between_ops, &b, NULL);
}

static bool
keeps_its_turn(const struct weir_join *join)
{
	const struct task *t = (const struct task *)join;

	return (state_load(&t->state) & STATE_RUNNING) && task_is_kept(t);
}

/* Yields in its first turn, and waits from the second one on. */
static int
yield_once_poll(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state;

	rig_add(&s->log->polls, 1);
	if (s->polls++ > 0)
		return WEIR_PENDING;
	atomic_ptr_store(s->waker, weir_context_waker(ctx), RELEASE);
	return weir_context_yield(ctx);
}

static void
count_drop(void *state)
{
	rig_add(&((struct rig_state *)state)->log->drops, 1);
}

static const struct weir_task_ops yield_once_ops = {
	.name = "yield_once",
	.state_size = sizeof(struct rig_state),
	.poll = yield_once_poll,
	.drop = count_drop,
};

/* What happens to one that yielded, before its next turn. */
static struct weir_join *
yield_once(void (*act)(void *arg))
{
	struct weir_join *join, *between;
	struct rig_blockers b;

	rig_block(&b, rig.rt);
	join = rig_spawn(rig.rt, &yield_once_ops, &rig.told);
	between = spawn_between(act, join);
	rig_unblock(&b);
	assert_int_equal(rig_join(between, NULL), 0);
	return join;
}

static void
expect_queued(const struct weir_join *join, unsigned int polls)
{
	struct weir_task_entry entries[4];
	uint64_t i, n, found = 0;

	assert_true(keeps_its_turn(join));
	n = weir_task_list(rig.rt, entries, RTE_DIM(entries));
	for (i = 0; i < n; i++) {
		if (entries[i].task.id != weir_join_id(join))
			continue;
		found++;
		assert_int_equal(entries[i].state, WEIR_TASK_QUEUED);
		assert_int_equal(entries[i].polls, polls);
	}
	assert_int_equal(found, 1);
}

static void
look_at_it(void *arg)
{
	expect_queued(arg, 1);
}

static void
end(struct weir_join *join)
{
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(rig_get(&rig.log.drops), 1);
	weir_waker_drop(rig_take_waker(&rig.waker));
}

static void
it_is_listed_as_queued(void **state)
{
	struct weir_join *join = yield_once(look_at_it);

	rig_wait_until(rig_get(&rig.log.polls) == 2);
	end(join);
}

static void
wake_it(void *arg)
{
	struct weir_waker *w = rig_take_waker(&rig.waker);

	assert_true(keeps_its_turn(arg));
	weir_waker_wake_by_ref(w);
	weir_waker_wake_by_ref(w);
	atomic_ptr_store(&rig.waker, w, RELEASE);
}

static void
do_nothing(void *arg)
{
}

static void
wake_up_is_for_its_next_turn(void **state)
{
	struct weir_join *join = yield_once(wake_it);
	unsigned int i;

	rig_wait_until(rig_get(&rig.log.polls) == 2);
	/* Had it another turn after that, it would be over by now. */
	for (i = 0; i < 3; i++)
		assert_int_equal(
			rig_join(spawn_between(do_nothing, NULL), NULL), 0);
	assert_int_equal(rig_get(&rig.log.polls), 2);
	end(join);
}

static void
abort_it(void *arg)
{
	assert_true(keeps_its_turn(arg));
	weir_join_abort(arg);
	assert_int_equal(rig_get(&rig.log.drops), 0);
}

static void
aborted_it_has_no_other_turn(void **state)
{
	struct weir_join *join = yield_once(abort_it);

	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	rig_expect_log(1, 1, 0);
	weir_waker_drop(rig_take_waker(&rig.waker));
}

/* On a worker, where what is spawned waits until this task's turn is over. */
static void
spawn_and_look(void *joins)
{
	struct weir_join **join = joins;

	*join = rig_spawn(rig.rt, &yield_once_ops, &rig.told);
	expect_queued(*join, 0);
}

static void
spawned_it_is_listed_as_queued(void **state)
{
	struct weir_join *join;

	assert_int_equal(rig_join(spawn_between(spawn_and_look, &join), NULL),
			 0);
	rig_wait_until(rig_get(&rig.log.polls) == 2);
	end(join);
}

static void
spawn_and_abort(void *joins)
{
	struct weir_join **join = joins;

	*join = rig_spawn(rig.rt, &yield_once_ops, &rig.told);
	abort_it(*join);
}

static void
spawned_and_aborted_it_has_no_turn(void **state)
{
	struct weir_join *join;

	assert_int_equal(rig_join(spawn_between(spawn_and_abort, &join), NULL),
			 0);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	rig_expect_log(0, 1, 0);
}

static uint64_t
overflows(void)
{
	struct weir_worker_stats stats;
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; weir_worker_stats_get(rig.rt, i, &stats) == 0; i++)
		n += stats.overflows;
	return n;
}

static void
abort_half(void *arg)
{
	struct weir_join **joins = arg;
	unsigned int i;

	for (i = 0; i < CROWD; i += 2)
		weir_join_abort(joins[i]);
}

/* Those that are cancelled end, also where the queue overflows with them. */
static void
crowd_overflows_the_queue(void **state)
{
	struct weir_join *joins[CROWD];
	unsigned int i;
	uint64_t before;

	for (i = 0; i < CROWD; i++)
		joins[i] = rig_spawn(rig.rt, &rig_yield_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) > 10 * CROWD);
	before = overflows();
	rig_wait_until(overflows() > before);
	assert_int_equal(rig_join(spawn_between(abort_half, joins), NULL), 0);
	for (i = 0; i < CROWD; i += 2)
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
	rig_set(&rig.go, 1);
	for (i = 1; i < CROWD; i += 2)
		assert_int_equal(rig_join(joins[i], NULL), 0);
	assert_int_equal(rig_get(&rig.log.drops), CROWD);
}

/* Every other one is bound to the last worker. */
static void
spawn_crowd(struct weir_join **joins, unsigned int n)
{
	unsigned int i, last = weir_runtime_nb_workers(rig.rt) - 1;

	for (i = 0; i < n; i++)
		joins[i] = i % 2 == 0 ? rig_spawn(rig.rt, &rig_yield_ops,
						  &rig.told) :
					rig_spawn_on(rig.rt, last,
						     &rig_yield_ops, &rig.told);
}

static void
expect_turns(void)
{
	uint32_t polls = rig_get(&rig.log.polls);

	rig_wait_until(rig_get(&rig.log.polls) - polls > 1000);
}

static void
worker_goes_and_comes_back(void **state)
{
	struct weir_join *joins[20];
	struct weir_worker_stats stats;
	unsigned int i, round;

	spawn_crowd(joins, RTE_DIM(joins));
	assert_int_equal(weir_worker_stats_get(rig.rt, 1, &stats), 0);
	for (round = 0; round < 20; round++) {
		expect_turns();
		assert_int_equal(weir_worker_retire(rig.rt, 1, 0), 0);
		expect_turns();
		weir_join_abort(joins[round]);
		assert_int_equal(weir_worker_add(rig.rt, stats.lcore), 1);
	}
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
	assert_int_equal(rig_get(&rig.log.drops), RTE_DIM(joins));
}

/*
 * Tasks whose ends wake two others each, while their worker's queue is full of them:
 * it overflows as they end, and none may be left behind.
 */
#define PACK (RUN_QUEUE_SIZE - 1u)

static struct {
	struct weir_waker *wakers[2 * PACK];
	struct atomic_u32 nb_wakers;
	struct atomic_u32 hold; /* their worker, in the middle of them */
	struct atomic_u32 held;
} pack;

static int
woken_poll(struct weir_context *ctx, void *state)
{
	const unsigned int *i = state;

	if (rig_get(&rig.go))
		return WEIR_DONE;
	pack.wakers[*i] = weir_context_waker(ctx);
	rig_add(&pack.nb_wakers, 1);
	return WEIR_PENDING;
}

static const struct weir_task_ops woken_ops = {
	.name = "woken",
	.state_size = sizeof(unsigned int),
	.poll = woken_poll,
};

static int
pack_poll(struct weir_context *ctx, void *state)
{
	rig_add(&rig.log.polls, 1);
	return weir_context_yield(ctx);
}

static void
pack_drop(void *state)
{
	const unsigned int *i = state;

	weir_waker_wake(pack.wakers[2 * *i]);
	weir_waker_wake(pack.wakers[2 * *i + 1]);
	rig_add(&rig.log.drops, 1);
}

/* Has the others in the queue behind it. */
static int
hold_poll(struct weir_context *ctx, void *state)
{
	if (!rig_get(&pack.hold))
		return weir_context_yield(ctx);
	rig_set(&pack.held, 1);
	rig_wait_until(!rig_get(&pack.hold));
	return WEIR_DONE;
}

static void *
retire_last(void *arg)
{
	assert_int_equal(weir_worker_retire(rig.rt, 1, 0), 0);
	return NULL;
}

static void
ends_overflow_the_queue(void **state)
{
	static const struct weir_task_ops hold_ops = { .name = "hold",
						       .poll = hold_poll };
	static const struct weir_task_ops pack_ops = {
		.name = "pack",
		.state_size = sizeof(unsigned int),
		.poll = pack_poll,
		.drop = pack_drop,
	};
	struct weir_join *woken[2 * PACK], *joins[PACK], *hold;
	struct rig_blockers b;
	pthread_t thread;
	unsigned int i;

	memset(&pack, 0, sizeof(pack));
	/* All are the last worker's, who may give them away. */
	rig_block_some(&b, rig.rt, 1);
	for (i = 0; i < 2 * PACK; i++)
		woken[i] = weir_task_spawn(rig.rt, &woken_ops, &i, NULL);
	rig_wait_until(rig_get(&pack.nb_wakers) == 2 * PACK);
	hold = weir_task_spawn(rig.rt, &hold_ops, NULL, NULL);
	for (i = 0; i < PACK; i++)
		joins[i] = weir_task_spawn(rig.rt, &pack_ops, &i, NULL);
	rig_wait_until(rig_get(&rig.log.polls) > 2 * PACK);
	rig_set(&pack.hold, 1);
	rig_wait_until(rig_get(&pack.held));
	for (i = 0; i < PACK; i++)
		weir_join_abort(joins[i]);
	assert_int_equal(pthread_create(&thread, NULL, retire_last, NULL), 0);
	rig_wait_until(worker_attention(rig.rt->workers[1]) != 0);
	rig_set(&rig.go, 1);
	rig_set(&pack.hold, 0);
	pthread_join(thread, NULL);
	rig_unblock(&b);
	assert_int_equal(rig_join(hold, NULL), 0);
	for (i = 0; i < PACK; i++)
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
	for (i = 0; i < 2 * PACK; i++)
		assert_int_equal(rig_join(woken[i], NULL), 0);
	assert_int_equal(rig_get(&rig.log.drops), PACK);
}

/* Bound ones are dropped where they ran. */
struct bound {
	struct rig_log *log;
	unsigned int worker;
};

static int
bound_poll(struct weir_context *ctx, void *state)
{
	struct bound *b = state;

	rig_add(&b->log->polls, 1);
	assert_int_equal(weir_context_worker(ctx), b->worker);
	return weir_context_yield(ctx);
}

static void
bound_drop(void *state)
{
	struct bound *b = state;

	assert_int_equal(weir_worker_current(), b->worker);
	rig_add(&b->log->drops, 1);
}

static void
runtime_ends(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "bound",
		.state_size = sizeof(struct bound),
		.poll = bound_poll,
		.drop = bound_drop,
	};
	unsigned int i, n = weir_runtime_nb_workers(rig.rt);
	struct weir_join *joins[20];

	for (i = 0; i < RTE_DIM(joins); i++) {
		struct bound b = { &rig.log, i % n };
		struct weir_spawn_attr attr = {
			.affinity = WEIR_AFFINITY_WORKER,
			.worker = b.worker,
		};

		joins[i] = weir_task_spawn(rig.rt, &ops, &b, &attr);
	}
	expect_turns();
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
	assert_int_equal(rig_get(&rig.log.drops), RTE_DIM(joins));
}

static struct atomic_u32 ending;

/* What a task has spawned when the runtime ends, more than its worker's queue holds. */
static void
spawn_and_end(void *arg)
{
	struct weir_join **joins = arg;
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		joins[i] = rig_spawn(rig.rt, &rig_yield_ops, &rig.told);
	assert_true(weir__inject_len(&rig.rt->nodes[0]->inject) > 0);
	weir_runtime_shutdown_begin(rig.rt);
	rig_set(&ending, 1);
}

static void
expect_all_ended(struct weir_join **joins)
{
	unsigned int i;

	for (i = 0; i < CROWD; i++)
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
	assert_int_equal(rig_get(&rig.log.drops), CROWD);
}

/*
 * Wakes more than there is room for, while the runtime ends: those in the queue end, but
 * not in here, where the drop of each could come to what who wakes has locked.
 */
static void
end_and_wake(void *arg)
{
	struct weir_join **joins = arg;
	unsigned int i;

	for (i = 0; i < PACK; i++)
		joins[i] = rig_spawn(rig.rt, &rig_yield_ops, &rig.told);
	for (i = 0; i < PACK; i += 2)
		weir_join_abort(joins[i]);
	weir_runtime_shutdown_begin(rig.rt);
	/* The last one still comes behind this turn, and ends by itself. */
	rig_set(&rig.go, 1);
	for (i = 0; i < 2 * PACK; i++)
		weir_waker_wake(pack.wakers[i]);
	rig_set(&pack.held, rig_get(&rig.log.drops));
	rig_set(&ending, 1);
}

static void
end_by(void (*act)(void *arg), struct weir_join **joins)
{
	struct weir_join *join;

	rig_set(&ending, 0);
	join = spawn_between(act, joins);
	rig_wait_until(rig_get(&ending));
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
runtime_ends_with_what_was_spawned(void **state)
{
	struct weir_join *joins[CROWD];

	end_by(spawn_and_end, joins);
	expect_all_ended(joins);
}

static void
runtime_ends_while_its_queue_overflows(void **state)
{
	struct weir_join *woken[2 * PACK], *joins[PACK];
	unsigned int i;

	memset(&pack, 0, sizeof(pack));
	for (i = 0; i < 2 * PACK; i++)
		woken[i] = weir_task_spawn(rig.rt, &woken_ops, &i, NULL);
	rig_wait_until(rig_get(&pack.nb_wakers) == 2 * PACK);
	end_by(end_and_wake, joins);
	assert_int_equal(rig_get(&pack.held), 0);
	for (i = 0; i < PACK; i++)
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
	for (i = 0; i < 2 * PACK - 1; i++)
		assert_int_equal(rig_join(woken[i], NULL), -ECANCELED);
	assert_int_equal(rig_join(woken[i], NULL), 0);
	assert_int_equal(rig_get(&rig.log.drops), PACK);
}

/* Blocks its thread until all of them have ended, which the runtime's end waits for. */
static void
wait_for_all(void *arg)
{
	expect_all_ended(arg);
}

static void
spawn_end_and_wait(void *arg)
{
	spawn_and_end(arg);
	assert_int_equal(weir_block_in_place(wait_for_all, arg), 0);
}

static void
runtime_ends_for_who_awaits_what_was_spawned(void **state)
{
	struct weir_join *joins[CROWD];

	end_by(spawn_end_and_wait, joins);
	assert_int_equal(rig_get(&rig.log.drops), CROWD);
}

static int
look_again_poll(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state;

	rig_add(&s->log->polls, 1);
	return rig_get(s->go) ? WEIR_DONE : context_look_again(ctx);
}

static const struct weir_task_ops look_again_ops = {
	.name = "look_again",
	.state_size = sizeof(struct rig_state),
	.poll = look_again_poll,
};

/* Whose turn comes though its worker has nobody else: worker 1 has been blocked. */
static void
expect_turn_elsewhere(struct rig_blockers *other, struct weir_join *join)
{
	uint32_t polls = rig_get(&rig.log.polls);

	rig_unblock(other);
	rig_wait_until(rig_get(&rig.log.polls) > polls + 1);
	rig_set(&rig.go, 1);
	assert_int_equal(rig_join(join, NULL), 0);
}

static struct weir_join *
spawn_on_worker_0(const struct weir_task_ops *ops, struct rig_blockers *other)
{
	struct weir_join *join;

	rig_set(&rig.go, 0);
	rig_block_some(other, rig.rt, 1u << 1);
	join = rig_spawn(rig.rt, ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) > 0);
	return join;
}

/* It comes from outside, and before those who yielded. */
static void
it_is_taken_from_a_worker_that_another_task_keeps(void **state)
{
	const struct weir_task_ops *const ops[] = { &rig_yield_ops,
						    &look_again_ops };
	struct rig_blockers other, stuck;
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < RTE_DIM(ops); i++) {
		rig_set(&rig.log.polls, 0);
		join = spawn_on_worker_0(ops[i], &other);
		rig_block_some(&stuck, rig.rt, 1u << 0);
		expect_turn_elsewhere(&other, join);
		rig_unblock(&stuck);
	}
}

struct visit {
	struct rig_door door;
	struct atomic_u32 back;
};

static int
keep_core_poll(struct weir_context *ctx, void *state)
{
	struct visit *v = *(struct visit **)state;

	assert_int_equal(weir_block_in_place(rig_stay_at, &v->door), 0);
	rig_set(&v->back, 1);
	rig_wait_until(rig_get(&rig.go));
	return WEIR_DONE;
}

static void
it_is_taken_from_a_worker_whose_core_another_thread_keeps(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "keep_core",
		.state_size = sizeof(struct visit *),
		.poll = keep_core_poll,
	};
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct visit v = { .back = { 0 } }, *visit = &v;
	struct rig_blockers other;
	struct weir_join *joins[2];

	joins[0] = weir_task_spawn(rig.rt, &ops, &visit, &attr);
	rig_wait_until(rig_get(&v.door.in));
	joins[1] = spawn_on_worker_0(&rig_yield_ops, &other);
	rig_set(&v.door.open, 1);
	rig_wait_until(rig_get(&v.back));
	expect_turn_elsewhere(&other, joins[1]);
	assert_int_equal(rig_join(joins[0], NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(it_is_listed_as_queued, 1),
		RIG_TEST(wake_up_is_for_its_next_turn, 1),
		RIG_TEST(aborted_it_has_no_other_turn, 1),
		RIG_TEST(spawned_it_is_listed_as_queued, 1),
		RIG_TEST(spawned_and_aborted_it_has_no_turn, 1),
		RIG_TEST(crowd_overflows_the_queue, 1),
		RIG_TEST(crowd_overflows_the_queue, 2),
		RIG_TEST(worker_goes_and_comes_back, 2),
		RIG_TEST(worker_goes_and_comes_back, 3),
		RIG_TEST(ends_overflow_the_queue, 2),
		RIG_TEST(it_is_taken_from_a_worker_that_another_task_keeps, 2),
		RIG_TEST(
			it_is_taken_from_a_worker_whose_core_another_thread_keeps,
			2),
		RIG_TESTS(runtime_ends),
		RIG_TEST(runtime_ends_with_what_was_spawned, 1),
		RIG_TEST(runtime_ends_while_its_queue_overflows, 1),
		RIG_TEST(runtime_ends_for_who_awaits_what_was_spawned, 1),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
