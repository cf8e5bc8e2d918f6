/* SPDX-License-Identifier: BSD-3-Clause */

/* What tasks wait for by the clock, which these tests hold in their hands. */

#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/rand.h"
#include "kernel.h"
#include "rig.h"
#include "sched/scheduler.h"

#define MS UINT64_C(1000000)
#define HOUR (UINT64_C(3600) * 1000 * MS)

/* Sleeps as often as told, and notes when each sleep was over. */
#define SLEEPS 4
struct sleeper_state {
	struct atomic_u32 *polls;
	struct atomic_u32 *drops;
	uint64_t ns[SLEEPS];
	unsigned int n;
	unsigned int done;
	struct weir_sleep sleep;
	uint64_t over[SLEEPS]; /* the result */
};

static int
sleeper_poll(struct weir_context *ctx, void *state)
{
	struct sleeper_state *s = state;
	int rc;

	while (s->done < s->n) {
		rc = weir_sleep(ctx, &s->sleep, s->ns[s->done]);
		if (rc < 0) {
			rig_add(s->polls, 1);
			return rc;
		}
		s->over[s->done++] = weir_clock_now(weir_context_runtime(ctx));
	}
	return WEIR_DONE;
}

static void
sleeper_drop(void *state)
{
	struct sleeper_state *s = state;

	weir_sleep_cancel(&s->sleep);
	rig_add(s->drops, 1);
}

static const struct weir_task_ops sleeper_ops = {
	.name = "sleeper",
	.state_size = sizeof(struct sleeper_state),
	.poll = sleeper_poll,
	.drop = sleeper_drop,
	.result_offset = offsetof(struct sleeper_state, over),
	.result_size = sizeof(uint64_t[SLEEPS]),
};

static struct weir_join *
spawn_sleeper(uint64_t first, uint64_t second)
{
	struct sleeper_state s = {
		.polls = &rig.log.polls,
		.drops = &rig.log.drops,
		.ns = { first, second },
		.n = second != 0 ? 2 : 1,
	};
	struct weir_join *join =
		weir_task_spawn(rig.rt, &sleeper_ops, &s, NULL);

	assert_non_null(join);
	return join;
}

static void
sleep_ends_when_its_time_has_come(void **state)
{
	uint64_t over[SLEEPS], begin;
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	begin = weir_clock_now(rig.rt);
	join = spawn_sleeper(10 * MS, 5 * MS);
	rig_wait_until(rig_timers(rig.rt) == 1);
	assert_int_equal(weir_clock_advance(rig.rt, 10 * MS - 2000), 0);
	/* Nothing that comes later has seen it end. */
	assert_int_equal(
		rig_join(rig_spawn(rig.rt, &rig_done_ops, &rig.told), NULL), 0);
	assert_int_equal(rig_timers(rig.rt), 1);
	assert_int_equal(weir_clock_advance(rig.rt, 4000), 0);
	rig_wait_until(rig_get(&rig.log.polls) >= 3);
	assert_int_equal(rig_timers(rig.rt), 1);
	assert_int_equal(weir_clock_advance(rig.rt, 1000 * MS), 0);
	assert_int_equal(rig_join(join, over), 0);
	assert_true(over[0] - begin >= 10 * MS);
	/* Each time that it was set, the clock took a whole tick. */
	assert_true(over[0] - begin <= 10 * MS + 2000 + 3 * 1000);
	assert_true(over[1] - begin >= 15 * MS);
	assert_int_equal(rig_timers(rig.rt), 0);
}

static void
running_clock_ends_sleeps(void **state)
{
	uint64_t over[SLEEPS], begin = weir_clock_now(rig.rt);

	assert_int_equal(rig_join(spawn_sleeper(MS, 2 * MS), over), 0);
	assert_true(over[0] >= begin + MS);
	assert_true(over[1] >= over[0] + 2 * MS);
}

static void
time_in_the_past_ends_at_once(void **state)
{
	uint64_t over[SLEEPS];

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(rig_join(spawn_sleeper(0, 0), over), 0);
	assert_int_equal(over[0], weir_clock_now(rig.rt));
	/* It never waited. */
	assert_int_equal(rig_get(&rig.log.polls), 0);
}

static void
time_that_never_comes_can_be_aborted(void **state)
{
	struct weir_join *join = spawn_sleeper(WEIR_TIME_NEVER, 0);
	struct weir_join *far = spawn_sleeper(WEIR_TIME_NEVER - MS, 0);

	rig_wait_until(rig_timers(rig.rt) == 2);
	weir_join_abort(join);
	weir_join_abort(far);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(rig_join(far, NULL), -ECANCELED);
	assert_int_equal(rig_timers(rig.rt), 0);
	assert_int_equal(rig_get(&rig.log.drops), 2);
}

static void
shutdown_ends_sleeps(void **state)
{
	struct weir_join *join = spawn_sleeper(WEIR_TIME_NEVER, 0);

	rig_wait_until(rig_timers(rig.rt) == 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(rig_timers(rig.rt), 0);
}

static void
paused_clock_stands_still(void **state)
{
	uint64_t now;

	assert_int_equal(weir_clock_advance(rig.rt, 1), -EINVAL);
	assert_int_equal(weir_clock_resume(rig.rt), -EALREADY);
	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(weir_clock_pause(rig.rt), -EALREADY);
	now = weir_clock_now(rig.rt);
	assert_int_equal(rig_join(spawn_sleeper(0, 0), NULL), 0);
	assert_int_equal(weir_clock_now(rig.rt), now);
	assert_int_equal(weir_clock_advance(rig.rt, HOUR), 0);
	assert_uint_in_range(weir_clock_now(rig.rt) - now, HOUR - 1,
			     HOUR + 1000);
	assert_int_equal(weir_clock_resume(rig.rt), 0);
	assert_true(weir_clock_now(rig.rt) >= now + HOUR - 1);
	/* It goes on from there: not by what it missed. */
	assert_true(weir_clock_now(rig.rt) < now + 2 * HOUR);
	/* Beyond the end of time it stays at it. */
	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(weir_clock_advance(rig.rt, UINT64_MAX), -ERANGE);
	assert_int_equal(weir_clock_advance(rig.rt, UINT64_MAX), -ERANGE);
	assert_int_equal(weir_clock_advance(rig.rt, 1), -ERANGE);
	/* Nor does it go on from there. */
	now = weir_clock_now(rig.rt);
	assert_int_equal(weir_clock_resume(rig.rt), -ERANGE);
	assert_int_equal(weir_clock_now(rig.rt), now);
	assert_int_equal(weir_clock_pause(rig.rt), -EALREADY);
}

/* Of a counter so slow that nanoseconds are used up before its cycles, too. */
static void
time_does_not_begin_again_at_its_end(void **state)
{
	static const uint64_t rates[] = { 1000000, 24000000, 999999999,
					  2599998000 };
	struct clock c;
	uint64_t end;
	unsigned int i;

	for (i = 0; i < RTE_DIM(rates); i++) {
		weir__clock_init(&c);
		weir__clock_set_rate(&c, rates[i]);
		assert_int_equal(weir__clock_hold(&c), 0);
		assert_int_equal(weir__clock_advance(&c, UINT64_MAX), -ERANGE);
		end = clock_ns(&c, clock_now(&c));
		assert_true(end > UINT64_MAX / NS_PER_S * (NS_PER_S / 8));
		assert_int_equal(weir__clock_advance(&c, UINT64_MAX), -ERANGE);
		assert_true(clock_ns(&c, clock_now(&c)) >= end);
		assert_int_equal(weir__clock_go_on(&c), -ERANGE);
	}
}

/* Times converted there and back differ by a cycle's worth, however long. */
static void
conversion_does_not_drift(void **state)
{
	static const uint64_t rates[] = { 24000000, 1000000000, 2599998000,
					  5000000001 };
	struct rand_state r;
	struct clock c;
	unsigned int i, j;
	uint64_t cycles, ns, back;

	rand_seed(&r, unit_seed());
	weir__clock_init(&c);
	assert_true(
		weir__clock_cycles(&c, UINT64_MAX) >=
		(c.hz < NS_PER_S ? UINT64_MAX / NS_PER_S * c.hz : UINT64_MAX));
	for (i = 0; i < RTE_DIM(rates); i++) {
		weir__clock_set_rate(&c, rates[i]);
		for (j = 0; j < 10000; j++) {
			ns = (uint64_t)rand_u32(&r) << 28 >> rand_below(&r, 40);
			back = clock_ns(&c, weir__clock_cycles(&c, ns));
			assert_true(back >= ns);
			assert_true(back <= ns + NS_PER_S / c.hz + 1);
		}
		/* The nanosecond of a cycle, after as many of them as ever. */
		for (j = 0; j < 10000; j++) {
			cycles =
				((uint64_t)rand_u32(&r) << 32 | rand_u32(&r)) >>
				8;
			cycles >>= rand_below(&r, 56);
			ns = cycles / c.hz * NS_PER_S +
			     cycles % c.hz * NS_PER_S / c.hz;
			back = clock_ns(&c, cycles);
			assert_true(back >= ns && back <= ns + 1);
		}
		/* A day is a day. */
		assert_int_equal(clock_ns(&c, c.hz * 86400),
				 UINT64_C(86400) * NS_PER_S);
	}
}

/* Waits for the same time twice, having given it up between. */
struct again_state {
	struct atomic_u32 *polls;
	struct weir_sleep sleep;
	uint64_t deadline;
	unsigned int step;
};

static int
again_poll(struct weir_context *ctx, void *state)
{
	struct again_state *s = state;
	int rc = weir_sleep_until(ctx, &s->sleep, s->deadline);

	if (s->step++ == 0) {
		weir_sleep_cancel(&s->sleep);
		if (rc == WEIR_PENDING)
			rc = weir_sleep_until(ctx, &s->sleep, s->deadline);
		rig_add(s->polls, 1);
		return rc == WEIR_PENDING ? rc : -EBADE;
	}
	/* It has come, for whoever asks again. */
	if (rc == 0)
		rc = weir_sleep_until(ctx, &s->sleep, s->deadline);
	weir_sleep_cancel(&s->sleep);
	if (rc == 0)
		rc = weir_sleep_until(ctx, &s->sleep, s->deadline);
	return rc == 0 ? WEIR_DONE : -EBADE;
}

static void
again_drop(void *state)
{
	weir_sleep_cancel(&((struct again_state *)state)->sleep);
}

static const struct weir_task_ops again_ops = {
	.name = "again",
	.state_size = sizeof(struct again_state),
	.poll = again_poll,
	.drop = again_drop,
};

struct past_state {
	struct weir_sleep sleep;
	uint64_t ago; /* nanoseconds */
};

static int
past_poll(struct weir_context *ctx, void *state)
{
	struct past_state *s = state;
	uint64_t now = weir_clock_now(weir_context_runtime(ctx));
	int rc = weir_sleep_until(ctx, &s->sleep, now - s->ago);

	return rc == 0 ? WEIR_DONE : -EBADE;
}

static void
past_drop(void *state)
{
	weir_sleep_cancel(&((struct past_state *)state)->sleep);
}

static const struct weir_task_ops past_ops = {
	.name = "past",
	.state_size = sizeof(struct past_state),
	.poll = past_poll,
	.drop = past_drop,
};

static int
wait_until_past(uint64_t ago)
{
	const struct past_state s = { .ago = ago };

	return weir_runtime_block_on(rig.rt, &past_ops, &s, NULL);
}

static void
deadline_that_has_come_ends_at_once(void **state)
{
	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(wait_until_past(0), 0);
	/* At the end of time. */
	assert_int_equal(weir_clock_advance(rig.rt, UINT64_MAX), -ERANGE);
	assert_int_equal(wait_until_past(MS), 0);
}

/* Its worker has not looked at the clock since the poll began, and does behind it. */
static int
busy_poll(struct weir_context *ctx, void *state)
{
	const struct weir_runtime *rt = weir_context_runtime(ctx);
	struct again_state *s = state;
	bool first = s->step++ == 0;
	int rc;

	if (first) {
		s->deadline = weir_clock_now(rt) + MS;
		while (weir_clock_now(rt) < s->deadline)
			rte_pause();
	}
	rc = weir_sleep_until(ctx, &s->sleep, s->deadline);
	return rc == (first ? WEIR_PENDING : 0) ? rc : -EBADE;
}

static const struct weir_task_ops busy_ops = {
	.name = "busy",
	.state_size = sizeof(struct again_state),
	.poll = busy_poll,
	.drop = again_drop,
};

static void
time_that_passes_while_the_task_is_busy_is_over_with_the_next_poll(void **state)
{
	const struct again_state s = { 0 };
	struct weir_join *join = weir_task_spawn(rig.rt, &busy_ops, &s, NULL);

	assert_non_null(join);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_timers(rig.rt), 0);
}

static void
cancelled_time_can_be_waited_for_again(void **state)
{
	struct again_state s = { .polls = &rig.log.polls };
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	s.deadline = weir_clock_now(rig.rt) + MS;
	join = weir_task_spawn(rig.rt, &again_ops, &s, NULL);
	assert_non_null(join);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_timers(rig.rt), 0);
}

/*
 * One object for waits of both kinds, which replace one another. Each step is a poll;
 * WEIR_PENDING only where the clock is to be moved on.
 */
struct mixed_state {
	struct atomic_u32 *polls;
	struct weir_sleep sleep;
	uint64_t begin;
	unsigned int step;
};

static int
mixed_step(struct weir_context *ctx, struct mixed_state *s)
{
	switch (s->step) {
	case 0: /* A day, then a millisecond, which replaces it. */
		if (weir_sleep(ctx, &s->sleep, UINT64_C(86400) * NS_PER_S) !=
		    WEIR_PENDING)
			return -EBADE;
		return weir_sleep_until(ctx, &s->sleep, s->begin + MS);
	case 1: /* That is over, and a new one begins now. */
		if (weir_sleep_until(ctx, &s->sleep, s->begin + MS) != 0)
			return -EBADE;
		return weir_sleep(ctx, &s->sleep, MS);
	case 2: /* It has ended, which needs no budget; the next takes its own time. */
		weir_context_spend(ctx, UINT_MAX);
		if (weir_sleep(ctx, &s->sleep, MS) != 0)
			return -EBADE;
		return weir_sleep(ctx, &s->sleep, MS);
	default:
		if (weir_sleep(ctx, &s->sleep, MS) != 0 ||
		    weir_sleep(ctx, &s->sleep, 0) != 0)
			return -EBADE;
		return WEIR_DONE;
	}
}

static int
mixed_poll(struct weir_context *ctx, void *state)
{
	struct mixed_state *s = state;
	int rc = mixed_step(ctx, s);

	s->step++;
	rig_add(s->polls, 1);
	return rc;
}

static void
mixed_drop(void *state)
{
	weir_sleep_cancel(&((struct mixed_state *)state)->sleep);
}

static const struct weir_task_ops mixed_ops = {
	.name = "mixed",
	.state_size = sizeof(struct mixed_state),
	.poll = mixed_poll,
	.drop = mixed_drop,
};

static void
one_sleep_serves_for_waits_of_both_kinds(void **state)
{
	/* How many polls there have been before the clock moves on. */
	static const unsigned int polls[] = { 1, 2, 3 };
	struct mixed_state s = { .polls = &rig.log.polls };
	struct weir_join *join;
	unsigned int i;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	s.begin = weir_clock_now(rig.rt);
	join = weir_task_spawn(rig.rt, &mixed_ops, &s, NULL);
	assert_non_null(join);
	for (i = 0; i < RTE_DIM(polls); i++) {
		rig_wait_until(rig_get(&rig.log.polls) == polls[i]);
		assert_int_equal(rig_timers(rig.rt), 1);
		assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	}
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_timers(rig.rt), 0);
}

/* The first turn puts a deadline off, twice; each asks for the last one. */
static int
put_off_poll(struct weir_context *ctx, void *state)
{
	struct mixed_state *s = state;
	const uint64_t last = s->begin + 3 * MS;
	unsigned int i;

	for (i = 1; s->step == 0 && i < 3; i++)
		if (weir_sleep_until(ctx, &s->sleep, s->begin + i * MS) !=
		    WEIR_PENDING)
			return -EBADE;
	s->step++;
	rig_add(s->polls, 1);
	return weir_timeout_until(ctx, &s->sleep, last, WEIR_PENDING);
}

static void
deadline_put_off_is_asked_for_at_its_first_time(void **state)
{
	const struct weir_task_ops ops = {
		.name = "put off",
		.state_size = sizeof(struct mixed_state),
		.poll = put_off_poll,
		.drop = mixed_drop,
	};
	struct mixed_state s = { .polls = &rig.log.polls };
	struct weir_join *join;
	unsigned int i;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	s.begin = weir_clock_now(rig.rt);
	join = weir_task_spawn(rig.rt, &ops, &s, NULL);
	assert_non_null(join);
	for (i = 1; i <= 2; i++) {
		rig_wait_until(rig_get(&rig.log.polls) == i);
		/* In its turn it is in none for a moment. */
		rig_wait_until(rig_timers(rig.rt) == 1);
		assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	}
	/* From then on it is in for its own time. */
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	assert_int_equal(rig_join(join, NULL), -ETIMEDOUT);
	assert_int_equal(rig_get(&rig.log.polls), 3);
	assert_int_equal(rig_timers(rig.rt), 0);
}

/* Ends when it has been idle for an hour, as the guide has it. */
struct flow_state {
	struct atomic_u32 *polls;
	struct weir_receiver *rx;
	struct weir_wait wait;
	struct weir_sleep sleep;
	uint64_t idle_at;
};

static int
flow_poll(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	struct flow_state *s = state;
	uint64_t values[4];
	int n;

	do {
		n = weir_recv_burst(ctx, s->rx, values, 4, &s->wait);
		if (n > 0)
			s->idle_at = weir_clock_now(rt) + HOUR;
		else if (n == WEIR_PENDING)
			n = weir_timeout_until(ctx, &s->sleep, s->idle_at, n);
	} while (n > 0);
	rig_add(s->polls, 1);
	return n;
}

static void
flow_drop(void *state)
{
	struct flow_state *s = state;

	weir_sleep_cancel(&s->sleep);
	weir_wait_cancel(&s->wait);
	weir_receiver_drop(s->rx);
}

static const struct weir_task_ops flow_ops = {
	.name = "flow",
	.state_size = sizeof(struct flow_state),
	.poll = flow_poll,
	.drop = flow_drop,
};

/* Behind its n-th turn, in which it waited, half an hour passes. */
static void
idle_behind_turn(unsigned int n)
{
	rig_wait_until(rig_get(&rig.log.polls) >= n);
	assert_int_equal(rig_timers(rig.rt), 1);
	assert_int_equal(weir_clock_advance(rig.rt, HOUR / 2), 0);
}

static void
flow_ends_when_nothing_has_come_for_long(void **state)
{
	struct flow_state s = { .polls = &rig.log.polls };
	struct weir_join *join;
	struct weir_sender *tx;
	uint64_t value = 1;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	s.idle_at = weir_clock_now(rig.rt) + HOUR;
	assert_int_equal(
		weir_channel_create(4, sizeof(value), NULL, &tx, &s.rx), 0);
	join = weir_task_spawn(rig.rt, &flow_ops, &s, NULL);
	assert_non_null(join);
	idle_behind_turn(1);
	assert_int_equal(weir_try_send(tx, &value), 0);
	idle_behind_turn(2);
	/* It has been asked for the deadline that was put off. */
	idle_behind_turn(3);
	assert_int_equal(rig_join(join, NULL), -ETIMEDOUT);
	assert_int_equal(rig_get(&rig.log.polls), 4);
	assert_int_equal(weir_try_send(tx, &value), -EPIPE);
	weir_sender_drop(tx);
}

/* A sleep that one task begins and another goes on with. */
struct shared_state {
	struct weir_sleep *sleep;
	struct atomic_u32 *polls;
	uint64_t deadline; /* 0: for some time */
	bool leaves;
};

static int
shared_poll(struct weir_context *ctx, void *state)
{
	const struct shared_state *s = state;
	int rc = s->deadline != 0 ?
			 weir_sleep_until(ctx, s->sleep, s->deadline) :
			 weir_sleep(ctx, s->sleep, MS);

	rig_add(s->polls, 1);
	if (!s->leaves)
		return rc;
	return rc == WEIR_PENDING ? WEIR_DONE : -EBADE;
}

static const struct weir_task_ops shared_ops = {
	.name = "shared",
	.state_size = sizeof(struct shared_state),
	.poll = shared_poll,
};

static struct weir_join *
spawn_shared(const struct shared_state *s)
{
	struct weir_join *join = weir_task_spawn(rig.rt, &shared_ops, s, NULL);

	assert_non_null(join);
	return join;
}

static void
who_goes_on_with_a_sleep_is_woken(void **state)
{
	struct weir_sleep sleep = { { 0 } };
	struct shared_state s = { .sleep = &sleep, .polls = &rig.log.polls };
	struct weir_join *join;
	unsigned int i;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	for (i = 0; i < 2; i++) {
		s.deadline = i == 0 ? 0 : weir_clock_now(rig.rt) + MS;
		s.leaves = true;
		assert_int_equal(rig_join(spawn_shared(&s), NULL), 0);
		assert_int_equal(rig_timers(rig.rt), 1);
		s.leaves = false;
		join = spawn_shared(&s);
		rig_wait_until(rig_get(&rig.log.polls) == 3 * i + 2);
		assert_int_equal(weir_clock_advance(rig.rt, 2 * MS), 0);
		assert_int_equal(rig_join(join, NULL), 0);
		assert_int_equal(rig_timers(rig.rt), 0);
	}
}

/* A timeout around a wait for a task. */
struct bounded_state {
	struct weir_join *join;
	uint64_t ns;
	struct weir_sleep sleep;
};

static int
bounded_poll(struct weir_context *ctx, void *state)
{
	struct bounded_state *s = state;
	int rc;

	rc = weir_timeout(ctx, &s->sleep, s->ns,
			  weir_join_poll(ctx, s->join, NULL));
	if (rc != WEIR_PENDING && rc != -ETIMEDOUT)
		s->join = NULL;
	return rc;
}

static void
bounded_drop(void *state)
{
	struct bounded_state *s = state;

	weir_sleep_cancel(&s->sleep);
	if (s->join != NULL)
		weir_join_abort(s->join);
	weir_join_detach(s->join);
}

static const struct weir_task_ops bounded_ops = {
	.name = "bounded",
	.state_size = sizeof(struct bounded_state),
	.poll = bounded_poll,
	.drop = bounded_drop,
};

static struct weir_join *
spawn_bounded(uint64_t ns)
{
	struct bounded_state s = {
		.join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told),
		.ns = ns,
	};

	return weir_task_spawn(rig.rt, &bounded_ops, &s, NULL);
}

static void
timeout_ends_a_wait(void **state)
{
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	join = spawn_bounded(MS);
	rig_wait_until(rig_timers(rig.rt) == 1);
	weir_waker_drop(rig_take_waker(&rig.waker));
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	assert_int_equal(rig_join(join, NULL), -ETIMEDOUT);
	rig_wait_until(rig_get(&rig.log.drops) == 1);
}

/* One deadline for two answers. */
struct request_state {
	struct weir_oneshot_rx *answers[2];
	struct atomic_u32 *waits; /* begun */
	uint64_t deadline;
	struct weir_sleep sleep;
	struct weir_wait wait;
	unsigned int got;
};

static int
request_poll(struct weir_context *ctx, void *state)
{
	struct request_state *s = state;
	int rc;

	while (s->got < 2) {
		rc = weir_timeout_until(ctx, &s->sleep, s->deadline,
					weir_oneshot_recv(ctx,
							  s->answers[s->got],
							  NULL, &s->wait));
		if (rc == WEIR_PENDING)
			rig_add(s->waits, 1);
		if (rc < 0)
			return rc;
		s->answers[s->got++] = NULL;
	}
	/* The last success has ended the sleep, too. */
	return rig_timers(rig.rt) == 0 ? WEIR_DONE : -EBADE;
}

static void
request_drop(void *state)
{
	struct request_state *s = state;

	weir_sleep_cancel(&s->sleep);
	weir_wait_cancel(&s->wait);
	weir_oneshot_rx_drop(s->answers[0]);
	weir_oneshot_rx_drop(s->answers[1]);
}

static const struct weir_task_ops request_ops = {
	.name = "request",
	.state_size = sizeof(struct request_state),
	.poll = request_poll,
	.drop = request_drop,
};

static struct request_state
make_request(struct weir_oneshot_tx *answers[2], uint64_t deadline)
{
	struct request_state s = {
		.waits = &rig.log.polls,
		.deadline = deadline,
	};
	unsigned int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(weir_oneshot_create(rig.rt, 0, NULL,
						     &answers[i],
						     &s.answers[i]),
				 0);
	return s;
}

/* The second answer comes in time, or not. */
static void
request_two_answers(bool in_time)
{
	struct weir_oneshot_tx *answers[2];
	struct request_state s;
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	s = make_request(answers, weir_clock_now(rig.rt) + 3 * MS);
	join = weir_task_spawn(rig.rt, &request_ops, &s, NULL);
	assert_non_null(join);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	assert_int_equal(weir_clock_advance(rig.rt, 2 * MS), 0);
	assert_int_equal(weir_oneshot_send(answers[0], NULL), 0);
	rig_wait_until(rig_get(&rig.log.polls) == 2);
	assert_false(weir_join_ended(join));
	if (in_time)
		assert_int_equal(weir_oneshot_send(answers[1], NULL), 0);
	else
		assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	assert_int_equal(rig_join(join, NULL), in_time ? 0 : -ETIMEDOUT);
	if (!in_time)
		assert_int_equal(weir_oneshot_send(answers[1], NULL), -EPIPE);
	assert_int_equal(rig_timers(rig.rt), 0);
}

static void
deadline_bounds_several_waits(void **state)
{
	request_two_answers(false);
}

static void
deadline_is_ended_by_the_last_success(void **state)
{
	request_two_answers(true);
}

/* What is there is had behind the deadline, too. */
static void
deadline_that_has_passed_ends_no_wait_that_succeeds(void **state)
{
	struct weir_oneshot_tx *answers[2];
	struct request_state s = make_request(answers, 0);
	struct weir_join *join;

	assert_int_equal(weir_oneshot_send(answers[0], NULL), 0);
	assert_int_equal(weir_oneshot_send(answers[1], NULL), 0);
	join = weir_task_spawn(rig.rt, &request_ops, &s, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_get(&rig.log.polls), 0);
}

/* A timeout around something that uses up each budget, as draining a queue does. */
struct drain_state {
	struct atomic_u32 *polls;
	struct weir_sleep sleep;
	uint64_t ns;
	bool until; /* a deadline, instead of a timeout */
};

static int
drain_poll(struct weir_context *ctx, void *state)
{
	struct drain_state *s = state;
	int rc;

	while ((rc = weir_context_spend(ctx, 1)) == 0)
		;
	rig_add(s->polls, 1);
	if (!s->until)
		return weir_timeout(ctx, &s->sleep, s->ns, rc);
	rc = weir_sleep_until(ctx, &s->sleep, s->ns);
	return rc == 0 ? -ETIMEDOUT : rc;
}

static void
drain_drop(void *state)
{
	weir_sleep_cancel(&((struct drain_state *)state)->sleep);
}

static const struct weir_task_ops drain_ops = {
	.name = "drain",
	.state_size = sizeof(struct drain_state),
	.poll = drain_poll,
	.drop = drain_drop,
};

static void
timeout_ends_what_leaves_no_budget(void **state)
{
	struct drain_state s = { .polls = &rig.log.polls, .ns = MS };
	struct weir_join *join;
	uint32_t before;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	join = weir_task_spawn(rig.rt, &drain_ops, &s, NULL);
	assert_non_null(join);
	rig_wait_until(rig_timers(rig.rt) == 1);
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	rig_wait_until(rig_timers(rig.rt) == 0);
	before = rig_get(&rig.log.polls);
	/* In the poll behind the one that it may be in. */
	rig_wait_until(weir_join_ended(join) ||
		       rig_get(&rig.log.polls) > before + 2);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ETIMEDOUT);
}

/* Waits that succeed for as long as there is budget, and one deadline for them all. */
#define MANY_TURNS 1000

static int
endless_poll(struct weir_context *ctx, void *state)
{
	struct drain_state *s = state;
	int rc;

	rig_add(s->polls, 1);
	do {
		rc = weir_timeout_until(ctx, &s->sleep, s->ns,
					weir_context_spend(ctx, 1));
	} while (rc == 0);
	return rc;
}

static const struct weir_task_ops endless_ops = {
	.name = "endless",
	.state_size = sizeof(struct drain_state),
	.poll = endless_poll,
	.drop = drain_drop,
};

static void
deadline_ends_what_always_has_more(void **state)
{
	struct drain_state s = { .polls = &rig.log.polls };
	struct weir_join *join;
	uint32_t before;
	unsigned int i;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	for (i = 0; i < 2; i++) {
		/* One that has passed, and one that passes. */
		s.ns = weir_clock_now(rig.rt) + i * MS;
		rig_set(s.polls, 0);
		join = weir_task_spawn(rig.rt, &endless_ops, &s, NULL);
		assert_non_null(join);
		rig_wait_until(rig_get(s.polls) > 3 * i);
		before = rig_get(s.polls);
		assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
		rig_wait_until(weir_join_ended(join) ||
			       rig_get(s.polls) > before + MANY_TURNS);
		weir_join_abort(join);
		assert_int_equal(rig_join(join, NULL), -ETIMEDOUT);
		assert_int_equal(rig_timers(rig.rt), 0);
	}
}

static void
time_that_has_passed_ends_what_leaves_no_budget(void **state)
{
	struct drain_state s = { .polls = &rig.log.polls };
	struct weir_join *join;
	unsigned int i;

	/* The turn after the first, though no time passes. */
	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	for (i = 0; i < 3; i++) {
		s.until = i > 0;
		/* No time at all, and one that is inside the last tick. */
		s.ns = i == 2 ? weir_clock_now(rig.rt) - 10 : 0;
		rig_set(&rig.log.polls, 0);
		join = weir_task_spawn(rig.rt, &drain_ops, &s, NULL);
		assert_non_null(join);
		rig_wait_until(weir_join_ended(join) ||
			       rig_get(&rig.log.polls) > 2);
		weir_join_abort(join);
		assert_int_equal(rig_join(join, NULL), -ETIMEDOUT);
		assert_int_equal(rig_get(&rig.log.polls), 2);
	}
}

/* Is told in vain that a time has passed, and then waits for another. */
struct replace_state {
	struct weir_sleep sleep;
	uint64_t passed, next; /* ns */
	bool drained;
};

static int
replace_poll(struct weir_context *ctx, void *state)
{
	struct replace_state *s = state;
	int rc;

	if (!s->drained) {
		s->drained = true;
		while (weir_context_spend(ctx, 1) == 0)
			;
		return weir_sleep_until(ctx, &s->sleep, s->passed);
	}
	rc = weir_sleep_until(ctx, &s->sleep, s->next);
	weir_sleep_cancel(&s->sleep);
	return rc == WEIR_PENDING ? -EAGAIN : rc;
}

/* Both inside a tick, and the clock between them. */
static void
next_time_of_a_tick_has_not_passed_with_another(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "replace",
		.state_size = sizeof(struct replace_state),
		.poll = replace_poll,
	};
	struct replace_state s = { 0 };
	struct weir_join *join;
	struct clock *clock = &rig.rt->clock;
	uint64_t ns;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	atomic_u64_add_owner(&clock->held,
			     UINT64_C(1) << clock->tick_shift >> 1);
	ns = weir_clock_now(rig.rt);
	s.passed = ns - 10;
	s.next = ns + 10;
	join = weir_task_spawn(rig.rt, &ops, &s, NULL);
	assert_non_null(join);
	assert_int_equal(rig_join(join, NULL), -EAGAIN);
}

/* One sleep, in a task of one runtime after that of another, whose clock is ahead. */
struct moved_state {
	struct weir_sleep *sleep;
	uint64_t deadline;
};

static int
moved_poll(struct weir_context *ctx, void *state)
{
	struct moved_state *s = state;
	int rc = weir_sleep_until(ctx, s->sleep, s->deadline);

	if (rc == 0 && weir_clock_now(weir_context_runtime(ctx)) < s->deadline)
		return -EBADE;
	return rc;
}

static const struct weir_task_ops moved_ops = {
	.name = "moved",
	.state_size = sizeof(struct moved_state),
	.poll = moved_poll,
};

static void
sleep_in_a_younger_one(struct moved_state *s)
{
	struct weir_runtime *younger;
	struct weir_options o;

	rig_options(&o, 0);
	o.current_thread = true;
	o.name = "younger";
	younger = weir_runtime_create(&o);
	assert_non_null(younger);
	s->deadline = weir_clock_now(younger) + MS;
	assert_int_equal(weir_runtime_block_on(younger, &moved_ops, s, NULL),
			 0);
	assert_int_equal(weir_runtime_shutdown(younger, UINT64_MAX, NULL), 0);
	weir_runtime_free(younger);
}

/* A task of this kind sleeps here first. */
static void
sleep_here_and_in_a_younger_one(const struct weir_task_ops *ops)
{
	struct weir_sleep sleep = { 0 };
	struct moved_state s = { .sleep = &sleep };
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	s.deadline = weir_clock_now(rig.rt) + HOUR;
	join = weir_task_spawn(rig.rt, ops, &s, NULL);
	assert_non_null(join);
	rig_wait_until(rig_timers(rig.rt) == 1);
	assert_int_equal(weir_clock_advance(rig.rt, HOUR), 0);
	assert_int_equal(rig_join(join, NULL), 0);
	sleep_in_a_younger_one(&s);
}

static void
sleep_may_serve_in_another_runtime(void **state)
{
	sleep_here_and_in_a_younger_one(&moved_ops);
}

/* Begins to sleep, and gives that up, once it has fired, without being told. */
static int
given_up_poll(struct weir_context *ctx, void *state)
{
	struct moved_state *s = state;

	if (rig_timers(rig.rt) == 0 &&
	    weir_clock_now(weir_context_runtime(ctx)) < s->deadline) {
		int rc = weir_sleep_until(ctx, s->sleep, s->deadline);

		return rc == 0 ? -EBADE : rc;
	}
	weir_sleep_cancel(s->sleep);
	return WEIR_DONE;
}

static void
sleep_that_was_given_up_serves_in_another_runtime(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "given up",
		.state_size = sizeof(struct moved_state),
		.poll = given_up_poll,
	};

	sleep_here_and_in_a_younger_one(&ops);
}

static void
wait_that_succeeds_ends_its_timeout(void **state)
{
	struct weir_join *join;
	struct weir_waker *w;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	join = spawn_bounded(MS);
	rig_wait_until(rig_timers(rig.rt) == 1);
	w = rig_take_waker(&rig.waker);
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_timers(rig.rt), 0);
}

#define TICKS 6
struct ticker_state {
	struct weir_interval interval;
	struct atomic_u32 *ticks;
	unsigned int n;
	bool gives_up; /* each wait once */
};

static int
ticker_poll(struct weir_context *ctx, void *state)
{
	struct ticker_state *s = state;
	int rc;

	while (s->n < TICKS) {
		rc = weir_interval_tick(ctx, &s->interval);
		if (rc == WEIR_PENDING && s->gives_up) {
			weir_interval_cancel(&s->interval);
			rc = weir_interval_tick(ctx, &s->interval);
		}
		if (rc < 0)
			return rc;
		rig_set(s->ticks, ++s->n);
	}
	return WEIR_DONE;
}

static void
ticker_drop(void *state)
{
	weir_interval_cancel(&((struct ticker_state *)state)->interval);
}

static const struct weir_task_ops ticker_ops = {
	.name = "ticker",
	.state_size = sizeof(struct ticker_state),
	.poll = ticker_poll,
	.drop = ticker_drop,
};

/* Moves the clock on by `ns`, after which `n` ticks have come. */
static void
tick_on(uint64_t ns, unsigned int n)
{
	if (ns > 0)
		assert_int_equal(weir_clock_advance(rig.rt, ns), 0);
	rig_wait_until(rig_get(&rig.log.polls) == n &&
		       rig_timers(rig.rt) == (n < TICKS));
}

/* Two ticks in time, and then three and a half periods at once. */
static struct weir_join *
begin_ticker(enum weir_missed missed, unsigned int come_at_once)
{
	struct ticker_state s = { .ticks = &rig.log.polls };
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(weir_interval_init(&s.interval, MS, missed), 0);
	join = weir_task_spawn(rig.rt, &ticker_ops, &s, NULL);
	tick_on(0, 1);
	tick_on(MS, 2);
	tick_on(3 * MS + MS / 2, 2 + come_at_once);
	return join;
}

static void
interval_catches_up(void **state)
{
	struct weir_join *join = begin_ticker(WEIR_MISSED_BURST, 3);

	/* Back in step. */
	tick_on(MS / 2, 6);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
interval_goes_on_from_a_late_tick(void **state)
{
	struct weir_join *join = begin_ticker(WEIR_MISSED_DELAY, 1);

	tick_on(MS / 2, 3);
	tick_on(MS / 2, 4);
	tick_on(MS, 5);
	tick_on(MS, 6);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
interval_leaves_missed_ticks_out(void **state)
{
	struct weir_join *join = begin_ticker(WEIR_MISSED_SKIP, 1);

	/* Back in step. */
	tick_on(MS / 2, 4);
	tick_on(MS, 5);
	tick_on(MS, 6);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
tick_that_was_given_up_is_still_the_next(void **state)
{
	struct ticker_state s = { .ticks = &rig.log.polls, .gives_up = true };
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(weir_interval_init(&s.interval, MS, WEIR_MISSED_BURST),
			 0);
	join = weir_task_spawn(rig.rt, &ticker_ops, &s, NULL);
	tick_on(0, 1);
	tick_on(MS, 2);
	tick_on(MS / 2, 2);
	tick_on(MS / 2, 3);
	tick_on(3 * MS, 6);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* Neither at the end of time, nor beyond and so in the past. */
static void
tick_beyond_the_end_of_time_never_comes(void **state)
{
	const uint64_t periods[] = { WEIR_TIME_NEVER, UINT64_MAX - MS };
	struct ticker_state s = { .ticks = &rig.log.polls };
	struct weir_join *join;
	unsigned int i, missed;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(weir_clock_advance(rig.rt, 2 * MS), 0);
	for (missed = WEIR_MISSED_BURST; missed <= WEIR_MISSED_SKIP; missed++)
		for (i = 0; i < RTE_DIM(periods); i++) {
			assert_int_equal(weir_interval_init(&s.interval,
							    periods[i], missed),
					 0);
			rig_set(&rig.log.polls, 0);
			join = weir_task_spawn(rig.rt, &ticker_ops, &s, NULL);
			tick_on(0, 1);
			tick_on(HOUR, 1);
			weir_join_abort(join);
			assert_int_equal(rig_join(join, NULL), -ECANCELED);
			assert_int_equal(rig_get(&rig.log.polls), 1);
		}
}

static void
bad_interval_is_refused(void **state)
{
	struct weir_interval i;

	assert_int_equal(weir_interval_init(&i, 0, WEIR_MISSED_BURST), -EINVAL);
	assert_int_equal(weir_interval_init(&i, 1, (enum weir_missed)3),
			 -EINVAL);
}

static void
interval_without_a_period_is_refused(void **state)
{
	const struct ticker_state s = { .ticks = &rig.log.polls };

	assert_int_equal(
		rig_join(weir_task_spawn(rig.rt, &ticker_ops, &s, NULL), NULL),
		-EINVAL);
	assert_int_equal(rig_get(&rig.log.polls), 0);
}

#define RATE 3u
#define RATE_BURST 10u

/* Permits as the guide has them: each tick some, and no more than a burst at a time. */
struct filler_state {
	struct weir_interval interval;
	struct weir_semaphore *rate;
	struct atomic_u32 *ticks;
};

static int
filler_poll(struct weir_context *ctx, void *state)
{
	struct filler_state *s = state;
	uint32_t there;
	int rc;

	while ((rc = weir_interval_tick(ctx, &s->interval)) == 0) {
		there = weir_semaphore_available(s->rate);
		if (there < RATE_BURST)
			weir_semaphore_release(
				s->rate, RTE_MIN(RATE_BURST - there, RATE));
		rig_add(s->ticks, 1);
	}
	return rc;
}

static void
filler_drop(void *state)
{
	weir_interval_cancel(&((struct filler_state *)state)->interval);
}

static const struct weir_task_ops filler_ops = {
	.name = "filler",
	.state_size = sizeof(struct filler_state),
	.poll = filler_poll,
	.drop = filler_drop,
};

/* Takes what there is; how much that was. */
static unsigned int
take_all(struct weir_semaphore *rate)
{
	unsigned int n = 0;

	while (weir_semaphore_try_acquire(rate, 1) == 0)
		n++;
	return n;
}

static void
rate_is_filled_up_to_a_burst(void **state)
{
	struct atomic_u32 ticks = { 0 };
	struct weir_semaphore rate;
	struct filler_state s = { .rate = &rate, .ticks = &ticks };
	struct weir_join *join;
	unsigned int i;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	assert_int_equal(weir_semaphore_init(&rate, RATE_BURST), 0);
	assert_int_equal(weir_interval_init(&s.interval, MS, WEIR_MISSED_BURST),
			 0);
	join = weir_task_spawn(rig.rt, &filler_ops, &s, NULL);
	/* The first tick comes at once. */
	rig_wait_until(rig_get(&ticks) == 1);
	assert_int_equal(take_all(&rate), RATE_BURST);
	for (i = 2; i < 5; i++) {
		assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
		rig_wait_until(rig_get(&ticks) == i);
		assert_int_equal(take_all(&rate), RATE);
	}
	/* Ticks that were missed are made up for. */
	assert_int_equal(weir_clock_advance(rig.rt, 2 * MS), 0);
	rig_wait_until(rig_get(&ticks) == 6);
	assert_int_equal(take_all(&rate), 2 * RATE);
	assert_int_equal(weir_clock_advance(rig.rt, 100 * MS), 0);
	rig_wait_until(rig_get(&ticks) == 106);
	assert_int_equal(take_all(&rate), RATE_BURST);
	/* What is given back beyond a burst is there, and nothing comes to it. */
	assert_int_equal(weir_semaphore_release(&rate, RATE_BURST + 1), 0);
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	rig_wait_until(rig_get(&ticks) == 107);
	assert_int_equal(take_all(&rate), RATE_BURST + 1);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	weir_semaphore_fini(&rate);
}

/* Sleeps for random times on whatever worker, and is aborted now and then. */
#define STORM 300
static void
storm_of_sleeps_and_aborts(void **state)
{
	struct weir_join *joins[STORM];
	struct rand_state r;
	unsigned int i;
	int rc;

	rand_seed(&r, unit_seed());
	for (i = 0; i < STORM; i++)
		joins[i] = spawn_sleeper(1 + rand_below(&r, 2 * MS),
					 1 + rand_below(&r, 2 * MS));
	for (i = 0; i < STORM; i++)
		if (rand_below(&r, 3) == 0)
			weir_join_abort(joins[i]);
	for (i = 0; i < STORM; i++) {
		rc = rig_join(joins[i], NULL);
		assert_true(rc == 0 || rc == -ECANCELED);
	}
	assert_int_equal(rig_get(&rig.log.drops), STORM);
	assert_int_equal(rig_timers(rig.rt), 0);
}

static void
timers_follow_a_worker_that_retires(void **state)
{
	struct weir_join *joins[8];
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER,
					.worker = 1 };
	struct sleeper_state s = { .polls = &rig.log.polls,
				   .drops = &rig.log.drops,
				   .ns = { MS },
				   .n = 1 };
	unsigned int i;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = weir_task_spawn(rig.rt, &sleeper_ops, &s, &attr);
	rig_wait_until(rig_timers(rig.rt) == RTE_DIM(joins));
	assert_int_equal(weir_worker_retire(rig.rt, 1, 0), 0);
	assert_int_equal(rig.rt->workers[1]->timers.wheel.n, 0);
	assert_int_equal(rig_timers(rig.rt), RTE_DIM(joins));
	/* One is taken out where it is now. */
	weir_join_abort(joins[0]);
	assert_int_equal(rig_join(joins[0], NULL), -ECANCELED);
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	for (i = 1; i < RTE_DIM(joins); i++)
		assert_int_equal(rig_join(joins[i], NULL), 0);
}

/* Sleeps that are longer than a timer's have no end here: see kernel.h. */
static void
sleeping_workers_wake_for_timers(void **state)
{
	uint64_t over[SLEEPS], begin;
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < rig.rt->nb_workers; i++)
		assert_int_equal(
			weir_worker_park_set(rig.rt, i, WEIR_PARK_INTERRUPT),
			0);
	begin = weir_clock_now(rig.rt);
	assert_int_equal(rig_join(spawn_sleeper(8 * MS, MS), over), 0);
	assert_true(over[0] >= begin + 8 * MS);
	assert_true(over[1] >= over[0] + MS);
	/* Also by a clock that jumps. */
	assert_int_equal(weir_clock_pause(rig.rt), 0);
	join = spawn_sleeper(HOUR, 0);
	rig_wait_until(rig_timers(rig.rt) == 1);
	rig_wait_until(kernel_all_asleep(rig.rt));
	assert_int_equal(weir_clock_advance(rig.rt, HOUR), 0);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* A worker is stuck in a task: another fires its timers. */
static void
timers_of_a_stuck_worker_are_fired(void **state)
{
	struct sleeper_state s = { .polls = &rig.log.polls,
				   .drops = &rig.log.drops,
				   .ns = { MS },
				   .n = 1 };
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER,
					.worker = 0 };
	struct rig_blockers b;
	struct weir_join *join;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	join = weir_task_spawn(rig.rt, &sleeper_ops, &s, &attr);
	rig_wait_until(rig_timers(rig.rt) == 1);
	rig_block_some(&b, rig.rt, 1);
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	rig_wait_until(rig_timers(rig.rt) == 0);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), 0);
}

#define PARTS 20u
#define MANY (PARTS * TIMERS_MOST)

/* How many had been woken when the first of them had its turn. */
static struct atomic_u32 woken;

static int
count_woken(struct weir_context *ctx, void *state)
{
	int rc = weir_sleep(ctx, state, MS);

	if (rc == 0 && rig_get(&woken) == 0)
		rig_set(&woken, MANY - worker_of(weir__core)->timers.wheel.n);
	return rc;
}

static void
cancel_sleep(void *state)
{
	weir_sleep_cancel(state);
}

static struct weir_join *many[MANY];

/* On worker 0, until a time that does not come by itself. */
static void
spawn_many(void)
{
	static const struct weir_task_ops ops = {
		.name = "one of many",
		.state_size = sizeof(struct weir_sleep),
		.poll = count_woken,
		.drop = cancel_sleep,
	};
	const struct weir_spawn_attr attr = { .affinity =
						      WEIR_AFFINITY_WORKER };
	unsigned int i;

	rig_set(&woken, 0);
	assert_int_equal(weir_clock_pause(rig.rt), 0);
	for (i = 0; i < MANY; i++) {
		many[i] = weir_task_spawn(rig.rt, &ops, NULL, &attr);
		assert_non_null(many[i]);
	}
	rig_wait_until(rig_timers(rig.rt) == MANY);
}

static void
join_many(void)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		assert_int_equal(rig_join(many[i], NULL), 0);
}

/* T4: they run, and the sources are polled, before all of them are woken. */
static void
many_timers_of_one_time_are_fired_in_parts(void **state)
{
	spawn_many();
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	join_many();
	/* Maybe another look comes before that turn. */
	assert_uint_in_range(rig_get(&woken), TIMERS_MOST, 2 * TIMERS_MOST);
}

static void
who_fires_the_timers_of_a_stuck_worker_sleeps_not_between_parts(void **state)
{
	uint32_t before, sleeps, last = 0;
	struct rig_blockers b;

	/* Who is not called since it is about to sleep comes behind that (Q5). */
	rig_set(&kernel.patient, 0);
	spawn_many();
	assert_int_equal(weir_worker_park_set(rig.rt, 1, WEIR_PARK_INTERRUPT),
			 0);
	rig_block_some(&b, rig.rt, 1);
	assert_int_equal(weir_clock_advance(rig.rt, MS), 0);
	before = sleeps = rig_get(&kernel.sleeps);
	/* As many as there have been for sure when all are fired. */
	rig_wait_until((last = sleeps, sleeps = rig_get(&kernel.sleeps),
			rig_timers(rig.rt) == 0));
	rig_unblock(&b);
	join_many();
	assert_uint_in_range(last - before, 0, PARTS / 2);
}

static int
start(void **state)
{
	kernel_reset();
	return unit_eal_setup(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(sleep_ends_when_its_time_has_come),
		RIG_TESTS(running_clock_ends_sleeps),
		RIG_TESTS(time_in_the_past_ends_at_once),
		RIG_TESTS(deadline_that_has_come_ends_at_once),
		RIG_TESTS(
			time_that_passes_while_the_task_is_busy_is_over_with_the_next_poll),
		RIG_TESTS(cancelled_time_can_be_waited_for_again),
		RIG_TESTS(one_sleep_serves_for_waits_of_both_kinds),
		RIG_TESTS(deadline_put_off_is_asked_for_at_its_first_time),
		RIG_TESTS(flow_ends_when_nothing_has_come_for_long),
		RIG_TESTS(who_goes_on_with_a_sleep_is_woken),
		RIG_TESTS(time_that_never_comes_can_be_aborted),
		RIG_TESTS(shutdown_ends_sleeps),
		RIG_TEST(paused_clock_stands_still, 1),
		RIG_TEST(time_does_not_begin_again_at_its_end, 1),
		RIG_TEST(conversion_does_not_drift, 1),
		RIG_TESTS(timeout_ends_a_wait),
		RIG_TESTS(deadline_bounds_several_waits),
		RIG_TESTS(deadline_is_ended_by_the_last_success),
		RIG_TESTS(deadline_that_has_passed_ends_no_wait_that_succeeds),
		RIG_TESTS(deadline_ends_what_always_has_more),
		RIG_TESTS(timeout_ends_what_leaves_no_budget),
		RIG_TESTS(time_that_has_passed_ends_what_leaves_no_budget),
		RIG_TESTS(next_time_of_a_tick_has_not_passed_with_another),
		RIG_TEST(sleep_may_serve_in_another_runtime, 1),
		RIG_TEST(sleep_that_was_given_up_serves_in_another_runtime, 1),
		RIG_TESTS(wait_that_succeeds_ends_its_timeout),
		RIG_TESTS(interval_catches_up),
		RIG_TESTS(interval_goes_on_from_a_late_tick),
		RIG_TESTS(interval_leaves_missed_ticks_out),
		RIG_TESTS(tick_that_was_given_up_is_still_the_next),
		RIG_TESTS(tick_beyond_the_end_of_time_never_comes),
		RIG_TEST(bad_interval_is_refused, 1),
		RIG_TEST(interval_without_a_period_is_refused, 1),
		RIG_TESTS(rate_is_filled_up_to_a_burst),
		RIG_TESTS(storm_of_sleeps_and_aborts),
		RIG_TEST(timers_follow_a_worker_that_retires, 2),
		RIG_TESTS(sleeping_workers_wake_for_timers),
		RIG_TEST(timers_of_a_stuck_worker_are_fired, 2),
		RIG_TEST(many_timers_of_one_time_are_fired_in_parts, 1),
		RIG_TEST(
			who_fires_the_timers_of_a_stuck_worker_sleeps_not_between_parts,
			2),
	};

	return cmocka_run_group_tests(tests, start, unit_eal_teardown);
}
