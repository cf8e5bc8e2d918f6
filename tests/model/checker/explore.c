/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The exploration: runs a model once for each way that its threads can take
 * turns and its loads can see stores, within the model's bounds.
 *
 * X1 A choice is made before each atomic operation, of the thread that goes on,
 *    and at each load that may see several stores, of the store. All else
 *    follows, and so an execution can be repeated.
 * X2 A state that was met before, with at least as much left of both bounds, is
 *    not gone on from: executions that differ in the order of independent steps
 *    only are one (memory_key()).
 * X3 A thread that waits in a loop does not go on before another has stored a
 *    value; if none can go on, that is a failure. So is an execution without
 *    end.
 */

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alloc.h"
#include "choice.h"
#include "explore.h"
#include "globals.h"
#include "kernel.h"
#include "kept.h"
#include "memory.h"
#include "race.h"
#include "seen.h"
#include "thread.h"

#define STEPS_MAX 20000

static struct {
	const struct model *model;
	unsigned int preemptions_left;
	uint64_t steps;
	bool failed;
	bool replaying;
	uint64_t outcomes; /* met so far */
	struct {
		void (*main)(void *arg);
		void *arg;
	} starts[MEMORY_THREADS];
	bool (*when_stuck)(void);
	struct explored *result;
} run KEPT;

void
model_give_up(const char *why)
{
	fprintf(stderr, "model %s: %s\n", run.model->name, why);
	abort();
}

void
model_fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(run.result->failure, sizeof(run.result->failure), format, ap);
	va_end(ap);
	run.failed = true;
	vthreads_abandon();
}

/* What went wrong before may have left a wild pointer. */
static void
on_crash(int number)
{
	const char *file;
	int line;

	signal(number, SIG_DFL);
	if (!vthreads_running())
		return;
	vthread_where_get(vthread_self(), &file, &line);
	model_fail("a crash in thread %s, after its step at %s:%d",
		   vthread_name(vthread_self()), file != NULL ? file : "?",
		   line);
}

static void
catch_crashes(void)
{
	static char stack[64 * 1024] KEPT;
	stack_t alternative = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = on_crash,
				    .sa_flags = SA_ONSTACK };

	sigaltstack(&alternative, NULL);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

static unsigned int
choose(void *arg, const unsigned int *ready, unsigned int n, int current)
{
	unsigned int way, first;

	(void)arg;
	if (++run.steps > STEPS_MAX)
		model_fail("no end after %u steps: a livelock", STEPS_MAX);
	if (n == 1 || (current >= 0 && run.preemptions_left == 0))
		return current >= 0 ? (unsigned int)current : 0;
	if (!choices_replayed() && !run.replaying &&
	    seen_before(memory_key() + (current >= 0 ? ready[current] + 1 : 0),
			run.preemptions_left, memory_stale_left()))
		vthreads_abandon();
	way = choice(n);
	/* Way 0 is to go on, if possible. */
	first = current >= 0 ? (unsigned int)current : 0;
	if (way == 0)
		return first;
	if (current >= 0)
		run.preemptions_left--;
	return way <= first ? way - 1 : way;
}

static bool
stuck(void *arg)
{
	char *s = run.result->failure;
	size_t size = sizeof(run.result->failure), used;
	const char *file;
	unsigned int i;
	int line;

	(void)arg;
	if (run.when_stuck != NULL && run.when_stuck())
		return true;
	run.failed = true;
	used = (size_t)snprintf(s, size, "nobody can go on:");
	for (i = 0; i < vthread_count() && used < size; i++) {
		if (vthread_ended(i))
			continue;
		vthread_where_get(i, &file, &line);
		used += (size_t)snprintf(
			s + used, size - used, " %s waits after %s:%d;",
			vthread_name(i), file != NULL ? file : "its start",
			line);
	}
	return false;
}

static void
model_main(void *arg)
{
	(void)arg;
	run.model->run();
	if (alloc_live() > 0)
		model_fail("%u blocks of memory leak", alloc_live());
}

/* One execution. */
static void
execute(void)
{
	static const struct vthread_policy policy = { choose, stuck, NULL };
	static const struct kernel_options machine = { .nb_nodes = 1,
						       .membarrier = true };

	globals_restore();
	kernel_reset(&machine);
	choices_rewind();
	memory_reset(run.model->stale);
	race_reset();
	alloc_reset();
	run.preemptions_left = run.model->preemptions;
	run.steps = 0;
	run.when_stuck = NULL;
	vthreads_run(&policy, model_main, NULL);
	run.result->steps += run.steps;
	run.result->executions++;
}

/* The program's own time, so that others on the machine change no result. */
static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
begin(const struct model *model, struct explored *result)
{
	memset(result, 0, sizeof(*result));
	run.model = model;
	run.result = result;
	run.failed = false;
	run.outcomes = 0;
	catch_crashes();
	seen_reset();
	globals_save();
}

/* Against what the model says that will be met. */
static void
judge(struct explored *result)
{
	const char *fails = run.model->fails;
	uint64_t missed = run.model->outcomes & ~run.outcomes;

	if (fails != NULL && result->outcome == OUTCOME_FAILS) {
		if (strstr(result->failure, fails) != NULL)
			result->outcome = OUTCOME_HOLDS;
	} else if (result->outcome == OUTCOME_HOLDS && fails != NULL) {
		result->outcome = OUTCOME_MISSED;
		snprintf(result->failure, sizeof(result->failure),
			 "does not fail: %s", fails);
	} else if (result->outcome == OUTCOME_HOLDS && missed != 0) {
		result->outcome = OUTCOME_MISSED;
		snprintf(result->failure, sizeof(result->failure),
			 "outcome %u is not met",
			 (unsigned int)__builtin_ctzll(missed));
	}
}

void
explore(const struct model *model, double seconds, struct explored *result)
{
	double began = now();

	begin(model, result);
	run.replaying = false;
	choices_reset();
	do {
		execute();
		if (run.failed) {
			choices_print(result->choices, sizeof(result->choices));
			result->outcome = OUTCOME_FAILS;
			break;
		}
		if (seconds > 0 && result->executions % 64 == 0 &&
		    now() - began > seconds) {
			result->outcome = OUTCOME_UNDONE;
			break;
		}
	} while (choices_next());
	judge(result);
	result->states = seen_count();
	result->seconds = now() - began;
}

void
explore_replay(const struct model *model, const char *choices,
	       struct explored *result)
{
	begin(model, result);
	run.replaying = true;
	if (!choices_parse(choices)) {
		snprintf(result->failure, sizeof(result->failure),
			 "not a way: %s", choices);
		result->outcome = OUTCOME_FAILS;
		return;
	}
	memory_trace(true);
	execute();
	memory_trace(false);
	if (run.failed)
		result->outcome = OUTCOME_FAILS;
}

/* What models call. */

unsigned int
model_choose(unsigned int n)
{
	unsigned int way = choice(n);

	memory_saw(way);
	return way;
}

/* A thread that has ended differs from one that has not begun. */
static void
thread_main(void *arg)
{
	unsigned int self = vthread_self();

	(void)arg;
	run.starts[self].main(run.starts[self].arg);
	memory_saw(UINT64_MAX);
}

unsigned int
model_thread(const char *name, void (*main)(void *arg), void *arg)
{
	unsigned int thread = vthread_start(name, thread_main, NULL);

	memory_fork(thread);
	run.starts[thread].main = main;
	run.starts[thread].arg = arg;
	return thread;
}

void
model_outcome(unsigned int n)
{
	if (n >= 64 || (run.model->outcomes >> n & 1) == 0)
		model_fail("outcome %u must not be", n);
	run.outcomes |= UINT64_C(1) << n;
}

void
model_when_stuck(bool (*change)(void))
{
	run.when_stuck = change;
}

static bool
has_ended(const void *arg)
{
	return vthread_ended(*(const unsigned int *)arg);
}

void
model_join(unsigned int thread)
{
	vthread_wait(has_ended, &thread);
	memory_join(thread);
}

void
model_join_all(void)
{
	unsigned int i;

	for (i = 1; i < vthread_count(); i++)
		model_join(i);
}
