/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Timers: taken out by their time, by their task or by a move, and never by two
 * of them; each waiter is used up once, and the task may free its timer as soon
 * as it sees it out.
 *
 * The wakers are of tasks that have ended, which only count references.
 */

#include <string.h>

#include "kernel.h"
#include "model.h"
#include "rig.h"
#include "sched/scheduler.h"
#include "time/timers.h"

#define REFS 10

static struct clock *time_base;
static struct timers *here, *there;
static struct node *home;
static struct task *waiter;
static struct timer *timer[2];

static struct timers *
make_timers(void)
{
	struct timers *ts = model_alloc(sizeof(*ts));

	weir__timers_init(ts, time_base);
	return ts;
}

static void
arm(unsigned int i, uint64_t due)
{
	timer[i] = model_alloc(sizeof(*timer[i]));
	weir__timer_arm(here, timer[i], 0, due,
			weir_waker_clone((struct weir_waker *)waiter));
}

static void
begin(void)
{
	time_base = model_alloc(sizeof(*time_base));
	time_base->hz = 1000000;
	time_base->tick_shift = 0;
	atomic_u64_store(&time_base->begin, 0, RELAXED);
	atomic_u64_store(&time_base->held, 2, RELAXED);
	here = make_timers();
	there = make_timers();
	home = model_alloc(sizeof(*home));
	waiter = rig_task(0);
	waiter->home = &home->home;
	atomic_u64_store(&waiter->state.word,
			 REFS * STATE_REF_ONE | STATE_COMPLETE, RELAXED);
	arm(0, 1);
	arm(1, 2);
}

static void
end(void)
{
	model_join_all();
	model_check(here->wheel.n == 0 && there->wheel.n == 0);
	/* Each waker was woken or dropped. */
	model_check(state_refs(state_load(&waiter->state)) == REFS);
	model_free(here);
	model_free(there);
	model_free(time_base);
	model_free(home);
	rig_see(waiter);
	rig_check_seen(1);
}

static void
fire_all(void *arg)
{
	struct timers *ts = arg;

	weir__timers_fire(ts, 2);
}

/* As a task that is dropped. */
static void
give_up(void *arg)
{
	struct timer *t = arg;

	weir__timer_cancel(t);
	model_free(t);
}

/* As a task that is polled until its time has come. */
static void
wait_for(struct timer *t)
{
	while (!timer_idle(t))
		atomic_pause();
	model_free(t);
}

static void
move_all(void *arg)
{
	(void)arg;
	weir__timers_move(here, there);
}

MODEL(timers_cancel, "a timer's time comes while its task gives it up", 3, 2)
{
	begin();
	model_thread("worker", fire_all, here);
	model_thread("task", give_up, timer[0]);
	wait_for(timer[1]);
	end();
}

MODEL(timers_two_fire, "two workers fire, one for a neighbour", 2, 2)
{
	begin();
	model_thread("worker", fire_all, here);
	model_thread("neighbour", fire_all, here);
	wait_for(timer[0]);
	wait_for(timer[1]);
	end();
}

MODEL(timers_move, "timers move while one is given up and others fire", 2, 1)
{
	begin();
	model_thread("mover", move_all, NULL);
	model_thread("task", give_up, timer[0]);
	model_thread("worker", fire_all, there);
	/* Its task is woken by something else. */
	model_check(timer[1]->wheel.due != 0);
	weir__timers_fire(here, 2);
	model_join_all();
	weir__timers_fire(there, 2);
	wait_for(timer[1]);
	end();
}

static void
go_on(void *arg)
{
	model_check(weir__clock_go_on(arg) == 0);
}

MODEL(clock_goes_on, "a clock that was held does not jump", 3, 3)
{
	uint64_t now;

	time_base = model_alloc(sizeof(*time_base));
	time_base->hz = 1000000;
	atomic_u64_store(&time_base->begin, 0, RELAXED);
	atomic_u64_store(&time_base->held, 2, RELAXED);
	model_thread("test", go_on, time_base);
	/* The TSC is far beyond what the clock has come to. */
	now = clock_now(time_base);
	model_check(now < rte_rdtsc() / 2);
	model_join_all();
	model_free(time_base);
}

/* A test that takes a running clock, and gives it back after a while. */
static void
hold_for_a_while(void *arg)
{
	model_check(weir__clock_hold(arg) == 0);
	kernel_advance(1000);
	go_on(arg);
}

MODEL(clock_goes_on_behind,
      "a clock does not go back for who looks as it goes on", 3, 0)
{
	uint64_t before;

	time_base = model_alloc(sizeof(*time_base));
	time_base->hz = 1000000;
	atomic_u64_store(&time_base->begin, rte_rdtsc(), RELAXED);
	atomic_u64_store(&time_base->held, CLOCK_RUNS, RELAXED);
	kernel_advance(1000);
	model_thread("test", hold_for_a_while, time_base);
	before = clock_now(time_base);
	model_check(clock_now(time_base) >= before);
	model_join_all();
	model_check(clock_now(time_base) >= before);
	model_free(time_base);
}

static uint64_t told;

/* As a worker that looks at the clock while a test stops it. */
static void
look_later(void *arg)
{
	kernel_advance(1000);
	told = clock_now(arg);
	model_check(clock_now(arg) >= told);
}

/*
 * No old values: what a CPU has stored before it looks at its counter is there for
 * whoever looks later. C11 knows nothing of that.
 */
MODEL(clock_stops, "a clock that a test stops does not go back", 3, 0)
{
	uint64_t held;

	time_base = model_alloc(sizeof(*time_base));
	time_base->hz = 1000000;
	atomic_u64_store(&time_base->begin, rte_rdtsc(), RELAXED);
	atomic_u64_store(&time_base->held, CLOCK_RUNS, RELAXED);
	model_thread("worker", look_later, time_base);
	model_check(weir__clock_hold(time_base) == 0);
	held = clock_now(time_base);
	model_join_all();
	model_check(held >= told && held == clock_now(time_base));
	model_free(time_base);
}
