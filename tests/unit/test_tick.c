/* SPDX-License-Identifier: BSD-3-Clause */

/* What one worker does between two polls of tasks: worker.c, L1. */

#include "unit.h"

#include <string.h>

#include <rte_cycles.h>

#include "rig.h"
#include "sched/scheduler.h"
#include "weir_null.h"

#define POLLS 200u
#define ROUNDS 200u
/* So long that time is no reason to poll the sources. */
#define LONG_GAP_US 1000000

static struct weir_runtime *rt;

static void
start(struct weir_options *o)
{
	rt = weir_runtime_create(o);
	assert_non_null(rt);
}

/* Where one that fills a worker's queue is let go. */
static struct atomic_u32 go_on;

/* A test that has failed leaves its runtime. */
static int
teardown(void **state)
{
	rig_set(&go_on, 1);
	weir_runtime_free(rt);
	rt = NULL;
	return 0;
}

static uint64_t
source_polls(void)
{
	struct weir_worker_stats stats;

	weir_worker_stats_get(rt, 0, &stats);
	return stats.source_polls;
}

static void
spin_us(uint64_t us)
{
	uint64_t since = rte_rdtsc();

	while (rte_rdtsc() - since <= us * rte_get_tsc_hz() / 1000000 + 1)
		rte_pause();
}

/* A task that is polled so often, and what it saw in between. */
struct counted {
	unsigned int polls;
	unsigned int spin_us;
	bool yields;
	uint64_t first;		 /* polls of the sources at its first poll */
	uint64_t between;	 /* and from there to its last */
	uint64_t last;		 /* at the poll before */
	unsigned int not_polled; /* how often there was none in between */
};

static int
count_source_polls(struct weir_context *ctx, void *state)
{
	struct counted *c = state;
	uint64_t now = source_polls();

	if (c->polls++ == 0)
		c->first = now;
	else
		c->not_polled += now == c->last;
	c->last = now;
	c->between = now - c->first;
	if (c->polls > POLLS)
		return WEIR_DONE;
	spin_us(c->spin_us);
	if (c->yields)
		return weir_context_yield(ctx);
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static const struct weir_task_ops counted_ops = {
	.name = "counted",
	.state_size = sizeof(struct counted),
	.poll = count_source_polls,
	.result_size = sizeof(struct counted),
};

static void
run_counted(const struct weir_options *o, struct counted *c)
{
	struct weir_options options = *o;

	start(&options);
	assert_int_equal(weir_runtime_block_on(rt, &counted_ops, c, c), 0);
	rig_runtime_end(&rt);
}

/* L1 */
static void
sources_are_polled_every_so_many_ticks(void **state)
{
	const unsigned int intervals[] = { 1, 10, 50, 200 };
	struct weir_options o;
	unsigned int i;

	for (i = 0; i < RTE_DIM(intervals); i++) {
		struct counted c = { 0 };

		rig_options(&o, 1);
		o.max_poll_gap_us = LONG_GAP_US;
		o.event_interval = intervals[i];
		run_counted(&o, &c);
		assert_int_equal(c.between, POLLS / intervals[i]);
	}
}

/* L1 */
static void
sources_are_polled_when_the_gap_has_passed(void **state)
{
	struct counted c = { .spin_us = 3 };
	struct weir_options o;

	rig_options(&o, 1);
	o.max_poll_gap_us = 2;
	o.event_interval = 100000;
	run_counted(&o, &c);
	assert_int_equal(c.between, POLLS);
	assert_int_equal(c.not_polled, 0);
}

#define FAMILIES 200u
#define GENERATIONS 3u
#define TURNS 3u

static struct {
	unsigned int turns;
	unsigned int most; /* that were put off at once */
} families;

struct family {
	unsigned int generation;
	unsigned int turns;
};

/* Has its turns, and a child in the first. */
static int
yield_with_a_child(struct weir_context *ctx, void *state);

static const struct weir_task_ops family_ops = {
	.name = "family",
	.state_size = sizeof(struct family),
	.poll = yield_with_a_child,
};

static int
yield_with_a_child(struct weir_context *ctx, void *state)
{
	struct family *f = state, child = { f->generation + 1, 0 };

	families.turns++;
	families.most =
		RTE_MAX(families.most, core_nb_deferred(&rt->workers[0]->core));
	if (f->turns++ == 0 && child.generation < GENERATIONS)
		assert_int_equal(
			weir_task_spawn_detached(rt, &family_ops, &child, NULL),
			0);
	return f->turns < TURNS ? weir_context_yield(ctx) : WEIR_DONE;
}

static int
start_families(struct weir_context *ctx, void *state)
{
	static struct family parents[FAMILIES];

	(void)ctx;
	(void)state;
	assert_int_equal(weir_task_spawn_burst(rt, &family_ops, parents,
					       FAMILIES, NULL, NULL),
			 FAMILIES);
	return WEIR_DONE;
}

static const struct weir_task_ops start_families_ops = {
	.name = "start_families",
	.poll = start_families,
};

/* They wait for a poll of the sources, however many they are. */
static void
more_yield_than_a_queue_holds(void **state)
{
	struct weir_runtime_stats stats;
	struct weir_options o;

	rig_options(&o, 1);
	o.max_poll_gap_us = LONG_GAP_US;
	o.event_interval = 100000;
	start(&o);
	memset(&families, 0, sizeof(families));
	assert_int_equal(
		weir_runtime_block_on(rt, &start_families_ops, NULL, NULL), 0);
	rig_wait_until(
		(weir_runtime_stats_get(rt, &stats), stats.live_tasks == 0));
	rig_runtime_end(&rt);
	assert_int_equal(families.turns, FAMILIES * GENERATIONS * TURNS);
	assert_uint_in_range(families.most, RUN_QUEUE_SIZE + 1,
			     FAMILIES * GENERATIONS);
}

static void
longest_gap_is_counted(void **state)
{
	struct counted c = { .polls = POLLS - 1, .spin_us = 3000 };
	struct weir_worker_stats stats;
	struct weir_options o;

	rig_options(&o, 1);
	start(&o);
	assert_int_equal(weir_runtime_block_on(rt, &counted_ops, &c, NULL), 0);
	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, NULL), 0);
	assert_int_equal(weir_worker_stats_get(rt, 0, &stats), 0);
	assert_true(stats.max_poll_gap_ns >= UINT64_C(3000) * 1000);
	rig_runtime_end(&rt);
}

static struct atomic_u32 hog_over;

/* Always in the run queue. */
static int
hog(struct weir_context *ctx, void *state)
{
	if (rig_get(&hog_over))
		return WEIR_DONE;
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static const struct weir_task_ops hog_ops = { .name = "hog", .poll = hog };

static void
expect_polls_between_yields(bool beside_a_hog)
{
	struct counted c = { .yields = true };
	struct weir_options o;

	rig_set(&hog_over, 0);
	rig_options(&o, 1);
	o.max_poll_gap_us = LONG_GAP_US;
	start(&o);
	if (beside_a_hog)
		assert_int_equal(
			weir_task_spawn_detached(rt, &hog_ops, NULL, NULL), 0);
	assert_int_equal(weir_runtime_block_on(rt, &counted_ops, &c, &c), 0);
	rig_set(&hog_over, 1);
	rig_runtime_end(&rt);
	assert_int_equal(c.between, POLLS);
	assert_int_equal(c.not_polled, 0);
}

static void
who_yields_comes_back_after_a_poll_of_the_sources(void **state)
{
	expect_polls_between_yields(false);
	expect_polls_between_yields(true);
}

#define BUDGET 20u

/* What can be waited for without end: events of a source, ended tasks. */
struct waiter {
	struct weir_null *null;
	struct weir_join *ended[2 * BUDGET];
	unsigned int taken;
	unsigned int polls;
};

static int
take_events(struct weir_context *ctx, void *state)
{
	struct waiter *w = state;
	int n;

	if (w->polls++ > 0)
		return WEIR_DONE;
	while (w->taken < 2 * BUDGET) {
		weir_null_post(w->null, 1);
		n = weir_null_recv(ctx, w->null);
		if (n < 0)
			return n;
		w->taken += n;
	}
	return WEIR_DONE;
}

static int
take_outcomes(struct weir_context *ctx, void *state)
{
	struct waiter *w = state;
	int rc;

	if (w->polls++ > 0)
		return WEIR_DONE;
	for (; w->taken < 2 * BUDGET; w->taken++) {
		rc = weir_join_poll(ctx, w->ended[w->taken], NULL);
		if (rc < 0)
			return rc;
	}
	return WEIR_DONE;
}

static unsigned int
taken_in_a_poll(int (*poll)(struct weir_context *, void *), struct waiter *w)
{
	const struct weir_task_ops ops = {
		.name = "waiter",
		.state_size = sizeof(*w),
		.poll = poll,
		.result_size = sizeof(*w),
	};

	assert_int_equal(weir_runtime_block_on(rt, &ops, w, w), 0);
	return w->taken;
}

static void
every_wait_spends_budget(void **state)
{
	struct rig_log log = { 0 };
	const struct rig_state s = { .log = &log };
	struct waiter events = { 0 }, outcomes = { 0 };
	struct weir_worker_stats stats;
	struct weir_options o;
	unsigned int i;

	rig_options(&o, 1);
	o.budget = BUDGET;
	start(&o);
	events.null = weir_null_create(rt, 0);
	assert_int_equal(taken_in_a_poll(take_events, &events), BUDGET);
	weir_null_free(events.null);
	for (i = 0; i < RTE_DIM(outcomes.ended); i++) {
		outcomes.ended[i] = rig_spawn(rt, &rig_done_ops, &s);
		rig_wait_until(weir_join_ended(outcomes.ended[i]));
	}
	assert_int_equal(taken_in_a_poll(take_outcomes, &outcomes), BUDGET);
	for (i = BUDGET; i < RTE_DIM(outcomes.ended); i++)
		assert_int_equal(weir_join_try(outcomes.ended[i], NULL), 0);
	assert_int_equal(weir_runtime_shutdown(rt, UINT64_MAX, NULL), 0);
	assert_int_equal(weir_worker_stats_get(rt, 0, &stats), 0);
	assert_int_equal(stats.forced_yields, 2);
	rig_runtime_end(&rt);
}

/* Some fast polls, slow ones until the interval is at its least, then fast ones. */
struct tuned {
	unsigned int fast_polls;
	unsigned int slow_polls;
	bool late; /* the next look at the inject queues, for the interval */
	uint32_t least;
	uint32_t then;
	uint32_t slow_clock; /* ticks between looks at the clock, when slow */
	uint32_t slow_take;  /* of an inject queue at once, when slow */
	bool unlike;	     /* not as many as those are claimed at once */
};

static int
tune(struct weir_context *ctx, void *state)
{
	struct tuned *t = state;
	uint32_t interval = ctx->core->inject_interval;

	if (t->least == 0 || interval < t->least)
		t->least = interval;
	t->then = interval;
	if ((int32_t)(ctx->core->next_inject - core_tick(ctx->core)) >
	    (int32_t)interval)
		t->late = true;
	if (rt->workers[0]->queue.most !=
	    RTE_MAX(ctx->core->clock_ticks, RUN_QUEUE_BATCH))
		t->unlike = true;
	if (t->fast_polls > 0) {
		t->fast_polls--;
	} else if (t->slow_polls > 0) {
		t->slow_polls--;
		t->slow_clock = ctx->core->clock_ticks;
		t->slow_take = ctx->core->take_most;
		spin_us(300);
	} else if (interval > t->least) {
		return WEIR_DONE;
	}
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static const struct weir_task_ops tune_ops = {
	.name = "tune",
	.state_size = sizeof(struct tuned),
	.poll = tune,
	.result_size = sizeof(struct tuned),
};

/*
 * Its target is 200 us: slow polls bring it down to 2 ticks, fast ones up. The
 * clock is read each tick of slow ones. As many tasks are claimed at once as have their
 * turns between two looks at it, but eight where they are slower.
 */
static void
intervals_tune_themselves(void **state)
{
	struct tuned t = { .fast_polls = 5000, .slow_polls = 100 };
	struct weir_options o;

	rig_options(&o, 1);
	start(&o);
	assert_int_equal(weir_runtime_block_on(rt, &tune_ops, &t, &t), 0);
	rig_runtime_end(&rt);
	assert_int_equal(t.least, 2);
	assert_uint_in_range(t.then, 3, 127);
	assert_int_equal(t.slow_clock, 1);
	assert_int_equal(t.slow_take, INJECT_TAKE_MIN);
	assert_false(t.unlike);
	assert_false(t.late);
}

struct looks {
	unsigned int polls;
	uint32_t most;	/* ticks since the last look at the clock */
	uint32_t batch; /* as many are claimed at once */
};

static int
count_looks(struct weir_context *ctx, void *state)
{
	struct core *c = ctx->core;
	struct looks *l = state;

	/* However short turns are. */
	rt->clock_target = UINT64_MAX;
	l->most = RTE_MAX(l->most, core_tick(c) - c->looked);
	l->batch = rt->workers[0]->queue.most;
	if (++l->polls == 1000)
		return WEIR_DONE;
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static const struct weir_task_ops count_looks_ops = {
	.name = "count_looks",
	.state_size = sizeof(struct looks),
	.poll = count_looks,
	.result_size = sizeof(struct looks),
};

static void
clock_is_read_every_32_turns_at_least(void **state)
{
	struct looks l = { 0 };
	struct weir_options o;

	rig_options(&o, 1);
	o.inject_interval = 1000;
	start(&o);
	assert_int_equal(weir_runtime_block_on(rt, &count_looks_ops, &l, &l),
			 0);
	assert_int_equal(l.most, 31);
	assert_int_equal(l.batch, RUN_QUEUE_BATCH_SHORT);
	rig_runtime_end(&rt);
}

/* Where nothing is timed, where there is a timer, and where a source is waited for. */
enum {
	CALM,
	TIMER,
	SOURCE,
	NB_PHASES
};

#define CLOCK_TICKS 3u
#define CALM_TICKS 20u

struct phases {
	struct weir_null *null;
	struct weir_sleep sleep;
	unsigned int polls;
	uint32_t looked;	  /* tick of the last look at the clock */
	uint32_t most[NB_PHASES]; /* ticks between two looks */
	uint32_t armed; /* ticks to the next look when the timer was armed */
};

static void
note_looks(struct phases *p, const struct core *c, unsigned int phase)
{
	if (p->looked == c->looked)
		return;
	/* The first of a phase may have been set before. */
	if (p->polls % POLLS > 2 * CALM_TICKS)
		p->most[phase] = RTE_MAX(p->most[phase], c->looked - p->looked);
	p->looked = c->looked;
}

/* Long before the next look, which then comes sooner. */
static void
arm_timer(struct phases *p, struct weir_context *ctx)
{
	struct core *c = ctx->core;

	if (p->armed > 0 || c->ticks_left <= 2 * (int32_t)CLOCK_TICKS)
		return;
	weir_sleep(ctx, &p->sleep, UINT64_C(3600000000000));
	p->armed = c->next_look - core_tick(c);
}

static int
look_in_phases(struct weir_context *ctx, void *state)
{
	struct core *c = ctx->core;
	struct phases *p = state;

	c->clock_ticks = CLOCK_TICKS;
	c->calm_ticks = CALM_TICKS;
	note_looks(p, c, p->polls / POLLS);
	p->polls++;
	if (p->polls / POLLS == TIMER)
		arm_timer(p, ctx);
	if (p->polls == SOURCE * POLLS) {
		weir_sleep_cancel(&p->sleep);
		weir_null_recv(ctx, p->null);
	}
	if (p->polls == NB_PHASES * POLLS)
		return WEIR_DONE;
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static const struct weir_task_ops look_in_phases_ops = {
	.name = "look_in_phases",
	.state_size = sizeof(struct phases),
	.poll = look_in_phases,
	.result_size = sizeof(struct phases),
};

static void
clock_is_read_more_often_where_something_is_timed(void **state)
{
	struct phases p = { 0 };
	struct weir_options o;

	rig_options(&o, 1);
	/* So that nothing else has it look, or sets the intervals. */
	o.event_interval = 100000;
	o.inject_interval = 100000;
	o.max_poll_gap_us = LONG_GAP_US;
	start(&o);
	p.null = weir_null_create(rt, 0);
	assert_non_null(p.null);
	assert_int_equal(weir_runtime_block_on(rt, &look_in_phases_ops, &p, &p),
			 0);
	weir_null_free(p.null);
	rig_runtime_end(&rt);
	assert_int_equal(p.most[CALM], CALM_TICKS);
	assert_uint_in_range(p.armed, 1, CLOCK_TICKS);
	assert_int_equal(p.most[TIMER], CLOCK_TICKS);
	assert_int_equal(p.most[SOURCE], CLOCK_TICKS);
}

static struct atomic_u32 rounds;
static struct atomic_ptr round_waker;
static struct atomic_u64 first_mean, last_mean; /* cycles of a turn */

/* A short turn for each time that it is woken. */
static int
wait_for_rounds(struct weir_context *ctx, void *state)
{
	if (rig_get(&rounds) == 0)
		atomic_u64_store(&first_mean, ctx->core->mean_poll, RELAXED);
	atomic_u64_store(&last_mean, ctx->core->mean_poll, RELAXED);
	if (rig_get(&rounds) == ROUNDS)
		return WEIR_DONE;
	atomic_ptr_store(&round_waker, weir_context_waker(ctx), RELEASE);
	return WEIR_PENDING;
}

static const struct weir_task_ops wait_for_rounds_ops = {
	.name = "rounds",
	.poll = wait_for_rounds,
};

/* The worker waits after each turn, and has its mean of those all the same. */
static void
intervals_tune_themselves_between_waits(void **state)
{
	struct weir_waker *waker;
	struct weir_options o;
	struct weir_join *join;
	unsigned int i;

	rig_options(&o, 1);
	start(&o);
	atomic_ptr_store(&round_waker, NULL, RELAXED);
	rig_set(&rounds, 0);
	join = weir_task_spawn(rt, &wait_for_rounds_ops, NULL, NULL);
	assert_non_null(join);
	for (i = 0; i < ROUNDS; i++) {
		waker = rig_take_waker(&round_waker);
		rig_add(&rounds, 1);
		weir_waker_wake(waker);
	}
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_not_equal(atomic_u64_load(&last_mean, RELAXED),
			     atomic_u64_load(&first_mean, RELAXED));
	rig_runtime_end(&rt);
}

#define INJECTED 64u

static struct atomic_u32 batch; /* what the first of them found taken */

static int
look_at_batch(struct weir_context *ctx, void *state)
{
	struct weir_worker_stats stats;

	weir_worker_stats_get(rt, weir_context_worker(ctx), &stats);
	if (rig_get(&batch) == 0)
		rig_set(&batch, (uint32_t)stats.injected);
	return WEIR_DONE;
}

/* How many of two workers takes the one that comes first, of n in the inject queue. */
static uint32_t
taken_at_first(unsigned int n)
{
	static const struct weir_task_ops ops = {
		.name = "look",
		.poll = look_at_batch,
	};
	struct rig_blockers first, second;
	struct weir_options o;
	unsigned int i;

	rig_set(&batch, 0);
	rig_options(&o, 2);
	start(&o);
	rig_block_some(&first, rt, 1u << 0);
	rig_block_some(&second, rt, 1u << 1);
	for (i = 0; i < n; i++)
		weir_join_detach(weir_task_spawn(rt, &ops, NULL, NULL));
	rig_unblock(&first);
	rig_wait_until(rig_get(&batch) != 0);
	rig_unblock(&second);
	rig_runtime_end(&rt);
	/* One came through the inbox: the blocker. */
	return rig_get(&batch) - 1;
}

/* The other worker finds as many when it comes. */
static void
worker_takes_its_share_of_the_inject_queue(void **state)
{
	assert_int_equal(taken_at_first(INJECT_TAKE_MIN),
			 INJECT_TAKE_MIN / 2 + 1);
}

/* As it takes them before it knows, and after a blocker's turn. */
static void
worker_takes_few_of_those_that_take_long(void **state)
{
	assert_int_equal(taken_at_first(4 * INJECT_TAKE_MIN), INJECT_TAKE_MIN);
}

static int
done_at_once(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

static struct atomic_u32 full;
/* Of looks at the inject queues behind it. */
static uint32_t interval;

/* Fills its worker's queue, and stays. */
static int
fill_queue(struct weir_context *ctx, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "done",
		.poll = done_at_once,
	};

	while (weir__run_queue_room_owner(&worker_of(weir__core)->queue) > 0)
		weir_task_spawn_detached(rt, &ops, NULL, NULL);
	ctx->core->inject_interval = interval;
	ctx->core->next_inject = core_tick(ctx->core) + 1;
	ctx->core->took_inject = core_tick(ctx->core) - interval;
	rig_set(&full, 1);
	rig_wait_until(rig_get(&go_on));
	return WEIR_DONE;
}

/* How many a worker takes at its first look, of INJECTED that come meanwhile. */
static uint32_t
take_beside_a_full_queue(const struct weir_spawn_attr *attr, uint32_t looks)
{
	static const struct weir_task_ops fill_ops = {
		.name = "fill",
		.poll = fill_queue,
	};
	static const struct weir_task_ops ops = {
		.name = "look",
		.poll = look_at_batch,
	};
	struct weir_options o;
	unsigned int i;

	rig_set(&batch, 0);
	rig_set(&full, 0);
	rig_set(&go_on, 0);
	interval = looks;
	rig_options(&o, 1);
	o.inject_interval = 2;
	start(&o);
	weir_task_spawn_detached(rt, &fill_ops, NULL, NULL);
	rig_wait_until(rig_get(&full));
	for (i = 0; i < INJECTED; i++)
		weir_task_spawn_detached(rt, &ops, NULL, attr);
	rig_set(&go_on, 1);
	rig_wait_until(rig_get(&batch) != 0);
	rig_runtime_end(&rt);
	/* Less the one that has filled the queue. */
	return rig_get(&batch) - 1;
}

/* They do not go there. */
static void
worker_takes_all_of_its_inbox_beside_a_full_queue(void **state)
{
	const struct weir_spawn_attr bound = {
		.affinity = WEIR_AFFINITY_WORKER,
	};

	assert_int_equal(take_beside_a_full_queue(&bound, 2), INJECTED);
}

/* However full it stays: else more could come than are taken. */
static void
worker_takes_some_of_the_inject_queue_beside_a_full_queue(void **state)
{
	assert_uint_in_range(take_beside_a_full_queue(NULL, 100), 100 / 4,
			     INJECTED);
}

#define PARTS 20u
#define LONG_RING 64u
/* With one more, a ring of that size is full. */
#define LONG_FULL (LONG_RING - 2)
#define LONG_LIST (LONG_FULL + PARTS * CHAIN_STEPS)

#define LONG_INTERVAL 100u

/* Turns of one that is queued again and again, until the last of the list. */
static struct atomic_u32 turns, seen;
/* How many there had been when each had its turn. */
static uint32_t turns_at[LONG_LIST];

static int
yield_beside_list(struct weir_context *ctx, void *state)
{
	if (rig_get(&seen) == LONG_LIST)
		return WEIR_DONE;
	rig_add(&turns, 1);
	return weir_context_yield(ctx);
}

static int
go_on_beside_list(struct weir_context *ctx, void *state)
{
	if (rig_get(&seen) == LONG_LIST)
		return WEIR_DONE;
	rig_add(&turns, 1);
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static int
note_turns(struct weir_context *ctx, void *state)
{
	turns_at[rig_get(&seen)] = rig_get(&turns);
	rig_add(&seen, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops yields = {
	.name = "yields",
	.poll = yield_beside_list,
};

static const struct weir_task_ops goes_on = {
	.name = "goes on",
	.poll = go_on_beside_list,
};

/* attr: of the tasks of the list. */
static void
run_long_list(const struct weir_task_ops *beside,
	      const struct weir_spawn_attr *attr)
{
	static const struct weir_task_ops note_ops = {
		.name = "note",
		.poll = note_turns,
	};
	struct rig_blockers blocker;
	struct weir_options o;
	unsigned int i;

	rig_set(&turns, 0);
	rig_set(&seen, 0);
	rig_options(&o, 1);
	o.inject_ring_size = LONG_RING;
	o.inject_interval = LONG_INTERVAL;
	start(&o);
	rig_block_some(&blocker, rt, 1u << 0);
	weir_task_spawn_detached(rt, beside, NULL, NULL);
	for (i = 0; i < LONG_LIST; i++)
		weir_task_spawn_detached(rt, &note_ops, NULL, attr);
	rig_unblock(&blocker);
	rig_wait_until(rig_get(&seen) == LONG_LIST);
	rig_runtime_end(&rt);
}

/*
 * L1: others would wait until all of it is turned round, as the sources would. There may
 * be a part at the begin of a tick, and another behind it. L2: nor does each part wait
 * for an interval.
 */
#define expect_parts(nb_turns)                        \
	assert_uint_in_range(nb_turns, PARTS / 2 - 1, \
			     2 * PARTS + 2 * LONG_INTERVAL)

static void
long_list_is_turned_between_turns(void **state)
{
	run_long_list(&yields, NULL);
	expect_parts(turns_at[LONG_FULL] - turns_at[LONG_FULL - 1]);
	run_long_list(&goes_on, NULL);
	expect_parts(turns_at[LONG_FULL] - turns_at[LONG_FULL - 1]);
}

static void
long_inbox_is_turned_between_turns(void **state)
{
	const struct weir_spawn_attr bound = {
		.affinity = WEIR_AFFINITY_WORKER,
	};

	run_long_list(&yields, &bound);
	expect_parts(turns_at[0]);
	run_long_list(&goes_on, &bound);
	expect_parts(turns_at[0]);
}

static int
yield_beside_first(struct weir_context *ctx, void *state)
{
	return rig_get(&seen) > 0 ? WEIR_DONE : weir_context_yield(ctx);
}

static struct atomic_u64 overflows;

/* How often its queue had been full by the first one's turn. */
static int
note_overflows(struct weir_context *ctx, void *state)
{
	struct weir_worker_stats stats;

	weir_worker_stats_get(rt, weir_context_worker(ctx), &stats);
	if (rig_get(&seen) == 0)
		atomic_u64_store(&overflows, stats.overflows, RELAXED);
	rig_add(&seen, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops note_overflows_ops = {
	.name = "note",
	.poll = note_overflows,
};

/* A worker that a task of these has filled the queue of, and keeps. */
static void
start_filled(struct weir_options *o, const struct weir_task_ops *fill)
{
	rig_set(&seen, 0);
	rig_set(&full, 0);
	rig_set(&go_on, 0);
	atomic_u64_store(&overflows, UINT64_MAX, RELAXED);
	o->inject_interval = LONG_INTERVAL;
	start(o);
	weir_task_spawn_detached(rt, fill, NULL, NULL);
	rig_wait_until(rig_get(&full));
}

/* Of that worker when it goes on, until so many have noted them. */
static uint64_t
overflows_until(uint32_t n)
{
	rig_set(&go_on, 1);
	rig_wait_until(rig_get(&seen) == n);
	rig_runtime_end(&rt);
	return atomic_u64_load(&overflows, RELAXED);
}

/*
 * So many have yielded, at least, when it looks at the inject queue: some more than there
 * is room for besides.
 */
#define YIELDED 51u
#define ALWAYS_RUNNABLE (RUN_QUEUE_SIZE - 32u)

static int
spawn_some_that_yield(struct weir_context *ctx, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "yields",
		.poll = yield_beside_first,
	};
	struct core *c = ctx->core;
	unsigned int i;

	for (i = 0; i < ALWAYS_RUNNABLE; i++)
		weir_task_spawn_detached(rt, &ops, NULL, NULL);
	c->next_inject = core_tick(c) + YIELDED;
	c->took_inject = c->next_inject;
	rig_set(&full, 1);
	rig_wait_until(rig_get(&go_on));
	return WEIR_DONE;
}

static void
who_yielded_has_a_place_in_the_queue(void **state)
{
	static const struct weir_task_ops fill_ops = {
		.name = "fill",
		.poll = spawn_some_that_yield,
	};
	struct weir_options o;
	unsigned int i;

	rig_options(&o, 1);
	o.event_interval = 2 * RUN_QUEUE_SIZE;
	o.max_poll_gap_us = LONG_GAP_US;
	start_filled(&o, &fill_ops);
	for (i = 0; i < INJECTED; i++)
		weir_task_spawn_detached(rt, &note_overflows_ops, NULL, NULL);
	assert_int_equal(overflows_until(INJECTED), 0);
}

/* Fills its worker's queue with tasks that are always runnable, and stays. */
static int
fill_with_tasks_that_go_on(struct weir_context *ctx, void *state)
{
	while (weir__run_queue_room_owner(&worker_of(weir__core)->queue) > 0)
		weir_task_spawn_detached(rt, &goes_on, NULL, NULL);
	rig_set(&full, 1);
	rig_wait_until(rig_get(&go_on));
	return WEIR_DONE;
}

/*
 * Each part of the list is turned at a look, which takes from the inject queue, too. What
 * was spawned last, and is in the slot, finds the queue full, once.
 */
static void
full_queue_is_given_few_while_an_inbox_is_turned(void **state)
{
	static const struct weir_task_ops fill_ops = {
		.name = "fill",
		.poll = fill_with_tasks_that_go_on,
	};
	static const struct weir_task_ops done_ops = {
		.name = "done",
		.poll = done_at_once,
	};
	const struct weir_spawn_attr bound = {
		.affinity = WEIR_AFFINITY_WORKER,
	};
	struct weir_options o;
	unsigned int i;

	rig_options(&o, 1);
	start_filled(&o, &fill_ops);
	for (i = 0; i < LONG_LIST; i++)
		weir_task_spawn_detached(rt, &note_overflows_ops, NULL, &bound);
	for (i = 0; i < PARTS * LONG_INTERVAL; i++)
		weir_task_spawn_detached(rt, &done_ops, NULL, NULL);
	assert_uint_in_range(overflows_until(LONG_LIST), 0, 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sources_are_polled_every_so_many_ticks),
		TEST(sources_are_polled_when_the_gap_has_passed),
		TEST(more_yield_than_a_queue_holds),
		TEST(longest_gap_is_counted),
		TEST(who_yields_comes_back_after_a_poll_of_the_sources),
		TEST(every_wait_spends_budget),
		TEST(intervals_tune_themselves),
		TEST(clock_is_read_every_32_turns_at_least),
		TEST(clock_is_read_more_often_where_something_is_timed),
		TEST(intervals_tune_themselves_between_waits),
		TEST(worker_takes_its_share_of_the_inject_queue),
		TEST(worker_takes_few_of_those_that_take_long),
		TEST(worker_takes_all_of_its_inbox_beside_a_full_queue),
		TEST(worker_takes_some_of_the_inject_queue_beside_a_full_queue),
		TEST(long_list_is_turned_between_turns),
		TEST(long_inbox_is_turned_between_turns),
		TEST(who_yielded_has_a_place_in_the_queue),
		TEST(full_queue_is_given_few_while_an_inbox_is_turned),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
