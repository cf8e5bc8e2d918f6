/* SPDX-License-Identifier: BSD-3-Clause */

/* Fibers that are ended by others: each goes on to its own end. */

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#include "rig.h"
#include "sched/scheduler.h"

#define HOUR (UINT64_C(3600) * 1000 * 1000 * 1000)
#define WAITS 5u
#define FIBERS 64u

static struct atomic_u32 asserts;

/* The one that is meant to fail here goes on behind it. */
void
__wrap_weir__assert_failed(const char *rule, const char *file, int line);

void
__wrap_weir__assert_failed(const char *rule, const char *file, int line)
{
	if (strcmp(rule, "fiber: returns when it is cancelled") != 0) {
		fprintf(stderr, "# %s:%d: broken rule: %s\n", file, line, rule);
		abort();
	}
	rig_add(&asserts, 1);
}

/* What a fiber saw of its end. */
struct story {
	struct atomic_u32 waits; /* begun */
	struct atomic_u32 rounds;
	struct atomic_u32 go;
	unsigned int cancelled_at;
	unsigned int late;     /* awaits behind that, none of which waited */
	unsigned int released; /* by the functions that it was in */
	unsigned int dropped;
	int block_in_place;
	bool context;
	unsigned int worker; /* that ended it */
};

struct job {
	struct weir_fiber fiber;
	struct story *story;
	struct weir_join *child;
	unsigned int n;
	unsigned int result;
};

static void
job_drop(void *state)
{
	struct job *j = state;

	weir_fiber_drop(state);
	j->story->dropped += 1 + j->story->released;
	weir_join_detach(j->child);
}

static const struct weir_task_ops job_ops = {
	.name = "job",
	.state_size = sizeof(struct job),
	.poll = weir_fiber_poll,
	.drop = job_drop,
	.result_offset = offsetof(struct job, result),
	.result_size = sizeof(unsigned int),
};

static struct weir_join *
spawn_with(struct job j, const struct weir_spawn_attr *attr)
{
	struct weir_join *join = weir_task_spawn(rig.rt, &job_ops, &j, attr);

	assert_non_null(join);
	return join;
}

static struct weir_join *
spawn(int (*run)(struct weir_fiber *, void *), struct story *story)
{
	struct job j = { .fiber = { .run = run }, .story = story };

	return spawn_with(j, NULL);
}

static void
nothing(void *arg)
{
}

/* One that should not be called again. */
static int
count_call(struct story *s)
{
	s->late += 100;
	return 0;
}

static void
note_end(struct weir_fiber *f, struct story *s)
{
	s->cancelled_at = rig_get(&s->waits);
	s->late += weir_fiber_await(f, count_call(s)) == -ECANCELED;
	s->late += weir_fiber_suspend(f) == -ECANCELED;
	s->late += weir_fiber_yield(f) == -ECANCELED;
	s->late += weir_fiber_sleep(f, HOUR) == -ECANCELED;
	s->late += weir_fiber_may_wait(f) == -ECANCELED;
	s->context = weir_fiber_context(f) != NULL;
	s->block_in_place = weir_block_in_place(nothing, NULL);
	s->worker = weir_worker_current();
}

/* One of the waits that do not end by themselves, in a function of its own. */
static int
wait_number(struct weir_fiber *f, struct job *j, unsigned int i)
{
	struct weir_sleep sleep = { { 0 } };
	char *memory = malloc(100);
	int rc;

	rig_add(&j->story->waits, 1);
	switch (i % 4) {
	case 0:
		rc = weir_fiber_await(
			f, weir_sleep(weir_fiber_context(f), &sleep, HOUR));
		weir_sleep_cancel(&sleep);
		break;
	case 1:
		rc = weir_fiber_sleep(f, WEIR_TIME_NEVER);
		break;
	case 2:
		rc = weir_fiber_await(f, weir_join_poll(weir_fiber_context(f),
							j->child, NULL));
		break;
	default:
		do
			rc = weir_fiber_yield(f);
		while (rc == 0);
	}
	if (rc == -ECANCELED)
		note_end(f, j->story);
	free(memory);
	j->story->released++;
	return rc;
}

static int
some_wait_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	unsigned int i;

	for (i = 0; i < j->n; i++)
		if (weir_fiber_yield(f) < 0)
			return -EILSEQ;
	/* What it says then is not the outcome any more. */
	return wait_number(f, j, j->n) == -ECANCELED ? 0 : -EILSEQ;
}

static void
expect_end(const struct story *s)
{
	assert_int_equal(s->cancelled_at, 1);
	assert_int_equal(s->late, 5);
	assert_int_equal(s->released, 1);
	/* After its functions have returned. */
	assert_int_equal(s->dropped, 2);
	assert_false(s->context);
	assert_int_equal(s->block_in_place, -EPERM);
}

/* A runtime that nobody drives: its tasks go on to their end when it is freed. */
static struct weir_runtime *
idle_runtime(void)
{
	struct weir_runtime *rt;
	struct weir_options o;

	rig_options(&o, 0);
	o.name = "idle";
	o.current_thread = true;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	return rt;
}

static void
end_at(unsigned int n, bool shutdown)
{
	/* Else the child could be ended first, and its outcome be taken. */
	struct weir_runtime *apart = shutdown ? idle_runtime() : NULL;
	struct story s = { .late = 0 };
	struct job j = {
		.fiber = { .run = some_wait_run },
		.story = &s,
		.n = n,
	};
	struct weir_join *join;

	j.child =
		rig_spawn(shutdown ? apart : rig.rt, &rig_wait_ops, &rig.told);
	join = spawn_with(j, NULL);
	rig_wait_until(rig_get(&s.waits) == 1);
	if (shutdown)
		weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL);
	else
		weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	expect_end(&s);
	weir_runtime_free(apart);
}

static void
forget_waker(void)
{
	weir_waker_drop(atomic_ptr_exchange(&rig.waker, NULL, ACQUIRE));
}

static void
cancelled_at_each_wait_it_returns(void **state)
{
	unsigned int i;

	for (i = 0; i < WAITS; i++)
		end_at(i, false);
	rig_set(&rig.go, 1);
	rig_wait_until(rig_get(&rig.log.polls) == WAITS);
	weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL);
	forget_waker();
}

static void
shutdown_at_each_wait_it_returns(void **state)
{
	unsigned int i;

	for (i = 0; i < WAITS; i++) {
		if (i > 0)
			rig_setup(state);
		end_at(i, true);
		forget_waker();
		if (i < WAITS - 1)
			rig_teardown(state);
	}
}

static int
never_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	j->story->released = 1000;
	return 0;
}

static void
cancelled_before_its_turn_it_never_runs(void **state)
{
	struct story s = { .late = 0 };
	struct weir_join *join;
	struct rig_blockers b;

	rig_block(&b, rig.rt);
	join = spawn(never_run, &s);
	weir_join_abort(join);
	rig_unblock(&b);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(s.dropped, 1);
	weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL);
	/* Refused: on this thread. */
	join = spawn(never_run, &s);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_int_equal(s.dropped, 2);
}

static int
busy_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	rig_add(&j->story->waits, 1);
	rig_wait_until(rig_get(&j->story->go));
	if (j->n == 0)
		return 0;
	if (weir_fiber_may_wait(f) != 0)
		return -EILSEQ;
	if (weir_fiber_sleep(f, HOUR) == -ECANCELED)
		note_end(f, j->story);
	j->story->released++;
	return 0;
}

/* It learns of it at its next wait; one that needs none keeps its result. */
static void
cancelled_while_it_runs_it_goes_on_until_it_waits(void **state)
{
	unsigned int n;

	for (n = 0; n < 2; n++) {
		struct story s = { .late = 0 };
		struct job j = {
			.fiber = { .run = busy_run },
			.story = &s,
			.n = n,
		};
		struct weir_join *join = spawn_with(j, NULL);

		rig_wait_until(rig_get(&s.waits) == 1);
		weir_join_abort(join);
		rig_set(&s.go, 1);
		assert_int_equal(rig_join(join, NULL), n ? -ECANCELED : 0);
		if (n)
			expect_end(&s);
		else
			assert_int_equal(s.dropped, 1);
	}
}

static int
bound_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	rig_add(&j->story->waits, 1);
	if (weir_fiber_suspend(f) == -ECANCELED)
		note_end(f, j->story);
	j->story->released++;
	return 0;
}

static void
shutdown_ends_bound_ones_on_their_worker(void **state)
{
	static struct story s[FIBERS];
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_WORKER };
	struct weir_shutdown_report report = { .stacks = 7 };
	unsigned int i, workers = weir_runtime_nb_workers(rig.rt);

	memset(s, 0, sizeof(s));
	for (i = 0; i < FIBERS; i++) {
		struct job j = { .fiber = { .run = bound_run },
				 .story = &s[i] };

		attr.worker = i % workers;
		weir_join_detach(spawn_with(j, &attr));
	}
	for (i = 0; i < FIBERS; i++)
		rig_wait_until(rig_get(&s[i].waits) == 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, &report), 0);
	assert_int_equal(report.live_tasks, 0);
	assert_int_equal(report.stacks, 0);
	for (i = 0; i < FIBERS; i++) {
		expect_end(&s[i]);
		assert_int_equal(s[i].worker, i % workers);
	}
}

static int
join_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	struct weir_join *child = j->child;
	int rc;

	j->child = NULL;
	rig_add(&j->story->waits, 1);
	rc = weir_fiber_join(f, child, &j->result);
	if (weir_fiber_may_wait(f) == 0) {
		/* It was the child's. */
		j->result = (unsigned int)-rc;
		return weir_fiber_yield(f);
	}
	note_end(f, j->story);
	j->story->released++;
	return rc;
}

static struct weir_join *
spawn_join(struct story *s, struct weir_join *child)
{
	struct job j = {
		.fiber = { .run = join_run },
		.story = s,
		.child = child,
	};
	struct weir_join *join = spawn_with(j, NULL);

	rig_wait_until(rig_get(&s->waits) == 1);
	return join;
}

static void
join_tells_its_own_end_from_the_childs(void **state)
{
	struct weir_join *child = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_abort *abort = weir_join_abort_handle(child);
	struct story s = { .late = 0 }, t = { .late = 0 };
	struct weir_join *join = spawn_join(&s, child);
	unsigned int result = 0;
	struct weir_waker *w;

	weir_waker_drop(rig_take_waker(&rig.waker));
	weir_abort_task(abort);
	assert_int_equal(rig_join(join, &result), 0);
	assert_int_equal(result, ECANCELED);
	weir_abort_drop(abort);
	/* And the other way round: the child runs on, without a handle. */
	child = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	abort = weir_join_abort_handle(child);
	join = spawn_join(&t, child);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	expect_end(&t);
	assert_false(weir_abort_ended(abort));
	w = rig_take_waker(&rig.waker);
	rig_set(&rig.go, 1);
	weir_waker_wake(w);
	rig_wait_until(weir_abort_ended(abort));
	weir_abort_drop(abort);
	rig_wait_until(rig_get(&rig.log.results_dropped) == 1);
}

static void
join_tells_a_refusal_from_the_childs_outcome(void **state)
{
	struct story s = { .late = 0 }, t = { .late = 0 };
	struct weir_join *join = spawn_join(&s, spawn(NULL, &t));
	struct weir_fiber elsewhere = { .stack_size = 0 };
	unsigned int result = 0;

	assert_int_equal(rig_join(join, &result), 0);
	assert_int_equal(result, EINVAL);
	/* And the other way round: the handle stays. */
	join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	assert_int_equal(weir_fiber_join(&elsewhere, join, NULL), -EINVAL);
	assert_int_equal(weir_fiber_may_wait(&elsewhere), -EINVAL);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* Does not take the end for one. */
static int
stubborn_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;

	rig_add(&j->story->waits, 1);
	while (!rig_get(&j->story->go))
		if (weir_fiber_sleep(f, HOUR) == -ECANCELED)
			rig_add(&j->story->rounds, 1);
	return 0;
}

static char *log_text;
static size_t log_size;

static FILE *
open_log(void)
{
	FILE *stream = open_memstream(&log_text, &log_size);

	assert_non_null(stream);
	assert_int_equal(rte_openlog_stream(stream), 0);
	return stream;
}

static void
close_log(FILE *stream)
{
	rte_openlog_stream(NULL);
	fclose(stream);
}

static void
one_that_does_not_return_is_named(void **state)
{
	struct weir_shutdown_report report = { .stacks = 7 };
	struct story s = { .late = 0 };
	struct weir_join *join = spawn(stubborn_run, &s);
	FILE *stream = open_log();
	int rc;

	rig_set(&asserts, 0);
	rig_wait_until(rig_get(&s.waits) == 1);
	weir_join_abort(join);
	rig_wait_until(rig_get(&s.rounds) > 2 * WEIR_FIBER_LATE_AWAITS);
	rc = weir_runtime_shutdown(rig.rt, 100, &report);
	rig_set(&s.go, 1);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	close_log(stream);
	assert_int_equal(rc, -ETIMEDOUT);
	assert_int_equal(report.live_tasks, 1);
	assert_int_equal(report.stacks, 1);
	assert_int_equal(report.nb_running, 1);
	assert_string_equal(report.tasks[0].name, "job");
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_non_null(strstr(log_text, "weir: fiber job ("));
	assert_non_null(strstr(log_text, "was cancelled and goes on waiting"));
	assert_null(strstr(strstr(log_text, "goes on waiting") + 1,
			   "goes on waiting"));
#ifdef WEIR_ASSERTS
	assert_int_equal(rig_get(&asserts), 1);
#endif
	free(log_text);
}

#define MANY (WEIR_FIBER_LATE_AWAITS * 3 / 5)

static struct weir_join *many[MANY];

static int
many_joins_run(struct weir_fiber *f, void *state)
{
	struct job *j = state;
	unsigned int i;

	rig_add(&j->story->waits, 1);
	weir_fiber_sleep(f, HOUR);
	for (i = 0; i < MANY; i++)
		j->story->late +=
			weir_fiber_join(f, many[i], NULL) == -ECANCELED &&
			weir_fiber_may_wait(f) == -ECANCELED;
	return 0;
}

/* Each is one await, and to ask is none, so they are not too many. */
static void
one_that_awaits_its_children_yet_is_not_named(void **state)
{
	struct story s = { .late = 0 };
	struct weir_join *join;
	FILE *stream = open_log();
	unsigned int i;

	rig_set(&asserts, 0);
	for (i = 0; i < MANY; i++)
		many[i] = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	join = spawn(many_joins_run, &s);
	rig_wait_until(rig_get(&s.waits) == 1);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	close_log(stream);
	assert_int_equal(s.late, MANY);
	assert_null(strstr(log_text, "goes on waiting"));
	assert_int_equal(rig_get(&asserts), 0);
	free(log_text);
}

/* What the drop of another runtime's task finds in a fiber's turn. */
struct found {
	struct weir_fiber *in; /* in whose turn it is */
	struct weir_fiber *current;
	bool context;
	int may_wait, suspend, yield, sleep, block_in_place;
	unsigned int drops;
};

struct refusal {
	struct weir_fiber fiber;
	struct weir_runtime *closed;
	struct found *found;
};

static void
wait_in_drop(void *state)
{
	struct found *d = *(struct found **)state;

	d->current = weir_fiber_current();
	d->context = weir_fiber_context(d->in) != NULL;
	d->may_wait = weir_fiber_may_wait(d->in);
	d->suspend = weir_fiber_suspend(d->in);
	d->yield = weir_fiber_yield(d->in);
	d->sleep = weir_fiber_sleep(d->in, HOUR);
	d->block_in_place = weir_block_in_place(nothing, NULL);
	d->drops++;
}

static int
never(struct weir_context *ctx, void *state)
{
	return WEIR_DONE;
}

static int
be_refused_run(struct weir_fiber *f, void *state)
{
	static const struct weir_task_ops ops = {
		.name = "refused",
		.state_size = sizeof(struct found *),
		.poll = never,
		.drop = wait_in_drop,
	};
	struct refusal *r = state;

	r->found->in = f;
	weir_join_detach(weir_task_spawn(r->closed, &ops, &r->found, NULL));
	/* Behind it all is as before. */
	return weir_fiber_current() == f ? weir_fiber_yield(f) : -EPROTO;
}

static void
drop_in_its_turn_is_no_part_of_it(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "spawner",
		.state_size = sizeof(struct refusal),
		.poll = weir_fiber_poll,
		.drop = weir_fiber_drop,
	};
	struct found d = { .drops = 0 };
	struct refusal r = { .fiber = { .run = be_refused_run }, .found = &d };
	int rc;

	r.closed = rig_closed_runtime();
	rc = rig_join(weir_task_spawn(rig.rt, &ops, &r, NULL), NULL);
	weir_runtime_free(r.closed);
	assert_int_equal(rc, 0);
	assert_int_equal(d.drops, 1);
	assert_null(d.current);
	assert_false(d.context);
	assert_int_equal(d.may_wait, -EINVAL);
	assert_int_equal(d.suspend, -EINVAL);
	assert_int_equal(d.yield, -EINVAL);
	assert_int_equal(d.sleep, -EINVAL);
	assert_int_equal(d.block_in_place, -EPERM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(cancelled_at_each_wait_it_returns),
		RIG_TESTS(shutdown_at_each_wait_it_returns),
		RIG_TESTS(cancelled_before_its_turn_it_never_runs),
		RIG_TESTS(cancelled_while_it_runs_it_goes_on_until_it_waits),
		RIG_TESTS(shutdown_ends_bound_ones_on_their_worker),
		RIG_TESTS(join_tells_its_own_end_from_the_childs),
		RIG_TEST(join_tells_a_refusal_from_the_childs_outcome, 1),
		RIG_TESTS(one_that_does_not_return_is_named),
		RIG_TESTS(one_that_awaits_its_children_yet_is_not_named),
		RIG_TESTS(drop_in_its_turn_is_no_part_of_it),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
